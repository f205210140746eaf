//! What is known of a hub before anything is changed.

use berth_api::groups;
use berth_manifests::{HUB_NAMESPACE, Hub, Mode};
use futures::StreamExt;
use futures::stream;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use serde_json::Value;

use crate::doctor::{CONSOLE, CONTROLLER, OCMS_CONTROLLER, WEBHOOK};
use crate::failure::CommandError;
use crate::hub::{HubConnection, title};
use crate::join::objects::{DEPLOYMENT, HUB_SECRET, NAMESPACE, cluster_of};

/// Calls at once.
pub(super) const AT_ONCE: usize = 8;

const CLUSTER_MANAGERS: &str = "/apis/operator.open-cluster-management.io/v1/clustermanagers";

/// What concerns the whole hub.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Facts {
    /// The version of Kubernetes, major and minor, if the user may read it.
    pub(super) version: Option<(u32, u32)>,
    /// The API server evaluates policies that change objects.
    pub(super) serves_policies: bool,
    /// It serves ManagedClusters.
    pub(super) is_hub: bool,
    pub(super) namespace: Standing,
    /// The ClusterManager of an operator.
    pub(super) cluster_manager: Option<String>,
    /// The name under which this cluster is managed, if an agent runs here.
    pub(super) agent_of: Option<String>,
    /// The Deployments of the hub's namespace that matter, by name.
    pub(super) deployments: Vec<Value>,
    /// Objects that belong to other modes only, and exist.
    pub(super) of_other_modes: Vec<String>,
}

/// Whether a namespace exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    #[default]
    Absent,
    Present,
    Ending,
}

// === impl Facts ===

impl Facts {
    /// Reads them.
    ///
    /// # Errors
    /// Something cannot be read. Nothing is installed on what is not known.
    pub(super) async fn of(hub: &HubConnection, mode: Mode) -> Result<Self, CommandError> {
        let answered = hub.answers().await?;
        let policies = hub.served("admissionregistration.k8s.io", "v1").await?;
        let kinds = hub.served(groups::CLUSTER, "v1").await?;
        let namespace = hub.get_value::<Namespace>(None, HUB_NAMESPACE).await?;
        Ok(Self {
            version: answered.version,
            serves_policies: policies.iter().any(|it| it == "mutatingadmissionpolicies"),
            is_hub: kinds.iter().any(|it| it == groups::MANAGED_CLUSTERS),
            namespace: match namespace {
                None => Standing::Absent,
                Some(it) if it["metadata"]["deletionTimestamp"].is_null() => Standing::Present,
                Some(_) => Standing::Ending,
            },
            cluster_manager: cluster_manager(hub).await?,
            agent_of: agent_of(hub).await?,
            deployments: deployments(hub).await?,
            of_other_modes: of_other_modes(hub, mode).await?,
        })
    }

    /// Returns a Deployment of the hub's namespace.
    pub(super) fn deployment(&self, name: &str) -> Option<&Value> {
        let mut all = self.deployments.iter();
        all.find(|it| it["metadata"]["name"] == name)
    }
}

/// Returns the name of the ClusterManager, if an operator is installed and has one. Of those in mode Hosted the hub is elsewhere.
pub(super) async fn cluster_manager(hub: &HubConnection) -> Result<Option<String>, CommandError> {
    let mut found = None;
    let mut take = |manager: Option<Value>| {
        let here = manager.filter(|it| it["spec"]["deployOption"]["mode"] != "Hosted");
        let name = here.and_then(|it| it["metadata"]["name"].as_str().map(str::to_owned));
        found = found.take().or(name);
    };
    match hub.each_at(CLUSTER_MANAGERS.to_owned(), &mut take).await {
        Ok(()) => Ok(found),
        Err(CommandError::NoHub { .. }) => Ok(None),
        Err(failure) => Err(failure),
    }
}

async fn agent_of(hub: &HubConnection) -> Result<Option<String>, CommandError> {
    let within = Some(NAMESPACE);
    let is_ours = hub.get_value::<Deployment>(within, DEPLOYMENT).await?;
    let secret = hub.get_value::<Secret>(within, HUB_SECRET).await;
    match secret {
        Ok(secret) => {
            let name = secret.as_ref().and_then(cluster_of);
            Ok(name.or_else(|| is_ours.map(|_| "unknown".to_owned())))
        }
        // Who installs a hub need not read Secrets of an agent.
        Err(failure) if failure.is_forbidden() => Ok(is_ours.map(|_| "unknown".to_owned())),
        Err(failure) => Err(failure),
    }
}

async fn deployments(hub: &HubConnection) -> Result<Vec<Value>, CommandError> {
    let names = [
        WEBHOOK,
        CONTROLLER,
        OCMS_CONTROLLER,
        "berth-placement-controller",
        CONSOLE,
    ];
    let mut found = Vec::new();
    for name in names {
        let within = Some(HUB_NAMESPACE);
        found.extend(hub.get_value::<Deployment>(within, name).await?);
    }
    Ok(found)
}

/// Returns the titles of the objects that other modes have, and this one lacks.
async fn of_other_modes(hub: &HubConnection, mode: Mode) -> Result<Vec<String>, CommandError> {
    let others = only_elsewhere(mode);
    let found = stream::iter(&others)
        .map(async |object| Ok(hub.is_there(object).await?.then(|| title(object))))
        .buffered(AT_ONCE);
    let found: Vec<_> = found.collect().await;
    let found: Result<Vec<_>, _> = found.into_iter().collect();
    Ok(found?.into_iter().flatten().collect())
}

/// The objects that other modes have, and this one lacks.
fn only_elsewhere(mode: Mode) -> Vec<Value> {
    let key = |object: &Value| (title(object), object["metadata"]["namespace"].clone());
    let mut known: Vec<_> = Hub::of(mode, "").objects().map(key).collect();
    let mut others = Vec::new();
    for other in Mode::ALL {
        for object in Hub::of(other, "").objects() {
            let key = key(object);
            if !known.contains(&key) {
                known.push(key);
                others.push(object.clone());
            }
        }
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_other_modes_have_is_known() {
        let titles = |mode| -> Vec<String> { only_elsewhere(mode).iter().map(title).collect() };
        assert_eq!(
            titles(Mode::Hub)
                .iter()
                .filter(|it| !it.contains("policy"))
                .collect::<Vec<_>>(),
            [
                "serviceaccount/berth-registration-controller-sa",
                "deployment/berth-registration-controller",
            ]
        );
        let webhook = "deployment/cluster-manager-registration-webhook".to_owned();
        assert!(titles(Mode::Policies).contains(&webhook));
        assert!(!titles(Mode::PoliciesWithWebhook).contains(&webhook));
        let webhooks = titles(Mode::Webhooks);
        assert!(
            webhooks.iter().all(|it| it.contains("policy")),
            "{webhooks:?}"
        );
    }
}
