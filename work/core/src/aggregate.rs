//! Conditions of a ManifestWork, from those of its objects. Types, reasons and messages are those of OCM, with these additions:
//!
//! - If no condition rule sets Progressing or Degraded, the built-in conditions are aggregated: True wins over Unknown and False, because an
//!   object that fails is not made good by another one. If a rule sets it for any object, the conditions of rules alone are aggregated, as
//!   OCM does.
//! - Drifted says which objects differ from their manifests.

use std::collections::BTreeMap;

use berth_api::conditions::{FALSE, TRUE, UNKNOWN, condition_of, manifest, manifest_work};
use berth_api::work::{ManifestCondition, ManifestResourceMeta};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::bound::shortened;
use crate::conditions::is_reserved;
use crate::merge::{Conditions, is_built_in, is_of_rule};

/// The longest message of built-in conditions in bytes.
const LONGEST: usize = 1024;

/// What the objects without built-in conditions of their own count as.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    /// Objects that are done: neither progressing nor degraded.
    pub(crate) settled: usize,
    /// Objects that could not be read.
    pub(crate) unknown: usize,
    /// Something is known about the drift of an object.
    pub(crate) knows_drift: bool,
}

/// Conditions of one type, with their objects.
type OfType<'a> = Vec<(&'a ManifestResourceMeta, &'a Condition)>;

/// Sets Applied if each object has the condition for this generation. Otherwise the stored condition stays.
pub(crate) fn applied(
    work: &mut Conditions,
    manifests: &[ManifestCondition],
    generation: Option<i64>,
) {
    let applied = manifests
        .iter()
        .map(|it| condition_of(&it.conditions, manifest::APPLIED));
    let applied = applied.map(|it| it.filter(|it| it.observed_generation == generation));
    let Some(applied) = applied.collect::<Option<Vec<_>>>() else {
        return;
    };
    let (status, reason, message) = if applied.iter().all(|it| it.status == TRUE) {
        let message = "Apply manifest work complete";
        (TRUE, manifest_work::APPLIED_COMPLETE, message)
    } else {
        let message = "Failed to apply manifest work";
        (FALSE, manifest_work::APPLIED_FAILED, message)
    };
    work.set(manifest_work::APPLIED, status, reason, message.to_owned());
}

/// Sets Available.
pub(crate) fn available(work: &mut Conditions, manifests: &[ManifestCondition]) {
    let count = |status: &str| {
        let available = manifests
            .iter()
            .filter_map(|it| condition_of(&it.conditions, manifest::AVAILABLE));
        available.filter(|it| it.status == status).count()
    };
    let all = manifests.len();
    let (missing, available) = (count(FALSE), count(TRUE));
    let unknown = all - missing - available;
    let (status, reason, message) = if all == 0 {
        // The space at the end is OCM's.
        let message = "cannot get any available resource ".to_owned();
        (UNKNOWN, manifest_work::RESOURCES_STATUS_UNKNOWN, message)
    } else if missing > 0 {
        let message = format!("{missing} of {all} resources are not available");
        (FALSE, manifest_work::RESOURCES_NOT_AVAILABLE, message)
    } else if unknown > 0 {
        let message = format!("{unknown} of {all} resources have unknown status");
        (UNKNOWN, manifest_work::RESOURCES_STATUS_UNKNOWN, message)
    } else {
        let message = "All resources are available".to_owned();
        (TRUE, manifest_work::RESOURCES_AVAILABLE, message)
    };
    work.set(manifest_work::AVAILABLE, status, reason, message);
}

