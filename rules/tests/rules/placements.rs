//! The rules of Placements, as tables and laws.

use berth_rules::object::Placement;
use berth_rules::{Change, Decision, DecisionOutcome, Reason, Settings, ValidatePlacement};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{decided, deleting, short};

fn placement(spec: Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": "p", "namespace": "ns"},
        "spec": spec,
    })
}

fn decide_named(name: &str, old: Option<&Value>, new: &Value) -> Decision {
    let (old, new) = (old.map(Value::to_string), new.to_string());
    let change = Change {
        name,
        namespace: "ns",
        user: "dev",
        new: serde_json::from_str::<Placement<'_>>(&new).unwrap(),
        old: old.as_deref().map(|old| serde_json::from_str(old).unwrap()),
    };
    decided::<ValidatePlacement>(&change, &Settings::default(), &[])
}

fn decide(old: Option<Value>, new: Value) -> Decision {
    decide_named("p", old.map(placement).as_ref(), &placement(new))
}

/// The messages of the faults, or the warnings of an admitted change.
fn messages(decision: &Decision) -> Vec<String> {
    match &decision.outcome {
        DecisionOutcome::Malformed(faults) => faults.iter().map(|it| it.message.clone()).collect(),
        _ => decision.warnings.clone(),
    }
}

fn labels(expressions: Value) -> Value {
    json!({"requiredClusterSelector": {"labelSelector": {"matchExpressions": expressions}}})
}

fn cel(expressions: Value) -> Value {
    json!({"requiredClusterSelector": {"celSelector": {"celExpressions": expressions}}})
}

fn has(key: &str) -> Value {
    labels(json!([{"key": key, "operator": "Has"}]))
}

fn groups(groups: Value) -> Value {
    json!({"decisionStrategy": {"groupStrategy": {"decisionGroups": groups}}})
}

fn weights(configurations: Value) -> Value {
    json!({"prioritizerPolicy": {"mode": "Exact", "configurations": configurations}})
}

fn add_on(resource: &str, score: &str) -> Value {
    json!({"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": score}}})
}

