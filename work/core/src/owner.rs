//! Ownership: the reference from an object to the AppliedManifestWork that it is deleted with.
//!
//! Several ManifestWorks may hold one object; each has its own reference, with neither controller nor blockOwnerDeletion. References
//! are matched by kind, group and name, so a reference to an AppliedManifestWork that was created anew gets its new UID.

#[cfg(test)]
mod tests;

use berth_api::work::{DeleteOption, DeletePropagationPolicy};
use serde_json::{Value, json};

use crate::Mapped;

/// apiVersion of an AppliedManifestWork in a reference.
const API_VERSION: &str = "work.open-cluster-management.io/v1";
const GROUP: &str = "work.open-cluster-management.io";
const KIND: &str = "AppliedManifestWork";

/// The AppliedManifestWork on whose behalf an object is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Decides if the object has the reference.
    pub holding: Holding,
}

/// Decides if an object is deleted with its AppliedManifestWork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// The object has the reference.
    Owned,
    /// The object stays: the reference is removed.
    Orphaned,
}

// === impl Holding ===

impl Holding {
    /// Decides by the delete option of a ManifestWork. Rules of SelectivelyOrphan match exactly, without wildcards; unknown policies
    /// own, as Foreground does.
    pub fn of(option: Option<&DeleteOption>, object: &Mapped) -> Self {
        let Some(option) = option else {
            return Self::Owned;
        };
        let orphaned = match option.propagation_policy {
            DeletePropagationPolicy::Orphan => true,
            DeletePropagationPolicy::SelectivelyOrphan => option
                .selectively_orphans
                .iter()
                .flat_map(|orphans| &orphans.orphaning_rules)
                .any(|rule| {
                    rule.group == object.prescribed.group()
                        && rule.resource == object.resource
                        && rule.namespace == object.namespace
                        && rule.name == object.prescribed.name
                }),
            DeletePropagationPolicy::Foreground | DeletePropagationPolicy::Other(_) => false,
        };
        if orphaned {
            Self::Orphaned
        } else {
            Self::Owned
        }
    }
}

// === impl Owner ===

impl Owner {
    /// The reference to this AppliedManifestWork.
    pub(crate) fn reference(&self) -> Value {
        json!({"apiVersion": API_VERSION, "kind": KIND, "name": self.name, "uid": self.uid})
    }

    /// Is this the reference to this AppliedManifestWork, perhaps with an earlier UID?
    fn is(&self, reference: &Value) -> bool {
        is_applied_manifest_work(reference) && reference["name"] == self.name.as_str()
    }

    /// The references that the object should have; `None` if it has them, or has something else that the API server refuses.
    pub(crate) fn missing(&self, live: &Value) -> Option<Vec<Value>> {
        let stored = &live["metadata"]["ownerReferences"];
        if !stored.is_null() && !stored.is_array() {
            return None;
        }
        let found = references(live);
        let mut wanted: Vec<Value> = Vec::with_capacity(found.len() + 1);
        let mut done = self.holding == Holding::Orphaned;
        for reference in found {
            if !self.is(reference) {
                wanted.push(reference.clone());
            } else if !done {
                done = true;
                let mut kept = reference.clone();
                kept["uid"] = self.uid.as_str().into();
                wanted.push(kept);
            }
        }
        if !done {
            wanted.push(self.reference());
        }
        (wanted != found).then_some(wanted)
    }
}

/// Is this a reference to an AppliedManifestWork? The version does not matter.
pub(crate) fn is_applied_manifest_work(reference: &Value) -> bool {
    reference["kind"] == KIND
        && reference["apiVersion"]
            .as_str()
            .and_then(|version| version.split_once('/'))
            .is_some_and(|(group, _)| group == GROUP)
}

/// Does another AppliedManifestWork own the object, too?
pub(crate) fn is_shared(live: &Value, owner: &Owner) -> bool {
    references(live)
        .iter()
        .any(|reference| is_applied_manifest_work(reference) && !owner.is(reference))
}

/// metadata.ownerReferences
pub(crate) fn references(live: &Value) -> &[Value] {
    live["metadata"]["ownerReferences"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}
