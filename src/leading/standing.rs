//! The state of a component that works while it leads, for its readiness.

use std::sync::{Mutex, MutexGuard, PoisonError};

use berth_serve::endpoints::Check;
use prometheus::{IntGaugeVec, Opts, Registry};

/// The state of the component.
#[derive(Debug)]
pub(crate) struct Standing {
    role: Mutex<Role>,
    /// client-go's metric, by the name of the Lease.
    master: IntGaugeVec,
    lease: Option<String>,
}

/// The names of what has not been listed yet.
type Progress = Box<dyn Fn() -> Vec<&'static str> + Send>;

enum Role {
    /// The Lease has not been read yet.
    Looking,
    /// Another process leads, or no process does yet.
    Waiting,
    /// The work runs.
    Leading(Progress),
    Stopped,
}

impl std::fmt::Debug for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Looking => "Looking",
            Self::Waiting => "Waiting",
            Self::Leading(_) => "Leading",
            Self::Stopped => "Stopped",
        })
    }
}

// === impl Standing ===

impl Standing {
    /// `lease` is the name of the Lease, if leader election is enabled.
    ///
    /// # Errors
    /// The registry already has the metric.
    pub(crate) fn new(lease: Option<&str>, registry: &Registry) -> prometheus::Result<Self> {
        let opts = Opts::new(
            "leader_election_master_status",
            "1: this process leads by the Lease of this name",
        );
        let master = IntGaugeVec::new(opts, &["name"])?;
        registry.register(Box::new(master.clone()))?;
        let this = Self {
            role: Mutex::new(Role::Looking),
            master,
            lease: lease.map(str::to_owned),
        };
        this.masters(0);
        Ok(this)
    }

    /// Records that this process waits for the Lease.
    pub(crate) fn waits(&self) {
        self.masters(0);
        *self.role() = Role::Waiting;
    }

    /// Records that the work runs. `unlisted` returns the names of what has not been listed yet.
    pub(crate) fn leads(&self, unlisted: impl Fn() -> Vec<&'static str> + Send + 'static) {
        self.masters(1);
        *self.role() = Role::Leading(Box::new(unlisted));
    }

    /// Records that the work has stopped, and drops their state, so that the Lease can be released.
    pub(crate) fn stops(&self) {
        self.masters(0);
        *self.role() = Role::Stopped;
    }

    /// Returns the readiness checks.
    pub(crate) fn checks(&self) -> [Check; 3] {
        let passes = || Ok(String::new());
        let role = self.role();
        let election = match *role {
            Role::Looking => Err("the Lease has not been read yet, or has no holder".to_owned()),
            _ => passes(),
        };
        let caches = match &*role {
            Role::Leading(progress) => match progress()[..] {
                [] => passes(),
                ref missing => Err(format!("not listed yet: {}", missing.join(", "))),
            },
            _ => passes(),
        };
        let shutdown = match *role {
            Role::Stopped => Err("stopped".to_owned()),
            _ => passes(),
        };
        [
            ("leader-election", election),
            ("caches", caches),
            ("shutdown", shutdown),
        ]
    }

    fn masters(&self, value: i64) {
        if let Some(lease) = &self.lease {
            self.master.with_label_values(&[lease]).set(value);
        }
    }

    fn role(&self) -> MutexGuard<'_, Role> {
        self.role.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