#[test]
fn a_placement_that_cannot_be_scheduled_is_refused() {
    let selector = "spec.predicates[0].requiredClusterSelector";
    let policy = "spec.prioritizerPolicy";
    let group = "spec.decisionStrategy.groupStrategy";
    for (sentence, spec, expected, lines) in [
        ("an empty one", json!({}), "allow", &[][..]),
        ("one without a spec", json!(null), "allow", &[]),
        (
            "a full one",
            json!({
                "clusterSets": ["a"], "numberOfClusters": 3,
                "predicates": [
                    labels(json!([{"key": "a", "operator": "In", "values": ["b"]}])),
                    cel(json!(["managedCluster.metadata.labels['a'] == 'b'"])),
                ],
                "tolerations": [{"key": "a", "operator": "Exists"}],
                "prioritizerPolicy": {"mode": "Additive", "configurations": [add_on("a", "b")]},
                "decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 0, "decisionGroups": [
                    {"groupName": "canary", "groupClusterSelector": {}},
                ]}},
                "sortBy": "ClusterName", "scoreRateLimit": "1m",
            }),
            "allow",
            &[],
        ),
        (
            "a negative number",
            json!({"numberOfClusters": -1}),
            "400 misconfigured",
            &["spec.numberOfClusters: numberOfClusters is -1, and must not be negative"],
        ),
        (
            "an unknown mode",
            json!({"prioritizerPolicy": {"mode": "Most"}}),
            "400 misconfigured",
            &[&format!(
                "{policy}.mode: incorrect prioritizer policy mode: Most"
            )],
        ),
        (
            "an unknown prioritizer",
            weights(json!([{"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Spread"}}])),
            "400 misconfigured",
            &[&format!(
                "{policy}.configurations[0].scoreCoordinate.builtIn: incorrect builtin prioritizer: Spread"
            )],
        ),
        (
            "expressions that do not compile",
            json!({"predicates": [cel(json!(["nosuch", "true &&\n ("]))]}),
            "400 misconfigured misconfigured",
            &[
                &format!(
                    "{selector}.celSelector.celExpressions[0]: compilation failed: ERROR: <input>:1:1: undeclared reference to 'nosuch'"
                ),
                &format!(
                    "{selector}.celSelector.celExpressions[1]: compilation failed: ERROR: <input>:2:3: unexpected end"
                ),
            ],
        ),
        (
            "an invalid selector",
            json!({"predicates": [has("a")]}),
            "400 misconfigured",
            &[&format!(
                "{selector}.labelSelector.matchExpressions[0].operator: Invalid value: \"Has\": not a valid selector operator"
            )],
        ),
        (
            "tolerations without effect",
            json!({"tolerations": [{"value": "v"}, {"key": "a", "value": "v", "operator": "Exists"}]}),
            "400 misconfigured misconfigured",
            &[
                "spec.tolerations[0].operator: If the key is empty, operator must be Exists.",
                "spec.tolerations[1].value: If the operator is Exists, the value should be empty.",
            ],
        ),
        (
            "a group whose name does not fit a label",
            groups(json!([{"groupName": "x".repeat(64)}, {"groupName": "a b"}])),
            "400 placement-field placement-field",
            &[
                &format!(
                    "{group}.decisionGroups[0].groupName: Invalid value: \"{}\": must be no more than 63 bytes",
                    "x".repeat(64)
                ),
                &format!(
                    "{group}.decisionGroups[1].groupName: Invalid value: \"a b\": a valid label must be an empty string or consist of \
                     alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  \
                     or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                ),
            ],
        ),
        (
            "scores without a name",
            weights(json!([add_on("", "s"), add_on("r", "")])),
            "400 placement-field placement-field",
            &[
                &format!(
                    "{policy}.configurations[0].scoreCoordinate.addOn.resourceName: Required value"
                ),
                &format!(
                    "{policy}.configurations[1].scoreCoordinate.addOn.scoreName: Required value"
                ),
            ],
        ),
        (
            "a value of another type",
            json!({"numberOfClusters": "three"}),
            "400 placement-field",
            &["spec.numberOfClusters: invalid type: string \"three\", expected i32"],
        ),
        (
            "a number that OCM's controller cannot read",
            json!({"numberOfClusters": 3_000_000_000_u32}),
            "400 placement-field",
            &["spec.numberOfClusters: invalid value: integer `3000000000`, expected i32"],
        ),
        (
            "everything at once",
            json!({"numberOfClusters": -1, "prioritizerPolicy": {"mode": "Most"}, "tolerations": [{"value": "v"}]}),
            "400 misconfigured misconfigured misconfigured",
            &[
                "spec.numberOfClusters: numberOfClusters is -1, and must not be negative",
                "spec.prioritizerPolicy.mode: incorrect prioritizer policy mode: Most",
                "spec.tolerations[0].operator: If the key is empty, operator must be Exists.",
            ],
        ),
    ] {
        let decision = decide(None, spec);
        assert_eq!(short(&decision), expected, "{sentence}");
        assert_eq!(messages(&decision), lines, "{sentence}");
    }
}

#[test]
fn a_name_must_fit_the_label_of_decisions() {
    let name = |length: usize| "p".repeat(length);
    let new = placement(json!({}));
    assert_eq!(short(&decide_named(&name(63), None, &new)), "allow");
    let decision = decide_named(&name(64), None, &new);
    assert_eq!(short(&decision), "400 placement-name");
    assert_eq!(
        messages(&decision),
        [format!(
            "metadata.name: Invalid value: \"{}\": must be no more than 63 characters, to fit the label by which \
             PlacementDecisions name their Placement",
            name(64)
        )]
    );
    let both = placement(json!({"numberOfClusters": -1}));
    let both = decide_named(&name(64), None, &both);
    assert_eq!(short(&both), "400 placement-name misconfigured");
    let changed = placement(json!({"numberOfClusters": 1}));
    let stored = decide_named(&name(64), Some(&new), &changed);
    assert_eq!(short(&stored), "allow", "a stored one");
}

