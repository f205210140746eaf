//! Histories: an agent, a hub and a managed cluster, with everything that may come between a request and its answer.
//!
//! In a history works change and go, other clients change and delete objects, reports of watches come late, answers are lost, requests are
//! refused for a while, and the agent is killed. Whatever the order, it ends as a plain apply of the last manifests would, and then nothing
//! more is sent.
//!
//! Histories with a name are scripts: one for each fault of the order of events that was found and mended.
//!
//! The others are a number: `HISTORY=<number>` plays one again, with each step on stderr; `HISTORIES=<count>` plays more than usual.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

#[path = "histories/agent.rs"]
mod agent;
#[path = "histories/cluster.rs"]
mod cluster;
#[path = "histories/named.rs"]
mod named;
#[path = "histories/store.rs"]
mod store;

use std::collections::BTreeSet;
use std::time::Duration;

use agent::Agent;
use cluster::Cluster;
use fastrand::Rng;
use serde_json::{Value, json};
use store::Store;

/// The ManifestWork.
pub(crate) const WORK: &str = "w";

/// The names of its objects.
const NAMES: [&str; 3] = ["a", "b", "c"];

/// Histories of a run without `HISTORIES`.
const USUAL: u64 = 100_000;

/// Upper bound on the steps until nothing is due any more.
const MOST_STEPS: usize = 3000;

/// The API servers.
pub(crate) struct World {
    pub(crate) works: Store,
    pub(crate) applied: Store,
    pub(crate) cluster: Cluster,
    /// Objects that a write without an answer may have made.
    pub(crate) doubtful: BTreeSet<String>,
}

impl World {
    /// Objects that the agent has made, and that are not in the list. If it is killed now, and their manifests are gone when it begins again,
    /// they stay until their owner goes, as with OCM's agent: nothing but the owner reference says whose they are.
    fn unlisted(&self) -> Vec<String> {
        let applied = self.applied.only().unwrap_or_default();
        let entries = applied["status"]["appliedResources"].as_array();
        let listed: Vec<_> = entries.into_iter().flatten().map(|it| &it["uid"]).collect();
        let objects = self.cluster.all();
        let ours = objects.filter(|(_, it)| {
            it["metadata"]["ownerReferences"][0]["uid"] == applied["metadata"]["uid"]
                && !listed.contains(&&it["metadata"]["uid"])
        });
        ours.map(|(name, _)| name.to_owned()).collect()
    }
}

/// A manifest: the name of a ConfigMap, and its value.
type Manifests = Vec<(&'static str, u32)>;

/// API servers with this ManifestWork.
fn world(work: &Manifests, is_apply: bool) -> World {
    let mut world = World {
        works: Store::default(),
        applied: Store::default(),
        cluster: Cluster::new(&NAMES),
        doubtful: BTreeSet::new(),
    };
    let work =
        json!({"metadata": {"name": WORK, "namespace": "cluster1"}, "spec": spec(work, is_apply)});
    world.works.create(WORK, work);
    world
}

fn manifests(rng: &mut Rng) -> Manifests {
    let names = NAMES.into_iter().filter(|_| rng.u8(..3) > 0);
    names
        .collect::<Vec<_>>()
        .into_iter()
        .map(|it| (it, rng.u32(1..3)))
        .collect()
}

fn spec(manifests: &Manifests, is_apply: bool) -> Value {
    let all = manifests.iter().map(|(name, value)| {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
               "metadata": {"namespace": "n", "name": name}, "data": {"a": value.to_string()}})
    });
    let strategy = match is_apply {
        true => json!({"type": "ServerSideApply", "serverSideApply": {"force": true}}),
        false => json!({"type": "Update"}),
    };
    json!({
        "workload": {"manifests": all.collect::<Vec<_>>()},
        "manifestConfigs": [{
            "resourceIdentifier": {"group": "", "resource": "configmaps", "namespace": "n", "name": "*"},
            "updateStrategy": strategy,
        }],
    })
}

