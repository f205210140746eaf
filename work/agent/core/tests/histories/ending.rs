//! How a history ends: as a plain apply of the last manifests would, as far as the executor may.

use std::collections::BTreeSet;
use std::time::Duration;

use fastrand::Rng;
use serde_json::Value;

use crate::MOST_STEPS;
use crate::agent::Agent;
use crate::things::{WIDGET, has_value};
use crate::world::{COMMON, WORK, Wanted, World, is_owned};

/// What does not come to rest, as a permission is missing, is tried at least once in this time.
const RETRY: Duration = Duration::from_secs(400);

/// How long two works that do not agree are looked at, and how often they may write the object in the last hour of it.
const CONTEST: (Duration, usize) = (Duration::from_secs(2 * 3600), 14);

/// Lets all come to rest, and looks whether all is as it should be.
pub(crate) fn reach(agent: &mut Agent, world: &mut World, rng: &mut Rng) -> Result<(), String> {
    let (peace, is_contested) = (agent.now, world.is_contested());
    let may_be_restless = world.traits.executor || world.traits.definition;
    let (mut changed, mut steps) = ((world.changes(), peace), 0);
    let mut of_last_hour = None;
    while agent.step(world, rng, false) {
        steps += 1;
        if steps > MOST_STEPS {
            return Err("it does not end".to_owned());
        }
        if is_contested && agent.now > peace + CONTEST.0 / 2 {
            let writes = world.cluster.changes();
            let begun = *of_last_hour.get_or_insert(writes);
            if writes - begun > CONTEST.1 {
                return Err("the works fight too often".to_owned());
            }
            if agent.now > peace + CONTEST.0 && agent.is_idle(world) {
                break;
            }
        }
        if is_contested || !may_be_restless {
            continue;
        }
        let changes = world.changes();
        if changed.0 != changes {
            changed = (changes, agent.now);
        } else if agent.now > changed.1 + RETRY && agent.is_idle(world) && world.is_restless() {
            break;
        }
    }
    check(agent, world)
}

/// The end is that of a plain apply.
pub(crate) fn check(agent: &Agent, world: &World) -> Result<(), String> {
    if let Some(law) = &world.broken {
        return Err(law.clone());
    }
    if agent.has_rival {
        return Err("another agent is reported, and there is none".to_owned());
    }
    for name in world.cluster.names() {
        check_object(world, name)?;
    }
    let mut wanted = world.wanted.iter();
    wanted.try_for_each(|it| check_work(world, it))
}

fn check_object(world: &World, name: &str) -> Result<(), String> {
    let live = world.cluster.live(name);
    let mut values = Vec::new();
    let mut is_wanted = false;
    for wanted in &world.wanted {
        let value = wanted.manifests().iter().find(|(of, _)| *of == name);
        is_wanted |= value.is_some();
        if let Some((_, value)) = value.filter(|_| world.may_write(wanted, name)) {
            values.push(*value);
        }
    }
    let is_doubtful = world.doubtful.contains(name);
    let is_right = match (live, &values[..]) {
        (Some(live), []) if !is_wanted => {
            is_doubtful
                || world.traits.orphans
                    && world.applied_of(WORK).is_none_or(|it| !is_owned(live, it))
        }
        (None, []) => true,
        // The executor may not write it any more: it stays as it was.
        (Some(_), []) => world.cluster.serves(name),
        (None, _) => false,
        (Some(live), values) => values.iter().any(|it| has_value(name, live, *it)),
    };
    if !is_right {
        let wanted = if is_wanted { "one of" } else { "none of" };
        let parts = ["data", "type", "spec", "metadata"];
        let live = live.map(|it| parts.map(|part| it[part].to_string()));
        return Err(format!(
            "{name} should be {wanted} {values:?}, and is {live:?}"
        ));
    }
    let Some(live) = live.filter(|_| !is_doubtful) else {
        return Ok(());
    };
    for wanted in &world.wanted {
        let Some(applied) = world.applied_of(wanted.name) else {
            continue;
        };
        let (is, may) = (is_owned(live, applied), world.may_write(wanted, name));
        let should = wanted.prescribes(name) && !world.is_orphan(wanted);
        if is && !should || should && may && !is {
            let owners = &live["metadata"]["ownerReferences"];
            return Err(format!(
                "the owners of {name} are {owners}, with {}?",
                wanted.name
            ));
        }
    }
    Ok(())
}

