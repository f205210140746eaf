//! Histories with a name: a script each, that fails if what mended its fault is taken out.
//!
//! What a script leaves open, the order of reports and tasks, is left to chance, and each is played with several seeds.

use std::time::Duration;

use fastrand::Rng;
use serde_json::json;

use crate::agent::{Agent, Fault};
use crate::{MOST_STEPS, Manifests, WORK, World, check, spec, world};

/// The seeds of a script.
const SEEDS: u64 = 50;

/// A step of a script.
enum Do {
    /// The manifests are replaced, and the agent sees it.
    Replace(&'static [(&'static str, u32)]),
    /// Another client deletes an object.
    Delete(&'static str),
    /// Until a pass needs this: the step and the object, or "list".
    Until(&'static str),
    /// What the pass needs is refused, or done without a response.
    Meets(Fault),
    /// Until nothing is due at this time.
    Settle,
    /// Until nothing is due any more.
    Rest,
}

/// Plays a script.
fn play(seed: u64, first: &'static [(&'static str, u32)], script: &[Do]) -> (World, Agent) {
    let mut rng = Rng::with_seed(seed);
    let mut last: Manifests = first.to_vec();
    let mut world = world(&last, false);
    let mut agent = Agent::begin(&world, Duration::ZERO, false);
    for step in script {
        match step {
            Do::Replace(manifests) => {
                last = manifests.to_vec();
                world.works.edit(WORK, |it| it["spec"] = spec(&last, false));
                agent.reports_works(&world);
            }
            Do::Delete(name) => world.cluster.delete(name),
            Do::Until(need) => {
                let mut steps = 0;
                while agent.needs().as_deref() != Some(need) {
                    assert!(agent.step(&mut world, &mut rng, false), "no {need}");
                    steps += 1;
                    assert!(steps < MOST_STEPS, "no {need}");
                }
            }
            Do::Meets(fault) => agent.meets(*fault, &mut world, &mut rng),
            Do::Settle => while agent.step_now(&mut world, &mut rng, false) {},
            Do::Rest => {
                let mut steps = 0;
                while agent.step(&mut world, &mut rng, false) {
                    steps += 1;
                    assert!(steps < MOST_STEPS, "it does not end");
                }
                check(&world, &last, false).unwrap();
            }
        }
    }
    (world, agent)
}

#[test]
fn a_pass_ends_once_its_manifests_are_replaced() {
    for seed in 0..SEEDS {
        let script = [
            Do::Rest,
            Do::Replace(&[("a", 2), ("b", 2)]),
            Do::Until("Replace a"),
            Do::Replace(&[("a", 2), ("b", 1)]),
            Do::Rest,
        ];
        let (world, _) = play(seed, &[("a", 1), ("b", 1)], &script);
        let log = world.cluster.log.iter();
        let mut of_b = log.filter(|(name, _)| *name == "b").flat_map(|(_, it)| it);
        assert!(of_b.all(|it| it["data"]["a"] == json!("1")), "seed {seed}");
    }
}

#[test]
fn of_an_object_made_anew_the_newer_uid_counts() {
    for seed in 0..SEEDS {
        let script = [
            Do::Rest,
            Do::Delete("a"),
            Do::Until("list"),
            Do::Meets(Fault::Refused),
            Do::Replace(&[("b", 1)]),
            Do::Rest,
        ];
        play(seed, &[("a", 1), ("b", 1)], &script);
    }
}

#[test]
fn a_changed_work_is_tried_at_once() {
    for seed in 0..SEEDS {
        let refused = [Do::Until("Create a"), Do::Meets(Fault::Refused)];
        let again = [Do::Until("Create a"), Do::Meets(Fault::Refused), Do::Settle];
        let changed = [Do::Replace(&[("a", 1), ("b", 1)]), Do::Settle];
        let script: Vec<_> = refused.into_iter().chain(again).chain(changed).collect();
        let (world, agent) = play(seed, &[("a", 1)], &script);
        let is_made = world.cluster.live("a").is_some();
        assert!(is_made, "seed {seed}: it waits at {:?}", agent.now);
    }
}
