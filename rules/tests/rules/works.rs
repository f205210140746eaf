//! The rules of ManifestWorks and ManifestWorkReplicaSets, as tables and laws.

use berth_rules::object::{ManifestWork, ReplicaSet};
use berth_rules::{
    Change, Decision, DecisionOutcome, FeatureGates, Question, Rules, Settings, ValidateReplicaSet,
    ValidateWork,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{NOW, decided, deleting, short};

/// A ManifestWork, or a ManifestWorkReplicaSet with such a template.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    Work,
    ReplicaSet,
}

const BOTH: [Of; 2] = [Of::Work, Of::ReplicaSet];

fn work(spec: Value) -> Value {
    json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": {"name": "w", "namespace": "c1"},
        "spec": spec,
    })
}

fn replica_set(template: Value) -> Value {
    json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": "w", "namespace": "c1"},
        "spec": {"manifestWorkTemplate": template, "placementRefs": [{"name": "p"}]},
    })
}

impl Of {
    fn object(self, spec: Value) -> Value {
        match self {
            Self::Work => work(spec),
            Self::ReplicaSet => replica_set(spec),
        }
    }

    fn decide(self, name: &str, old: Option<&Value>, new: &Value, at: &Scene<'_>) -> Decision {
        match self {
            Self::Work => decided::<ValidateWork>(
                &change::<ManifestWork<'_>>(
                    name,
                    old.map(Value::to_string).as_deref(),
                    &new.to_string(),
                ),
                &at.settings,
                at.facts,
            ),
            Self::ReplicaSet => decided::<ValidateReplicaSet>(
                &change::<ReplicaSet<'_>>(
                    name,
                    old.map(Value::to_string).as_deref(),
                    &new.to_string(),
                ),
                &at.settings,
                at.facts,
            ),
        }
    }
}

/// The settings, and the facts of the hub.
#[derive(Default)]
struct Scene<'f> {
    settings: Settings,
    facts: &'f [&'f str],
}

fn change<'a, O: serde::Deserialize<'a>>(
    name: &'a str,
    old: Option<&'a str>,
    new: &'a str,
) -> Change<'a, O> {
    Change {
        name,
        namespace: "c1",
        user: "dev",
        new: serde_json::from_str(new).unwrap(),
        old: old.map(|old| serde_json::from_str(old).unwrap()),
    }
}

fn decide(of: Of, old: Option<Value>, new: Value, facts: &[&str]) -> Decision {
    let scene = Scene {
        facts,
        ..Scene::default()
    };
    of.decide(
        "w",
        old.map(|old| of.object(old)).as_ref(),
        &of.object(new),
        &scene,
    )
}

/// The messages of the faults or denials, or the warnings of an admitted change.
fn messages(decision: &Decision) -> Vec<String> {
    match &decision.outcome {
        DecisionOutcome::Malformed(faults) => faults.iter().map(|it| it.message.clone()).collect(),
        DecisionOutcome::Denied(denials) => denials.iter().map(|it| it.message.clone()).collect(),
        _ => decision.warnings.clone(),
    }
}

fn manifests(manifests: Value) -> Value {
    json!({"workload": {"manifests": manifests}})
}

fn config_map(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}})
}

/// A spec with this config for all ConfigMaps.
fn configured(mut config: Value) -> Value {
    config["resourceIdentifier"] = json!({"resource": "configmaps", "namespace": "*", "name": "*"});
    with(sound(), "manifestConfigs", json!([config]))
}

fn sound() -> Value {
    manifests(json!([config_map("default", "cm1")]))
}

fn with(mut spec: Value, field: &str, value: Value) -> Value {
    spec[field] = value;
    spec
}

fn executor(name: &str) -> Value {
    json!({"subject": {"type": "ServiceAccount", "serviceAccount": {"namespace": "ns1", "name": name}}})
}

fn secret(namespace: &str, name: &str, kibibytes: usize) -> Value {
    let data = "x".repeat(kibibytes * 1024);
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "data": {"test": data},
    })
}

