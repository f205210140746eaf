//! The readiness of the gate.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use berth_certs::serving::ServingTls;
use berth_serve::endpoints::Check;
use jiff::Timestamp;

/// The facts that readiness depends on.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    /// Set when the webhook port accepts connections.
    listening: OnceLock<Arc<ServingTls>>,
    answered: AtomicBool,
    draining: AtomicBool,
}

// === impl Readiness ===

impl Readiness {
    /// Records that the webhook port accepts connections, with this certificate.
    pub(crate) fn is_listening(&self, tls: Arc<ServingTls>) {
        // The port is opened only once.
        let _ = self.listening.set(tls);
    }

    /// Records that a question has been answered.
    pub(crate) fn has_answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Records that the server is shutting down.
    pub(crate) fn is_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Returns the result of each check.
    pub(crate) fn checks(&self, now: Timestamp) -> [Check; 4] {
        let tls = self.listening.get();
        let check = |passes: bool| passes.then(String::new).ok_or_else(String::new);
        [
            (
                "certificate",
                check(tls.is_some_and(|tls| tls.is_valid_at(now))),
            ),
            ("listener", check(tls.is_some())),
            ("authorizer", check(self.answered.load(Ordering::Relaxed))),
            ("shutdown", check(!self.draining.load(Ordering::Relaxed))),
        ]
    }
}
