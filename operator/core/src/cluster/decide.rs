//! What is due for a Klusterlet.

use std::collections::BTreeSet;

use berth_api::Now;
use berth_api::operator::Klusterlet;
use berth_api::plan::Write;
use berth_manifests::HUB_NAMESPACE;
use serde_json::Value;

use super::choice::{Choice, choice};
use super::connection::Connection;
use super::facts::{Facts, subject};
use super::hosted::{self, Gate};
use super::place::{is_hosted, managed_namespace, namespace, unknown_mode};
use super::removal;
use super::render::{ADDON_NAMESPACE, Rendered, Renderer, is_in_reach, of_other_mode, shared};
use super::secret::secret_name;
use super::status::{Applied, report};
use crate::decision::{Decision, Store, are_rolled_out};
use crate::names::{HOSTED_FINALIZER, KLUSTERLET_FINALIZER};
use crate::objects::{Id, Kind};
use crate::pull::is_copy;
use crate::spec::is_reserved;
use crate::versions::is_later;

/// The longest name: it is the value of a label.
const LONGEST_NAME: usize = 63;

/// Decides what is due.
#[must_use]
pub fn decide(facts: &Facts<'_>, renderer: &mut Renderer, now: Now) -> Decision {
    Decision {
        again: subject(facts.klusterlet).waits(facts.stored, now),
        ..decide_now(facts, renderer, now)
    }
}

fn decide_now(facts: &Facts<'_>, renderer: &mut Renderer, now: Now) -> Decision {
    let klusterlet = facts.klusterlet;
    let subject = subject(klusterlet);
    let refusal = own_refusal(klusterlet);
    if subject.is_deleting() {
        return removal::decide(facts, now);
    }
    if let Some(refusal) = refusal.or(facts.holder.map(Applied::AnotherExists)) {
        return report(facts, refusal, None, now);
    }
    if !subject.has_finalizer(KLUSTERLET_FINALIZER) {
        return subject.hold(KLUSTERLET_FINALIZER);
    }
    let choice = choice(klusterlet, facts.settings);
    let rendered = prepared(facts, &choice, renderer);
    let objects = &rendered.here;
    let mut applied = Applied::Done;
    if is_hosted(klusterlet) {
        // Where users put the kubeconfig.
        let places = subject.due(facts.stored, &objects.namespaces);
        if !places.is_empty() && facts.failures.is_empty() {
            return Decision::of_objects(places);
        }
        match hosted::gate(facts, &choice, now) {
            Gate::Due(decision) if facts.failures.is_empty() => return decision,
            Gate::Due(_) => {}
            Gate::Open(of_managed) => applied = of_managed,
        }
    } else if subject.has_finalizer(HOSTED_FINALIZER) {
        // The agent ran here for another cluster before.
        let left = hosted::leave(facts, now);
        return left.unwrap_or_else(|| hosted::left(facts));
    }
    let due = match facts.failures {
        [] => due(facts, &choice, &rendered, now),
        _ => Vec::new(),
    };
    if !due.is_empty() {
        return Decision::of_objects(due);
    }
    if !facts.failures.is_empty() {
        applied = Applied::Failed(facts.failures);
    } else if end_of_rivals(facts, &choice, now).is_some() {
        // Their pods have not ended yet.
        applied = Applied::Unprepared;
    }
    report(facts, applied, Some((&choice, &rendered)), now)
}

/// The objects that are wanted, without those of this cluster that are better left as they are.
fn prepared(facts: &Facts<'_>, choice: &Choice, renderer: &mut Renderer) -> Rendered {
    let name = subject(facts.klusterlet).name();
    let mut rendered = renderer.render(choice, name);
    let here = &mut rendered.here;
    here.definitions.retain(|it| unless_later(it, facts.stored));
    if choice.managed.is_some() {
        // A namespace that was there before is its owner's, with what is in it: it would be deleted with the Klusterlet.
        here.namespaces.retain(|wanted| {
            let stored = Id::of(wanted).and_then(|id| facts.stored.get(&id));
            stored.is_none_or(|it| it.created_by.as_deref() == Some(name))
        });
    }
    rendered
}

/// Returns whether a definition is wanted: one of a later version stays as it is.
pub(super) fn unless_later(definition: &Value, stored: &Store) -> bool {
    let stored = Id::of(definition).and_then(|id| stored.get(&id));
    !stored.is_some_and(|it| is_later(&it.object(), definition))
}

/// Reports the failures of [`Facts`], and decides nothing else: not all is known that decides.
#[must_use]
pub fn report_failures(facts: &Facts<'_>, now: Now) -> Decision {
    report(facts, Applied::Failed(facts.failures), None, now)
}

/// The names of the objects that a Klusterlet asks for, and that it does not share.
#[must_use]
pub fn asked_for(facts: &Facts<'_>, renderer: &mut Renderer) -> Vec<Id> {
    let klusterlet = facts.klusterlet;
    let subject = subject(klusterlet);
    if subject.is_deleting() || facts.holder.is_some() || own_refusal(klusterlet).is_some() {
        return Vec::new();
    }
    let choice = choice(klusterlet, facts.settings);
    let shared = shared();
    let rendered = renderer.render(&choice, subject.name());
    let ids = rendered.here.ids();
    ids.filter(|it| !shared.contains(it)).collect()
}

/// Returns whether a Klusterlet can have an agent: of those that can, the oldest of a namespace has it.
#[must_use]
pub fn can_have_an_agent(klusterlet: &Klusterlet) -> bool {
    own_refusal(klusterlet).is_none()
}

