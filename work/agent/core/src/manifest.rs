//! What is to be done about a manifest, and what came of it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use berth_work_core::report::Applied;
use berth_work_core::spending::Spending;
use berth_work_core::{ApplyFailure, ApplyOutcome, Differences, Response, Retry, Unusable};

use super::attempt::{Attempt, NoAnswer, Start, Tried};
use super::checks::Access;
use super::executor::Denied;
use super::objects::{Arrived, Entry, Kept, Known};
use super::progress::{self, Slot, Target};
use super::ready::Ready;
use super::rows::Sight;
use super::view::{Notice, View, Wakes};

/// What is to be done about a manifest.
pub enum Task {
    /// Nothing, until then.
    Nothing(Option<Instant>),
    /// Nothing, until then: the work has spent too much.
    Postponed {
        /// When to try again.
        until: Instant,
        /// The manifest cannot be applied meanwhile.
        cuts: bool,
    },
    /// The object is as the manifest says.
    Complete,
    /// An object that is not updated any more is read for the status: its conditions must count for this generation, too.
    Look(Arc<Entry>),
    /// An object is complete, and not updated any more. It counts as applied.
    Keep,
    /// The kind may be served now.
    Map,
    /// The object is as the manifest says, or is not updated any more (`is_kept`). Its executor may not have the permissions any more.
    Check {
        /// The manifest.
        entry: Arc<Entry>,
        /// Answers to questions that were sent before do not count.
        since: Instant,
        /// The object is not updated any more.
        is_kept: bool,
    },
    /// Requests, until the object is as the manifest says.
    Attempt(Box<Attempt>),
}

// === impl View ===

impl View {
    /// The slot of a manifest.
    pub fn slot(&mut self, name: &str, at: usize) -> Option<&mut Slot> {
        self.progress.get_mut(name)?.slots.get_mut(at)
    }

    /// What is to be done about a manifest.
    pub fn task(&self, name: &str, at: usize, frozen: bool, now: Instant) -> Task {
        let Some(progress) = self.progress.get(name) else {
            return Task::Nothing(None);
        };
        let Some(slot) = progress.slots.get(at) else {
            return Task::Nothing(None);
        };
        let waits = slot.waits_until(now);
        let since = slot.checks.due(now);
        let entry = match &slot.target {
            Target::Object(entry) => entry,
            Target::Unmapped(_) => return waits.map_or(Task::Map, |it| Task::Nothing(Some(it))),
            Target::Unusable(_) => return Task::Nothing(None),
        };
        if frozen || self.is_object_complete(name, entry) {
            if let Some(since) = since.filter(|_| waits.is_none()) {
                return Task::Check {
                    entry: Arc::clone(entry),
                    since,
                    is_kept: true,
                };
            }
            let is_done = self.is_read(entry) || slot.access != Access::Open;
            return match is_done {
                true if !frozen && slot.applied.is_none() => Task::Keep,
                true => Task::Nothing(None),
                false if waits.is_some() => Task::Nothing(waits),
                false => match self.postponed(entry) {
                    Some(until) => Task::Postponed { until, cuts: false },
                    None => Task::Look(Arc::clone(entry)),
                },
            };
        }
        if waits.is_some() {
            return Task::Nothing(waits);
        }
        let was_applied = slot.applied == Some(Applied::Complete);
        let is_polled = self.sight(&entry.object) == Some(&Sight::Polled);
        if is_polled && let Some(poll) = slot.poll.filter(|it| *it > now && was_applied) {
            return Task::Nothing(Some(poll));
        }
        let known = self.known(entry);
        let (start, repairs) = match (known, known.judged(entry)) {
            _ if is_polled => (None, None),
            (Known::Missing, _) => {
                if was_applied && entry.is_read_only() {
                    return Task::Nothing(None);
                }
                (Some(Response::NotFound), Some("the object".to_owned()))
            }
            (_, Some(judged)) if !judged.verdict.write && !slot.is_changed() => {
                let is_failed = matches!(slot.applied, Some(Applied::Failed { .. }));
                if !is_failed {
                    return match since {
                        None => Task::Complete,
                        Some(since) => Task::Check {
                            entry: Arc::clone(entry),
                            since,
                            is_kept: false,
                        },
                    };
                }
                (None, None)
            }
            (Known::Present(arrived), Some(judged)) => {
                let start = arrived.live.as_ref().and_then(Kept::read);
                let start = start.map(Response::Found);
                (start, Some(fields(&judged.verdict.differences)))
            }
            _ => (None, None),
        };
        let repairs = repairs.filter(|_| was_applied);
        if let Some(fields) = &repairs
            && let Some(until) = slot.fight.until(fields, now)
        {
            return Task::Nothing(Some(until));
        }
        let postponed = self.postponed(entry);
        if let Some(until) = postponed {
            let cuts = entry.cuts(&self.evaluator);
            // What is due for the status only. To write an object costs nothing.
            let is_known = matches!(known, Known::Missing) || known.judged(entry).is_some();
            if cuts || was_applied && !slot.is_changed() && !is_known {
                return Task::Postponed { until, cuts };
            }
        }
        let start = Start {
            may_spend: postponed.is_none(),
            before: slot.before.clone(),
            known: start,
            was_foreign: matches!(known, Known::Unknown) && self.is_listed(entry),
            repairs,
            since,
        };
        Task::Attempt(Box::new(Attempt::new(entry, start)))
    }

