//! What is due for a ClusterManager.

use std::collections::{BTreeMap, BTreeSet};

use berth_api::Now;
use berth_api::operator::{ClusterManager, ClusterManagerMode};
use berth_api::plan::Write;
use serde_json::{Value, json};

use super::choice::{Choice, Settings, choice};
use super::definitions::{bundle, converts_elsewhere, definition, with_bundle};
use super::hosted::{Hosting, rival};
use super::migration::{Migration, former};
use super::place::{HUB_KUBECONFIG, has_hub_here, is_elsewhere, namespace, was_elsewhere};
use super::render::{Objects, Renderer};
use super::status::{Applied, Report, status};
use super::{RECONCILED, RECONCILER, removal};
use crate::decision::{Decision, Failure, Subject, are_rolled_out};
use crate::names::{CLUSTER_MANAGER_FINALIZER, RUNS_ELSEWHERE};
use crate::objects::{Id, Kind, Stored};
use crate::pull::is_copy;
use crate::spec::is_reserved;

/// The longest name: the name of a Deployment is the value of a label.
const LONGEST_NAME: usize = 63 - "-registration-controller".len();

/// What decides about a ClusterManager.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The ClusterManager.
    pub manager: &'a ClusterManager,
    /// An older ClusterManager, which has the hub.
    pub elder: Option<&'a str>,
    /// The number of nodes of the control plane; 0 if there are none to see.
    pub nodes: usize,
    /// All objects that have the label of a ClusterManager.
    pub stored: &'a BTreeMap<Id, Stored>,
    /// The settings of the operator.
    pub settings: &'a Settings,
    /// The writes of the last decision that failed.
    pub failures: &'a [Failure],
    /// What kept objects from being written anew: see [`migrations`].
    pub unmigrated: &'a [Failure],
    /// Of a hub that is another cluster. Then the objects are those of both.
    pub hosted: Option<Hosting<'a>>,
}

/// Decides what is due.
#[must_use]
pub fn decide(facts: &Facts<'_>, renderer: &mut Renderer, now: Now) -> Decision {
    Decision {
        again: subject(facts.manager).waits(facts.stored, now),
        ..decide_now(facts, renderer, now)
    }
}

fn decide_now(facts: &Facts<'_>, renderer: &mut Renderer, now: Now) -> Decision {
    let manager = facts.manager;
    let subject = subject(manager);
    if subject.is_deleting() {
        return match own_refusal(manager) {
            // Another operator installed it, wherever, and has to clean up there.
            Some(refusal @ Applied::ModeNotSupported(_))
                if subject.has_finalizer(CLUSTER_MANAGER_FINALIZER) =>
            {
                report(facts, refusal, None, now)
            }
            _ => removal::decide(facts, now),
        };
    }
    if let Some(refusal) = refusal(facts) {
        return report(facts, refusal, None, now);
    }
    if facts.hosted.is_some() && !was_elsewhere(manager) {
        // Both at once: who has the finalizer alone got it from OCM's operator, which may have written something there.
        let metadata = json!({
            "finalizers": subject.held(CLUSTER_MANAGER_FINALIZER), "annotations": {RUNS_ELSEWHERE: "true"},
        });
        return subject.patch(None, json!({"metadata": metadata}));
    }
    if !subject.has_finalizer(CLUSTER_MANAGER_FINALIZER) {
        return subject.hold(CLUSTER_MANAGER_FINALIZER);
    }
    let choice = chosen(facts);
    let objects = renderer.render(&choice, name_of(manager));
    let is_rolled_out = are_rolled_out(facts.stored, &objects.workloads);
    let bundle = bundle(facts.stored);
    let objects = wanted(facts, objects, is_rolled_out, bundle.as_deref());
    let due = due(facts, &objects, is_rolled_out && bundle.is_some(), now);
    match (due, facts.failures) {
        (due, []) if !due.is_empty() => Decision::of_objects(due),
        (_, []) => report(facts, Applied::Done, Some((&choice, &objects)), now),
        (_, failures) => report(
            facts,
            Applied::Failed(failures),
            Some((&choice, &objects)),
            now,
        ),
    }
}

/// Reports the failures of [`Facts`], and decides nothing else: not all is known that decides.
#[must_use]
pub fn report_failures(facts: &Facts<'_>, now: Now) -> Decision {
    report(facts, Applied::Failed(facts.failures), None, now)
}

/// Why this ClusterManager gets no hub, whatever others there are.
fn own_refusal(manager: &ClusterManager) -> Option<Applied<'_>> {
    if name_of(manager).len() > LONGEST_NAME {
        return Some(Applied::NameTooLong(LONGEST_NAME));
    }
    let option = &manager.spec.deploy_option;
    match &option.mode {
        ClusterManagerMode::Default => None,
        ClusterManagerMode::Hosted => {
            let name = name_of(manager);
            let servers = option.hosted.as_ref();
            let gate = servers.and_then(|it| it.registration_webhook_configuration.as_ref());
            let has_address = gate.is_some_and(|it| !it.address.is_empty());
            if is_reserved(name) {
                Some(Applied::NameReserved(name))
            } else {
                (!has_address).then_some(Applied::NoAddress)
            }
        }
        other => Some(Applied::ModeNotSupported(other.as_str())),
    }
}

