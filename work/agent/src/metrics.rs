//! The metrics of the work agent, in addition to those of every controller. The values of labels are closed lists.

use std::sync::Arc;

use berth_reconcile::{Handle, Live, number, on_scrape};
use berth_work_agent_core::status::Counts;
use prometheus::core::Collector;
use prometheus::{IntCounter, IntGauge, IntGaugeVec, Opts, Registry};

use super::world::Agent;

/// The metrics of the work agent.
#[derive(Clone, Debug)]
pub struct Metrics {
    common: berth_reconcile::Metrics,
    repaired: IntCounter,
    fought: IntCounter,
    running: Live<Handle<Agent>>,
}

/// The gauges of the running agent.
struct Gauges {
    works: IntGauge,
    objects: IntGaugeVec,
    rows: IntGaugeVec,
    held: IntGauge,
    held_back: IntGauge,
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
            running: gauges(registry)?,
        };
        registry.register(Box::new(metrics.repaired.clone()))?;
        registry.register(Box::new(metrics.fought.clone()))?;
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
        self.running.begun(Arc::downgrade(work));
    }
}

/// Registers the gauges of works and objects. Returns the agent that they are of.
fn gauges(registry: &Registry) -> prometheus::Result<Live<Handle<Agent>>> {
    let gauge = |name: &str, help: &str| IntGauge::new(name, help);
    let gauges =
        |name: &str, help: &str, label: &str| IntGaugeVec::new(Opts::new(name, help), &[label]);
    let gauges = Gauges {
        works: gauge("berth_work_works", "ManifestWorks of the cluster")?,
        objects: gauges(
            "berth_work_objects",
            "Objects of ManifestWorks, by state",
            "state",
        )?,
        rows: gauges(
            "berth_work_kinds",
            "Kinds and namespaces of objects of ManifestWorks, by how they are observed",
            "by",
        )?,
        held: gauge(
            "berth_work_evictions_held",
            "AppliedManifestWorks that stay, as the hub looks restored from a backup",
        )?,
        held_back: gauge(
            "berth_work_held",
            "AppliedManifestWorks that an admin of the cluster holds back",
        )?,
        refused: gauge(
            "berth_work_refused",
            "ManifestWorks that are not carried out, as they exceed --works-memory",
        )?,
    };
    let running: Live<Handle<Agent>> = Live::default();
    let of = running.clone();
    on_scrape(registry, gauges.all(), move || match of.get() {
        Some(work) => {
            let counts = work.world().view.counts();
            gauges.set(&counts);
        }
        None => gauges.reset(),
    })?;
    Ok(running)
}

// === impl Gauges ===

impl Gauges {
    fn all(&self) -> Vec<Box<dyn Collector>> {
        vec![
            Box::new(self.works.clone()),
            Box::new(self.objects.clone()),
            Box::new(self.rows.clone()),
            Box::new(self.held.clone()),
            Box::new(self.held_back.clone()),
            Box::new(self.refused.clone()),
        ]
    }

    fn reset(&self) {
        for gauge in [&self.works, &self.held, &self.held_back, &self.refused] {
            gauge.set(0);
        }
        self.objects.reset();
        self.rows.reset();
    }

    fn set(&self, counts: &Counts) {
        self.works.set(number(counts.works));
        self.held.set(number(counts.held));
        self.held_back.set(number(counts.held_back));
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
}
