//! Kinds that run no pods.

use berth_api::conditions::{FALSE, TRUE};
use serde_json::Value;

use super::{Judgement, because, condition, condition_with, text};

pub(super) fn claim(object: &Value) -> Option<Judgement> {
    Some(match text(object, "/status/phase") {
        "Bound" => Judgement::done("The claim is bound"),
        "Lost" => Judgement::failed("The volume of the claim is lost".to_owned()),
        _ if waits_for_pod(object) => Judgement::done("The claim waits for a pod that uses it"),
        _ => Judgement::progressing("No volume is bound yet"),
    })
}

/// Returns whether nothing is done for a claim until a pod uses it: `volumeBindingMode: WaitForFirstConsumer`, which its StorageClass has and
/// the claim shows not. A claim that gets a volume is annotated with a provisioner or with the node of its pod.
fn waits_for_pod(object: &Value) -> bool {
    const STARTED: [&str; 3] = [
        "volume.kubernetes.io/selected-node",
        "volume.kubernetes.io/storage-provisioner",
        "volume.beta.kubernetes.io/storage-provisioner",
    ];
    let annotations = &object["metadata"]["annotations"];
    text(object, "/status/phase") == "Pending"
        && !text(object, "/spec/storageClassName").is_empty()
        && text(object, "/spec/volumeName").is_empty()
        && STARTED.iter().all(|it| annotations[*it].is_null())
}

pub(super) fn volume(object: &Value) -> Option<Judgement> {
    Some(match text(object, "/status/phase") {
        "Available" | "Bound" | "Released" => Judgement::done("The volume is available"),
        "Failed" => Judgement::failed("The volume failed".to_owned()),
        _ => Judgement::progressing("The volume is pending"),
    })
}

/// Only load balancers take time.
pub(super) fn service(object: &Value) -> Option<Judgement> {
    if text(object, "/spec/type") != "LoadBalancer" {
        return None;
    }
    let addresses = object.pointer("/status/loadBalancer/ingress");
    let addresses = addresses.and_then(Value::as_array);
    Some(if addresses.is_some_and(|it| !it.is_empty()) {
        Judgement::done("The load balancer has an address")
    } else {
        Judgement::progressing("The load balancer has no address yet")
    })
}

/// Only a deletion can fail.
pub(super) fn namespace(object: &Value) -> Option<Judgement> {
    if text(object, "/status/phase") != "Terminating" {
        return None;
    }
    let failures = [
        "NamespaceDeletionDiscoveryFailure",
        "NamespaceDeletionGroupVersionParsingFailure",
        "NamespaceDeletionContentFailure",
    ];
    let mut failures = failures
        .iter()
        .filter_map(|it| condition_with(object, it, TRUE));
    Some(match failures.next() {
        Some(failure) => Judgement::failed(because(
            "The namespace cannot be deleted",
            failure,
            "reason",
        )),
        None => Judgement::progressing("The namespace is being deleted"),
    })
}

pub(super) fn definition(object: &Value) -> Option<Judgement> {
    Some(
        if let Some(names) = condition_with(object, "NamesAccepted", FALSE) {
            Judgement::failed(because("The names are not accepted", names, "message"))
        } else if condition_with(object, "Established", TRUE).is_some() {
            Judgement::done("The API is served")
        } else {
            Judgement::progressing("The API is not served yet")
        },
    )
}

pub(super) fn api_service(object: &Value) -> Option<Judgement> {
    Some(match condition(object, "Available") {
        Some(available) if available["status"] == TRUE => Judgement::done("The API is available"),
        Some(available) => {
            Judgement::progressing(&because("The API is not available", available, "reason"))
        }
        None => Judgement::progressing("The API is not available"),
    })
}

/// `autoscaling/v1` has no conditions.
pub(super) fn autoscaler(object: &Value) -> Option<Judgement> {
    object.pointer("/status/conditions")?;
    if let Some(unable) = condition_with(object, "AbleToScale", FALSE) {
        return Some(Judgement::failed(because(
            "The target cannot be scaled",
            unable,
            "reason",
        )));
    }
    let inactive = condition_with(object, "ScalingActive", FALSE);
    Some(
        match inactive.filter(|it| it["reason"] != "ScalingDisabled") {
            Some(inactive) => {
                Judgement::progressing(&because("There are no metrics", inactive, "reason"))
            }
            None => Judgement::done("The autoscaler is active"),
        },
    )
}
