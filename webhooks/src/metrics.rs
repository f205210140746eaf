//! Metrics: those of controller-runtime under their names, so that dashboards go on working, and our own.
//!
//! Labels are closed lists: no names of objects or users, no error texts.

use std::time::Duration;

use berth_certs::serving::{Outcome as Reloaded, Part};
use berth_rules::{Answer, Question, Requirement};
use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, TextEncoder,
};
use tokio::runtime::Handle;

use crate::review::{Verdict, Webhook};

/// From a quarter of a millisecond to the longest a webhook may take.
const SECONDS: [f64; 16] = [
    0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0, 10.0,
    30.0,
];

/// The metrics of a gate.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    webhooks: Vec<WebhookMetrics>,
    decisions: IntCounterVec,
    checks: IntCounterVec,
    check_seconds: HistogramVec,
    pub(super) connections: IntGauge,
    connections_closed: IntCounterVec,
    handshakes: IntCounterVec,
    certificate_not_after: IntGauge,
    reloads: IntCounterVec,
    pub(super) draining: IntGauge,
    tasks: IntGauge,
}

/// The metrics of one webhook, found without a look-up.
#[derive(Clone, Debug)]
pub(super) struct WebhookMetrics {
    pub(super) requests: IntCounter,
    pub(super) in_flight: IntGauge,
    pub(super) seconds: Histogram,
    allowed_create: IntCounter,
    allowed_update: IntCounter,
}

/// How a TLS handshake ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handshake {
    Completed,
    /// The peers did not agree, or the client was refused.
    Failed,
    /// The client spoke plain HTTP.
    PlainHttp,
}

