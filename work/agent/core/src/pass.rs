//! A pass over the manifests of a ManifestWork: one object after the other is applied, then the objects are listed in the
//! AppliedManifestWork, and those that left the manifests are deleted.
//!
//! A pass does no I/O, and keeps no time: [`Pass::next`] says what is needed, and is called again with the reply. A pass that is dropped at any
//! point leaves nothing behind that the next one does not find.
//!
//! # Guarantees
//! - A failure of one object does not keep the others waiting.
//! - Once an admin of the cluster holds the work, nothing more is sent but the list: [`Pass::next`] checks that, too.
//! - Once the manifests are replaced, or the objects are to go, nothing more is sent: [`Pass::next`] checks that before each request, and drops
//!   replies that belong to manifests of before. There is no other such check.

mod defined;
mod list;
mod mapping;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_api::plan::Write;
use berth_api::work::AppliedManifestResourceMeta;
use berth_work_core::{ApplyOutcome, Response, Step};

use super::attempt::{Answer, Ask, Asking, Attempt, Need, NoAnswer, Request, Tried};
use super::executor::{Denied, Permission};
use super::manifest::Task;
use super::objects::Entry;
use super::progress::is_complete;
use super::ready::Ready;
use super::view::{Key, View, Wakes};

/// After so many requests without a response the rest of the pass waits: the API server is away.
const MOST_SILENCES: usize = 3;

/// How long a managed cluster is silent before the status says so. A cluster that starts with its agent is not reported.
const LONG_SILENCE: Duration = Duration::from_secs(60);

/// What a pass needs next.
#[derive(Debug)]
pub enum Next {
    /// An answer about the object of a manifest: [`Reply::Answer`].
    Ask(Arc<Entry>, Ask),
    /// The object of the last response is to be shown to the view. The work may spend what it costs to look at it, or not. [`Reply::Done`].
    Show(Arc<Entry>, bool),
    /// The manifest at this position is to be mapped again: [`Reply::Mapped`].
    Map(usize),
    /// Nothing, for this long: [`Reply::Done`].
    Pause(Duration),
    /// These objects are to be deleted for the owner of this UID: [`Reply::Removed`].
    Remove(Vec<AppliedManifestResourceMeta>, String),
    /// A write: [`Reply::Written`].
    Write(Box<Write>),
    /// The pass has ended.
    End(End),
}

/// The reply to what a pass needed.
#[derive(Debug)]
pub enum Reply {
    /// The answer about an object.
    Answer(Answer),
    /// Whether the manifest is mapped to an object now.
    Mapped(bool),
    /// The objects that are not gone yet, and whether the cluster did not respond.
    Removed(Vec<AppliedManifestResourceMeta>, bool),
    /// Whether a write succeeded.
    Written(bool),
    /// There was no usable response.
    Nothing(NoAnswer),
    /// It is done.
    Done,
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All manifests were tried; when to try again.
    All(Option<Instant>),
    /// The managed cluster does not respond, or nothing may be sent to it.
    Silent,
    /// The ManifestWork is not the one of these manifests any more. Its key was woken.
    Replaced,
}

/// A pass.
#[derive(Debug)]
pub struct Pass {
    name: Arc<str>,
    ready: Ready,
    /// The manifests are those that were installed with this number.
    installed: Option<u64>,
    /// The ManifestWork is done: its objects are not updated any more.
    frozen: bool,
    /// How long passes have failed in a row.
    failing_for: Duration,
    /// The place of the manifest, and the number of all.
    at: usize,
    count: usize,
    again: Option<Instant>,
    silences: usize,
    /// Group and kind of the CustomResourceDefinitions among the manifests.
    defined: Option<HashSet<(String, String)>>,
    /// Once the permission is known, the manifest is looked at again.
    is_check_only: bool,
    /// The object of the manifest that a response may have shown.
    shows: Option<(Arc<Entry>, bool)>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// The next manifest is due.
    Manifest,
    /// The manifest is mapped again.
    Map(mapping::Stage),
    /// An object is read for the status.
    Look(Arc<Entry>),
    /// It was read: why not, if it could not be.
    Looked(Option<String>),
    /// An object is applied.
    Attempt(Box<Attempt>, Instant),
    /// It was applied: the object is shown.
    Shown(Arc<Entry>, Tried, Instant),
    /// An object that could not be applied is read for the status.
    Learn(Arc<Entry>, Option<Instant>),
    Learned(Option<String>, Option<Instant>),
    /// The executor is asked for its permissions.
    Check {
        permission: Box<Permission>,
        entry: Arc<Entry>,
        is_kept: bool,
        begun: Instant,
    },
    /// The manifests were tried: the objects are listed.
    List(list::Stage),
    Ended(End),
}

