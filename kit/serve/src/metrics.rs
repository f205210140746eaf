//! Creates, registers and renders metrics, and holds the metrics of every server.
//!
//! Label values are closed lists: no names of objects or users, no error texts.

use berth_certs::serving::{Part, ReloadOutcome, ServingTls};
use jiff::Timestamp;
use prometheus::core::Collector;
use prometheus::{
    Encoder, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder,
};

/// The content type of [`render`]'s text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics of a registry, in the text format of Prometheus.
pub fn render(registry: &Registry) -> Vec<u8> {
    let mut text = Vec::new();
    // Encoding into memory fails only for a family without metrics, and `gather` leaves those out.
    let _ = TextEncoder::new().encode(&registry.gather(), &mut text);
    text
}

/// Registers the metrics of the process (`process_*`), and its version (`berth_build_info`). Call it once for each registry.
pub fn process(registry: &Registry) {
    let labels = ["version"];
    let help = "1, with the version of the program";
    gauges(registry, "berth_build_info", help, &labels)
        .with_label_values(&[env!("CARGO_PKG_VERSION")])
        .set(1);
    #[cfg(target_os = "linux")]
    register(
        registry,
        prometheus::process_collector::ProcessCollector::for_self(),
    );
    #[cfg(not(target_os = "linux"))]
    let _ = registry;
}

/// Registers a collector.
///
/// # Panics
/// If the registry has a metric of this name already.
pub fn register(registry: &Registry, collector: impl Collector + 'static) {
    registry
        .register(Box::new(collector))
        .expect("each name is registered once");
}

/// A counter in this registry. Panics if [`register`] does, and for an invalid name; so do the functions below.
pub fn counter(registry: &Registry, name: &str, help: &str) -> IntCounter {
    let counter = IntCounter::new(name, help).expect("the name is valid");
    register(registry, counter.clone());
    counter
}

/// Counters in this registry, by labels.
pub fn counters(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    let counters = IntCounterVec::new(Opts::new(name, help), labels).expect("the names are valid");
    register(registry, counters.clone());
    counters
}

/// A gauge in this registry.
pub fn gauge(registry: &Registry, name: &str, help: &str) -> IntGauge {
    let gauge = IntGauge::new(name, help).expect("the name is valid");
    register(registry, gauge.clone());
    gauge
}

/// Gauges in this registry, by labels.
pub fn gauges(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    let gauges = IntGaugeVec::new(Opts::new(name, help), labels).expect("the names are valid");
    register(registry, gauges.clone());
    gauges
}

/// Histograms in this registry, by labels.
pub fn histograms(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
    buckets: &[f64],
) -> HistogramVec {
    let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
    let histograms = HistogramVec::new(options, labels).expect("the names are valid");
    register(registry, histograms.clone());
    histograms
}

/// Metrics of a listener's connections.
#[derive(Clone, Debug)]
pub struct ConnectionMetrics {
    connections: IntGauge,
    closed: IntCounterVec,
    handshakes: IntCounterVec,
}

/// How a TLS handshake ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handshake {
    Completed,
    /// The peers have no common parameters, or the client was refused.
    Failed,
    /// The client spoke plain HTTP.
    PlainHttp,
}

/// Why the server closed a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// The handshake took too long.
    HandshakeTimeout,
    /// The header of a request took too long.
    RequestTimeout,
    /// No request came for too long.
    Idle,
    /// It was closed for another connection, at the limit.
    Evicted,
    /// The limit was reached, and all connections were at work.
    Refused,
}

// === impl ConnectionMetrics ===

impl ConnectionMetrics {
    /// The metrics of the port that serves `what`, such as `webhook`: `berth_<what>_connections`,
    /// `berth_<what>_connections_closed_total`, `berth_tls_handshakes_total`.
    pub fn new(registry: &Registry, what: &str) -> Self {
        Self {
            connections: gauge(
                registry,
                &format!("berth_{what}_connections"),
                &format!("Open connections to the {what} port."),
            ),
            closed: counters(
                registry,
                &format!("berth_{what}_connections_closed_total"),
                "Connections that the server closed before their time, by reason (handshake-timeout, request-timeout, \
                 idle, evicted, refused).",
                &["reason"],
            ),
            handshakes: counters(
                registry,
                "berth_tls_handshakes_total",
                "TLS handshakes by outcome (completed, failed, plain-http).",
                &["outcome"],
            ),
        }
    }

    pub(crate) fn open(&self, number: usize) {
        self.connections
            .set(i64::try_from(number).unwrap_or(i64::MAX));
    }

    pub(crate) fn handshake(&self, outcome: Handshake) {
        let outcome = match outcome {
            Handshake::Completed => "completed",
            Handshake::Failed => "failed",
            Handshake::PlainHttp => "plain-http",
        };
        self.handshakes.with_label_values(&[outcome]).inc();
    }

    pub(crate) fn closed(&self, reason: Closed) {
        let reason = match reason {
            Closed::HandshakeTimeout => "handshake-timeout",
            Closed::RequestTimeout => "request-timeout",
            Closed::Idle => "idle",
            Closed::Evicted => "evicted",
            Closed::Refused => "refused",
        };
        self.closed.with_label_values(&[reason]).inc();
    }
}

/// Metrics of the certificate that is served, and of its reloads.
#[derive(Clone, Debug)]
pub struct CertificateMetrics {
    not_after: IntGauge,
    reloads: IntCounterVec,
}

// === impl CertificateMetrics ===

impl CertificateMetrics {
    /// `berth_serving_certificate_not_after_timestamp_seconds` and `berth_serving_certificate_reloads_total`.
    pub fn new(registry: &Registry) -> Self {
        Self {
            not_after: gauge(
                registry,
                "berth_serving_certificate_not_after_timestamp_seconds",
                "When the certificate that is being served expires, in seconds since 1970.",
            ),
            reloads: counters(
                registry,
                "berth_serving_certificate_reloads_total",
                "Attempts to load changed files, by part (certificate, client_ca) and outcome (reloaded, failed). After a \
                 failure the former content is served on.",
                &["part", "outcome"],
            ),
        }
    }

    /// Records the certificate that is served first. [`CertificateMetrics::observer`] records later ones.
    pub fn serves(&self, tls: &ServingTls) {
        self.note(tls.not_after());
    }

    /// An observer for [`ServingTls::new`] that counts reloads, and records until when the certificate is valid.
    pub fn observer(&self) -> impl Fn(Part, &ReloadOutcome) + Send + Sync + use<> {
        let metrics = self.clone();
        move |part, outcome| {
            let outcome = match outcome {
                ReloadOutcome::Unchanged => return,
                ReloadOutcome::Reloaded { not_after } => {
                    if part == Part::Certificate {
                        metrics.note(*not_after);
                    }
                    "reloaded"
                }
                ReloadOutcome::Failed { .. } => "failed",
            };
            metrics
                .reloads
                .with_label_values(&[part.name(), outcome])
                .inc();
        }
    }

    fn note(&self, not_after: Timestamp) {
        self.not_after.set(not_after.as_second());
    }
}
