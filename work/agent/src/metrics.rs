//! The metrics of the work agent, in addition to those of every controller. The values of labels are closed lists.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use berth_reconcile::Handle;
use berth_work_agent_core::status::Counts;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounter, IntGauge, IntGaugeVec, Opts, Registry};

use super::world::Agent;

/// The metrics of the work agent.
#[derive(Clone, Debug)]
pub struct Metrics {
    common: berth_reconcile::Metrics,
    repaired: IntCounter,
    fought: IntCounter,
    gauges: Gauges,
}

/// Gauges of the running agent, computed on scrape.
#[derive(Clone)]
struct Gauges {
    of: Arc<Mutex<Weak<Handle<Agent>>>>,
    works: IntGauge,
    objects: IntGaugeVec,
    rows: IntGaugeVec,
    held: IntGauge,
    refused: IntGauge,
}

// === impl Metrics ===

impl Metrics {
    /// Registers the metrics of the work agent. `common` are those of every controller of the process.
    ///
    /// # Errors
    /// The registry already has metrics of these names.
    pub fn beside(
        registry: &Registry,
        common: berth_reconcile::Metrics,
    ) -> prometheus::Result<Self> {
        let metrics = Self {
            common,
            repaired: IntCounter::new(
                "berth_work_repairs_total",
                "Objects that another client had changed or deleted, put back",
            )?,
            fought: IntCounter::new(
                "berth_work_fights_total",
                "Repairs of a difference that had been repaired shortly before: another client changes it again and again",
            )?,
            gauges: Gauges::new()?,
        };
        registry.register(Box::new(metrics.repaired.clone()))?;
        registry.register(Box::new(metrics.fought.clone()))?;
        registry.register(Box::new(metrics.gauges.clone()))?;
        Ok(metrics)
    }

    pub(crate) fn common(&self) -> berth_reconcile::Metrics {
        self.common.clone()
    }

    pub(crate) fn repaired(&self) {
        self.repaired.inc();
    }

    pub(crate) fn fought(&self) {
        self.fought.inc();
    }

    /// Reports the works and objects of this agent from now on, as long as it exists.
    pub(crate) fn begun(&self, work: &Arc<Handle<Agent>>) {
        *self.gauges.of() = Arc::downgrade(work);
    }
}

// === impl Gauges ===

impl Gauges {
    fn new() -> prometheus::Result<Self> {
        Ok(Self {
            of: Arc::default(),
            works: IntGauge::new("berth_work_works", "ManifestWorks of the cluster")?,
            objects: IntGaugeVec::new(
                Opts::new("berth_work_objects", "Objects of ManifestWorks, by state"),
                &["state"],
            )?,
            rows: IntGaugeVec::new(
                Opts::new(
                    "berth_work_kinds",
                    "Kinds and namespaces of objects of ManifestWorks, by how they are observed",
                ),
                &["by"],
            )?,
            held: IntGauge::new(
                "berth_work_evictions_held",
                "AppliedManifestWorks that stay, as the hub looks restored from a backup",
            )?,
            refused: IntGauge::new(
                "berth_work_refused",
                "ManifestWorks that are not carried out, as they exceed --works-memory",
            )?,
        })
    }

    fn of(&self) -> MutexGuard<'_, Weak<Handle<Agent>>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self) {
        let work = self.of().upgrade();
        let Some(work) = work else {
            self.works.set(0);
            self.held.set(0);
            self.refused.set(0);
            self.objects.reset();
            self.rows.reset();
            return;
        };
        let counts = work.world().view.counts();
        self.set(&counts);
    }

    fn set(&self, counts: &Counts) {
        self.works.set(number(counts.works));
        self.held.set(number(counts.held));
        self.refused.set(number(counts.refused));
        for (state, count) in [
            ("applied", counts.applied),
            ("differing", counts.differing),
            ("missing", counts.missing),
            ("failed", counts.failed),
        ] {
            self.objects.with_label_values(&[state]).set(number(count));
        }
        for (by, count) in [("watch", counts.watched), ("poll", counts.polled)] {
            self.rows.with_label_values(&[by]).set(number(count));
        }
    }

    fn all(&self) -> [&dyn Collector; 5] {
        [
            &self.works,
            &self.objects,
            &self.rows,
            &self.held,
            &self.refused,
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

impl std::fmt::Debug for Gauges {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Gauges").finish_non_exhaustive()
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
