//! What is due for an agent that runs on this cluster and manages another one.
//!
//! # Guarantees
//! - Nothing is written to the managed cluster before the finalizer says that something is there to clean up.
//! - An agent that runs goes on while its managed cluster cannot be reached.
//! - A managed cluster that is away for five minutes does not hold up the removal; one that refuses the kubeconfig does, since it is there.

use std::time::Duration;

use berth_api::Now;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::choice::Choice;
use super::facts::{Facts, subject};
use super::managed::{Outcome, Task, Unprepared};
use super::removal::clear_agent;
use super::secret::{MANAGED_SECRET, secret_name};
use super::status::{Applied, report};
use crate::decision::{Decision, Failure, Subject};
use crate::names::{AWAY_SINCE, HOSTED_FINALIZER};
use crate::objects::{Id, Kind};

/// How long a managed cluster may be away before what is there is left.
const GRACE: Duration = Duration::from_secs(300);

/// Whether the agent can be installed.
pub(super) enum Gate<'a> {
    /// Not yet: this is due.
    Due(Decision),
    /// These of the managed cluster's objects could not be written, which is to be reported.
    Open(&'a [Failure]),
}

/// Decides whether the agent can be installed: its managed cluster has what it needs, and there are credentials for it.
pub(super) fn gate<'a>(facts: &Facts<'a>, choice: &Choice, now: Now) -> Gate<'a> {
    let subject = subject(facts.klusterlet);
    if away_since(&subject).is_some() {
        return Gate::Due(set_away(&subject, Value::Null));
    }
    let credentials = Id {
        kind: Kind::Secret,
        namespace: choice.namespace.clone(),
        name: secret_name(choice.is_single).to_owned(),
    };
    let is_installed = facts.stored.contains_key(&credentials);
    let task = match subject.has_finalizer(HOSTED_FINALIZER) {
        true => Task::Install,
        false => Task::Prepare,
    };
    let Some(managed) = facts.managed.filter(|it| it.task == task) else {
        return match is_installed {
            true => Gate::Open(&[]),
            false => Gate::Due(Decision::default()),
        };
    };
    if managed.ready.is_err() && !is_installed {
        return Gate::Due(report(facts, Applied::Unprepared, None, now));
    }
    if task == Task::Prepare {
        return Gate::Due(subject.hold(HOSTED_FINALIZER));
    }
    match &managed.outcome {
        Outcome::Failed(failures) if is_installed => Gate::Open(failures),
        Outcome::Failed(failures) => Gate::Due(report(facts, Applied::Failed(failures), None, now)),
        Outcome::Done => Gate::Open(&[]),
        _ if is_installed => Gate::Open(&[]),
        _ => Gate::Due(report(facts, Applied::Unprepared, None, now)),
    }
}

/// What is due until nothing is left on the managed cluster. `None`: nothing is, or it is given up.
pub(super) fn leave(facts: &Facts<'_>, now: Now) -> Option<Decision> {
    let subject = subject(facts.klusterlet);
    if !subject.has_finalizer(HOSTED_FINALIZER) {
        return None;
    }
    let waits = |what: &str| Some(report(facts, Applied::Removing(what), None, now));
    if let Some((writes, what)) = clear_agent(facts.klusterlet, facts.stored, Some(subject.name()))
    {
        return match what {
            _ if !facts.failures.is_empty() => {
                Some(report(facts, Applied::Failed(facts.failures), None, now))
            }
            Some(what) if writes.is_empty() => waits(&what),
            _ => Some(Decision::of_objects(writes)),
        };
    }
    let Some(managed) = facts.managed.filter(|it| it.task == Task::Clean) else {
        return waits("what is on the managed cluster");
    };
    let since = away_since(&subject);
    match &managed.ready {
        Err(Unprepared { is_away: true, why }) => match since {
            None => Some(set_away(&subject, json!(whole(now.wall)))),
            Some(since) if now.wall.duration_since(since).unsigned_abs() >= GRACE => None,
            Some(_) => {
                let minutes = GRACE.as_secs() / 60;
                waits(&format!(
                    "the managed cluster, and leaves what is there if it is away for {minutes} minutes: {why}"
                ))
            }
        },
        _ if since.is_some() => Some(set_away(&subject, Value::Null)),
        Err(Unprepared { why, .. }) => waits(&format!(
            "the managed cluster: {why}. Put a kubeconfig that works into the Secret {}/{MANAGED_SECRET}, or take the finalizer {HOSTED_FINALIZER} away to leave what is there",
            subject.name()
        )),
        Ok(_) => match &managed.outcome {
            Outcome::Done => None,
            Outcome::Failed(failures) => Some(report(facts, Applied::Failed(failures), None, now)),
            Outcome::WaitsFor(what) => waits(&format!("{what} of the managed cluster")),
            Outcome::Nothing => waits("what is on the managed cluster"),
        },
    }
}

/// Since when the managed cluster is away. What is no time, or is in the future, counts as unset.
fn away_since(subject: &Subject<'_>) -> Option<Timestamp> {
    let annotations = subject.metadata.annotations.as_ref()?;
    annotations.get(AWAY_SINCE)?.parse().ok()
}

/// A time as OCM writes it: in seconds.
fn whole(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second())
        .unwrap_or(time)
        .to_string()
}

fn set_away(subject: &Subject<'_>, since: Value) -> Decision {
    let mut annotations = json!({});
    annotations[AWAY_SINCE] = since;
    subject.patch(None, json!({"metadata": {"annotations": annotations}}))
}
