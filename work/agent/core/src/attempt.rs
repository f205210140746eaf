//! A try to make an object as its manifest says: one request after the other, and the result.
//!
//! An attempt does no I/O, and keeps no time: it says what it needs, and gets the answer. If there is none, the attempt is dropped, and
//! another one is made later.

use std::sync::Arc;
use std::time::Instant;

use berth_work_core::{ApplyFailure, ApplyOutcome, Applying, Response, Retry, Step};
use k8s_openapi::api::authorization::v1::SubjectAccessReviewSpec;

use super::checks::Access;
use super::compute::{Compute, Computed, Part};
use super::executor::{Asks, Denied, Permission, Ruling, Who, user};
use super::objects::{Entry, Former};
use super::view::View;

/// Upper bound on the requests for one object in a pass.
const STEPS: usize = 16;

/// What an attempt asks for.
#[derive(Debug)]
pub enum Ask {
    /// The answer to a SubjectAccessReview: [`Answer::Allowed`].
    Review(Box<SubjectAccessReviewSpec>),
    /// The response to a request about the object: [`Answer::Sent`].
    Send(Request),
    /// Whether the watch has seen the object: [`Answer::Seen`].
    Seen,
    /// A step is to be worked out, without the view: [`Answer::Computed`].
    Compute(Box<Compute>),
}

/// What is needed next.
#[derive(Debug)]
pub(crate) enum Need<R> {
    /// An answer.
    Ask(Ask),
    /// Nothing more.
    Done(R),
}

/// Questions about one object, one after the other, and what they come to.
pub(crate) trait Asking {
    /// The result.
    type Ended;

    /// What is needed next, or the result.
    fn next(&mut self, view: &View, now: Instant) -> Need<Self::Ended>;

    /// The answer to what was needed.
    fn answered(&mut self, view: &mut View, answer: Answer, now: Instant);
}

/// A request about an object.
#[derive(Debug)]
pub struct Request {
    /// What is sent.
    pub step: Step<ApplyOutcome>,
    /// The user in whose name it is sent, unless it only reads; `None`: the agent itself.
    pub user: Option<String>,
    /// It is sent as a dry run.
    pub is_rehearsal: bool,
}

/// The answer to what was needed.
#[derive(Debug)]
pub enum Answer {
    /// What a SubjectAccessReview says.
    Allowed(bool),
    /// The response to a request, and the words of the API server if it is no success.
    Sent(Response, Option<String>),
    /// Whether the watch has seen the object.
    Seen(bool),
    /// A step that was worked out.
    Computed(Box<Computed>),
}

/// An attempt to apply a manifest.
#[derive(Debug)]
pub struct Attempt {
    /// The manifest.
    pub entry: Arc<Entry>,
    /// The work may spend what it costs to look at the object.
    pub may_spend: bool,
    before: Option<Former>,
    was_foreign: bool,
    repairs: Option<String>,
    /// What is known of the object, or the response to the last step; `None`: it is read first.
    response: Option<Response>,
    asks: Asks,
    steps: usize,
    stage: Stage,
}

/// What an attempt begins with.
pub(crate) struct Start {
    /// The manifest of the object that was applied before.
    pub(crate) before: Option<Former>,
    /// What is known of the object; `None`: it is read first.
    pub(crate) known: Option<Response>,
    /// The row of the object was listed before any manifest prescribed it. It exists if the watch has seen it.
    pub(crate) was_foreign: bool,
    /// What differs, if the object was applied before.
    pub(crate) repairs: Option<String>,
    /// Answers of before do not count for the permissions of the executor.
    pub(crate) since: Option<Instant>,
    /// The work may spend what it costs to look at the object.
    pub(crate) may_spend: bool,
}

#[derive(Debug)]
enum Stage {
    /// The executor has to have the permissions.
    Permission(Box<Permission>),
    /// The object may be one that the watch has seen.
    Begin,
    /// The next step is due, the first one by the manifest.
    Apply(Option<Box<Applying>>),
    /// The next step is being worked out.
    Computing,
    /// May the executor delete the object?
    Delete(Box<Applying>, Step<ApplyOutcome>, Who),
    /// The executor was asked to make the very request, as a dry run.
    Rehearsed(Box<Applying>, Step<ApplyOutcome>, Who),
    /// A step was sent.
    Sent(Box<Applying>),
    Ended,
}

