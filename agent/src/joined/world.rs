//! The facts of the report, and what follows from them.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use berth_agent_core::availability::{Availability, Health};
use berth_agent_core::claims::{self, ClaimSettings, Claims};
use berth_agent_core::cluster::Cluster;
use berth_agent_core::identity::Identity;
use berth_agent_core::namespaces::{self, Labelled};
use berth_agent_core::registered::HubStanding;
use berth_agent_core::resources::{self, Node, Resources};
use berth_agent_core::status;
use berth_api::conditions::{self, FALSE, TRUE, UNKNOWN};
use berth_api::plan::{Action, Plan, Target, Write, WriteFailure};
use berth_api::{GroupVersionResource, Now, groups};
use berth_certs::pem::sha256;
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Lane, Meta, Report, Wake, WatchError, World};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use tokio::sync::watch;

use super::facts::{Claim, Fact, Kind};
use super::lease::Pace;
use super::left_out::LeftOut;
use super::{HUB, MANAGED, work};
use crate::registration::{Connection, Rotated};
use crate::settings::Settings;
use crate::standing::Standing;

/// The name of the report's reconciler, in metrics and logs.
pub(crate) const STATUS: &str = "status";

/// The condition that tells of the last renewal of the certificate.
const ROTATED: &str = "ClusterCertificateRotated";

/// How long the report waits after a write, so that what changes at the same time is written together.
const PAUSE: Duration = Duration::from_secs(1);

/// What the agent works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// The status of the ManagedCluster.
    Status,
    /// The labels of namespaces.
    Namespaces,
}

/// The facts of the report.
pub(crate) struct ClusterReport {
    identity: Identity,
    label: String,
    claim_settings: ClaimSettings,
    reports_claims: bool,
    standing: Standing,
    /// `None` while the Lease is not to be renewed.
    lease: watch::Sender<Option<Pace>>,

    cluster: Option<Cluster>,
    nodes: HashMap<Box<str>, Node>,
    claims: BTreeMap<Box<str>, Claim>,
    properties: BTreeMap<Box<str>, Claim>,
    labelled: Labelled,
    /// Kinds whose objects are known.
    known: Vec<Kind>,
    /// Why namespaces could not be written.
    failures: BTreeMap<String, String>,
    health: Option<Health>,
    availability: Availability,
    version: Option<String>,
    rotated: Option<Condition>,
    /// Another agent renews the Lease.
    is_one_of_two: bool,
    /// The hub says that the Lease has not been renewed, and it has not been renewed since then.
    is_silent: bool,

    /// Sums and claims, made of the facts before a decision. `None`: the facts have changed.
    resources: Option<Resources>,
    chosen: Option<Claims>,
    left_out: LeftOut,
}

// === impl ClusterReport ===

impl ClusterReport {
    pub(crate) fn new(
        settings: &Settings,
        connection: &Connection,
        standing: Standing,
    ) -> (Self, watch::Receiver<Option<Pace>>) {
        let (lease, pace) = watch::channel(None);
        let hashed = namespaces::hashed_part(&connection.url);
        let report = Self {
            identity: connection.identity.clone(),
            label: namespaces::label(&sha256(hashed.as_bytes())),
            claim_settings: settings.claims.clone(),
            reports_claims: settings.cluster_claims || settings.cluster_properties,
            standing,
            lease,
            cluster: None,
            nodes: HashMap::new(),
            claims: BTreeMap::new(),
            properties: BTreeMap::new(),
            labelled: Labelled::new(),
            known: Vec::new(),
            failures: BTreeMap::new(),
            health: None,
            availability: Availability::default(),
            version: None,
            rotated: None,
            is_one_of_two: false,
            is_silent: false,
            resources: None,
            chosen: None,
            left_out: LeftOut::default(),
        };
        (report, pace)
    }