/// Why nothing is done for a ClusterManager.
fn refusal<'a>(facts: &Facts<'a>) -> Option<Applied<'a>> {
    let uid = facts.manager.metadata.uid.as_deref();
    let rival = facts.hosted.and_then(|_| rival(uid, facts.stored));
    own_refusal(facts.manager)
        .or(changed_mode(facts))
        .or(facts.elder.map(Applied::AnotherExists))
        .or(rival.map(Applied::AnotherHasTheHub))
}

/// Why nothing is done for a ClusterManager whose mode was changed: what it had is not moved.
fn changed_mode<'a>(facts: &Facts<'a>) -> Option<Applied<'a>> {
    let is_hosted = facts.manager.spec.deploy_option.mode == ClusterManagerMode::Hosted;
    let before = match facts.hosted {
        Some(_) if !is_hosted => ClusterManagerMode::Hosted,
        None if is_hosted => ClusterManagerMode::Default,
        _ => return None,
    };
    Some(Applied::ModeChanged(before))
}

/// Reports that the hub cannot be reached.
#[must_use]
pub fn unreachable(facts: &Facts<'_>, why: &str, now: Now) -> Decision {
    let subject = subject(facts.manager);
    if !subject.is_deleting() {
        let refusal = own_refusal(facts.manager).or(changed_mode(facts));
        return report(
            facts,
            refusal.unwrap_or(Applied::Unreachable(why)),
            None,
            now,
        );
    }
    if !subject.has_finalizer(CLUSTER_MANAGER_FINALIZER) {
        // Nothing was written there.
        return Decision::default();
    }
    let what = format!(
        "the hub: {why}. Put a kubeconfig that works into the Secret {}/{HUB_KUBECONFIG}, or take the finalizer {CLUSTER_MANAGER_FINALIZER} away to leave what is there",
        subject.name()
    );
    report(facts, Applied::Removing(&what), None, now)
}

/// Returns whether a ClusterManager can have this cluster as its hub: of those that can, the oldest has it. One that asks for another one has it
/// still.
#[must_use]
pub fn can_have_a_hub(manager: &ClusterManager, stored: &BTreeMap<Id, Stored>) -> bool {
    let has_asked = !is_elsewhere(manager) && own_refusal(manager).is_none();
    has_asked || has_hub_here(manager, stored)
}

/// Returns whether the components of a hub that is another cluster are to have credentials for it.
#[must_use]
pub fn wants_credentials(facts: &Facts<'_>) -> bool {
    has_its_hub(facts) && was_elsewhere(facts.manager)
}

/// What is to be written anew: not while former versions are served, in which something new may come.
#[must_use]
pub fn migrations(facts: &Facts<'_>) -> Vec<Migration> {
    if !has_its_hub(facts) {
        return Vec::new();
    }
    let former = former(name_of(facts.manager), facts.stored);
    let due = former.filter(|(_, is_served)| !is_served);
    due.map(|(migration, _)| migration).collect()
}

/// Returns whether a hub is kept for a ClusterManager: nothing refuses it, and it is not removed.
fn has_its_hub(facts: &Facts<'_>) -> bool {
    let subject = subject(facts.manager);
    !subject.is_deleting()
        && refusal(facts).is_none()
        && subject.has_finalizer(CLUSTER_MANAGER_FINALIZER)
}

/// What a ClusterManager asks for.
fn chosen(facts: &Facts<'_>) -> Choice {
    let mut choice = choice(facts.manager, facts.nodes, facts.settings);
    if let (Some(it), Some(hosting)) = (&mut choice.hosted, facts.hosted) {
        it.server = hosting.server.to_owned();
    }
    choice
}

/// The names of the objects that a ClusterManager asks for.
#[must_use]
pub fn asked_for(facts: &Facts<'_>, renderer: &mut Renderer) -> Vec<Id> {
    let manager = facts.manager;
    let refusal = own_refusal(manager).or(changed_mode(facts));
    if subject(manager).is_deleting() || facts.elder.is_some() || refusal.is_some() {
        return Vec::new();
    }
    let choice = chosen(facts);
    renderer.render(&choice, name_of(manager)).ids().collect()
}

pub(super) fn name_of(manager: &ClusterManager) -> &str {
    subject(manager).name()
}

/// A ClusterManager, as one of those that operators decide about.
pub(super) fn subject(manager: &ClusterManager) -> Subject<'_> {
    Subject {
        reconciler: RECONCILER,
        resource: RECONCILED,
        metadata: &manager.metadata,
    }
}