/// Plays a history to its end.
fn play(number: u64, is_told: bool) -> Result<(), String> {
    let mut rng = Rng::with_seed(number);
    let is_apply = rng.bool();
    let mut last = manifests(&mut rng);
    let mut world = world(&last, is_apply);
    let mut agent = Agent::begin(&world, Duration::ZERO, is_told);
    let mut is_deleted = false;
    // Trouble first, then peace: faults and other clients end.
    for _ in 0..rng.usize(5..120) {
        match rng.u8(..60) {
            0..2 if !is_deleted => {
                last = manifests(&mut rng);
                agent.say(|| format!("the work changes: {last:?}"));
                world
                    .works
                    .edit(WORK, |it| it["spec"] = spec(&last, is_apply));
            }
            2 if !is_deleted && rng.u8(..4) == 0 => {
                is_deleted = true;
                agent.say(|| "the work is deleted".to_owned());
                world.works.delete(WORK);
            }
            3..6 => {
                let name = NAMES[rng.usize(..3)];
                agent.say(|| format!("another client changes {name}"));
                world
                    .cluster
                    .change(name, |it| it["data"]["a"] = json!("other"));
            }
            6 => {
                let name = NAMES[rng.usize(..3)];
                agent.say(|| format!("another client deletes {name}"));
                world.cluster.delete(name);
            }
            7 => {
                agent.say(|| "killed".to_owned());
                let unlisted = world.unlisted();
                world.doubtful.extend(unlisted);
                agent = Agent::begin(&world, agent.now, is_told);
            }
            _ => {
                agent.step(&mut world, &mut rng, true);
            }
        }
    }
    let mut steps = 0;
    while agent.step(&mut world, &mut rng, false) {
        steps += 1;
        if steps > MOST_STEPS {
            return Err("it does not end".to_owned());
        }
    }
    if is_deleted {
        last.clear();
    }
    check(&world, &last, is_deleted)
}

/// The end is that of a plain apply.
fn check(world: &World, last: &Manifests, is_deleted: bool) -> Result<(), String> {
    let mut listed = Vec::new();
    for name in NAMES {
        let wanted = last.iter().find(|(of, _)| *of == name);
        let live = world.cluster.live(name);
        match (wanted, &live) {
            (Some((_, value)), Some(live)) if live["data"]["a"] == value.to_string().as_str() => {
                listed.push((name.to_owned(), live["metadata"]["uid"].clone()));
            }
            (None, None) => {}
            (None, Some(_)) if world.doubtful.contains(name) => {}
            _ => return Err(format!("{name} should be {wanted:?}, and is {live:?}")),
        }
    }
    let applied = world.applied.only();
    if is_deleted {
        let works = world.works.only();
        return match (&applied, &works) {
            (None, None) => Ok(()),
            _ => Err(format!("not all is gone: {applied:?} {works:?}")),
        };
    }
    let applied = applied.ok_or("there is no AppliedManifestWork")?;
    let entries = applied["status"]["appliedResources"].as_array();
    let mut entries: Vec<_> = entries
        .into_iter()
        .flatten()
        .map(|it| {
            (
                it["name"].as_str().unwrap_or_default().to_owned(),
                it["uid"].clone(),
            )
        })
        .collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    if entries != listed {
        return Err(format!(
            "the list is {entries:?}, the objects are {listed:?}"
        ));
    }
    let work = world.works.only().unwrap_or_default();
    let conditions = work["status"]["conditions"].as_array();
    let is_applied = |it: &Value| {
        it["type"] == "Applied"
            && it["status"] == "True"
            && it["observedGeneration"] == work["metadata"]["generation"]
    };
    match conditions.is_some_and(|it| it.iter().any(is_applied)) {
        true => Ok(()),
        false => Err(format!("the status is {}", work["status"])),
    }
}

#[test]
fn every_history_ends_as_a_plain_apply() {
    let number = |name: &str| std::env::var(name).ok().and_then(|it| it.parse().ok());
    if let Some(one) = number("HISTORY") {
        return play(one, true).unwrap();
    }
    let count: u64 = number("HISTORIES").unwrap_or(USUAL);
    let threads = std::thread::available_parallelism().map_or(1, |it| it.get() as u64);
    let part = |first: u64| {
        let mut numbers = (first..count).step_by(usize::try_from(threads).unwrap());
        numbers.find_map(|it| {
            play(it, false)
                .err()
                .map(|why| format!("HISTORY={it}: {why}"))
        })
    };
    let found: Vec<_> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|first| scope.spawn(move || part(first)))
            .collect();
        parts
            .into_iter()
            .filter_map(|it| it.join().unwrap())
            .collect()
    });
    assert_eq!(found, [] as [String; 0]);
}