    /// Notes an object as a response has it, unless something newer is known.
    pub fn learns(&mut self, entry: &Entry, arrived: Arrived, wakes: &mut Wakes) {
        let is_same = match self.known(entry) {
            Known::Present(known) => known.version == arrived.version,
            Known::Unknown => true,
            Known::Missing => false,
        };
        if is_same {
            self.sees(&entry.object, Known::Present(Arc::new(arrived)), wakes);
        }
    }

    /// Returns true if the object was compared with its manifest since it was known so.
    pub fn has_judged(&self, entry: &Entry, before: &Known) -> bool {
        match (self.known(entry), before) {
            (Known::Present(now), Known::Present(before)) if Arc::ptr_eq(now, before) => false,
            (now, _) => now.judged(entry).is_some(),
        }
    }

    /// Until when to look at the object has to wait, as its work has spent too much.
    pub(crate) fn postponed(&self, entry: &Entry) -> Option<Instant> {
        let until = self.evaluator.waits(&entry.work);
        until.filter(|_| entry.costs(&self.evaluator))
    }

    /// Returns true if the status can say what the object is.
    pub fn is_read(&self, entry: &Entry) -> bool {
        let known = self.known(entry);
        matches!(known, Known::Missing) || known.judged(entry).is_some()
    }

    /// When to ask again for the permissions of the executor. What is due already waits for something else.
    pub(crate) fn next_check(&self, name: &str, at: usize, now: Instant) -> Option<Instant> {
        let slot = self.progress.get(name)?.slots.get(at)?;
        slot.checks.next().filter(|it| *it > now)
    }

    /// Notes that the permissions that were due at this time are known.
    pub(crate) fn permissions_answered(&mut self, name: &str, at: usize, begun: Instant) {
        let is_watched = self.permissions.is_watched();
        let slot = self.slot(name, at).filter(|it| it.has_executor());
        if let Some(slot) = slot {
            slot.checks.answered(begun, is_watched);
        }
    }

    /// Notes that an object which is not updated any more counts as applied.
    pub fn keep(&mut self, name: &str, at: usize) {
        if let Some(slot) = self.slot(name, at) {
            slot.applied = Some(Applied::Complete);
        }
    }

    /// Notes that a manifest is as it should be.
    pub(crate) fn completes(&mut self, name: &str, at: usize) {
        if let Some(slot) = self.slot(name, at) {
            slot.completes();
        }
    }

    /// Notes that a manifest is not applied yet, as its work has spent too much.
    pub(crate) fn postpone(&mut self, name: &str, at: usize) {
        let slot = self.slot(name, at);
        if let Some(slot) = slot.filter(|it| it.applied != Some(Applied::Complete)) {
            let failure = Unusable::IgnoreFields(Spending::message());
            let (reason, message) = failure.condition();
            slot.applied = Some(Applied::Failed { reason, message });
        }
    }

    /// A manifest waits, as its object could not be asked for: longer each time. Returns until when.
    pub fn waits(&mut self, name: &str, at: usize, now: Instant) -> Option<Instant> {
        let spread = self.spread();
        let slot = self.slot(name, at)?;
        slot.waits(Retry::Backoff, now, spread);
        slot.wait.map(|it| it.until)
    }

    /// Notes why an object could not be read, or that it could.
    pub fn note(&mut self, name: &str, at: usize, unread: Option<String>) {
        if let Some(slot) = self.slot(name, at) {
            slot.unread = unread;
        }
    }