#[test]
fn manifests_that_the_agent_cannot_apply_are_refused() {
    let no_name = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
    let generated = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "generateName": "a-"}});
    for (sentence, spec, expected, lines) in [
        (
            "three objects",
            manifests(json!([
                config_map("default", "a"),
                config_map("default", "b"),
                config_map("default", "c")
            ])),
            "allow",
            &[][..],
        ),
        (
            "the same name in another namespace",
            manifests(json!([config_map("a", "cm"), config_map("b", "cm")])),
            "allow",
            &[],
        ),
        (
            "the same name of another kind",
            manifests(json!([config_map("a", "cm"), secret("a", "cm", 0)])),
            "allow",
            &[],
        ),
        (
            "no manifests",
            manifests(json!([])),
            "400 no-manifests",
            &["manifests should not be empty"],
        ),
        (
            "null",
            manifests(json!(null)),
            "400 no-manifests",
            &["manifests should not be empty"],
        ),
        (
            "no spec",
            json!(null),
            "400 no-manifests",
            &["manifests should not be empty"],
        ),
        (
            "no name",
            manifests(json!([config_map("a", "b"), no_name])),
            "400 manifest",
            &["name must be set in manifest: spec.workload.manifests[1]"],
        ),
        (
            "a generated name",
            manifests(json!([generated])),
            "400 manifest",
            &["generateName must not be set in manifest: spec.workload.manifests[0]"],
        ),
        (
            "no object",
            manifests(json!([null, "x", ["v1"]])),
            "400 manifest manifest manifest",
            &[
                "failed to extract metadata from manifest at index 0: invalid type: null, expected an object",
                "failed to extract metadata from manifest at index 1: invalid type: string \"x\", expected an object",
                "failed to extract metadata from manifest at index 2: invalid type: sequence, expected an object",
            ],
        ),
        (
            "an object without anything",
            manifests(json!([{}])),
            "400 manifest manifest manifest",
            &[
                "name must be set in manifest: spec.workload.manifests[0]",
                "spec.workload.manifests[0].apiVersion: Required value",
                "spec.workload.manifests[0].kind: Required value",
            ],
        ),
        (
            "a name that is a number",
            manifests(json!([{"apiVersion": "v1", "kind": "A", "metadata": {"name": 5}}])),
            "400 manifest",
            &[
                "failed to extract metadata from manifest at index 0: invalid type: integer `5`, expected a string",
            ],
        ),
        (
            "the same object twice",
            manifests(json!([
                config_map("default", "test1"),
                config_map("default", "test2"),
                config_map("default", "test1")
            ])),
            "400 duplicate-manifest",
            &["duplicate manifest for resource default/test1 with resource type v1.ConfigMap"],
        ),
        (
            "the same Secret twice",
            manifests(json!([
                secret("test", "test", 100),
                secret("test", "test", 100)
            ])),
            "400 duplicate-manifest",
            &["duplicate manifest for resource test/test with resource type v1.Secret"],
        ),
        (
            "no list",
            manifests(json!({})),
            "400 work-field",
            &["spec.workload.manifests: invalid type: map, expected a sequence"],
        ),
        (
            "a number in place of a text, in a rule",
            json!({"manifestConfigs": [{"resourceIdentifier": {"resource": "a", "name": 7}}]}),
            "400 work-field",
            &[
                "spec.manifestConfigs[0].resourceIdentifier.name: invalid type: integer `7`, expected a string",
            ],
        ),
        (
            "a list for the workload",
            json!({"workload": [[]]}),
            "400 work-field",
            &["spec.workload: invalid type: sequence, expected an object"],
        ),
    ] {
        for of in BOTH {
            let decision = decide(of, None, spec.clone(), &[]);
            assert_eq!(short(&decision), expected, "{sentence}: {of:?}");
            let words = |line: &&str| match of {
                Of::Work => (*line).to_owned(),
                Of::ReplicaSet => line
                    .replace("spec.workload", "spec.manifestWorkTemplate.workload")
                    .replace(
                        "spec.manifestConfigs[0]",
                        "spec.manifestWorkTemplate.manifestConfigs[0]",
                    )
                    .replace("manifests should", "Workload manifests should")
                    .replace("spec.workload", "spec.manifestWorkTemplate.workload")
                    .replace(
                        "spec.manifestConfigs[0]",
                        "spec.manifestWorkTemplate.manifestConfigs[0]",
                    ),
            };
            let lines: Vec<_> = lines.iter().map(words).collect();
            assert_eq!(messages(&decision), lines, "{sentence}: {of:?}");
        }
    }
}

/// The sizes of OCM's test, with two Secrets.
#[test]
fn the_size_is_counted_as_ocm_counts_it() {
    let text = |kibibytes: usize, name: &str| {
        let data = "a".repeat(kibibytes * 1024);
        format!(
            r#"{{"kind":"Secret","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"t"}},"data":{{"a":"{data}"}}
}}"#
        )
    };
    let sized = |texts: [String; 2], limit| {
        let new = format!(
            r#"{{"metadata":{{"name":"w"}},"spec":{{"workload":{{"manifests":[{}]}}}}}}"#,
            texts.join(",")
        );
        let change = change::<ManifestWork<'_>>("w", None, &new);
        let settings = Settings {
            manifest_limit: limit,
            ..Settings::default()
        };
        messages(&decided::<ValidateWork>(&change, &settings, &[]))
    };
    let texts = [text(300, "a"), text(200, "b")];
    // 500 KiB of data; a text has 92 bytes besides its data, and the count adds a tag and a length of three bytes.
    assert_eq!(texts[0].len() - 300 * 1024, 92);
    assert_eq!(
        sized(texts.clone(), 512_000),
        ["the size of manifests is 512192 bytes which exceeds the 512000 limit"]
    );
    assert_eq!(sized(texts.clone(), 512_192), [""; 0]);
    assert_eq!(
        sized(texts, 512_191),
        ["the size of manifests is 512192 bytes which exceeds the 512191 limit"]
    );
}

