//! Whether the gate can decide.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use berth_certs::serving::ServingTls;
use berth_serve::endpoints::Check;
use jiff::Timestamp;

/// What readiness depends on.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    /// Set when the webhook port takes connections.
    listening: OnceLock<Arc<ServingTls>>,
    answered: AtomicBool,
    draining: AtomicBool,
}

// === impl Readiness ===

impl Readiness {
    /// The webhook port takes connections, with this.
    pub(crate) fn is_listening(&self, tls: Arc<ServingTls>) {
        // It is opened once.
        let _ = self.listening.set(tls);
    }

    /// Questions have been answered once.
    pub(crate) fn has_answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// The server was told to stop.
    pub(crate) fn is_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Each check, and whether it passes.
    pub(crate) fn checks(&self, now: Timestamp) -> [Check; 4] {
        let tls = self.listening.get();
        let check = |passes: bool| passes.then_some(()).ok_or_else(String::new);
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
