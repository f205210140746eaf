//! Kinds that run pods.

use berth_api::conditions::{FALSE, TRUE};
use serde_json::Value;

use super::{Judgement, because, condition_with, number, text};

const NOT_OBSERVED: &str = "The controller has not observed the latest spec";
const UPDATING: &str = "Pods are being updated";
const TERMINATING: &str = "Old pods are being terminated";
const NOT_AVAILABLE: &str = "Pods are not available yet";

/// Reasons why a container waits that do not go away by waiting.
const STUCK: [&str; 7] = [
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
];

/// Returns whether the controller has seen the spec as it is.
fn is_observed(object: &Value) -> bool {
    let generation = number(object, "/metadata/generation", 0);
    number(object, "/status/observedGeneration", 0) >= generation
}

/// Pods that cannot be created.
fn replica_failure(object: &Value) -> Option<String> {
    let failure = condition_with(object, "ReplicaFailure", TRUE)?;
    Some(because("Pods cannot be created", failure, "message"))
}

/// As `kubectl rollout status`, except for a loss of pods after the rollout that the strategy tolerates.
pub(super) fn deployment(object: &Value) -> Option<Judgement> {
    let replicas = number(object, "/spec/replicas", 1);
    let updated = number(object, "/status/updatedReplicas", 0);
    let available = number(object, "/status/availableReplicas", 0);
    let is_rolled_out = condition_with(object, "Progressing", TRUE)
        .is_some_and(|it| it["reason"] == "NewReplicaSetAvailable");
    let is_available = condition_with(object, "Available", TRUE).is_some();
    let message = if !is_observed(object) {
        NOT_OBSERVED
    } else if updated < replicas {
        match object.pointer("/spec/paused") {
            Some(Value::Bool(true)) => "The rollout is paused",
            _ => UPDATING,
        }
    } else if number(object, "/status/replicas", 0) > updated {
        TERMINATING
    } else if available < updated && !(is_rolled_out && is_available) {
        NOT_AVAILABLE
    } else {
        return Some(Judgement::done("The Deployment is rolled out"));
    };
    let deadline = condition_with(object, "Progressing", FALSE)
        .filter(|it| it["reason"] == "ProgressDeadlineExceeded")
        .map(|it| because("The progress deadline is exceeded", it, "message"));
    let failure = deadline.or_else(|| replica_failure(object));
    // Conditions of an older spec say nothing of this one.
    let failure = failure.filter(|_| is_observed(object));
    Some(failure.map_or_else(|| Judgement::progressing(message), Judgement::failed))
}

pub(super) fn stateful_set(object: &Value) -> Option<Judgement> {
    let replicas = number(object, "/spec/replicas", 1);
    let partition = number(object, "/spec/updateStrategy/rollingUpdate/partition", 0);
    let is_rolling = text(object, "/spec/updateStrategy/type") != "OnDelete";
    let current = text(object, "/status/currentRevision");
    let is_updating = number(object, "/status/updatedReplicas", 0)
        < replicas.saturating_sub(partition)
        || partition == 0 && current != text(object, "/status/updateRevision");
    Some(if !is_observed(object) {
        Judgement::progressing(NOT_OBSERVED)
    } else if is_rolling && is_updating {
        Judgement::progressing(UPDATING)
    } else if number(object, "/status/replicas", 0) > replicas {
        Judgement::progressing(TERMINATING)
    } else if number(object, "/status/readyReplicas", 0) < replicas {
        Judgement::progressing("Pods are not ready yet")
    } else {
        Judgement::done("The StatefulSet is rolled out")
    })
}

pub(super) fn daemon_set(object: &Value) -> Option<Judgement> {
    let desired = number(object, "/status/desiredNumberScheduled", 0);
    let is_rolling = text(object, "/spec/updateStrategy/type") != "OnDelete";
    Some(if !is_observed(object) {
        Judgement::progressing(NOT_OBSERVED)
    } else if is_rolling && number(object, "/status/updatedNumberScheduled", 0) < desired {
        Judgement::progressing(UPDATING)
    } else if number(object, "/status/numberAvailable", 0) < desired {
        Judgement::progressing(NOT_AVAILABLE)
    } else {
        Judgement::done("The DaemonSet is rolled out")
    })
}

/// ReplicaSets and ReplicationControllers.
pub(super) fn replica_set(object: &Value) -> Option<Judgement> {
    let replicas = number(object, "/spec/replicas", 1);
    if !is_observed(object) {
        return Some(Judgement::progressing(NOT_OBSERVED));
    }
    if let Some(failure) = replica_failure(object) {
        return Some(Judgement::failed(failure));
    }
    Some(if number(object, "/status/replicas", 0) > replicas {
        Judgement::progressing(TERMINATING)
    } else if number(object, "/status/availableReplicas", 0) < replicas {
        Judgement::progressing(NOT_AVAILABLE)
    } else {
        Judgement::done("All pods are available")
    })
}

pub(super) fn job(object: &Value) -> Option<Judgement> {
    let has = |type_| condition_with(object, type_, TRUE);
    // A Job is about to fail, or about to be complete, while its pods are being terminated.
    if let Some(failed) = has("Failed").or_else(|| has("FailureTarget")) {
        return Some(Judgement::failed(because(
            "The Job failed",
            failed,
            "message",
        )));
    }
    Some(
        if has("Complete")
            .or_else(|| has("SuccessCriteriaMet"))
            .is_some()
        {
            Judgement::done("The Job is complete")
        } else if object.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
            Judgement::done("The Job is suspended")
        } else {
            Judgement::progressing("The Job is not finished")
        },
    )
}

pub(super) fn pod(object: &Value) -> Option<Judgement> {
    match text(object, "/status/phase") {
        "Succeeded" => return Some(Judgement::done("The Pod is completed")),
        "Failed" => {
            let status = &object["status"];
            return Some(Judgement::failed(because(
                "The Pod failed",
                status,
                "reason",
            )));
        }
        _ => {}
    }
    if condition_with(object, "Ready", TRUE).is_some() {
        return Some(Judgement::done("The Pod is ready"));
    }
    let containers = ["initContainerStatuses", "containerStatuses"];
    let containers = containers
        .iter()
        .filter_map(|it| object["status"][it].as_array());
    for container in containers.flatten() {
        let reason = text(container, "/state/waiting/reason");
        if STUCK.contains(&reason) {
            let name = because("Container", container, "name").replacen(": ", " ", 1);
            return Some(Judgement::failed(format!("{name}: {reason}")));
        }
    }
    Some(Judgement::progressing("The Pod is not ready"))
}
