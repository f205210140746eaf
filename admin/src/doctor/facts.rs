//! What was read, and what could not be.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use berth_api::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use berth_certs::served::Chain;
use berth_lifecycle_core::facts::CertificateRequest;
use berth_manifests::ShippedWebhook;
use berth_manifests::webhooks::WEBHOOKS;
use jiff::Timestamp;
use serde_json::Value;

use super::objects::{Deployment, EndpointSlice, Lease, Secret, Service};
use super::rights::Right;
use crate::hub::{Answered, Item, Tried};

/// What was read; or why it could not be.
pub(crate) type Fact<T> = Result<T, Unread>;

/// Why something could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// The permission that is missing, as `verb "get" on secrets in namespace "x"`.
    Needs(String),
    /// Anything else.
    Why(String),
}

/// Where a webhook is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Endpoint {
    /// By a URL.
    Address { host: String, port: u16 },
    /// By a Service.
    Service {
        namespace: String,
        name: String,
        port: i32,
    },
}

/// Of a Service that is called.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    pub(crate) service: Fact<Option<Service>>,
    pub(crate) slices: Fact<Vec<EndpointSlice>>,
    /// The Secret with the serving certificate.
    pub(crate) secret: Fact<Option<Secret>>,
    pub(crate) secret_name: String,
}

/// A registration, mutating or validating.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    /// The webhooks in it, as they are stored.
    pub(crate) webhooks: Vec<Value>,
}

/// What somebody may do who works for the hub.
#[derive(Clone, Debug)]
pub(crate) struct Rights {
    /// `system:serviceaccount:NAMESPACE:NAME`
    pub(crate) account: String,
    pub(crate) asked: Vec<(Right, Fact<bool>)>,
}

/// A CertificateSigningRequest that waits.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) request: CertificateRequest,
    pub(crate) created: Option<Timestamp>,
    /// Whether its sender may renew a certificate, where that matters.
    pub(crate) may_renew: Option<Fact<bool>>,
}

/// All that the checks go by.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Where the hub's components are.
    pub(crate) namespace: String,
    pub(crate) answered: Answered,
    /// By name.
    pub(crate) crds: BTreeMap<String, Fact<Option<Value>>>,
    pub(crate) mutating: Fact<Vec<Registration>>,
    pub(crate) validating: Fact<Vec<Registration>>,
    /// What the Services that the registrations name are like.
    pub(crate) called: BTreeMap<(String, String), Called>,
    /// What is served at the URLs that the registrations name.
    pub(crate) served: BTreeMap<Endpoint, Fact<Chain>>,
    /// What became of writes that must be refused, or filled in; by the path of the webhook.
    pub(crate) tried: HashMap<&'static str, Fact<Tried>>,
    pub(crate) deployments: Fact<Vec<Deployment>>,
    /// None: as whom it runs is not known.
    pub(crate) gate_rights: Fact<Option<Rights>>,
    /// None: the same, or somebody else grants them.
    pub(crate) controller_rights: Fact<Option<Rights>>,
    /// The two ClusterRoles that all agents share: for registering, and for working.
    pub(crate) agent_roles: [Fact<Option<Value>>; 2],
    pub(crate) lease: Fact<Option<Lease>>,
    /// Somebody renewed the Lease while we looked.
    pub(crate) lease_renewed: bool,
    pub(crate) clusters: Fact<Vec<Item<ManagedCluster>>>,
    pub(crate) sets: Fact<Vec<Item<ManagedClusterSet>>>,
    pub(crate) bindings: Fact<Vec<Item<ManagedClusterSetBinding>>>,
    pub(crate) requests: Fact<Vec<Pending>>,
}

// === impl Unread ===

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Needs(permission) => write!(f, "you need {permission}"),
            Self::Why(why) => f.write_str(why),
        }
    }
}

// === impl Facts ===

impl Facts {
    /// What time it is, by our clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.answered.ours.1
    }

    /// The registration of one of the gate's webhooks.
    pub(crate) fn registration(&self, webhook: &ShippedWebhook) -> Fact<Option<&Registration>> {
        let all = if webhook.mutates {
            &self.mutating
        } else {
            &self.validating
        };
        let all = all.as_ref().map_err(Clone::clone)?;
        Ok(all.iter().find(|it| it.name == webhook.name))
    }

    /// The gate's registrations that are there.
    pub(crate) fn registered(
        &self,
    ) -> impl Iterator<Item = (&'static ShippedWebhook, &Registration)> {
        WEBHOOKS
            .iter()
            .filter_map(|webhook| Some((*webhook, self.registration(webhook).ok()??)))
    }

    /// The Deployment of this name, if it is there and to have pods.
    pub(crate) fn deployment(&self, name: &str) -> Option<&Deployment> {
        let of_name = |it: &&Deployment| it.metadata.name.as_deref() == Some(name);
        let deployment = self.deployments.as_ref().ok()?.iter().find(of_name)?;
        (deployment.spec.replicas != Some(0)).then_some(deployment)
    }
}

// === impl Registration ===

impl Registration {
    /// From an object as the hub has it.
    pub(crate) fn of(kind: &'static str, object: &Value) -> Self {
        Self {
            kind,
            name: object["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            webhooks: object["webhooks"].as_array().cloned().unwrap_or_default(),
        }
    }
}

/// Where a webhook is called; None: that cannot be told.
pub(crate) fn endpoint(webhook: &Value) -> Option<Endpoint> {
    let config = &webhook["clientConfig"];
    if let Some(url) = config["url"].as_str() {
        let url: http::Uri = url.parse().ok()?;
        let host = url.host()?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        return Some(Endpoint::Address {
            host: host.to_owned(),
            port: url.port_u16().unwrap_or(443),
        });
    }
    let service = &config["service"];
    Some(Endpoint::Service {
        namespace: service["namespace"].as_str()?.to_owned(),
        name: service["name"].as_str()?.to_owned(),
        port: service["port"]
            .as_i64()
            .and_then(|port| i32::try_from(port).ok())
            .unwrap_or(443),
    })
}

/// The path that a webhook is called under.
pub(crate) fn path(webhook: &Value) -> String {
    let config = &webhook["clientConfig"];
    match config["url"].as_str() {
        Some(url) => url
            .parse::<http::Uri>()
            .map(|url| url.path().to_owned())
            .unwrap_or_default(),
        None => config["service"]["path"].as_str().unwrap_or("/").to_owned(),
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { host, port } => write!(f, "https://{host}:{port}"),
            Self::Service {
                namespace,
                name,
                port,
            } => write!(f, "{name}.{namespace}.svc:{port}"),
        }
    }
}

impl Endpoint {
    /// The name that its certificate must bear.
    pub(crate) fn server_name(&self) -> String {
        match self {
            Self::Address { host, .. } => host.clone(),
            Self::Service {
                namespace, name, ..
            } => format!("{name}.{namespace}.svc"),
        }
    }
}
