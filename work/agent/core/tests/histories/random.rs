//! Histories by chance.

use std::time::Duration;

use fastrand::Rng;

use crate::agent::Agent;
use crate::ending;
use crate::things::disturb;
use crate::world::{COMMON, Manifests, RIVAL, Traits, WORK, World};

/// Histories of a run without `HISTORIES`.
const USUAL: u64 = 100_000;

fn manifests(traits: Traits, work: &str, rng: &mut Rng) -> Manifests {
    let names = match work {
        WORK => traits.names(),
        _ => vec![COMMON, "d"],
    };
    let names = names.into_iter().filter(|_| rng.u8(..3) > 0);
    let names: Vec<_> = names.collect();
    let values = names.into_iter().map(|it| (it, rng.u32(1..3)));
    values.collect()
}

/// Plays a history to its end.
fn play(number: u64, is_told: bool) -> Result<(), String> {
    let mut rng = Rng::with_seed(number);
    let traits = Traits::by_chance(&mut rng);
    let mut works = vec![(WORK, manifests(traits, WORK, &mut rng))];
    if traits.rival {
        works.push((RIVAL, manifests(traits, RIVAL, &mut rng)));
    }
    let mut world = World::new(traits, &works);
    let mut agent = Agent::begin(&world, Duration::ZERO, is_told);
    agent.say(|| format!("{traits:?}: {works:?}"));
    // Trouble first, then peace: faults and other clients end.
    for _ in 0..rng.usize(5..120) {
        let work = match traits.rival && rng.bool() {
            true => RIVAL,
            false => WORK,
        };
        match rng.u8(..60) {
            0..2 if !world.is_deleted(work) => {
                let manifests = manifests(traits, work, &mut rng);
                agent.say(|| format!("the work {work} changes: {manifests:?}"));
                world.replace(work, manifests);
            }
            2 if !world.is_deleted(work) && rng.u8(..4) == 0 => {
                agent.say(|| format!("the work {work} is deleted"));
                world.delete(work);
            }
            3..6 => {
                let name = any(&world, &mut rng);
                agent.say(|| format!("another client changes {name}"));
                world.cluster.change(name, |it| disturb(name, it));
            }
            6 => {
                let name = any(&world, &mut rng);
                agent.say(|| format!("another client deletes {name}"));
                world.cluster.delete(name);
            }
            7 => {
                agent.say(|| "killed".to_owned());
                let unlisted = world.unlisted();
                world.doubtful.extend(unlisted);
                agent = agent.killed(&mut world);
            }
            8..10 if traits.executor => {
                agent.say(|| "the permissions of the executor change".to_owned());
                world.grants.change(agent.now, &mut rng);
            }
            10..13 if traits.holds => {
                let value = [Some("changes"), Some("all"), None][rng.usize(..3)];
                agent.say(|| format!("the hold of {work} is {value:?}"));
                world.hold(work, value);
            }
            _ => {
                agent.step(&mut world, &mut rng, true);
            }
        }
    }
    for work in [WORK, RIVAL] {
        world.hold(work, None);
    }
    agree(&mut world);
    ending::reach(&mut agent, &mut world, &mut rng)
}

/// The works that prescribe the common object agree about it in the end, or they do not.
fn agree(world: &mut World) {
    let value_of = |manifests: &Manifests| {
        let mut all = manifests.iter();
        all.find(|(name, _)| *name == COMMON)
            .map(|(_, value)| *value)
    };
    let [first, second] = &world.wanted[..] else {
        return;
    };
    let (Some(value), Some(other)) = (value_of(&first.manifests), value_of(&second.manifests))
    else {
        return;
    };
    let wanted = if world.traits.contest {
        3 - value
    } else {
        value
    };
    if other != wanted && !second.is_deleted {
        let mut manifests = second.manifests.clone();
        manifests.retain(|(name, _)| *name != COMMON);
        manifests.push((COMMON, wanted));
        world.replace(RIVAL, manifests);
    }
}

/// An object that other clients know of.
fn any(world: &World, rng: &mut Rng) -> &'static str {
    let names = world.cluster.names();
    // An object of a kind is changed as long as there is the kind.
    let names = names.filter(|it| world.cluster.serves(it));
    rng.choice(names.collect::<Vec<_>>()).unwrap()
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
            // Its number is said also of one that panics.
            let ended = std::panic::catch_unwind(|| play(it, false));
            let ended = ended.unwrap_or_else(|_| Err("it panicked".to_owned()));
            ended.err().map(|why| format!("HISTORY={it}: {why}"))
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
