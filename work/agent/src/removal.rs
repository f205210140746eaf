//! AppliedManifestWorks that are deleted, or whose ManifestWork is missing on the hub.

use std::sync::Arc;
use std::time::Instant;

use berth_api::plan::Event;
use berth_api::work::AppliedManifestWork;
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, WriteOutcome, failed, now};
use berth_work_agent_core::eviction::{CONFIRMED, Due, HELD, annotation, decide};

use super::MANAGED;
use super::regarding::of_applied;
use super::removing::remove_all;
use super::world::{Agent, change};

/// Works on an AppliedManifestWork.
pub(crate) async fn reconcile(on: &Handle<Agent>, name: &Arc<str>) -> Next {
    let departs = {
        let view = &mut on.world().view;
        if !view.applied.contains_key(name) {
            view.departed(name);
            return settled(None);
        }
        view.departs(name).cloned()
    };
    if let Some(applied) = departs {
        return remove(on, name, &applied).await;
    }
    // The second round says when to look again.
    for _ in 0..2 {
        let (mut plan, due) = decide(&on.world().view, name, now());
        let Some(due) = due.filter(|_| !plan.writes.is_empty()) else {
            return settled(plan.again);
        };
        // Asked before `wrote`, which makes this write the last one.
        let was_held = on.world().view.was_last(name, due);
        match on.carry_out(std::mem::take(&mut plan.writes)).await {
            WriteOutcome::Failed(failures) => return failed(&failures),
            WriteOutcome::Nothing | WriteOutcome::Written => {}
        }
        change(on, |view, _| view.wrote(name, due, now().instant));
        if due == Due::Hold && !was_held {
            tell_of_hold(on, name);
        }
    }
    settled(Some(now().instant))
}

fn tell_of_hold(on: &Handle<Agent>, name: &Arc<str>) {
    let held = on.world().view.applied.get(name).cloned();
    if let Some(held) = held
        && let Some(reason) = annotation(&held, HELD)
    {
        tracing::warn!(
            name = &**name,
            reason,
            "the objects of a missing ManifestWork are held"
        );
        let note = format!("{reason}; to delete its objects, set the annotation {CONFIRMED}");
        let event = Event {
            warning: true,
            reason: "EvictionHeld",
            note,
            namespace: None,
        };
        on.tell(MANAGED, &event, &of_applied(&held));
    }
}

/// Removes the objects of a deleted AppliedManifestWork, and then its finalizer.
async fn remove(on: &Handle<Agent>, name: &Arc<str>, applied: &AppliedManifestWork) -> Next {
    let time = now().instant;
    let departure = {
        let view = &on.world().view;
        let wait = view.removals.get(name).filter(|it| it.until > time);
        if let Some(wait) = wait {
            return settled(Some(wait.until));
        }
        view.departure(name, applied)
    };
    let (pending, error) = remove_all(on, &departure.objects, (name, &departure.uid)).await;
    change(on, |view, wakes| view.departing(name, &pending, wakes));
    let pending: Vec<_> = pending.into_iter().map(|(object, _)| object).collect();
    if let Some(error) = error {
        tracing::debug!(name = &**name, %error, "not all objects could be removed");
        if let Some(write) = departure.shrinks(applied, &pending) {
            on.carry_out(vec![write]).await;
        }
        return Next::Failed {
            wait: error.retry_after(),
        };
    }
    if let Some(write) = departure.write(applied, &pending)
        && let WriteOutcome::Failed(failures) = on.carry_out(vec![write]).await
    {
        return failed(&failures);
    }
    if pending.is_empty() {
        change(on, |view, _| view.removals.remove(name));
        return settled(None);
    }
    settled(Some(change(on, |view, _| view.wait_to_depart(name, time))))
}

fn settled(again: Option<Instant>) -> Next {
    Next::again(again)
}