#[test]
fn names_fit_what_is_made_of_them() {
    let name = |length: usize| "n".repeat(length);
    for (of, length, expected) in [
        (Of::Work, 188, "allow"),
        (Of::Work, 189, "400 work-name"),
        // With the namespace c1 and a dot.
        (Of::ReplicaSet, 60, "allow"),
        (Of::ReplicaSet, 61, "400 work-name"),
    ] {
        let (name, new) = (name(length), of.object(sound()));
        let scene = Scene::default();
        let created = of.decide(&name, None, &new, &scene);
        assert_eq!(short(&created), expected, "{of:?} {length}");
        let changed = of.object(manifests(json!([config_map("a", "b")])));
        let updated = of.decide(&name, Some(&new), &changed, &scene);
        assert_eq!(short(&updated), "allow", "a stored one: {of:?} {length}");
    }
    let long = name(189);
    let decision = Of::Work.decide(&long, None, &work(sound()), &Scene::default());
    assert_eq!(
        messages(&decision),
        [format!(
            "metadata.name: Invalid value: \"{long}\": must be no more than 188 characters, to fit the name of the agent's \
             AppliedManifestWork"
        )]
    );
    let decision = Of::ReplicaSet.decide(&name(61), None, &replica_set(sound()), &Scene::default());
    assert_eq!(
        messages(&decision),
        [format!(
            "metadata.name: Invalid value: \"{}\": the name with its namespace and a dot must be no more than 63 characters, to fit the \
             label by which ManifestWorks name their ManifestWorkReplicaSet",
            name(61)
        )]
    );
}

fn paths(names: &[&str]) -> Value {
    let paths: Vec<_> = names
        .iter()
        .map(|name| json!({"name": name, "path": ".a"}))
        .collect();
    json!({"type": "JSONPaths", "jsonPaths": paths})
}

#[test]
fn names_of_values_and_conditions_are_not_taken() {
    let well_known = json!({"type": "WellKnownStatus"});
    let deployment = |rules: Value| {
        let id = json!({"group": "apps", "resource": "deployments", "name": "d"});
        let deployment =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}});
        let config = json!({"resourceIdentifier": id, "feedbackRules": rules});
        with(
            manifests(json!([deployment])),
            "manifestConfigs",
            json!([config]),
        )
    };
    let feedback = |rules: Value| configured(json!({"feedbackRules": rules}));
    let condition = |name: &str| {
        configured(
            json!({"conditionRules": [{"condition": name, "type": "CEL", "celExpressions": ["true"]}]}),
        )
    };
    let taken = |name: &str| {
        format!(
            "spec.manifestConfigs[0].conditionRules: Invalid value: \"{name}\": the agent sets the condition of this name itself; use \
             another name"
        )
    };
    let twice = |name: &str| {
        format!(
            "spec.manifestConfigs[0].feedbackRules: Duplicate value: \"{name}\": two reported values of an object cannot have the same name"
        )
    };
    for (sentence, spec, lines) in [
        (
            "different names",
            feedback(json!([paths(&["a", "b"]), paths(&["c"])])),
            vec![],
        ),
        (
            "one name in a rule",
            feedback(json!([paths(&["a", "a"])])),
            vec![twice("a")],
        ),
        (
            "one name in two rules",
            feedback(json!([paths(&["a"]), paths(&["b", "a"])])),
            vec![twice("a")],
        ),
        (
            "a name of a kind without well-known values",
            feedback(json!([well_known, paths(&["ReadyReplicas"])])),
            vec![],
        ),
        (
            "a well-known name",
            deployment(json!([well_known, paths(&["ReadyReplicas"])])),
            vec![twice("ReadyReplicas")],
        ),
        (
            "paths that are not read",
            feedback(
                json!([{"type": "WellKnownStatus", "jsonPaths": [{"name": "a"}]}, paths(&["a"])]),
            ),
            vec![],
        ),
        ("a condition", condition("Progressing"), vec![]),
        ("Applied", condition("Applied"), vec![taken("Applied")]),
        (
            "Available",
            condition("Available"),
            vec![taken("Available")],
        ),
        ("Deleting", condition("Deleting"), vec![taken("Deleting")]),
        (
            "StatusFeedbackSynced",
            condition("StatusFeedbackSynced"),
            vec![taken("StatusFeedbackSynced")],
        ),
        ("Drifted", condition("Drifted"), vec![taken("Drifted")]),
    ] {
        let decision = decide(Of::Work, None, spec, &[]);
        assert_eq!(messages(&decision), lines, "{sentence}");
        let refused = matches!(decision.outcome, DecisionOutcome::Malformed(_));
        assert_eq!(refused, !lines.is_empty(), "{sentence}");
    }
}

const MAY: &str = "execute-as:system:serviceaccount:ns1:sa1";
const MAY_OTHER: &str = "execute-as:system:serviceaccount:ns1:sa2";
const MAY_NIL: &str = "execute-as:system:serviceaccount::klusterlet-work-sa";

