//! The metrics of placements, in addition to those of every controller. The values of labels are closed lists.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use berth_api::conditions::TRUE;
use berth_placement_core::Counts;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Histogram, HistogramOpts, IntGaugeVec, Opts, Registry};

use crate::facts::PlacementFacts;
use crate::view::Key;
use crate::wanted::Wanted;

/// OCM's buckets: from a microsecond, each ten times the one before.
const SECONDS: [f64; 10] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0];

/// The metrics of placements.
#[derive(Clone, Debug)]
pub struct Metrics {
    common: berth_reconcile::Metrics,
    seconds: Histogram,
    bind_seconds: Histogram,
    gauges: Gauges,
}

/// Gauges of the evaluated placements, computed on scrape.
#[derive(Clone, Debug)]
struct Gauges {
    of: Arc<Mutex<HashMap<Key, Evaluated>>>,
    placements: IntGaugeVec,
    clusters: IntGaugeVec,
}

/// The last evaluation of a placement.
#[derive(Clone, Copy, Debug)]
struct Evaluated {
    state: &'static str,
    counts: Counts,
}

// === impl Metrics ===

impl Metrics {
    /// Registers the metrics of placements, and those of every controller.
    ///
    /// # Errors
    /// The registry already has metrics of these names.
    pub fn new(registry: &Registry) -> prometheus::Result<Self> {
        Self::beside(registry, berth_reconcile::Metrics::new(registry)?)
    }

    /// Registers the metrics of placements. `common` are those of every controller of the process.
    ///
    /// # Errors
    /// The registry already has metrics of these names.
    pub fn beside(
        registry: &Registry,
        common: berth_reconcile::Metrics,
    ) -> prometheus::Result<Self> {
        let seconds = histogram(
            registry,
            "scheduling_scheduling_duration_seconds",
            "How long evaluations of placements took",
        )?;
        let bind_seconds = histogram(
            registry,
            "scheduling_bind_duration_seconds",
            "How long it took to write the decisions and the status of placements after an evaluation",
        )?;
        let gauges = Gauges::new()?;
        registry.register(Box::new(gauges.clone()))?;
        Ok(Self {
            common,
            seconds,
            bind_seconds,
            gauges,
        })
    }

    pub(crate) fn common(&self) -> berth_reconcile::Metrics {
        self.common.clone()
    }

    /// Notes how long an evaluation took.
    pub(crate) fn took(&self, took: Duration) {
        self.seconds.observe(took.as_secs_f64());
    }

    /// Notes how long the writes after an evaluation took.
    pub(crate) fn bound(&self, took: Duration) {
        self.bind_seconds.observe(took.as_secs_f64());
    }

    /// Notes the result of an evaluation. `wanted`: `None` if the placement is left alone.
    pub(crate) fn evaluated(
        &self,
        key: &Key,
        placement: Option<&PlacementFacts>,
        wanted: Option<&Wanted>,
    ) {
        let Some(placement) = placement else {
            return self.gone(key);
        };
        let state = match wanted {
            None if placement.is_paused => "paused",
            None => "deleting",
            Some(it) if it.conditions.misconfigured.status == TRUE => "misconfigured",
            Some(it) if it.conditions.satisfied.status == TRUE => "satisfied",
            Some(_) => "unsatisfied",
        };
        let counts = wanted.map_or_else(Counts::default, |wanted| wanted.counts);
        let evaluated = Evaluated { state, counts };
        self.gauges.of().insert(key.clone(), evaluated);
    }

    /// Notes that a placement does not exist any more.
    pub(crate) fn gone(&self, key: &Key) {
        self.gauges.of().remove(key);
    }

    /// Notes that this process does not evaluate placements any more: another one may report them now.
    pub(crate) fn over(&self) {
        self.gauges.of().clear();
    }
}

// === impl Gauges ===

impl Gauges {
    fn new() -> prometheus::Result<Self> {
        Ok(Self {
            of: Arc::default(),
            placements: IntGaugeVec::new(
                Opts::new("berth_placements", "Placements, by state"),
                &["state"],
            )?,
            clusters: IntGaugeVec::new(
                Opts::new(
                    "berth_placement_clusters",
                    "Clusters that placements may select, by result, summed over all placements",
                ),
                &["outcome"],
            )?,
        })
    }

    fn of(&self) -> MutexGuard<'_, HashMap<Key, Evaluated>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self) {
        let mut states: [(&str, usize); 5] = [
            "satisfied",
            "unsatisfied",
            "misconfigured",
            "paused",
            "deleting",
        ]
        .map(|it| (it, 0));
        let mut outcomes = [0; 5];
        for Evaluated { state, counts } in self.of().values() {
            if let Some((_, count)) = states.iter_mut().find(|(name, _)| name == state) {
                *count += 1;
            }
            let ranked_out = counts.feasible.saturating_sub(counts.selected);
            let of = [
                counts.selected,
                ranked_out,
                counts.unmatched,
                counts.tainted,
                // Of placements that cannot be evaluated, the selected ones are those that are kept.
                counts
                    .candidates
                    .saturating_sub(counts.unmatched + counts.tainted)
                    .saturating_sub(counts.feasible.max(counts.selected)),
            ];
            for (sum, count) in outcomes.iter_mut().zip(of) {
                *sum += count;
            }
        }
        for (state, count) in states {
            set(&self.placements, state, count);
        }
        let names = [
            "selected",
            "ranked_out",
            "unmatched",
            "tainted",
            "undecided",
        ];
        for (outcome, count) in names.into_iter().zip(outcomes) {
            set(&self.clusters, outcome, count);
        }
    }
}

impl Collector for Gauges {
    fn desc(&self) -> Vec<&Desc> {
        [&self.placements, &self.clusters]
            .into_iter()
            .flat_map(Collector::desc)
            .collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.update();
        let all = [&self.placements, &self.clusters].into_iter();
        all.flat_map(Collector::collect).collect()
    }
}

/// Registers a histogram with OCM's name, label and buckets.
fn histogram(registry: &Registry, name: &str, help: &str) -> prometheus::Result<Histogram> {
    let options = HistogramOpts::new(name, help);
    let options = options.const_label("name", "placement_scheduling");
    let histogram = Histogram::with_opts(options.buckets(SECONDS.to_vec()))?;
    registry.register(Box::new(histogram.clone()))?;
    Ok(histogram)
}

fn set(gauges: &IntGaugeVec, label: &str, count: usize) {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    gauges.with_label_values(&[label]).set(count);
}
