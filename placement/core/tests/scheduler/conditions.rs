//! Conditions: the cases of OCM's, with their messages.

use berth_placement_core::{Misconfiguration, mistakes};
use serde_json::{Value, json};

use crate::bench::{Bench, NAMESPACE};

#[test]
fn conditions_are_those_of_ocm() {
    let without_bindings = || {
        let mut bench = Bench::new(json!({"numberOfClusters": 5})).clusters(&["c1"]);
        bench.snapshot.bindings.clear();
        bench
    };
    let tainted = json!({"name": "c1", "taints": [{"key": "a", "effect": "NoSelect"}]});
    for (sentence, bench, status, reason, message) in [
        (
            "no binding, whatever is missing",
            without_bindings(),
            "False",
            "NoManagedClusterSetBindings",
            "No valid ManagedClusterSetBindings found in placement namespace",
        ),
        (
            "no wanted set is bound",
            Bench::new(json!({"clusterSets": ["b", "a"]})).clusters(&["c1"]),
            "False",
            "NoIntersection",
            "None of ManagedClusterSets [b,a] is bound to placement namespace",
        ),
        (
            "no cluster in the sets",
            Bench::new(json!({})),
            "False",
            "AllManagedClusterSetsEmpty",
            "All ManagedClusterSets [all] have no member ManagedCluster",
        ),
        (
            "no cluster is selected",
            Bench::new(json!({})).cluster(tainted),
            "False",
            "NoManagedClusterMatched",
            "No ManagedCluster matches any of the cluster predicate",
        ),
        (
            "no cluster is asked for",
            Bench::new(json!({"numberOfClusters": 0})).clusters(&["c1"]),
            "False",
            "NoManagedClusterMatched",
            "No ManagedCluster matches any of the cluster predicate",
        ),
        (
            "all are selected",
            Bench::new(json!({"numberOfClusters": 1})).clusters(&["c1"]),
            "True",
            "AllDecisionsScheduled",
            "All cluster decisions scheduled",
        ),
        (
            "some are missing",
            Bench::new(json!({"numberOfClusters": 3})).clusters(&["c1"]),
            "False",
            "NotAllDecisionsScheduled",
            "2 cluster decisions unscheduled",
        ),
    ] {
        let conditions = bench.run().conditions;
        let satisfied = &conditions.satisfied;
        assert_eq!(satisfied.type_, "PlacementSatisfied");
        assert_eq!(
            (satisfied.status, satisfied.reason),
            (status, reason),
            "{sentence}"
        );
        assert_eq!(satisfied.message, message, "{sentence}");
        let misconfigured = &conditions.misconfigured;
        assert_eq!(misconfigured.type_, "PlacementMisconfigured");
        assert_eq!(
            (misconfigured.status, misconfigured.reason),
            ("False", "Succeedconfigured"),
            "{sentence}"
        );
        assert_eq!(
            misconfigured.message, "Placement configurations check pass",
            "{sentence}"
        );
    }
}

#[test]
fn mistakes_in_the_spec_have_the_messages_of_ocm() {
    let policy = |policy: Value| json!({"prioritizerPolicy": policy});
    let configuration = |it: Value| policy(json!({"configurations": [it]}));
    let groups = |strategy: Value| json!({"decisionStrategy": {"groupStrategy": strategy}});
    let selector =
        json!({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Has"}]}});
    let claim = json!({"claimSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x".repeat(64)]}]}});
    for (spec, message) in [
        (
            json!({"tolerations": [{"value": "v", "operator": "Equal"}]}),
            "TaintToleration:If the key is empty, operator must be Exists.",
        ),
        (
            json!({"tolerations": [{"key": "a"}, {"value": "v", "operator": "Exists"}]}),
            "TaintToleration:If the operator is Exists, the value should be empty.",
        ),
        (
            policy(json!({"mode": "Most"})),
            ":incorrect prioritizer policy mode: Most",
        ),
        (
            configuration(json!({"weight": 1})),
            ":scoreCoordinate field is required",
        ),
        (
            configuration(json!({"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Spread"}})),
            ":incorrect builtin prioritizer: Spread",
        ),
        (
            configuration(json!({"scoreCoordinate": {"type": "AddOn"}})),
            ":addOn should not be empty",
        ),
        (
            groups(json!({"clustersPerDecisionGroup": "5"})),
            ":5 invalid type: string is not a percentage",
        ),
        (
            json!({"numberOfClusters": -1}),
            ":numberOfClusters is -1, and must not be negative",
        ),
        (
            json!({"predicates": [{}, {"requiredClusterSelector": selector}]}),
            "Predicate:spec.predicates[1].requiredClusterSelector.labelSelector.matchExpressions[0].operator: Invalid value: \"Has\": \
             not a valid selector operator",
        ),
        (
            json!({"predicates": [{"requiredClusterSelector": claim}]}),
            "Predicate:spec.predicates[0].requiredClusterSelector.claimSelector.matchExpressions[0].values[0]: Invalid value: \
             \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\": must be no more than 63 bytes",
        ),
        (
            groups(
                json!({"decisionGroups": [{"groupName": "g", "groupClusterSelector": selector}]}),
            ),
            ":spec.decisionStrategy.groupStrategy.decisionGroups[0].groupClusterSelector.labelSelector.matchExpressions[0].operator: \
             Invalid value: \"Has\": not a valid selector operator",
        ),
    ] {
        let seen = Bench::new(spec.clone()).clusters(&["c1"]).run();
        let misconfigured = seen.conditions.misconfigured;
        assert_eq!(
            (misconfigured.status, misconfigured.reason),
            ("True", "Misconfigured"),
            "{spec}"
        );
        assert_eq!(misconfigured.message, message);
        let satisfied = seen.conditions.satisfied;
        assert_eq!(
            (satisfied.status, satisfied.reason),
            ("False", "NoManagedClusterMatched"),
            "{spec}"
        );
    }
}

