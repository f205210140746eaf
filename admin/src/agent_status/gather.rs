//! Reads the facts.

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_agent_core::cluster::Cluster;
use berth_agent_core::held::{self, SecretData};
use berth_api::ManagedCluster;
use berth_api::cluster::CLUSTER_LEASE;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use serde_json::{Value, json};

use crate::failure::CommandError;
use crate::hub::{Filter, HubConnection};
use crate::join::objects::BOOTSTRAP_SECRET;
use crate::join::running::why_agent_does_not_run;
use crate::work::applied::{AppliedWork, applied_works};

/// What is known.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) namespace: String,
    /// Why the agent does not run. None: it runs, or it is not of this installation.
    pub(super) stopped: Option<String>,
    /// There is a bootstrap kubeconfig.
    pub(super) has_bootstrap: bool,
    /// The hub Secret, if it exists.
    pub(super) secret: Option<SecretData>,
    /// The last warning of the agent.
    pub(super) warning: Option<Warning>,
    /// What the hub says to the agent's certificate. None: there is no certificate.
    pub(super) hub: Option<HubView>,
    /// What is applied to this cluster.
    pub(super) works: Result<Vec<AppliedWork>, CommandError>,
}

/// The last warning of the agent, from an Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Warning {
    pub(super) reason: String,
    pub(super) note: String,
    pub(super) at: Option<Timestamp>,
}

/// What the hub says.
#[derive(Debug)]
pub(super) struct HubView {
    pub(super) server: String,
    /// None: the hub says that it does not exist.
    pub(super) cluster: Result<Option<Cluster>, CommandError>,
    /// When the Lease was last renewed; None if that cannot be read.
    pub(super) renewed: Option<Timestamp>,
}

/// Reads the facts.
///
/// # Errors
/// The managed cluster cannot be used, or does not let the user read the Secrets.
pub(super) async fn gather(
    cluster: &HubConnection,
    namespace: &str,
    hub_secret: &str,
) -> Result<Facts, CommandError> {
    let secret = cluster
        .get_value::<Secret>(Some(namespace), hub_secret)
        .await?;
    let secret = secret.as_ref().map(data);
    let bootstrap = cluster
        .get_value::<Secret>(Some(namespace), BOOTSTRAP_SECRET)
        .await?;
    let (stopped, warning, works, hub) = futures::join!(
        why_agent_does_not_run(cluster, namespace),
        last_warning(cluster, namespace),
        applied_works(cluster),
        async {
            match &secret {
                Some(data) => view(data, hub_secret).await,
                None => None,
            }
        }
    );
    Ok(Facts {
        namespace: namespace.to_owned(),
        stopped,
        has_bootstrap: bootstrap.is_some(),
        secret,
        warning,
        hub,
        works,
    })
}

/// `data` of a Secret, decoded. Values that are not base64 count as empty.
fn data(secret: &Value) -> SecretData {
    let decoded = |(key, value): (&String, &Value)| {
        let value = BASE64_STANDARD.decode(value.as_str().unwrap_or_default());
        (key.clone(), value.unwrap_or_default())
    };
    let data = secret["data"].as_object();
    data.into_iter().flatten().map(decoded).collect()
}

/// The last Event of type Warning about the agent.
async fn last_warning(cluster: &HubConnection, namespace: &str) -> Option<Warning> {
    let list = cluster
        .list::<Event>(Some(namespace), &Filter::default())
        .await
        .ok()?;
    let time = |it: &Value| it["eventTime"].as_str().and_then(|it| it.parse().ok());
    let events = list
        .iter()
        .map(|it| &it.value)
        .filter(|it| it["type"] == "Warning");
    let own = events.filter(|it| it["reportingController"] == "klusterlet-agent");
    let last = own.max_by_key(|it| time(it))?;
    let text = |key: &str| last[key].as_str().unwrap_or_default().to_owned();
    Some(Warning {
        reason: text("reason"),
        note: text("note"),
        at: time(last),
    })
}

/// What the hub says to this certificate.
async fn view(data: &SecretData, name: &str) -> Option<HubView> {
    let cluster = held::name(data, held::CLUSTER_NAME)?;
    let kubeconfig = inline(data)?;
    let server = kubeconfig["clusters"][0]["cluster"]["server"].as_str();
    let server = server.unwrap_or_default().to_owned();
    let hub = match HubConnection::of_kubeconfig(&kubeconfig, name, None).await {
        Ok(hub) => hub,
        Err(error) => {
            return Some(HubView {
                server,
                cluster: Err(error),
                renewed: None,
            });
        }
    };
    let (found, lease) = futures::join!(
        hub.get_value::<ManagedCluster>(None, cluster),
        hub.get_value::<Lease>(Some(cluster), CLUSTER_LEASE),
    );
    let renewed = lease.ok().flatten();
    let renewed = renewed.and_then(|it| it["spec"]["renewTime"].as_str()?.parse().ok());
    Some(HubView {
        server,
        cluster: found.map(|it| it.as_ref().map(Cluster::read)),
        renewed,
    })
}

/// The agent's kubeconfig with the certificate and its key in it.
fn inline(data: &SecretData) -> Option<Value> {
    let text = str::from_utf8(data.get(held::KUBECONFIG)?).ok()?;
    let mut kubeconfig: Value = serde_saphyr::from_str(text).ok()?;
    let encoded = |key| Some(BASE64_STANDARD.encode(data.get(key)?));
    let user = json!({
        "client-certificate-data": encoded(held::CERTIFICATE)?,
        "client-key-data": encoded(held::PRIVATE_KEY)?,
    });
    kubeconfig["users"].get_mut(0)?["user"] = user;
    Some(kubeconfig)
}