/// Why the server closed a connection before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// The handshake took too long.
    HandshakeTimeout,
    /// A request was begun and not sent on.
    RequestTimeout,
    /// Nothing was asked for a long time.
    Idle,
    /// The place was needed.
    Evicted,
    /// There was no place to be had.
    Refused,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Fresh metrics, in a registry of their own together with those of the process.
    pub fn new() -> Self {
        let registry = Registry::new();
        let requests = counters(
            &registry,
            "controller_runtime_webhook_requests_total",
            "Total number of admission requests by HTTP status code.",
            &["webhook", "code"],
        );
        let in_flight = gauges(
            &registry,
            "controller_runtime_webhook_requests_in_flight",
            "Current number of admission requests being served.",
            &["webhook"],
        );
        let seconds = histograms(
            &registry,
            "controller_runtime_webhook_latency_seconds",
            "Histogram of the latency of processing admission requests.",
            &["webhook"],
        );
        let decisions = counters(
            &registry,
            "berth_admission_decisions_total",
            "Decisions, by the kind of the object, the operation, the outcome (allowed, denied, malformed, undecided) and \
             the reason, which is empty for what was allowed.",
            &["kind", "operation", "outcome", "reason"],
        );
        let allowed = |webhook: Webhook, operation| {
            decisions.with_label_values(&[webhook.kind(), operation, "allowed", ""])
        };
        let webhooks = Webhook::ALL
            .into_iter()
            .map(|webhook| WebhookMetrics {
                requests: requests.with_label_values(&[webhook.path(), "200"]),
                in_flight: in_flight.with_label_values(&[webhook.path()]),
                seconds: seconds.with_label_values(&[webhook.path()]),
                allowed_create: allowed(webhook, "CREATE"),
                allowed_update: allowed(webhook, "UPDATE"),
            })
            .collect();
        let checks = counters(
            &registry,
            "berth_requirement_checks_total",
            "Questions that changes raised, by what they were about and how they were answered (yes, no, unknown).",
            &["requirement", "outcome"],
        );
        for requirement in Requirement::ALL {
            for outcome in ["yes", "no", "unknown"] {
                checks.with_label_values(&[requirement.as_str(), outcome]);
            }
        }
        #[cfg(target_os = "linux")]
        register(
            &registry,
            prometheus::process_collector::ProcessCollector::for_self(),
        );
        Self {
            webhooks,
            decisions,
            checks,
            check_seconds: histograms(
                &registry,
                "berth_requirement_check_duration_seconds",
                "How long it took to get questions answered.",
                &["requirement"],
            ),
            connections: gauge(
                &registry,
                "berth_webhook_connections",
                "Open connections to the webhook port.",
            ),
            connections_closed: counters(
                &registry,
                "berth_webhook_connections_closed_total",
                "Connections that the server closed before their time, by reason (handshake-timeout, request-timeout, \
                 idle, evicted, refused).",
                &["reason"],
            ),
            handshakes: counters(
                &registry,
                "berth_tls_handshakes_total",
                "TLS handshakes by outcome (completed, failed, plain-http).",
                &["outcome"],
            ),
            certificate_not_after: gauge(
                &registry,
                "berth_serving_certificate_not_after_timestamp_seconds",
                "When the certificate that is being served expires, in seconds since 1970.",
            ),
            reloads: counters(
                &registry,
                "berth_serving_certificate_reloads_total",
                "Attempts to load changed files, by part (certificate, client_ca) and outcome (reloaded, failed). After a \
                 failure the former content is served on.",
                &["part", "outcome"],
            ),
            draining: gauge(
                &registry,
                "berth_draining",
                "1 from the moment the server was told to stop.",
            ),
            tasks: gauge(
                &registry,
                "berth_tasks",
                "Asynchronous tasks of the process that have not ended.",
            ),
            registry,
        }
    }

    /// Where they are registered, for others that run in the same process.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// In the text format of Prometheus.
    pub fn render(&self) -> Vec<u8> {
        if let Ok(runtime) = Handle::try_current() {
            let tasks = runtime.metrics().num_alive_tasks();
            self.tasks.set(i64::try_from(tasks).unwrap_or(i64::MAX));
        }
        let mut text = Vec::new();
        // Writing to memory fails only for a family without metrics, and gathering leaves those out.
        let _ = TextEncoder::new().encode(&self.registry.gather(), &mut text);
        text
    }

    pub(super) fn webhook(&self, webhook: Webhook) -> &WebhookMetrics {
        &self.webhooks[Webhook::ALL
            .iter()
            .position(|other| *other == webhook)
            .unwrap_or_default()]
    }

    pub(super) fn decided(&self, webhook: Webhook, verdict: &Verdict<'_>) {
        let operation = verdict
            .subject
            .as_ref()
            .map(|subject| subject.operation.as_str());
        match (operation, verdict.is_allowed()) {
            (Some("CREATE"), true) => self.webhook(webhook).allowed_create.inc(),
            (Some("UPDATE"), true) => self.webhook(webhook).allowed_update.inc(),
            (operation, _) => {
                let known = ["CREATE", "UPDATE", "DELETE"]
                    .into_iter()
                    .find(|known| operation == Some(known));
                let labels = [
                    webhook.kind(),
                    known.unwrap_or_default(),
                    verdict.outcome(),
                    verdict.reason(),
                ];
                self.decisions.with_label_values(&labels).inc();
            }
        }
        for ((question, answer), evidence) in verdict.answers.iter().zip(&verdict.evidence) {
            self.checked(question, answer, evidence.took);
        }
    }

    fn checked(&self, question: &Question, answer: &Answer, took: Duration) {
        let outcome = match answer {
            Answer::Yes | Answer::Names(_) | Answer::Namespace(_) => "yes",
            Answer::No => "no",
            Answer::Unknown(_) => "unknown",
        };
        let requirement = question.requirement().as_str();
        self.checks.with_label_values(&[requirement, outcome]).inc();
        self.check_seconds
            .with_label_values(&[requirement])
            .observe(took.as_secs_f64());
    }

    pub(super) fn handshake(&self, outcome: Handshake) {
        let outcome = match outcome {
            Handshake::Completed => "completed",
            Handshake::Failed => "failed",
            Handshake::PlainHttp => "plain-http",
        };
        self.handshakes.with_label_values(&[outcome]).inc();
    }

    pub(super) fn closed(&self, reason: Closed) {
        let reason = match reason {
            Closed::HandshakeTimeout => "handshake-timeout",
            Closed::RequestTimeout => "request-timeout",
            Closed::Idle => "idle",
            Closed::Evicted => "evicted",
            Closed::Refused => "refused",
        };
        self.connections_closed.with_label_values(&[reason]).inc();
    }

    pub(super) fn certificate(&self, not_after: jiff::Timestamp) {
        self.certificate_not_after.set(not_after.as_second());
    }

    /// Counts the reloads of the serving certificate, and tells until when it is valid.
    pub fn observer(&self) -> impl Fn(Part, &Reloaded) + Send + Sync + use<> {
        let metrics = self.clone();
        move |part, outcome| {
            let outcome = match outcome {
                Reloaded::Unchanged => return,
                Reloaded::Reloaded { not_after } => {
                    if part == Part::Certificate {
                        metrics.certificate(*not_after);
                    }
                    "reloaded"
                }
                Reloaded::Failed { .. } => "failed",
            };
            metrics
                .reloads
                .with_label_values(&[part.name(), outcome])
                .inc();
        }
    }
}

pub(super) fn register(registry: &Registry, collector: impl prometheus::core::Collector + 'static) {
    registry
        .register(Box::new(collector))
        .expect("each name is registered once");
}

pub(super) fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> IntCounterVec {
    let counters = IntCounterVec::new(Opts::new(name, help), labels).expect("the names are valid");
    register(registry, counters.clone());
    counters
}

pub(super) fn gauges(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    let gauges = IntGaugeVec::new(Opts::new(name, help), labels).expect("the names are valid");
    register(registry, gauges.clone());
    gauges
}

pub(super) fn gauge(registry: &Registry, name: &str, help: &str) -> IntGauge {
    let gauge = IntGauge::new(name, help).expect("the name is valid");
    register(registry, gauge.clone());
    gauge
}

fn histograms(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> HistogramVec {
    let options = HistogramOpts::new(name, help).buckets(SECONDS.to_vec());
    let histograms = HistogramVec::new(options, labels).expect("the names are valid");
    register(registry, histograms.clone());
    histograms
}
