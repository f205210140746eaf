//! The hub of the agent: what its kubeconfig says, and when that changes.
//!
//! A renewed certificate is no change: `berth_hub` takes it into use by itself, and the agent keeps its state. Another address, cluster or
//! agent name is: the agent begins anew.

use std::path::{Path, PathBuf};
use std::time::Duration;

use berth_api::groups::APPLIED_MANIFEST_WORKS;
use berth_certs::pem::{hex, sha256};
use berth_hub::{Access, Call, HubApi};
use berth_work_agent_core::Identity;

use super::settings::Settings;

/// How often the kubeconfig is read.
const PERIOD: Duration = Duration::from_secs(5);

/// How often the kubeconfig is read while there is none.
const SHORT_PERIOD: Duration = Duration::from_millis(500);

/// How often the managed cluster is asked for a kind that it does not serve.
const LONG_PERIOD: Duration = Duration::from_secs(10);

/// A hub, and the names of the agent there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    /// The address, exactly as in the kubeconfig.
    pub(crate) url: String,
    pub(crate) identity: Identity,
}

/// The connection cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoConnection {
    #[error("the kubeconfig of the hub cannot be used: {0}")]
    Kubeconfig(String),
    #[error(
        "the cluster does not serve AppliedManifestWorks ({0}): apply the manifests of the work agent, or turn it off"
    )]
    NotServed(String),
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
            identity: Identity {
                agent_id: (settings.agent_id.clone()).unwrap_or_else(|| hub_hash.clone()),
                hub_hash,
                cluster,
            },
        })
    }

    /// Waits for a connection, and for the kind that the agent keeps on its cluster. Logs what it waits for.
    pub(crate) async fn wait(settings: &Settings, managed: &HubApi) -> (Self, HubApi) {
        let mut logged = None;
        loop {
            let mut period = SHORT_PERIOD;
            let failed = match Self::open(settings).await {
                Ok(opened) => match serves(managed).await {
                    Ok(()) => return opened,
                    Err(error) => {
                        period = LONG_PERIOD;
                        error
                    }
                },
                Err(error) => error,
            };
            if logged.as_ref() != Some(&failed) {
                tracing::info!("works are not carried out yet: {failed}");
                logged = Some(failed);
            }
            tokio::time::sleep(period).await;
        }
    }

    async fn open(settings: &Settings) -> Result<(Self, HubApi), NoConnection> {
        // Read first: if the file changes before `connect` reads it, `changed` notices that.
        let connection = Self::read(settings)?;
        let access = Access::of_agent(Some(settings.hub_kubeconfig.clone()));
        let hub = HubApi::connect(&access).await;
        // The error names the file by another flag.
        let hub = hub.map_err(|error| {
            let error = error.to_string();
            NoConnection::Kubeconfig(error.replacen("--kubeconfig", "--hub-kubeconfig-dir", 1))
        })?;
        Ok((connection, hub))
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

/// Checks that the managed cluster serves AppliedManifestWorks.
async fn serves(managed: &HubApi) -> Result<(), NoConnection> {
    let served = managed
        .call(Call::get("/apis/work.open-cluster-management.io/v1"))
        .await;
    let failed = |why: String| Err(NoConnection::NotServed(why));
    match served.and_then(|it| it.json::<serde_json::Value>()) {
        Err(error) => failed(error.to_string()),
        Ok(list) => {
            let resources = list["resources"].as_array();
            let mut resources = resources.into_iter().flatten();
            match resources.any(|it| it["name"] == APPLIED_MANIFEST_WORKS) {
                true => Ok(()),
                false => failed("their CRD is missing".to_owned()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_kubeconfig_that_cannot_be_used_is_waited_for_and_named_with_its_field() {
        berth_certs::install_provider();
        let folder = std::env::temp_dir().join(format!("berth-connection-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut settings = Settings::new(folder.join("kubeconfig"), "test");
        settings.cluster_name = Some("c1".to_owned());
        for (server, token, words) in [
            ("hub:6443", "t", "server: \"hub:6443\" has no scheme"),
            ("https://hub:6443", "t\\n", "token: its value"),
        ] {
            let text = format!(
                "{{current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
                 clusters: [{{name: c, cluster: {{server: '{server}', insecure-skip-tls-verify: true}}}}], \
                 users: [{{name: u, user: {{token: \"{token}\"}}}}]}}"
            );
            std::fs::write(&settings.hub_kubeconfig, text).unwrap();
            let error = Connection::open(&settings).await.unwrap_err().to_string();
            let file = format!(
                "--hub-kubeconfig-dir {}: ",
                settings.hub_kubeconfig.display()
            );
            assert!(error.contains(&file) && error.contains(words), "{error}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
