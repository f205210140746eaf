//! The managed clusters: each an API server of its own, with ClusterClaims, and an agent.

use std::fs;
use std::path::Path;

use anyhow::Context;
use berth_devhub::{DevHub, Options};
use berth_hub::HubApi;
use berth_manifests::{Manifest, files};
use kube::config::Kubeconfig;
use serde_json::json;

use crate::agent::{Agent, NAMESPACE};
use crate::install::apply;
use crate::request;
use crate::users;

const CLAIMS: &str = include_str!("../../../examples/demo/claims.yaml");
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusterclaims.cluster.open-cluster-management.io";
const CRDS: [Manifest; 2] = [files::CRD_CLAIMS, files::CRD_APPLIED_MANIFEST_WORKS];

/// The managed clusters. Contexts of these names are in the kubeconfig.
pub(super) const NAMES: [&str; 2] = ["c1", "c2"];

/// The user and the group of a bootstrap token, with which agents ask to join. `berth accept` and the console approve the CSRs of such users.
const BOOTSTRAP: (&str, &str) = (
    "system:bootstrap:demo00",
    "system:bootstrappers:managedcluster",
);

/// The managed clusters without their agents.
pub(super) struct Servers(Vec<(&'static str, DevHub)>);

/// What happens in the story besides commands.
#[derive(Clone, Copy)]
pub(super) enum Happening {
    /// The agent of this cluster stops.
    AgentStops(&'static str),
    /// It starts again.
    AgentStarts(&'static str),
}

/// The agents of all managed clusters.
pub(super) struct Agents(Vec<Agent>);

// === impl Servers ===

impl Servers {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let mut servers = Vec::new();
        for name in NAMES {
            servers.push((name, DevHub::start(Options::default()).await?));
        }
        Ok(Self(servers))
    }

    /// Names and API servers.
    pub(super) fn all(&self) -> &[(&'static str, DevHub)] {
        &self.0
    }

    pub(super) async fn shutdown(self) {
        for (_, server) in self.0 {
            server.shutdown().await;
        }
    }
}

// === impl Agents ===

impl Agents {
    /// Installs what the agents need on their clusters, and starts them, with files in this folder.
    pub(super) async fn start(
        kubeconfig: &Kubeconfig,
        hub: &DevHub,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let bootstrap = folder.join("bootstrap-kubeconfig");
        let (user, group) = BOOTSTRAP;
        fs::write(&bootstrap, hub.kubeconfig(user, &[group])?)
            .with_context(|| format!("{} cannot be written", bootstrap.display()))?;
        let mut agents = Vec::new();
        for name in NAMES {
            install(kubeconfig, name).await?;
            let managed = HubApi::of(users::config(kubeconfig, name).await?).await?;
            agents.push(Agent::start(name, managed, &bootstrap, folder).await?);
        }
        Ok(Self(agents))
    }

    /// The agent of this cluster.
    pub(super) fn of(&self, cluster: &str) -> anyhow::Result<&Agent> {
        let agent = self.0.iter().find(|agent| agent.cluster == cluster);
        agent.with_context(|| format!("{cluster} has no agent"))
    }

    pub(super) async fn happen(&mut self, happening: Happening) -> anyhow::Result<()> {
        let (Happening::AgentStops(cluster) | Happening::AgentStarts(cluster)) = happening;
        for agent in self.0.iter_mut().filter(|agent| agent.cluster == cluster) {
            match happening {
                Happening::AgentStops(_) => agent.stop().await?,
                Happening::AgentStarts(_) => agent.run(),
            }
        }
        Ok(())
    }

    /// Ends all agents. Returns the first error.
    pub(super) async fn end(self) -> anyhow::Result<()> {
        let mut ended = Ok(());
        for agent in self.0 {
            ended = ended.and(agent.end().await);
        }
        ended
    }
}

/// The agent's namespace, the CRDs of its kinds, and ClusterClaims.
async fn install(kubeconfig: &Kubeconfig, name: &str) -> anyhow::Result<()> {
    let admin = users::client(kubeconfig, name).await?;
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    apply(&admin, &namespace).await?;
    for object in CRDS.iter().flat_map(Manifest::documents) {
        apply(&admin, &object).await?;
    }
    request::until(&admin, &[DEFINITION], |objects| {
        let conditions = objects.first()?["status"]["conditions"].as_array()?;
        let is_served =
            |it: &serde_json::Value| it["type"] == "Established" && it["status"] == "True";
        conditions.iter().any(is_served).then_some(())
    })
    .await?;
    let claims = CLAIMS.replace("CLUSTER", name);
    let claims: Vec<_> = serde_saphyr::from_multiple(&claims).context("claims.yaml")?;
    for claim in &claims {
        apply(&admin, claim).await?;
    }
    Ok(())
}
