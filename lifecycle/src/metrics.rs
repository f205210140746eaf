//! The lifecycle's own metrics, in addition to those of every controller.
//!
//! The values of labels are closed lists: no names of objects or users, no error texts.

use std::sync::Arc;

use berth_reconcile::{Handle, Live, number, on_scrape};
use prometheus::core::Collector;
use prometheus::{IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry};

use super::view::Census;
use super::world::Lifecycle;

/// The metrics of the reconcilers.
#[derive(Clone, Debug)]
pub struct Metrics {
    common: berth_reconcile::Metrics,
    expiries: IntCounter,
    csrs: IntCounterVec,
    live: Live<Handle<Lifecycle>>,
}

// === impl Metrics ===

impl Metrics {
    /// Creates and registers the metrics, and those of every controller.
    ///
    /// # Errors
    /// The registry already has metrics of these names.
    pub fn new(registry: &Registry) -> prometheus::Result<Self> {
        Self::beside(registry, berth_reconcile::Metrics::new(registry)?)
    }

    /// Creates and registers the metrics. `common` are those of every controller of the process.
    ///
    /// # Errors
    /// The registry already has metrics of these names.
    pub fn beside(
        registry: &Registry,
        common: berth_reconcile::Metrics,
    ) -> prometheus::Result<Self> {
        let expiries = IntCounter::new(
            "berth_lease_expirations_total",
            "Clusters that became Unknown because their lease was not renewed",
        )?;
        registry.register(Box::new(expiries.clone()))?;
        let csrs = IntCounterVec::new(
            Opts::new(
                "berth_certificate_requests_total",
                "Decisions about CertificateSigningRequests of agents, by outcome",
            ),
            &["outcome"],
        )?;
        registry.register(Box::new(csrs.clone()))?;
        Ok(Self {
            common,
            expiries,
            csrs,
            live: gauges(registry)?,
        })
    }

    pub(super) fn common(&self) -> berth_reconcile::Metrics {
        self.common.clone()
    }

    pub(super) fn expired(&self) {
        self.expiries.inc();
    }

    pub(super) fn request_decided(&self, outcome: &str) {
        self.csrs.with_label_values(&[outcome]).inc();
    }

    /// Reports the clusters and leases of these reconcilers from now on.
    pub(super) fn begun(&self, work: &Arc<Handle<Lifecycle>>) {
        self.live.begun(Arc::downgrade(work));
    }

    /// Reports no clusters and leases any more: another process may report them now.
    pub(super) fn over(&self) {
        self.live.over();
    }
}

/// Registers the gauges of clusters and leases. Returns the reconcilers that they are of.
fn gauges(registry: &Registry) -> prometheus::Result<Live<Handle<Lifecycle>>> {
    let gauges = |name: &str, help: &str| IntGaugeVec::new(Opts::new(name, help), &["state"]);
    let clusters = gauges(
        "berth_clusters",
        "ManagedClusters, by state; a cluster can be in several states",
    )?;
    let leases = gauges("berth_leases", "Leases of clusters: fresh or expired")?;
    let all: Vec<Box<dyn Collector>> = vec![Box::new(clusters.clone()), Box::new(leases.clone())];
    let live = Live::<Handle<Lifecycle>>::default();
    let of = live.clone();
    on_scrape(registry, all, move || {
        let Some(work) = of.get() else {
            clusters.reset();
            leases.reset();
            return;
        };
        let census = work.world().view().census(berth_reconcile::now());
        set(&clusters, &leases, &census);
    })?;
    Ok(live)
}

fn set(clusters: &IntGaugeVec, leases: &IntGaugeVec, census: &Census) {
    for (gauges, state, count) in [
        (clusters, "accepted", census.accepted),
        (clusters, "not_accepted", census.not_accepted),
        (clusters, "joined", census.joined),
        (clusters, "available", census.available),
        (clusters, "unavailable", census.unavailable),
        (clusters, "unknown", census.unknown),
        (clusters, "deleting", census.deleting),
        (clusters, "unreadable", census.unreadable),
        (leases, "fresh", census.leases_fresh),
        (leases, "expired", census.leases_expired),
    ] {
        gauges.with_label_values(&[state]).set(number(count));
    }
}
