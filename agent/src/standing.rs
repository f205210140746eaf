//! How the agent stands: what it waits for, and how the hub sees its cluster. Health, metrics and logs are made of it.

use std::fmt;

use berth_agent_core::held::Judged;
use berth_agent_core::registered::HubStanding;
use jiff::Timestamp;
use tokio::sync::watch;

/// How the agent stands. Clones share it.
#[derive(Clone, Debug)]
pub struct Standing(watch::Sender<State>);

/// The parts of a [`Standing`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The name of the cluster, once it is known.
    pub cluster: Option<String>,
    /// What the registration waits for.
    pub waiting: Option<Wait>,
    /// How the hub sees the cluster.
    pub hub: HubStanding,
    /// When the certificate begins.
    pub not_before: Option<Timestamp>,
    /// When the certificate ends.
    pub not_after: Option<Timestamp>,
}

/// What the agent waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The reason, such as `CSRPending`. A closed list.
    pub reason: &'static str,
    /// What it is, and what a user can do.
    pub message: String,
}

// === impl Standing ===

impl Standing {
    /// The agent has just started.
    #[must_use]
    pub fn new() -> Self {
        Self(watch::Sender::new(State {
            cluster: None,
            waiting: None,
            hub: HubStanding::Unknown,
            not_before: None,
            not_after: None,
        }))
    }

    /// The state now.
    #[must_use]
    pub fn state(&self) -> State {
        self.0.borrow().clone()
    }

    /// Notifies of changes.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<State> {
        self.0.subscribe()
    }

    pub(crate) fn is_for(&self, cluster: &str) {
        self.change(|state| state.cluster = Some(cluster.to_owned()));
    }

    pub(crate) fn waits(&self, waiting: Option<Wait>) {
        self.change(|state| state.waiting = waiting);
    }

    pub(crate) fn certificate(&self, judged: &Judged) {
        self.change(|state| {
            state.not_before = judged.not_before;
            state.not_after = judged.not_after;
        });
    }

    pub(crate) fn hub(&self, hub: HubStanding) {
        self.change(|state| state.hub = hub);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        self.0.send_if_modified(|state| {
            let before = state.clone();
            change(state);
            *state != before
        });
    }
}

impl Default for Standing {
    fn default() -> Self {
        Self::new()
    }
}

// === impl State ===

impl State {
    /// What the agent waits for, if it does not manage its cluster. The registration comes first.
    #[must_use]
    pub fn wait(&self) -> Option<Wait> {
        if let Some(waiting) = &self.waiting {
            return Some(waiting.clone());
        }
        let cluster = self.cluster.as_deref().unwrap_or("(no name yet)");
        let is_managed = self.hub == HubStanding::Managed;
        (!is_managed).then(|| Wait {
            reason: self.hub.reason(),
            message: self.hub.message(cluster).to_string(),
        })
    }
}

// === impl Wait ===

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
