//! The agent: its view, what of its reports is under way, and its tasks. Each step does one thing, chosen by chance.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_api::plan::Write;
use berth_api::{GroupVersionResource, Now};
use berth_work_agent_core::targets::{self, Shared};
use berth_work_agent_core::{
    Answer, Ask, End, Identity, Key, Mapped, Next, NoAnswer, ObjectItem, Pass, Reply, RowId,
    Settings, View, Wakes, eviction, lifecycle, status,
};
use berth_work_core::evaluate::FeedbackSettings;
use berth_work_core::{Removal, Removing, Response, Step};
use fastrand::Rng;
use jiff::Timestamp;
use serde_json::Value;

use crate::World;
use crate::store::Store;

/// The agent.
pub(crate) struct Agent {
    view: View,
    /// Keys that are due.
    due: Vec<Key>,
    /// Keys that are due later.
    later: HashMap<Key, Instant>,
    running: Vec<Running>,
    /// The key that is worked on at this moment, and whether it is due again.
    at: Option<(Key, bool)>,
    /// How far the watches of works and AppliedManifestWorks are.
    works: usize,
    applied: usize,
    /// How far the watch of a row is; `None`: it is not listed yet.
    rows: BTreeMap<RowId, Option<usize>>,
    /// The last change of an object that was seen in a response.
    seen: HashMap<String, usize>,
    begun: Instant,
    /// The time since the beginning of the history; `begun`: the same on the clock of this process.
    pub(crate) now: Duration,
    is_told: bool,
    /// What happens to the next request of a pass, if it is not left to chance.
    pub(crate) fault: Option<Fault>,
}

/// A key that is worked on.
struct Running {
    key: Key,
    what: What,
    /// The key is due again.
    again: bool,
}

