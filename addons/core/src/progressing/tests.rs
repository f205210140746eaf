use std::collections::BTreeMap;

use serde_json::json;

use super::*;

fn condition(type_: &str, status: &str, reason: &str) -> Condition {
    serde_json::from_value(json!({
        "type": type_, "status": status, "reason": reason, "message": "why", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }))
    .unwrap()
}

/// An add-on with the config `n/x`, of which the hub knows the hash.
fn on(hash: &str, conditions: &[(&str, &str, &str)]) -> OnCluster {
    let conditions = conditions.iter();
    OnCluster {
        references: serde_json::from_value(json!([
            {"group": "g", "resource": "r", "desiredConfig": {"namespace": "n", "name": "x", "specHash": hash}},
        ]))
        .unwrap(),
        conditions: conditions.map(|(type_, status, reason)| condition(type_, status, reason)).collect(),
        ..OnCluster::default()
    }
}

fn work(hash: &str) -> Work {
    Work {
        hashes: Some([("r.g/n/x".to_owned(), hash.to_owned())].into()),
        is_ready: true,
        ..Work::default()
    }
}

fn said(on: &OnCluster, works: &[Work]) -> String {
    let Progress {
        status,
        reason,
        message,
    } = progress(on, works.iter());
    format!("{status} {reason} {message}")
}

const APPLIED: (&str, &str, &str) = ("ManifestApplied", "True", "AddonManifestApplied");

#[test]
fn the_first_rule_counts() {
    let good = on("1", &[APPLIED]);
    let old = Work {
        is_ready: false,
        ..work("1")
    };
    let broken = Work {
        failed: Some("no such kind".to_owned()),
        ..old.clone()
    };
    let pre_delete = Work {
        is_pre_delete: true,
        ..Work::default()
    };
    let waiting =
        "False WaitingForManifestApplied Waiting for ManagedClusterAddOn ManifestApplied condition";
    let mismatch = "True Progressing progressing... mca and work configs mismatch";
    let failed = ("ManifestApplied", "False", "ManifestWorkApplyFailed");
    let of_agent = ("ManifestApplied", "False", "AddonManifestAppliedFailed");
    for (sentence, on, works, expected) in [
        ("nothing yet", on("", &[]), vec![], waiting),
        (
            "a manager that has not begun",
            on("1", &[]),
            vec![work("1")],
            waiting,
        ),
        (
            "no works",
            good.clone(),
            vec![],
            "True Progressing progressing... no addon works",
        ),
        (
            "hooks say nothing",
            good.clone(),
            vec![pre_delete],
            "True Progressing progressing... no addon works",
        ),
        (
            "a stale work",
            good.clone(),
            vec![work("1"), work("0")],
            mismatch,
        ),
        (
            "a config that does not exist",
            on("", &[APPLIED]),
            vec![work("")],
            mismatch,
        ),
        (
            "a work without hashes",
            good.clone(),
            vec![Work::default()],
            mismatch,
        ),
        (
            "not applied yet",
            good.clone(),
            vec![work("1"), old.clone()],
            "True Progressing progressing... work is not ready",
        ),
        (
            "cannot be applied",
            good.clone(),
            vec![old, broken.clone()],
            "False Failed a ManifestWork of the add-on cannot be applied: no such kind",
        ),
        (
            "a stale work that cannot be applied is not the current one",
            on("2", &[APPLIED]),
            vec![broken],
            mismatch,
        ),
        (
            "cannot be made",
            on("1", &[failed]),
            vec![work("0")],
            "False Failed why",
        ),
        (
            "its works say why",
            on("1", &[of_agent]),
            vec![work("1")],
            "False Completed completed with no errors.",
        ),
        (
            "done",
            good,
            vec![work("1")],
            "False Completed completed with no errors.",
        ),
    ] {
        assert_eq!(said(&on, &works), expected, "{sentence}");
    }
}

#[test]
fn a_config_of_an_unsupported_kind_is_named() {
    let config = json!({"group": "g", "resource": "r", "namespace": "n", "name": "x"});
    let with = |supported| OnCluster {
        configs: vec![serde_json::from_value(config.clone()).unwrap()],
        supported: serde_json::from_value(supported).unwrap(),
        ..on("1", &[APPLIED])
    };
    assert_eq!(
        said(&with(json!([])), &[work("1")]),
        "False ConfigurationUnsupported Configuration with gvr g/r is not supported for this addon"
    );
    let supported = json!([{"group": "g", "resource": "s"}, {"group": "g", "resource": "r"}]);
    assert!(said(&with(supported), &[work("1")]).starts_with("False Completed"));
}

#[test]
fn a_hosted_add_on_waits_for_its_hosting_cluster() {
    let annotations: BTreeMap<_, _> =
        [(labels::ADDON_HOSTING_CLUSTER.to_owned(), "h".to_owned())].into();
    let hosting = ("HostingManifestApplied", "True", "AddonManifestApplied");
    let hosted = |conditions: &[_]| OnCluster {
        annotations: annotations.clone(),
        ..on("1", conditions)
    };
    assert_eq!(
        said(&hosted(&[APPLIED]), &[work("1")]),
        "False WaitingForHostingManifestApplied Waiting for ManagedClusterAddOn HostingManifestApplied condition"
    );
    assert!(said(&hosted(&[APPLIED, hosting]), &[work("1")]).starts_with("False Completed"));
}

#[test]
fn an_add_on_without_configs_needs_no_hashes() {
    let without = OnCluster {
        references: Vec::new(),
        ..on("1", &[APPLIED])
    };
    let bare = Work {
        is_ready: true,
        ..Work::default()
    };
    assert!(said(&without, &[bare]).starts_with("False Completed"));
    let empty = Work {
        hashes: Some(BTreeMap::new()),
        is_ready: true,
        ..Work::default()
    };
    assert!(said(&without, &[empty]).starts_with("False Completed"));
    assert!(said(&without, &[work("1")]).contains("mismatch"));
}

#[test]
fn configs_count_as_applied_when_the_add_on_has_them() {
    let references = on("1", &[]).references;
    let applied = applied(&references);
    assert_eq!(applied[0].last_applied_config, references[0].desired_config);
}
