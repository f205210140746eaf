//! The agent: its view, what of its reports is under way, and its tasks. Each step does one thing, chosen by chance.

mod holds;
mod mapping;
mod passes;
mod removals;
mod reports;
mod rows;
mod scripts;
mod writes;

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use berth_api::Now;
use berth_api::plan::Write;
use berth_work_agent_core::{
    Identity, Key, Notice, RbacKind, RowId, Settings, View, Wakes, eviction, lifecycle, status,
};
use berth_work_core::evaluate::FeedbackSettings;
use fastrand::Rng;
use jiff::Timestamp;
use mapping::Mapping;
use passes::Passing;
use removals::Removals;
use rows::Row;

use crate::World;
use crate::faults::Fault;
use crate::things::Kind;

/// How long a step takes.
const STEP: Duration = Duration::from_micros(1);

/// The agent.
pub(crate) struct Agent {
    pub(crate) view: View,
    /// Keys that are due.
    due: Vec<Key>,
    /// Keys that are due later.
    later: HashMap<Key, Instant>,
    running: Vec<Running>,
    /// The key that is worked on at this moment, and whether it is due again.
    at: Option<(Key, bool)>,
    /// How far the watches of works, AppliedManifestWorks and CustomResourceDefinitions are.
    works: usize,
    applied: usize,
    definitions: usize,
    /// After how many changes a response had a ManifestWork (true) or an AppliedManifestWork.
    responses: HashMap<(bool, String), usize>,
    rows: BTreeMap<RowId, Row>,
    /// How far the watches of roles and bindings are; `None`: not listed yet. Empty: they are not watched.
    permissions: Vec<(RbacKind, Option<usize>)>,
    /// The last change of an object that was seen, in its kind.
    seen: HashMap<&'static str, usize>,
    begun: Instant,
    /// The time since the beginning of the history; `begun`: the same on the clock of this process.
    pub(crate) now: Duration,
    is_told: bool,
    /// Refusals are told apart.
    apart: bool,
    /// What happens to the next request of a pass, if it is not left to chance.
    fault: Option<Fault>,
    /// The request that has to wait: for scripts.
    pub(crate) held: Option<&'static str>,
    /// It took something for the deeds of another agent.
    pub(crate) has_rival: bool,
}

/// A key that is worked on.
struct Running {
    key: Key,
    what: What,
    /// The key is due again.
    again: bool,
    /// It pauses until then.
    until: Option<Duration>,
}

enum What {
    /// These writes are due.
    Writes(Vec<Write>),
    /// Manifests are mapped to objects.
    Map(Mapping),
    /// A pass needs something.
    Pass(Passing),
    /// Objects are removed.
    Remove(Box<Removals>),
}

/// What a step may do.
#[derive(Clone, Copy)]
enum Do {
    ReportWork,
    ReportApplied,
    ReportDefinition,
    ReportPermissions,
    ReportRow,
    Begin,
    GoOn,
    /// The API server goes on with a CustomResourceDefinition.
    Background,
}

impl Agent {
    /// An agent that begins at this time.
    pub(crate) fn begin(world: &World, now: Duration, is_told: bool) -> Self {
        let settings = Settings {
            eviction_grace: Duration::from_secs(3600),
            poll_interval: Duration::from_secs(10),
            impersonates_executors: false,
            namespace: "open-cluster-management-agent".to_owned(),
            feedback: FeedbackSettings {
                raw: false,
                max_raw: 1024,
            },
            works_memory: 64 << 20,
        };
        let identity = Identity {
            hub_hash: "hash".to_owned(),
            cluster: "cluster1".to_owned(),
            agent_id: "agent".to_owned(),
        };
        let mut agent = Self {
            view: View::new(settings, identity, Instant::now, || 0.5),
            due: Vec::new(),
            later: HashMap::new(),
            running: Vec::new(),
            at: None,
            works: world.works.log.len(),
            applied: world.applied.log.len(),
            definitions: 0,
            responses: HashMap::new(),
            rows: BTreeMap::new(),
            permissions: Vec::new(),
            seen: HashMap::new(),
            begun: Instant::now(),
            now,
            is_told,
            apart: world.traits.apart,
            fault: None,
            held: None,
            has_rival: false,
        };
        let mut wakes = Wakes::default();
        agent.view.hub_listed_at(world.works.log.len() as u64);
        for (name, work) in world.works.all() {
            reports::work_is(&mut agent.view, name, Some(work), &mut wakes);
        }
        agent.view.works_listed(&mut wakes);
        for (name, applied) in world.applied.all() {
            reports::applied_is(&mut agent.view, name, Some(applied), &mut wakes);
        }
        agent.view.applied_listed();
        let keys = agent.view.keys();
        agent.wake(keys);
        agent
    }

