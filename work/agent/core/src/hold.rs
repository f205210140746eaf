//! The hold of a ManifestWork by an admin of the managed cluster, by the annotation [`HOLD`] on its AppliedManifestWork.
//!
//! | Value | Meaning |
//! |---|---|
//! | `changes` | what the hub changes is not applied, and nothing is removed; objects are put back to what was applied before |
//! | `all`, and what is not known | nothing is written to the cluster |
//! | `false` | no hold |
//!
//! What was applied before is known as long as the ManifestWork is the one that was tried when the hold was seen. Its UID and generation are
//! recorded on the cluster ([`HELD_AT`]): what the hub says does not count, or it could end a hold. Once the hub changes the ManifestWork,
//! its former manifests are gone, and nothing is written any more.

use std::sync::Arc;

use berth_api::conditions::manifest_work::{ALL_HELD, CHANGES_HELD};
use berth_api::labels::HOLD;
use berth_api::plan::Write;
use berth_api::text::shorten;
use berth_api::work::{AppliedManifestWork, ManifestWork};
use serde_json::json;

use super::eviction::annotation;
use super::facts::applied_works;
use super::record::WORK;
use super::view::View;

/// On an AppliedManifestWork that is held: UID and generation of the ManifestWork whose manifests were tried when the hold was seen.
pub(crate) const HELD_AT: &str = "berth.open-cluster-management.io/held-at";

/// Upper bound on the bytes of the value of the annotation in a message.
const LONGEST_VALUE: usize = 64;

/// What is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// What the hub changes.
    Changes,
    /// All writes.
    All,
}

/// The hold of an AppliedManifestWork.
pub(crate) fn of(applied: &AppliedManifestWork) -> Option<Hold> {
    match annotation(applied, HOLD)?.trim() {
        "false" => None,
        "changes" => Some(Hold::Changes),
        // What is not understood must not let a change through.
        _ => Some(Hold::All),
    }
}

/// The write that records what was tried when the hold was seen, or that forgets it.
pub(crate) fn record(
    view: &View,
    work: &ManifestWork,
    applied: &AppliedManifestWork,
) -> Option<Write> {
    let is_recorded = annotation(applied, HELD_AT).is_some();
    let value = match of(applied) {
        Some(Hold::Changes) if !is_recorded => {
            let name = work.metadata.name.as_deref().unwrap_or_default();
            let tried = view.progress.get(name).filter(|it| it.is_tried)?;
            Some(mark(&tried.source))
        }
        None if is_recorded => None,
        _ => return None,
    };
    let metadata = &applied.metadata;
    let name = metadata.name.clone().unwrap_or_default();
    let body = json!({"metadata": {
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
        "annotations": {HELD_AT: value},
    }});
    Some(Write::patch(WORK, applied_works(), name, body))
}

/// Identifies the manifests of a ManifestWork.
fn mark(work: &ManifestWork) -> String {
    let metadata = &work.metadata;
    let uid = metadata.uid.as_deref().unwrap_or_default();
    format!("{uid}/{}", metadata.generation.unwrap_or_default())
}

/// The field manager that wrote the annotation, if it is known.
fn holder(applied: &AppliedManifestWork) -> Option<&str> {
    let managers = applied.metadata.managed_fields.as_deref()?;
    managers.get(1)?.manager.as_deref()
}

// === impl View ===

impl View {
    /// The hold of a ManifestWork.
    pub(crate) fn hold(&self, work: &str) -> Option<Hold> {
        of(self.applied.get(&*self.applied_name(work))?)
    }

    /// Returns true if nothing may be written to the cluster for a ManifestWork.
    pub(crate) fn stops(&self, work: &str) -> bool {
        let Some(applied) = self.applied.get(&*self.applied_name(work)) else {
            return false;
        };
        match of(applied) {
            None => false,
            Some(Hold::All) => true,
            Some(Hold::Changes) => !self.is_held_at(work, applied),
        }
    }

    /// Returns true if objects of this AppliedManifestWork must not be deleted: an admin of the cluster holds it.
    pub fn keeps_objects(&self, applied: &str) -> bool {
        self.applied.get(applied).is_some_and(|it| of(it).is_some())
    }

    /// Counts the AppliedManifestWorks that are held back.
    pub(crate) fn held_back(&self) -> usize {
        let is_held = |it: &&Arc<AppliedManifestWork>| of(it).is_some();
        self.applied.values().filter(is_held).count()
    }

    /// Returns true if the manifests on the hub are those that were tried when the hold was seen.
    fn is_held_at(&self, work: &str, applied: &AppliedManifestWork) -> bool {
        let at = annotation(applied, HELD_AT);
        at.is_some_and(|at| self.works.get(work).is_some_and(|it| mark(it) == at))
    }