/// Sets the conditions of rules, and removes those whose rules are gone.
pub(crate) fn rules(
    work: &mut Conditions,
    manifests: &[ManifestCondition],
    counted: Counted,
    generation: Option<i64>,
) {
    let mut by_rules: BTreeMap<&str, OfType<'_>> = BTreeMap::new();
    let mut built_in: BTreeMap<&str, OfType<'_>> = BTreeMap::new();
    for it in manifests {
        let current = |it: &&Condition| {
            is_of_rule(it) && it.observed_generation == generation && !is_reserved(&it.type_)
        };
        for condition in it.conditions.iter().filter(current) {
            let of = match is_built_in(condition) {
                true => &mut built_in,
                false => &mut by_rules,
            };
            let of = of.entry(&condition.type_).or_default();
            of.push((&it.resource_meta, condition));
        }
    }
    for (type_, conditions) in &by_rules {
        let (status, message) = of_rules(type_, conditions);
        set(work, type_, status, message);
    }
    for type_ in [manifest_work::PROGRESSING, manifest_work::DEGRADED] {
        let conditions = built_in.remove(type_).unwrap_or_default();
        let is_empty = conditions.is_empty() && counted.settled == 0 && counted.unknown == 0;
        if !by_rules.contains_key(type_) && !is_empty {
            let (status, message) = of_built_in(type_, &conditions, counted);
            set(work, type_, status, message);
        }
    }
    if !by_rules.contains_key(manifest_work::DRIFTED) && counted.knows_drift {
        let drifted = built_in.remove(manifest_work::DRIFTED).unwrap_or_default();
        let (status, message) = of_drift(&drifted, manifests.len());
        set(work, manifest_work::DRIFTED, status, message);
    }
    work.remove_unset_rules();
}

fn set(work: &mut Conditions, type_: &str, status: &str, message: String) {
    let reason = manifest_work::CONDITION_RULES_AGGREGATED;
    work.set(type_, status, reason, message);
}

/// False wins over Unknown and True; for Progressing, True wins over both.
fn of_rules(type_: &str, conditions: &OfType<'_>) -> (&'static str, String) {
    let has = |status| conditions.iter().any(|(_, it)| it.status == status);
    let status = if type_ == manifest_work::PROGRESSING && has(TRUE) {
        TRUE
    } else if has(FALSE) {
        FALSE
    } else if conditions.iter().all(|(_, it)| it.status == TRUE) {
        TRUE
    } else {
        UNKNOWN
    };
    let message = match &conditions[..] {
        [(_, condition)] => condition.message.clone(),
        several => format!("Aggregated from {} manifest conditions", several.len()),
    };
    (status, message)
}

/// True wins over Unknown, and Unknown over False. The message names the first object with this status.
fn of_built_in(type_: &str, conditions: &OfType<'_>, counted: Counted) -> (&'static str, String) {
    if let ([(_, only)], 0, 0) = (&conditions[..], counted.settled, counted.unknown) {
        let status = if only.status == TRUE { TRUE } else { FALSE };
        return (status, only.message.clone());
    }
    let holding: Vec<_> = conditions
        .iter()
        .filter(|(_, it)| it.status == TRUE)
        .collect();
    let [(meta, condition), others @ ..] = &holding[..] else {
        if counted.unknown > 0 {
            return (UNKNOWN, "Not all objects could be read".to_owned());
        }
        let message = match type_ {
            manifest_work::PROGRESSING => "All objects are done",
            _ => "No failure is reported",
        };
        return (FALSE, message.to_owned());
    };
    let message = format!("{}: {}", named(meta), condition.message);
    let more = match others.len() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let message = shortened(message, LONGEST - more.len());
    (TRUE, message + &more)
}

fn of_drift(conditions: &OfType<'_>, all: usize) -> (&'static str, String) {
    let drifted: Vec<_> = conditions
        .iter()
        .filter(|(_, it)| it.status == TRUE)
        .collect();
    let [(first, _), ..] = drifted[..] else {
        return (FALSE, "All objects are as their manifests say".to_owned());
    };
    let count = drifted.len();
    let first = named(first);
    let message = if count == 1 {
        format!("1 of {all} objects differs from its manifest: {first}")
    } else {
        format!("{count} of {all} objects differ from their manifests; the first is {first}")
    };
    (TRUE, shortened(message, LONGEST))
}

/// The kind and name of an object.
fn named(meta: &ManifestResourceMeta) -> String {
    let ManifestResourceMeta {
        kind,
        name,
        namespace,
        ..
    } = meta;
    match namespace.as_str() {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}