    pub(crate) fn say(&self, what: impl FnOnce() -> String) {
        if self.is_told {
            eprintln!("{:?}: {}", self.now, what());
        }
    }

    fn wake(&mut self, mut keys: Vec<Key>) {
        // They come out of maps: a number is the same history each time.
        keys.sort_by(|a, b| rank(a).cmp(&rank(b)));
        for key in keys {
            self.later.remove(&key);
            if let Some((_, again)) = self.at.as_mut().filter(|it| it.0 == key) {
                *again = true;
            } else if let Some(running) = self.running.iter_mut().find(|it| it.key == key) {
                running.again = true;
            } else if !self.due.contains(&key) {
                self.due.push(key);
            }
        }
    }

    fn change<T>(&mut self, change: impl FnOnce(&mut View, &mut Wakes) -> T) -> T {
        let mut wakes = Wakes::default();
        let changed = change(&mut self.view, &mut wakes);
        let notices = std::mem::take(&mut self.view.notices);
        self.has_rival |= notices.iter().any(|it| matches!(it, Notice::TwoAgents(_)));
        self.wake(wakes.0);
        changed
    }

    fn now(&self) -> Now {
        Now {
            instant: self.instant(),
            wall: Timestamp::UNIX_EPOCH + self.now,
        }
    }

    fn instant(&self) -> Instant {
        self.begun + self.now
    }

    /// Does one thing. Returns false if there is nothing to do, not even later.
    pub(crate) fn step(&mut self, world: &mut World, rng: &mut Rng, may_fail: bool) -> bool {
        if self.step_now(world, rng, may_fail) {
            return true;
        }
        let later = self.later.values().min();
        let later = later.map(|it| it.saturating_duration_since(self.begun));
        let pauses = self.running.iter().filter_map(|it| it.until).min();
        let times = [later, pauses, world.cluster.goes_on];
        let Some(next) = times.into_iter().flatten().min() else {
            return false;
        };
        self.now = self.now.max(next);
        let now = self.instant();
        let due = self.later.iter().filter(|(_, at)| **at <= now);
        let due = due.min_by(|a, b| rank(a.0).cmp(&rank(b.0)));
        if let Some(key) = due.map(|(key, _)| key.clone()) {
            self.wake(vec![key]);
        }
        true
    }

    /// Does one thing. Returns false if there is nothing to do at this time.
    pub(crate) fn step_now(&mut self, world: &mut World, rng: &mut Rng, may_fail: bool) -> bool {
        self.now += STEP;
        world.cluster.plans(self.now, rng);
        let (all, count) = self.choices(world);
        if count == 0 {
            return false;
        }
        match all[rng.usize(..count)] {
            Do::ReportWork => self.report_work(world),
            Do::ReportApplied => self.report_applied(world),
            Do::ReportDefinition => self.report_definition(world),
            Do::ReportPermissions => self.report_permissions(world),
            Do::ReportRow => self.report_row(world, rng),
            Do::Begin => {
                let at = rng.usize(..self.due.len());
                let key = self.due.swap_remove(at);
                self.start(key);
            }
            Do::GoOn => {
                let due = (0..self.running.len()).filter(|at| self.may_go_on(&self.running[*at]));
                let at = rng.choice(due.collect::<Vec<_>>()).unwrap();
                self.go_on(at, world, rng, may_fail);
            }
            Do::Background => {
                self.say(|| "the API server goes on with the definition".to_owned());
                world.cluster.go_on();
            }
        }
        self.sees_holds(world);
        true
    }

