//! Writes to ManifestWorks and AppliedManifestWorks.

use std::time::Duration;

use berth_api::plan::Write;
use berth_work_agent_core::{Key, eviction, lifecycle, status};
use fastrand::Rng;

use super::reports::{applied_is, work_is};
use super::{Agent, What};
use crate::World;
use crate::faults::Fault;
use crate::store::Store;

impl Agent {
    /// Sends the writes, and goes on once none is due.
    pub(super) fn write(
        &mut self,
        key: &Key,
        mut writes: Vec<Write>,
        world: &mut World,
        rng: &mut Rng,
        may_fail: bool,
    ) -> Option<What> {
        if writes.is_empty() {
            return self.written(key, world);
        }
        let write = writes.remove(0);
        let fault = self.fate(rng, may_fail);
        self.say(|| {
            let target = &write.target;
            let resource = &target.resource.resource;
            format!("a write to {resource} {}, {fault:?}", target.name)
        });
        if !self.send_write(write, world, fault) {
            let wait = fault.wait(rng);
            self.fails(key, wait);
            return None;
        }
        // It is decided again until nothing is due.
        let now = self.now();
        let plan = match key {
            Key::Work(name) => lifecycle::plan(&self.view, name, now.instant),
            Key::Status(name) => status::plan(&self.view, name, now),
            Key::Applied(name) => eviction::plan(&self.view, name, now),
            Key::Table => return None,
        };
        Some(What::Writes(plan.writes))
    }

    /// Carries out a write. The response is seen at once, unless it is lost. Returns false if there is none, or if it is refused.
    pub(super) fn send_write(&mut self, write: Write, world: &mut World, fault: Fault) -> bool {
        if !fault.is_done() {
            return false;
        }
        let is_work = write.target.resource.resource == "manifestworks";
        let store: &mut Store = match is_work {
            true => &mut world.works,
            false => &mut world.applied,
        };
        let before = store.log.len();
        if !store.write(write) || fault == Fault::Lost {
            return false;
        }
        let at = store.log.len();
        if at > before {
            let (name, object) = &store.log[before];
            self.responses.insert((is_work, name.clone()), at);
            self.change(|view, wakes| match is_work {
                true => work_is(view, name, object.as_ref(), wakes),
                false => applied_is(view, name, object.as_ref(), wakes),
            });
        }
        true
    }

    /// No write is due for the key: what follows.
    fn written(&mut self, key: &Key, world: &World) -> Option<What> {
        match key {
            Key::Work(name) => self.work(name, world),
            Key::Applied(name) => self.depart(key, name),
            Key::Status(_) | Key::Table => None,
        }
    }

    /// The key is tried again after a second.
    pub(super) fn fails_briefly(&mut self, key: &Key) {
        self.fails(key, Duration::from_secs(1));
    }
}
