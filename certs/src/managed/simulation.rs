//! Simulates years of a hub in virtual time, with failures, and checks the laws of managed certificates.

use std::cell::RefCell;
use std::collections::HashSet;
use std::time::Duration;

use fastrand::Rng;
use jiff::Timestamp;

use super::policy::{after, before};
use super::state::{Content, Leaf};
use super::{
    Bundle, Decision, Facts, Policy, Published, Reading, Root, Shape, State, Step, decide, make,
    verifies,
};
use crate::issue::Authority;

const DAY: Duration = Duration::from_secs(24 * 3600);
const REGISTRATIONS: usize = 4;

/// A bundle of a registration, the time since which it is stored, and whether a replica wrote it.
#[derive(Clone)]
struct Value {
    since: Timestamp,
    roots: Vec<Root>,
    ours: bool,
}

#[derive(Default)]
struct Replica {
    memory: Option<State>,
    served: Option<Leaf>,
    /// The replica gets no updates.
    cut_off: bool,
}

struct World {
    random: Rng,
    now: Timestamp,
    policy: Policy,
    secret: Option<Content>,
    misshapen: bool,
    /// The history of each registration.
    registrations: Vec<Vec<Value>>,
    replicas: Vec<Replica>,
    leader: usize,
    steps: Vec<Step>,
    /// The number of times that a certificate was served before its authority had settled.
    forced: usize,
    /// A cache of verified certificates. A certificate stays verified while it is valid: its authority outlives it.
    verified: RefCell<HashSet<String>>,
    /// For messages.
    told: Vec<String>,
}

impl World {
    fn new(seed: u64, policy: Policy) -> Self {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let nothing = Value {
            since: before(now, 30 * DAY),
            roots: vec![],
            ours: false,
        };
        Self {
            random: Rng::with_seed(seed),
            now,
            policy,
            secret: Some(Content::default()),
            misshapen: false,
            registrations: vec![vec![nothing]; REGISTRATIONS],
            replicas: (0..3).map(|_| Replica::default()).collect(),
            leader: 0,
            steps: vec![],
            forced: 0,
            verified: RefCell::default(),
            told: vec![],
        }
    }

    fn chance(&mut self, of: f64) -> bool {
        self.random.f64() < of
    }

    fn pass(&mut self, longest: Duration) {
        let millis = u64::try_from(longest.as_millis()).unwrap();
        let by = Duration::from_millis(self.random.u64(0..=millis));
        self.now = after(self.now, by);
    }

    fn reading(&self) -> Reading {
        match &self.secret {
            None => Reading::default(),
            Some(content) => {
                let mut reading = Reading::of("the Secret", content, self.now);
                if self.misshapen {
                    reading.shape = Shape::Misshapen;
                }
                reading
            }
        }
    }

    fn published(&self) -> Published {
        let last = |history: &Vec<Value>| {
            let pem: String = history
                .last()
                .unwrap()
                .roots
                .iter()
                .map(Root::pem)
                .collect();
            Bundle::new(pem.as_bytes())
        };
        self.registrations.iter().map(last).collect()
    }

    /// Lets a replica read the Secret.
    fn read(&mut self, replica: usize) {
        let reading = self.reading();
        let replica = &mut self.replicas[replica];
        if let Some(state) = reading.state
            && reading.problems.is_empty()
            && let Some(leaf) = &state.leaf
        {
            replica.served = Some(leaf.clone());
            replica.memory = Some(state);
        }
    }

    fn readers_read(&mut self) {
        for i in 0..self.replicas.len() {
            if !self.replicas[i].cut_off && self.chance(0.8) {
                self.read(i);
            }
        }
    }