    /// What the status of a ManifestWork says of its hold: reason and message of the condition.
    pub(crate) fn held_words(&self, work: &str) -> Option<(&'static str, String)> {
        let applied_name = self.applied_name(work);
        let applied = self.applied.get(&*applied_name)?;
        let hold = of(applied)?;
        let is_deleting =
            (self.works.get(work)).is_some_and(|it| it.metadata.deletion_timestamp.is_some());
        let value = annotation(applied, HOLD).unwrap_or_default();
        let by = holder(applied).map_or_else(String::new, |it| {
            format!(", set by field manager {}", shorten(it, LONGEST_VALUE))
        });
        let (reason, mut words) = match hold {
            Hold::All => (ALL_HELD, "nothing is written to the cluster"),
            Hold::Changes if self.is_held_at(work, applied) => (
                CHANGES_HELD,
                "changes are not applied and nothing is removed; objects are put back to these manifests",
            ),
            Hold::Changes if annotation(applied, HELD_AT).is_some() => (
                CHANGES_HELD,
                "the ManifestWork has changed since, so nothing is written to the cluster",
            ),
            Hold::Changes => (
                CHANGES_HELD,
                "it is not known which manifests were applied before, so nothing is written to the cluster",
            ),
        };
        if is_deleting {
            words = "the objects stay, and the ManifestWork, until the hold ends";
        }
        let message = format!(
            "held on the cluster by the annotation {HOLD}={} of AppliedManifestWork {applied_name}{by}: {words}",
            shorten(value, LONGEST_VALUE)
        );
        Some((reason, message))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::{Value, json};

    use super::*;
    use crate::testing;
    use crate::view::Wakes;

    /// A view of a held work. `at`: what is recorded.
    fn view(value: &str, at: Option<&str>, deletion: &Value) -> View {
        let (mut view, mut wakes) = (testing::view(), Wakes::default());
        let work = json!({
            "metadata": {"name": "w", "uid": "u", "generation": 3, "deletionTimestamp": deletion},
            "spec": {},
        });
        let work = Arc::new(serde_json::from_value(work).unwrap());
        view.work_changed("w", Some(1), work, &mut wakes);
        let applied = json!({
            "metadata": {
                "name": "hash-w", "uid": "owner", "annotations": {HOLD: value, HELD_AT: at.unwrap_or("none")},
                "managedFields": [{"manager": "berth"}, {"manager": "kubectl-annotate"}],
            },
            "spec": {},
        });
        let mut applied: AppliedManifestWork = serde_json::from_value(applied).unwrap();
        if at.is_none() {
            let annotations = applied.metadata.annotations.as_mut().unwrap();
            annotations.remove(HELD_AT);
        }
        view.applied_changed("hash-w", Arc::new(applied), &mut wakes);
        view
    }

    #[test]
    fn a_value_holds_all_unless_it_says_less() {
        for (value, at, stops, reason, words) in [
            (
                "changes",
                Some("u/3"),
                false,
                CHANGES_HELD,
                "put back to these manifests",
            ),
            (
                "changes",
                Some("u/2"),
                true,
                CHANGES_HELD,
                "has changed since",
            ),
            (
                "changes",
                Some("v/3"),
                true,
                CHANGES_HELD,
                "has changed since",
            ),
            (" changes ", None, true, CHANGES_HELD, "it is not known"),
            ("all", Some("u/3"), true, ALL_HELD, "nothing is written"),
            ("true", Some("u/3"), true, ALL_HELD, "hold=true of"),
            ("", None, true, ALL_HELD, "nothing is written"),
        ] {
            let view = view(value, at, &Value::Null);
            assert_eq!(view.stops("w"), stops, "{value:?} {at:?}");
            assert!(view.keeps_objects("hash-w"));
            assert_eq!(view.counts().held_back, 1);
            let (is, message) = view.held_words("w").unwrap();
            assert_eq!(is, reason, "{message}");
            assert!(message.contains(words), "{value:?} {at:?}: {message}");
            let by = "of AppliedManifestWork hash-w, set by field manager kubectl-annotate: ";
            assert!(message.contains(by), "{message}");
        }
        let view = view("false", None, &Value::Null);
        assert!(!view.stops("w") && !view.keeps_objects("hash-w"));
        assert_eq!(view.held_words("w"), None);
        assert_eq!(view.counts().held_back, 0);
    }

    #[test]
    fn of_a_deleted_work_the_status_says_that_it_stays() {
        let view = view("changes", Some("u/3"), &json!("2026-01-01T00:00:00Z"));
        let (_, message) = view.held_words("w").unwrap();
        let words = "the objects stay, and the ManifestWork, until the hold ends";
        assert!(message.ends_with(words), "{message}");
    }

    #[test]
    fn a_long_value_is_cut() {
        let long = "x".repeat(10_000);
        let (_, message) = view(&long, None, &Value::Null).held_words("w").unwrap();
        assert!(message.len() < 400, "{}", message.len());
    }
}
