//! The managed cluster: whether the agent can be installed there, and its installation.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use serde_json::Value;

use super::objects::{DEPLOYMENT, HUB_SECRET, NAMESPACE, cluster_of, image_in};
use super::operator::KLUSTERLET;
use crate::failure::CommandError;
use crate::hub::{Applied, HubConnection};

/// The namespace of operators, the Deployment of Berth's, and that of OCM's.
const OPERATORS: &str = "open-cluster-management";
const OPERATOR: &str = "berth-klusterlet-operator";
const OCMS_OPERATOR: &str = "klusterlet";

/// The path of Klusterlets.
const KLUSTERLETS: &str = "/apis/operator.open-cluster-management.io/v1/klusterlets?limit=1";

/// Checks that no other agent and no other registration is in the way.
///
/// # Errors
/// The cluster has joined under another name, an operator runs an agent, or the namespace is being deleted.
pub(super) async fn check(
    cluster: &HubConnection,
    name: &str,
    operator: bool,
) -> Result<(), CommandError> {
    let refused = |why: String| Err(CommandError::Refused(why));
    let namespace = cluster.get_value::<Namespace>(None, NAMESPACE).await?;
    if namespace.is_some_and(|it| !it["metadata"]["deletionTimestamp"].is_null()) {
        return refused(format!(
            "namespace {NAMESPACE} is being deleted on the managed cluster; wait: kubectl wait --for=delete namespace/{NAMESPACE}"
        ));
    }
    if operator && deployment(cluster, NAMESPACE, DEPLOYMENT).await?.is_some() {
        return refused(
            "an agent runs here without an operator; remove it first: berth unjoin".to_owned(),
        );
    }
    if operator
        && deployment(cluster, OPERATORS, OCMS_OPERATOR)
            .await?
            .is_some()
    {
        return refused(format!(
            "OCM's operator is installed here, and carries out Klusterlets: remove Deployment {OPERATORS}/{OCMS_OPERATOR} first (docs/klusterlet.md)"
        ));
    }
    let klusterlet = klusterlet(cluster).await?;
    if let Some(klusterlet) = klusterlet.filter(|it| !operator || it != KLUSTERLET) {
        return refused(format!(
            "an operator runs the agent of this cluster (Klusterlet {klusterlet}); remove it first: kubectl delete klusterlet {klusterlet}"
        ));
    }
    let secret = cluster
        .get_value::<Secret>(Some(NAMESPACE), HUB_SECRET)
        .await?;
    let before = secret.as_ref().and_then(cluster_of);
    match before {
        Some(before) if before != name => refused(format!(
            "this cluster has already joined as {before}; keep --cluster-name {before}, or remove that registration: berth unjoin"
        )),
        _ => Ok(()),
    }
}

/// Returns the name of a Klusterlet, if OCM's operator is installed and has one.
pub(crate) async fn klusterlet(cluster: &HubConnection) -> Result<Option<String>, CommandError> {
    cluster.first_name(KLUSTERLETS).await
}

/// Returns the image of an agent that is already installed, or of its operator.
pub(super) async fn image(
    cluster: &HubConnection,
    operator: bool,
) -> Result<Option<String>, CommandError> {
    let found = match operator {
        true => deployment(cluster, OPERATORS, OPERATOR).await?,
        false => deployment(cluster, NAMESPACE, DEPLOYMENT).await?,
    };
    Ok(found.as_ref().and_then(image_in).map(str::to_owned))
}

async fn deployment(
    cluster: &HubConnection,
    namespace: &str,
    name: &str,
) -> Result<Option<Value>, CommandError> {
    cluster.get_value::<Deployment>(Some(namespace), name).await
}

/// Installs an object. A CustomResourceDefinition or a Namespace that exists stays as it is: others may depend on it, and `unjoin`
/// deletes no namespace that `join` did not create.
///
/// # Errors
/// Those of the managed cluster. A conflict names the flag that takes the fields over.
pub(super) async fn install(
    cluster: &HubConnection,
    object: &Value,
    force: bool,
) -> Result<Applied, CommandError> {
    if is_shared(object) && cluster.exists(object).await? {
        return Ok(Applied::Unchanged);
    }
    let force = force || is_named(object);
    let applied = match is_klusterlet(object) {
        true => cluster.apply_once_served(object, force).await,
        false => cluster.apply(object, force).await,
    };
    applied.map_err(CommandError::with_remedy)
}

/// Returns what [`install`] would do, as the API server decides it, or None if the object's namespace does not exist yet.
///
/// # Errors
/// Those of the managed cluster. A conflict names the flag that takes the fields over.
pub(super) async fn try_to_install(
    cluster: &HubConnection,
    object: &Value,
    force: bool,
) -> Result<Option<Applied>, CommandError> {
    if is_shared(object) && cluster.exists(object).await? {
        return Ok(Some(Applied::Unchanged));
    }
    let tried = cluster.try_to_apply(object, force || is_named(object));
    tried.await.map_err(CommandError::with_remedy)
}

/// Returns true for a Klusterlet, whose kind an API server may serve only a moment after its definition was created.
pub(super) fn is_klusterlet(object: &Value) -> bool {
    object["kind"] == "Klusterlet"
}

/// Returns true if others may depend on the object.
fn is_shared(object: &Value) -> bool {
    ["CustomResourceDefinition", "Namespace"]
        .iter()
        .any(|kind| object["kind"] == *kind)
}

/// Returns true for the Secret, whose content the user has just named.
fn is_named(object: &Value) -> bool {
    object["kind"] == "Secret"
}