/// What came of a manifest: when to try again, and why there was no usable response.
type Came = (Option<Instant>, Option<NoAnswer>);

// === impl Pass ===

impl Pass {
    /// A pass over the manifests of a work, which are mapped. `failing_for`: how long passes have failed in a row.
    pub fn new(view: &View, name: &Arc<str>, ready: &Ready, failing_for: Duration) -> Self {
        let progress = view.progress.get(name);
        Self {
            name: Arc::clone(name),
            frozen: is_complete(&ready.work),
            ready: ready.clone(),
            installed: progress.map(|it| it.installed),
            failing_for,
            at: 0,
            count: progress.map_or(0, |it| it.slots.len()),
            again: None,
            silences: 0,
            defined: None,
            is_check_only: false,
            shows: None,
            stage: Stage::Manifest,
        }
    }

    /// What is needed next. `reply`: to what was needed last.
    pub fn next(
        &mut self,
        view: &mut View,
        reply: Option<Reply>,
        now: Instant,
        wakes: &mut Wakes,
    ) -> Next {
        let mut reply = reply;
        // A list that was written is of these manifests, whatever has come since.
        let is_over = matches!(
            self.stage,
            Stage::Ended(_) | Stage::List(list::Stage::Listed { .. })
        );
        if !is_over && !self.is_current(view) {
            self.stage = Stage::Ended(End::Replaced);
            // What was written has to be known: the new manifests may not have it.
            if let Some((entry, may_spend)) = self.shows.take() {
                return Next::Show(entry, may_spend);
            }
        }
        if !matches!(self.stage, Stage::Ended(_) | Stage::List(_)) && view.stops(&self.name) {
            // What was made must be in the list, though nothing more is written to the cluster: the hold may last, and this agent may end.
            self.again = None;
            self.stage = match self.frozen {
                true => Stage::Ended(End::Replaced),
                false => Stage::List(list::Stage::Record(true)),
            };
            reply = None;
            if let Some((entry, may_spend)) = self.shows.take() {
                return Next::Show(entry, may_spend);
            }
        }
        loop {
            let stage = std::mem::replace(&mut self.stage, Stage::Manifest);
            if let Some(next) = self.turn(view, stage, reply.take(), now, wakes) {
                return next;
            }
        }
    }

    /// Returns true if the manifests are those of the pass, and their objects are to stay.
    fn is_current(&self, view: &View) -> bool {
        let installed = view.progress.get(&self.name).map(|it| it.installed);
        installed == self.installed && view.is_current(&self.name, &self.ready)
    }

