//! Makes the state that a step stores.

use jiff::Timestamp;

use super::decide::{Facts, Step};
use super::policy::{Policy, after};
use super::state::{Leaf, Old, Signer, State};
use crate::issue::{Authority, IssueError};

/// Makes the state for a step. The facts must be those of the decision.
///
/// # Errors
/// A failure of the cryptography, or facts that do not fit the step.
pub fn make(step: Step, facts: &Facts<'_>) -> Result<State, IssueError> {
    let Facts { now, policy, .. } = *facts;
    let stored = || facts.stored.state.clone().ok_or_else(|| unfit(step));
    match step {
        Step::PutBack => {
            let mut state = facts.remembered.cloned().ok_or_else(|| unfit(step))?;
            adopt(&mut state, facts);
            Ok(state)
        }
        Step::Begin => {
            let mut state = State {
                leaf: None,
                authority: authority(policy, now)?,
                next: None,
                published_since: None,
                leaves_until: None,
                old: Vec::new(),
            };
            adopt(&mut state, facts);
            if state.old.is_empty() {
                issue(&mut state, policy, now)?;
            }
            Ok(state)
        }
        Step::Rewrite => {
            let mut state = stored()?;
            adopt(&mut state, facts);
            Ok(state)
        }
        Step::Forget => {
            let mut state = stored()?;
            state.old.retain(|old| !old.is_over(now));
            Ok(state)
        }
        Step::Published => {
            let mut state = stored()?;
            state.published_since = Some(now);
            Ok(state)
        }
        Step::NotPublished => {
            let mut state = stored()?;
            state.published_since = None;
            Ok(state)
        }
        Step::Leaf => {
            let mut state = stored()?;
            issue(&mut state, policy, now)?;
            Ok(state)
        }
        Step::Introduce => {
            let mut state = stored()?;
            state.next = Some(authority(policy, now)?);
            state.published_since = None;
            Ok(state)
        }
        Step::Switch => {
            let mut state = stored()?;
            let next = state.next.take().ok_or_else(|| unfit(step))?;
            let former = std::mem::replace(&mut state.authority, next);
            let leaf = state.leaf.as_ref().map(|leaf| leaf.pair.not_after);
            // A process that does not see the new leaf still serves the former one.
            if let Some(until) = state.leaves_until.max(leaf) {
                state.old.push(Old {
                    root: former.root,
                    until,
                });
            }
            state.leaves_until = None;
            issue(&mut state, policy, now)?;
            Ok(state)
        }
    }
}

fn authority(policy: &Policy, now: Timestamp) -> Result<Signer, IssueError> {
    // The name is unique, so that clients find the authority that issued a certificate.
    let name = format!("berth webhook CA {}", now.as_millisecond());
    let authority = Authority::new(&name, policy.ca_validity, now)?;
    Signer::new(authority).map_err(|problem| IssueError::Cryptography {
        subject: name,
        reason: problem.to_string(),
    })
}

fn issue(state: &mut State, policy: &Policy, now: Timestamp) -> Result<(), IssueError> {
    let names: Vec<_> = policy.dns_names.iter().map(String::as_str).collect();
    let signer = &state.authority.authority;
    let issued = signer.leaf(&names, &policy.ip_addresses, policy.leaf_validity, now)?;
    let leaf = Leaf::new(&issued, issued.not_before.max(now)).map_err(|error| {
        IssueError::Cryptography {
            subject: names.first().copied().unwrap_or("an address").to_owned(),
            reason: error.to_string(),
        }
    })?;
    state.leaves_until = state.leaves_until.max(Some(leaf.pair.not_after));
    state.leaf = Some(leaf);
    Ok(())
}

/// Keeps all published authorities for the validity of a leaf: another process may serve a certificate that only they
/// verify.
fn adopt(state: &mut State, facts: &Facts<'_>) {
    let Some(published) = facts.published else {
        return;
    };
    let until = after(facts.now, facts.policy.leaf_validity);
    state.adopt(published.roots(), until, facts.now);
}

fn unfit(step: Step) -> IssueError {
    IssueError::Cryptography {
        subject: "the gate".to_owned(),
        reason: format!("the state that step {step:?} starts from is missing"),
    }
}
