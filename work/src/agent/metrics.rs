//! The metrics of the work agent, in addition to those of every controller. The values of labels are closed lists.

use prometheus::{IntCounter, IntGauge, IntGaugeVec, Opts, Registry};

/// The metrics of the work agent.
#[derive(Clone, Debug)]
pub struct Metrics {
    common: berth_reconcile::Metrics,
    repaired: IntCounter,
    fought: IntCounter,
    works: IntGauge,
    objects: IntGaugeVec,
    rows: IntGaugeVec,
    held: IntGauge,
}

/// What is counted now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) works: usize,
    /// Objects that are as their manifests say, that differ, that are missing, and that could not be applied.
    pub(crate) applied: usize,
    pub(crate) differing: usize,
    pub(crate) missing: usize,
    pub(crate) failed: usize,
    pub(crate) watched: usize,
    pub(crate) polled: usize,
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
        };
        registry.register(Box::new(metrics.repaired.clone()))?;
        registry.register(Box::new(metrics.fought.clone()))?;
        registry.register(Box::new(metrics.works.clone()))?;
        registry.register(Box::new(metrics.objects.clone()))?;
        registry.register(Box::new(metrics.rows.clone()))?;
        registry.register(Box::new(metrics.held.clone()))?;
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

    pub(crate) fn holds(&self, count: usize) {
        self.held.set(number(count));
    }

    pub(crate) fn counts(&self, counts: &Counts) {
        self.works.set(number(counts.works));
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
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
