//! How far a placement of an add-on is, in the status of the add-on.

use std::collections::BTreeMap;

use berth_api::Now;
use berth_api::addon::InstallProgression;
use berth_api::conditions::{FALSE, TRUE, addon, with_condition};
use berth_rollout::{Rollout, RolloutError, RolloutState, RolloutStatus};

use crate::condition::condition;
use crate::facts::{Placed, PlacedState};

/// How many clusters of a placement are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// The placement selects them.
    selected: usize,
    /// They have the add-on, and no later placement selects them.
    add_ons: usize,
    done: usize,
    under_way: usize,
    failed: usize,
    timed_out: usize,
}

// === impl Counts ===

impl Counts {
    pub(super) fn new(
        placed: &Placed,
        states: &BTreeMap<&str, RolloutState>,
        step: Option<&Rollout<'_>>,
    ) -> Self {
        let of = |status| states.values().filter(|it| it.status == status).count();
        let listed = |status| {
            let clusters = step.iter().flat_map(|it| &it.clusters);
            clusters.filter(|it| it.status == status).count()
        };
        Self {
            selected: placed.clusters().len(),
            add_ons: states.len(),
            done: of(RolloutStatus::Succeeded),
            under_way: listed(RolloutStatus::Progressing),
            failed: listed(RolloutStatus::Failed),
            timed_out: step.map_or(0, |it| it.timed_out.len()),
        }
    }

    fn is_completed(self) -> bool {
        self.add_ons > 0 && self.done == self.add_ons
    }

    /// The sentence of OCM, on which scripts match.
    fn message(self) -> String {
        let Self {
            selected,
            add_ons,
            done,
            under_way,
            failed,
            timed_out,
        } = self;
        let (count, what) = if self.is_completed() {
            (done, "completed with no errors,")
        } else {
            (done + under_way, "progressing...,")
        };
        format!(
            "selected clusters {selected}. configured addons {count}/{add_ons} {what} {failed} failed {timed_out} timeout."
        )
    }
}

/// Writes how far the placement is. Nothing is known of one that does not exist.
pub(super) fn write(
    progression: &mut InstallProgression,
    placed: &Placed,
    counts: Result<Counts, RolloutError>,
    now: Now,
) {
    if matches!(placed.state, PlacedState::Missing(_)) {
        return;
    }
    let (status, reason, message) = match &counts {
        Ok(counts) if counts.is_completed() => (FALSE, addon::COMPLETED, counts.message()),
        Ok(counts) => (TRUE, addon::PROGRESSING, counts.message()),
        Err(error) => (FALSE, addon::ROLLOUT_STRATEGY_INVALID, error.to_string()),
    };
    let condition = condition(addon::PROGRESSING, (status, reason), &message, now);
    if let Some(conditions) = with_condition(&progression.conditions, condition) {
        progression.conditions = conditions;
    }
    if counts.is_ok_and(Counts::is_completed) {
        for it in &mut progression.config_references {
            it.last_applied_config.clone_from(&it.desired_config);
            it.last_known_good_config.clone_from(&it.desired_config);
        }
    }
}
