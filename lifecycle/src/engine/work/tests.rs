#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;
use crate::config::GroupVersionResource;
use crate::plan::Target;

fn clusters() -> Target {
    Target {
        resource: GroupVersionResource {
            group: berth_api::groups::CLUSTER.to_owned(),
            version: "v1".to_owned(),
            resource: berth_api::groups::MANAGED_CLUSTERS.to_owned(),
        },
        namespace: None,
        name: "c1".to_owned(),
    }
}

#[test]
fn an_object_is_gone_with_its_last_finalizer_though_the_answer_still_has_it() {
    let answer = |deleting: bool| -> Object {
        let time = deleting.then_some("2026-08-11T12:00:00Z");
        serde_json::from_value(json!({
            "metadata": {"name": "c1", "deletionTimestamp": time, "finalizers": ["x"]},
        }))
        .unwrap()
    };
    for (row, metadata, deleting, gone) in [
        ("none is left", json!({"finalizers": []}), true, true),
        ("all are removed", json!({"finalizers": null}), true, true),
        ("one is left", json!({"finalizers": ["y"]}), true, false),
        ("labels only", json!({"labels": {}}), true, false),
        ("it stays", json!({"finalizers": []}), false, false),
    ] {
        let write = Write {
            target: clusters(),
            action: Action::Patch {
                subresource: None,
                body: json!({"metadata": metadata}),
            },
            reconciler: "removal",
            events: Vec::new(),
        };
        assert_eq!(
            takes_last_finalizer(&write, &answer(deleting)),
            gone,
            "{row}"
        );
    }
}

#[test]
fn that_somebody_deleted_the_cluster_is_no_fault() {
    let failure = |target: Target, code| Failure {
        reconciler: "acceptance",
        target,
        code,
        message: String::new(),
    };
    let mut lease = clusters();
    lease.resource.resource = "leases".to_owned();
    for (target, code, passing) in [
        (clusters(), 404, true),
        (clusters(), 409, true),
        (clusters(), 403, false),
        (lease, 404, false),
    ] {
        assert_eq!(is_passing(&failure(target, code)), passing, "{code}");
    }
}
