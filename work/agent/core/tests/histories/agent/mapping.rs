//! From manifests to objects: what the API server serves.

use std::sync::Arc;
use std::time::Duration;

use berth_work_agent_core::targets::{self, Ranked, Shared};
use berth_work_agent_core::{Kinds, Mapped, Pass, Ready, Unmapped};
use fastrand::Rng;

use super::passes::Passing;
use super::{Agent, What};
use crate::World;
use crate::faults::Fault;
use crate::things::{DEFINITION, GROUP, Kind};

/// The manifests of a work are mapped, one after the other.
pub(super) struct Mapping {
    name: Arc<str>,
    ready: Ready,
    slots: Vec<Ranked>,
}

impl Agent {
    /// The AppliedManifestWork of a work is there: its manifests are mapped, and then there is a pass over them.
    pub(super) fn work(&mut self, name: &Arc<str>, world: &World) -> Option<What> {
        let Some(ready) = self.view.ready(name) else {
            if !self.view.works.contains_key(name) && targets::forget(&mut self.view, name) {
                self.watch();
            }
            return None;
        };
        if targets::is_mapped(&self.view, name, &ready) {
            return self.passes(name, &ready);
        }
        let mut mapping = Mapping {
            name: Arc::clone(name),
            ready,
            slots: Vec::new(),
        };
        if world.traits.definition {
            return Some(What::Map(mapping));
        }
        // Nothing is asked, so nothing comes in between.
        while mapping.is_left() {
            self.map_next(&mut mapping, world, Fault::None);
        }
        self.mapped(mapping)
    }

    /// Maps the next manifest.
    pub(super) fn map(
        &mut self,
        mut mapping: Mapping,
        world: &mut World,
        rng: &mut Rng,
        may_fail: bool,
    ) -> Option<What> {
        if mapping.is_left() {
            let fault = self.fate(rng, may_fail);
            self.map_next(&mut mapping, world, fault);
            return Some(What::Map(mapping));
        }
        self.mapped(mapping)
    }

    fn map_next(&mut self, mapping: &mut Mapping, world: &World, fault: Fault) {
        let mut shared = Shared::of(&mapping.name, &mapping.ready);
        let at = mapping.slots.len();
        let slot = self.slot(&mut shared, &mapping.ready, at, world, fault);
        mapping.slots.push(slot);
    }

    fn mapped(&mut self, mapping: Mapping) -> Option<What> {
        let Mapping { name, ready, slots } = mapping;
        targets::install(&mut self.view, &name, &ready, slots);
        self.passes(&name, &ready)
    }

    fn watch(&mut self) {
        self.watch_permissions();
        self.table();
    }

    fn passes(&mut self, name: &Arc<str>, ready: &Ready) -> Option<What> {
        self.watch();
        if self.view.waits_for_permissions(name) || self.view.waits_for_rows(name) {
            return None;
        }
        let mut pass = Box::new(Pass::new(&self.view, name, ready, Duration::ZERO));
        let now = self.instant();
        let need = self.change(|view, wakes| pass.next(view, None, now, wakes));
        let (name, ready, last) = (Arc::clone(name), ready.clone(), None);
        Some(What::Pass(Passing {
            name,
            ready,
            pass,
            need,
            last,
        }))
    }

    fn slot(
        &mut self,
        shared: &mut Shared<'_>,
        ready: &Ready,
        ordinal: usize,
        world: &World,
        fault: Fault,
    ) -> Ranked {
        let manifest = match targets::read(&ready.work, ordinal) {
            Err(slot) => return slot,
            Ok(manifest) => manifest,
        };
        let (_, _, kind) = manifest.kind();
        let mapped = self.resource(Kind::named(kind), world, fault);
        let now = self.instant();
        manifest.matched(&mut self.view, shared, mapped, now)
    }

    /// The resource of a kind. The API server is asked for the custom one.
    fn resource(&mut self, kind: Kind, world: &World, fault: Fault) -> Result<Mapped, Unmapped> {
        let mapped = Mapped {
            resource: kind.resource(),
            is_namespaced: kind != Kind::Definition,
        };
        if kind != Kind::Widget {
            return Ok(mapped);
        }
        let now = self.instant();
        let mapping = &mut self.view.mapping;
        if let Some(known) = mapping.known(GROUP, "v1", "Widget", now) {
            return known;
        }
        if fault != Fault::None {
            return Err(Unmapped::Unknown("no response".to_owned()));
        }
        let mut kinds = Kinds::new();
        if world.cluster.is_served {
            kinds.insert("Widget".into(), ("widgets".into(), true));
        }
        mapping.keep(GROUP, "v1", kinds, now);
        if world.cluster.is_served {
            return Ok(mapped);
        }
        mapping.keep_elsewhere(GROUP, "v1", "Widget", None);
        Err(Unmapped::NotServed(None))
    }

    /// Maps a manifest again whose kind was not served. Returns true if it is mapped now.
    pub(super) fn map_again(
        &mut self,
        (name, ready): (&Arc<str>, &Ready),
        ordinal: usize,
        world: &World,
        fault: Fault,
    ) -> bool {
        self.say(|| format!("a kind is asked for, {DEFINITION}, {fault:?}"));
        let mut shared = Shared::of(name, ready);
        let (_, slot) = self.slot(&mut shared, ready, ordinal, world, fault);
        let is_mapped = targets::install_one(&mut self.view, name, ordinal, slot);
        if is_mapped {
            self.table();
        }
        is_mapped
    }
}

impl Mapping {
    fn is_left(&self) -> bool {
        self.slots.len() < self.ready.work.spec.workload.manifests.len()
    }
}
