//! The status of a Klusterlet.

use std::collections::BTreeMap;

use berth_api::Now;
use berth_api::conditions::operator::{
    APPLIED, AVAILABLE, READY_TO_APPLY, REGISTRATION_DESIRED_DEGRADED, WORK_DESIRED_DEGRADED,
};
use berth_api::conditions::{FALSE, TRUE};
use berth_api::operator::{Klusterlet, KlusterletStatus};

use super::choice::Choice;
use super::connection::Connection;
use super::facts::{Facts, subject};
use super::found::Managed;
use super::place::is_hosted;
use super::render::{Rendered, agent_deployment};
use crate::credentials::Unprepared;
use crate::decision::{Decision, Failure};
use crate::names::HOSTED_FINALIZER;
use crate::objects::{Id, Kind, Stored};
use crate::said::{Said, generation, ignored, related, set, shown};

/// What became of the objects.
#[derive(Clone, Copy, Debug)]
pub(super) enum Applied<'a> {
    /// They are as they should be.
    Done,
    /// These could not be written.
    Failed(&'a [Failure]),
    /// Another Klusterlet has the namespace.
    AnotherExists(&'a str),
    /// The name is the value of a label, which may have this many bytes.
    NameTooLong(usize),
    /// This namespace is another part's.
    NamespaceReserved(&'a str),
    /// Its mode is not supported.
    ModeNotSupported(&'a str),
    /// Its mode has the name as the agent's namespace, and this namespace is another part's.
    NameReserved(&'a str),
    /// The managed cluster cannot be reached, or not all is there that the agent needs.
    Unprepared,
    /// It is being removed, and waits for this.
    Removing(&'a str),
}

/// What a status says.
#[derive(Clone, Copy, Debug)]
struct Report<'a> {
    applied: Applied<'a>,
    choice: Option<&'a Choice>,
    rendered: Option<&'a Rendered>,
    managed: Option<&'a Managed>,
    stored: &'a BTreeMap<Id, Stored>,
    connection: Option<&'a Connection>,
}

/// Writes the status, unless it is like this.
pub(super) fn report(
    facts: &Facts<'_>,
    applied: Applied<'_>,
    choice: Option<(&Choice, &Rendered)>,
    now: Now,
) -> Decision {
    let report = Report {
        applied,
        choice: choice.map(|(choice, _)| choice),
        rendered: choice.map(|(_, rendered)| rendered),
        managed: facts.managed,
        stored: facts.stored,
        connection: facts.connection,
    };
    let stored = facts.klusterlet.status.clone().unwrap_or_default();
    let new = status(facts.klusterlet, &report, now);
    if new == stored {
        return Decision::default();
    }
    subject(facts.klusterlet).report(
        &new.conditions,
        &new.generations,
        &new.related_resources,
        new.observed_generation,
    )
}

/// The status. It equals the stored one if nothing of it changes.
fn status(klusterlet: &Klusterlet, report: &Report<'_>, now: Now) -> KlusterletStatus {
    let mut status = klusterlet.status.clone().unwrap_or_default();
    let has_other = is_hosted(klusterlet) || subject(klusterlet).has_finalizer(HOSTED_FINALIZER);
    if !has_other {
        status.conditions.retain(|it| it.type_ != READY_TO_APPLY);
    }
    let reason = report.connection.map(Connection::reason);
    let mut said: Vec<_> = applied(report.applied).into_iter().collect();
    said.extend(report.managed.filter(|_| has_other).map(ready));
    if let Some(choice) = report.choice {
        said.extend(ignored(&choice.ignored));
        let id = agent_deployment(klusterlet);
        let stored = report.stored.get(&id);
        said.push(available(&id, stored));
        // One agent does the work of both.
        for type_ in [REGISTRATION_DESIRED_DEGRADED, WORK_DESIRED_DEGRADED] {
            said.push(degraded(type_, &id, stored));
        }
        if let (Some(connection), Some(reason)) = (report.connection, &reason) {
            said.push(connection.said(reason));
        }
        if let (Applied::Done, Some(rendered)) = (report.applied, report.rendered) {
            status.observed_generation = klusterlet.metadata.generation;
            let written = rendered.here.ids();
            let written = written.filter(|id| report.stored.contains_key(id));
            let written = written.chain(rendered.there.ids());
            status.related_resources = written.map(related).collect();
            let generations = stored.map(|it| generation(&id, it.generation));
            status.generations = generations.into_iter().collect();
        }
    }
    set(
        &mut status.conditions,
        said,
        klusterlet.metadata.generation,
        now,
    );
    status
}

/// Whether the managed cluster can be reached, if it is not the one of the agent.
fn ready(managed: &Managed) -> Said<'static> {
    match &managed.ready {
        Ok(message) => (READY_TO_APPLY, TRUE, "KlusterletPrepared", message.clone()),
        Err(Unprepared { why, .. }) => (
            READY_TO_APPLY,
            FALSE,
            "KlusterletPrepareFailed",
            format!("Failed to build managed cluster clients: {why}"),
        ),
    }
}

/// `None`: the condition stays as it is.
fn applied(applied: Applied<'_>) -> Option<Said<'static>> {
    let failed = |reason, message| (APPLIED, FALSE, reason, message);
    Some(match applied {
        Applied::Unprepared => return None,
        Applied::Done => (
            APPLIED,
            TRUE,
            "KlusterletApplied",
            "Klusterlet Component Applied".to_owned(),
        ),
        Applied::Failed(failures) => failed(reason(failures), shown(failures)),
        Applied::AnotherExists(name) => failed(
            "AnotherKlusterlet",
            format!(
                "the namespace is that of the Klusterlet {name}: set another spec.namespace, or delete one of the two"
            ),
        ),
        Applied::NameTooLong(longest) => failed(
            "NameTooLong",
            format!(
                "the name has more than {longest} characters, and is the value of a label: create a Klusterlet with a shorter name"
            ),
        ),
        Applied::NamespaceReserved(namespace) => failed(
            "NamespaceReserved",
            format!(
                "spec.namespace {namespace} is for another part of Open Cluster Management, and would be deleted with the Klusterlet: choose another one"
            ),
        ),
        Applied::ModeNotSupported(mode) => failed(
            "ModeNotSupported",
            format!(
                "spec.deployOption.mode {mode} is not supported: use Default, Singleton, Hosted or SingletonHosted"
            ),
        ),
        Applied::NameReserved(namespace) => failed(
            "NameReserved",
            format!(
                "the agent would run in the namespace {namespace}, which is for others: in this mode it has the name of the Klusterlet, so create one with another name"
            ),
        ),
        Applied::Removing(what) => failed(
            "KlusterletRemoving",
            format!("the agent is being removed, and waits for {what}"),
        ),
    })
}

/// OCM's reasons, by what failed.
fn reason(failures: &[Failure]) -> &'static str {
    match failures.first().map(|it| it.kind) {
        Some(Kind::Definition) => "CRDApplyFailed",
        Some(Kind::Role | Kind::RoleBinding) => "ManagementClusterResourceApplyFailed",
        Some(Kind::Deployment) => "KlusterletApplyFailed",
        _ => "ManagedClusterResourceApplyFailed",
    }
}

fn available(id: &Id, stored: Option<&Stored>) -> Said<'static> {
    let (name, namespace) = (&id.name, &id.namespace);
    match stored.map(|it| it.rollout.available) {
        None => (AVAILABLE, FALSE, "GetDeploymentFailed", missing(id)),
        Some(available) if available <= 0 => (
            AVAILABLE,
            FALSE,
            "NoAvailablePods",
            format!(
                "{available} of requested instances are available of deployment {namespace:?} {name:?}"
            ),
        ),
        Some(_) => (
            AVAILABLE,
            TRUE,
            "KlusterletAvailable",
            format!("deployments are ready: {name}"),
        ),
    }
}

fn degraded(type_: &'static str, id: &Id, stored: Option<&Stored>) -> Said<'static> {
    let (name, namespace) = (&id.name, &id.namespace);
    let Some(rollout) = stored.map(|it| it.rollout) else {
        return (type_, TRUE, "GetDeploymentFailed", missing(id));
    };
    match rollout.replicas - rollout.available {
        count if count > 0 => (
            type_,
            TRUE,
            "UnavailablePods",
            format!(
                "{count} of requested instances are unavailable of deployment {namespace:?} {name:?}"
            ),
        ),
        _ => (
            type_,
            FALSE,
            "DeploymentsFunctional",
            format!("deployments replicas are desired: {}", rollout.replicas),
        ),
    }
}

fn missing(id: &Id) -> String {
    format!(
        "Failed to get deployment {:?} {:?}: it does not exist",
        id.namespace, id.name
    )
}
