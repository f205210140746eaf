//! Health by what works report.

use berth_api::ManifestWork;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Facts, Workloads, available};
use crate::template::Rendered;

fn workload(kind: &str, name: &str, replicas: Option<i64>) -> Rendered {
    Rendered {
        object: json!({
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": "n"},
            "spec": {"replicas": replicas},
        }),
        undecorated: None,
    }
}

fn config_map() -> Rendered {
    Rendered {
        object: json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}),
        undecorated: None,
    }
}

/// A work with this condition Applied, and these numbers of workloads.
fn work(applied: Option<&str>, reported: &[(&str, &str, Value)]) -> ManifestWork {
    let conditions: Vec<_> = applied
        .iter()
        .map(|status| json!({"type": "Applied", "status": status, "reason": "R", "message": "why", "lastTransitionTime": "2026-01-01T00:00:00Z"}))
        .collect();
    let manifests: Vec<_> = reported
        .iter()
        .map(|(resource, name, values)| {
            let values = values.as_object().unwrap().iter();
            let values: Vec<_> = values
                .map(|(name, value)| json!({"name": name, "fieldValue": {"type": "Integer", "integer": value}}))
                .collect();
            json!({
                "conditions": [],
                "resourceMeta": {"group": "apps", "resource": resource, "namespace": "n", "name": name, "ordinal": 0},
                "statusFeedback": {"values": values},
            })
        })
        .collect();
    serde_json::from_value(json!({
        "metadata": {"name": "addon-x-deploy-0"},
        "status": {"conditions": conditions, "resourceStatus": {"manifests": manifests}},
    }))
    .unwrap()
}

#[test]
fn an_addon_is_available_if_its_workloads_are() {
    let deployment = || vec![workload("Deployment", "a", None)];
    let daemon_set = || vec![workload("DaemonSet", "b", None)];
    let of = |resource, name, values| Some(work(Some("True"), &[(resource, name, values)]));
    let available_ = ("True", "ProbeAvailable", "x add-on is available.");
    let fault = |message| ("False", "ProbeUnavailable", message);
    let no_result = ("Unknown", "NoProbeResult", "Probe results are not returned");
    for (sentence, objects, work, expected) in [
        (
            "no work",
            deployment(),
            None,
            ("Unknown", "WorkNotFound", "Addon manifestWork is not found"),
        ),
        ("no work, and nothing to deploy", vec![], None, available_),
        (
            "not applied yet",
            deployment(),
            Some(work(None, &[])),
            (
                "Unknown",
                "WorkNotApplied",
                "manifestWork addon-x-deploy-0 is not applied yet",
            ),
        ),
        (
            "refused",
            deployment(),
            Some(work(Some("False"), &[])),
            (
                "False",
                "WorkNotApplied",
                "manifestWork addon-x-deploy-0: why",
            ),
        ),
        (
            "nothing reported",
            deployment(),
            Some(work(Some("True"), &[])),
            no_result,
        ),
        (
            "an empty report",
            deployment(),
            of("deployments", "a", json!({})),
            no_result,
        ),
        (
            "41: no pod is ready",
            deployment(),
            of("deployments", "a", json!({"Replicas": 2})),
            fault("Probe addon unavailable with err Deployment n/a: 0 of 2 pods are ready"),
        ),
        (
            "one is",
            deployment(),
            of(
                "deployments",
                "a",
                json!({"Replicas": 2, "ReadyReplicas": 1}),
            ),
            available_,
        ),
        (
            "none is wanted",
            deployment(),
            of("deployments", "a", json!({"Replicas": 0})),
            available_,
        ),
        (
            "a DaemonSet that is not ready everywhere",
            daemon_set(),
            of(
                "daemonsets",
                "b",
                json!({"DesiredNumberScheduled": 2, "NumberReady": 1}),
            ),
            fault("Probe addon unavailable with err DaemonSet n/b: 1 of 2 pods are ready"),
        ),
        (
            "a DaemonSet that is",
            daemon_set(),
            of(
                "daemonsets",
                "b",
                json!({"DesiredNumberScheduled": 2, "NumberReady": 2}),
            ),
            available_,
        ),
        (
            "partial results",
            [deployment(), daemon_set()].concat(),
            of(
                "deployments",
                "a",
                json!({"Replicas": 1, "ReadyReplicas": 1}),
            ),
            available_,
        ),
        (
            "a Deployment without replicas is not asked about",
            vec![workload("Deployment", "a", Some(0)), config_map()],
            Some(work(Some("True"), &[])),
            available_,
        ),
    ] {
        let works: Vec<_> = work.iter().collect();
        let workloads = Workloads::of(objects.iter());
        let facts = Facts {
            addon: "x",
            cluster_available: Some("True"),
            workloads: &workloads,
            works: &works,
            generation: Some(3),
            now: Timestamp::UNIX_EPOCH,
        };
        let condition = available(&facts).unwrap();
        let found = (
            condition.status.as_str(),
            condition.reason.as_str(),
            condition.message.as_str(),
        );
        assert_eq!(found, expected, "{sentence}");
        assert_eq!(condition.type_, "Available");
        let unknown = Facts {
            cluster_available: Some("Unknown"),
            ..facts
        };
        assert_eq!(available(&unknown), None, "{sentence}");
    }
}