    /// Runs the leader until it waits, or is interrupted. Returns the time of its next decision.
    fn lead(&mut self, interruptions: f64) -> Option<Timestamp> {
        for _ in 0..40 {
            self.read(self.leader);
            let (stored, published) = (self.reading(), self.published());
            let remembered = self.replicas[self.leader].memory.clone();
            let mut facts = Facts {
                now: self.now,
                stored: &stored,
                published: Some(&published),
                remembered: remembered.as_ref(),
                served: None,
                policy: &self.policy,
            };
            let mut decision = decide(&facts);
            assert_eq!(decide(&facts), decision);
            if decision == Decision::Ask {
                facts.served = Some(self.is_a_trusted_certificate_served());
                decision = decide(&facts);
            }
            let step = match decision {
                Decision::Do(step) => step,
                Decision::Look | Decision::Ask => panic!("everything is known"),
                Decision::Blocked => {
                    let served = remembered.as_ref().or(stored.state.as_ref());
                    self.publish_state(served, interruptions)?;
                    // An admin deletes the Secret and applies the manifest.
                    self.misshapen = false;
                    self.secret = Some(Content::default());
                    self.readers_read();
                    continue;
                }
                Decision::Rest(again) => {
                    assert!(again > self.now, "{again}: {:?}", self.told);
                    if self.publish(&stored, interruptions)? {
                        continue;
                    }
                    return Some(again);
                }
            };
            let made = make(step, &facts).unwrap();
            self.told.push(format!("{} {step:?}", self.now));
            self.steps.push(step);
            if self.forces(step, &stored) {
                // At the last moment, or if no replica served, this is allowed.
                if facts.served != Some(false) {
                    self.forced += 1;
                    self.told.push(format!("{} forced", self.now));
                }
                for value in self.registrations.iter_mut().flatten() {
                    value.ours = false;
                }
            }
            if self.chance(interruptions) {
                return None;
            }
            self.secret = Some(made.content());
            self.readers_read();
            self.check();
            if self.chance(interruptions) {
                return None;
            }
            self.pass(Duration::from_secs(1).min(self.policy.settle / 10));
            self.check();
        }
        panic!("it does not come to rest: {:?}", self.told)
    }

    /// Returns true if the step serves a certificate whose authority has not settled.
    ///
    /// The registrations count as well as the time in the Secret, which a mishap may have removed.
    fn forces(&self, step: Step, stored: &Reading) -> bool {
        let Some(state) = &stored.state else {
            return false;
        };
        let takes_over = match step {
            Step::Switch => state.next.as_ref(),
            Step::Leaf if state.leaf.is_none() && state.next.is_none() => Some(&state.authority),
            _ => None,
        };
        let settled = state
            .published_since
            .is_some_and(|since| after(since, self.policy.settle) <= self.now);
        takes_over.is_some_and(|signer| !settled && !self.has_settled(&signer.root))
    }

    /// Returns true if all registrations have had the authority for the time to settle.
    fn has_settled(&self, root: &Root) -> bool {
        self.registrations.iter().all(|history| {
            let latest_first = history.iter().rev();
            let having = latest_first.take_while(|value| value.roots.contains(root));
            having
                .last()
                .is_some_and(|value| after(value.since, self.policy.settle) <= self.now)
        })
    }

    /// Returns true if a replica serves a certificate that a registration verifies.
    fn is_a_trusted_certificate_served(&self) -> bool {
        let names = self.policy.server_names();
        let served = self.replicas.iter().filter_map(|it| it.served.as_ref());
        served
            .filter(|leaf| leaf.pair.is_valid_at(self.now))
            .any(|leaf| {
                self.registrations.iter().any(|history| {
                    let roots = &history.last().unwrap().roots;
                    verifies(leaf.certificate_pem(), roots, &names, self.now)
                })
            })
    }

    /// Writes the bundles. Returns true if one differed, or `None` if interrupted.
    fn publish(&mut self, stored: &Reading, interruptions: f64) -> Option<bool> {
        self.publish_state(stored.state.as_ref(), interruptions)
    }

    fn publish_state(&mut self, state: Option<&State>, interruptions: f64) -> Option<bool> {
        let Some(state) = state else {
            return Some(false);
        };
        let roots = state.roots();
        let mut wrote = false;
        for i in 0..REGISTRATIONS {
            if self.registrations[i].last().unwrap().roots == roots {
                continue;
            }
            if self.chance(interruptions) {
                return None;
            }
            self.pass(Duration::from_secs(1).min(self.policy.settle / 10));
            let value = Value {
                since: self.now,
                roots: roots.clone(),
                ours: true,
            };
            self.registrations[i].push(value);
            self.told.push(format!(
                "{} registration {i} has {} authorities",
                self.now,
                roots.len()
            ));
            wrote = true;
            self.check();
        }
        Some(wrote)
    }