    /// The key of the label of managed namespaces.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// The ManagedCluster.
    pub(crate) fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_ref()
    }

    /// The name of the ManagedCluster.
    pub(crate) fn name(&self) -> &str {
        &self.identity.cluster
    }

    /// Notes a probe. Returns how soon the next one is due, if that is sooner than its period.
    pub(crate) fn probed(
        &mut self,
        health: Health,
        version: Option<String>,
        now: Now,
        wakes: &mut Wake<Self>,
    ) -> Option<Duration> {
        let reported = self
            .cluster
            .as_ref()
            .and_then(|it| it.condition(conditions::cluster::AVAILABLE));
        let judgement = self.availability.judge(&health, reported, now);
        if version.is_some() {
            self.version = version;
        }
        self.health = Some(health);
        wakes.wake(Key::Status);
        judgement.again
    }

    /// Notes the result of a renewal of the certificate.
    pub(crate) fn rotates(&mut self, rotated: &Rotated, now: Now, wakes: &mut Wake<Self>) {
        let (status, reason) = match rotated.succeeded {
            true => (TRUE, "ClientCertificateUpdated"),
            false => (FALSE, "ClientCertificateUpdateFailed"),
        };
        self.rotated = Some(conditions::new(
            ROTATED,
            (status, reason),
            rotated.message.clone(),
            now.wall,
        ));
        wakes.wake(Key::Status);
    }

    /// Notes a renewal of the Lease, and whether another agent renews it, too.
    pub(crate) fn renewed(&mut self, is_one_of_two: bool, wakes: &mut Wake<Self>) {
        if is_one_of_two != self.is_one_of_two || self.is_silent {
            self.is_one_of_two = is_one_of_two;
            self.is_silent = false;
            self.judge_hub();
            wakes.wake(Key::Status);
        }
    }

    /// Notes why a namespace could not be written, and which could.
    pub(crate) fn labels_failed(&mut self, failures: &[&WriteFailure], wakes: &mut Wake<Self>) {
        let failures = failures
            .iter()
            .map(|it| (it.target.name.clone(), it.message.clone()));
        self.failures = failures.collect();
        wakes.wake(Key::Status);
    }

    /// Makes sums and claims of what has changed. What is left out is logged once.
    pub(crate) fn refresh(&mut self) {
        if self.resources.is_none() {
            let resources = resources::sum(self.nodes.values());
            self.left_out.amounts(&resources.unreadable);
            self.resources = Some(resources);
        }
        if self.chosen.is_none() {
            let chosen = self.choose();
            self.left_out.claims(&chosen);
            self.chosen = Some(chosen);
        }
    }

    fn choose(&self) -> Claims {
        fn listed(claims: &BTreeMap<Box<str>, Claim>) -> impl Iterator<Item = claims::Claim<'_>> {
            claims.iter().map(|(name, claim)| claims::Claim {
                name,
                value: &claim.value,
                is_spoke_only: claim.is_spoke_only,
            })
        }
        claims::choose(
            listed(&self.properties),
            listed(&self.claims),
            &self.claim_settings,
        )
    }

    fn knows(&self, kind: Kind) -> bool {
        self.known.contains(&kind)
    }

    /// Tells the rest of the agent how the hub sees the cluster.
    fn judge_hub(&self) {
        let standing = match HubStanding::of(self.cluster.as_ref()) {
            HubStanding::Managed if self.is_one_of_two => HubStanding::TwoAgents,
            standing => standing,
        };
        self.standing.hub(standing);
        let renews = self.cluster.as_ref().filter(|it| it.is_set_up());
        let pace = renews.map(|it| Pace {
            period: berth_agent_core::lease::period(it.lease_duration_seconds),
            is_silent: self.is_silent,
        });
        self.lease.send_if_modified(|it| {
            let before = std::mem::replace(it, pace);
            // After the renewal that the hub waited for, the next one has time.
            let period = |pace: Option<Pace>| pace.map(|it| it.period);
            before != pace
                && (pace.is_some_and(|it| it.is_silent) || period(before) != period(pace))
        });
    }

    /// The hub says that the Lease was not renewed for long.
    fn is_unknown(&self) -> bool {
        let cluster = self.cluster.as_ref();
        cluster.is_some_and(|it| it.has(conditions::cluster::AVAILABLE, UNKNOWN))
    }

    fn status(&self, now: Now) -> Option<Write> {
        // A report before the renewal would be taken back: the hub would see an old Lease.
        let may_report = !self.is_one_of_two && !self.is_silent;
        let cluster = self.cluster.as_ref().filter(|_| may_report)?;
        let health = self.health.as_ref()?;
        let mut availability = self.availability;
        let reported = cluster.condition(conditions::cluster::AVAILABLE);
        let knows_claims =
            self.reports_claims && (self.knows(Kind::Claim) || self.knows(Kind::Property));
        let report = status::Report {
            available: availability.judge(health, reported, now).condition,
            works: *health == Health::Ok,
            version: self.version.as_deref(),
            resources: self.resources.as_ref().filter(|_| self.knows(Kind::Node)),
            claims: (self.chosen.as_ref())
                .filter(|_| knows_claims)
                .map(|it| it.reported.clone()),
            managed_namespaces: self
                .knows(Kind::Namespace)
                .then(|| namespaces::report(cluster, &self.labelled, &self.failures, now)),
            rotated: self.rotated.clone(),
        };
        Some(Write {
            target: Target {
                resource: GroupVersionResource::new(
                    groups::CLUSTER,
                    "v1",
                    groups::MANAGED_CLUSTERS,
                ),
                namespace: None,
                name: self.identity.cluster.clone(),
            },
            action: Action::Patch {
                subresource: Some("status"),
                body: status::patch(cluster, report, now)?,
            },
            reconciler: STATUS,
            events: Vec::new(),
        })
    }
}

