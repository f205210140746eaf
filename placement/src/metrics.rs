//! The metrics of placements, in addition to those of every controller. The values of labels are closed lists.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use berth_api::conditions::TRUE;
use berth_placement_core::Counts;
use berth_reconcile::{number, on_scrape};
use prometheus::core::Collector;
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
    evaluated: All,
}

/// The evaluated placements, whose gauges are computed on scrape.
type All = Arc<Mutex<HashMap<Key, Evaluated>>>;

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
        Ok(Self {
            common,
            seconds,
            bind_seconds,
            evaluated: gauges(registry)?,
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
        lock(&self.evaluated).insert(key.clone(), evaluated);
    }

    /// Notes that a placement does not exist any more.
    pub(crate) fn gone(&self, key: &Key) {
        lock(&self.evaluated).remove(key);
    }

    /// Notes that this process does not evaluate placements any more: another one may report them now.
    pub(crate) fn over(&self) {
        lock(&self.evaluated).clear();
    }
}

/// Registers the gauges of placements and their clusters. Returns the evaluations that they count.
fn gauges(registry: &Registry) -> prometheus::Result<All> {
    let placements = IntGaugeVec::new(
        Opts::new("berth_placements", "Placements, by state"),
        &["state"],
    )?;
    let clusters = IntGaugeVec::new(
        Opts::new(
            "berth_placement_clusters",
            "Clusters that placements may select, by result, summed over all placements",
        ),
        &["outcome"],
    )?;
    let both: Vec<Box<dyn Collector>> =
        vec![Box::new(placements.clone()), Box::new(clusters.clone())];
    let all = All::default();
    let counted = Arc::clone(&all);
    on_scrape(registry, both, move || {
        count(&counted, &placements, &clusters)
    })?;
    Ok(all)
}

/// Sets the gauges.
fn count(all: &All, placements: &IntGaugeVec, clusters: &IntGaugeVec) {
    let mut states: [(&str, usize); 5] = [
        "satisfied",
        "unsatisfied",
        "misconfigured",
        "paused",
        "deleting",
    ]
    .map(|it| (it, 0));
    let mut outcomes = [0; 5];
    for Evaluated { state, counts } in lock(all).values() {
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
        placements.with_label_values(&[state]).set(number(count));
    }
    let names = [
        "selected",
        "ranked_out",
        "unmatched",
        "tainted",
        "undecided",
    ];
    for (outcome, count) in names.into_iter().zip(outcomes) {
        clusters.with_label_values(&[outcome]).set(number(count));
    }
}

fn lock(all: &All) -> MutexGuard<'_, HashMap<Key, Evaluated>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a histogram with OCM's name, label and buckets.
fn histogram(registry: &Registry, name: &str, help: &str) -> prometheus::Result<Histogram> {
    let options = HistogramOpts::new(name, help);
    let options = options.const_label("name", "placement_scheduling");
    let histogram = Histogram::with_opts(options.buckets(SECONDS.to_vec()))?;
    registry.register(Box::new(histogram.clone()))?;
    Ok(histogram)
}
