//! The requests about one object: until it is as its manifest says, or for its status.

use std::sync::Arc;
use std::time::Instant;

use berth_hub::CallError;
use berth_reconcile::{Handle, RawObject};
use berth_work_core::{Failure, Outcome, Response, Retry, Step};

use super::checks::Access;
use super::executor::{Denied, Ruling};
use super::facts::{Fact, Kind};
use super::objects::{Entry, Former, Known};
use super::world::Agent;
use super::{MANAGED, call, executor};

/// Upper bound on the requests for one object in a pass.
const STEPS: usize = 16;

/// The requests about an object.
pub(super) struct Run {
    pub(super) entry: Arc<Entry>,
    pub(super) before: Option<Former>,
    /// What is known of the object; `None`: it is read first.
    pub(super) start: Option<Response>,
    /// The row of the object was listed before any manifest prescribed it. It exists if the watch has seen it.
    pub(super) was_foreign: bool,
    /// What differs, if the object was applied before.
    pub(super) repairs: Option<String>,
    /// Answers of before do not count for the permissions of the executor.
    pub(super) since: Option<Instant>,
    /// The work may spend what it costs to look at the object.
    pub(super) may_spend: bool,
}

/// What requests about an object came to.
pub(super) struct Tried {
    pub(super) outcome: Outcome,
    /// What had differed, if the object was applied before.
    pub(super) repairs: Option<String>,
    pub(super) access: Access,
}

// === impl Tried ===