/// The objects as they should be now.
fn wanted(
    facts: &Facts<'_>,
    mut objects: Objects,
    is_rolled_out: bool,
    bundle: Option<&str>,
) -> Objects {
    let definitions = std::mem::take(&mut objects.definitions).into_iter();
    let definitions = definitions.filter_map(|it| {
        let stored = Id::of(&it).and_then(|id| facts.stored.get(&id));
        definition(it, stored, is_rolled_out, bundle)
    });
    objects.definitions = definitions.collect();
    // The pods of before serve until the others run.
    let services = objects.foundation.iter_mut();
    for service in services.filter(|it| it["kind"] == "Service" && !is_rolled_out) {
        let stored = Id::of(service).and_then(|id| facts.stored.get(&id));
        let ports = stored.map(|it| it.object()["spec"]["ports"].take());
        if let Some(ports) = ports.filter(|it| !it.is_null()) {
            service["spec"]["ports"] = ports;
        }
    }
    for guard in &mut objects.guards {
        let stored = Id::of(guard).and_then(|id| facts.stored.get(&id));
        with_bundle(guard, stored, bundle);
    }
    objects
}

pub(super) fn deployment<'a>(
    stored: &'a BTreeMap<Id, Stored>,
    namespace: &str,
    name: &str,
) -> Option<(&'a Id, &'a Stored)> {
    stored.get_key_value(&Id {
        kind: Kind::Deployment,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}

/// The writes of the first step that is not done. `is_ready`: the Deployments run, and the authority of the gate is known.
fn due(facts: &Facts<'_>, objects: &Objects, is_ready: bool, now: Now) -> Vec<Write> {
    let subject = subject(facts.manager);
    let is_namespace = |it: &&Value| it["kind"] == "Namespace";
    let namespaces: Vec<_> = objects.foundation.iter().filter(is_namespace).collect();
    let definitions = objects.definitions.iter().collect();
    let (foundation, workloads) = (&objects.foundation, &objects.workloads);
    // An API server lets nobody bind a role that it does not know.
    let is_bound = |it: &&Value| Kind::of(it).is_some_and(Kind::is_binding);
    let unbound = foundation.iter().filter(|it| !is_bound(it));
    // Elsewhere the pods would wait for the credentials of their accounts.
    let can_run = facts.hosted.is_none_or(|it| it.has_credentials);
    let workloads = workloads.iter().filter(|_| can_run);
    for step in [
        definitions,
        namespaces,
        unbound.collect(),
        foundation.iter().collect(),
        workloads.collect(),
    ] {
        let writes = subject.due(facts.stored, step);
        if !writes.is_empty() {
            return writes;
        }
    }
    // What a switch turned off goes at once: a NetworkPolicy may be what keeps the pods from running.
    let writes = unwanted(facts, objects, Stored::is_applied, now);
    if !writes.is_empty() {
        return writes;
    }
    // The certificate keeper, a part of the controller, publishes the authority before the gate gets its certificate. What has been written
    // once is put back at any time.
    let guards = objects.guards.iter().filter(|it| {
        let stored = Id::of(it).and_then(|id| facts.stored.get(&id));
        is_ready || stored.is_some_and(Stored::is_applied)
    });
    let writes = subject.due(facts.stored, guards);
    if !writes.is_empty() || !is_ready || converts_elsewhere(facts.stored) {
        return writes;
    }
    unwanted(facts, objects, |_| true, now)
}

/// The objects with the label of this ClusterManager that it does not ask for: of OCM's operator, or of a switch that was turned off.
fn unwanted(
    facts: &Facts<'_>,
    objects: &Objects,
    is_meant: impl Fn(&Stored) -> bool,
    now: Now,
) -> Vec<Write> {
    let wanted: BTreeSet<Id> = objects.ids().collect();
    let subject = subject(facts.manager);
    let mut gone = subject.own(facts.stored, |id| !wanted.contains(id));
    gone.retain(|(id, stored)| {
        let is_pruned = id.kind.is_pruned() && is_meant(stored);
        is_pruned || is_copy(id, stored)
    });
    // Webhook configurations before the servers that they name.
    let (guards, others): (Vec<_>, Vec<_>) =
        gone.into_iter().partition(|(id, _)| id.kind.is_guard());
    let why = "the ClusterManager does not ask for it";
    match subject.clear(&guards, why) {
        Some((writes, _)) => writes,
        None => subject.prune(others, now, why),
    }
}

/// Writes the status, unless it is like this.
pub(super) fn report(
    facts: &Facts<'_>,
    applied: Applied<'_>,
    choice: Option<(&Choice, &Objects)>,
    now: Now,
) -> Decision {
    let report = Report {
        applied,
        namespace: namespace(facts.manager),
        choice: choice.map(|(choice, _)| choice),
        objects: choice.map(|(_, objects)| objects),
        stored: facts.stored,
        unmigrated: facts.unmigrated,
    };
    let stored = facts.manager.status.clone().unwrap_or_default();
    let new = status(facts.manager, &report, now);
    if new == stored {
        return Decision::default();
    }
    subject(facts.manager).report(
        &new.conditions,
        &new.generations,
        &new.related_resources,
        new.observed_generation,
    )
}
