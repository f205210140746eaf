//! Laws of reports, on any stored status and any objects.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const TYPES: [&str; 10] = [
    "Applied",
    "Available",
    "StatusFeedbackSynced",
    "Progressing",
    "Degraded",
    "Complete",
    "Drifted",
    "Deleting",
    "Custom",
    "",
];

fn any_condition() -> impl Strategy<Value = Value> {
    let reasons = [
        "ConditionRuleEvaluated",
        "ConditionRuleBuiltIn",
        "ConditionRulesAggregated",
        "AppliedManifestComplete",
        "Mine",
    ];
    let times = ["2023-01-01T00:00:00Z", "0001-01-01T00:00:00Z"];
    (
        prop::sample::select(TYPES.to_vec()),
        prop::sample::select(vec!["True", "False", "Unknown", "Perhaps"]),
        prop::sample::select(reasons.to_vec()),
        prop::option::of(0_i64..3),
        prop::sample::select(times.to_vec()),
    )
        .prop_map(|(type_, status, reason, generation, time)| {
            json!({"type": type_, "status": status, "reason": reason, "message": "m",
                   "observedGeneration": generation, "lastTransitionTime": time})
        })
}

fn any_meta() -> impl Strategy<Value = ManifestResourceMeta> {
    let kinds = [
        ("", "ConfigMap"),
        ("apps", "Deployment"),
        ("batch", "Job"),
        ("example.com", "Widget"),
    ];
    (0..3_i32, prop::sample::select(kinds.to_vec()), "[ab]?")
        .prop_map(|(ordinal, (group, kind), name)| meta(ordinal, group, kind, &name))
}

fn any_status() -> impl Strategy<Value = Value> {
    let value = ("[ab]", any::<i64>()).prop_map(
        |(name, value)| json!({"name": name, "fieldValue": {"type": "Integer", "integer": value}}),
    );
    let conditions = || prop::collection::vec(any_condition(), 0..6);
    let manifest = (any_meta(), conditions(), prop::collection::vec(value, 0..3)).prop_map(
        |(meta, conditions, values)| json!({"resourceMeta": meta, "conditions": conditions, "statusFeedback": {"values": values}}),
    );
    (conditions(), prop::collection::vec(manifest, 0..4)).prop_map(|(conditions, manifests)| {
        json!({"conditions": conditions, "resourceStatus": {"manifests": manifests}})
    })
}

fn any_object() -> impl Strategy<Value = Object> {
    let live = prop_oneof![
        4 => prop::sample::select(vec![
            json!({}),
            json!({"status": {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}}),
            json!({"status": {"conditions": [{"type": "Complete", "status": "True"}]}}),
            json!({"metadata": {"deletionTimestamp": "2023-01-01T00:00:00Z"}}),
            json!({"data": {"a": 1}}),
            json!([7]),
        ])
        .prop_map(State::Found),
        1 => Just(State::Missing),
        1 => Just(State::Postponed),
        1 => Just(State::Failed("timeout")),
        1 => any::<Option<bool>>().prop_map(State::Withheld),
        1 => Just(State::Incomplete),
    ];
    let applied = prop_oneof![Just(None), Just(Some(Applied::Complete)), Just(failed())];
    let drift = prop_oneof![
        Just(None),
        Just(Some(Drift::Same)),
        Just(Some(Drift::Differs("d".to_owned()))),
    ];
    (any_meta(), live, applied, drift).prop_map(|(meta, live, applied, drift)| Object {
        meta,
        live,
        applied,
        drift,
    })
}

fn any_configs() -> impl Strategy<Value = Value> {
    let rule = (
        prop::sample::select(TYPES.to_vec()),
        prop::sample::select(vec!["true", "false", "object.data.a == 1", "'x'", "("]),
        prop::sample::select(vec!["CEL", "WellKnownConditions", "Other"]),
    )
        .prop_map(|(condition, text, type_)| {
            json!({"type": type_, "condition": condition, "celExpressions": [text]})
        });
    let resources = vec!["configmaps", "deployments", "jobs", "widgets"];
    let paths = prop::collection::vec(prop::sample::select(vec![".data.a", ".status", "("]), 0..3);
    let rules = prop::collection::vec(rule, 0..4);
    let config =
        (prop::sample::select(resources), rules, paths).prop_map(|(resource, rules, paths)| {
            let named = |path: &&str| json!({"name": "a", "path": path});
            let paths: Vec<_> = paths.iter().map(named).collect();
            let feedback = json!([{"type": "JSONPaths", "jsonPaths": paths}]);
            let rules = json!({"conditionRules": rules, "feedbackRules": feedback});
            config(resource, "*", rules)
        });
    prop::collection::vec(config, 0..4).prop_map(Value::from)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Whatever is stored and found: what is reported is settled (see [`Work::report`]), each type of condition and each name of a value
    /// exists once, rule conditions are of this generation, and each object has an entry.
    #[test]
    fn any_report_is_settled_and_accepted(
        status in prop::option::of(any_status()),
        mut objects in prop::collection::vec(any_object(), 0..4),
        configs in any_configs(),
        is_deleting: bool,
    ) {
        for (ordinal, object) in (0..).zip(&mut objects) {
            object.meta.ordinal = ordinal;
        }
        let mut work = Work::new(objects.len(), configs);
        work.0.metadata.generation = Some(2);
        work.0.status = status.map(|it| serde_json::from_value(it).unwrap());
        if is_deleting {
            work.0.metadata.deletion_timestamp = Some(Time(at(0)));
        }
        work.report(1, &objects);
        let status = work.0.status.as_ref().unwrap();
        if is_deleting {
            return Ok(());
        }
        let manifests = &status.resource_status.manifests;
        prop_assert_eq!(manifests.len(), objects.len());
        for conditions in manifests.iter().map(|it| &it.conditions).chain([&status.conditions]) {
            let types: BTreeSet<_> = conditions.iter().map(|it| &it.type_).collect();
            prop_assert_eq!(types.len(), conditions.len());
            for it in conditions.iter().filter(|it| it.reason.starts_with("ConditionRule")) {
                prop_assert_eq!(it.observed_generation, Some(2));
            }
        }
        for (it, object) in manifests.iter().zip(&objects) {
            let values = &it.status_feedback.values;
            let names: BTreeSet<_> = values.iter().map(|it| &it.name).collect();
            if matches!(object.live, State::Found(_)) {
                prop_assert_eq!(names.len(), values.len());
            }
        }
    }
}
