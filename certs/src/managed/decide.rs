//! Decides the next step for the certificates, or the time of the next decision.

use std::time::Duration;

use jiff::Timestamp;

use super::policy::{Policy, after};
use super::published::Published;
use super::state::{Leaf, Reading, State};

/// The interval between checks for another process that serves.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// The facts for a decision.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The current time.
    pub now: Timestamp,
    /// The content of the Secret.
    pub stored: &'a Reading,
    /// The bundles of the registrations; `None` if they are not known.
    pub published: Option<&'a Published>,
    /// The last valid state that this process has seen.
    pub remembered: Option<&'a State>,
    /// True if the address that API servers call serves a certificate that the registrations trust; `None` if that was not
    /// checked.
    pub served: Option<bool>,
    /// The requirements.
    pub policy: &'a Policy,
}

/// A write to the Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Restore the state that this process remembers: the stored state is lost or invalid.
    PutBack,
    /// Make a new authority, because no usable state is left. Published authorities are kept beside it; without them, a
    /// leaf is issued at once.
    Begin,
    /// Write the readable part of the stored state again.
    Rewrite,
    /// Remove old authorities that are no longer needed.
    Forget,
    /// Record that the newest authority is in all registrations from now on.
    Published,
    /// Record that the newest authority is not in all registrations.
    NotPublished,
    /// Issue a new leaf.
    Leaf,
    /// Make a new authority beside the one that issues.
    Introduce,
    /// Switch to the new authority, and issue a leaf with it.
    Switch,
}

impl Step {
    /// Returns a description for the log.
    pub fn description(self) -> &'static str {
        match self {
            Self::PutBack => "the remembered state, because the stored one was lost or invalid",
            Self::Begin => "a new authority, because no usable state was stored",
            Self::Rewrite => "the readable part of the state",
            Self::Forget => "the removal of an authority whose certificates have all expired",
            Self::Published => "the newest authority is in all registrations",
            Self::NotPublished => "the newest authority is no longer in all registrations",
            Self::Leaf => "a new serving certificate",
            Self::Introduce => "a new authority beside the one that issues",
            Self::Switch => "the new authority issues from now on",
        }
    }
}

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Carry out this step, then decide again.
    Do(Step),
    /// Wait until this time, or until a fact changes.
    Rest(Timestamp),
    /// Read the registrations first.
    Look,
    /// Check first whether a trusted certificate is served ([`Facts::served`]).
    Ask,
    /// Wait until an admin applies the Secret again: it is missing, or cannot be written to.
    Blocked,
}

