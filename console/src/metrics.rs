//! Metrics of a console in a pod.

use berth_serve::metrics::{counters, gauge, process};
use prometheus::{IntCounterVec, IntGauge, Registry};

/// The metrics of a console.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) sessions: IntGauge,
    pub(crate) streams: IntGauge,
    sign_ins: IntCounterVec,
}

/// What became of a sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignIn {
    Succeeded,
    Refused,
    Failed,
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) fn signed_in(&self, way: &str, result: SignIn) {
        let result = match result {
            SignIn::Succeeded => "succeeded",
            SignIn::Refused => "refused",
            SignIn::Failed => "failed",
        };
        self.sign_ins.with_label_values(&[way, result]).inc();
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let registry = Registry::new();
        process(&registry);
        Self {
            sessions: gauge(&registry, "berth_console_sessions", "Sessions of users"),
            streams: gauge(&registry, "berth_console_streams", "Open streams of pages"),
            sign_ins: counters(
                &registry,
                "berth_console_sign_ins_total",
                "Attempts to sign in, by way (code, token, oidc) and result (succeeded, refused, failed)",
                &["way", "result"],
            ),
            registry,
        }
    }
}
