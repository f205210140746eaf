//! Metrics: those of controller-runtime and client-go under their names, so that dashboards know them, and our own.
//!
//! Labels are closed lists: no names of objects or users, no error texts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use berth_api::plan::{Action, Write};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{
    GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
};

use crate::queue;

/// From a tenth of a millisecond, which a decision without a write takes, to what a busy API server lets a write wait.
const SECONDS: [f64; 13] = [
    0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0,
];

/// The metrics of all controllers of a process.
#[derive(Clone, Debug)]
pub struct Metrics {
    reconciles: IntCounterVec,
    reconcile_seconds: HistogramVec,
    queue_seconds: HistogramVec,
    writes: IntCounterVec,
    events: IntCounterVec,
    watch_errors: IntCounterVec,
    rewinds: IntCounterVec,
    unreadable: IntCounterVec,
    gauges: Gauges,
}

/// The source of gauges, read on scrape.
pub(crate) trait Counted: Send + Sync {
    /// Returns true if all kinds that are needed have been listed.
    fn is_primed(&self) -> bool;
    /// For each lane its name, the number of keys that are due and wait, and how long the first has waited.
    fn waiting(&self, now: Instant) -> Vec<(&'static str, usize, Duration)>;
}

/// Gauges, computed on scrape.
#[derive(Clone)]
struct Gauges {
    of: Arc<Mutex<Vec<Weak<dyn Counted>>>>,
    primed: IntGauge,
    depth: IntGaugeVec,
    age: GaugeVec,
}

// === impl Metrics ===

impl Metrics {
    /// Registers the metrics.
    ///
    /// # Errors
    /// The registry has metrics of these names already.
    pub fn new(registry: &Registry) -> prometheus::Result<Self> {
        let counters = |name: &str, help: &str, labels: &[&str]| {
            let counters = IntCounterVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(counters.clone()))?;
            prometheus::Result::Ok(counters)
        };
        let histograms = |name: &str, help: &str, labels: &[&str]| {
            let opts = HistogramOpts::new(name, help).buckets(SECONDS.to_vec());
            let histograms = HistogramVec::new(opts, labels)?;
            registry.register(Box::new(histograms.clone()))?;
            prometheus::Result::Ok(histograms)
        };
        let gauges = Gauges::new()?;
        registry.register(Box::new(gauges.clone()))?;
        Ok(Self {
            reconciles: counters(
                "controller_runtime_reconcile_total",
                "Reconciles, by their result",
                &["controller", "result"],
            )?,
            reconcile_seconds: histograms(
                "controller_runtime_reconcile_time_seconds",
                "How long reconciles took, with their writes",
                &["controller"],
            )?,
            queue_seconds: histograms(
                "workqueue_queue_duration_seconds",
                "How long keys waited",
                &["name"],
            )?,
            writes: counters(
                "berth_writes_total",
                "Requests that change the hub, by reconciler, resource, verb and HTTP code (0: no answer)",
                &["reconciler", "resource", "verb", "code"],
            )?,
            events: counters(
                "berth_events_total",
                "Events to be sent, by outcome",
                &["outcome"],
            )?,
            watch_errors: counters(
                "berth_watch_errors_total",
                "Times that a watch failed and was begun anew",
                &["resource"],
            )?,
            rewinds: counters(
                "berth_watch_rewinds_total",
                "Times that an API server had gone back to an earlier resourceVersion, as after a restore of its etcd",
                &["resource"],
            )?,
            unreadable: counters(
                "berth_watch_unreadable_total",
                "Objects in lists and watches that could not be read, or were larger than 4 MiB",
                &["resource"],
            )?,
            gauges,
        })
    }

    pub(crate) fn reconciled(&self, controller: &str, succeeded: bool, took: Duration) {
        let result = if succeeded { "success" } else { "error" };
        self.reconciles
            .with_label_values(&[controller, result])
            .inc();
        self.reconcile_seconds
            .with_label_values(&[controller])
            .observe(took.as_secs_f64());
    }

    pub(crate) fn waited(&self, queue: &str, waited: Duration) {
        self.queue_seconds
            .with_label_values(&[queue])
            .observe(waited.as_secs_f64());
    }

    pub(crate) fn wrote(&self, write: &Write, resource: &str, outcome: Result<(), u16>) {
        let verb = match write.action {
            Action::Apply { .. } | Action::ApplyStatus { .. } => "apply",
            Action::Patch { .. } | Action::PatchText { .. } => "patch",
            Action::Create { .. }
            | Action::CreateText { .. }
            | Action::CreateOrPatch { .. }
            | Action::CreateOrUpdate { .. } => "create",
            Action::Replace { .. } => "update",
            Action::Delete { .. } => "delete",
        };
        let code = outcome.err().unwrap_or(200).to_string();
        self.writes
            .with_label_values(&[write.reconciler, resource, verb, &code])
            .inc();
    }

    pub(crate) fn event(&self, outcome: &str) {
        self.events.with_label_values(&[outcome]).inc();
    }

    pub(crate) fn watch_failed(&self, resource: &str) {
        self.watch_errors.with_label_values(&[resource]).inc();
    }

    pub(crate) fn watch_went_back(&self, resource: &str) {
        self.rewinds.with_label_values(&[resource]).inc();
    }

    pub(crate) fn unreadable(&self, resource: &str) {
        self.unreadable.with_label_values(&[resource]).inc();
    }

    /// Adds a controller to the gauges, for as long as it exists.
    pub(crate) fn count(&self, of: Weak<dyn Counted>) {
        let mut all = self.gauges.of();
        all.retain(|of| of.strong_count() > 0);
        all.push(of);
    }
}

// === impl Gauges ===

impl Gauges {
    fn new() -> prometheus::Result<Self> {
        Ok(Self {
            of: Arc::default(),
            primed: IntGauge::new(
                "berth_caches_primed",
                "1: all kinds that are needed have been listed",
            )?,
            depth: IntGaugeVec::new(
                Opts::new("workqueue_depth", "Keys that are due and wait"),
                &["name"],
            )?,
            age: GaugeVec::new(
                Opts::new(
                    "workqueue_longest_waiting_seconds",
                    "How long the next key has waited",
                ),
                &["name"],
            )?,
        })
    }

    fn of(&self) -> MutexGuard<'_, Vec<Weak<dyn Counted>>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self) {
        let all: Vec<_> = self.of().iter().filter_map(Weak::upgrade).collect();
        self.depth.reset();
        self.age.reset();
        let primed = !all.is_empty() && all.iter().all(|of| of.is_primed());
        self.primed.set(primed.into());
        for (lane, depth, age) in all.iter().flat_map(|of| of.waiting(queue::now())) {
            let depth = i64::try_from(depth).unwrap_or(i64::MAX);
            self.depth.with_label_values(&[lane]).set(depth);
            self.age.with_label_values(&[lane]).set(age.as_secs_f64());
        }
    }

    fn all(&self) -> [&dyn Collector; 3] {
        [&self.primed, &self.depth, &self.age]
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
