//! Works on a ManifestWork: applies what is missing or differs, one object after another.
//!
//! # Guarantees
//! - Objects that are as their manifests say cost no request.
//! - A failure of one object does not keep the others waiting. Each failed object waits longer each time.
//! - Nothing is written before the objects that exist are known: a restart writes nothing that was written before.

use std::sync::Arc;
use std::time::Instant;

use berth_hub::{CallError, Cause};
use berth_reconcile::{Handle, RawObject, WriteOutcome, failed, now, queue};
use berth_work_agent_core::{
    Answer, Ask, End, Entry, Key, Next, NoAnswer, Pass, Ready, Reply, Request, lifecycle,
};
use berth_work_core::{Response, Step};
use tokio::time::sleep;

use super::call::{self, Path};
use super::removing::remove_all;
use super::requests::{gone, is_allowed, is_seen, moment, show};
use super::targets;
use super::world::{Agent, change};
use super::{MANAGED, room};

/// Works on a ManifestWork.
pub(crate) async fn reconcile(on: &Handle<Agent>, name: &Arc<str>) -> queue::Next {
    room::decide(on);
    if let Err(error) = room::read(on, name).await {
        return queue::Next::Failed {
            wait: error.retry_after(),
        };
    }
    prepare(on).await;
    // Asked before the writes: they carry the correction out, and nothing is to be corrected then.
    let corrects = lifecycle::corrects(&on.world().view, name, now().instant);
    if let Err(failures) = on.attempt(&Key::Work(Arc::clone(name))).await {
        return failed(&failures);
    }
    let corrects_again = corrects.and_then(|(_, until)| until);
    if let Some((mark, None)) = corrects {
        change(on, |view, _| {
            lifecycle::corrected(view, name, mark, now().instant);
        });
    }
    let ready = on.world().view.ready(name);
    let Some(ready) = ready else {
        let stays = on.world().view.works.contains_key(name);
        // While it is being deleted, its last status counts.
        if !stays {
            targets::forget(on, name);
        }
        return settled(None);
    };
    targets::map(on, name, &ready).await;
    targets::watch(on);
    // Asked after `watch`: the work waits for the first lists of the rows that it added.
    {
        let view = &on.world().view;
        if view.waits_for_permissions(name) || view.waits_for_rows(name) {
            return settled(None);
        }
    }
    match pass(on, name, &ready).await {
        Ok(again) => settled(again.into_iter().chain(corrects_again).min()),
        Err(error) => {
            tracing::debug!(work = &**name, %error, "the managed cluster does not respond");
            queue::Next::Failed {
                wait: error.retry_after(),
            }
        }
    }
}

/// At the start, maps all works before the first kind is listed: so the lists show which of their objects exist.
async fn prepare(on: &Handle<Agent>) {
    let guard = Arc::clone(&on.world().preparing);
    let mut is_prepared = guard.lock().await;
    if std::mem::replace(&mut *is_prepared, true) {
        return;
    }
    let all: Vec<_> = on.world().view.works.keys().cloned().collect();
    for name in all {
        let ready = on.world().view.ready(&name);
        if let Some(ready) = ready {
            targets::map(on, &name, &ready).await;
        }
    }
    targets::watch(on);
}

/// What was needed of the API servers, and what they said last.
struct Sender<'a> {
    on: &'a Handle<Agent>,
    name: &'a Arc<str>,
    ready: &'a Ready,
    /// The object of the last response.
    last: Option<RawObject>,
    /// Why there was no usable response.
    error: Option<CallError>,
}

/// Tries each manifest that is due, and records the objects. Returns when to try again.
///
/// # Errors
/// The managed cluster does not respond.
async fn pass(
    on: &Handle<Agent>,
    name: &Arc<str>,
    ready: &Ready,
) -> Result<Option<Instant>, CallError> {
    let failing_for = on.failing_for(&Key::Work(Arc::clone(name)), now().instant);
    let mut pass = Pass::new(&on.world().view, name, ready, failing_for);
    let mut sender = Sender {
        on,
        name,
        ready,
        last: None,
        error: None,
    };
    let mut reply = None;
    loop {
        let due = change(on, |view, wakes| {
            pass.next(view, reply.take(), now().instant, wakes)
        });
        reply = Some(match due {
            Next::End(End::All(again)) => return Ok(again),
            Next::End(End::Replaced) => return Ok(None),
            Next::End(End::Silent) => {
                return sender.error.map_or(Ok(None), Err);
            }
            due => sender.reply(due).await,
        });
    }
}

// === impl Sender ===

impl Sender<'_> {
    async fn reply(&mut self, due: Next) -> Reply {
        let on = self.on;
        match due {
            Next::Ask(entry, ask) => match self.answer(&entry, ask).await {
                Ok(answer) => Reply::Answer(answer),
                Err(error) => self.nothing(error),
            },
            Next::Show(entry, may_spend) => {
                if let Some(object) = self.last.take() {
                    show(on, &entry, &object, may_spend);
                }
                Reply::Done
            }
            Next::Map(ordinal) => {
                Reply::Mapped(targets::map_again(on, self.name, self.ready, ordinal).await)
            }
            Next::Pause(pause) => {
                sleep(pause).await;
                Reply::Done
            }
            Next::Remove(objects, owner) => {
                let (_, applied) = self.ready.owner();
                let (pending, error) = remove_all(on, &objects, (&applied, &owner)).await;
                // An API server that answers for other objects keeps only these waiting.
                let silence = error.filter(|it| it.code() == 0);
                let is_silent = silence.is_some();
                self.error = silence.or(self.error.take());
                let pending = pending.into_iter().map(|(object, _)| object);
                Reply::Removed(pending.collect(), is_silent)
            }
            Next::Write(write) => {
                let outcome = on.carry_out(vec![*write]).await;
                Reply::Written(!matches!(outcome, WriteOutcome::Failed(_)))
            }
            Next::End(_) => Reply::Done,
        }
    }

    async fn answer(&mut self, entry: &Entry, ask: Ask) -> Result<Answer, CallError> {
        Ok(match ask {
            Ask::Review(review) => Answer::Allowed(is_allowed(self.on, &review).await?),
            Ask::Send(request) => self.send(entry, &request).await?,
            Ask::Seen => Answer::Seen(is_seen(self.on, entry)),
            Ask::Compute(compute) => Answer::Computed(Box::new(compute.run())),
        })
    }

    /// Sends a request about an object. What only is to be read is shown at once.
    async fn send(&mut self, entry: &Entry, request: &Request) -> Result<Answer, CallError> {
        let on = self.on;
        let since = moment(on, entry);
        let sent = call::send(on.writer(MANAGED), Path::to(entry), request).await?;
        if !request.is_rehearsal {
            let is_gone = matches!(request.step, Step::Delete { .. } | Step::Get)
                && matches!(sent.response, Response::NotFound);
            if is_gone {
                self.last = None;
                gone(on, since, entry);
            }
            if sent.object.is_some() {
                self.last = sent.object;
            }
        }
        Ok(Answer::Sent(sent.response, sent.words))
    }

    fn nothing(&mut self, error: CallError) -> Reply {
        let nothing = NoAnswer {
            error: error.to_string(),
            is_silent: error.code() == 0,
            is_unsent: matches!(error.cause(), Cause::NotSent(_)),
        };
        self.last = None;
        self.error = Some(error);
        Reply::Nothing(nothing)
    }
}

fn settled(again: Option<Instant>) -> queue::Next {
    queue::Next::again(again)
}
