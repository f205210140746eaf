//! What is to be done on managed clusters that are not those of their agents.

use std::collections::BTreeMap;
use std::mem;
use std::time::Duration;

use berth_operator_core::cluster::{Managed, Outcome, Task, There, agent_deployment, task, there};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, now};
use jiff::Timestamp;

use super::managed::{Looked, carry_out};
use super::world::{Key, Operator};
use crate::seen::Seen;

/// The longest wait while a Klusterlet is being deleted: it may wait for the end of its managed cluster.
const AT_MOST_WHILE_DELETED: Duration = Duration::from_secs(60);

/// The shortest wait for a token that is to be renewed.
const SOON: Duration = Duration::from_secs(10);

/// What is to be done on a managed cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Errand {
    task: Task,
    /// What the Klusterlet says that decides: which one it is, its generation, and its labels.
    uid: Option<String>,
    generation: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    /// The version of the credentials of the registry.
    pull: Option<String>,
}

impl Operator {
    /// What was found on the managed cluster, if it is of the Klusterlet as it is now.
    pub(super) fn managed(&self, name: &str) -> Option<&Managed> {
        let found = self.managed.get(name)?;
        let metadata = &self.klusterlet(name)?.metadata;
        let is_of_now = found.of.uid == metadata.uid && found.of.generation == metadata.generation;
        is_of_now.then_some(&found.what)
    }

    /// What is to be done on the managed cluster of a Klusterlet.
    pub(super) fn errand(&self, name: &str) -> Option<Errand> {
        let klusterlet = self.klusterlet(name)?;
        let task = task(klusterlet, self.holder(klusterlet), &self.stored)?;
        let metadata = &klusterlet.metadata;
        Some(Errand {
            task,
            uid: metadata.uid.clone(),
            generation: metadata.generation,
            labels: metadata.labels.clone(),
            pull: (self.settings.pull.as_ref()).map(|it| it.version().to_owned()),
        })
    }

    /// Returns whether the agent of a Klusterlet runs here: then nobody needs what its predecessor had on the managed cluster.
    pub(super) fn has_agent(&self, name: &str) -> bool {
        let deployment = self.klusterlet(name).map(agent_deployment);
        let stored = deployment.and_then(|it| self.stored.get(&it));
        stored.is_some_and(|it| it.rollout.is_done())
    }

    /// Notes what was found on a managed cluster, and returns when to look again. `until`: at the latest then.
    fn found(
        &mut self,
        name: &str,
        errand: Errand,
        (managed, until): Looked,
        now: Timestamp,
    ) -> Duration {
        let task = errand.task;
        let works = match (&managed.ready, &managed.outcome) {
            (Ok(_), Outcome::Done) => true,
            (Ok(_), Outcome::Nothing) => task == Task::Prepare,
            _ => false,
        };
        let before = self.managed.remove(name);
        let (seen, wait) = Seen::after(before, errand, managed, works);
        self.managed.insert(name.to_owned(), seen);
        let left = until.map(|it| it.duration_since(now));
        let left = left.and_then(|it| Duration::try_from(it).ok());
        match task {
            Task::Clean => wait.min(AT_MOST_WHILE_DELETED),
            _ => left.map_or(wait, |it| wait.min(it.max(SOON))),
        }
    }
}

/// What is to be done on a managed cluster, if everything is known that decides.
fn errand(on: &Handle<Operator>, name: &str) -> Option<(Errand, There)> {
    let mut world = on.world();
    let is_ready = world.is_ready();
    let errand = world.errand(name).filter(|_| is_ready)?;
    let mut renderer = mem::take(&mut world.renderer);
    let klusterlet = world.klusterlet(name);
    let connection = world.connection(name);
    let there = klusterlet.map(|it| {
        let (settings, stored) = (&world.settings, &world.stored);
        there(it, settings, stored, connection, &mut renderer)
    });
    world.renderer = renderer;
    Some((errand, there?))
}

/// Does what is to be done on a managed cluster.
pub(super) async fn run(on: &Handle<Operator>, name: &str) -> Next {
    let Some((errand, there)) = errand(on, name) else {
        return Next::SETTLED;
    };
    let looked = carry_out(on, errand.task, there).await;
    let wait = on.change(|world, wakes| {
        let is_asked = world.errand(name).as_ref() == Some(&errand);
        if !is_asked {
            // It changed meanwhile, which woke this key.
            return None;
        }
        wakes.wake(Key::Klusterlet(name.to_owned()));
        Some(world.found(name, errand, looked, now().wall))
    });
    Next::Settled {
        again: wait.map(|wait| now().instant + wait),
        pause: None,
    }
}
