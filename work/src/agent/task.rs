//! What is to be done about a manifest, and what became of it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use berth_api::text::shorten;
use berth_hub::CallError;
use berth_reconcile::now;
use berth_work_core::report::Applied;
use berth_work_core::{Differences, Failure, Outcome, Response, Retry};

use super::checks::Access;
use super::lines::LONGEST;
use super::objects::{Entry, Kept, Known};
use super::progress::{Slot, Target};
use super::rows::Sight;
use super::run::{Run, Tried};
use super::targets;
use super::world::Agent;

/// What is to be done about a manifest.
pub(super) enum Task {
    /// Nothing, until then.
    Nothing(Option<Instant>),
    /// Nothing, until then: the work has spent too much. `cuts`: the manifest cannot be applied meanwhile.
    Postponed { until: Instant, cuts: bool },
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
        entry: Arc<Entry>,
        since: Instant,
        is_kept: bool,
    },
    /// Requests.
    Run(Run),
}

// === impl Agent ===

impl Agent {
    pub(crate) fn slot(&mut self, name: &str, at: usize) -> Option<&mut Slot> {
        self.progress.get_mut(name)?.slots.get_mut(at)
    }

    /// What is to be done about a manifest.
    pub(super) fn task(&self, name: &str, at: usize, frozen: bool) -> Task {
        let now = now().instant;
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
        Task::Run(Run {
            may_spend: postponed.is_none(),
            entry: Arc::clone(entry),
            before: slot.before.clone(),
            start,
            was_foreign: matches!(known, Known::Unknown) && self.is_listed(entry),
            repairs,
            since,
        })
    }

    /// When to ask again for the permissions of the executor. What is due already waits for something else.
    pub(super) fn next_check(&self, name: &str, at: usize) -> Option<Instant> {
        let slot = self.progress.get(name)?.slots.get(at)?;
        slot.checks.next().filter(|it| *it > now().instant)
    }

    /// Notes that the permissions that were due at this time are known.
    pub(super) fn permissions_answered(&mut self, name: &str, at: usize, begun: Instant) {
        let is_watched = self.permissions.is_watched();
        let slot = self.slot(name, at).filter(|it| it.has_executor());
        if let Some(slot) = slot {
            slot.checks.answered(begun, is_watched);
        }
    }

    fn is_listed(&self, entry: &Entry) -> bool {
        self.sight(&entry.object) == Some(&Sight::Listed)
    }

    /// Notes the result of requests. Returns when to try again, and a failure that was not known.
    pub(super) fn ended(
        &mut self,
        name: &str,
        at: usize,
        entry: &Arc<Entry>,
        ended: &Result<Tried, CallError>,
        now: Instant,
    ) -> (Option<Instant>, Option<String>) {
        let is_polled = self.sight(&entry.object) == Some(&Sight::Polled);
        let interval = self.settings.poll_interval;
        let metrics = self.metrics.clone();
        let (mut news, mut failed) = (None, None);
        if let Ok(Tried {
            outcome: Outcome::Applied(done),
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
            Ok((Outcome::Applied(done), repairs)) => {
                slot.completes();
                if done.written
                    && let Some(fields) = repairs
                {
                    metrics.repaired();
                    if slot.fight.repaired(fields, now) {
                        metrics.fought();
                        tracing::warn!(
                            work = name,
                            kind = entry.served.kind,
                            namespace = entry.object.namespace(),
                            name = entry.object.name(),
                            fields,
                            "another client changes what the ManifestWork prescribes; repaired again, and less often from now on"
                        );
                    }
                }
            }
            Ok((Outcome::Missing, _)) => slot.completes(),
            Ok((Outcome::Failed(failure), _)) => failed = Some((failure.clone(), true)),
            Err(error) => {
                let failure = Failure {
                    reason: berth_api::conditions::manifest::APPLIED_FAILED,
                    message: format!("Failed to apply manifest: {error}"),
                    retry: Retry::Backoff,
                };
                // A cluster that does not respond concerns all objects.
                failed = Some((failure, error.code() != 0));
            }
        }
        if let Some((failure, is_of_object)) = failed {
            if is_of_object && slot.applied != Some(targets::failed(&failure)) {
                news = Some(failure.message.clone());
            }
            slot.fails(failure, now);
        }
        slot.poll = is_polled.then(|| now + interval);
        let again = [slot.wait.map(|it| it.until), slot.poll];
        if let Some(message) = &news
            && let Some(left_out) = self.lines.next(now)
        {
            tracing::warn!(
                work = name,
                kind = entry.served.kind,
                namespace = entry.object.namespace(),
                name = entry.object.name(),
                error = %shorten(message, LONGEST),
                left_out,
                "a manifest was not applied"
            );
        }
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
