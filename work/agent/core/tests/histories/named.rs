//! Histories with a name: a script each, that fails if what mended its fault is taken out.
//!
//! What a script leaves open, the order of reports and tasks, is left to chance, and each is played with several seeds.

mod executors;
mod holds;
mod lists;
mod passes;
mod watches;

use std::time::Duration;

use fastrand::Rng;

use crate::MOST_STEPS;
use crate::agent::Agent;
use crate::ending;
use crate::faults::Fault;
use crate::world::{Manifests, Traits, WORK, World};

/// The seeds of a script.
const SEEDS: u64 = 50;

/// A script that is being played.
struct Play {
    seed: u64,
    world: World,
    agent: Agent,
    rng: Rng,
}

/// Plays a script with several seeds. It begins with a work of these manifests.
fn each(traits: Traits, first: &[(&'static str, u32)], script: impl Fn(&mut Play)) {
    for seed in 0..SEEDS {
        let world = World::new(traits, &[(WORK, first.to_vec())]);
        let is_told = std::env::var("SEED").is_ok_and(|it| it == seed.to_string());
        let agent = Agent::begin(&world, Duration::ZERO, is_told);
        let rng = Rng::with_seed(seed);
        script(&mut Play {
            seed,
            world,
            agent,
            rng,
        });
    }
}

// === impl Play ===

impl Play {
    /// The manifests of a work are replaced, and the agent sees it.
    fn replaces(&mut self, work: &str, manifests: &[(&'static str, u32)]) {
        let manifests: Manifests = manifests.to_vec();
        self.world.replace(work, manifests);
        self.agent.reports_works(&self.world);
    }

    /// A user creates a work, and the agent sees it.
    fn creates(&mut self, work: &'static str, manifests: &[(&'static str, u32)]) {
        self.world.create(work, manifests.to_vec());
        self.agent.reports_works(&self.world);
    }

    /// Until it is so.
    fn steps_until(&mut self, is_so: impl Fn(&World, &Agent) -> bool) {
        let mut steps = 0;
        while !is_so(&self.world, &self.agent) {
            let goes_on = self.agent.step(&mut self.world, &mut self.rng, false);
            steps += 1;
            assert!(
                goes_on && steps < MOST_STEPS,
                "seed {}: it is never so",
                self.seed
            );
        }
    }

    /// Until this is needed: the step and the object, or "list".
    fn until(&mut self, need: &str) {
        self.steps_until(|_, agent| agent.needs(need));
    }

    /// Until this is needed, which has this fate.
    fn meets(&mut self, need: &str, fault: Fault) {
        self.until(need);
        self.agent
            .meets(need, fault, &mut self.world, &mut self.rng);
    }

    /// Until nothing is due at this time.
    fn settles(&mut self) {
        while self.agent.step_now(&mut self.world, &mut self.rng, false) {}
    }

    /// Until nothing is due any more. All is as it should be then.
    fn rests(&mut self) {
        let ended = ending::reach(&mut self.agent, &mut self.world, &mut self.rng);
        assert_eq!(ended, Ok(()), "seed {}", self.seed);
    }

    /// The agent is killed, and begins again.
    fn kills(&mut self) {
        self.agent = Agent::begin(&self.world, self.agent.now, false);
    }
}