    /// Checks the laws.
    fn check(&self) {
        let names = self.policy.server_names();
        if let Some(state) = self.reading().state
            && let Some(leaf) = &state.leaf
        {
            assert!(
                leaf.pair.not_after <= state.authority.root.not_after(),
                "a leaf outlives its authority"
            );
        }
        for (which, replica) in self.replicas.iter().enumerate() {
            let Some(leaf) = replica
                .served
                .as_ref()
                .filter(|leaf| leaf.pair.is_valid_at(self.now))
            else {
                continue;
            };
            for (registration, history) in self.registrations.iter().enumerate() {
                for (i, value) in history.iter().enumerate() {
                    let replaced = history.get(i + 1).map(|next| next.since);
                    let believed =
                        replaced.is_none_or(|at| after(at, self.policy.settle) > self.now);
                    if !believed || !value.ours {
                        continue;
                    }
                    let roots: Vec<_> = value.roots.iter().map(Root::digest).collect();
                    let both = format!("{:?}{roots:?}", leaf.pair.digest);
                    if self.verified.borrow().contains(&both) {
                        continue;
                    }
                    let verified = verifies(leaf.certificate_pem(), &value.roots, &names, self.now);
                    assert!(
                        verified,
                        "{}: what replica {which} serves is not verified by what registration {registration} has since \
                         {}: {:#?}",
                        self.now, value.since, self.told,
                    );
                    self.verified.borrow_mut().insert(both);
                }
            }
        }
    }

    /// Causes a random failure.
    fn mishap(&mut self) {
        let keys: Vec<_> = self
            .secret
            .iter()
            .flat_map(|it| it.data.keys().cloned())
            .collect();
        let what = self.random.u8(0..10);
        self.told.push(format!("{} mishap {what}", self.now));
        match what {
            0 => self.secret = None,
            1 if self.secret.is_some() => self.secret = Some(Content::default()),
            2 if self.secret.is_some() => self.misshapen = true,
            3 | 4 => {
                // A key of the data, or all annotations, are lost or truncated.
                if let Some(content) = &mut self.secret {
                    let key = &keys[self.random.usize(0..keys.len())];
                    let value = content.data.get_mut(key).unwrap();
                    value.truncate(self.random.usize(0..value.len().max(1)));
                }
            }
            5 => {
                if let Some(content) = &mut self.secret {
                    content.annotations.clear();
                }
            }
            6 => {
                let leader = self.leader;
                self.restart(leader);
            }
            7 => self.leader = self.random.usize(0..self.replicas.len()),
            8 => {
                let i = self.random.usize(0..REGISTRATIONS);
                let value = Value {
                    since: self.now,
                    roots: vec![],
                    ours: false,
                };
                self.registrations[i].push(value);
            }
            _ => {
                let i = self.random.usize(0..self.replicas.len());
                self.replicas[i].cut_off = i != self.leader && !self.replicas[i].cut_off;
            }
        }
        self.replicas[self.leader].cut_off = false;
    }

    fn restart(&mut self, replica: usize) {
        self.replicas[replica] = Replica::default();
    }

    /// Runs the simulation for this time.
    fn live(&mut self, time: Duration, mishaps: f64, interruptions: f64) {
        let end = after(self.now, time);
        while self.now < end {
            let again = self.lead(interruptions);
            self.check();
            match again {
                // Interrupted: another replica becomes the leader.
                None => {
                    let leader = self.leader;
                    self.restart(leader);
                    self.leader = self.random.usize(0..self.replicas.len());
                    self.replicas[self.leader].cut_off = false;
                    self.pass(self.policy.settle / 2);
                }
                Some(again) if self.chance(mishaps) => {
                    // At a random time before the next decision.
                    let wait = Duration::try_from(again.duration_since(self.now)).unwrap();
                    let wait = wait.min(self.policy.leaf_validity / 3);
                    self.pass(wait);
                    self.mishap();
                }
                Some(again) => {
                    self.now = again;
                    for i in 0..self.replicas.len() {
                        if !self.replicas[i].cut_off {
                            self.read(i);
                        }
                    }
                }
            }
            self.check();
            // Drop entries that API servers no longer use.
            let (now, settle) = (self.now, self.policy.settle);
            for history in &mut self.registrations {
                while history.len() > 1 && after(history[1].since, settle) <= now {
                    history.remove(0);
                }
            }
            let last = self.told.len().saturating_sub(60);
            self.told.drain(..last);
        }
    }

    fn count(&self, step: Step) -> usize {
        self.steps.iter().filter(|it| **it == step).count()
    }
}

fn policy() -> Policy {
    Policy {
        dns_names: vec!["gate.hub.svc".to_owned()],
        ip_addresses: vec![],
        ca_validity: 365 * DAY,
        leaf_validity: 30 * DAY,
        settle: Duration::from_secs(60),
    }
}

/// Policies from seconds, as in the tests on hubs, to years.
fn policies() -> [Policy; 3] {
    let short = Policy {
        ca_validity: Duration::from_secs(40),
        leaf_validity: Duration::from_secs(10),
        settle: Duration::from_secs(2),
        ..policy()
    };
    let tight = Policy {
        ca_validity: 4 * DAY,
        leaf_validity: DAY,
        settle: DAY,
        ..policy()
    };
    [policy(), short, tight]
}