#[test]
fn only_what_a_change_introduces_is_refused() {
    let negative = json!({"numberOfClusters": -1});
    let both = json!({"numberOfClusters": -1, "clusterSets": ["a"]});
    let two = |one: Value, other: Value| json!({"predicates": [one, other]});
    let one = |one: Value| json!({"predicates": [one]});
    let sets = |count: usize| json!({"clusterSets": vec!["a"; count]});
    let with = |mut spec: Value, field: &str, value: Value| {
        spec[field] = value;
        spec
    };
    let many = |count: usize| one(cel(json!(vec!["true"; count])));
    for (sentence, old, new, expected) in [
        ("a stored mistake", negative.clone(), both.clone(), "allow"),
        (
            "its correction",
            both.clone(),
            json!({"clusterSets": ["a"]}),
            "allow",
        ),
        (
            "another mistake of the kind",
            negative.clone(),
            json!({"numberOfClusters": -2}),
            "400 misconfigured",
        ),
        (
            "a new mistake",
            json!({}),
            negative.clone(),
            "400 misconfigured",
        ),
        (
            "a new one beside a stored one",
            negative.clone(),
            with(
                negative.clone(),
                "prioritizerPolicy",
                json!({"mode": "Most"}),
            ),
            "400 misconfigured",
        ),
        (
            "a stored one at another place",
            one(has("a")),
            two(json!({}), has("a")),
            "allow",
        ),
        (
            "a stored one a second time",
            one(has("a")),
            two(has("a"), has("a")),
            "400 misconfigured",
        ),
        (
            "a stored one in another field",
            one(has("a")),
            groups(json!([{
                "groupName": "g", "groupClusterSelector": {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Has"}]}},
            }])),
            "400 misconfigured",
        ),
        (
            "a stored name of a group",
            groups(json!([{"groupName": "a b"}])),
            groups(json!([{"groupName": "c"}, {"groupName": "a b"}])),
            "allow",
        ),
        (
            "a list that is too long",
            json!({}),
            sets(1_001),
            "400 list-too-long",
        ),
        (
            "a stored long list",
            sets(1_001),
            with(sets(1_001), "numberOfClusters", json!(1)),
            "allow",
        ),
        (
            "one that grows",
            sets(1_001),
            sets(1_002),
            "400 list-too-long",
        ),
        ("one that shrinks", sets(1_500), sets(1_400), "allow"),
        (
            "a mistake beside a list that is too long",
            json!({}),
            with(sets(1_001), "numberOfClusters", json!(-1)),
            "400 list-too-long",
        ),
        (
            "too many expressions",
            many(1_000),
            many(1_001),
            "400 list-too-long",
        ),
        (
            "what cannot be read",
            json!({}),
            json!({"tolerations": {}}),
            "400 placement-field",
        ),
        (
            "what could not be read before",
            json!({"tolerations": {}}),
            json!({"tolerations": {}, "numberOfClusters": 1}),
            "allow",
        ),
        (
            "its correction",
            json!({"tolerations": {}}),
            json!({"tolerations": []}),
            "allow",
        ),
        (
            "a mistake in its place",
            json!({"tolerations": {}}),
            negative.clone(),
            "400 misconfigured",
        ),
        (
            "a stored doubt",
            json!({"numberOfClusters": 0}),
            json!({"numberOfClusters": 0, "clusterSets": ["a"]}),
            "allow",
        ),
        (
            "a new doubt",
            json!({"clusterSets": ["a"]}),
            json!({"numberOfClusters": 0}),
            "allow ~1",
        ),
    ] {
        let decision = decide(Some(old.clone()), new.clone());
        assert_eq!(short(&decision), expected, "{sentence}");
        let gone = decide_named(
            "p",
            Some(&deleting(placement(old))),
            &deleting(placement(new)),
        );
        assert_eq!(
            short(&gone),
            "allow",
            "{sentence}, of an object that is being deleted"
        );
    }
}

/// A predicate with four expressions that take 216,000 steps each, and more for the lists.
fn costly() -> Value {
    let items: Vec<_> = (0..60).map(|it| it.to_string()).collect();
    let list = format!("[{}]", items.join(","));
    cel(json!(vec![
        format!(
            "{list}.all(a, {list}.all(b, {list}.all(c, true)))"
        );
        4
    ]))
}

#[test]
fn expressions_that_are_too_costly_by_their_shape_are_refused() {
    let spec = |costly_ones: usize, others: usize| {
        let predicates = vec![costly(); costly_ones].into_iter();
        let plain = cel(json!([
            "managedCluster.status.clusterClaims.exists(c, c.name == 'a' && c.value == 'b')"
        ]));
        let predicates: Vec<_> = predicates.chain(vec![plain; others]).collect();
        json!({"predicates": predicates})
    };
    let one = cel(json!([
        costly()["requiredClusterSelector"]["celSelector"]["celExpressions"][0]
    ]));
    for (sentence, old, new, is_refused) in [
        ("many plain ones", None, spec(0, 500), false),
        ("a costly one", None, json!({"predicates": [one]}), false),
        ("four costly ones", None, spec(1, 0), true),
        ("forty-eight", None, spec(12, 0), true),
        ("they are introduced", Some(spec(0, 1)), spec(1, 1), true),
        ("more than stored", Some(spec(2, 0)), spec(3, 0), true),
        (
            "a part more than stored",
            Some(spec(2, 0)),
            spec(2, 1),
            true,
        ),
        (
            "stored ones, and another field",
            Some(spec(12, 0)),
            {
                let mut spec = spec(12, 0);
                spec["numberOfClusters"] = json!(1);
                spec
            },
            false,
        ),
        ("fewer than stored", Some(spec(12, 0)), spec(11, 1), false),
    ] {
        let decision = decide(old, new);
        let messages = messages(&decision);
        if is_refused {
            assert!(
                matches!(decision.outcome, DecisionOutcome::Malformed(_)),
                "{sentence}: {decision:?}"
            );
            let [message] = &messages[..] else {
                panic!("{sentence}: {messages:?}");
            };
            assert!(
                message.starts_with("spec: Too many steps of celExpressions: ")
                    && message.contains(": must have at most 1000000 in all: "),
                "{sentence}: {message}"
            );
        } else {
            assert_eq!(messages, [""; 0], "{sentence}");
        }
    }
}

#[test]
fn what_is_probably_not_meant_gets_a_warning() {
    let impossible = json!([{"key": "a", "operator": "In", "values": ["b"]}, {"key": "a", "operator": "NotIn", "values": ["b"]}]);
    let decision = decide(
        None,
        json!({"numberOfClusters": 0, "predicates": [labels(impossible), cel(json!(["false"]))]}),
    );
    assert_eq!(
        messages(&decision),
        [
            "spec.predicates[0].requiredClusterSelector.labelSelector: the requirements on \"a\" exclude each other, so the predicate \
             matches no cluster",
            "spec.predicates[1].requiredClusterSelector.celSelector.celExpressions[0]: the expression is always false, so the predicate \
             matches no cluster",
            "spec.numberOfClusters: 0 selects no cluster",
        ]
    );
    let many = decide(None, json!({"clusterSets": vec!["A b"; 50]}));
    assert_eq!(many.warnings.len(), 11);
    assert_eq!(many.warnings[10], "... and 40 more");
}

#[test]
fn messages_are_short_and_plain() {
    let long = "x".repeat(20_000);
    for spec in [
        json!({"predicates": [cel(json!([long, "\u{1b}[31m", "'\u{202e}", "`\u{7}`"]))]}),
        json!({"prioritizerPolicy": {"mode": format!("\u{202e}{long}")}}),
        weights(json!([{"scoreCoordinate": {"builtIn": format!("\u{1b}[31m{long}")}}])),
        json!({"numberOfClusters": format!("\u{202e}{long}")}),
        json!({"clusterSets": [format!("\u{202e}{long}")]}),
        groups(json!([{"groupName": format!("\u{1b}{long}")}])),
        json!({"predicates": vec![has("a"); 1_000]}),
        json!({"tolerations": [{"key": "a", "operator": "\u{1b}"}]}),
    ] {
        let decision = decide(None, spec);
        let messages = messages(&decision);
        assert!(
            !messages.is_empty() && messages.len() <= 21,
            "{}",
            messages.len()
        );
        for message in messages {
            assert!(message.len() <= 2_500, "{}", message.len());
            assert!(
                message.chars().all(berth_rules::display::is_plain),
                "{message:?}"
            );
        }
    }
}

fn any_selector() -> impl Strategy<Value = Value> {
    let operator = prop::sample::select(&["In", "NotIn", "Exists", "DoesNotExist", "Has"][..]);
    let values = prop::collection::vec(prop::sample::select(&["a", "b", "!"][..]), 0..3);
    let requirement = (
        prop::sample::select(&["a", "b", "c d"][..]),
        operator,
        values,
    )
        .prop_map(
            |(key, operator, values)| json!({"key": key, "operator": operator, "values": values}),
        );
    prop::collection::vec(requirement, 0..2).prop_map(|all| json!({"matchExpressions": all}))
}

fn any_predicate() -> impl Strategy<Value = Value> {
    let texts = [
        "true",
        "1",
        "nosuch",
        "managedCluster.metadata.name == 'a'",
        "(",
        "scores('a')",
    ];
    let expressions = prop::collection::vec(prop::sample::select(texts.to_vec()), 0..2);
    (any_selector(), any_selector(), expressions).prop_map(|(labels, claims, expressions)| {
        json!({"requiredClusterSelector": {
            "labelSelector": labels, "claimSelector": claims, "celSelector": {"celExpressions": expressions},
        }})
    })
}

fn any_configuration() -> impl Strategy<Value = Value> {
    let name =
        prop::sample::select(&["Balance", "Steady", "ResourceAllocatableCPU", "Spread", ""][..]);
    let type_ = prop::sample::select(&["BuiltIn", "AddOn", ""][..]);
    let add_on = prop::option::of(Just(json!({"resourceName": "r", "scoreName": "s"})));
    (
        prop::option::weighted(0.9, (type_, name, add_on)),
        -1_i32..3,
    )
        .prop_map(|(coordinate, weight)| {
            let coordinate = coordinate.map(
                |(type_, name, add_on)| json!({"type": type_, "builtIn": name, "addOn": add_on}),
            );
            json!({"scoreCoordinate": coordinate, "weight": weight})
        })
}

fn any_spec() -> impl Strategy<Value = Value> {
    let toleration = (
        prop::sample::select(&["", "a"][..]),
        prop::sample::select(&["", "v"][..]),
        prop::sample::select(&["Equal", "Exists", "", "Like"][..]),
    );
    let toleration = toleration.prop_map(
        |(key, value, operator)| json!({"key": key, "value": value, "operator": operator}),
    );
    let size = prop_oneof![
        Just(Value::Null),
        (-1..4).prop_map(Value::from),
        prop::sample::select(&["40%", "5", "x%"][..]).prop_map(Value::from),
    ];
    let group = any_selector().prop_map(
        |labels| json!({"groupName": "g", "groupClusterSelector": {"labelSelector": labels}}),
    );
    (
        prop::collection::vec(any_predicate(), 0..2),
        prop::collection::vec(toleration, 0..2),
        prop::sample::select(&["Additive", "Exact", "", "Most"][..]),
        prop::collection::vec(any_configuration(), 0..3),
        prop::option::of(-1_i32..4),
        size,
        prop::collection::vec(group, 0..2),
    )
        .prop_map(|(predicates, tolerations, mode, configurations, number, size, groups)| {
            json!({
                "predicates": predicates,
                "tolerations": tolerations,
                "prioritizerPolicy": {"mode": mode, "configurations": configurations},
                "numberOfClusters": number,
                "decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": size, "decisionGroups": groups}},
            })
        })
}

