//! Metrics: those of controller-runtime and client-go under their names, so that dashboards know them, and our own.
//!
//! Labels are closed lists: no names of objects or users, no error texts.

use std::sync::Arc;
use std::time::Duration;

use prometheus::{HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry};

use super::gauges::Gauges;
use super::kinds::Kind;
use super::work::Work;
use berth_api::plan::{Action, Write};

/// From a tenth of a millisecond, which a decision without a write takes, to what a busy hub lets a write wait.
const SECONDS: [f64; 13] = [
    0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0,
];

/// The metrics of the reconcilers.
#[derive(Clone, Debug)]
pub struct Metrics {
    reconciles: IntCounterVec,
    reconcile_seconds: HistogramVec,
    queue_seconds: HistogramVec,
    writes: IntCounterVec,
    expiries: IntCounter,
    csrs: IntCounterVec,
    events: IntCounterVec,
    watch_errors: IntCounterVec,
    gauges: Gauges,
}

// === impl Metrics ===

impl Metrics {
    /// Fresh metrics, registered.
    ///
    /// # Errors
    /// The registry has metrics of these names.
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
        let expiries = IntCounter::new(
            "berth_lease_expirations_total",
            "Clusters that turned Unknown, since their lease was not renewed",
        )?;
        registry.register(Box::new(expiries.clone()))?;
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
            expiries,
            csrs: counters(
                "berth_certificate_requests_total",
                "CertificateSigningRequests of agents that were decided about, by outcome",
                &["outcome"],
            )?,
            events: counters(
                "berth_events_total",
                "Events that were to be told, by outcome",
                &["outcome"],
            )?,
            watch_errors: counters(
                "berth_watch_errors_total",
                "Times that a watch failed and was begun anew",
                &["resource"],
            )?,
            gauges,
        })
    }

    pub(super) fn reconciled(&self, controller: &str, succeeded: bool, took: Duration) {
        let result = if succeeded { "success" } else { "error" };
        self.reconciles
            .with_label_values(&[controller, result])
            .inc();
        self.reconcile_seconds
            .with_label_values(&[controller])
            .observe(took.as_secs_f64());
    }

    pub(super) fn waited(&self, queue: &str, waited: Duration) {
        self.queue_seconds
            .with_label_values(&[queue])
            .observe(waited.as_secs_f64());
    }

    pub(super) fn wrote(&self, write: &Write, outcome: Result<(), u16>) {
        let verb = match write.action {
            Action::Apply { .. } | Action::ApplyStatus { .. } => "apply",
            Action::Patch { .. } => "patch",
            Action::Create { .. }
            | Action::CreateOrPatch { .. }
            | Action::CreateOrUpdate { .. } => "create",
            Action::Replace { .. } => "update",
            Action::Delete { .. } => "delete",
        };
        // What an admin has deleted from removed clusters may be of any kind.
        let resource = Kind::of(&write.target.resource).map_or("other", Kind::name);
        let code = outcome.err().unwrap_or(200).to_string();
        self.writes
            .with_label_values(&[write.reconciler, resource, verb, &code])
            .inc();
    }

    pub(super) fn expired(&self) {
        self.expiries.inc();
    }

    pub(super) fn request_decided(&self, outcome: &str) {
        self.csrs.with_label_values(&[outcome]).inc();
    }

    pub(super) fn event(&self, outcome: &str) {
        self.events.with_label_values(&[outcome]).inc();
    }

    pub(super) fn watch_failed(&self, kind: Kind) {
        self.watch_errors.with_label_values(&[kind.name()]).inc();
    }

    /// Somebody works here.
    pub(super) fn begun(&self, work: &Arc<Work>) {
        self.gauges.count(Some(work));
    }

    /// Nobody does any more.
    pub(super) fn over(&self) {
        self.gauges.count(None);
    }
}