#[test]
fn an_executor_needs_the_permission_to_execute_as_it() {
    let under = |name: &str| with(sound(), "executor", executor(name));
    let other = |spec: Value| {
        with(
            spec,
            "workload",
            json!({"manifests": [config_map("default", "cm2")]}),
        )
    };
    let config = json!([{"resourceIdentifier": {"resource": "configmaps", "namespace": "*", "name": "*"}, "updateStrategy": {"type": "CreateOnly"}}]);
    let invalid = with(sound(), "executor", json!({}));
    for (sentence, old, new, facts, expected) in [
        ("no executor", None, sound(), &[][..], "allow"),
        ("an executor", None, under("sa1"), &[], "403 execute-as"),
        (
            "an executor with permission",
            None,
            under("sa1"),
            &[MAY],
            "allow",
        ),
        (
            "one with the permission for another",
            None,
            under("sa1"),
            &[MAY_OTHER],
            "403 execute-as",
        ),
        (
            "the hub is away",
            None,
            under("sa1"),
            &["?execute-as:system:serviceaccount:ns1:sa1"],
            "500 x1",
        ),
        (
            "nothing changes",
            Some(under("sa1")),
            under("sa1"),
            &[],
            "allow",
        ),
        (
            "it is set",
            Some(sound()),
            under("sa1"),
            &[],
            "403 execute-as",
        ),
        (
            "it changes",
            Some(under("sa1")),
            under("sa2"),
            &[MAY],
            "403 execute-as",
        ),
        (
            "it changes with permission",
            Some(under("sa1")),
            under("sa2"),
            &[MAY_OTHER],
            "allow",
        ),
        ("it goes", Some(under("sa1")), sound(), &[], "allow"),
        (
            "manifests change under it",
            Some(under("sa1")),
            other(under("sa1")),
            &[],
            "403 execute-as",
        ),
        (
            "manifests change with permission",
            Some(under("sa1")),
            other(under("sa1")),
            &[MAY],
            "allow",
        ),
        (
            "manifests change without executor",
            Some(sound()),
            other(sound()),
            &[],
            "allow",
        ),
        (
            "rules change",
            Some(under("sa1")),
            with(under("sa1"), "manifestConfigs", config),
            &[],
            "403 execute-as",
        ),
        (
            "the deletion changes",
            Some(under("sa1")),
            with(
                under("sa1"),
                "deleteOption",
                json!({"propagationPolicy": "Orphan"}),
            ),
            &[],
            "403 execute-as",
        ),
        (
            "an unknown field changes",
            Some(under("sa1")),
            with(under("sa1"), "later", json!(1)),
            &[],
            "allow",
        ),
        (
            "an executor without a subject",
            None,
            invalid.clone(),
            &[],
            "400 executor",
        ),
        (
            "an executor without an account",
            None,
            with(
                sound(),
                "executor",
                json!({"subject": {"type": "ServiceAccount"}}),
            ),
            &[],
            "400 executor",
        ),
        (
            "an executor of another type",
            None,
            with(sound(), "executor", json!({"subject": {"type": "User"}})),
            &[],
            "400 executor",
        ),
        (
            "a stored executor without a subject",
            Some(invalid.clone()),
            other(invalid.clone()),
            &[],
            "allow",
        ),
        (
            "null for the executor",
            None,
            with(sound(), "executor", json!(null)),
            &[],
            "allow",
        ),
        (
            "a stored unreadable spec",
            Some(with(sound(), "executor", json!("x"))),
            under("sa1"),
            &[],
            "403 execute-as",
        ),
        (
            "an unreadable spec that stays one",
            Some(with(sound(), "executor", json!("x"))),
            with(under("sa2"), "manifestConfigs", json!("x")),
            &[],
            "400 work-field",
        ),
    ] {
        for of in BOTH {
            let decision = decide(of, old.clone(), new.clone(), facts);
            assert_eq!(short(&decision), expected, "{sentence}: {of:?}");
            if let Some(old) = &old {
                let gone = |spec: &Value| deleting(of.object(spec.clone()));
                let decision = of.decide("w", Some(&gone(old)), &gone(&new), &Scene::default());
                assert_eq!(
                    short(&decision),
                    "allow",
                    "{sentence}, while it is deleted: {of:?}"
                );
            }
        }
    }
}

#[test]
fn without_an_executor_the_gate_of_ocm_asks_for_the_agents_account() {
    let under = with(sound(), "executor", executor("sa1"));
    let other = manifests(json!([config_map("default", "cm2")]));
    for (sentence, old, new, facts, expected) in [
        ("with permission", None, sound(), &[MAY_NIL][..], "allow"),
        ("without", None, sound(), &[MAY], "403 execute-as"),
        ("unchanged", Some(sound()), sound(), &[], "allow"),
        (
            "manifests change",
            Some(sound()),
            other,
            &[],
            "403 execute-as",
        ),
        (
            "the executor goes",
            Some(under),
            sound(),
            &[MAY],
            "403 execute-as",
        ),
    ] {
        for of in BOTH {
            let gates = FeatureGates {
                nil_executor_validating: true,
                ..FeatureGates::default()
            };
            let scene = Scene {
                settings: gates.into(),
                facts,
            };
            let old = old.clone().map(|old| of.object(old));
            let decision = of.decide("w", old.as_ref(), &of.object(new.clone()), &scene);
            assert_eq!(short(&decision), expected, "{sentence}: {of:?}");
        }
    }
}