    /// Notes whether the executor may still write an object that is as it should be, or is not updated any more (`is_kept`). Returns when
    /// to try again, and a failure that was not known.
    pub(crate) fn checked(
        &mut self,
        (name, at): (&str, usize),
        entry: &Arc<Entry>,
        denied: Option<Denied>,
        is_kept: bool,
        begun: Instant,
    ) -> (Option<Instant>, Option<String>) {
        self.permissions_answered(name, at, begun);
        let denied = denied.map(Tried::denied);
        match (denied, self.slot(name, at)) {
            (Some(denied), _) if !is_kept => {
                return self.ended(name, at, entry, &Ok(denied), begun);
            }
            (denied, Some(slot)) => {
                slot.access = denied.map_or(Access::Open, |it| it.access);
                if !is_kept {
                    slot.completes();
                }
            }
            (_, None) => {}
        }
        (None, None)
    }

    fn is_listed(&self, entry: &Entry) -> bool {
        self.sight(&entry.object) == Some(&Sight::Listed)
    }

    /// Has it told why a manifest was not applied, if that was not known.
    pub(crate) fn tell(
        &mut self,
        ready: &Ready,
        entry: &Arc<Entry>,
        news: Option<String>,
        now: Instant,
    ) {
        if let Some(error) = news {
            let left_out = self.lines.next(now);
            self.notices.push(Notice::NotApplied {
                entry: Arc::clone(entry),
                ready: ready.clone(),
                error,
                left_out,
            });
        }
    }

    /// Notes the result of requests. Returns when to try again, and a failure that was not known.
    pub fn ended(
        &mut self,
        name: &str,
        at: usize,
        entry: &Arc<Entry>,
        ended: &Result<Tried, NoAnswer>,
        now: Instant,
    ) -> (Option<Instant>, Option<String>) {
        let is_polled = self.sight(&entry.object) == Some(&Sight::Polled);
        let interval = self.settings.poll_interval;
        let spread = self.spread();
        let mut notices = Vec::new();
        let (mut news, mut failed) = (None, None);
        if let Ok(Tried {
            outcome: ApplyOutcome::Applied(done),
            ..
        }) = ended
            && done.written
            && (&*entry.served.resource.group, &*entry.served.kind) == ("", "Namespace")
            && let Some(progress) = self.progress.get_mut(name)
        {
            progress.namespace_exists(entry.object.name());
        }
        let slot = self.slot(name, at);
        let is_of = |it: &&mut Slot| it.entry().is_some_and(|it| Arc::ptr_eq(it, entry));
        let Some(slot) = slot.filter(is_of) else {
            return (None, None);
        };
        slot.unread = None;
        if let Ok(tried) = ended {
            slot.access = tried.access.clone();
        }
        match ended.as_ref().map(|it| (&it.outcome, &it.repairs)) {
            Ok((ApplyOutcome::Applied(done), repairs)) => {
                slot.completes();
                if done.written
                    && let Some(fields) = repairs
                {
                    notices.push(Notice::Repaired);
                    if slot.fight.repaired(fields, now) {
                        notices.push(Notice::Fought {
                            entry: Arc::clone(entry),
                            fields: fields.clone(),
                        });
                    }
                }
            }
            Ok((ApplyOutcome::Missing, _)) => slot.completes(),
            Ok((ApplyOutcome::Failed(failure), _)) => failed = Some((failure.clone(), true)),
            Err(error) => {
                let failure = ApplyFailure {
                    reason: berth_api::conditions::manifest::APPLIED_FAILED,
                    message: format!("Failed to apply manifest: {}", error.error),
                    retry: Retry::Backoff,
                };
                // A cluster that does not respond concerns all objects.
                failed = Some((failure, !error.is_silent));
            }
        }
        if let Some((failure, is_of_object)) = failed {
            if is_of_object && slot.applied != Some(progress::failed(&failure)) {
                news = Some(failure.message.clone());
            }
            slot.fails(&failure, now, spread);
        }
        slot.poll = is_polled.then(|| now + interval);
        let again = [slot.wait.map(|it| it.until), slot.poll];
        self.notices.extend(notices);
        (again.into_iter().flatten().min(), news)
    }
}

/// The fields that differ, as one text.
fn fields(differences: &Differences) -> String {
    let paths: HashSet<_> = differences
        .shown
        .iter()
        .map(|it| it.path.as_str())
        .collect();
    if paths.is_empty() {
        return "metadata".to_owned();
    }
    let mut paths: Vec<_> = paths.into_iter().collect();
    paths.sort_unstable();
    paths.join(", ")
}
