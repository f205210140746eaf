//! How much there is of what: counted when somebody asks, so that it is true then, and costs nothing when nobody does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{GaugeVec, IntGauge, IntGaugeVec, Opts};

use super::view::Census;
use super::work::{Lane, Work};

/// The gauges of the reconcilers that run, if any do.
#[derive(Clone, Debug)]
pub(super) struct Gauges {
    of: Arc<Mutex<Weak<Work>>>,
    primed: IntGauge,
    clusters: IntGaugeVec,
    leases: IntGaugeVec,
    depth: IntGaugeVec,
    age: GaugeVec,
}

// === impl Gauges ===

impl Gauges {
    pub(super) fn new() -> prometheus::Result<Self> {
        let gauges =
            |name: &str, help: &str, label| IntGaugeVec::new(Opts::new(name, help), &[label]);
        Ok(Self {
            of: Arc::default(),
            primed: IntGauge::new(
                "berth_caches_primed",
                "1: every watch that is needed has told what there is",
            )?,
            clusters: gauges(
                "berth_clusters",
                "ManagedClusters, by state; one counts in several",
                "state",
            )?,
            leases: gauges(
                "berth_leases",
                "Leases of clusters: fresh, or expired",
                "state",
            )?,
            depth: gauges("workqueue_depth", "Keys that are due and wait", "name")?,
            age: GaugeVec::new(
                Opts::new(
                    "workqueue_longest_waiting_seconds",
                    "How long the key has waited that is next",
                ),
                &["name"],
            )?,
        })
    }

    /// From now on these are counted. None: nobody works here, and what another process counts is not counted twice.
    pub(super) fn count(&self, of: Option<&Arc<Work>>) {
        *self.of() = of.map(Arc::downgrade).unwrap_or_default();
    }

    fn of(&self) -> MutexGuard<'_, Weak<Work>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self) {
        let work = self.of().upgrade();
        let Some(work) = work else {
            self.primed.set(0);
            self.clusters.reset();
            self.leases.reset();
            self.depth.reset();
            self.age.reset();
            return;
        };
        let now = crate::engine::now();
        let view = work.view();
        let census = view.census(now);
        self.primed.set(view.is_primed().into());
        drop(view);
        self.set(&census);
        for lane in Lane::ALL {
            let (depth, age) = work.lane(lane).waiting(now.instant);
            set(&self.depth, lane.name(), depth);
            let oldest = self.age.with_label_values(&[lane.name()]);
            oldest.set(age.as_secs_f64());
        }
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

    fn all(&self) -> [&dyn Collector; 5] {
        [
            &self.primed,
            &self.clusters,
            &self.leases,
            &self.depth,
            &self.age,
        ]
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

fn set(gauges: &IntGaugeVec, label: &str, count: usize) {
    gauges
        .with_label_values(&[label])
        .set(i64::try_from(count).unwrap_or(i64::MAX));
}