/// What the scheduler calls a mistake.
fn is_misconfigured(spec: &Value) -> bool {
    let stored: berth_api::Placement = serde_json::from_value(placement(spec.clone())).unwrap();
    let rules =
        berth_placement_core::Rules::new(&stored, berth_placement_core::Settings::default());
    rules.misconfiguration().is_some()
}

fn is_refused(decision: &Decision) -> bool {
    match &decision.outcome {
        DecisionOutcome::Allowed => false,
        DecisionOutcome::Malformed(faults) => {
            assert!(
                faults.iter().all(|it| it.reason == Reason::Misconfigured),
                "{faults:?}"
            );
            true
        }
        other => panic!("{other:?}"),
    }
}

proptest! {
    /// The gate and the scheduler agree on what is a mistake.
    #[test]
    fn the_gate_admits_what_the_scheduler_can_schedule(spec in any_spec()) {
        prop_assert_eq!(is_refused(&decide(None, spec.clone())), is_misconfigured(&spec));
    }

    /// A write that changes nothing passes, and so does one that changes something else.
    #[test]
    fn what_is_stored_may_stay(spec in any_spec(), sets in prop::collection::vec("[a-z]{1,4}", 0..3)) {
        prop_assert_eq!(short(&decide(Some(spec.clone()), spec.clone())), "allow");
        let mut other = spec.clone();
        other["clusterSets"] = json!(sets);
        prop_assert_eq!(short(&decide(Some(spec.clone()), other.clone())), "allow");
        // The same spec in other words.
        other["numberOfClusters"] = spec["numberOfClusters"].clone();
        prop_assert_eq!(short(&decide(Some(other), spec)), "allow");
    }

    /// From a sound spec, a change is decided as if the object were new.
    #[test]
    fn a_change_of_a_sound_placement_is_decided_as_its_creation(spec in any_spec()) {
        let created = decide(None, spec.clone());
        prop_assert_eq!(&decide(Some(json!({})), spec.clone()).outcome, &created.outcome);
        // A correction passes always.
        prop_assert_eq!(short(&decide(Some(spec), json!({}))), "allow");
    }

    /// No text panics, and no warning refuses.
    #[test]
    fn any_spec_is_decided(text in r#"[\[\]{}:,"a-z0-9-]{0,40}"#) {
        let body = format!(r#"{{"metadata":{{"name":"p"}},"spec":{text}}}"#);
        if let Ok(new) = serde_json::from_str::<Placement<'_>>(&body) {
            let change = Change { name: "p", namespace: "ns", user: "dev", new, old: None };
            decided::<ValidatePlacement>(&change, &Settings::default(), &[]);
        }
    }
}
