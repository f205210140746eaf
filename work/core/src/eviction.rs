//! When an AppliedManifestWork whose ManifestWork is missing is deleted, with its objects.
//!
//! A ManifestWork that is deleted goes by its finalizer, and its AppliedManifestWork with it. A ManifestWork that is missing was deleted
//! by force, or the agent has another hub, or the hub was restored from a backup that does not have it. In the first two cases the
//! objects are deleted after a grace period, as with OCM. In the last case they are held, until a user confirms.

#[cfg(test)]
mod tests;

use berth_api::work::AppliedManifestWork;
use jiff::{SignedDuration, Timestamp};
use std::fmt;

/// From this grace period on, nothing is evicted: 100 years.
const NEVER: SignedDuration = SignedDuration::from_hours(876_000);
/// The least number of missing ManifestWorks that are held.
const MANY: usize = 5;

/// What the agent knows of its hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubView {
    /// The hash of the hub's address.
    pub hub_hash: String,
    /// The agent's ID.
    pub agent_id: String,
    /// The highest resourceVersion that was ever seen of this hub.
    pub seen: Option<u64>,
    /// The resourceVersion of the latest list of ManifestWorks.
    pub now: Option<u64>,
    /// The number of AppliedManifestWorks of this hub and this agent.
    pub applied: usize,
    /// How many of them have no ManifestWork.
    pub missing: usize,
    /// A user has confirmed that the missing ManifestWorks are to be evicted.
    pub confirmed: bool,
}

/// What to do with an AppliedManifestWork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// It belongs to another agent, or to an agent from before agents had IDs: leave it alone.
    Foreign,
    /// Its ManifestWork exists, or eviction is off: remove status.evictionStartTime, if it is set.
    Keep,
    /// Set status.evictionStartTime to now.
    Start,
    /// Decide again at this time.
    Wait(Timestamp),
    /// Delete it.
    Evict,
    /// The hub looks restored: remove status.evictionStartTime, if it is set, and report the reason.
    Hold(Hold),
}

/// Why missing ManifestWorks are not evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The resourceVersions of the hub went back.
    Restored {
        /// The highest one that was seen.
        seen: u64,
        /// The one of the latest list.
        now: u64,
    },
    /// Most ManifestWorks are missing.
    MostMissing {
        /// How many.
        missing: usize,
        /// Of how many.
        applied: usize,
    },
}

/// Decides on an AppliedManifestWork. `work_exists`: a complete list of the cluster's ManifestWorks has the one that it names.
/// AppliedManifestWorks that are being deleted are not asked about.
pub fn eviction(
    applied: &AppliedManifestWork,
    work_exists: bool,
    hub: &HubView,
    grace: SignedDuration,
    now: Timestamp,
) -> Eviction {
    if applied.spec.agent_id.is_empty() || applied.spec.agent_id != hub.agent_id {
        return Eviction::Foreign;
    }
    let name = applied.metadata.name.as_deref().unwrap_or_default();
    let of_this_hub = name
        .strip_prefix(hub.hub_hash.as_str())
        .is_some_and(|rest| rest.starts_with('-'));
    if of_this_hub && work_exists || grace >= NEVER {
        return Eviction::Keep;
    }
    if of_this_hub && let Some(hold) = hub.hold() {
        return Eviction::Hold(hold);
    }
    let started = applied
        .status
        .as_ref()
        .and_then(|status| status.eviction_start_time.as_ref());
    let Some(started) = started else {
        return Eviction::Start;
    };
    // A start in the future is of a clock that went back. The period then begins now.
    let until = started
        .0
        .min(now)
        .checked_add(grace.max(SignedDuration::ZERO));
    match until {
        Ok(until) if until <= now => Eviction::Evict,
        Ok(until) => Eviction::Wait(until),
        Err(_) => Eviction::Keep,
    }
}

// === impl HubView ===

impl HubView {
    /// Does the hub look restored from a backup?
    pub fn hold(&self) -> Option<Hold> {
        if self.confirmed {
            return None;
        }
        if let (Some(seen), Some(now)) = (self.seen, self.now)
            && now < seen
        {
            return Some(Hold::Restored { seen, now });
        }
        (self.missing >= MANY && self.missing.saturating_mul(2) > self.applied).then_some(
            Hold::MostMissing {
                missing: self.missing,
                applied: self.applied,
            },
        )
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Restored { seen, now } => write!(
                f,
                "the hub looks restored from a backup: its resourceVersion is {now}, and {seen} was seen before"
            ),
            Self::MostMissing { missing, applied } => write!(
                f,
                "the hub looks restored from a backup: {missing} of {applied} ManifestWorks are missing on it"
            ),
        }
    }
}
