//! The status of a ManifestWork: one patch when it changes.

use std::sync::Arc;

use berth_api::Now;
use berth_api::plan::{Action, Plan, Target, Write};
use berth_api::work::{ManifestResourceMeta, ManifestWork};
use berth_work_core::CONTESTED;
use berth_work_core::budget::{self, Excess};
use berth_work_core::report::{self, Applied, Drift, Live, Observed, report};
use serde_json::json;

use super::checks::Access;
use super::facts::{has_finalizer, works};
use super::objects::Known;
use super::progress::{self, Slot, is_complete};
use super::view::View;

/// The name of the reconciler in metrics and logs.
const STATUS: &str = "work-status";

/// What is counted now.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// ManifestWorks.
    pub works: usize,
    /// Objects that are as their manifests say.
    pub applied: usize,
    /// Objects that differ.
    pub differing: usize,
    /// Objects that do not exist.
    pub missing: usize,
    /// Objects that could not be applied.
    pub failed: usize,
    /// Kinds and namespaces that are watched.
    pub watched: usize,
    /// Kinds and namespaces whose objects are read at intervals.
    pub polled: usize,
    /// AppliedManifestWorks that stay, as the hub looks restored from a backup.
    pub held: usize,
    /// AppliedManifestWorks that an admin of the cluster holds back.
    pub held_back: usize,
    /// ManifestWorks that do not fit into the agent's memory.
    pub refused: usize,
}

/// What is due for the status of a ManifestWork.
pub fn plan(view: &View, name: &str, now: Now) -> Plan {
    let Some(work) = view.works.get(name) else {
        return Plan::default();
    };
    if let Some(excess) = view.room.refuses(name) {
        return refused(view, work, excess, now);
    }
    if !has_finalizer(work) || !view.room.has(name) {
        return Plan::default();
    }
    let is_deleting = work.metadata.deletion_timestamp.is_some();
    let progress = view.progress.get(name);
    // The status says which generation it is of: it is written when this one has been tried.
    let progress = progress
        .filter(|it| it.is_tried && it.source.metadata.generation == work.metadata.generation);
    let held = view.held_words(name);
    let mut again = None;
    let observed: Vec<_> = match progress {
        None if is_deleting => Vec::new(),
        None => return held.map_or_else(Plan::default, |it| only_held(view, work, it, now)),
        Some(progress) => {
            let mut observed: Vec<_> = (progress.slots.iter())
                .map(|slot| observe(view, work, slot, now, &mut again))
                .collect();
            observed.sort_by_key(|it| it.meta.ordinal);
            observed
        }
    };
    let too_large = progress.map_or(0, |it| it.too_large);
    let mut status = report(work, &observed, too_large, now.wall);
    if is_deleting && let Some((_, message)) = &held {
        report::waits_for_hold(&mut status, message);
    } else if is_deleting && let Some(message) = view.waits.get(&*view.applied_name(name)) {
        report::waits(&mut status, message);
    }
    let generation = work.metadata.generation;
    status.conditions = report::held(&status.conditions, generation, held, now.wall);
    // The objects of a work may be thousands, and the patch takes memory, too.
    drop(observed);
    let mut plan = Plan::default();
    if work.status.as_ref() != Some(&status) {
        plan = write(view, work, json!(status)).into();
    }
    if let Some(at) = again {
        plan.look_again(at);
    }
    plan
}

