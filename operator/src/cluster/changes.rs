//! What is woken when something changes: the Klusterlets that it concerns; and their hub, or their managed cluster, if something else is to be
//! asked there now.

use std::collections::{BTreeMap, BTreeSet};

use berth_operator_core::cluster::{HUB_SECRET, namespace};
use berth_operator_core::objects::{self, Id};
use berth_reconcile::Wake;

use super::secrets::{BOOTSTRAP_SECRET, SECRETS};
use super::world::{Key, Operator};

/// What changes.
pub(super) enum Change<'a> {
    /// Something that concerns all.
    All,
    /// This Klusterlet.
    Klusterlet(&'a str),
    /// An object of one.
    Object(&'a Id),
}

impl Operator {
    /// The Klusterlets that a change concerns.
    fn concerned(&self, change: &Change<'_>) -> Vec<String> {
        let in_namespace = |of: &str| {
            let all = self.klusterlets.iter();
            let all = all.filter(|(_, it)| namespace(it) == of);
            all.map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        match change {
            Change::All => self.klusterlets.keys().cloned().collect(),
            Change::Klusterlet(name) => {
                let klusterlet = self.klusterlets.get(*name);
                let mut names = klusterlet.map_or(Vec::new(), |it| in_namespace(namespace(it)));
                // The last one takes more along.
                let all = self.klusterlets.iter();
                let deleted = all.filter(|(_, it)| it.metadata.deletion_timestamp.is_some());
                names.extend(deleted.map(|(name, _)| name.clone()));
                names.push((*name).to_owned());
                names
            }
            Change::Object(id) => {
                let stored = self.stored.get(id);
                let mut names: Vec<_> = stored
                    .and_then(|it| it.created_by.clone())
                    .into_iter()
                    .collect();
                if id.kind == objects::Kind::Namespace {
                    names.extend(in_namespace(&id.name));
                }
                names
            }
        }
    }

    /// Changes what is known, and wakes what it concerns.
    pub(super) fn change(
        &mut self,
        of: &Change<'_>,
        wakes: &mut Wake<Self>,
        change: impl FnOnce(&mut Self),
    ) {
        let questions = |world: &Self, name: &str| {
            let runs = world.has_agent(name);
            (world.asked(name), world.errand(name), runs)
        };
        let before: BTreeMap<String, _> = (self.concerned(of).into_iter())
            .map(|name| {
                let before = questions(self, &name);
                (name, before)
            })
            .collect();
        change(self);
        let names: BTreeSet<String> = (self.concerned(of).into_iter())
            .chain(before.keys().cloned())
            .collect();
        for name in names {
            let (asked, errand, runs) = questions(self, &name);
            let before = before.get(&name);
            if before.is_none_or(|(it, ..)| *it != asked) {
                wakes.wake(Key::Connection(name.clone()));
            }
            // What the agent before this one had there goes now.
            let runs_now = runs && errand.is_some() && before.is_some_and(|(.., it)| !it);
            if runs_now || before.is_none_or(|(_, it, _)| *it != errand) {
                wakes.wake(Key::Managed(name.clone()));
            }
            wakes.wake(Key::Klusterlet(name));
        }
    }

    /// Wakes what depends on a Secret of a namespace, where it changed. `place`: which Secret it is.
    pub(super) fn wake_readers(&mut self, place: usize, of: &str, wakes: &mut Wake<Self>) {
        let is_of_hub = matches!(SECRETS.get(place), Some(&BOOTSTRAP_SECRET | &HUB_SECRET));
        let all = self.klusterlets.iter();
        let of_namespace = all.filter(|(_, it)| namespace(it) == of);
        for (name, _) in of_namespace {
            if is_of_hub {
                if let Some(seen) = self.connections.get_mut(name) {
                    seen.has_changed();
                }
                wakes.wake(Key::Connection(name.clone()));
            } else {
                if let Some(seen) = self.managed.get_mut(name) {
                    seen.has_changed();
                }
                wakes.wake(Key::Managed(name.clone()));
                wakes.wake(Key::Klusterlet(name.clone()));
            }
        }
    }
}