/// What an attempt came to.
#[derive(Debug)]
pub struct Tried {
    /// The result for the object.
    pub outcome: ApplyOutcome,
    /// What had differed, if the object was applied before.
    pub repairs: Option<String>,
    /// What may be reported of the object.
    pub access: Access,
}

/// There was no usable response of the managed cluster's API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAnswer {
    /// Why.
    pub error: String,
    /// The cluster does not respond at all. Otherwise it is busy, or refused something that concerns this object.
    pub is_silent: bool,
    /// Nothing was sent: nothing may be now.
    pub is_unsent: bool,
}

// === impl Request ===

impl Request {
    /// A write as this user, as a dry run.
    pub(crate) fn rehearsal(step: Step<ApplyOutcome>, user: String) -> Self {
        Self {
            step,
            user: Some(user),
            is_rehearsal: true,
        }
    }
}

// === impl Attempt ===

impl Attempt {
    pub(crate) fn new(entry: &Arc<Entry>, start: Start) -> Self {
        let permission = Permission::new(Arc::clone(entry), start.since);
        Self {
            entry: Arc::clone(entry),
            may_spend: start.may_spend,
            before: start.before,
            was_foreign: start.was_foreign,
            repairs: start.repairs,
            response: start.known,
            asks: Asks::new(start.since),
            steps: 0,
            stage: Stage::Permission(Box::new(permission)),
        }
    }

    /// The next step is to be worked out.
    fn compute(&mut self, view: &View, machine: Option<Box<Applying>>) -> Need<Tried> {
        if self.steps == STEPS {
            return self.unsettled();
        }
        self.steps += 1;
        self.stage = Stage::Computing;
        Need::Ask(Ask::Compute(Box::new(Compute {
            entry: Arc::clone(&self.entry),
            part: machine.map_or_else(
                || Part::First {
                    before: self.before.take(),
                    evaluator: Arc::clone(&view.evaluator),
                },
                Part::Next,
            ),
            response: self.response.take(),
            impersonates: view.settings.impersonates_executors,
        })))
    }

    /// The next step. `None`: the stage has changed.
    fn step(&mut self, view: &View, computed: Computed) -> Option<Need<Tried>> {
        let (machine, step, ruling) = match computed.0 {
            Ok(computed) => computed,
            Err(failure) => return Some(failed(failure)),
        };
        if let Step::Done(outcome) = step {
            if let ApplyOutcome::Applied(done) = &outcome {
                self.entry.settle(done.settled.clone());
            }
            return Some(Need::Done(Tried {
                outcome,
                repairs: self.repairs.take(),
                access: Access::Open,
            }));
        }
        match ruling {
            Ruling::Send => return Some(self.send(view, machine, step)),
            Ruling::Refused(failure) => return Some(failed(failure)),
            Ruling::Delete(who) => self.stage = Stage::Delete(machine, step, who),
            Ruling::Rehearse(who, user) => {
                self.stage = Stage::Rehearsed(machine, step.clone(), who);
                return Some(Need::Ask(Ask::Send(Request::rehearsal(step, user))));
            }
        }
        None
    }

    /// Sends a step: as the executor if the agent impersonates executors, and else as the agent.
    fn send(
        &mut self,
        view: &View,
        machine: Box<Applying>,
        step: Step<ApplyOutcome>,
    ) -> Need<Tried> {
        let writer = match writer(&self.entry, view.settings.impersonates_executors) {
            Ok(writer) => writer,
            Err(failure) => return failed(failure),
        };
        self.stage = Stage::Sent(machine);
        Need::Ask(Ask::Send(Request {
            step,
            user: writer,
            is_rehearsal: false,
        }))
    }

    fn unsettled(&self) -> Need<Tried> {
        failed(ApplyFailure {
            reason: berth_api::conditions::manifest::APPLIED_FAILED,
            message: format!(
                "Failed to apply manifest: the {} {:?} does not settle: other clients change it at the same time",
                self.entry.served.kind,
                self.entry.object.name()
            ),
            retry: Retry::Backoff,
        })
    }
}

impl Asking for Attempt {
    type Ended = Tried;