enum What {
    /// These writes are due.
    Writes(Vec<Write>),
    /// This pass needs this.
    Pass(Box<Pass>, Next, Option<(usize, Value)>),
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
            rows: BTreeMap::new(),
            seen: HashMap::new(),
            begun: Instant::now(),
            now,
            is_told,
            fault: None,
        };
        let mut wakes = Wakes::default();
        agent.view.hub_listed_at(world.works.log.len() as u64);
        for (name, work) in world.works.all() {
            work_is(&mut agent.view, name, Some(work), &mut wakes);
        }
        agent.view.works_listed(&mut wakes);
        for (name, applied) in world.applied.all() {
            applied_is(&mut agent.view, name, Some(applied), &mut wakes);
        }
        agent.view.applied_listed();
        let keys = agent.view.keys();
        agent.wake(keys);
        agent
    }

    pub(crate) fn say(&self, what: impl FnOnce() -> String) {
        if self.is_told {
            eprintln!("{}", what());
        }
    }

    fn wake(&mut self, keys: Vec<Key>) {
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
        self.view.notices.clear();
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
        let Some((key, at)) = self.later.iter().min_by_key(|(_, at)| **at) else {
            return false;
        };
        let (key, at) = (key.clone(), *at);
        self.now = self.now.max(at.saturating_duration_since(self.begun));
        self.wake(vec![key]);
        true
    }

    /// Does one thing. Returns false if there is nothing to do at this time.
    pub(crate) fn step_now(&mut self, world: &mut World, rng: &mut Rng, may_fail: bool) -> bool {
        type Do = fn(&mut Agent, &mut World, &mut Rng, bool);
        let mut all: Vec<Do> = Vec::new();
        if self.works < world.works.log.len() {
            all.push(|agent, world, _, _| agent.report_work(world));
        }
        if self.applied < world.applied.log.len() {
            all.push(|agent, world, _, _| agent.report_applied(world));
        }
        let ends = world.cluster.log.len();
        if self.rows.values().any(|it| it.is_none_or(|at| at < ends)) {
            all.push(|agent, world, _, _| agent.report_row(world));
        }
        if !self.due.is_empty() {
            all.push(|agent, _, rng, _| {
                let at = rng.usize(..agent.due.len());
                let key = agent.due.swap_remove(at);
                agent.start(key);
            });
        }
        if !self.running.is_empty() {
            all.push(|agent, world, rng, may_fail| {
                let at = rng.usize(..agent.running.len());
                agent.go_on(at, world, rng, may_fail);
            });
        }
        if all.is_empty() {
            return false;
        }
        let chosen = all[rng.usize(..all.len())];
        chosen(self, world, rng, may_fail);
        true
    }

    /// What the pass needs: the step and the object, or "list".
    pub(crate) fn needs(&self) -> Option<String> {
        self.running.iter().find_map(|it| match &it.what {
            What::Pass(_, Next::Ask(entry, Ask::Send(request)), _) => {
                let step = format!("{:?}", request.step);
                let end = step.find([' ', '(']).unwrap_or(step.len());
                Some(format!("{} {}", &step[..end], entry.object.name()))
            }
            What::Pass(_, Next::Write(_), _) => Some("list".to_owned()),
            _ => None,
        })
    }

    /// The request of the pass has this fate.
    pub(crate) fn meets(&mut self, fault: Fault, world: &mut World, rng: &mut Rng) {
        let is_pass = |it: &Running| matches!(it.what, What::Pass(..));
        let at = self.running.iter().position(is_pass).unwrap();
        self.fault = Some(fault);
        self.go_on(at, world, rng, false);
        self.fault = None;
    }

    /// All changes of works are reported.
    pub(crate) fn reports_works(&mut self, world: &World) {
        while self.works < world.works.log.len() {
            self.report_work(world);
        }
    }

    fn report_work(&mut self, world: &World) {
        let (name, work) = world.works.log[self.works].clone();
        self.works += 1;
        self.say(|| "a report of the work".to_owned());
        self.change(|view, wakes| work_is(view, &name, work.as_ref(), wakes));
    }

    fn report_applied(&mut self, world: &World) {
        let (name, applied) = world.applied.log[self.applied].clone();
        self.applied += 1;
        self.say(|| "a report of the AppliedManifestWork".to_owned());
        self.change(|view, wakes| applied_is(view, &name, applied.as_ref(), wakes));
    }

    /// A row is listed, or reports the next change.
    fn report_row(&mut self, world: &World) {
        let ends = world.cluster.log.len();
        let row = self
            .rows
            .iter()
            .find(|(_, it)| it.is_none_or(|at| at < ends));
        let Some((&row, &at)) = row else {
            return;
        };
        let Some(at) = at else {
            self.say(|| "a list of objects".to_owned());
            for (name, object) in world.cluster.all() {
                self.row_shows(row, ends, name, Some(&object));
            }
            self.rows.insert(row, Some(ends));
            return self.change(|view, wakes| view.row_listed(row, wakes));
        };
        let (name, object) = &world.cluster.log[at];
        self.say(|| format!("a report of {name}"));
        self.rows.insert(row, Some(at + 1));
        self.row_shows(row, at + 1, name, object.as_ref());
    }

    /// Shows an object to the view, as it was after this many changes, unless something newer was seen.
    fn row_shows(&mut self, row: RowId, at: usize, name: &str, object: Option<&Value>) {
        let seen = self.seen.entry(name.to_owned()).or_default();
        if *seen > at {
            return;
        }
        *seen = at;
        let arrived = match object {
            None => None,
            Some(object) => match self.read(name, object) {
                // No manifest prescribes it.
                None => return,
                arrived => arrived,
            },
        };
        self.change(|view, wakes| view.row_sees(row, ("n", name), arrived, wakes));
    }

    fn read(&self, name: &str, object: &Value) -> Option<berth_work_agent_core::Arrived> {
        let json = object.to_string();
        let text = |field: &str| object["metadata"][field].as_str().unwrap();
        let item = ObjectItem {
            namespace: "n",
            name,
            uid: text("uid"),
            version: text("resourceVersion"),
            json: &json,
        };
        let (prescriptions, evaluator) = (&self.view.prescriptions, &self.view.evaluator);
        prescriptions.read(0, &item, evaluator, None).unwrap()
    }

    /// Brings the rows up to date.
    fn table(&mut self) {
        let changes = self.view.rows.changes();
        for row in &changes.removed {
            self.view.forgets(*row);
            self.rows.remove(row);
        }
        for (row, _) in changes.added {
            self.view.awaits(row);
            self.rows.insert(row, None);
        }
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
        });
    }

    fn go_on(&mut self, at: usize, world: &mut World, rng: &mut Rng, may_fail: bool) {
        let Running { key, what, again } = self.running.swap_remove(at);
        self.at = Some((key.clone(), again));
        let left = match what {
            What::Writes(writes) => self.write(&key, writes, world, rng, may_fail),
            What::Pass(pass, need, last) => {
                self.pass(&key, (pass, need, last), world, rng, may_fail)
            }
        };
        let again = self.at.take().is_some_and(|(_, again)| again);
        match left {
            Some(what) => self.running.push(Running { key, what, again }),
            None if again => self.wake(vec![key]),
            None => {}
        }
    }

    fn fails(&mut self, key: &Key) {
        let at = self.instant() + Duration::from_secs(1);
        self.later.insert(key.clone(), at);
    }

    /// Sends the writes, and goes on once none is due.
    fn write(
        &mut self,
        key: &Key,
        mut writes: Vec<Write>,
        world: &mut World,
        rng: &mut Rng,
        may_fail: bool,
    ) -> Option<What> {
        if writes.is_empty() {
            return self.written(key, world, rng, may_fail);
        }
        let write = writes.remove(0);
        self.say(|| {
            format!(
                "a write to {} {}",
                write.target.resource.resource, write.target.name
            )
        });
        let fault = Fault::by_chance(rng, may_fail);
        if fault == Fault::Refused {
            self.fails(key);
            return None;
        }
        let is_written = self.send_write(write, world, fault);
        if !is_written || fault == Fault::Lost {
            self.fails(key);
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

    /// Carries out a write. The response is seen at once, unless it is lost.
    fn send_write(&mut self, write: Write, world: &mut World, fault: Fault) -> bool {
        let is_work = write.target.resource.resource == "manifestworks";
        let store: &mut Store = match is_work {
            true => &mut world.works,
            false => &mut world.applied,
        };
        let before = store.log.len();
        let is_written = store.write(write);
        // Without reports that are late there is nothing between them and the response.
        let reported = match is_work {
            true => self.works,
            false => self.applied,
        };
        if fault != Fault::Lost && is_written && before == reported {
            let (name, object) = store.log.last().cloned().unwrap();
            if store.log.len() > before {
                match is_work {
                    true => self.works += 1,
                    false => self.applied += 1,
                }
                self.change(|view, wakes| match is_work {
                    true => work_is(view, &name, object.as_ref(), wakes),
                    false => applied_is(view, &name, object.as_ref(), wakes),
                });
            }
        }
        is_written
    }

    /// No write is due for the key: what follows.
    fn written(
        &mut self,
        key: &Key,
        world: &mut World,
        rng: &mut Rng,
        may_fail: bool,
    ) -> Option<What> {
        match key {
            Key::Work(name) => self.work(name),
            Key::Applied(name) => {
                self.depart(key, name, world, rng, may_fail);
                None
            }
            Key::Status(_) | Key::Table => None,
        }
    }

    fn work(&mut self, name: &Arc<str>) -> Option<What> {
        let Some(ready) = self.view.ready(name) else {
            if !self.view.works.contains_key(name) {
                targets::forget(&mut self.view, name);
                self.table();
            }
            return None;
        };
        if !targets::is_mapped(&self.view, name, &ready) {
            let mut shared = Shared::of(name, &ready);
            let now = self.instant();
            let count = ready.work.spec.workload.manifests.len();
            let slots = (0..count).map(|ordinal| match targets::read(&ready.work, ordinal) {
                Err(slot) => slot,
                Ok(manifest) => {
                    let mapped = Mapped {
                        resource: GroupVersionResource::new("", "v1", "configmaps"),
                        is_namespaced: true,
                    };
                    manifest.matched(&mut self.view, &mut shared, Ok(mapped), now)
                }
            });
            let slots: Vec<_> = slots.collect();
            targets::install(&mut self.view, name, &ready, slots);
        }
        self.table();
        if self.view.waits_for_rows(name) {
            return None;
        }
        let mut pass = Pass::new(&self.view, name, &ready, Duration::ZERO);
        let now = self.instant();
        let need = self.change(|view, wakes| pass.next(view, None, now, wakes));
        Some(What::Pass(Box::new(pass), need, None))
    }

    /// Gets what a pass needs.
    fn pass(
        &mut self,
        key: &Key,
        (mut pass, need, mut last): (Box<Pass>, Next, Option<(usize, Value)>),
        world: &mut World,
        rng: &mut Rng,
        may_fail: bool,
    ) -> Option<What> {
        let fault = self
            .fault
            .unwrap_or_else(|| Fault::by_chance(rng, may_fail));
        let nothing = |is_silent| {
            Reply::Nothing(NoAnswer {
                error: "no answer".to_owned(),
                is_silent,
                is_unsent: false,
            })
        };
        let reply = match need {
            Next::End(End::All(again)) => {
                if let Some(again) = again {
                    self.later.insert(key.clone(), again);
                }
                return None;
            }
            Next::End(End::Replaced) => return None,
            Next::End(End::Silent) => {
                self.fails(key);
                return None;
            }
            Next::Ask(_, Ask::Compute(compute)) => {
                Reply::Answer(Answer::Computed(Box::new(compute.run())))
            }
            Next::Ask(entry, _) if fault == Fault::Refused => {
                self.say(|| format!("a request about {} is refused", entry.object.name()));
                nothing(rng.bool())
            }
            Next::Ask(entry, Ask::Send(request)) => {
                let name = entry.object.name();
                self.say(|| {
                    let step = format!("{:?}", request.step);
                    let step = step.split('(').next().unwrap_or_default().to_owned();
                    format!("{step} {name}, {fault:?}")
                });
                let is_get = matches!(request.step, Step::Get | Step::Delete { .. });
                let response = world.cluster.answer(name, request.step);
                let at = world.cluster.log.len();
                if fault == Fault::Lost {
                    world.doubtful.insert(name.to_owned());
                    last = None;
                    nothing(true)
                } else {
                    match &response {
                        Response::Found(object) | Response::Written(object) => {
                            last = Some((at, object.clone()));
                        }
                        Response::NotFound if is_get => {
                            last = None;
                            let row = self.view.row(&entry.object).unwrap();
                            self.row_shows(row, at, name, None);
                        }
                        Response::NotFound | Response::Refused(_) => {}
                    }
                    Reply::Answer(Answer::Sent(response, None))
                }
            }
            Next::Show(entry, _) => {
                self.say(|| format!("{} is shown", entry.object.name()));
                if let Some((at, object)) = last.take() {
                    let name = entry.object.name();
                    if let Some(row) = self.view.row(&entry.object) {
                        self.row_shows(row, at, name, Some(&object));
                    }
                }
                Reply::Done
            }
            Next::Ask(entry, Ask::Seen) => {
                let name = entry.object.name();
                let row = self.view.row(&entry.object);
                let at = row.and_then(|it| self.rows.get(&it).copied().flatten());
                let known = world.cluster.log[..at.unwrap_or(0)].iter().rev();
                let mut known = known.filter(|(of, _)| *of == name);
                let seen = known.next().is_some_and(|(_, it)| it.is_some());
                Reply::Answer(Answer::Seen(seen))
            }
            Next::Remove(objects, owner) => {
                self.say(|| format!("{objects:?} are removed"));
                let mut pending = Vec::new();
                let mut is_silent = false;
                for object in objects {
                    match remove(
                        world,
                        &object.name,
                        Removing::new(&object, &owner),
                        rng,
                        may_fail,
                    ) {
                        Some(Removal::Gone) => {}
                        Some(_) => pending.push(object),
                        None => {
                            is_silent = true;
                            pending.push(object);
                        }
                    }
                }
                Reply::Removed(pending, is_silent)
            }
            Next::Write(_) if fault == Fault::Refused => Reply::Written(false),
            Next::Write(write) => {
                self.say(|| format!("the list is written, {fault:?}: {:?}", write.action));
                let is_written = self.send_write(*write, world, fault);
                Reply::Written(is_written && fault == Fault::None)
            }
            Next::Ask(_, Ask::Review(_)) | Next::Map(_) | Next::Pause(_) => {
                unreachable!("there is no executor, and all kinds are served")
            }
        };
        let now = self.instant();
        let need = self.change(|view, wakes| pass.next(view, Some(reply), now, wakes));
        Some(What::Pass(pass, need, last))
    }

    /// Removes the objects of a deleted AppliedManifestWork.
    fn depart(
        &mut self,
        key: &Key,
        name: &Arc<str>,
        world: &mut World,
        rng: &mut Rng,
        may_fail: bool,
    ) {
        let Some(applied) = self.view.departs(name).cloned() else {
            return;
        };
        let wait = self.view.removals.get(name).map(|it| it.until);
        if let Some(until) = wait.filter(|it| *it > self.instant()) {
            self.later.insert(key.clone(), until);
            return;
        }
        let departure = self.view.departure(name, &applied);
        let mut pending = Vec::new();
        let mut is_silent = false;
        for object in &departure.objects {
            let machine = Removing::new(object, &departure.uid);
            match remove(world, &object.name, machine, rng, may_fail) {
                Some(Removal::Gone) => {}
                Some(_) => pending.push((object.clone(), "it is there".to_owned())),
                None => {
                    is_silent = true;
                    pending.push((object.clone(), "no answer".to_owned()));
                }
            }
        }
        self.change(|view, wakes| view.departing(name, &pending, wakes));
        let pending: Vec<_> = pending.into_iter().map(|(object, _)| object).collect();
        let write = match is_silent {
            true => departure.shrinks(&applied, &pending),
            false => departure.write(&applied, &pending),
        };
        let fault = Fault::by_chance(rng, may_fail);
        let is_written = match write {
            Some(_) if fault == Fault::Refused => false,
            Some(write) => self.send_write(write, world, fault) && fault == Fault::None,
            None => true,
        };
        if is_silent || !is_written {
            return self.fails(key);
        }
        if pending.is_empty() {
            self.view.removals.remove(name);
        } else {
            let now = self.instant();
            let until = self.view.wait_to_depart(name, now);
            self.later.insert(key.clone(), until);
        }
    }
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The API server is busy, or away: nothing is done.
    Refused,
    /// It is done, and the answer is lost.
    Lost,
}

impl Fault {
    fn by_chance(rng: &mut Rng, may_fail: bool) -> Self {
        match rng.u8(..12) {
            0 if may_fail => Self::Refused,
            1 if may_fail => Self::Lost,
            _ => Self::None,
        }
    }
}

/// Removes an object. `None`: there is no answer.
fn remove(
    world: &mut World,
    name: &str,
    mut machine: Removing,
    rng: &mut Rng,
    may_fail: bool,
) -> Option<Removal> {
    let mut response = None;
    loop {
        let step = machine.next(response.take());
        if let Step::Done(removal) = step {
            return Some(removal);
        }
        let fault = Fault::by_chance(rng, may_fail);
        if fault == Fault::Refused {
            return None;
        }
        response = Some(world.cluster.answer(name, step));
        if fault == Fault::Lost {
            return None;
        }
    }
}

fn work_is(view: &mut View, name: &str, work: Option<&Value>, wakes: &mut Wakes) {
    match work {
        None => view.work_gone(name, wakes),
        Some(work) => {
            let version = work["metadata"]["resourceVersion"].as_str().unwrap();
            let version = version.parse().ok();
            let work = serde_json::from_value(work.clone()).unwrap();
            view.work_changed(name, version, Arc::new(work), wakes);
        }
    }
}

fn applied_is(view: &mut View, name: &str, applied: Option<&Value>, wakes: &mut Wakes) {
    match applied {
        None => view.applied_gone(name, wakes),
        Some(applied) => {
            let applied = serde_json::from_value(applied.clone()).unwrap();
            view.applied_changed(name, Arc::new(applied), wakes);
        }
    }
}