    /// One turn of the stage. `None`: another one follows at once.
    fn turn(
        &mut self,
        view: &mut View,
        stage: Stage,
        reply: Option<Reply>,
        now: Instant,
        wakes: &mut Wakes,
    ) -> Option<Next> {
        match stage {
            Stage::Manifest if self.at >= self.count => {
                self.tried(view, false, wakes);
                None
            }
            Stage::Manifest => {
                let task = view.task(&self.name, self.at, self.frozen, now);
                self.is_check_only = matches!(task, Task::Check { is_kept: true, .. });
                self.begin(view, task, now, wakes)
            }
            Stage::Map(stage) => self.map(view, stage, reply, now, wakes),
            Stage::Look(entry) => match reply {
                Some(Reply::Answer(Answer::Sent(response, _))) => {
                    self.stage = Stage::Looked(unread(response));
                    Some(Next::Show(entry, true))
                }
                reply => {
                    let error = no_answer(reply);
                    view.note(&self.name, self.at, Some(error.error.clone()));
                    let until = view.waits(&self.name, self.at, now);
                    self.came(view, (until, Some(error)), now, wakes)
                }
            },
            Stage::Looked(unread) => {
                let (name, at) = (&self.name, self.at);
                view.note(name, at, unread);
                if let Task::Keep = view.task(name, at, self.frozen, now) {
                    view.keep(name, at);
                }
                self.came(view, (None, None), now, wakes)
            }
            Stage::Attempt(mut attempt, begun) => {
                let entry = Arc::clone(&attempt.entry);
                match drive(&mut *attempt, view, reply, now) {
                    Err(error) => {
                        self.shows = None;
                        self.attempted(view, &entry, Err(error), now, wakes)
                    }
                    Ok(Need::Done(tried)) => {
                        self.stage = Stage::Shown(entry, tried, begun);
                        let shows = self.shows.take();
                        shows.map(|(entry, may_spend)| Next::Show(entry, may_spend))
                    }
                    Ok(Need::Ask(ask)) => {
                        if let Ask::Send(request) = &ask
                            && !request.is_rehearsal
                        {
                            self.shows = Some((Arc::clone(&entry), attempt.may_spend));
                        }
                        self.stage = Stage::Attempt(attempt, begun);
                        Some(Next::Ask(entry, ask))
                    }
                }
            }
            Stage::Shown(entry, tried, begun) => {
                view.permissions_answered(&self.name, self.at, begun);
                self.attempted(view, &entry, Ok(tried), now, wakes)
            }
            Stage::Learn(entry, until) => {
                let unread = match reply {
                    Some(Reply::Answer(Answer::Sent(response, _))) => unread(response),
                    reply => Some(no_answer(reply).error),
                };
                self.stage = Stage::Learned(unread, until);
                Some(Next::Show(entry, false))
            }
            Stage::Learned(unread, until) => {
                view.note(&self.name, self.at, unread);
                self.came(view, (until, None), now, wakes)
            }
            Stage::Check {
                mut permission,
                entry,
                is_kept,
                begun,
            } => match drive(&mut *permission, view, reply, now) {
                Err(error) => {
                    let until = view.waits(&self.name, self.at, now);
                    self.came(view, (until, Some(error)), now, wakes)
                }
                Ok(Need::Done(denied)) => {
                    let until = self.checked(view, &entry, denied, is_kept, begun);
                    self.came(view, (until, None), now, wakes)
                }
                Ok(Need::Ask(ask)) => {
                    self.stage = Stage::Check {
                        permission,
                        entry: Arc::clone(&entry),
                        is_kept,
                        begun,
                    };
                    Some(Next::Ask(entry, ask))
                }
            },
            Stage::List(stage) => self.list(view, stage, reply, now),
            Stage::Ended(end) => {
                self.stage = Stage::Ended(end);
                Some(Next::End(end))
            }
        }
    }

    /// Begins what is due for the manifest.
    fn begin(
        &mut self,
        view: &mut View,
        task: Task,
        now: Instant,
        wakes: &mut Wakes,
    ) -> Option<Next> {
        let (name, at) = (Arc::clone(&self.name), self.at);
        let until = match task {
            Task::Nothing(until) => until,
            Task::Postponed { until, cuts } => {
                if cuts {
                    view.postpone(&name, at);
                }
                Some(until)
            }
            Task::Keep => {
                view.keep(&name, at);
                None
            }
            Task::Complete => {
                view.completes(&name, at);
                None
            }
            Task::Map => match self.maps(view, now) {
                Some(next) => return Some(next),
                None => None,
            },
            Task::Look(entry) => {
                self.stage = Stage::Look(Arc::clone(&entry));
                return Some(Next::Ask(entry, read()));
            }
            Task::Attempt(attempt) => {
                self.shows = None;
                self.stage = Stage::Attempt(attempt, now);
                return None;
            }
            Task::Check {
                entry,
                since,
                is_kept,
            } => {
                let permission = Permission::new(Arc::clone(&entry), Some(since));
                self.stage = Stage::Check {
                    permission: Box::new(permission),
                    entry,
                    is_kept,
                    begun: now,
                };
                return None;
            }
        };
        self.came(view, (until, None), now, wakes)
    }

