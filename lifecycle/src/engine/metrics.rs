//! The lifecycle's own metrics, in addition to those of every controller.
//!
//! The values of labels are closed lists: no names of objects or users, no error texts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use berth_reconcile::Handle;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry};

use super::view::Census;
use super::world::Lifecycle;

/// The metrics of the reconcilers.
#[derive(Clone, Debug)]
pub struct Metrics {
    common: berth_reconcile::Metrics,
    expiries: IntCounter,
    csrs: IntCounterVec,
    gauges: Gauges,
}

/// Gauges of the running reconcilers, computed on scrape.
#[derive(Clone)]
struct Gauges {
    of: Arc<Mutex<Weak<Handle<Lifecycle>>>>,
    clusters: IntGaugeVec,
    leases: IntGaugeVec,
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
        let gauges = Gauges::new()?;
        registry.register(Box::new(gauges.clone()))?;
        Ok(Self {
            common,
            expiries,
            csrs,
            gauges,
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
        *self.gauges.of() = Arc::downgrade(work);
    }

    /// Reports no clusters and leases any more: another process may report them now.
    pub(super) fn over(&self) {
        *self.gauges.of() = Weak::new();
    }
}

// === impl Gauges ===

impl Gauges {
    fn new() -> prometheus::Result<Self> {
        let gauges = |name: &str, help: &str| IntGaugeVec::new(Opts::new(name, help), &["state"]);
        Ok(Self {
            of: Arc::default(),
            clusters: gauges(
                "berth_clusters",
                "ManagedClusters, by state; a cluster can be in several states",
            )?,
            leases: gauges("berth_leases", "Leases of clusters: fresh or expired")?,
        })
    }

    fn of(&self) -> MutexGuard<'_, Weak<Handle<Lifecycle>>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self) {
        let work = self.of().upgrade();
        let Some(work) = work else {
            self.clusters.reset();
            self.leases.reset();
            return;
        };
        let census = work.world().view().census(berth_reconcile::now());
        self.set(&census);
    }

    fn set(&self, census: &Census) {
        for (state, count) in [
            ("accepted", census.accepted),
            ("not_accepted", census.not_accepted),
            ("joined", census.joined),
            ("available", census.available),
            ("unavailable", census.unavailable),
            ("unknown", census.unknown),
            ("deleting", census.deleting),
            ("unreadable", census.unreadable),
        ] {
            set(&self.clusters, state, count);
        }
        set(&self.leases, "fresh", census.leases_fresh);
        set(&self.leases, "expired", census.leases_expired);
    }

    fn all(&self) -> [&dyn Collector; 2] {
        [&self.clusters, &self.leases]
    }
}

impl Collector for Gauges {
    fn desc(&self) -> Vec<&Desc> {
        self.all().into_iter().flat_map(Collector::desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.update();
        let all = self.all().into_iter();
        all.flat_map(Collector::collect).collect()
    }
}

impl std::fmt::Debug for Gauges {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Gauges").finish_non_exhaustive()
    }
}

fn set(gauges: &IntGaugeVec, label: &str, count: usize) {
    gauges
        .with_label_values(&[label])
        .set(i64::try_from(count).unwrap_or(i64::MAX));
}