/// The sentence is OCM's, and the permission is that of OCM's review.
#[test]
fn a_denial_begins_with_ocms_sentence() {
    let spec = with(sound(), "executor", executor("sa1"));
    let decision = decide(Of::Work, None, spec.clone(), &[]);
    assert_eq!(
        messages(&decision),
        [
            "user dev cannot manipulate the Manifestwork with executor ns1/sa1 in namespace c1: needs verb \"execute-as\" on manifestworks, \
             name \"system:serviceaccount:ns1:sa1\" in namespace \"c1\"; check: kubectl auth can-i execute-as \
             manifestworks.work.open-cluster-management.io/system:serviceaccount:ns1:sa1 -n c1"
        ]
    );
    let decision = decide(Of::ReplicaSet, None, spec.clone(), &[]);
    assert_eq!(
        messages(&decision),
        [
            "user dev cannot manipulate the ManifestWorkReplicaSet with executor ns1/sa1, whose ManifestWorks can be in the namespace of any \
             cluster: needs verb \"execute-as\" on manifestworks, name \"system:serviceaccount:ns1:sa1\"; check: kubectl auth can-i \
             execute-as manifestworks.work.open-cluster-management.io/system:serviceaccount:ns1:sa1 -A"
        ]
    );
    let new = work(spec).to_string();
    let change = change::<ManifestWork<'_>>("w", None, &new);
    let mut case = ValidateWork::examine(&change, &Settings::default(), NOW.parse().unwrap());
    let questions = case.take_questions();
    let [Question::Permission(permission)] = &questions[..] else {
        panic!("{questions:?}");
    };
    assert_eq!(permission.verbs, ["execute-as"]);
    assert_eq!(permission.group, "work.open-cluster-management.io");
    assert_eq!(permission.whole_resource(), "manifestworks");
    assert_eq!(permission.namespace.as_deref(), Some("c1"));
}

#[test]
fn only_what_a_change_introduces_is_refused() {
    let no_name = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
    let twice = |name: &str| json!([config_map("a", name), config_map("a", name)]);
    let large = |kibibytes: usize| manifests(json!([secret("a", "b", kibibytes)]));
    let many = |count: usize| {
        let all: Vec<_> = (0..count)
            .map(|index| config_map("a", &format!("c{index}")))
            .collect();
        json!({"workload": {"manifests": all}})
    };
    let reserved = configured(json!({"conditionRules": [{"condition": "Applied", "type": "CEL"}]}));
    for (sentence, old, new, expected) in [
        (
            "a stored manifest without a name",
            manifests(json!([no_name])),
            manifests(json!([config_map("a", "b"), no_name])),
            "allow",
        ),
        (
            "one more",
            manifests(json!([no_name])),
            manifests(json!([no_name, no_name])),
            "400 manifest",
        ),
        (
            "a correction",
            manifests(json!([no_name])),
            sound(),
            "allow",
        ),
        (
            "a stored duplicate",
            manifests(twice("b")),
            with(
                manifests(twice("b")),
                "deleteOption",
                json!({"propagationPolicy": "Orphan"}),
            ),
            "allow",
        ),
        (
            "another duplicate",
            manifests(twice("b")),
            manifests(twice("c")),
            "400 duplicate-manifest",
        ),
        (
            "no manifests, as stored",
            manifests(json!([])),
            with(
                manifests(json!([])),
                "deleteOption",
                json!({"propagationPolicy": "Orphan"}),
            ),
            "allow",
        ),
        (
            "no manifests any more",
            sound(),
            manifests(json!([])),
            "400 no-manifests",
        ),
        ("a large one that shrinks", large(520), large(510), "allow"),
        (
            "a large one that grows",
            large(510),
            large(520),
            "400 manifests-size",
        ),
        (
            "one that becomes too large",
            large(400),
            large(501),
            "400 manifests-size",
        ),
        (
            "a stored reserved condition",
            reserved.clone(),
            with(
                reserved.clone(),
                "workload",
                json!({"manifests": [config_map("a", "b")]}),
            ),
            "allow",
        ),
        (
            "a new reserved condition",
            sound(),
            reserved,
            "400 manifest-config",
        ),
        (
            "too many manifests",
            sound(),
            many(10_001),
            "400 list-too-long",
        ),
    ] {
        for of in BOTH {
            // Ten thousand ConfigMaps are also too large.
            let scene = Scene {
                settings: Settings {
                    manifest_limit: if sentence.contains("many") {
                        1 << 30
                    } else {
                        512_000
                    },
                    ..Settings::default()
                },
                ..Scene::default()
            };
            let decision = of.decide(
                "w",
                Some(&of.object(old.clone())),
                &of.object(new.clone()),
                &scene,
            );
            assert_eq!(short(&decision), expected, "{sentence}: {of:?}");
            let gone = |spec: &Value| deleting(of.object(spec.clone()));
            let decision = of.decide("w", Some(&gone(&old)), &gone(&new), &scene);
            assert_eq!(
                short(&decision),
                "allow",
                "{sentence}, while it is deleted: {of:?}"
            );
        }
    }
}

