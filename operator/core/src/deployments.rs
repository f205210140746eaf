//! Deployments of the manifests, and their accounts, as OCM's operator has them.

use serde_json::{Value, json};

/// Gives a Deployment the names that OCM gives its own.
pub(crate) fn rename(deployment: &mut Value, name: &str, app: &str, container_name: &str) {
    deployment["metadata"]["name"] = json!(name);
    deployment["metadata"]["labels"]["app"] = json!(name);
    let spec = &mut deployment["spec"];
    spec["selector"]["matchLabels"]["app"] = json!(app);
    spec["template"]["metadata"]["labels"]["app"] = json!(app);
    let pods = &mut spec["template"]["spec"];
    let spread = pods["topologySpreadConstraints"].as_array_mut();
    for constraint in spread.into_iter().flatten() {
        constraint["labelSelector"]["matchLabels"]["app"] = json!(app);
    }
    container(deployment)["name"] = json!(container_name);
}

/// Leaves it to the pods whether they mount the token of their account. OCM's operator keeps what an account says, and its pods do not ask for
/// the token.
pub(crate) fn without_mount(account: &mut Value) {
    if let Some(fields) = account.as_object_mut() {
        fields.remove("automountServiceAccountToken");
    }
}

/// The first container of a Deployment.
pub(crate) fn container(deployment: &mut Value) -> &mut Value {
    &mut deployment["spec"]["template"]["spec"]["containers"][0]
}
