//! What became of the template in a cluster, for its rollout.
//!
//! | Conditions of the ManifestWork, at its current generation | State |
//! |---|---|
//! | Applied is not True | Progressing, since the ManifestWork was written |
//! | Degraded is True | Failed |
//! | Progressing is True or Unknown | Progressing |
//! | Progressing is False | Succeeded |
//! | no Progressing, and a condition rule of the template sets it | Progressing |
//! | no Progressing, Available is True | Succeeded |
//! | no Progressing, Available is not True | Progressing |
//!
//! No state is older than the last write of the controller: times of conditions may be those of an earlier template.
//! A ManifestWork with another spec than the template's is still to be changed. One that is being deleted is progressing, since its deletion
//! began: nothing can be written for its cluster until it is gone.

use berth_api::clocks::believed;
use berth_api::conditions::FALSE;
use berth_rollout::{RolloutState, RolloutStatus};

use jiff::Timestamp;

use crate::template::{Digest, Template};
use crate::work::{Seen, Work};

/// What became of a template in the cluster of a ManifestWork, whichever template it is: as little as has to be kept of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    digest: Digest,
    is_deleting: bool,
    /// With the template, by whether a condition rule of the template sets Progressing.
    states: [RolloutState; 2],
}

// === impl Progress ===

impl Progress {
    /// Returns the state of this template in the cluster.
    #[must_use]
    pub fn of(&self, template: Digest, expects_progressing: bool) -> RolloutState {
        if self.is_deleting || self.digest == template {
            return self.states[usize::from(expects_progressing)];
        }
        RolloutState {
            status: RolloutStatus::ToApply,
            since: None,
        }
    }
}

impl Work {
    /// The state of the template, for a decision at a time: no rollout waits for a time that nobody lives to see.
    pub(super) fn state_at(&self, template: &Template, now: Timestamp) -> RolloutState {
        let RolloutState { status, since } = self.state(template);
        RolloutState {
            status,
            since: believed(since, [self.written_at, self.created_at], now),
        }
    }

    /// The state of the template in the cluster of the ManifestWork.
    pub(super) fn state(&self, template: &Template) -> RolloutState {
        if !self.is_deleting && !self.is_current(template) {
            return RolloutState {
                status: RolloutStatus::ToApply,
                since: None,
            };
        }
        self.with_template(template.expects_progressing())
    }

    /// Returns what is to be kept to tell the state of any template.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress {
            digest: self.digest,
            is_deleting: self.is_deleting,
            states: [false, true].map(|it| self.with_template(it)),
        }
    }

    /// The state if its spec is that of the template.
    fn with_template(&self, expects_progressing: bool) -> RolloutState {
        if self.is_deleting {
            return RolloutState {
                status: RolloutStatus::Progressing,
                since: self.deleted_at,
            };
        }
        let progressing = RolloutState {
            status: RolloutStatus::Progressing,
            since: self.written_at,
        };
        let is_true = |it: &&Seen| it.is_true();
        let Some(applied) = self.now(self.applied.as_ref()).filter(is_true) else {
            return progressing;
        };
        let observed = self.now(self.progressing.as_ref());
        if let Some(degraded) = self.now(self.degraded.as_ref()).filter(is_true) {
            return RolloutState {
                status: RolloutStatus::Failed,
                since: self.since(observed.filter(is_true).unwrap_or(degraded)),
            };
        }
        if let Some(observed) = observed {
            return RolloutState {
                status: if &*observed.status == FALSE {
                    RolloutStatus::Succeeded
                } else {
                    RolloutStatus::Progressing
                },
                since: self.since(observed),
            };
        }
        // A condition of an earlier generation will follow.
        if self.progressing.is_some() || expects_progressing {
            return progressing;
        }
        match self.now(self.available.as_ref()).filter(is_true) {
            Some(available) => RolloutState {
                status: RolloutStatus::Succeeded,
                since: self.since(applied).max(self.since(available)),
            },
            None => progressing,
        }
    }
}

impl Work {
    /// Since when a condition counts for the template: an agent may keep the time of an earlier one, whose status was the same.
    fn since(&self, condition: &Seen) -> Option<Timestamp> {
        condition.since.max(self.written_at)
    }

    /// Returns whether the template succeeded in the cluster.
    pub(super) fn has_succeeded(&self, template: &Template) -> bool {
        self.state(template).status == RolloutStatus::Succeeded
    }
}