/// A patch of the conditions of a ManifestWork whose present manifests are not tried, since a hold stops that.
fn only_held(view: &View, work: &ManifestWork, held: (&'static str, String), now: Now) -> Plan {
    let stored = work.status.as_ref().map_or(&[][..], |it| &it.conditions);
    let conditions = report::held(stored, work.metadata.generation, Some(held), now.wall);
    match conditions == stored {
        true => Plan::default(),
        false => patch(view, work, json!({"conditions": conditions})).into(),
    }
}

/// A patch of the conditions of a ManifestWork that is not carried out, if they differ.
fn refused(view: &View, work: &Arc<ManifestWork>, excess: Excess, now: Now) -> Plan {
    if view.is_forgotten(work) {
        return Plan::default();
    }
    let message = budget::message(excess, view.room.budget());
    let conditions = report::refused(work, message, now.wall);
    let stored = work.status.as_ref().map_or(&[][..], |it| &it.conditions);
    match conditions == stored {
        true => Plan::default(),
        false => patch(view, work, json!({"conditions": conditions})).into(),
    }
}

fn observe<'a>(
    view: &'a View,
    work: &ManifestWork,
    slot: &'a Slot,
    now: Now,
    again: &mut Option<std::time::Instant>,
) -> Observed<'a> {
    let applied = slot.applied.clone();
    let entry = match &slot.target {
        progress::Target::Object(entry) => entry,
        progress::Target::Unmapped(meta) | progress::Target::Unusable(meta) => {
            return Observed {
                meta: ManifestResourceMeta::clone(meta),
                applied,
                live: Live::Incomplete,
                drift: None,
                rules: Default::default(),
            };
        }
    };
    let known = view.known(entry);
    let judged = known.judged(entry);
    let live = match (&slot.access, &slot.unread) {
        // It is not updated any more: what was reported of it was read with the permission.
        (Access::Closed(refusal), _)
            if is_complete(work) || view.is_object_complete(&entry.work, entry) =>
        {
            Live::Failed(refusal)
        }
        (Access::Closed(refusal), _) => Live::Withheld {
            exists: match known {
                Known::Present(_) => Some(true),
                Known::Missing => Some(false),
                _ => None,
            },
            refusal,
        },
        (_, Some(error)) => Live::Failed(error),
        (Access::Unknown, None) => Live::Failed("the permissions of the executor are not known"),
        (Access::Open, None) => match (known, judged) {
            (_, Some(judged)) => Live::Evaluated(&judged.evaluated),
            (Known::Missing, None) => Live::Missing,
            (Known::Present(_), None) if entry.rules().cost() => Live::Postponed,
            (_, None) => Live::Failed("it has not been read yet"),
        },
    };
    let judged = judged.filter(|_| slot.access == Access::Open);
    let drift = judged.map(|judged| {
        let differences = &judged.verdict.differences;
        if let Some((fields, until)) = slot.fight.is_on(now.instant) {
            *again = Some(again.map_or(until, |it: std::time::Instant| it.min(until)));
            let text = match differences.count {
                0 => format!("{fields}: put back, but {CONTESTED}"),
                _ => format!("{differences}; {CONTESTED}"),
            };
            return Drift::Differs(text);
        }
        let stays = !judged.verdict.write
            || matches!(applied, Some(Applied::Failed { .. }))
            || view.stops(&entry.work);
        if stays && differences.count > 0 {
            Drift::Differs(differences.to_string())
        } else {
            Drift::Same
        }
    });
    Observed {
        meta: entry.meta(),
        applied,
        live,
        drift,
        rules: entry.rules(),
    }
}

/// A patch of the whole status. Fields that the new status leaves out are removed.
fn write(view: &View, work: &ManifestWork, mut status: serde_json::Value) -> Write {
    for field in ["conditions", "resourceStatus"] {
        if status.get(field).is_none() {
            status[field] = serde_json::Value::Null;
        }
    }
    patch(view, work, status)
}

/// A patch of the status.
fn patch(view: &View, work: &ManifestWork, status: serde_json::Value) -> Write {
    let metadata = &work.metadata;
    let mut body = json!({
        "metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version},
    });
    // `json!` would copy the status, which may have megabytes.
    body["status"] = status;
    Write {
        target: Target {
            resource: works(),
            namespace: Some(view.identity.cluster.clone()),
            name: metadata.name.clone().unwrap_or_default(),
        },
        action: Action::Patch {
            subresource: Some("status"),
            body,
        },
        reconciler: STATUS,
        events: Vec::new(),
    }
}

// === impl View ===

impl View {
    /// Notes that the hub refused the status as too large: the next one is smaller.
    pub fn status_too_large(&mut self, name: &str) {
        if let Some(progress) = self.progress.get_mut(name) {
            progress.too_large += 1;
        }
    }

    /// Notes that the manifests of a work were tried: its status may be written.
    pub(crate) fn tried(&mut self, name: &str, is_over: bool) {
        if let Some(progress) = self.progress.get_mut(name) {
            progress.is_tried |= is_over;
        }
    }

    /// Counts works, objects and rows.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts {
            works: self.works.len(),
            watched: self.rows.len() - self.rows.polled(),
            polled: self.rows.polled(),
            held: self.held(),
            held_back: self.held_back(),
            refused: self.room.refused(),
            ..Counts::default()
        };
        for slot in self.progress.values().flat_map(|it| &it.slots) {
            let known = slot.entry().map(|entry| (self.known(entry), entry));
            let state = match (&slot.applied, known) {
                (Some(Applied::Failed { .. }), _) | (_, None) => &mut counts.failed,
                (_, Some((Known::Missing, _))) => &mut counts.missing,
                (_, Some((known, entry))) => {
                    let judged = known.judged(entry);
                    match judged.is_some_and(|it| it.verdict.differences.count > 0) {
                        true => &mut counts.differing,
                        false => &mut counts.applied,
                    }
                }
            };
            *state += 1;
        }
        counts
    }
}