    /// An attempt has ended.
    fn attempted(
        &mut self,
        view: &mut View,
        entry: &Arc<Entry>,
        ended: Result<Tried, NoAnswer>,
        now: Instant,
        wakes: &mut Wakes,
    ) -> Option<Next> {
        let (until, news) = view.ended(&self.name, self.at, entry, &ended, now);
        view.tell(&self.ready, entry, news, now);
        let error = ended.err();
        let silence = error.as_ref().filter(|it| it.is_silent);
        match silence {
            None if !view.is_read(entry) => {
                // It may be known as an object of another ManifestWork.
                self.stage = Stage::Learn(Arc::clone(entry), until);
                return Some(Next::Ask(Arc::clone(entry), read()));
            }
            Some(silence) if !view.is_read(entry) => {
                view.note(&self.name, self.at, Some(silence.error.clone()));
            }
            _ => {}
        }
        self.came(view, (until, error), now, wakes)
    }

    /// The permissions of the executor are known.
    fn checked(
        &mut self,
        view: &mut View,
        entry: &Arc<Entry>,
        denied: Option<Denied>,
        is_kept: bool,
        begun: Instant,
    ) -> Option<Instant> {
        let of = (&*self.name, self.at);
        let (until, news) = view.checked(of, entry, denied, is_kept, begun);
        view.tell(&self.ready, entry, news, begun);
        until
    }

    /// What is due for the manifest was done. The next one follows.
    fn came(
        &mut self,
        view: &mut View,
        (until, error): Came,
        now: Instant,
        wakes: &mut Wakes,
    ) -> Option<Next> {
        if std::mem::take(&mut self.is_check_only) && error.is_none() {
            let task = view.task(&self.name, self.at, self.frozen, now);
            return self.begin(view, task, now, wakes);
        }
        let check = view.next_check(&self.name, self.at, now);
        self.again = [self.again, until, check].into_iter().flatten().min();
        self.at += 1;
        self.stage = Stage::Manifest;
        // An API server that answers is there, though it may be busy with objects of this kind.
        if let Some(error) = error.filter(|it| it.is_silent) {
            self.silences += 1;
            if self.silences >= MOST_SILENCES || error.is_unsent {
                self.tried(view, true, wakes);
            }
        }
        None
    }

    /// The manifests were tried, or the cluster is silent.
    fn tried(&mut self, view: &mut View, is_silent: bool, wakes: &mut Wakes) {
        let is_over = !is_silent || self.failing_for >= LONG_SILENCE;
        view.tried(&self.name, is_over);
        wakes.wake(Key::Status(Arc::clone(&self.name)));
        self.stage = match (self.frozen, is_silent) {
            (true, true) => Stage::Ended(End::Silent),
            (true, false) => Stage::Ended(End::All(self.again)),
            // What was made must be in the list, also if the rest of the pass waits: the next manifests may not have it.
            (false, _) => Stage::List(list::Stage::Record(is_silent)),
        };
        if is_silent {
            self.again = None;
        }
    }
}

/// Hands the answer to what asks, and returns what is needed next; or why there is no answer.
fn drive<A: Asking>(
    asking: &mut A,
    view: &mut View,
    reply: Option<Reply>,
    now: Instant,
) -> Result<Need<A::Ended>, NoAnswer> {
    match reply {
        Some(Reply::Nothing(error)) => return Err(error),
        Some(Reply::Answer(answer)) => asking.answered(view, answer, now),
        _ => {}
    }
    Ok(asking.next(view, now))
}

fn read() -> Ask {
    Ask::Send(Request {
        step: Step::<ApplyOutcome>::Get,
        user: None,
        is_rehearsal: false,
    })
}

/// Why an object could not be read for the status.
fn unread(response: Response) -> Option<String> {
    match response {
        Response::Refused(refusal) => Some(refusal.message),
        Response::Found(_) | Response::Written(_) | Response::NotFound => None,
    }
}

fn no_answer(reply: Option<Reply>) -> NoAnswer {
    match reply {
        Some(Reply::Nothing(error)) => error,
        _ => NoAnswer {
            error: "there is no response".to_owned(),
            is_silent: false,
            is_unsent: false,
        },
    }
}