/// Decides the next step from the facts.
pub fn decide(facts: &Facts<'_>) -> Decision {
    let Facts {
        now,
        stored,
        published,
        policy,
        ..
    } = *facts;
    if !stored.shape.is_usable() {
        return Decision::Blocked;
    }
    let remembered = facts.remembered.filter(|state| serves(state, now));
    let Some(state) = &stored.state else {
        return match (remembered, published) {
            (Some(_), _) => Decision::Do(Step::PutBack),
            (None, Some(_)) => Decision::Do(Step::Begin),
            (None, None) => Decision::Look,
        };
    };
    if !stored.problems.is_empty() {
        return Decision::Do(match remembered {
            Some(_) => Step::PutBack,
            None => Step::Rewrite,
        });
    }
    if state.leaf.is_none()
        && remembered.is_some_and(|it| it.authority.root == state.authority.root)
    {
        return Decision::Do(Step::PutBack);
    }
    if !state.authority.root.lasts(now) {
        // Clients do not trust its certificates any more.
        return match (&state.next, published) {
            (Some(next), _) if next.root.lasts(now) => Decision::Do(Step::Switch),
            (_, Some(_)) => Decision::Do(Step::Begin),
            (_, None) => Decision::Look,
        };
    }
    if state.old.iter().any(|old| old.is_over(now)) {
        return Decision::Do(Step::Forget);
    }

    let settling = state.next.is_some() || state.leaf.is_none();
    if let Some(step) = published
        .filter(|_| settling)
        .and_then(|it| note(state, it, facts))
    {
        return Decision::Do(step);
    }
    let settled = state
        .published_since
        .map(|since| after(since, policy.settle));
    let has_settled = settled.is_some_and(|settled| settled <= now);

    let mut wait = Wait(Timestamp::MAX);
    for old in &state.old {
        // Valid, and so needed, to the end of that second.
        wait.until(after(old.until, Duration::from_secs(1)));
    }
    let Some(leaf) = &state.leaf else {
        // With a successor, the authority itself has settled.
        if has_settled || state.old.is_empty() || state.next.is_some() {
            return Decision::Do(Step::Leaf);
        }
        // The wait protects processes that serve meanwhile. Without such a process, each call fails until a leaf is issued.
        match (published, facts.served) {
            (Some(_), None) => return Decision::Ask,
            (Some(_), Some(false)) => return Decision::Do(Step::Leaf),
            _ => {}
        }
        wait.until(after(now, ASK_AGAIN));
        return wait.and(settled);
    };
    if state.next.is_some() && has_settled {
        return Decision::Do(Step::Switch);
    }
    if leaf_due(state, leaf, facts) {
        return Decision::Do(Step::Leaf);
    }
    let last_call = policy.last_call(&leaf.pair);
    if let Some(next) = &state.next {
        if !next.root.lasts(now) {
            return Decision::Do(Step::Introduce);
        }
        if last_call <= now {
            return Decision::Do(Step::Switch);
        }
        wait.until(last_call);
        wait.unless_past(policy.leaf_due(&leaf.pair, now), now);
        return wait.and(settled);
    }
    let authority_due = policy.authority_due(&state.authority.root, now);
    if authority_due <= now {
        return Decision::Do(Step::Introduce);
    }
    wait.unless_past(policy.leaf_due(&leaf.pair, now), now);
    wait.and(Some(authority_due))
}

/// The time to look again.
struct Wait(Timestamp);

impl Wait {
    fn until(&mut self, at: Timestamp) {
        self.0 = self.0.min(at);
    }

    /// Ignores a time in the past: it had no effect.
    fn unless_past(&mut self, at: Timestamp, now: Timestamp) {
        if at > now {
            self.until(at);
        }
    }

    fn and(mut self, at: Option<Timestamp>) -> Decision {
        if let Some(at) = at {
            self.until(at);
        }
        Decision::Rest(self.0)
    }
}

/// Returns true if the leaf and its authority have not expired.
fn serves(state: &State, now: Timestamp) -> bool {
    let lasts = |leaf: &Leaf| now.as_second() <= leaf.pair.not_after.as_second();
    state.leaf.as_ref().is_some_and(lasts) && state.authority.root.lasts(now)
}

/// Returns the step that records whether the newest authority is in all registrations, if the stored record differs.
fn note(state: &State, published: &Published, facts: &Facts<'_>) -> Option<Step> {
    let everywhere = published.all_hold(&[&state.newest().root, &state.authority.root]);
    match state.published_since {
        None => everywhere.then_some(Step::Published),
        // A clock that was wrong wrote a time in the future.
        Some(since) => (!everywhere || since > after(facts.now, facts.policy.settle))
            .then_some(Step::NotPublished),
    }
}

/// Returns true if the authority should issue a new leaf. Near its own end, it cannot issue one that is valid for longer.
fn leaf_due(state: &State, leaf: &Leaf, facts: &Facts<'_>) -> bool {
    let Facts { now, policy, .. } = *facts;
    if !policy.names_of(&leaf.pair) {
        return true;
    }
    if policy.leaf_due(&leaf.pair, now) > now {
        return false;
    }
    let wanted = after(now, policy.leaf_validity);
    let possible = wanted.min(state.authority.root.not_after());
    // The second condition: the leaf is valid for much longer than the policy allows.
    policy.gains(&leaf.pair, possible) || leaf.pair.not_after > after(wanted, policy.leaf_validity)
}

#[cfg(test)]
mod tests;