fn check_work(world: &World, wanted: &Wanted) -> Result<(), String> {
    let (applied, work) = (world.applied_of(wanted.name), world.works.get(wanted.name));
    if wanted.is_deleted {
        return match (applied, work) {
            (None, None) => Ok(()),
            _ => Err(format!("not all is gone: {applied:?} {work:?}")),
        };
    }
    let applied = applied.ok_or("there is no AppliedManifestWork")?;
    let text = |it: &Value, field: &str| it[field].as_str().unwrap_or_default().to_owned();
    let entries = applied["status"]["appliedResources"].as_array();
    let entries = entries.into_iter().flatten();
    let listed: BTreeSet<_> = entries
        .map(|it| (text(it, "name"), text(it, "uid")))
        .collect();
    let manifests = wanted.manifests().iter();
    let existing: BTreeSet<_> = manifests
        .filter_map(|(name, _)| Some((*name, world.cluster.live(name)?)))
        .map(|(name, live)| (name.to_owned(), text(&live["metadata"], "uid")))
        .collect();
    // An object of a kind that is not served may exist again with the kind.
    let held = |it: &(String, String)| it.0 == WIDGET && !world.cluster.is_served;
    let mut differing = listed.symmetric_difference(&existing);
    if !differing.all(held) {
        return Err(format!(
            "the list is {listed:?}, the objects are {existing:?}"
        ));
    }
    let work = work.ok_or("there is no ManifestWork")?;
    let conditions = work["status"]["conditions"].as_array();
    let mut names = wanted.manifests().iter().map(|(name, _)| *name);
    let should = match names.all(|it| world.may_write(wanted, it)) {
        true => "True",
        false => "False",
    };
    let is_right = |it: &Value| {
        it["type"] == "Applied"
            && it["status"] == should
            && it["observedGeneration"] == work["metadata"]["generation"]
    };
    match conditions.is_some_and(|it| it.iter().any(is_right)) {
        true => Ok(()),
        false => Err(format!(
            "Applied should be {should}, and the status is {}",
            work["status"]
        )),
    }
}

// === impl World ===

impl World {
    pub(crate) fn is_deleted(&self, work: &str) -> bool {
        let mut wanted = self.wanted.iter();
        wanted.any(|it| it.name == work && it.is_deleted)
    }

    /// All changes of all objects.
    pub(crate) fn changes(&self) -> usize {
        self.works.log.len() + self.applied.log.len() + self.cluster.changes()
    }

    fn is_orphan(&self, wanted: &Wanted) -> bool {
        wanted.name == WORK && self.traits.orphans
    }

    /// Returns true if nothing keeps the agent from writing an object of a work.
    fn may_write(&self, wanted: &Wanted, name: &str) -> bool {
        let is_denied = |name| {
            self.traits.executor
                && wanted.name == WORK
                && !self.grants.allow(name, !self.is_orphan(wanted))
        };
        !is_denied(name) && (name != WIDGET || self.cluster.is_served)
    }

    /// Returns true if a manifest cannot be applied: it is tried again and again.
    fn is_restless(&self) -> bool {
        self.wanted.iter().any(|wanted| {
            let mut manifests = wanted.manifests().iter();
            manifests.any(|(name, _)| !self.may_write(wanted, name))
        })
    }

    /// Returns true if two works write another value each.
    fn is_contested(&self) -> bool {
        let of_work = self.wanted.iter().filter(|it| self.may_write(it, COMMON));
        let values = of_work.flat_map(|it| it.manifests().iter());
        let values = values.filter(|(name, _)| *name == COMMON);
        let values: BTreeSet<_> = values.map(|(_, value)| value).collect();
        values.len() > 1
    }
}