impl Tried {
    /// The executor may not write the object.
    pub(super) fn denied(denied: Denied) -> Self {
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
    fn failed(failure: Failure) -> Self {
        Self {
            outcome: Outcome::Failed(failure),
            repairs: None,
            access: Access::Open,
        }
    }
}

// === impl Run ===

impl Run {
    /// Sends requests until the object is as the manifest says, or one is refused.
    pub(super) async fn send(self, on: &Handle<Agent>) -> Result<Tried, CallError> {
        let Self {
            entry,
            before,
            mut start,
            was_foreign,
            repairs,
            since,
            may_spend,
        } = self;
        let evaluator = Arc::clone(&on.world().evaluator);
        if let Some(denied) = refusal(on, &entry, since).await? {
            return Ok(Tried::denied(denied));
        }
        let mut machine = match entry.applying(before.as_ref(), &evaluator) {
            Ok(machine) if entry.executor().is_some() => machine.for_executor(),
            Ok(machine) => machine,
            Err(unusable) => {
                let (reason, message) = unusable.condition();
                let failure = Failure {
                    reason,
                    message,
                    retry: Retry::OnChange,
                };
                return Ok(Tried::failed(failure));
            }
        };
        let cluster = on.writer(MANAGED);
        let impersonates = on.world().settings.impersonates_executors;
        let writer = match executor::writer(&entry, impersonates) {
            Ok(writer) => writer,
            Err(failure) => return Ok(Tried::failed(failure)),
        };
        if was_foreign && !is_seen(on, &entry) {
            start = Some(Response::NotFound);
        }
        let mut response = start;
        let mut last = None;
        for _ in 0..STEPS {
            let step = machine.next(response.take());
            if let Step::Done(outcome) = step {
                if let Outcome::Applied(done) = &outcome {
                    entry.settle(done.settled.clone());
                }
                if let Some(object) = &last {
                    saw(on, &entry, object, may_spend);
                }
                return Ok(Tried {
                    outcome,
                    repairs,
                    access: Access::Open,
                });
            }
            // An executor who is impersonated is judged by the API server.
            if writer.is_none() && !matches!(step, Step::Get) {
                let executors = Arc::clone(&on.world().executors);
                match executors.rule(cluster, &entry, &step, since).await? {
                    Ruling::Send => {}
                    Ruling::Answered(answer) => {
                        response = Some(answer);
                        continue;
                    }
                    Ruling::Refused(failure) => return Ok(Tried::failed(failure)),
                }
            }
            let Some(sent) = call::send(cluster, entry.path(), &step, writer.as_ref()).await?
            else {
                break;
            };
            let is_gone = matches!(step, Step::Delete { .. } | Step::Get)
                && matches!(sent.response, Response::NotFound);
            if is_gone {
                last = None;
                gone(on, &entry);
            }
            if sent.object.is_some() {
                last = sent.object;
            }
            response = Some(sent.response);
        }
        let failure = Failure {
            reason: berth_api::conditions::manifest::APPLIED_FAILED,
            message: format!(
                "Failed to apply manifest: the {} {:?} does not settle: other clients change it at the same time",
                entry.served.kind,
                entry.object.name()
            ),
            retry: Retry::Backoff,
        };
        Ok(Tried::failed(failure))
    }
}

/// Asks whether the executor may write the object. Returns why not, and whether it may read it.
///
/// # Errors
/// The managed cluster does not respond.
pub(super) async fn refusal(
    on: &Handle<Agent>,
    entry: &Entry,
    since: Option<Instant>,
) -> Result<Option<Denied>, CallError> {
    let (executors, settings) = {
        let world = on.world();
        (Arc::clone(&world.executors), Arc::clone(&world.settings))
    };
    let cluster = on.writer(MANAGED);
    let refusal = executors.refusal(cluster, entry, &settings, since);
    refusal.await
}

/// Notes the object of a response.
fn saw(on: &Handle<Agent>, entry: &Entry, object: &RawObject, may_spend: bool) {
    let (row, before) = {
        let world = on.world();
        (world.row(&entry.object), world.known(entry).clone())
    };
    if let Some(row) = row {
        on.observed(Kind::Objects(row), object);
    }
    // The watch may have reported this version before it was known what the API server makes of the manifest.
    let (prescriptions, evaluator) = {
        let world = on.world();
        if world.has_judged(entry, &before) {
            return;
        }
        (world.prescriptions.clone(), Arc::clone(&world.evaluator))
    };
    let Ok(Fact::Object(arrived)) = prescriptions.read(
        entry.object.kind,
        &object.item(),
        &evaluator,
        may_spend.then_some(entry),
    ) else {
        return;
    };
    on.change(|world, wakes| {
        let is_same = match world.known(entry) {
            Known::Present(known) => known.version == arrived.version,
            Known::Unknown => true,
            Known::Missing => false,
        };
        if is_same {
            world.sees(&entry.object, Known::arrived(arrived), wakes);
        }
    });
}

/// Reads an object that could not be applied, for the status, unless it was compared with its manifest. It may be known as an object of
/// another ManifestWork.
pub(super) async fn learn(on: &Handle<Agent>, name: &str, at: usize, entry: &Entry) {
    if on.world().is_read(entry) {
        return;
    }
    let unread = look(on, entry, false).await;
    let unread = unread.unwrap_or_else(|error| Some(error.to_string()));
    note(on, name, at, unread);
}

/// Reads an object for the status. Returns the API server's refusal.
///
/// # Errors
/// The managed cluster does not respond.
pub(super) async fn look(
    on: &Handle<Agent>,
    entry: &Entry,
    may_spend: bool,
) -> Result<Option<String>, CallError> {
    let read = call::send(on.writer(MANAGED), entry.path(), &Step::<()>::Get, None).await?;
    let Some(sent) = read else {
        return Ok(None);
    };
    Ok(match (sent.object, sent.response) {
        (Some(object), _) => {
            saw(on, entry, &object, may_spend);
            None
        }
        (None, Response::Refused(refusal)) => Some(refusal.message),
        (None, _) => {
            gone(on, entry);
            None
        }
    })
}

/// Notes why an object could not be read, or that it could.
pub(super) fn note(on: &Handle<Agent>, name: &str, at: usize, unread: Option<String>) {
    on.change(|world, _| {
        if let Some(slot) = world.slot(name, at) {
            slot.unread = unread;
        }
    });
}

/// Returns true if the watch has seen the object.
fn is_seen(on: &Handle<Agent>, entry: &Entry) -> bool {
    let row = on.world().row(&entry.object);
    let (namespace, name) = (entry.object.namespace(), entry.object.name());
    row.is_none_or(|row| on.is_seen(Kind::Objects(row), namespace, name))
}

/// Notes that the object does not exist.
fn gone(on: &Handle<Agent>, entry: &Entry) {
    let row = on.world().row(&entry.object);
    if let Some(row) = row {
        let (namespace, name) = (entry.object.namespace(), entry.object.name());
        on.gone(Kind::Objects(row), namespace, name);
    }
}

// === impl Agent ===

impl Agent {
    /// Returns true if the object was compared with its manifest since it was known so.
    fn has_judged(&self, entry: &Entry, before: &Known) -> bool {
        match (self.known(entry), before) {
            (Known::Present(now), Known::Present(before)) if Arc::ptr_eq(now, before) => false,
            (now, _) => now.judged(entry).is_some(),
        }
    }

    /// Until when to look at the object has to wait, as its work has spent too much.
    pub(super) fn postponed(&self, entry: &Entry) -> Option<Instant> {
        let until = self.evaluator.waits(&entry.work);
        until.filter(|_| entry.costs(&self.evaluator))
    }

    /// Returns true if the status can say what the object is.
    pub(super) fn is_read(&self, entry: &Entry) -> bool {
        let known = self.known(entry);
        matches!(known, Known::Missing) || known.judged(entry).is_some()
    }
}
