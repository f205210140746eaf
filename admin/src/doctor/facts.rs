//! The facts: the objects that were read, and the reasons why others were not.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use berth_api::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use berth_certs::served::Chain;
use berth_lifecycle_core::facts::CertificateRequest;
use berth_manifests::webhooks::WEBHOOKS;
use berth_manifests::{ShippedWebhook, is_converted};
use berth_policies::installed::{Installed, PolicyKind, State, Stored};
use berth_policies::{Options, UnknownFlag};
use jiff::Timestamp;
use serde_json::Value;

use super::objects::{Deployment, EndpointSlice, Lease, Secret, Service};
use super::rights::Right;
use crate::hub::{Answered, Item, Tried};

/// A value that was read, or the reason why it could not be read.
pub(crate) type Fact<T> = Result<T, Unread>;

/// The reason why a value could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// The missing permission, such as `verb "get" on secrets in namespace "x"`.
    Needs(String),
    /// Another error.
    Why(String),
}

/// The address of a webhook.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Endpoint {
    /// A URL.
    Address { host: String, port: u16 },
    /// A Service.
    Service {
        namespace: String,
        name: String,
        port: i32,
    },
}

/// A Service that a registration names, and what belongs to it.
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
    /// Its webhooks, as they are stored.
    pub(crate) webhooks: Vec<Value>,
}

/// The policies of Berth in the API server.
#[derive(Clone, Debug)]
pub(crate) struct Policies {
    /// The kinds of policies that the API server serves.
    pub(crate) served: Vec<PolicyKind>,
    /// The options for which the policies were printed. `None` if there are no policies.
    pub(crate) options: Option<Options>,
    /// The flags in their annotations cannot be read.
    pub(crate) unknown: Option<UnknownFlag>,
    /// The policies that there are or should be. Empty if there are no policies.
    pub(crate) installed: Vec<Installed>,
}

/// The rights of a service account.
#[derive(Clone, Debug)]
pub(crate) struct Rights {
    /// `system:serviceaccount:NAMESPACE:NAME`
    pub(crate) account: String,
    /// The answer of the hub for each right.
    pub(crate) asked: Vec<(Right, Fact<bool>)>,
}

/// The Lease of a controller.
#[derive(Clone, Debug)]
pub(crate) struct Election {
    pub(crate) lease: Fact<Option<Lease>>,
    /// True if the Lease was renewed between two reads.
    pub(crate) is_renewed: bool,
}

/// A pending CertificateSigningRequest.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) request: CertificateRequest,
    pub(crate) created: Option<Timestamp>,
    /// For a renewal: whether its sender has the right to renew.
    pub(crate) may_renew: Option<Fact<bool>>,
}

/// The add-ons that are in trouble, by name.
pub(crate) type TroubledAddOns = BTreeMap<(String, Trouble), OnClusters>;

/// What is wrong with an add-on, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trouble {
    /// Its manifests, configs, hosting cluster, permissions or tokens.
    Failed,
    /// It is reported as not available.
    Unavailable,
}

/// The clusters on which an add-on is in a state.
#[derive(Clone, Debug, Default)]
pub(crate) struct OnClusters {
    pub(crate) count: usize,
    /// The first of them: as many as are shown.
    pub(crate) first: Vec<String>,
}

