//! Where a cluster stands in a rollout, at a time.

use jiff::{SignedDuration, Timestamp};

use crate::{RolloutCluster, RolloutRules, RolloutState, RolloutStatus};

/// A cluster, and where it stands. Its status is [`RolloutStatus::TimeOut`] once the deadline has passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress<'a> {
    pub(super) cluster: RolloutCluster<'a>,
    /// The cluster has a state.
    pub(super) is_known: bool,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// To be changed.
    Waiting,
    /// In progress, or succeeded and soaking.
    Busy,
    /// Failed, before the deadline.
    Failed,
    /// The deadline has passed.
    TimedOut,
    /// Reported as timed out.
    GivenUp,
    /// Succeeded and soaked, or without a part.
    Done,
}

// === impl Progress ===

impl<'a> Progress<'a> {
    pub(super) fn new(
        rules: &RolloutRules,
        name: &'a str,
        state: Option<RolloutState>,
        now: Timestamp,
    ) -> Self {
        let since = state.and_then(|it| it.since);
        let status = state.map_or(RolloutStatus::ToApply, |it| it.status);
        let soaked = end(since, rules.soak, now);
        let deadline = rules
            .deadline
            .and_then(|deadline| end(since, deadline, now));
        let has_passed = |end: Option<Timestamp>| end.is_some_and(|end| end <= now);
        let (status, stage, until) = match status {
            RolloutStatus::ToApply => (status, Stage::Waiting, None),
            RolloutStatus::Succeeded if has_passed(soaked) => (status, Stage::Done, None),
            RolloutStatus::Succeeded => (status, Stage::Busy, soaked),
            RolloutStatus::Progressing | RolloutStatus::Failed if has_passed(deadline) => {
                (RolloutStatus::TimeOut, Stage::TimedOut, deadline)
            }
            RolloutStatus::Progressing => (status, Stage::Busy, deadline),
            RolloutStatus::Failed => (status, Stage::Failed, deadline),
            RolloutStatus::TimeOut => (status, Stage::GivenUp, None),
            RolloutStatus::Skip => (status, Stage::Done, None),
        };
        Self {
            cluster: RolloutCluster {
                name,
                status,
                since,
                until,
            },
            is_known: state.is_some(),
            stage,
        }
    }

    /// The change is still to be applied.
    pub(super) fn is_waiting(&self) -> bool {
        self.stage == Stage::Waiting
    }

    /// The change is in progress, or soaks.
    pub(super) fn is_busy(&self) -> bool {
        self.stage == Stage::Busy
    }

    /// The cluster occupies a place.
    pub(super) fn is_listed(&self) -> bool {
        matches!(self.stage, Stage::Busy | Stage::Failed)
    }

    /// The cluster counts against `maxFailures`.
    pub(super) fn is_failure(&self) -> bool {
        matches!(self.stage, Stage::Failed | Stage::TimedOut | Stage::GivenUp)
    }

    /// The deadline has passed, and the cluster was not reported as timed out.
    pub(super) fn has_just_timed_out(&self) -> bool {
        self.stage == Stage::TimedOut
    }
}

/// Returns the end of a duration; `None` if it is beyond the calendar.
fn end(since: Option<Timestamp>, duration: SignedDuration, now: Timestamp) -> Option<Timestamp> {
    match since.unwrap_or(now).checked_add(duration) {
        Ok(end) => Some(end),
        Err(_) if duration.is_positive() => None,
        Err(_) => Some(Timestamp::MIN),
    }
}