#[test]
fn undisturbed_it_renews_in_time_and_does_nothing_else() {
    let mut world = World::new(1, policy());
    world.live(10 * 365 * DAY, 0.0, 0.0);
    // Every 22 to 24 days; every 274 to 292 days, and not at once after the last.
    let (leaves, switches) = (world.count(Step::Leaf), world.count(Step::Switch));
    assert!(
        (140..=170).contains(&(leaves + switches)),
        "{leaves} and {switches}"
    );
    assert!((12..=13).contains(&switches), "{switches}");
    assert!(world.count(Step::Introduce) <= switches + 1);
    assert!(world.count(Step::Published) <= switches + 1);
    assert!(world.count(Step::Forget) <= switches);
    assert_eq!(world.count(Step::Begin), 1);
    let others = [Step::PutBack, Step::Rewrite, Step::NotPublished];
    assert!(
        others.iter().all(|step| world.count(*step) == 0),
        "{:?}",
        world.steps
    );
}

#[test]
fn there_is_always_something_valid_to_serve() {
    for (i, policy) in policies().into_iter().enumerate() {
        let time = 6 * policy.ca_validity;
        let mut world = World::new(i as u64, policy);
        world.lead(0.0);
        let end = after(world.now, time);
        while world.now < end {
            world.now = world.lead(0.0).unwrap();
            world.readers_read();
            let state = world.reading().state.unwrap();
            assert!(
                state
                    .leaf
                    .is_some_and(|leaf| leaf.pair.is_valid_at(world.now)),
                "{:?}",
                world.told
            );
        }
    }
}

#[test]
fn registrations_verify_served_certificates_despite_failures() {
    for seed in 0..3 {
        for policy in policies() {
            let time = 3 * policy.ca_validity;
            let is_usual = policy == self::policy();
            let mut world = World::new(seed, policy);
            world.live(time, 0.4, 0.05);
            assert!(world.forced == 0 || !is_usual, "{:#?}", world.told);
        }
    }
}

#[test]
fn certificates_of_another_authority_stay_verified_until_ours_has_settled() {
    for seed in 0..6 {
        let policy = policy();
        let mut world = World::new(seed, policy.clone());
        // Another gate, for example with certificates of cert-manager.
        let theirs = Authority::new("cert-manager", 3650 * DAY, world.now).unwrap();
        let leaf = theirs
            .leaf(&["gate.hub.svc"], &[], policy.leaf_validity, world.now)
            .unwrap();
        let leaf = Leaf::new(&leaf, world.now).unwrap();
        let root = Root::of(&theirs).unwrap();
        for history in &mut world.registrations {
            *history = vec![Value {
                since: before(world.now, DAY),
                roots: vec![root.clone()],
                ours: true,
            }];
        }
        world.replicas.push(Replica {
            served: Some(leaf),
            cut_off: true,
            memory: None,
        });
        world.live(60 * DAY, 0.0, 0.1);
        assert!(
            !world.published().all_hold(&[&root]),
            "theirs is forgotten in the end"
        );
        assert!(world.replicas[0].served.is_some() || world.replicas[1].served.is_some());
    }
}

#[test]
fn when_all_is_lost_at_once_there_is_something_to_serve_at_once() {
    let mut world = World::new(1, policy());
    world.lead(0.0);
    world.readers_read();
    world.secret = None;
    for replica in 0..world.replicas.len() {
        world.restart(replica);
    }
    world.steps.clear();
    let begun = world.now;
    world.lead(0.0);
    assert_eq!(world.steps[..2], [Step::Begin, Step::Leaf]);
    assert!(
        after(begun, world.policy.settle / 2) > world.now,
        "{:?}",
        world.told
    );
    let state = world.reading().state.unwrap();
    assert!(world.published().all_hold(&[&state.authority.root]));
}

#[test]
fn after_two_years_asleep_it_is_as_at_the_first_start() {
    let mut world = World::new(1, policy());
    world.lead(0.0);
    world.now = after(world.now, 730 * DAY);
    world.steps.clear();
    for value in world.registrations.iter_mut().flatten() {
        value.ours = false;
    }
    world.lead(0.0);
    assert_eq!(world.steps, [Step::Begin], "{:?}", world.told);
    let state = world.reading().state.unwrap();
    assert!(
        state
            .leaf
            .is_some_and(|leaf| leaf.pair.is_valid_at(world.now))
    );
    assert_eq!(state.old, []);
}