/// The facts that the checks use.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// The namespace of the hub's components.
    pub(crate) namespace: String,
    pub(crate) answered: Answered,
    /// By name.
    pub(crate) crds: BTreeMap<String, Fact<Option<Value>>>,
    pub(crate) mutating: Fact<Vec<Registration>>,
    pub(crate) validating: Fact<Vec<Registration>>,
    pub(crate) policies: Fact<Policies>,
    /// The Services that the registrations name, by namespace and name.
    pub(crate) called: BTreeMap<(String, String), Called>,
    /// The certificates at the URLs that the registrations name.
    pub(crate) served: BTreeMap<Endpoint, Fact<Chain>>,
    /// Dry runs were sent.
    pub(crate) tries: bool,
    /// The results of the dry runs, by the path of the webhook.
    pub(crate) tried: HashMap<&'static str, Fact<Tried>>,
    pub(crate) deployments: Fact<Vec<Deployment>>,
    /// None: the account of the gate is unknown.
    pub(crate) gate_rights: Fact<Option<Rights>>,
    /// None: the account of the controller is unknown, or another component grants its rights.
    pub(crate) controller_rights: Fact<Option<Rights>>,
    /// The two ClusterRoles that all agents share: for registration, and for work.
    pub(crate) agent_roles: [Fact<Option<Value>>; 2],
    pub(crate) election: Election,
    /// The election of the placement controller.
    pub(crate) placement_election: Election,
    /// The election of the controller of ManifestWorkReplicaSets.
    pub(crate) work_election: Election,
    pub(crate) addon_election: Election,
    pub(crate) clusters: Fact<Vec<Item<ManagedCluster>>>,
    pub(crate) sets: Fact<Vec<Item<ManagedClusterSet>>>,
    pub(crate) bindings: Fact<Vec<Item<ManagedClusterSetBinding>>>,
    pub(crate) requests: Fact<Vec<Pending>>,
    pub(crate) addons: Fact<TroubledAddOns>,
    /// The ClusterManagers and Klusterlets, each with its kind.
    pub(crate) operated: Fact<Vec<(&'static str, Value)>>,
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
    /// Returns the time of this machine's clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.answered.ours.1
    }

    /// Returns the registration of one of the gate's webhooks.
    pub(crate) fn registration(&self, webhook: &ShippedWebhook) -> Fact<Option<&Registration>> {
        let all = if webhook.mutates {
            &self.mutating
        } else {
            &self.validating
        };
        let all = all.as_ref().map_err(Clone::clone)?;
        Ok(all.iter().find(|it| it.name == webhook.name))
    }

    /// Returns the existing registrations of the gate.
    pub(crate) fn registered(
        &self,
    ) -> impl Iterator<Item = (&'static ShippedWebhook, &Registration)> {
        WEBHOOKS
            .iter()
            .filter_map(|webhook| Some((*webhook, self.registration(webhook).ok()??)))
    }

    /// Returns the webhooks that convert objects, with the names of their CustomResourceDefinitions.
    pub(crate) fn conversions(&self) -> impl Iterator<Item = (&str, &Value)> {
        conversions(&self.crds)
    }

    /// Returns true if policies decide what a webhook decides, except what policies cannot decide. A policy that differs from
    /// the printed one counts: another check reports it.
    pub(crate) fn are_policies_enough(&self, webhook: &ShippedWebhook) -> bool {
        let decides = |row: &Installed| matches!(row.state, State::Enforced | State::Changed);
        self.have_policies_for(webhook) && self.policies_for(webhook).all(decides)
    }

    /// Returns true if there should be policies that decide what a webhook decides.
    pub(crate) fn have_policies_for(&self, webhook: &ShippedWebhook) -> bool {
        self.policies_for(webhook).next().is_some()
    }

    /// Returns true if there should be policies.
    pub(crate) fn have_policies(&self) -> bool {
        self.policies.iter().any(|it| !it.installed.is_empty())
    }

    fn policies_for(&self, webhook: &ShippedWebhook) -> impl Iterator<Item = &Installed> {
        let all = self.policies.iter().flat_map(|it| &it.installed);
        all.filter(|row| is_about(row, webhook))
    }

    /// Returns true if no write depends on the gate: policies decide, and every registration of the gate fails open.
    pub(crate) fn is_gate_optional(&self) -> bool {
        let mut registered = self.registered().peekable();
        let fails_open = |it: &Registration| {
            let mut webhooks = it.webhooks.iter();
            webhooks.all(|webhook| webhook["failurePolicy"] == "Ignore")
        };
        registered.peek().is_some()
            && registered.all(|(webhook, it)| fails_open(it) && self.are_policies_enough(webhook))
    }

    /// Returns what happens if the gate cannot be called, as a predicate of the API server.
    pub(crate) fn without_gate(&self) -> &'static str {
        match self.is_gate_optional() {
            true => "does not have checked what policies do not cover",
            false => "refuses all writes that the registrations cover",
        }
    }

    /// Returns the Deployment of this name, unless it has 0 replicas.
    pub(crate) fn deployment(&self, name: &str) -> Option<&Deployment> {
        let of_name = |it: &&Deployment| it.metadata.name.as_deref() == Some(name);
        let deployment = self.deployments.as_ref().ok()?.iter().find(of_name)?;
        (deployment.spec.replicas != Some(0)).then_some(deployment)
    }
}

/// The webhooks that convert objects, with the names of these CustomResourceDefinitions.
pub(crate) fn conversions(
    crds: &BTreeMap<String, Fact<Option<Value>>>,
) -> impl Iterator<Item = (&str, &Value)> {
    let stored = crds.iter().filter_map(|(name, crd)| {
        let crd = crd.as_ref().ok()?.as_ref()?;
        Some((name.as_str(), crd)).filter(|_| is_converted(crd))
    });
    stored.map(|(name, crd)| (name, &crd["spec"]["conversion"]["webhook"]))
}

// === impl Policies ===

impl Policies {
    /// Compares the stored policies with those that this version prints.
    pub(crate) fn of(served: Vec<PolicyKind>, stored: &Stored) -> Self {
        let (options, unknown) = match stored.options() {
            _ if stored.is_empty() => (None, None),
            Some(Ok(options)) => (Some(options), None),
            Some(Err(unknown)) => (Some(Options::default()), Some(unknown)),
            None => (Some(Options::default()), None),
        };
        let installed = options.as_ref().map(|options| stored.compare(options));
        Self {
            served,
            installed: installed.unwrap_or_default(),
            options,
            unknown,
        }
    }
}

/// Returns true if a policy decides part of what a webhook decides. Warnings of policies are not decisions.
pub(crate) fn is_about(row: &Installed, webhook: &ShippedWebhook) -> bool {
    let short = row.policy.short();
    let (about, resource) = short.rsplit_once('.').unwrap_or(("", short));
    let mutates = row.policy.kind == PolicyKind::Mutating;
    resource == webhook.resource && mutates == webhook.mutates && about != "warnings"
}

// === impl Registration ===

impl Registration {
    /// Reads a webhook configuration.
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

/// Returns the address of a webhook, or None if its clientConfig is invalid.
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

/// Returns the path of a webhook.
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
    /// Returns the name that the certificate must have.
    pub(crate) fn server_name(&self) -> String {
        match self {
            Self::Address { host, .. } => host.clone(),
            Self::Service {
                namespace, name, ..
            } => format!("{name}.{namespace}.svc"),
        }
    }
}
