//! May the executor of a ManifestWork write an object? The questions, one after the other.

use std::sync::Arc;
use std::time::Instant;

use berth_work_core::executor::{self, Account};
use berth_work_core::{
    ApplyFailure, ApplyOutcome, Applying, Holding, Mapped, Owner, Response, Settled, Step,
};
use k8s_openapi::api::authorization::v1::SubjectAccessReviewSpec;

use super::answers::{Answers, Question};
use super::attempt::{Answer, Ask, Asking, Need, Request};
use super::objects::Entry;
use super::view::View;

/// The executor may not write an object.
#[derive(Debug)]
pub(crate) struct Denied {
    /// Why.
    pub failure: ApplyFailure,
    /// It may read the object.
    pub may_read: bool,
}

/// The questions about an object, in the order in which they are asked.
#[derive(Debug)]
pub(crate) struct Permission {
    entry: Arc<Entry>,
    asks: Asks,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Nothing was asked yet.
    Begin,
    /// May it use these verbs? The next one is the last.
    Verbs(Who, Vec<SubjectAccessReviewSpec>),
    /// It may not use this verb. May it read the object?
    Read(Who, String),
    /// The object was created as the account, as a dry run.
    Rehearsed(Who),
    /// All is answered.
    Ended,
}

/// An account, and the object that it is to write.
#[derive(Debug)]
pub(crate) struct Who {
    pub(crate) account: Account,
    pub(crate) object: Mapped,
}

/// Questions of one kind, answered from what is known, or by the API server.
#[derive(Debug)]
pub(crate) struct Asks {
    /// Answers to questions that were sent before do not count.
    since: Option<Instant>,
    /// The question that was sent, and when.
    sent: Option<(Question, Instant)>,
    pub(crate) answer: Option<Answer>,
}

// === impl Permission ===

impl Permission {
    /// The permissions for the object of a manifest. Answers to questions that were sent before `since` do not count.
    pub(crate) fn new(entry: Arc<Entry>, since: Option<Instant>) -> Self {
        Self {
            entry,
            asks: Asks::new(since),
            stage: Stage::Begin,
        }
    }

    fn begin(&self, view: &View) -> Result<Option<Who>, ApplyFailure> {
        let Some(account) = executor::account(self.entry.executor())? else {
            return Ok(None);
        };
        // An invalid manifest fails when it is applied.
        let Ok(object) = self.entry.prescribed() else {
            return Ok(None);
        };
        let settings = &view.settings;
        if let Some(failure) = executor::agents_own(&object, &settings.namespace) {
            return Err(failure);
        }
        if !settings.impersonates_executors
            && let Some(failure) = executor::names_the_writer(&object)
        {
            return Err(failure);
        }
        Ok(Some(Who { account, object }))
    }

    /// Creates an RBAC object as the account, as a dry run: the API server refuses it if it grants more than the account has.
    fn rehearse(&mut self, who: Who) -> Need<Option<Denied>> {
        if !executor::may_escalate(&who.object) {
            return Need::Done(None);
        }
        let denied = |failure| {
            let may_read = true;
            Need::Done(Some(Denied { failure, may_read }))
        };
        let owner = Owner {
            holding: Holding::Orphaned,
            ..Owner::clone(&self.entry.owner)
        };
        let machine = Applying::new(who.object.clone(), None, owner, Settled::default(), None);
        let Ok(mut machine) = machine else {
            // An invalid manifest fails when it is applied.
            return Need::Done(None);
        };
        let step = machine.next(Some(Response::NotFound));
        if !matches!(step, Step::Create(_)) {
            return denied(who.account.unchecked(&who.object, "it cannot be created"));
        }
        let Some(user) = user(&who.account) else {
            return denied(who.account.unchecked(&who.object, "the name is invalid"));
        };
        self.stage = Stage::Rehearsed(who);
        Need::Ask(Ask::Send(Request::rehearsal(step, user)))
    }
}

impl Asking for Permission {
    /// Why the executor may not write the object. `None`: it may, or there is no executor.
    type Ended = Option<Denied>;

