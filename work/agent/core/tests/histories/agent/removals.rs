//! The removal of objects, one request after the other.

use std::sync::Arc;

use berth_api::work::{AppliedManifestResourceMeta, AppliedManifestWork};
use berth_work_agent_core::eviction::Departure;
use berth_work_agent_core::{Key, Reply};
use berth_work_core::{Removal, Removing, Response, Step};
use fastrand::Rng;

use super::passes::Passing;
use super::{Agent, What, verb};
use crate::World;

/// Objects that are being removed.
pub(super) struct Removals {
    objects: std::vec::IntoIter<AppliedManifestResourceMeta>,
    /// Name and UID of the AppliedManifestWork.
    name: String,
    owner: String,
    /// The present one, and the response to its last request.
    present: Option<(AppliedManifestResourceMeta, Removing)>,
    response: Option<Response>,
    /// What it needs next.
    step: Option<Step<Removal>>,
    pending: Vec<AppliedManifestResourceMeta>,
    /// A request had no usable response, and the API server was silent.
    error: Option<bool>,
    then: Then,
}

/// What follows.
pub(super) enum Then {
    /// They left the manifests.
    Pass(Passing),
    /// Their AppliedManifestWork is deleted.
    Depart(Arc<str>, Arc<AppliedManifestWork>, Departure),
}

impl Removals {
    pub(super) fn new(
        objects: Vec<AppliedManifestResourceMeta>,
        (name, owner): (String, String),
        then: Then,
    ) -> Self {
        let mut removals = Self {
            objects: objects.into_iter(),
            name,
            owner,
            present: None,
            response: None,
            step: None,
            pending: Vec::new(),
            error: None,
            then,
        };
        removals.turn();
        removals
    }

    /// Goes on to the next request.
    fn turn(&mut self) {
        loop {
            let Some((object, mut machine)) = self.present.take() else {
                let Some(object) = self.objects.next() else {
                    return;
                };
                let machine = Removing::new(&object, &self.owner);
                self.present = Some((object, machine));
                continue;
            };
            match machine.next(self.response.take()) {
                Step::Done(Removal::Gone) => {}
                Step::Done(_) => self.pending.push(object),
                step => {
                    self.step = Some(step);
                    self.present = Some((object, machine));
                    return;
                }
            }
        }
    }

    /// The step and the object that are needed next.
    pub(super) fn needs(&self) -> Option<String> {
        let (step, (object, _)) = (self.step.as_ref()?, self.present.as_ref()?);
        Some(format!("{} {} to remove it", verb(step), object.name))
    }
}

impl Agent {
    /// Sends the next request of a removal.
    pub(super) fn remove(
        &mut self,
        key: &Key,
        mut it: Box<Removals>,
        world: &mut World,
        rng: &mut Rng,
        may_fail: bool,
    ) -> Option<What> {
        let Some((step, (object, machine))) = it.step.take().zip(it.present.take()) else {
            return self.removed(key, *it, world, rng, may_fail);
        };
        if self.view.keeps_objects(&it.name) {
            self.say(|| format!("{} is held", object.name));
            it.pending.push(object);
            it.turn();
            return Some(What::Remove(it));
        }
        let is_held = it.name.strip_prefix("hash-").map(|it| self.hold_seen(it));
        if is_held.flatten().is_some() && !matches!(step, Step::Get) {
            world.breaks(format!("{} is removed though it is held", object.name));
        }
        let fault = self.fate(rng, may_fail);
        self.say(|| format!("{} {} to remove it, {fault:?}", verb(&step), object.name));
        let response = match fault.is_done() {
            true if !world.cluster.serves(&object.name) => Some(Response::NotFound),
            true => {
                let is_deletion = matches!(step, Step::Delete { .. });
                let is_shared = is_deletion && world.is_shared(&object.name, &it.owner);
                let response = world.cluster.answer(&object.name, step);
                if is_shared && matches!(response, Response::Written(_)) {
                    world.breaks(format!(
                        "{} is deleted, which another work has",
                        object.name
                    ));
                }
                Some(response)
            }
            false => fault.refusal().map(Response::Refused),
        };
        if let Some(nothing) = fault.nothing() {
            it.error = Some(nothing.is_silent);
            it.pending.push(object);
        } else {
            it.response = response;
            it.present = Some((object, machine));
        }
        it.turn();
        Some(What::Remove(it))
    }

    /// All were tried.
    fn removed(
        &mut self,
        key: &Key,
        removals: Removals,
        world: &mut World,
        rng: &mut Rng,
        may_fail: bool,
    ) -> Option<What> {
        let (pending, error) = (removals.pending, removals.error);
        let (name, applied, departure) = match removals.then {
            Then::Pass(passing) => {
                let reply = Reply::Removed(pending, error == Some(true));
                return Some(self.replies(passing, reply));
            }
            Then::Depart(name, applied, departure) => (name, applied, departure),
        };
        let why = |it: &AppliedManifestResourceMeta| (it.clone(), "it is there".to_owned());
        let reasons: Vec<_> = pending.iter().map(why).collect();
        self.change(|view, wakes| view.departing(&name, &reasons, wakes));
        let write = match error {
            Some(_) => departure.shrinks(&applied, &pending),
            None => departure.write(&applied, &pending),
        };
        let fault = self.fate(rng, may_fail);
        let is_written = write.is_none_or(|it| self.send_write(it, world, fault));
        if error.is_some() || !is_written {
            self.fails_briefly(key);
        } else if pending.is_empty() {
            self.view.removals.remove(&name);
        } else {
            let now = self.instant();
            let until = self.view.wait_to_depart(&name, now);
            self.later.insert(key.clone(), until);
        }
        None
    }

    /// Removes the objects of a deleted AppliedManifestWork.
    pub(super) fn depart(&mut self, key: &Key, name: &Arc<str>) -> Option<What> {
        let applied = self.view.departs(name).cloned()?;
        let wait = self.view.removals.get(name).map(|it| it.until);
        if let Some(until) = wait.filter(|it| *it > self.instant()) {
            self.later.insert(key.clone(), until);
            return None;
        }
        let departure = self.view.departure(name, &applied);
        let (objects, owner) = (departure.objects.clone(), departure.uid.clone());
        let then = Then::Depart(Arc::clone(name), applied, departure);
        Some(What::Remove(Box::new(Removals::new(
            objects,
            (name.to_string(), owner),
            then,
        ))))
    }
}
