//! What is reported, and that it comes to an end: a patched status needs no further patch.

use berth_api::conditions::FALSE;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;
use crate::resources::Node;

fn now() -> Now {
    Now {
        instant: std::time::Instant::now(),
        wall: "2026-08-11T12:00:00Z".parse().unwrap(),
    }
}

fn condition(type_: &str, status: &str) -> Value {
    json!({
        "type": type_,
        "status": status,
        "reason": "R",
        "message": "",
        "lastTransitionTime": "2026-08-11T10:00:00Z",
    })
}

/// A ManagedCluster with these conditions that the hub has accepted, and this further status.
fn stored(conditions: &[Value], status: Value) -> Value {
    let mut object = json!({
        "metadata": {"name": "c1", "uid": "u1", "resourceVersion": "7"},
        "spec": {"hubAcceptsClient": true},
        "status": status,
    });
    object["status"]["conditions"] = conditions.into();
    object
}

fn accepted() -> Value {
    condition(cluster::HUB_ACCEPTED, TRUE)
}

fn available(status: &str) -> Option<Condition> {
    serde_json::from_value(condition(cluster::AVAILABLE, status)).unwrap()
}

fn resources() -> Resources {
    let amounts = |cpu: &str| BTreeMap::from([("cpu".to_owned(), cpu.to_owned())]);
    let nodes = [Node {
        is_unschedulable: false,
        capacity: amounts("2"),
        allocatable: amounts("1900m"),
    }];
    resources::sum(&nodes)
}

fn whole(resources: &Resources) -> Report<'_> {
    Report {
        available: available(TRUE),
        works: true,
        version: Some("v1.36.2"),
        resources: Some(resources),
        claims: Some(vec![ManagedClusterClaim {
            name: "id.k8s.io".to_owned(),
            value: "1".to_owned(),
        }]),
        managed_namespaces: Some(Vec::new()),
        rotated: None,
    }
}

#[test]
fn everything_is_reported_in_one_patch_and_then_nothing() {
    let resources = resources();
    let mut object = stored(&[accepted()], json!({}));
    let due = patch(&Cluster::read(&object), whole(&resources), now()).unwrap();
    assert_eq!(
        due["metadata"],
        json!({"uid": "u1", "resourceVersion": "7"})
    );
    let status = &due["status"];
    assert_eq!(status["version"], json!({"kubernetes": "v1.36.2"}));
    assert_eq!(status["capacity"], json!({"cpu": "2"}));
    assert_eq!(status["allocatable"], json!({"cpu": "1900m"}));
    assert_eq!(
        status["clusterClaims"],
        json!([{"name": "id.k8s.io", "value": "1"}])
    );
    let types: Vec<_> = (status["conditions"].as_array().unwrap().iter())
        .map(|it| it["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        types,
        [cluster::HUB_ACCEPTED, cluster::JOINED, cluster::AVAILABLE]
    );
    assert!(status.get("managedNamespaces").is_none());

    json_patch::merge(&mut object, &due);
    let cluster = Cluster::read(&object);
    let rest = Report {
        available: None,
        ..whole(&resources)
    };
    assert_eq!(patch(&cluster, rest, now()), None);
}

#[test]
fn nothing_is_reported_of_a_cluster_that_is_not_accepted_or_whose_clock_is_off() {
    let resources = resources();
    for conditions in [
        vec![],
        vec![condition(cluster::HUB_ACCEPTED, FALSE)],
        vec![accepted(), condition(cluster::CLOCK_SYNCED, FALSE)],
    ] {
        let cluster = Cluster::read(&stored(&conditions, json!({})));
        assert_eq!(
            patch(&cluster, whole(&resources), now()),
            None,
            "{conditions:?}"
        );
    }
}

#[test]
fn of_an_api_server_that_does_not_work_only_the_condition_is_reported() {
    let resources = resources();
    let cluster = Cluster::read(&stored(&[accepted()], json!({})));
    let report = Report {
        available: available(FALSE),
        works: false,
        ..whole(&resources)
    };
    let due = patch(&cluster, report, now()).unwrap();
    let fields: Vec<_> = due["status"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["conditions"]);
}

#[test]
fn what_is_not_known_stays_and_what_is_gone_goes() {
    let resources = resources();
    let status = json!({
        "version": {"kubernetes": "v1.36.2"},
        "capacity": {"cpu": "2000m", "nvidia.com/gpu": "4"},
        "allocatable": {"cpu": "1.9"},
        "clusterClaims": [{"name": "a", "value": "b"}],
    });
    let conditions = [accepted(), condition(cluster::JOINED, TRUE)];
    let cluster = Cluster::read(&stored(&conditions, status));
    let unknown = Report {
        works: true,
        ..Report::default()
    };
    assert_eq!(patch(&cluster, unknown, now()), None);

    let report = Report {
        works: true,
        resources: Some(&resources),
        claims: Some(Vec::new()),
        ..Report::default()
    };
    let due = patch(&cluster, report, now()).unwrap();
    let expected = json!({
        "capacity": {"cpu": "2", "nvidia.com/gpu": null},
        "clusterClaims": null,
    });
    assert_eq!(
        due["status"], expected,
        "equal amounts are not written again"
    );
}

#[test]
fn the_time_of_a_condition_moves_with_its_status_only() {
    let conditions = [
        accepted(),
        condition(cluster::JOINED, TRUE),
        condition(cluster::AVAILABLE, TRUE),
    ];
    let cluster = Cluster::read(&stored(&conditions, json!({})));
    for (status, time) in [
        (TRUE, "2026-08-11T10:00:00Z"),
        (FALSE, "2026-08-11T12:00:00Z"),
    ] {
        let mut new = available(status).unwrap();
        new.message = "other".to_owned();
        new.last_transition_time = Time(now().wall);
        let report = Report {
            available: Some(new),
            ..Report::default()
        };
        let due = patch(&cluster, report, now()).unwrap();
        assert_eq!(due["status"]["conditions"][2]["lastTransitionTime"], time);
    }
}