    fn next(&mut self, view: &View, now: Instant) -> Need<Option<Denied>> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Ended) {
                Stage::Begin => match self.begin(view) {
                    Ok(Some(who)) => {
                        let holding = self.entry.owner.holding;
                        let mut verbs = who.account.questions(&who.object, holding);
                        verbs.reverse();
                        self.stage = Stage::Verbs(who, verbs);
                    }
                    Ok(None) => return Need::Done(None),
                    Err(failure) => {
                        let may_read = false;
                        return Need::Done(Some(Denied { failure, may_read }));
                    }
                },
                Stage::Verbs(who, mut verbs) => {
                    let Some(review) = verbs.pop() else {
                        return self.rehearse(who);
                    };
                    let attributes = review.resource_attributes.as_ref();
                    let verb = attributes.and_then(|it| it.verb.clone());
                    let verb = verb.unwrap_or_default();
                    match self.asks.is_allowed(&view.answers, &who, &verb, now) {
                        Some(true) => self.stage = Stage::Verbs(who, verbs),
                        Some(false) => self.stage = Stage::Read(who, verb),
                        None => {
                            verbs.push(review.clone());
                            self.stage = Stage::Verbs(who, verbs);
                            return Need::Ask(Ask::Review(Box::new(review)));
                        }
                    }
                }
                Stage::Read(who, verb) => {
                    match self.asks.is_allowed(&view.answers, &who, "get", now) {
                        Some(may_read) => {
                            let failure = who.account.refused(&who.object, &verb);
                            return Need::Done(Some(Denied { failure, may_read }));
                        }
                        None => {
                            let review = who.account.question(&who.object, "get");
                            self.stage = Stage::Read(who, verb);
                            return Need::Ask(Ask::Review(Box::new(review)));
                        }
                    }
                }
                Stage::Rehearsed(who) => {
                    let failure = match self.asks.answer.take() {
                        Some(Answer::Sent(response, words)) => escalates(&who, &response, words),
                        _ => Some(who.account.unchecked(&who.object, "there is no response")),
                    };
                    let denied = failure.map(|failure| Denied {
                        failure,
                        may_read: true,
                    });
                    return Need::Done(denied);
                }
                Stage::Ended => return Need::Done(None),
            }
        }
    }

    fn answered(&mut self, view: &mut View, answer: Answer, now: Instant) {
        self.asks.answered(&mut view.answers, answer, now);
    }
}

/// Only a success and "already exists", which the API server says after its check, show that an object grants no more than the account has.
/// A binding whose role does not exist is refused, too: the role could grant anything later.
fn escalates(who: &Who, response: &Response, words: Option<String>) -> Option<ApplyFailure> {
    let Who { account, object } = who;
    match response {
        Response::Written(_) | Response::Found(_) => None,
        Response::Refused(refusal) => match (refusal.code, refusal.reason.as_str()) {
            (409, "AlreadyExists") => None,
            (403, _) => Some(account.escalates(object, &refusal.message)),
            _ => Some(account.unchecked(object, &refusal.message)),
        },
        Response::NotFound => {
            let words = words.unwrap_or_else(|| "it does not exist".to_owned());
            Some(account.unchecked(object, &words))
        }
    }
}

/// The user that a request names as its author. `None`: the name cannot be in a header.
pub(crate) fn user(account: &Account) -> Option<String> {
    let user = account.user();
    user.bytes()
        .all(|it| (b' '..=b'~').contains(&it))
        .then_some(user)
}

/// What is to become of a write that the agent would make with its own identity.
#[derive(Debug)]
pub(crate) enum Ruling {
    /// It is sent.
    Send,
    /// The executor has to be asked for the verb `delete` first.
    Delete(Who),
    /// It is sent by the executor first, as a dry run of the very request.
    Rehearse(Who, String),
    /// The executor may not make it.
    Refused(ApplyFailure),
}

/// Decides about a write. An object whose kind depends on who writes it is written by the executor first, as a dry run of the very request. A
/// deletion, also one to create the object anew, takes the verb `delete`.
pub(crate) fn rule(entry: &Entry, step: &Step<ApplyOutcome>) -> Ruling {
    let account = match executor::account(entry.executor()) {
        Ok(None) => return Ruling::Send,
        Ok(Some(account)) => account,
        Err(failure) => return Ruling::Refused(failure),
    };
    let Ok(object) = entry.prescribed() else {
        return Ruling::Send;
    };
    let who = Who { account, object };
    match step {
        Step::Delete { .. } => Ruling::Delete(who),
        Step::Get | Step::Try(_) => Ruling::Send,
        _ if !executor::depends_on_writer(&who.object) => Ruling::Send,
        _ => match user(&who.account) {
            Some(user) => Ruling::Rehearse(who, user),
            None => Ruling::Refused(who.account.unchecked(&who.object, "the name is invalid")),
        },
    }
}

// === impl Asks ===

impl Asks {
    pub(crate) fn new(since: Option<Instant>) -> Self {
        Self {
            since,
            sent: None,
            answer: None,
        }
    }

    /// Whether the account may do this. `None`: the API server is to be asked.
    pub(crate) fn is_allowed(
        &mut self,
        answers: &Answers,
        who: &Who,
        verb: &str,
        now: Instant,
    ) -> Option<bool> {
        if let Some(Answer::Allowed(allowed)) = self.answer.take() {
            return Some(allowed);
        }
        let question = Question::new(&who.account, &who.object, verb);
        let known = answers.known(&question, self.since, now);
        if known.is_none() {
            self.sent = Some((question, now));
        }
        known
    }

    /// The answer to the last question, or request.
    pub(crate) fn answered(&mut self, answers: &mut Answers, answer: Answer, now: Instant) {
        if let (Some((question, sent)), Answer::Allowed(allowed)) = (self.sent.take(), &answer) {
            answers.learn(question, *allowed, sent, now);
        }
        self.answer = Some(answer);
    }
}