impl World for ClusterReport {
    type Kind = Kind;
    type Key = Key;
    type Fact = Fact;

    const LANES: &'static [Lane] = &[Lane::new(STATUS, 1), Lane::new(namespaces::NAME, 1)];

    fn lane(key: &Key) -> usize {
        match key {
            Key::Status => 0,
            Key::Namespaces => 1,
        }
    }

    fn apply(&mut self, kind: Kind, object: &Meta, fact: Fact, _: Report, wakes: &mut Wake<Self>) {
        let name = object.name.as_str();
        match fact {
            Fact::Cluster(cluster) => {
                let was_unknown = self.is_unknown();
                self.cluster = Some(*cluster);
                if self.is_unknown() && !was_unknown {
                    self.is_silent = true;
                }
                self.judge_hub();
                wakes.wake(Key::Namespaces);
            }
            Fact::Node(node) => {
                // Kubelets report every few minutes that nothing has changed.
                if self.nodes.get(name) == Some(&node) {
                    return;
                }
                self.nodes.insert(name.into(), node);
                self.resources = None;
            }
            Fact::Namespace(value) => {
                self.labelled.insert(name.to_owned(), value);
                wakes.wake(Key::Namespaces);
            }
            Fact::Claim(claim) => {
                let claims = match kind {
                    Kind::Property => &mut self.properties,
                    _ => &mut self.claims,
                };
                if claims.get(name) == Some(&claim) {
                    return;
                }
                claims.insert(name.into(), claim);
                self.chosen = None;
            }
        }
        wakes.wake(Key::Status);
    }

    fn gone(&mut self, kind: Kind, _: &str, name: &str, wakes: &mut Wake<Self>) {
        match kind {
            Kind::Cluster => {
                self.cluster = None;
                self.judge_hub();
            }
            Kind::Node => {
                self.nodes.remove(name);
                self.resources = None;
            }
            Kind::Namespace => {
                self.labelled.remove(name);
                wakes.wake(Key::Namespaces);
            }
            Kind::Claim => {
                self.claims.remove(name);
                self.chosen = None;
            }
            Kind::Property => {
                self.properties.remove(name);
                self.chosen = None;
            }
        }
        wakes.wake(Key::Status);
    }

    fn all(&self) -> Vec<Key> {
        vec![Key::Status, Key::Namespaces]
    }

    fn listed(&mut self, kind: Kind, _: Now, wakes: &mut Wake<Self>) {
        if kind == Kind::Cluster {
            // One that does not exist is not applied.
            self.judge_hub();
        }
        if !self.knows(kind) {
            self.known.push(kind);
            wakes.extend(self.all());
        }
    }

    fn lost_sight(&mut self, kind: Kind, error: &WatchError, _: Now, _: &mut Wake<Self>) {
        if kind == Kind::Cluster {
            self.standing
                .hub(HubStanding::of_failure(error.code, &error.message));
        }
    }

    fn regained_sight(&mut self, kind: Kind, _: Now, _: &mut Wake<Self>) {
        if kind == Kind::Cluster {
            self.judge_hub();
        }
    }

    fn pause(key: &Key) -> Duration {
        match key {
            Key::Status => PAUSE,
            Key::Namespaces => Duration::ZERO,
        }
    }

    fn server(write: &Write) -> usize {
        match write.reconciler {
            STATUS => HUB,
            _ => MANAGED,
        }
    }

    fn decide(&self, key: &Key, now: Now) -> Plan {
        match key {
            Key::Status => self.status(now).map_or_else(Plan::default, Plan::from),
            Key::Namespaces => match &self.cluster {
                Some(cluster) if self.knows(Kind::Namespace) => Plan {
                    writes: namespaces::writes(cluster, &self.labelled, &self.label),
                    again: None,
                },
                _ => Plan::default(),
            },
        }
    }

    async fn reconcile(on: &Handle<Self>, key: &Key) -> Next {
        match key {
            Key::Status => work::status(on).await,
            Key::Namespaces => work::namespaces(on).await,
        }
    }
}
