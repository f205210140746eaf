use std::time::{Duration, Instant};

use super::*;
use crate::testing::patch_of;

fn now() -> Now {
    Now {
        instant: Instant::now(),
        wall: "2026-01-02T03:04:05.678Z".parse().unwrap(),
    }
}

const SINCE: &str = "2026-01-01T00:00:00Z";

fn condition_of(type_: &str, status: &str, reason: &str, time: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": "m", "lastTransitionTime": time})
}

/// An available cluster of set `s` with one claim.
fn cluster() -> Value {
    json!({
        "metadata": {"name": "c1", "labels": {"cluster.open-cluster-management.io/clusterset": "s", "other": "x"}},
        "status": {
            "version": {"kubernetes": "v1.36.0"},
            "clusterClaims": [{"name": "id.k8s.io", "value": "1"}],
            "conditions": [
                condition_of("ManagedClusterJoined", "True", "Joined", SINCE),
                condition_of("ManagedClusterConditionAvailable", "True", "Up", SINCE),
                condition_of("HubAcceptedManagedCluster", "True", "Accepted", SINCE),
            ],
        },
    })
}

/// The ClusterProfile of that cluster, as OCM's controller writes it.
fn profile() -> Value {
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": {
            "name": "c1", "namespace": "apps", "uid": "u1", "resourceVersion": "7",
            "labels": {
                "x-k8s.io/cluster-manager": "open-cluster-management",
                "open-cluster-management.io/cluster-name": "c1",
                "multicluster.x-k8s.io/clusterset": "s",
            },
        },
        "spec": {"displayName": "c1", "clusterManager": {"name": "open-cluster-management"}},
        "status": {
            "version": {"kubernetes": "v1.36.0"},
            "properties": [{"name": "id.k8s.io", "value": "1"}],
            "conditions": [
                condition_of("ControlPlaneHealthy", "True", "Up", SINCE),
                condition_of("Joined", "True", "Joined", SINCE),
            ],
        },
    })
}

/// A change of a JSON object, as a merge patch.
fn changed(mut object: Value, patch: &Value) -> Value {
    json_patch::merge(&mut object, patch);
    object
}

fn decided(membership: Membership, cluster: Option<&Value>, stored: Option<&Value>) -> Plan {
    let cluster = cluster.map(Cluster::read);
    let stored = stored.map(Profile::read);
    let facts = ProfileFacts {
        namespace: "apps",
        name: "c1",
        membership,
        cluster: cluster.as_ref(),
        stored: stored.as_ref(),
        closed_until: None,
    };
    let plan = decide(&facts, now());
    assert!(plan.writes.len() <= 1, "{plan:?}");
    plan
}

