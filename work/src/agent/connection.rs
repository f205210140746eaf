//! The hub of the agent: what its kubeconfig says, and when that changes.
//!
//! A renewed certificate is no change: `berth_hub` takes it into use by itself, and the agent keeps its state. Another address, cluster or
//! agent name is: the agent begins anew.

use std::path::{Path, PathBuf};
use std::time::Duration;

use berth_certs::pem::{hex, sha256};
use berth_hub::{Access, HubApi};

use super::settings::Settings;

/// How often the kubeconfig is read.
const PERIOD: Duration = Duration::from_secs(5);

/// How often the kubeconfig is read while there is none.
const SHORT_PERIOD: Duration = Duration::from_millis(500);

/// A hub, and the names of the agent there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    /// The address, exactly as in the kubeconfig.
    pub(crate) url: String,
    /// SHA-256 of the address, in hexadecimal: the beginning of the names of AppliedManifestWorks.
    pub(crate) hub_hash: String,
    /// The name of the cluster on the hub.
    pub(crate) cluster: String,
    /// The name of the agent in AppliedManifestWorks.
    pub(crate) agent_id: String,
}

/// The connection cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoConnection {
    #[error("the kubeconfig of the hub cannot be used: {0}")]
    Kubeconfig(String),
    #[error(
        "the name of the cluster is unknown: set --spoke-cluster-name, or wait until the registration has written {}", .0.display()
    )]
    ClusterName(PathBuf),
}

// === impl Connection ===

impl Connection {
    /// Reads the connection of these settings. Blocks on small files.
    pub(crate) fn read(settings: &Settings) -> Result<Self, NoConnection> {
        let kubeconfig = &settings.hub_kubeconfig;
        let endpoint = berth_hub::endpoint(kubeconfig, "--hub-kubeconfig-dir")
            .map_err(|error| NoConnection::Kubeconfig(error.to_string()))?;
        let hub_hash = hex(&sha256(endpoint.server.as_bytes()));
        let file = beside(kubeconfig, "cluster-name");
        let cluster = (settings.cluster_name.clone())
            .or_else(|| name_in(&file))
            .ok_or(NoConnection::ClusterName(file))?;
        Ok(Self {
            url: endpoint.server,
            agent_id: settings
                .agent_id
                .clone()
                .unwrap_or_else(|| hub_hash.clone()),
            hub_hash,
            cluster,
        })
    }

    /// Waits for a connection, and logs why there is none.
    pub(crate) async fn wait(settings: &Settings) -> (Self, HubApi) {
        let mut logged = None;
        loop {
            let failed = match Self::read(settings) {
                Ok(connection) => {
                    let access = Access::of_agent(Some(settings.hub_kubeconfig.clone()));
                    match HubApi::connect(&access).await {
                        Ok(hub) => return (connection, hub),
                        Err(error) => NoConnection::Kubeconfig(error.to_string()),
                    }
                }
                Err(error) => error,
            };
            if logged.as_ref() != Some(&failed) {
                tracing::info!("waiting for the hub: {failed}");
                logged = Some(failed);
            }
            tokio::time::sleep(SHORT_PERIOD).await;
        }
    }

    /// Waits until the files name another hub, cluster or agent. Files that cannot be read change nothing.
    pub(crate) async fn changed(&self, settings: &Settings) {
        loop {
            tokio::time::sleep(PERIOD).await;
            if Self::read(settings).is_ok_and(|now| now != *self) {
                return;
            }
        }
    }
}

fn beside(kubeconfig: &Path, name: &str) -> PathBuf {
    kubeconfig.with_file_name(name)
}

fn name_in(file: &Path) -> Option<String> {
    let name = std::fs::read_to_string(file).ok()?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}