    fn next(&mut self, view: &View, now: Instant) -> Need<Tried> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Ended) {
                Stage::Permission(mut permission) => match permission.next(view, now) {
                    Need::Done(Some(denied)) => return Need::Done(Tried::denied(denied)),
                    Need::Done(None) => {
                        self.stage = Stage::Begin;
                        if self.was_foreign {
                            return Need::Ask(Ask::Seen);
                        }
                    }
                    Need::Ask(ask) => {
                        self.stage = Stage::Permission(permission);
                        return Need::Ask(ask);
                    }
                },
                Stage::Begin => {
                    if let Some(Answer::Seen(false)) = self.asks.answer.take() {
                        self.response = Some(Response::NotFound);
                    }
                    self.stage = Stage::Apply(None);
                }
                Stage::Apply(machine) => return self.compute(view, machine),
                Stage::Computing => {
                    let Some(Answer::Computed(computed)) = self.asks.answer.take() else {
                        return self.unsettled();
                    };
                    if let Some(need) = self.step(view, *computed) {
                        return need;
                    }
                }
                Stage::Delete(machine, step, who) => {
                    match self.asks.is_allowed(&view.answers, &who, "delete", now) {
                        Some(true) => return self.send(view, machine, step),
                        Some(false) => return failed(who.account.refused(&who.object, "delete")),
                        None => {
                            let review = who.account.question(&who.object, "delete");
                            self.stage = Stage::Delete(machine, step, who);
                            return Need::Ask(Ask::Review(Box::new(review)));
                        }
                    }
                }
                Stage::Rehearsed(machine, step, who) => {
                    let Who { account, object } = &who;
                    match self.asks.answer.take() {
                        Some(Answer::Sent(Response::Written(_), _)) => {
                            return self.send(view, machine, step);
                        }
                        Some(Answer::Sent(Response::Refused(refusal), _)) => match refusal.code {
                            403 => return failed(account.forbidden(object, &refusal.message)),
                            // A conflict, or an object that nobody could write so.
                            409 | 422 => self.response = Some(Response::Refused(refusal)),
                            _ => return failed(account.unchecked(object, &refusal.message)),
                        },
                        Some(Answer::Sent(other, _)) => self.response = Some(other),
                        _ => return failed(account.unchecked(object, "there is no response")),
                    }
                    self.stage = Stage::Apply(Some(machine));
                }
                Stage::Sent(machine) => {
                    if let Some(Answer::Sent(response, _)) = self.asks.answer.take() {
                        self.response = Some(response);
                    }
                    self.stage = Stage::Apply(Some(machine));
                }
                Stage::Ended => return self.unsettled(),
            }
        }
    }

    fn answered(&mut self, view: &mut View, answer: Answer, now: Instant) {
        match &mut self.stage {
            Stage::Permission(permission) => permission.answered(view, answer, now),
            _ => self.asks.answered(&mut view.answers, answer, now),
        }
    }
}

/// The user that writes the objects of a ManifestWork. `None`: the agent itself.
fn writer(entry: &Entry, impersonates: bool) -> Result<Option<String>, ApplyFailure> {
    if !impersonates {
        return Ok(None);
    }
    let Some(account) = berth_work_core::executor::account(entry.executor())? else {
        return Ok(None);
    };
    user(&account).map(Some).ok_or_else(|| ApplyFailure {
        reason: berth_api::conditions::manifest::APPLIED_FAILED,
        message: "Failed to apply manifest: the name of the executor is invalid".to_owned(),
        retry: Retry::OnChange,
    })
}

fn failed(failure: ApplyFailure) -> Need<Tried> {
    Need::Done(Tried::failed(failure))
}

// === impl Tried ===

impl Tried {
    /// The executor may not write the object.
    pub(crate) fn denied(denied: Denied) -> Self {
        let access = match denied.may_read {
            true => Access::Open,
            false => Access::Closed(denied.failure.message.clone()),
        };
        Self {
            access,
            ..Self::failed(denied.failure)
        }
    }

    /// The executor may write the object, which failed.
    fn failed(failure: ApplyFailure) -> Self {
        Self {
            outcome: ApplyOutcome::Failed(failure),
            repairs: None,
            access: Access::Open,
        }
    }
}