/// Carries out the writes until nothing is due. Returns the object and the number of writes.
fn settled(cluster: &Value, mut stored: Option<Value>) -> (Option<Value>, usize) {
    for writes in 0..5 {
        let plan = decided(Membership::Member, Some(cluster), stored.as_ref());
        let Some(write) = plan.writes.first() else {
            return (stored, writes);
        };
        assert_eq!(write.target.namespace.as_deref(), Some("apps"));
        assert_eq!(write.target.name, "c1");
        let mut object = match &write.action {
            Action::Create { body } => {
                let uid = json!({"metadata": {"uid": "u1", "resourceVersion": "6"}});
                changed(body.clone(), &uid)
            }
            _ => {
                let stored = stored.unwrap();
                let metadata = &patch_of(write)["metadata"];
                for field in ["uid", "resourceVersion"] {
                    assert_eq!(metadata[field], stored["metadata"][field], "{field}");
                }
                changed(stored, patch_of(write))
            }
        };
        let version: u64 = object["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        object["metadata"]["resourceVersion"] = json!((version + 1).to_string());
        stored = Some(object);
    }
    panic!("never settled: {stored:?}");
}

#[test]
fn a_member_gets_a_profile_in_two_writes_and_then_none() {
    let (made, writes) = settled(&cluster(), None);
    let mut expected = profile();
    expected["metadata"]["resourceVersion"] = json!("8");
    let mut made = made.unwrap();
    let by_type = |conditions: &mut Value| {
        let list = conditions.as_array_mut().unwrap();
        list.sort_by_key(|it| it["type"].as_str().unwrap().to_owned());
    };
    by_type(&mut made["status"]["conditions"]);
    assert_eq!(made, expected);
    assert_eq!(writes, 2);

    // A cluster whose agent has not reported yet.
    let new = json!({"metadata": {"name": "c1"}});
    let (made, writes) = settled(&new, None);
    let labels = &made.unwrap()["metadata"]["labels"];
    assert_eq!(labels["multicluster.x-k8s.io/clusterset"], "");
    assert_eq!(writes, 1);
}

#[test]
fn which_profiles_exist() {
    use Membership::{Member, Outsider, Unknown};
    let (own, there) = (profile(), cluster());
    let leaving = changed(
        cluster(),
        &json!({"metadata": {"deletionTimestamp": SINCE}}),
    );
    let ending = changed(
        profile(),
        &json!({"metadata": {"deletionTimestamp": SINCE}}),
    );
    let spec = |name: &str| json!({"spec": {"clusterManager": {"name": name}}});
    let label = |value: Value| json!({"metadata": {"labels": {"x-k8s.io/cluster-manager": value}}});
    let foreign = changed(changed(profile(), &spec("fleet")), &label(json!("fleet")));
    let relabelled = changed(profile(), &label(json!("fleet")));
    let unlabelled = changed(profile(), &label(Value::Null));
    for (sentence, membership, cluster, stored, expected) in [
        ("a member", Member, Some(&there), None, "create"),
        ("it has one", Member, Some(&there), Some(&own), ""),
        ("another cluster", Outsider, Some(&there), None, ""),
        ("it has left", Outsider, Some(&there), Some(&own), "delete"),
        (
            "it is unknown if it has left",
            Unknown,
            Some(&there),
            Some(&own),
            "",
        ),
        (
            "it is unknown if it belongs",
            Unknown,
            Some(&there),
            None,
            "",
        ),
        ("the cluster is gone", Outsider, None, Some(&own), "delete"),
        (
            "gone, whatever the sets",
            Unknown,
            None,
            Some(&own),
            "delete",
        ),
        (
            "the cluster is being deleted",
            Member,
            Some(&leaving),
            Some(&own),
            "delete",
        ),
        ("it never had one", Member, Some(&leaving), None, ""),
        (
            "the profile is being deleted",
            Outsider,
            None,
            Some(&ending),
            "",
        ),
        (
            "being deleted, of a member",
            Member,
            Some(&there),
            Some(&ending),
            "",
        ),
        (
            "another manager's",
            Member,
            Some(&there),
            Some(&foreign),
            "",
        ),
        (
            "another manager's, surplus",
            Outsider,
            None,
            Some(&foreign),
            "",
        ),
        (
            "given to another manager",
            Member,
            Some(&there),
            Some(&relabelled),
            "",
        ),
        ("given away, surplus", Outsider, None, Some(&relabelled), ""),
        (
            "without its label",
            Member,
            Some(&there),
            Some(&unlabelled),
            "patch",
        ),
        (
            "without its label, surplus",
            Outsider,
            None,
            Some(&unlabelled),
            "",
        ),
    ] {
        let plan = decided(membership, cluster, stored);
        let found = match plan.writes.first().map(|write| &write.action) {
            None => "",
            Some(Action::Create { .. }) => "create",
            Some(Action::Delete { uid, .. }) if uid == "u1" => "delete",
            Some(Action::Patch { .. }) => "patch",
            other => panic!("{sentence}: {other:?}"),
        };
        assert_eq!(found, expected, "{sentence}");
    }
}

#[test]
fn a_name_that_no_label_can_have_gets_no_profile() {
    let name = "x".repeat(64);
    let cluster = Cluster::read(&cluster());
    let facts = ProfileFacts {
        namespace: "apps",
        name: &name,
        membership: Membership::Member,
        cluster: Some(&cluster),
        stored: None,
        closed_until: None,
    };
    assert_eq!(decide(&facts, now()), Plan::default());
}

#[test]
fn a_namespace_that_is_being_deleted_gets_no_new_profile_for_a_while() {
    let (cluster, stored) = (Cluster::read(&cluster()), Profile::read(&profile()));
    let now = now();
    let later = now.instant + Duration::from_secs(1);
    for (sentence, stored, until, creates, again) in [
        ("open", None, None, true, None),
        ("closed", None, Some(later), false, Some(later)),
        ("tried again", None, Some(now.instant), true, None),
        ("there already", Some(&stored), Some(later), false, None),
    ] {
        let facts = ProfileFacts {
            namespace: "apps",
            name: "c1",
            membership: Membership::Member,
            cluster: Some(&cluster),
            stored,
            closed_until: until,
        };
        let plan = decide(&facts, now);
        assert_eq!(!plan.writes.is_empty(), creates, "{sentence}");
        assert_eq!(plan.again, again, "{sentence}");
    }
}

#[test]
fn a_profile_follows_its_cluster() {
    let later = "2026-01-01T12:00:00Z";
    let labels = |patch: Value| json!({"metadata": {"labels": patch}});
    let set = "cluster.open-cluster-management.io/clusterset";
    let silent = condition_of(
        "ManagedClusterConditionAvailable",
        "Unknown",
        "Silent",
        later,
    );
    let reason = condition_of("ManagedClusterConditionAvailable", "True", "Better", later);
    let timeless = condition_of(
        "ManagedClusterConditionAvailable",
        "False",
        "Down",
        "0001-01-01T00:00:00Z",
    );
    let conditions = |condition: Value| json!({"status": {"conditions": [condition]}});
    let health = |status: &str, reason: &str, time: &str| {
        let others = condition_of("Joined", "True", "Joined", SINCE);
        json!([
            condition_of("ControlPlaneHealthy", status, reason, time),
            others
        ])
    };
    for (sentence, change, pointer, expected) in [
        (
            "another set",
            labels(json!({set: "t"})),
            "/metadata/labels/multicluster.x-k8s.io~1clusterset",
            json!("t"),
        ),
        (
            "no set",
            labels(json!({set: null})),
            "/metadata/labels/multicluster.x-k8s.io~1clusterset",
            json!(""),
        ),
        (
            "an upgrade",
            json!({"status": {"version": {"kubernetes": "v1.37.0"}}}),
            "/status/version/kubernetes",
            json!("v1.37.0"),
        ),
        (
            "no version",
            json!({"status": {"version": null}}),
            "/status/version/kubernetes",
            Value::Null,
        ),
        (
            "another value",
            json!({"status": {"clusterClaims": [{"name": "id.k8s.io", "value": "2"}]}}),
            "/status/properties",
            json!([{"name": "id.k8s.io", "value": "2"}]),
        ),
        (
            "one more claim",
            json!({"status": {"clusterClaims": [{"name": "a", "value": "b"}, {"name": "id.k8s.io", "value": "1"}]}}),
            "/status/properties",
            json!([{"name": "a", "value": "b"}, {"name": "id.k8s.io", "value": "1"}]),
        ),
        (
            "no claims",
            json!({"status": {"clusterClaims": null}}),
            "/status/properties",
            Value::Null,
        ),
        (
            "silence",
            conditions(silent),
            "/status/conditions",
            health("Unknown", "Silent", later),
        ),
        (
            "another reason, the same status",
            conditions(reason),
            "/status/conditions",
            health("True", "Better", SINCE),
        ),
        (
            "a condition without a time",
            conditions(timeless),
            "/status/conditions",
            health("False", "Down", "2026-01-02T03:04:05Z"),
        ),
        (
            "no conditions: the former stay",
            json!({"status": {"conditions": null}}),
            "/status/conditions",
            health("True", "Up", SINCE),
        ),
        (
            "an unreadable claim removes nothing",
            json!({"status": {"clusterClaims": [{"name": 7}]}}),
            "/status/properties",
            json!([{"name": "id.k8s.io", "value": "1"}]),
        ),
    ] {
        let (stored, writes) = settled(&changed(cluster(), &change), Some(profile()));
        let stored = stored.unwrap();
        let found = stored.pointer(pointer).cloned().unwrap_or_default();
        assert_eq!(found, expected, "{sentence}");
        assert!(writes <= 1, "{sentence}: {writes}");
    }
    // Both: one write each.
    let both = changed(
        labels(json!({set: "t"})),
        &json!({"status": {"version": {"kubernetes": "v1.37.0"}}}),
    );
    assert_eq!(settled(&changed(cluster(), &both), Some(profile())).1, 2);
}

/// What other writers have added, beside what changes.
#[test]
fn what_others_wrote_stays() {
    let item = |name: &str, value: &str| json!({"name": name, "value": value});
    let condition = condition_of("Certified", "True", "Audit", SINCE);
    let observed = json!({"name": "id.k8s.io", "value": "1", "lastObservedTime": SINCE});
    let providers = json!([{"name": "proxy", "cluster": {"server": "https://proxy"}}]);
    let fields = |names: &[&str]| {
        let whole = json!({".": {}, "f:name": {}, "f:value": {}});
        let items = names
            .iter()
            .map(|name| (format!("k:{{\"name\":\"{name}\"}}"), whole.clone()));
        json!({"f:status": {"f:properties": Map::from_iter(items)}})
    };
    let mut stored = changed(
        profile(),
        &json!({
            "metadata": {
                "labels": {"team": "a"},
                "annotations": {"a": "b"},
                "managedFields": [
                    {"manager": "registration", "fieldsV1": fields(&["id.k8s.io", "gone"])},
                    {"manager": "inspector", "fieldsV1": fields(&["theirs", "shared"])},
                ],
            },
            "spec": {"displayName": "Our cluster"},
            "status": {
                "accessProviders": providers,
                "properties": [item("theirs", "x"), observed.clone(), item("shared", "y"), item("gone", "z")],
            },
        }),
    );
    stored["status"]["conditions"]
        .as_array_mut()
        .unwrap()
        .insert(0, condition.clone());
    let reported = changed(
        cluster(),
        &json!({"status": {"clusterClaims": [item("id.k8s.io", "1"), item("shared", "other")]}}),
    );
    let reported = changed(
        reported,
        &json!({"status": {"conditions": [
            condition_of("ManagedClusterConditionAvailable", "False", "Down", SINCE),
        ]}}),
    );
    let (found, writes) = settled(&reported, Some(stored.clone()));
    let found = found.unwrap();
    assert_eq!(writes, 1);
    assert_eq!(
        found["status"]["properties"],
        json!([observed, item("theirs", "x"), item("shared", "y")]),
        "the claim that is gone was the hub's"
    );
    let conditions = found["status"]["conditions"].as_array().unwrap();
    assert_eq!(conditions[0], condition);
    assert_eq!(conditions[1]["reason"], "Down");
    assert_eq!(found["status"]["accessProviders"], providers);
    assert_eq!(found["spec"], stored["spec"]);
    assert_eq!(found["metadata"]["labels"], stored["metadata"]["labels"]);
}

/// As OCM's controller leaves them: in another order, with fields that the API server stores empty.
#[test]
fn profiles_of_ocm_are_adopted_without_a_write() {
    let claims = json!([{"name": "b", "value": "2"}, {"name": "a", "value": "1"}]);
    let reported = changed(cluster(), &json!({"status": {"clusterClaims": claims}}));
    let mut reordered = changed(profile(), &json!({"status": {"properties": claims}}));
    for list in ["properties", "conditions"] {
        reordered["status"][list].as_array_mut().unwrap().reverse();
    }
    assert_eq!(settled(&reported, Some(reordered)).1, 0);
    let silent =
        json!({"metadata": {"labels": {"cluster.open-cluster-management.io/clusterset": "s"}}});
    let empty = json!({"status": null});
    let empty = changed(
        changed(profile(), &empty),
        &json!({"status": {"version": {}}}),
    );
    assert_eq!(settled(&silent, Some(empty)).1, 0);
}