#[test]
fn rules_are_counted_while_they_are_decoded() {
    let config = json!({"resourceIdentifier": {"resource": "configmaps", "namespace": "*", "name": "*"}, "feedbackRules": [{"type": "WellKnownStatus"}]});
    for (count, expected) in [(5_000, "allow"), (5_001, "400 list-too-long")] {
        let spec = with(
            sound(),
            "manifestConfigs",
            json!(vec![config.clone(); count]),
        );
        let decision = decide(Of::Work, None, spec.clone(), &[]);
        assert_eq!(short(&decision), expected, "{count}");
        let stored = with(
            spec.clone(),
            "deleteOption",
            json!({"propagationPolicy": "Orphan"}),
        );
        assert_eq!(short(&decide(Of::Work, Some(stored), spec, &[])), "allow");
    }
}

#[test]
fn a_replica_set_names_placements_and_how_to_roll_out() {
    let refs = |refs: Value| {
        let mut object = replica_set(sound());
        object["spec"]["placementRefs"] = refs;
        object
    };
    let strategy = |strategy: Value| refs(json!([{"name": "p", "rolloutStrategy": strategy}]));
    for (sentence, new, expected, lines) in [
        (
            "two placements",
            refs(json!([{"name": "p"}, {"name": "q"}])),
            "allow",
            &[][..],
        ),
        (
            "none",
            refs(json!([])),
            "400 placement-ref",
            &["spec.placementRefs: Required value: name a Placement of this namespace"],
        ),
        (
            "one without a name",
            refs(json!([{}])),
            "400 placement-ref",
            &["spec.placementRefs[0].name: Required value"],
        ),
        (
            "a path",
            refs(json!([{"name": "a/b"}])),
            "400 placement-ref",
            &[
                "spec.placementRefs[0].name: Invalid value: \"a/b\": must be the name of a Placement: a lowercase RFC 1123 subdomain",
            ],
        ),
        (
            "the same twice",
            refs(json!([{"name": "p"}, {"name": "p"}])),
            "400 placement-ref",
            &["spec.placementRefs[1].name: Duplicate value: \"p\""],
        ),
        (
            "a strategy",
            strategy(
                json!({"type": "Progressive", "progressive": {"maxConcurrency": "25%", "progressDeadline": "1h30m", "maxFailures": 2}}),
            ),
            "allow",
            &[],
        ),
        (
            "a deadline",
            strategy(json!({"type": "All", "all": {"progressDeadline": "soon"}})),
            "400 rollout-strategy",
            &[
                "spec.placementRefs[0].rolloutStrategy: invalid timeout format: progressDeadline is 'soon', and must be None or a duration \
                 such as 90s or 1h30m",
            ],
        ),
        (
            "a type",
            strategy(json!({"type": "Slow"})),
            "400 rollout-strategy",
            &["spec.placementRefs[0].rolloutStrategy: incorrect rollout strategy type Slow"],
        ),
    ] {
        let scene = Scene::default();
        let decision = Of::ReplicaSet.decide("w", None, &new, &scene);
        assert_eq!(short(&decision), expected, "{sentence}");
        assert_eq!(messages(&decision), lines, "{sentence}");
        let mut changed = new.clone();
        changed["spec"]["cascadeDeletionPolicy"] = json!("Foreground");
        let stored = Of::ReplicaSet.decide("w", Some(&new), &changed, &scene);
        assert_eq!(short(&stored), "allow", "{sentence}, stored");
    }
}

/// Names of 2,400 bytes in 1,000 configs would take a second.
#[test]
fn comparisons_for_a_warning_have_a_bound() {
    let id = json!({"resource": "configmaps", "namespace": "default", "name": "*other*"});
    let config = json!({"resourceIdentifier": id, "feedbackRules": [{"type": "WellKnownStatus"}]});
    for (length, expected) in [(200, "allow ~1"), (2400, "allow")] {
        let name = "a".repeat(length);
        let manifest = |at: usize| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": format!("{name}{at}")}});
        let manifests: Vec<_> = (0..40).map(manifest).collect();
        let spec = json!({
            "workload": {"manifests": manifests},
            "manifestConfigs": vec![config.clone(); 1000],
        });
        let decision = decide(Of::Work, None, spec, &[]);
        assert_eq!(short(&decision), expected, "{length}");
    }
}

