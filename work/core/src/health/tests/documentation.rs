//! `docs/work-status.md` has a table of the kinds that have rules, and one of the well-known values. The tables are made here; to change
//! them, run `BERTH_GENERATE=1 cargo test -p berth-work-core`.

use std::fmt::Write;

use super::KINDS;
use crate::feedback::WELL_KNOWN;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/work-status.md");

/// Kinds with conditions: group, kind, when Progressing is True, when Degraded is True.
const WORDS: &[(&str, &str, &str, &str)] = &[
    (
        "apps",
        "Deployment",
        "the controller has not observed the spec, pods are of an older template or not available. A loss of pods within the strategy's maxUnavailable after the rollout does not count",
        "the progress deadline is exceeded (condition Progressing), or pods cannot be created (condition ReplicaFailure)",
    ),
    (
        "apps",
        "StatefulSet",
        "the controller has not observed the spec, pods above the partition are of an older revision, or pods are not ready",
        "never: StatefulSets report no failures",
    ),
    (
        "apps",
        "DaemonSet",
        "the controller has not observed the spec, pods are of an older template, or pods are not available",
        "never: DaemonSets report no failures",
    ),
    (
        "apps",
        "ReplicaSet",
        "the controller has not observed the spec, or pods are not available",
        "pods cannot be created (condition ReplicaFailure)",
    ),
    (
        "",
        "ReplicationController",
        "the controller has not observed the spec, or pods are not available",
        "pods cannot be created (condition ReplicaFailure)",
    ),
    (
        "batch",
        "Job",
        "the Job is neither complete nor failed nor suspended, or it failed",
        "the Job failed",
    ),
    (
        "",
        "Pod",
        "the Pod is neither ready nor completed",
        "the Pod failed, or a container cannot start (CrashLoopBackOff, ErrImagePull, ImagePullBackOff, InvalidImageName, CreateContainerConfigError, CreateContainerError, RunContainerError)",
    ),
    (
        "",
        "PersistentVolumeClaim",
        "no volume is bound. A claim with a StorageClass that no provisioner and no pod's node are noted on waits for a pod, and does not count",
        "the volume is lost",
    ),
    (
        "",
        "PersistentVolume",
        "the volume is pending, or it failed",
        "the volume failed",
    ),
    (
        "",
        "Service",
        "the type is LoadBalancer, and the load balancer has no address",
        "never",
    ),
    (
        "",
        "Namespace",
        "the namespace is being deleted",
        "the deletion of its content fails",
    ),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "the API is not served (condition Established)",
        "the names are taken (condition NamesAccepted)",
    ),
    (
        "apiregistration.k8s.io",
        "APIService",
        "the API is not available (condition Available)",
        "never",
    ),
    (
        "autoscaling",
        "HorizontalPodAutoscaler",
        "the autoscaler cannot scale its target (condition AbleToScale), or has no metrics (condition ScalingActive)",
        "the autoscaler cannot scale its target",
    ),
];

fn kinds() -> String {
    let mut table =
        "| kind | Progressing is True while | Degraded is True if |\n|---|---|---|\n".to_owned();
    let mut settled = Vec::new();
    for rule in KINDS {
        let (group, kind) = (rule.group, rule.kind);
        let named = match group {
            "" => kind.to_owned(),
            group => format!("{kind} ({group})"),
        };
        let words = WORDS.iter().find(|it| (it.0, it.1) == (group, kind));
        match (rule.judge, words) {
            (Some(_), Some((_, _, progressing, degraded))) => {
                writeln!(table, "| {named} | {progressing} | {degraded} |").unwrap();
            }
            (None, None) => settled.push(named),
            _ => panic!("{kind} has words and no rule, or a rule and no words"),
        }
    }
    format!(
        "{table}\nDone as soon as they exist: {}.\n",
        settled.join(", ")
    )
}

fn values() -> String {
    let mut table = "| kind | value | field |\n|---|---|---|\n".to_owned();
    for (group, version, kind, values) in WELL_KNOWN {
        let api_version = [*group, version].join("/");
        let api_version = api_version.trim_start_matches('/');
        for (name, path) in *values {
            writeln!(table, "| {kind} ({api_version}) | {name} | `{path}` |").unwrap();
        }
    }
    table
}

#[test]
fn the_documentation_has_the_tables() {
    let mut page = std::fs::read_to_string(PAGE).unwrap();
    let written = page.clone();
    for (name, table) in [("kinds", kinds()), ("values", values())] {
        let begin = format!("<!-- generated: {name} -->\n");
        let start = page.find(&begin).unwrap() + begin.len();
        let end = start + page[start..].find("<!-- end -->").unwrap();
        page.replace_range(start..end, &table);
    }
    if std::env::var_os("BERTH_GENERATE").is_some() {
        std::fs::write(PAGE, page).unwrap();
        return;
    }
    assert!(
        page == written,
        "docs/work-status.md is not current; run: BERTH_GENERATE=1 cargo test -p berth-work-core"
    );
}