/// Why this Klusterlet gets no agent, whatever others there are.
fn own_refusal(klusterlet: &Klusterlet) -> Option<Applied<'_>> {
    if subject(klusterlet).name().len() > LONGEST_NAME {
        return Some(Applied::NameTooLong(LONGEST_NAME));
    }
    if let Some(mode) = unknown_mode(klusterlet) {
        return Some(Applied::ModeNotSupported(mode));
    }
    let reserved = [HUB_NAMESPACE, ADDON_NAMESPACE];
    let managed = managed_namespace(klusterlet);
    if reserved.contains(&managed) {
        return Some(Applied::NamespaceReserved(managed));
    }
    let namespace = namespace(klusterlet);
    (is_hosted(klusterlet) && is_reserved(namespace)).then_some(Applied::NameReserved(namespace))
}

/// The writes of the first step that is not done.
fn due(facts: &Facts<'_>, choice: &Choice, rendered: &Rendered, now: Now) -> Vec<Write> {
    let objects = &rendered.here;
    let subject = subject(facts.klusterlet);
    // What the agent can start without.
    let is_of_add_ons =
        |it: &&Value| it["metadata"]["namespace"] == ADDON_NAMESPACE || it["kind"] == "Secret";
    let (mut add_ons, foundation): (Vec<_>, Vec<_>) =
        objects.foundation.iter().partition(is_of_add_ons);
    let copies = copies(facts, choice);
    add_ons.extend(&copies);
    for step in [
        objects.definitions.iter().collect(),
        objects.namespaces.iter().collect(),
        foundation,
    ] {
        let writes = subject.due(facts.stored, step);
        if !writes.is_empty() {
            return writes;
        }
    }
    // The agents of the two modes use other Leases, and would not wait for each other.
    if let Some(writes) = end_of_rivals(facts, choice, now) {
        return writes;
    }
    let writes = subject.due(facts.stored, &objects.workloads);
    if !writes.is_empty() {
        return writes;
    }
    // After the Deployment: their namespace may be ending for long.
    let writes = subject.due(facts.stored, add_ons);
    if !writes.is_empty() || !are_rolled_out(facts.stored, &objects.workloads) {
        return writes;
    }
    unwanted(facts, choice, rendered, now)
}

/// What ends the agents of the other mode; `None`: there are none.
fn end_of_rivals(facts: &Facts<'_>, choice: &Choice, now: Now) -> Option<Vec<Write>> {
    let subject = subject(facts.klusterlet);
    let rivals = of_other_mode(subject.name(), choice.is_single);
    let rivals = subject.own(facts.stored, |id| {
        id.kind == Kind::Deployment && id.namespace == choice.namespace && rivals.contains(&id.name)
    });
    let why = "the Klusterlet asks for agents in another mode";
    subject.end(rivals, now, why).map(|(writes, _)| writes)
}

/// The credentials of the registry in other namespaces of add-ons.
fn copies(facts: &Facts<'_>, choice: &Choice) -> Vec<Value> {
    let spaces = facts.addon_spaces.iter();
    let others = spaces.filter(|it| **it != ADDON_NAMESPACE && **it != choice.namespace);
    let copies = others.filter_map(|it| choice.pull.as_ref()?.copy(it));
    copies.collect()
}

/// The objects with the label of this Klusterlet that it does not ask for: of OCM's operator, or of a namespace that it named before. The
/// latter stay until the agent has come to its hub: it may lack its bootstrap kubeconfig.
fn unwanted(facts: &Facts<'_>, choice: &Choice, rendered: &Rendered, now: Now) -> Vec<Write> {
    // The managed cluster may be this one.
    let is_here = facts.managed.is_none_or(|it| it.is_here);
    let there = rendered.there.ids().filter(|_| is_here);
    let wanted: BTreeSet<Id> = rendered.here.ids().chain(there).collect();
    let shared = shared();
    let subject = subject(facts.klusterlet);
    let is_connected = facts.connection.is_some_and(Connection::is_functional);
    let why = "the Klusterlet does not ask for it";
    let gone = subject.own(facts.stored, |id| {
        let is_elsewhere = !id.kind.is_cluster_scoped() && id.namespace != choice.namespace;
        let is_in_time = is_connected || !is_elsewhere || id.namespace == ADDON_NAMESPACE;
        let is_pruned = id.kind.is_pruned() || id.kind == Kind::Namespace && is_connected;
        let is_in_reach = is_in_reach(id) || id.namespace == subject.name();
        is_pruned && is_in_time && is_in_reach && !wanted.contains(id) && !shared.contains(id)
    });
    // Copies of what is not there any more. Those without a label are for the add-ons of all Klusterlets.
    let copies = facts.stored.iter().filter(|(id, stored)| {
        let is_own = stored.created_by.as_deref() == Some(subject.name());
        let is_of_add_ons =
            id.namespace == ADDON_NAMESPACE || facts.addon_spaces.contains(&id.namespace);
        let is_shared = stored.created_by.is_none() && is_of_add_ons && choice.pull.is_none();
        (is_own || is_shared) && is_copy(id, stored) && !wanted.contains(id)
    });
    // Credentials for the managed cluster that the agent of this mode does not use.
    let used = secret_name(choice.is_single);
    let credentials =
        hosted::credentials(facts).filter(|(id, _)| choice.managed.is_some() && id.name != used);
    let gone = gone.into_iter().chain(copies).chain(credentials);
    subject.prune(gone.collect(), now, why)
}