    /// What a step may do at this time, and how many things that are.
    fn choices(&self, world: &World) -> ([Do; 8], usize) {
        let cluster = &world.cluster;
        let (mut all, mut count) = ([Do::Begin; 8], 0);
        let mut may = |is_due: bool, what| {
            if is_due {
                all[count] = what;
                count += 1;
            }
        };
        may(self.works < world.works.log.len(), Do::ReportWork);
        may(self.applied < world.applied.log.len(), Do::ReportApplied);
        let definitions = cluster.log(Kind::Definition).len();
        may(self.definitions < definitions, Do::ReportDefinition);
        may(self.lacks_permissions(world), Do::ReportPermissions);
        may(
            self.rows.values().any(|it| it.has_news(cluster)),
            Do::ReportRow,
        );
        may(!self.due.is_empty(), Do::Begin);
        may(self.running.iter().any(|it| self.may_go_on(it)), Do::GoOn);
        may(
            cluster.goes_on.is_some_and(|it| it <= self.now),
            Do::Background,
        );
        (all, count)
    }

    fn may_go_on(&self, running: &Running) -> bool {
        running.until.is_none_or(|it| it <= self.now)
            && self
                .held
                .is_none_or(|it| running.needs().is_none_or(|need| need != it))
    }

    /// What becomes of a request.
    fn fate(&self, rng: &mut Rng, may_fail: bool) -> Fault {
        let fate = self.fault;
        fate.unwrap_or_else(|| Fault::by_chance(rng, may_fail, self.apart))
    }

    fn start(&mut self, key: Key) {
        let now = self.now();
        let plan = match &key {
            Key::Work(name) => lifecycle::plan(&self.view, name, now.instant),
            Key::Status(name) => status::plan(&self.view, name, now),
            Key::Applied(name) => {
                if !self.view.applied.contains_key(name) {
                    self.view.departed(name);
                }
                eviction::plan(&self.view, name, now)
            }
            Key::Table => return self.table(),
        };
        if let Some(again) = plan.again {
            self.later.insert(key.clone(), again);
        }
        let what = What::Writes(plan.writes);
        self.running.push(Running {
            key,
            what,
            again: false,
            until: None,
        });
    }

    fn go_on(&mut self, at: usize, world: &mut World, rng: &mut Rng, may_fail: bool) {
        let Running {
            key, what, again, ..
        } = self.running.swap_remove(at);
        self.at = Some((key.clone(), again));
        let left = match what {
            What::Writes(writes) => self.write(&key, writes, world, rng, may_fail),
            What::Map(mapping) => self.map(mapping, world, rng, may_fail),
            What::Pass(passing) => self.pass(&key, passing, world, rng, may_fail),
            What::Remove(removals) => self.remove(&key, removals, world, rng, may_fail),
        };
        let again = self.at.take().is_some_and(|(_, again)| again);
        self.sees_holds(world);
        if let Some(What::Pass(passing)) = &left {
            self.keeps_hold(passing, world);
        }
        match left {
            Some(what) => {
                let pause = match &what {
                    What::Pass(it) => it.pause(),
                    _ => None,
                };
                let until = pause.map(|it| self.now + it);
                self.running.push(Running {
                    key,
                    what,
                    again,
                    until,
                });
            }
            None if again => self.wake(vec![key]),
            None => {}
        }
    }

    /// The key failed, and is tried again later.
    fn fails(&mut self, key: &Key, wait: Duration) {
        let at = self.instant() + wait;
        self.later.insert(key.clone(), at);
    }

    /// The agent is killed, and begins again.
    pub(crate) fn killed(self, world: &mut World) -> Self {
        if self.has_rival {
            world.breaks("another agent is reported, and there is none".to_owned());
        }
        let agent = Self::begin(world, self.now, self.is_told);
        agent.sees_holds(world);
        agent
    }

    /// Returns true if there is nothing to do at this time.
    pub(crate) fn is_idle(&self, world: &World) -> bool {
        self.choices(world).1 == 0
    }
}

fn rank(key: &Key) -> (u8, &str) {
    match key {
        Key::Work(name) => (0, name),
        Key::Status(name) => (1, name),
        Key::Applied(name) => (2, name),
        Key::Table => (3, ""),
    }
}

/// The name of a step.
fn verb(step: &impl std::fmt::Debug) -> String {
    let mut step = format!("{step:?}");
    let end = step.find([' ', '(']).unwrap_or(step.len());
    step.truncate(end);
    step
}
