//! Metrics: those of controller-runtime and client-go under their names, so that dashboards know them, and our own.
//!
//! Labels are closed lists: no names of objects or users, no error texts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use berth_api::plan::{Action, Write};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{
    GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry,
};

use crate::queue::{self, Counts};

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
    work_seconds: HistogramVec,
    adds: IntCounterVec,
    retries: IntCounterVec,
    writes: IntCounterVec,
    events: IntCounterVec,
    watch_errors: IntCounterVec,
    rewinds: IntCounterVec,
    unreadable: IntCounterVec,
    counted: Controllers,
}

/// The metrics of one queue, looked up once.
#[derive(Clone, Debug)]
pub(crate) struct QueueMetrics {
    /// Keys that became due.
    pub(crate) adds: IntCounter,
    retries: IntCounter,
    queue_seconds: Histogram,
    work_seconds: Histogram,
}

/// The source of gauges, read on scrape.
pub(crate) trait Counted: Send + Sync {
    /// Returns true if all kinds that are needed have been listed.
    fn is_primed(&self) -> bool;
    /// Names of the kinds that are needed and have not been listed yet.
    fn unprimed(&self) -> Vec<&'static str>;
    /// For each lane its name, and the counts of its keys.
    fn queues(&self, now: Instant) -> Vec<(&'static str, Counts)>;
}

/// The controllers that the gauges count.
type Controllers = Arc<Mutex<Vec<Weak<dyn Counted>>>>;

/// Gauges, computed on scrape.
struct OnScrape<F> {
    gauges: Vec<Box<dyn Collector>>,
    update: F,
}

/// Registers gauges that `update` computes on each scrape.
///
/// # Errors
/// The registry has metrics of these names already.
pub fn on_scrape(
    registry: &Registry,
    gauges: Vec<Box<dyn Collector>>,
    update: impl Fn() + Send + Sync + 'static,
) -> prometheus::Result<()> {
    registry.register(Box::new(OnScrape { gauges, update }))
}

/// A count, as the value of a gauge.
pub fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
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
        Ok(Self {
            counted: gauges(registry)?,
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
            work_seconds: histograms(
                "workqueue_work_duration_seconds",
                "How long work on keys took",
                &["name"],
            )?,
            adds: counters("workqueue_adds_total", "Keys that became due", &["name"])?,
            retries: counters(
                "workqueue_retries_total",
                "Keys that became due again after a failure",
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

    /// The metrics of the queue of this name.
    pub(crate) fn queue(&self, name: &str) -> QueueMetrics {
        let labels = [name];
        QueueMetrics {
            adds: self.adds.with_label_values(&labels),
            retries: self.retries.with_label_values(&labels),
            queue_seconds: self.queue_seconds.with_label_values(&labels),
            work_seconds: self.work_seconds.with_label_values(&labels),
        }
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
            Action::Delete { .. } | Action::DeleteInForeground { .. } => "delete",
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
        let mut all = lock(&self.counted);
        all.retain(|of| of.strong_count() > 0);
        all.push(of);
    }
}

// === impl QueueMetrics ===

impl QueueMetrics {
    /// Counts the beginning of work on a key that has waited for this time.
    pub(crate) fn waited(&self, waited: Duration) {
        self.queue_seconds.observe(waited.as_secs_f64());
    }

    /// Counts the end of work on a key. After a failure the queue keeps the key for another try.
    pub(crate) fn worked(&self, took: Duration, succeeded: bool) {
        self.work_seconds.observe(took.as_secs_f64());
        if !succeeded {
            self.retries.inc();
        }
    }
}

/// Registers the gauges. Returns the controllers that they count.
fn gauges(registry: &Registry) -> prometheus::Result<Controllers> {
    let controllers = Controllers::default();
    let primed = IntGauge::new(
        "berth_caches_primed",
        "1: all kinds that are needed have been listed",
    )?;
    let depth = IntGaugeVec::new(
        Opts::new("workqueue_depth", "Keys that are due and wait"),
        &["name"],
    )?;
    let seconds = |name, help| GaugeVec::new(Opts::new(name, help), &["name"]);
    let age = seconds(
        "workqueue_longest_waiting_seconds",
        "How long the next key has waited",
    )?;
    let unfinished = seconds(
        "workqueue_unfinished_work_seconds",
        "How long the work on keys under way has taken so far, summed up",
    )?;
    let longest = seconds(
        "workqueue_longest_running_processor_seconds",
        "How long the longest work on a key under way has taken so far",
    )?;
    let all: Vec<Box<dyn Collector>> = vec![
        Box::new(primed.clone()),
        Box::new(depth.clone()),
        Box::new(age.clone()),
        Box::new(unfinished.clone()),
        Box::new(longest.clone()),
    ];
    let of = Arc::clone(&controllers);
    on_scrape(registry, all, move || {
        let all: Vec<_> = lock(&of).iter().filter_map(Weak::upgrade).collect();
        depth.reset();
        for gauge in [&age, &unfinished, &longest] {
            gauge.reset();
        }
        let is_primed = !all.is_empty() && all.iter().all(|of| of.is_primed());
        primed.set(is_primed.into());
        for (lane, counts) in all.iter().flat_map(|of| of.queues(queue::now())) {
            depth.with_label_values(&[lane]).set(number(counts.waiting));
            for (gauge, value) in [
                (&age, counts.longest_waiting),
                (&unfinished, counts.unfinished),
                (&longest, counts.longest_running),
            ] {
                gauge.with_label_values(&[lane]).set(value.as_secs_f64());
            }
        }
    })?;
    Ok(controllers)
}

fn lock(controllers: &Controllers) -> MutexGuard<'_, Vec<Weak<dyn Counted>>> {
    controllers.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl OnScrape ===

impl<F: Fn() + Send + Sync> Collector for OnScrape<F> {
    fn desc(&self) -> Vec<&Desc> {
        self.gauges.iter().flat_map(|it| it.desc()).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        (self.update)();
        self.gauges.iter().flat_map(|it| it.collect()).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use prometheus::proto::MetricType;

    use super::*;

    #[test]
    fn gauges_are_computed_on_each_scrape_and_registered_once() {
        let registry = Registry::new();
        let register = |scrapes: Arc<AtomicI64>| {
            let gauge = IntGauge::new("scrapes", "Scrapes so far").unwrap();
            on_scrape(&registry, vec![Box::new(gauge.clone())], move || {
                gauge.set(1 + scrapes.fetch_add(1, Ordering::Relaxed));
            })
        };
        let scrapes = Arc::<AtomicI64>::default();
        register(Arc::clone(&scrapes)).unwrap();
        assert_eq!(scrapes.load(Ordering::Relaxed), 0);
        for value in [1.0, 2.0] {
            let families = registry.gather();
            let metric = &families[0].get_metric()[0];
            assert_eq!(metric.get_gauge().get_value(), value);
        }
        assert!(register(scrapes).is_err(), "the name is taken");
    }

    /// What dashboards for controller-runtime ask for: counters from the beginning, and gauges while a controller exists.
    #[test]
    fn the_metrics_of_queues_are_those_of_client_go() {
        struct Busy;
        impl Counted for Busy {
            fn is_primed(&self) -> bool {
                true
            }
            fn unprimed(&self) -> Vec<&'static str> {
                Vec::new()
            }
            fn queues(&self, _: Instant) -> Vec<(&'static str, Counts)> {
                let seconds = Duration::from_secs;
                let counts = Counts {
                    waiting: 2,
                    longest_waiting: seconds(3),
                    unfinished: seconds(9),
                    longest_running: seconds(5),
                };
                vec![("clusters", counts)]
            }
        }
        let registry = Registry::new();
        let metrics = Metrics::new(&registry).unwrap();
        let busy: Arc<dyn Counted> = Arc::new(Busy);
        metrics.count(Arc::downgrade(&busy));
        let queue = metrics.queue("clusters");
        queue.adds.inc_by(4);
        queue.waited(Duration::from_secs(1));
        for (seconds, succeeded) in [(2, true), (5, false), (6, false)] {
            queue.worked(Duration::from_secs(seconds), succeeded);
        }
        let value = |name: &str| {
            let families = registry.gather();
            let family = families.iter().find(|family| family.name() == name)?;
            let [series] = family.get_metric() else {
                panic!("{name}: one queue");
            };
            let [label] = series.get_label() else {
                panic!("{name}: one label");
            };
            assert_eq!((label.name(), label.value()), ("name", "clusters"));
            let histogram = series.get_histogram();
            Some(match family.get_field_type() {
                MetricType::COUNTER => series.get_counter().get_value(),
                MetricType::GAUGE => series.get_gauge().get_value(),
                _ => histogram.get_sample_sum(),
            })
        };
        for (name, expected) in [
            ("workqueue_adds_total", Some(4.0)),
            ("workqueue_retries_total", Some(2.0)),
            ("workqueue_queue_duration_seconds", Some(1.0)),
            ("workqueue_work_duration_seconds", Some(13.0)),
            ("workqueue_depth", Some(2.0)),
            ("workqueue_longest_waiting_seconds", Some(3.0)),
            ("workqueue_unfinished_work_seconds", Some(9.0)),
            ("workqueue_longest_running_processor_seconds", Some(5.0)),
        ] {
            assert_eq!(value(name), expected, "{name}");
        }
        drop(busy);
        for name in ["workqueue_depth", "workqueue_unfinished_work_seconds"] {
            assert_eq!(value(name), None, "{name}: of a term that is over");
        }
        assert_eq!(value("workqueue_adds_total"), Some(4.0));
    }
}
