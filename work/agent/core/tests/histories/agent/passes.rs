//! What a pass needs, from the API servers of the world.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use berth_work_agent_core::{
    Answer, Ask, End, Entry, Key, Next, NoAnswer, Pass, Ready, Reply, Request,
};
use berth_work_core::{Holding, Response, Step};
use fastrand::Rng;

use super::removals::{Removals, Then};
use super::{Agent, What, verb};
use crate::World;
use crate::cluster::Shown;
use crate::faults::Fault;

/// A pass, and what it needs.
pub(super) struct Passing {
    pub(super) name: Arc<str>,
    pub(super) ready: Ready,
    pub(super) pass: Box<Pass>,
    pub(super) need: Next,
    /// The object of the last response, after so many changes.
    pub(super) last: Option<(usize, Rc<Shown>)>,
}

impl Passing {
    /// How long it pauses.
    pub(super) fn pause(&self) -> Option<Duration> {
        match self.need {
            Next::Pause(pause) => Some(pause),
            _ => None,
        }
    }
}

impl Agent {
    /// Gets what a pass needs.
    pub(super) fn pass(
        &mut self,
        key: &Key,
        mut passing: Passing,
        world: &mut World,
        rng: &mut Rng,
        may_fail: bool,
    ) -> Option<What> {
        let need = std::mem::replace(&mut passing.need, Next::End(End::Replaced));
        let reply = match need {
            Next::End(End::All(again)) => {
                if let Some(again) = again {
                    self.later.insert(key.clone(), again);
                }
                return None;
            }
            Next::End(End::Replaced) => return None,
            Next::End(End::Silent) => {
                self.fails(key, Duration::from_secs(1));
                return None;
            }
            Next::Ask(entry, ask) => {
                let answer = self.answer(&mut passing, &entry, ask, world, rng, may_fail);
                answer.map_or_else(Reply::Nothing, Reply::Answer)
            }
            Next::Show(entry, _) => {
                let (name, last) = (entry.object.name(), passing.last.take());
                self.say(|| format!("{name} is shown"));
                if let Some((at, object)) = last
                    && let Some(row) = self.view.row(&entry.object)
                {
                    self.row_shows(row, at, world.named(name), Some(&object));
                }
                Reply::Done
            }
            Next::Map(ordinal) => {
                let fault = self.fate(rng, may_fail);
                let of = (&passing.name, &passing.ready);
                Reply::Mapped(self.map_again(of, ordinal, world, fault))
            }
            Next::Pause(_) => Reply::Done,
            Next::Remove(objects, owner) => {
                self.say(|| format!("{objects:?} are removed"));
                let (_, name) = passing.ready.owner();
                let removals = Removals::new(objects, (name, owner), Then::Pass(passing));
                return Some(What::Remove(Box::new(removals)));
            }
            Next::Write(write) => {
                let fault = self.fate(rng, may_fail);
                self.say(|| format!("the list is written, {fault:?}: {:?}", write.action));
                Reply::Written(self.send_write(*write, world, fault))
            }
        };
        Some(self.replies(passing, reply))
    }

    /// The pass goes on with the reply.
    pub(super) fn replies(&mut self, mut passing: Passing, reply: Reply) -> What {
        let (now, pass) = (self.instant(), &mut passing.pass);
        passing.need = self.change(|view, wakes| pass.next(view, Some(reply), now, wakes));
        What::Pass(passing)
    }

    fn answer(
        &mut self,
        passing: &mut Passing,
        entry: &Entry,
        ask: Ask,
        world: &mut World,
        rng: &mut Rng,
        may_fail: bool,
    ) -> Result<Answer, NoAnswer> {
        let name = world.named(entry.object.name());
        Ok(match ask {
            Ask::Compute(compute) => Answer::Computed(Box::new(compute.run())),
            Ask::Seen => Answer::Seen(self.has_seen(self.view.row(&entry.object), name, world)),
            Ask::Review(review) => {
                let fault = self.fate(rng, may_fail);
                let attributes = review.resource_attributes.unwrap_or_default();
                let verb = attributes.verb.unwrap_or_default();
                if let Some(nothing) = fault.nothing() {
                    return Err(nothing);
                }
                let is_allowed = world.grants.answers(self.now, name, &verb, rng);
                self.say(|| format!("may it {verb} {name}? {is_allowed}"));
                Answer::Allowed(is_allowed)
            }
            Ask::Send(request) => {
                let fault = self.fate(rng, may_fail);
                self.say(|| format!("{} {name}, {fault:?}", verb(&request.step)));
                self.sends(passing, entry, request, world, (name, fault))?
            }
        })
    }

    fn sends(
        &mut self,
        passing: &mut Passing,
        entry: &Entry,
        request: Request,
        world: &mut World,
        (name, fault): (&'static str, Fault),
    ) -> Result<Answer, NoAnswer> {
        if !fault.is_done() {
            passing.last = None;
            return match (fault.nothing(), fault.refusal()) {
                (Some(nothing), _) => Err(nothing),
                (None, refusal) => {
                    let refusal = refusal.unwrap_or_default();
                    let words = Some(refusal.message.clone());
                    Ok(Answer::Sent(Response::Refused(refusal), words))
                }
            };
        }
        let is_write = !matches!(request.step, Step::Get);
        if is_write && entry.executor().is_some() {
            let deletes = entry.owner.holding == Holding::Owned
                || matches!(request.step, Step::Delete { .. });
            if let Some(verb) = world.grants.lacks(self.now, name, deletes) {
                let step = &request.step;
                world.breaks(format!(
                    "the executor may not {verb} {name}, and {step:?} is sent"
                ));
            }
        }
        let is_deletion = matches!(request.step, Step::Delete { .. });
        let response = world.cluster.answer(name, request.step);
        let at = world.cluster.log(crate::things::Kind::of(name)).len();
        if let Some(nothing) = fault.nothing() {
            if is_write {
                world.doubtful.insert(name.to_owned());
            }
            passing.last = None;
            return Err(nothing);
        }
        match &response {
            Response::Found(_) | Response::Written(_) if !is_deletion => {
                passing.last = world.cluster.shown(name).map(|it| (at, Rc::clone(it)));
            }
            Response::NotFound if is_deletion || !is_write => {
                passing.last = None;
                if let Some(row) = self.view.row(&entry.object) {
                    self.row_shows(row, at, name, None);
                }
            }
            _ => {}
        }
        Ok(Answer::Sent(response, None))
    }
}
