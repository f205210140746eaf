//! The operator of a managed cluster, and the Klusterlet by which it installs the agent.

use berth_manifests::{Manifest, files};
use serde_json::{Value, json};

use super::objects::{Agent, NAMESPACE};
use crate::failure::CommandError;

/// The name of the Klusterlet, which is that of clusteradm.
pub(super) const KLUSTERLET: &str = "klusterlet";

/// What the operator is made of.
const OPERATOR: [Manifest; 5] = [
    files::CRD_KLUSTERLETS,
    files::KLUSTERLET_OPERATOR_NAMESPACE,
    files::KLUSTERLET_OPERATOR_ACCOUNT,
    files::KLUSTERLET_OPERATOR_ROLE,
    files::KLUSTERLET_OPERATOR,
];

/// Returns the objects, in the order in which they are applied. The agent gets the image of the operator.
///
/// # Errors
/// The bootstrap kubeconfig cannot be written as YAML.
pub(super) fn objects(
    agent: &Agent<'_>,
    [registration, work]: [Value; 2],
) -> Result<Vec<Value>, CommandError> {
    let mut objects: Vec<_> = OPERATOR.iter().flat_map(Manifest::documents).collect();
    for object in objects.iter_mut().filter(|it| it["kind"] == "Deployment") {
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!(agent.image);
    }
    let mut spec = json!({"clusterName": agent.cluster});
    for (field, configuration) in [
        ("registrationConfiguration", registration),
        ("workConfiguration", work),
    ] {
        if configuration != json!({}) {
            spec[field] = configuration;
        }
    }
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    let klusterlet = json!({
        "apiVersion": "operator.open-cluster-management.io/v1", "kind": "Klusterlet",
        "metadata": {"name": KLUSTERLET}, "spec": spec,
    });
    objects.extend([namespace, agent.secret()?, klusterlet]);
    Ok(objects)
}
