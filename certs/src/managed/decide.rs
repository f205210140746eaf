//! The one next step towards certificates as they should be, or when to look again.

use std::time::Duration;

use jiff::Timestamp;

use super::policy::{Policy, after};
use super::published::Published;
use super::state::{Leaf, Reading, State};

/// So long after somebody was seen to serve it is looked again.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// What is known when it is decided.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// What time it is.
    pub now: Timestamp,
    /// What the Secret holds.
    pub stored: &'a Reading,
    /// What the registrations have. None: that could not be found out.
    pub published: Option<&'a Published>,
    /// The last good state that this process has seen.
    pub remembered: Option<&'a State>,
    /// Whether somebody serves what the registrations believe, where they have API servers call. None: nobody has looked.
    pub served: Option<bool>,
    /// What is wanted.
    pub policy: &'a Policy,
}

/// What is to be written to the Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The state that this process remembers: what is stored is lost or spoilt.
    PutBack,
    /// A new authority, as nothing is left. What is published stays so beside it; where that is nothing, there is a leaf at
    /// once.
    Begin,
    /// As much as could be read, in its proper form.
    Rewrite,
    /// Without the authorities that are needed no more.
    Forget,
    /// That the newest authority is in all registrations from now on.
    Published,
    /// That it is not, or not any more.
    NotPublished,
    /// A new leaf of the authority.
    Leaf,
    /// A new authority beside the one that issues.
    Introduce,
    /// The new authority issues from now on, first a leaf.
    Switch,
}

impl Step {
    /// For the log.
    pub fn told(self) -> &'static str {
        match self {
            Self::PutBack => "what was lost or spoilt, as it was",
            Self::Begin => "a new authority, as nothing usable was there",
            Self::Rewrite => "what could be read, in its proper form",
            Self::Forget => "an authority less, whose certificates have all expired",
            Self::Published => "the newest authority is in all registrations",
            Self::NotPublished => "the newest authority is not in all registrations any more",
            Self::Leaf => "a new serving certificate",
            Self::Introduce => "a new authority beside the one that issues",
            Self::Switch => "the new authority issues from now on",
        }
    }
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// This, and then it is to be decided anew.
    Do(Step),
    /// Nothing, unless something changes, until then.
    Rest(Timestamp),
    /// Nothing, before it is known what the registrations have.
    Look,
    /// Nothing, before it is known whether somebody serves what they believe.
    Ask,
    /// Nothing, before an admin puts the Secret back: it is missing, or cannot be written to.
    Blocked,
}

/// Decides.
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
        // Nothing that it issued is believed by anybody.
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
        // Valid, and needed, to the end of that second.
        wait.until(after(old.until, Duration::from_secs(1)));
    }
    let Some(leaf) = &state.leaf else {
        // With a successor on its way, the authority itself settled long ago.
        if has_settled || state.old.is_empty() || state.next.is_some() {
            return Decision::Do(Step::Leaf);
        }
        // It settles for the sake of those who serve meanwhile. Without any, each call fails until there is a leaf.
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

    /// What is past had no effect.
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

/// It could be served from now on.
fn serves(state: &State, now: Timestamp) -> bool {
    let lasts = |leaf: &Leaf| now.as_second() <= leaf.pair.not_after.as_second();
    state.leaf.as_ref().is_some_and(lasts) && state.authority.root.lasts(now)
}

/// Whether the newest authority is in all registrations, where that is not what is stored.
fn note(state: &State, published: &Published, facts: &Facts<'_>) -> Option<Step> {
    let everywhere = published.all_hold(&[&state.newest().root, &state.authority.root]);
    match state.published_since {
        None => everywhere.then_some(Step::Published),
        // A time to come was written by a clock that went wrong.
        Some(since) => (!everywhere || since > after(facts.now, facts.policy.settle))
            .then_some(Step::NotPublished),
    }
}

/// Whether the authority should issue a new leaf; at its own end it cannot issue one that lasts longer.
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
    // The second: one that is valid for much longer than is wanted.
    policy.gains(&leaf.pair, possible) || leaf.pair.not_after > after(wanted, policy.leaf_validity)
}

#[cfg(test)]
mod tests;
