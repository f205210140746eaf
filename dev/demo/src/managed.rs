//! The managed clusters: each an API server of its own, with ClusterClaims, and an agent.

use std::fs;
use std::path::{Path, PathBuf};

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

/// The managed clusters of the story. Contexts of these names are in the kubeconfig.
pub(super) const NAMES: [&str; 2] = ["c1", "c2"];

/// The managed cluster that asks to join after the story, so that a visitor has a request to accept or deny.
pub(super) const GUEST: &str = "c3";

/// The managed clusters without their agents.
pub(super) struct Servers(Vec<(&'static str, DevHub)>);

/// The user and the group of a bootstrap token, with which agents ask to join. `berth accept` and the console approve the CSRs of such users.
const BOOTSTRAP: (&str, &str) = (
    "system:bootstrap:demo00",
    "system:bootstrappers:managedcluster",
);

/// What happens besides commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happening {
    /// The agent of this cluster stops.
    AgentStops(&'static str),
    /// It starts again.
    AgentStarts(&'static str),
}

/// The agents of all managed clusters.
pub(super) struct Agents {
    agents: Vec<Agent>,
    /// The credentials with which an agent asks to join.
    bootstrap: PathBuf,
    /// The folder of their files.
    folder: PathBuf,
}

// === impl Servers ===

impl Servers {
    /// Starts those of the story, and that of the guest if one comes.
    pub(super) async fn start(guest: Option<&'static str>) -> anyhow::Result<Self> {
        let mut servers = Vec::new();
        for name in NAMES.into_iter().chain(guest) {
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
    /// Starts the agents of the story, with files in this folder.
    pub(super) async fn start(
        kubeconfig: &Kubeconfig,
        hub: &DevHub,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let bootstrap = folder.join("bootstrap-kubeconfig");
        let (user, group) = BOOTSTRAP;
        fs::write(&bootstrap, hub.kubeconfig(user, &[group])?)
            .with_context(|| format!("{} cannot be written", bootstrap.display()))?;
        let mut agents = Self {
            agents: Vec::new(),
            bootstrap,
            folder: folder.to_owned(),
        };
        for name in NAMES {
            agents.add(kubeconfig, name).await?;
        }
        Ok(agents)
    }

    /// Installs what the agent of this cluster needs there, and starts it: it asks to join.
    pub(super) async fn add(
        &mut self,
        kubeconfig: &Kubeconfig,
        name: &'static str,
    ) -> anyhow::Result<()> {
        install(kubeconfig, name).await?;
        let managed = HubApi::of(users::config(kubeconfig, name).await?).await?;
        let agent = Agent::start(name, managed, &self.bootstrap, &self.folder).await?;
        self.agents.push(agent);
        Ok(())
    }

    /// The agent of this cluster.
    pub(super) fn of(&self, cluster: &str) -> anyhow::Result<&Agent> {
        let agent = self.agents.iter().find(|agent| agent.cluster == cluster);
        agent.with_context(|| format!("{cluster} has no agent"))
    }

    /// The names of the clusters that have an agent.
    pub(super) fn clusters(&self) -> Vec<&'static str> {
        self.agents.iter().map(|agent| agent.cluster).collect()
    }

    /// Stops or starts an agent, unless it is so already.
    pub(super) async fn happen(&mut self, happening: Happening) -> anyhow::Result<()> {
        let (Happening::AgentStops(cluster) | Happening::AgentStarts(cluster)) = happening;
        for agent in self.agents.iter_mut().filter(|it| it.cluster == cluster) {
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
        for agent in self.agents {
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
