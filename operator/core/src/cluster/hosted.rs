//! What is due for an agent that runs on this cluster and manages another one.
//!
//! # Guarantees
//! - Nothing is written to the managed cluster before the finalizer says that something is there to clean up.
//! - An agent that runs goes on while its managed cluster cannot be reached.
//! - A managed cluster that is away for five minutes does not hold up the removal, nor does one whose kubeconfig is gone; one that refuses the
//!   kubeconfig does, since it is there.

use std::time::Duration;

use berth_api::Now;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::choice::Choice;
use super::facts::{Facts, subject};
use super::found::{Managed, Outcome, Task};
use super::removal::clear_agent;
use super::secret::{AGENT_SECRETS, MANAGED_SECRET, secret_name};
use super::status::{Applied, report};
use crate::credentials::Unprepared;
use crate::decision::{Decision, Subject};
use crate::names::{AWAY_SINCE, HOSTED_FINALIZER};
use crate::objects::{Id, Kind, Stored};

/// How long a managed cluster may be away before what is there is left.
const GRACE: Duration = Duration::from_secs(300);

/// Whether the agent can be installed.
pub(super) enum Gate<'a> {
    /// Not yet: this is due.
    Due(Decision),
    /// It can, and this is to be reported when all here is as it should be.
    Open(Applied<'a>),
}

/// Decides whether the agent can be installed: its managed cluster has what it needs, and there are credentials for it.
pub(super) fn gate<'a>(facts: &Facts<'a>, choice: &Choice, now: Now) -> Gate<'a> {
    let subject = subject(facts.klusterlet);
    if away_since(&subject, now).is_some() {
        return Gate::Due(set_away(&subject, Value::Null));
    }
    let credentials = Id {
        kind: Kind::Secret,
        namespace: choice.namespace.clone(),
        name: secret_name(choice.is_single).to_owned(),
    };
    let has_finalizer = subject.has_finalizer(HOSTED_FINALIZER);
    let is_installed = has_finalizer && facts.stored.contains_key(&credentials);
    let task = match has_finalizer {
        true => Task::Install,
        false => Task::Prepare,
    };
    let managed = facts.managed.filter(|it| it.task == task);
    let applied = match managed {
        None if is_installed => Applied::Unprepared,
        None => return Gate::Due(Decision::default()),
        Some(Managed { ready: Ok(_), .. }) if task == Task::Prepare => {
            return Gate::Due(subject.hold(HOSTED_FINALIZER));
        }
        Some(managed) => match &managed.outcome {
            Outcome::Done => Applied::Done,
            Outcome::Failed(failures) => Applied::Failed(failures),
            _ => Applied::Unprepared,
        },
    };
    match applied {
        Applied::Done => Gate::Open(applied),
        _ if is_installed => Gate::Open(applied),
        _ => Gate::Due(report(facts, applied, None, now)),
    }
}

/// What is due until nothing is left on the managed cluster. `None`: nothing is, or it is given up.
pub(super) fn leave(facts: &Facts<'_>, now: Now) -> Option<Decision> {
    let subject = subject(facts.klusterlet);
    if !subject.has_finalizer(HOSTED_FINALIZER) {
        return None;
    }
    let waits = |what: &str| Some(report(facts, Applied::Removing(what), None, now));
    let here = Some(subject.name());
    if let Some((writes, what)) = clear_agent(facts.klusterlet, facts.stored, here, now) {
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
    let since = away_since(&subject, now);
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

/// What is due when the managed cluster has been left for another mode: its credentials go.
pub(super) fn left(facts: &Facts<'_>) -> Decision {
    let subject = subject(facts.klusterlet);
    let why = "the agent is elsewhere now";
    let secrets = credentials(facts).filter(|(_, it)| !it.is_deleting());
    let writes: Vec<_> = secrets
        .map(|(id, it)| subject.delete(id, it, why))
        .collect();
    match writes.is_empty() {
        true => subject.release(&[HOSTED_FINALIZER]),
        false => Decision::of_objects(writes),
    }
}

/// The Secrets with credentials of agents for the managed cluster.
pub(super) fn credentials<'a>(facts: &Facts<'a>) -> impl Iterator<Item = (&'a Id, &'a Stored)> {
    let name = subject(facts.klusterlet).name();
    facts.stored.iter().filter(move |(id, _)| {
        let is_credentials = id.kind == Kind::Secret && AGENT_SECRETS.contains(&&*id.name);
        is_credentials && id.namespace == name
    })
}

/// Since when the managed cluster is away. What is no time, or is in the future, counts as unset.
fn away_since(subject: &Subject<'_>, now: Now) -> Option<Timestamp> {
    let annotations = subject.metadata.annotations.as_ref()?;
    let since: Timestamp = annotations.get(AWAY_SINCE)?.parse().ok()?;
    (since <= now.wall).then_some(since)
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