#[test]
fn a_resource_that_no_manifest_has_gets_a_warning() {
    let spec = |group: &str, kind: &str, resource: &str| {
        let id = json!({"group": group, "resource": resource, "namespace": "shop", "name": "*"});
        json!({
            "workload": {"manifests": [
                {"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": "j", "namespace": "shop"}},
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j", "namespace": "shop"}},
            ]},
            "manifestConfigs": [{"resourceIdentifier": id, "feedbackRules": [{"type": "WellKnownStatus"}]}],
        })
    };
    for (group, kind, resource, meant) in [
        ("batch", "Job", "job", "jobs"),
        ("batch", "Job", "cronjobs", "jobs"),
        ("batch", "Job", "jobs", ""),
        (
            "networking.k8s.io",
            "NetworkPolicy",
            "netpol",
            "networkpolicies",
        ),
        ("networking.k8s.io", "NetworkPolicy", "networkpolicies", ""),
        ("example.com", "Mouse", "mice", ""),
        ("example.com", "Mouse", "mouse", "mouses"),
    ] {
        let decision = decide(Of::Work, None, spec(group, kind, resource), &[]);
        let expected = format!(
            "spec.manifestConfigs[0].resourceIdentifier.resource: no manifest has this resource; did you mean {meant:?}?"
        );
        let expected: &[&str] = if meant.is_empty() { &[] } else { &[&expected] };
        assert_eq!(messages(&decision), expected, "{kind} {resource}");
    }
}

#[test]
fn what_has_no_effect_gets_a_warning() {
    let rule = json!([{"type": "WellKnownStatus"}]);
    let id = |resource: &str, name: &str| json!({"resource": resource, "namespace": "default", "name": name});
    let configs = json!([
        {"resourceIdentifier": id("configmaps", "cm*"), "feedbackRules": rule},
        {"resourceIdentifier": id("configmaps", "other"), "feedbackRules": rule},
        {"resourceIdentifier": id("ConfigMap", "cm1"), "feedbackRules": rule},
        {"resourceIdentifier": id("configmaps", "cm1"), "feedbackScrapeType": "Watch"},
        {"resourceIdentifier": id("configmaps", "cm1"), "updateStrategy": {"type": "Update", "serverSideApply": {"force": true}}},
    ]);
    let orphans = json!({"propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": {"orphaningRules": [id("configmaps", "cm1"), id("configmaps", "cm*")]}});
    let spec = with(
        with(sound(), "manifestConfigs", configs),
        "deleteOption",
        orphans,
    );
    let decision = decide(Of::Work, None, spec.clone(), &[]);
    assert_eq!(short(&decision), "allow ~5");
    assert_eq!(
        messages(&decision),
        [
            "spec.manifestConfigs[2].resourceIdentifier.resource: \"ConfigMap\" is no resource: name the plural in lower case, such as \
             deployments",
            "spec.manifestConfigs[3]: without feedbackRules, conditionRules or updateStrategy it has no effect",
            "spec.manifestConfigs[4].updateStrategy.serverSideApply: has an effect only with the type ServerSideApply",
            "spec.manifestConfigs[1].resourceIdentifier: no manifest has this group, namespace and name",
            "spec.deleteOption.selectivelyOrphans.orphaningRules[1]: no manifest has this group, namespace and name",
        ]
    );
    let changed = with(spec.clone(), "executor", json!(null));
    assert_eq!(
        short(&decide(Of::Work, Some(changed), spec, &[])),
        "allow",
        "stored doubts"
    );
    for (option, words) in [
        (
            json!({"propagationPolicy": "SelectivelyOrphan"}),
            "spec.deleteOption.propagationPolicy: SelectivelyOrphan without",
        ),
        (
            json!({"propagationPolicy": "Orphan", "selectivelyOrphans": {"orphaningRules": [id("configmaps", "cm1")]}}),
            "spec.deleteOption.selectivelyOrphans: has an effect only with",
        ),
    ] {
        let decision = decide(Of::Work, None, with(sound(), "deleteOption", option), &[]);
        assert!(
            messages(&decision)[0].starts_with(words),
            "{:?}",
            messages(&decision)
        );
        assert_eq!(decision.warnings.len(), 1);
    }
    // The cluster knows whether the kind has a namespace: where it has none, the identifier has none either.
    let role = json!([{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r", "namespace": "x"}}]);
    let id = json!({"group": "rbac.authorization.k8s.io", "resource": "clusterroles", "name": "r"});
    let config =
        json!([{"resourceIdentifier": id, "feedbackRules": [{"type": "WellKnownStatus"}]}]);
    let decision = decide(
        Of::Work,
        None,
        with(manifests(role), "manifestConfigs", config),
        &[],
    );
    assert_eq!(short(&decision), "allow");
}

#[test]
fn messages_are_short_and_plain() {
    let long = format!("\u{202e}\u{1b}[31m{}", "x".repeat(20_000));
    let mut named = config_map("a", "b");
    named["metadata"]["name"] = json!(long);
    named["metadata"]["namespace"] = json!(long);
    named["kind"] = json!(long);
    for spec in [
        manifests(json!([named, named])),
        manifests(json!(vec![json!({}); 500])),
        manifests(json!([long])),
        configured(json!({"feedbackRules": [paths(&[&long, &long])]})),
        with(
            sound(),
            "executor",
            json!({"subject": {"type": "ServiceAccount", "serviceAccount": {"namespace": long, "name": long}}}),
        ),
        with(sound(), "executor", json!(long)),
        with(
            sound(),
            "manifestConfigs",
            json!([{"resourceIdentifier": {"resource": format!("A{long}"), "name": long}}]),
        ),
    ] {
        for of in BOTH {
            let decision = decide(of, None, spec.clone(), &[]);
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
}

/// Secrets are not quoted.
#[test]
fn messages_do_not_quote_manifests() {
    let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {}, "stringData": {"password": "hunter2"}});
    let quoted = |manifest: &Value| {
        messages(&decide(
            Of::Work,
            None,
            manifests(json!([manifest, manifest])),
            &[],
        ))
        .join("\n")
    };
    assert!(!quoted(&secret).contains("hunter2"));
    secret["metadata"] = json!({"name": "s"});
    let message = quoted(&secret);
    assert!(
        message.starts_with("duplicate") && !message.contains("hunter2"),
        "{message}"
    );
}

fn any_manifest() -> impl Strategy<Value = Value> {
    let text = || prop::sample::select(&["", "a", "b"][..]);
    (text(), text(), text(), text(), prop::option::weighted(0.2, text())).prop_map(
        |(version, kind, name, namespace, generated)| {
            let mut manifest = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}});
            if let Some(generated) = generated {
                manifest["metadata"]["generateName"] = json!(generated);
            }
            manifest
        },
    )
}

