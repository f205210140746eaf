use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use berth_api::{ManagedClusterSet, labels};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing::patched;

fn object(selector: Value, conditions: Value) -> ManagedClusterSet {
    serde_json::from_value(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {"name": "dev", "uid": "u1", "resourceVersion": "7"},
        "spec": {"clusterSelector": selector},
        "status": {"conditions": conditions},
    }))
    .unwrap()
}

fn facts(selector: Value) -> ClusterSet {
    object(selector, json!([])).into()
}

fn by_label() -> Value {
    json!({"selectorType": "ExclusiveClusterSetLabel"})
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

fn now() -> Now {
    Now {
        instant: Instant::now(),
        wall: "2026-01-02T03:04:05.678Z".parse().unwrap(),
    }
}

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn clusters_belong_to_sets_as_in_ocm() {
    let vendor =
        json!({"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"vendor": "a"}}});
    let everybody = json!({"selectorType": "LabelSelector", "labelSelector": {}});
    let nobody = json!({"selectorType": "LabelSelector"});
    let in_dev = &[(labels::CLUSTER_SET, "dev")][..];
    let in_dev2 = &[(labels::CLUSTER_SET, "dev2")][..];
    let vendor_a = &[("vendor", "a")][..];
    for (sentence, selector, on, expected) in [
        ("the label names the set", by_label(), in_dev, true),
        ("the label names another set", by_label(), in_dev2, false),
        ("there is no label", by_label(), &[], false),
        (
            "the label is empty",
            by_label(),
            &[(labels::CLUSTER_SET, "")],
            false,
        ),
        (
            "the retired label",
            by_label(),
            &[(labels::RETIRED_CLUSTER_SET, "dev")],
            false,
        ),
        ("no type is the type by label", json!({}), in_dev, true),
        (
            "nor is the empty one another",
            json!({"selectorType": ""}),
            in_dev,
            true,
        ),
        ("null is no selector", Value::Null, in_dev, true),
        (
            "by label, a label selector means nothing",
            json!({"selectorType": "ExclusiveClusterSetLabel", "labelSelector": {}}),
            vendor_a,
            false,
        ),
        ("selected", vendor.clone(), vendor_a, true),
        ("not selected", vendor.clone(), &[("vendor", "b")], false),
        (
            "by selector, the set label means nothing",
            vendor,
            in_dev,
            false,
        ),
        (
            "the empty selector selects all",
            everybody.clone(),
            vendor_a,
            true,
        ),
        ("also without labels", everybody, &[], true),
        ("no selector selects nobody", nobody, in_dev, false),
    ] {
        let membership = facts(selector).membership.expect(sentence);
        assert_eq!(membership.matches(&labels(on)), expected, "{sentence}");
    }
}

#[test]
fn what_is_wrong_with_a_selector_is_told() {
    let many: Vec<Value> = (0..9)
        .map(|_| json!({"key": "a", "operator": "Has"}))
        .collect();
    for (sentence, selector, words) in [
        (
            "an unknown type",
            json!({"selectorType": "Legacy"}),
            "spec.clusterSelector.selectorType: Unsupported value: \"Legacy\": supported values: \
             \"ExclusiveClusterSetLabel\", \"LabelSelector\"",
        ),
        (
            "an unknown operator",
            json!({"selectorType": "LabelSelector", "labelSelector": {"matchExpressions": [
                {"key": "env", "operator": "Has"}, {"key": "env", "operator": "In"},
            ]}}),
            "spec.clusterSelector.labelSelector.matchExpressions[0].operator: Invalid value: \"Has\": not a valid selector \
             operator; spec.clusterSelector.labelSelector.matchExpressions[1].values: Required value: must be specified \
             when `operator` is 'In' or 'NotIn'",
        ),
        (
            "many",
            json!({"selectorType": "LabelSelector", "labelSelector": {"matchExpressions": many}}),
            "not a valid selector operator; and 4 more",
        ),
    ] {
        let mistakes = facts(selector).membership.expect_err(sentence);
        assert!(mistakes.ends_with(words), "{sentence}: {mistakes}");
    }
    let long = facts(json!({"selectorType": "x".repeat(100_000)}));
    assert!(long.membership.unwrap_err().len() < 300);
}

/// Decides and applies, and asserts that nothing is due then. Returns the written conditions, if any.
#[track_caller]
fn settled(set: &ManagedClusterSet, members: usize) -> Option<Value> {
    let plan = decide(&set.clone().into(), members, now());
    let [write] = plan.writes.as_slice() else {
        assert_eq!(plan, Plan::default());
        return None;
    };
    assert_eq!(write.target, target("dev"));
    assert!(matches!(
        write.action,
        Action::Patch {
            subresource: Some("status"),
            ..
        }
    ));
    let patched = patched(set, write);
    assert_eq!(
        decide(&patched.clone().into(), members, now()),
        Plan::default(),
        "decided again"
    );
    Some(json!(patched.status.unwrap().conditions))
}

#[test]
fn the_condition_tells_whether_anyone_belongs_to_the_set() {
    let since = "2026-01-01T00:00:00Z";
    let later = "2026-01-02T03:04:05Z";
    let empty = condition(
        "ClusterSetEmpty",
        "True",
        "NoClusterMatched",
        "No ManagedCluster selected",
    );
    let one = condition(
        "ClusterSetEmpty",
        "False",
        "ClustersSelected",
        "1 ManagedClusters selected",
    );
    let others = condition("Other", "True", "Because", "of somebody else");
    let at = |mut condition: Value, time: &str| {
        condition["lastTransitionTime"] = time.into();
        condition
    };
    let two = condition(
        "ClusterSetEmpty",
        "False",
        "ClustersSelected",
        "2 ManagedClusters selected",
    );
    for (sentence, stored, members, expected) in [
        (
            "a new set",
            json!([]),
            0,
            Some(json!([at(empty.clone(), later)])),
        ),
        (
            "a new set that has a member",
            json!([]),
            1,
            Some(json!([at(one.clone(), later)])),
        ),
        ("nothing has changed", json!([empty.clone()]), 0, None),
        ("nor has its member", json!([one.clone()]), 1, None),
        (
            "one more has come: the time stays",
            json!([one.clone()]),
            2,
            Some(json!([at(two, since)])),
        ),
        (
            "all have gone",
            json!([one.clone()]),
            0,
            Some(json!([at(empty.clone(), later)])),
        ),
        (
            "conditions of others stay where they are",
            json!([others.clone(), empty, others.clone()]),
            1,
            Some(json!([others.clone(), at(one, later), others])),
        ),
    ] {
        assert_eq!(
            settled(&object(by_label(), stored), members),
            expected,
            "{sentence}"
        );
    }
}

#[test]
fn an_invalid_selector_is_neither_empty_nor_not() {
    let invalid = json!({"selectorType": "Legacy"});
    let stored = condition(
        "ClusterSetEmpty",
        "True",
        "NoClusterMatched",
        "No ManagedCluster selected",
    );
    let written = settled(&object(invalid.clone(), json!([stored])), 0).unwrap();
    assert_eq!(written[0]["status"], "Unknown");
    assert_eq!(written[0]["reason"], "InvalidClusterSelector");
    let message = written[0]["message"].as_str().unwrap();
    assert!(
        message.starts_with("spec.clusterSelector.selectorType: Unsupported value: \"Legacy\""),
        "{message}"
    );
    // When the selector is corrected, the condition reports the members again.
    let mended = settled(&object(by_label(), written), 3).unwrap();
    assert_eq!(mended[0]["status"], "False");
}

#[test]
fn a_set_that_is_being_deleted_is_left_alone() {
    let set = ClusterSet {
        deleting: true,
        ..facts(by_label())
    };
    assert_eq!(decide(&set, 3, now()), Plan::default());
}

/// Generous for a debug build on a busy machine. A slower run has an unwanted cost for each cluster.
#[test]
fn ten_thousand_clusters_are_matched_in_no_time() {
    let clusters: Vec<_> = (0..10_000)
        .map(|index| {
            labels(&[
                (
                    labels::CLUSTER_SET,
                    if index % 2 == 0 { "dev" } else { "prod" },
                ),
                ("vendor", "a"),
                ("name", &format!("cluster-{index}")),
            ])
        })
        .collect();
    let selector = json!({"selectorType": "LabelSelector", "labelSelector": {
        "matchLabels": {"vendor": "a"},
        "matchExpressions": [{"key": "name", "operator": "NotIn", "values": ["cluster-0", "cluster-1"]}],
    }});
    for (selector, expected) in [(by_label(), 5_000), (selector, 9_998)] {
        let membership = facts(selector).membership.unwrap();
        let start = Instant::now();
        let members = clusters
            .iter()
            .filter(|labels| membership.matches(labels))
            .count();
        let took = start.elapsed();
        assert_eq!(members, expected);
        assert!(took < Duration::from_millis(250), "{took:?}");
    }
}

proptest! {
    #[test]
    fn any_set_settles_with_one_write(
        type_ in "ExclusiveClusterSetLabel|LabelSelector|[a-z]{0,3}",
        operator in "In|Exists|Has",
        members in 0usize..3,
        stored in proptest::collection::vec(("ClusterSetEmpty|Other|Another", "True|False|Unknown"), 0..4),
    ) {
        let stored: Vec<Value> = stored.iter().map(|(type_, status)| condition(type_, status, "Because", "")).collect();
        let selector = json!({
            "selectorType": type_,
            "labelSelector": {"matchExpressions": [{"key": "a", "operator": operator, "values": ["b"]}]},
        });
        settled(&object(selector, stored.into()), members);
    }
}
