//! Metrics: those of controller-runtime with their names, so that dashboards continue to work, and Berth's own.
//!
//! Label values come from closed lists. They never contain names of objects or users, or error messages.

use std::time::Duration;

use crate::table::shipped;
use berth_addons_core::conversion::Kind;
use berth_api::crds::CONVERSION_PATH;
use berth_certs::serving::{Part, ReloadOutcome};
use berth_review::{Verdict, Webhook};
use berth_rules::{Answer, Question, Requirement};
use berth_serve::metrics::{
    CertificateMetrics, ConnectionMetrics, counters, gauge, gauges, histograms, process, render,
};
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, Registry};
use tokio::runtime::Handle;

/// Buckets in seconds, from 0.25 ms to the maximum timeout of a webhook.
const SECONDS: [f64; 16] = [
    0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0, 10.0,
    30.0,
];

/// The metrics of a gate.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    webhooks: Vec<WebhookMetrics>,
    pub(crate) conversion: ConversionMetrics,
    decisions: IntCounterVec,
    checks: IntCounterVec,
    check_seconds: HistogramVec,
    pub(crate) connections: ConnectionMetrics,
    pub(crate) certificate: CertificateMetrics,
    pub(crate) draining: IntGauge,
    tasks: IntGauge,
}

/// The metrics of one webhook, so that requests need no look-up of labels.
#[derive(Clone, Debug)]
pub(crate) struct WebhookMetrics {
    pub(crate) requests: RequestMetrics,
    allowed_create: IntCounter,
    allowed_update: IntCounter,
}

/// The requests to one path.
#[derive(Clone, Debug)]
pub(crate) struct RequestMetrics {
    pub(crate) requests: IntCounter,
    pub(crate) in_flight: IntGauge,
    pub(crate) seconds: Histogram,
}

/// The metrics of the conversion of add-ons.
#[derive(Clone, Debug)]
pub(crate) struct ConversionMetrics {
    pub(crate) requests: RequestMetrics,
    reviews: IntCounterVec,
}

/// What came of a ConversionReview: a closed list, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConversionOutcome {
    Converted,
    /// An object or the review is invalid.
    Failed,
    /// The gate lacks memory or time.
    Undecided,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Makes new metrics, including those of the process, in a registry of their own.
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
            &SECONDS,
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
        let of_path = |path: &str| RequestMetrics {
            requests: requests.with_label_values(&[path, "200"]),
            in_flight: in_flight.with_label_values(&[path]),
            seconds: seconds.with_label_values(&[path]),
        };
        let webhooks = Webhook::ALL
            .into_iter()
            .map(|webhook| WebhookMetrics {
                requests: of_path(shipped(webhook).path),
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
        process(&registry);
        let reviews = counters(
            &registry,
            "berth_conversion_reviews_total",
            "ConversionReviews of add-ons, by the kind of the objects (empty if it could not be read) and the outcome \
             (converted, failed, undecided).",
            &["kind", "outcome"],
        );
        for kind in Kind::ALL {
            for outcome in ConversionOutcome::ALL {
                reviews.with_label_values(&[kind.as_str(), outcome.as_str()]);
            }
        }
        Self {
            webhooks,
            conversion: ConversionMetrics {
                requests: of_path(CONVERSION_PATH),
                reviews,
            },
            decisions,
            checks,
            check_seconds: histograms(
                &registry,
                "berth_requirement_check_duration_seconds",
                "How long it took to get questions answered.",
                &["requirement"],
                &SECONDS,
            ),
            connections: ConnectionMetrics::new(&registry, "webhook"),
            certificate: CertificateMetrics::new(&registry),
            draining: gauge(
                &registry,
                "berth_draining",
                "1 from the moment the server begins to shut down.",
            ),
            tasks: gauge(
                &registry,
                "berth_tasks",
                "Asynchronous tasks of the process that have not ended.",
            ),
            registry,
        }
    }

    /// Returns the registry, for other metrics of the process.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns the metrics in the text format of Prometheus.
    pub fn render(&self) -> Vec<u8> {
        if let Ok(runtime) = Handle::try_current() {
            let tasks = runtime.metrics().num_alive_tasks();
            self.tasks.set(i64::try_from(tasks).unwrap_or(i64::MAX));
        }
        render(&self.registry)
    }

    /// Returns the observer of the serving certificate, which counts its reloads and records its expiry.
    pub fn observer(&self) -> impl Fn(Part, &ReloadOutcome) + Send + Sync + use<> {
        self.certificate.observer()
    }

    pub(crate) fn webhook(&self, webhook: Webhook) -> &WebhookMetrics {
        &self.webhooks[Webhook::ALL
            .iter()
            .position(|other| *other == webhook)
            .unwrap_or_default()]
    }

    pub(crate) fn decided(&self, webhook: Webhook, verdict: &Verdict<'_>) {
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
}

// === impl ConversionMetrics ===

impl ConversionMetrics {
    pub(crate) fn decided(&self, kind: Option<Kind>, outcome: ConversionOutcome) {
        let labels = [kind.map_or("", Kind::as_str), outcome.as_str()];
        self.reviews.with_label_values(&labels).inc();
    }
}

// === impl ConversionOutcome ===

impl ConversionOutcome {
    const ALL: [Self; 3] = [Self::Converted, Self::Failed, Self::Undecided];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Converted => "converted",
            Self::Failed => "failed",
            Self::Undecided => "undecided",
        }
    }
}