fn any_spec() -> impl Strategy<Value = Value> {
    let condition = prop::sample::select(&["Applied", "Ready", "Drifted"][..]);
    let names = prop::collection::vec(prop::sample::select(&["a", "b", "ReadyReplicas"][..]), 0..3);
    let config = (condition, names).prop_map(|(condition, names)| {
        json!({
            "resourceIdentifier": {"group": "apps", "resource": "deployments", "name": "*"},
            "conditionRules": [{"condition": condition, "type": "CEL"}],
            "feedbackRules": [paths(&names), {"type": "WellKnownStatus"}],
        })
    });
    let account = prop_oneof![
        Just(json!(null)),
        Just(json!({})),
        Just(executor("sa1")),
        Just(executor("sa2")),
    ];
    (
        prop::collection::vec(any_manifest(), 0..4),
        prop::collection::vec(config, 0..3),
        account,
    )
        .prop_map(|(manifests, configs, executor)| {
            json!({"workload": {"manifests": manifests}, "manifestConfigs": configs, "executor": executor})
        })
}

proptest! {
    /// A write that changes nothing passes, without a question.
    #[test]
    fn what_is_stored_may_stay(spec in any_spec(), of in prop::sample::select(&BOTH[..])) {
        prop_assert_eq!(short(&decide(of, Some(spec.clone()), spec.clone(), &[])), "allow");
    }

    /// With all permissions, a change of nothing but the executor is refused only because of the executor.
    #[test]
    fn faults_of_manifests_do_not_refuse_another_executor(spec in any_spec(), of in prop::sample::select(&BOTH[..])) {
        let new = with(spec.clone(), "executor", executor("sa3"));
        let may = "execute-as:system:serviceaccount:ns1:sa3";
        prop_assert_eq!(short(&decide(of, Some(spec.clone()), new.clone(), &[may])), "allow");
        prop_assert_eq!(short(&decide(of, Some(spec), new, &[])), "403 execute-as");
    }

    /// From a sound spec, a change is decided as if the object were new.
    #[test]
    fn a_change_of_a_sound_work_is_decided_as_its_creation(spec in any_spec(), of in prop::sample::select(&BOTH[..])) {
        let facts = &[MAY];
        let created = decide(of, None, spec.clone(), facts);
        prop_assert_eq!(&decide(of, Some(manifests(json!([config_map("x", "y")]))), spec.clone(), facts).outcome, &created.outcome);
        // A correction passes always.
        prop_assert_eq!(short(&decide(of, Some(spec), sound(), &[])), "allow");
    }

    /// No text panics.
    #[test]
    fn any_spec_is_decided(text in r#"[\[\]{}:,"a-z0-9-]{0,40}"#) {
        let body = format!(r#"{{"metadata":{{"name":"p"}},"spec":{text}}}"#);
        if let Ok(new) = serde_json::from_str::<ManifestWork<'_>>(&body) {
            let change = Change { name: "p", namespace: "ns", user: "dev", new, old: None };
            decided::<ValidateWork>(&change, &Settings::default(), &[]);
        }
        if let Ok(new) = serde_json::from_str::<ReplicaSet<'_>>(&body) {
            let change = Change { name: "p", namespace: "ns", user: "dev", new, old: None };
            decided::<ValidateReplicaSet>(&change, &Settings::default(), &[]);
        }
    }
}