#[test]
fn of_several_mistakes_the_first_step_reports_its_own() {
    let spec = json!({
        "decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "5"}},
        "numberOfClusters": -1,
        "prioritizerPolicy": {"mode": "Most"},
        "tolerations": [{"value": "v"}],
        "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"a b": "c"}}}}],
    });
    let order = [
        "predicates",
        "tolerations",
        "prioritizerPolicy",
        "numberOfClusters",
        "decisionStrategy",
    ];
    let mut spec = spec;
    for field in order {
        let bench = Bench::new(spec.clone());
        let rules = bench.rules();
        let mistake = rules.misconfiguration().expect(field);
        assert!(
            mistake.field().starts_with(&format!("spec.{field}")),
            "{field}: {}",
            mistake.field()
        );
        spec.as_object_mut().unwrap().remove(field);
    }
    assert_eq!(Bench::new(spec).rules().misconfiguration(), None);
}

#[test]
fn all_mistakes_are_found_with_their_fields() {
    let broken = json!({
        "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Has"}, {"key": "a", "operator": "In"}]},
        "claimSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]},
        "celSelector": {"celExpressions": ["true", "nosuch", "("]},
    });
    let balance = |weight| json!({"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Spread"}, "weight": weight});
    let spec = json!({
        "predicates": [{}, {"requiredClusterSelector": broken}],
        "tolerations": [{"value": "v"}, {"value": "v", "operator": "Exists"}],
        "prioritizerPolicy": {"mode": "Most", "configurations": [
            {"weight": 1}, balance(0), balance(1), {"scoreCoordinate": {"type": "AddOn"}},
        ]},
        "numberOfClusters": -2,
        "decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "5", "decisionGroups": [
            {"groupName": "g", "groupClusterSelector": {"claimSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}},
        ]}},
    });
    let found = mistakes(&serde_json::from_value(spec.clone()).unwrap());
    let each: Vec<_> = found.iter().flat_map(Misconfiguration::each).collect();
    let cluster = "spec.predicates[1].requiredClusterSelector";
    let group = "spec.decisionStrategy.groupStrategy";
    let policy = "spec.prioritizerPolicy";
    let of = |path: &str, field: &str| format!("{path}.{field}");
    let expected = [
        of(cluster, "labelSelector.matchExpressions[0].operator"),
        of(cluster, "labelSelector.matchExpressions[1].values"),
        of(cluster, "claimSelector.matchExpressions[0].operator"),
        of(cluster, "celSelector.celExpressions[1]"),
        of(cluster, "celSelector.celExpressions[2]"),
        "spec.tolerations[0].operator".to_owned(),
        "spec.tolerations[1].value".to_owned(),
        of(policy, "mode"),
        of(policy, "configurations[0].scoreCoordinate"),
        of(policy, "configurations[2].scoreCoordinate.builtIn"),
        of(policy, "configurations[3].scoreCoordinate.addOn"),
        "spec.numberOfClusters".to_owned(),
        of(group, "clustersPerDecisionGroup"),
        of(
            group,
            "decisionGroups[0].groupClusterSelector.claimSelector.matchExpressions[0].operator",
        ),
    ];
    let fields: Vec<_> = each.iter().map(|(field, _)| field.clone()).collect();
    assert_eq!(fields, expected);
    assert_eq!(
        each[3].1,
        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nosuch'"
    );
    assert_eq!(each[7].1, "incorrect prioritizer policy mode: Most");
    let rules = Bench::new(spec).rules();
    assert_eq!(rules.misconfiguration(), found.first());
    assert_eq!(
        mistakes(&berth_api::placement::PlacementSpec::default()),
        []
    );
}

#[test]
fn a_long_message_fits_the_schema() {
    let sets: Vec<_> = (0..3_000).map(|index| format!("set-{index:020}")).collect();
    let mut bench = Bench::new(json!({"clusterSets": sets}));
    bench
        .snapshot
        .bindings
        .entry(NAMESPACE.to_owned())
        .or_default();
    let message = bench.run().conditions.satisfied.message;
    assert_eq!(message.chars().count(), 32_768);
}
