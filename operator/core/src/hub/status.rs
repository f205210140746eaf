//! The status of a ClusterManager. The types, reasons and texts of OCM's conditions are OCM's: `clusteradm` and dashboards read them.

use std::collections::BTreeMap;

use berth_api::conditions::{FALSE, TRUE};
use berth_api::operator::{ClusterManager, ClusterManagerMode, ClusterManagerStatus};
use berth_api::{Now, conditions};
use berth_manifests::HUB_NAMESPACE;

use super::choice::Choice;
use super::decide::{deployment, name_of};
use super::migration::former;
use super::render::{GATE, Objects, deployments};
use crate::decision::Failure;
use crate::objects::{Id, Kind, Stored};
use crate::said::{Said, generation, ignored, related, set, shown};

/// What became of the objects.
#[derive(Clone, Debug)]
pub(super) enum Applied<'a> {
    /// They are as they should be.
    Done,
    /// These could not be written.
    Failed(&'a [Failure]),
    /// Another ClusterManager has the hub.
    AnotherExists(&'a str),
    /// Names that are made of its name would be too long: it may have this many bytes.
    NameTooLong(usize),
    /// Its mode is not supported.
    ModeNotSupported(&'a str),
    /// Its mode was this one, and cannot be changed.
    ModeChanged(ClusterManagerMode),
    /// The namespace of its name is that of something else.
    NameReserved(&'a str),
    /// Nobody says where the hub reaches the gate.
    NoAddress,
    /// The hub, which is another cluster, cannot be reached.
    Unreachable(&'a str),
    /// Another ClusterManager wrote what is on the hub, which is another cluster.
    AnotherHasTheHub(&'a str),
    /// It is being removed, and waits for this.
    Removing(&'a str),
}

/// What a status says.
#[derive(Clone, Debug)]
pub(super) struct Report<'a> {
    pub(super) applied: Applied<'a>,
    /// Of the Deployments.
    pub(super) namespace: &'a str,
    pub(super) choice: Option<&'a Choice>,
    pub(super) objects: Option<&'a Objects>,
    pub(super) stored: &'a BTreeMap<Id, Stored>,
    pub(super) unmigrated: &'a [Failure],
}

/// The status. It equals the stored one if nothing of it changes.
pub(super) fn status(
    manager: &ClusterManager,
    report: &Report<'_>,
    now: Now,
) -> ClusterManagerStatus {
    let mut status = manager.status.clone().unwrap_or_default();
    let name = name_of(manager);
    let mut said = vec![applied(&report.applied, report.namespace != HUB_NAMESPACE)];
    if let Some(choice) = report.choice {
        said.extend(ignored(&choice.ignored));
        said.push(progressing(name, report));
        let [controller, gate] = deployments(name);
        said.push(registration(&[&controller, &gate], report));
        said.push(placement(&controller, report));
        said.extend(migration(manager, report));
    }
    set(
        &mut status.conditions,
        said,
        manager.metadata.generation,
        now,
    );
    if let (Applied::Done, Some(objects)) = (&report.applied, report.objects) {
        status.observed_generation = manager.metadata.generation;
        let written = objects.ids().filter(|id| report.stored.contains_key(id));
        status.related_resources = written.map(related).collect();
        let generations = deployments(name).into_iter().filter_map(|name| {
            let (id, stored) = deployment(report.stored, report.namespace, &name)?;
            Some(generation(id, stored.generation))
        });
        status.generations = generations.collect();
    }
    status
}

fn applied(applied: &Applied<'_>, is_hosted: bool) -> Said<'static> {
    const APPLIED: &str = conditions::operator::APPLIED;
    let failed = |reason, message| (APPLIED, FALSE, reason, message);
    match applied {
        Applied::Done => (
            APPLIED,
            TRUE,
            "ClusterManagerApplied",
            "Components of cluster manager are applied".to_owned(),
        ),
        Applied::Failed(failures) => failed(reason(failures, is_hosted), shown(failures)),
        Applied::AnotherExists(name) => failed(
            "AnotherClusterManager",
            format!(
                "the hub is that of the ClusterManager {name}, which is older: delete one of the two"
            ),
        ),
        Applied::NameTooLong(longest) => failed(
            "NameTooLong",
            format!(
                "the name has more than {longest} characters, and Deployments are named after it: create a ClusterManager with a shorter name"
            ),
        ),
        Applied::ModeNotSupported(mode) => failed(
            "ModeNotSupported",
            format!(
                "spec.deployOption.mode {mode} is not supported: set Default or Hosted"
            ),
        ),
        Applied::ModeChanged(before) => {
            let before = before.as_str();
            failed(
                "ModeChanged",
                format!(
                    "the hub was installed with spec.deployOption.mode {before}, which cannot be changed: set {before} again, or delete the ClusterManager and create it anew"
                ),
            )
        }
        Applied::NameReserved(name) => failed(
            "NameReserved",
            format!(
                "in mode Hosted the components run in the namespace of the ClusterManager's name, and {name} is that of something else: create one with another name"
            ),
        ),
        Applied::NoAddress => failed(
            "AddressMissing",
            "spec.deployOption.hosted.registrationWebhookConfiguration.address is not set: it says where the API server of the hub reaches the gate"
                .to_owned(),
        ),
        Applied::Unreachable(why) => failed("HubUnreachable", (*why).to_owned()),
        Applied::AnotherHasTheHub(name) => failed(
            "AnotherClusterManager",
            format!(
                "on the hub, Service {HUB_NAMESPACE}/{GATE} is that of a ClusterManager {name}: delete one of the two; if that one is gone, delete the Service"
            ),
        ),
        Applied::Removing(what) => failed(
            "ClusterManagerRemoving",
            format!("the hub is being removed, and waits for {what}"),
        ),
    }
}

/// OCM's reasons, by what failed.
fn reason(failures: &[Failure], is_hosted: bool) -> &'static str {
    match failures.first().map(|it| it.kind) {
        Some(Kind::Secret) if is_hosted => "ServiceAccountSyncFailed",
        Some(Kind::Definition) => "CRDApplyFailed",
        Some(Kind::Deployment) => "RuntimeResourceApplyFailed",
        Some(Kind::MutatingWebhooks | Kind::ValidatingWebhooks) => "WebhookApplyFailed",
        _ => "HubResourceApplyFailed",
    }
}

fn progressing(name: &str, report: &Report<'_>) -> Said<'static> {
    let stored = report.stored;
    const TYPE: &str = conditions::operator::PROGRESSING;
    let rolling = deployments(name).into_iter();
    let rolling: Vec<_> = rolling
        .filter(|it| {
            deployment(stored, report.namespace, it).is_none_or(|(_, it)| !it.rollout.is_done())
        })
        .collect();
    let is_guarded = report.objects.is_none_or(|it| {
        let mut guards = it.guards.iter().filter_map(Id::of);
        guards.all(|id| stored.contains_key(&id))
    });
    if rolling.is_empty() && !is_guarded {
        let message = "the webhook configurations wait until the gate has its certificate";
        return (
            TYPE,
            TRUE,
            "ClusterManagerDeploymentRolling",
            message.to_owned(),
        );
    }
    if rolling.is_empty() {
        return (
            TYPE,
            FALSE,
            "ClusterManagerUpToDate",
            "Components of cluster manager are up to date".to_owned(),
        );
    }
    let message = format!("Deployments {} is still rolling", rolling.join(","));
    (TYPE, TRUE, "ClusterManagerDeploymentRolling", message)
}

fn registration(names: &[&str], report: &Report<'_>) -> Said<'static> {
    let unavailable = names.iter().find_map(|it| unavailable(it, report));
    said(
        report.namespace,
        conditions::operator::HUB_REGISTRATION_DEGRADED,
        unavailable,
        [
            "GetRegistrationDeploymentFailed",
            "UnavailableRegistrationPod",
            "RegistrationFunctional",
        ],
        "registration",
        "Registration is managing credentials",
    )
}

/// Placement is a part of the controller.
fn placement(name: &str, report: &Report<'_>) -> Said<'static> {
    said(
        report.namespace,
        conditions::operator::HUB_PLACEMENT_DEGRADED,
        unavailable(name, report),
        [
            "GetPlacementDeploymentFailed",
            "UnavailablePlacementPod",
            "PlacementFunctional",
        ],
        "placement",
        "Placement is scheduling placement decisions",
    )
}

/// Whether all objects are stored in versions that the hub has, on one where that was not so.
fn migration(manager: &ClusterManager, report: &Report<'_>) -> Option<Said<'static>> {
    const TYPE: &str = conditions::operator::MIGRATION_SUCCEEDED;
    let due: Vec<_> = former(name_of(manager), report.stored).collect();
    let status = manager.status.as_ref();
    let mut before = status.into_iter().flat_map(|it| &it.conditions);
    if due.is_empty() {
        let message = "all objects are stored in versions that the hub has".to_owned();
        let was_due = before.any(|it| it.type_ == TYPE);
        return was_due.then_some((TYPE, TRUE, "StorageVersionMigrationSucceed", message));
    }
    let due: Vec<_> = due.iter().map(|(it, _)| it.shown()).collect();
    let due = due.join("; ");
    Some(match report.unmigrated {
        [] => (TYPE, FALSE, "StorageVersionMigrationProcessing", due),
        failures => {
            let message = format!("{}; {due}", shown(failures));
            (TYPE, FALSE, "StorageVersionMigrationFailed", message)
        }
    })
}

/// A Deployment that does not run as it should: its name, and how many replicas are missing, or `None` if all of it is.
type Unavailable = (String, Option<i64>);

fn unavailable(name: &str, report: &Report<'_>) -> Option<Unavailable> {
    let Some((_, deployment)) = deployment(report.stored, report.namespace, name) else {
        return Some((name.to_owned(), None));
    };
    let missing = deployment.rollout.replicas - deployment.rollout.available;
    (missing > 0).then(|| (name.to_owned(), Some(missing)))
}

fn said(
    namespace: &str,
    type_: &'static str,
    unavailable: Option<Unavailable>,
    [absent, missing, functional]: [&'static str; 3],
    component: &str,
    works: &str,
) -> Said<'static> {
    match unavailable {
        None => (type_, FALSE, functional, works.to_owned()),
        Some((name, None)) => (
            type_,
            TRUE,
            absent,
            format!(
                "Failed to get {component} deployment {namespace:?} {name:?}: it does not exist"
            ),
        ),
        Some((name, Some(count))) => (
            type_,
            TRUE,
            missing,
            format!(
                "{count} of requested instances are unavailable of {component} deployment {namespace:?} {name:?}"
            ),
        ),
    }
}

/// Returns whether the components of a ClusterManager whose hub is another cluster run, and guard the hub.
#[must_use]
pub fn is_complete(name: &str, stored: &BTreeMap<Id, Stored>) -> bool {
    let own = || (stored.iter()).filter(|(_, it)| it.created_by.as_deref() == Some(name));
    let runs = |it: String| {
        let found = deployment(stored, name, &it);
        found.is_some_and(|(_, it)| it.rollout.is_done())
    };
    deployments(name).into_iter().all(runs)
        && own().any(|(id, _)| id.kind.is_guard())
        && former(name, stored).next().is_none()
}
