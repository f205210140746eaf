//! The state of a component that works while it leads, for its readiness.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use berth_serve::endpoints::Check;
use prometheus::{IntGaugeVec, Opts, Registry};

/// The state of the component.
#[derive(Debug)]
pub(crate) struct Standing {
    component: &'static str,
    role: Mutex<Role>,
    /// client-go's metric, by the name of the Lease.
    master: IntGaugeVec,
    lease: Option<String>,
}

const ELECTION: &str = "leader-election";
const CACHES: &str = "caches";
const SHUTDOWN: &str = "shutdown";

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

/// Registers client-go's metric of the Leases that a process leads by.
///
/// # Errors
/// The registry already has the metric.
pub(super) fn master_status(registry: &Registry) -> prometheus::Result<IntGaugeVec> {
    let opts = Opts::new(
        "leader_election_master_status",
        "1: this process leads by the Lease of this name",
    );
    let master = IntGaugeVec::new(opts, &["name"])?;
    registry.register(Box::new(master.clone()))?;
    Ok(master)
}

/// Returns the readiness checks of a process with these components. Each passes if it passes for all of them.
pub(super) fn checks(components: &[Arc<Standing>]) -> [Check; 3] {
    [ELECTION, CACHES, SHUTDOWN].map(|check| {
        let failures = components.iter().filter_map(|of| {
            let failure = of.failure(check)?;
            Some(match components {
                [_] => failure,
                _ => format!("{}: {failure}", of.component),
            })
        });
        let failures: Vec<_> = failures.collect();
        match &failures[..] {
            [] => (check, Ok(String::new())),
            failures => (check, Err(failures.join("; "))),
        }
    })
}

// === impl Standing ===

impl Standing {
    /// `lease` is the name of the Lease, if leader election is enabled. `master`: see [`master_status`].
    pub(super) fn new(component: &'static str, lease: Option<&str>, master: IntGaugeVec) -> Self {
        let this = Self {
            component,
            role: Mutex::new(Role::Looking),
            master,
            lease: lease.map(str::to_owned),
        };
        this.masters(0);
        this
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

    /// Returns why a check fails.
    fn failure(&self, check: &str) -> Option<String> {
        match (&*self.role(), check) {
            (Role::Looking, ELECTION) => {
                Some("the Lease has not been read yet, or has no holder".to_owned())
            }
            (Role::Leading(progress), CACHES) => {
                let missing = progress();
                let is_listed = missing.is_empty();
                (!is_listed).then(|| format!("not listed yet: {}", missing.join(", ")))
            }
            (Role::Stopped, SHUTDOWN) => Some("stopped".to_owned()),
            _ => None,
        }
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
