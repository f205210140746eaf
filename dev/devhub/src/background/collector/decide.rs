//! Decides what the garbage collector does with one object. Pure functions
//! (<https://kubernetes.io/docs/concepts/architecture/garbage-collection/>).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::object::Object;
use crate::writes::{FOREGROUND, ORPHAN, Propagation};

/// What there is of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// It is there.
    Solid,
    /// It is being deleted, and waits for its dependents.
    Waiting,
    /// It is gone, or another object has its name by now.
    Gone,
    /// Unknown: its kind is not served, or it cannot be an owner of this object.
    Unknown,
}

/// An object that names the one in question as an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dependent {
    pub(super) uid: String,
    /// It holds its owner up in a deletion in the foreground.
    pub(super) blocks: bool,
    /// It is being deleted in the foreground itself.
    pub(super) is_waiting: bool,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Nothing,
    /// Owners of it are gone, others are not: those that are gone (by uid) are struck off.
    Disown(Vec<String>),
    Delete(Propagation),
    /// It is part of a circle: it must not hold up its owners, and is deleted in the foreground.
    Unblock,
    /// No dependent is left that the deletion waits for: remove this finalizer.
    LetGo(&'static str),
    /// These dependents go first.
    Await(Vec<String>),
    /// These dependents stay without it.
    Orphan(Vec<String>),
}

/// The owners that an object names; malformed references are left out.
pub(super) fn owners(object: &Object) -> Vec<OwnerReference> {
    let list = object.items(&["metadata", "ownerReferences"]).iter();
    list.filter_map(|owner| serde_json::from_value(owner.clone()).ok())
        .collect()
}

/// Returns true if it waits for its dependents in a deletion in the foreground.
pub(super) fn is_waiting(object: &Object) -> bool {
    object.is_deleting() && object.finalizers().contains(&FOREGROUND)
}

/// Returns true if the collector has to work off a finalizer of it.
pub(super) fn is_finalizing(object: &Object) -> bool {
    is_waiting(object) || object.is_deleting() && object.finalizers().contains(&ORPHAN)
}

/// Decides about an object whose owners `owner` knows about.
pub(super) fn decide(
    object: &Object,
    dependents: &[Dependent],
    owner: &dyn Fn(&OwnerReference) -> Owner,
) -> Decision {
    if object.is_deleting() && object.finalizers().contains(&ORPHAN) {
        return match dependents {
            [] => Decision::LetGo(ORPHAN),
            some => Decision::Orphan(some.iter().map(|it| it.uid.clone()).collect()),
        };
    }
    if is_waiting(object) {
        let mut blocking = dependents.iter().filter(|it| it.blocks).peekable();
        if blocking.peek().is_none() {
            return Decision::LetGo(FOREGROUND);
        }
        let unasked = blocking.filter(|it| !it.is_waiting);
        return Decision::Await(unasked.map(|it| it.uid.clone()).collect());
    }
    // Whatever deletes it, its dependents are looked at when it is gone.
    if object.is_deleting() {
        return Decision::Nothing;
    }

    let owners = owners(object);
    let states: Vec<_> = owners.iter().map(owner).collect();
    if states.is_empty() || states.contains(&Owner::Unknown) {
        return Decision::Nothing;
    }
    if states.contains(&Owner::Solid) {
        let others = owners.iter().zip(&states);
        let others = others.filter(|(_, state)| **state != Owner::Solid);
        let others: Vec<_> = others.map(|(owner, _)| owner.uid.clone()).collect();
        return match others.as_slice() {
            [] => Decision::Nothing,
            _ => Decision::Disown(others),
        };
    }
    if states.contains(&Owner::Waiting) && !dependents.is_empty() {
        if dependents.iter().any(|it| it.is_waiting) {
            return Decision::Unblock;
        }
        return Decision::Delete(Propagation::Foreground);
    }
    let finalizers = object.finalizers();
    Decision::Delete(if finalizers.contains(&ORPHAN) {
        Propagation::Orphan
    } else if finalizers.contains(&FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::background::testing::object;

    /// An object with these owners (a uid says what there is of it), deleted or not, with finalizers.
    fn item(owners: &[&str], deleting: bool, finalizers: &[&str]) -> Object {
        let owners: Vec<_> = owners
            .iter()
            .map(|uid| json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid }))
            .collect();
        let mut it =
            object(json!({ "metadata": { "ownerReferences": owners, "finalizers": finalizers } }));
        if deleting {
            it.set(&["metadata", "deletionTimestamp"], "2026-01-01T00:00:00Z");
        }
        it
    }

    fn state(owner: &OwnerReference) -> Owner {
        match owner.uid.split('-').next() {
            Some("solid") => Owner::Solid,
            Some("waiting") => Owner::Waiting,
            Some("gone") => Owner::Gone,
            _ => Owner::Unknown,
        }
    }

    fn dependent(uid: &str, blocks: bool, is_waiting: bool) -> Dependent {
        Dependent {
            uid: uid.to_owned(),
            blocks,
            is_waiting,
        }
    }

    #[test]
    fn an_object_goes_when_all_its_owners_have_gone() {
        use Decision as D;
        let uids = |uids: &[&str]| uids.iter().map(|&uid| uid.to_owned()).collect();
        let rows = [
            (item(&[], false, &[]), D::Nothing),
            (item(&["solid"], false, &[]), D::Nothing),
            (
                item(&["gone"], false, &[]),
                D::Delete(Propagation::Background),
            ),
            (
                item(&["gone-1", "gone-2"], false, &["a/b"]),
                D::Delete(Propagation::Background),
            ),
            (
                item(&["gone", "solid"], false, &[]),
                D::Disown(uids(&["gone"])),
            ),
            (
                item(&["gone", "waiting", "solid"], false, &[]),
                D::Disown(uids(&["gone", "waiting"])),
            ),
            (item(&["gone", "unknown"], false, &[]), D::Nothing),
            (
                item(&["waiting"], false, &[]),
                D::Delete(Propagation::Background),
            ),
            (
                item(&["gone"], false, &[ORPHAN]),
                D::Delete(Propagation::Orphan),
            ),
            (
                item(&["gone"], false, &[FOREGROUND]),
                D::Delete(Propagation::Foreground),
            ),
            (item(&["gone"], true, &["a/b"]), D::Nothing),
        ];
        for (item, expected) in rows {
            assert_eq!(decide(&item, &[], &state), expected, "{item:?}");
        }
    }

    #[test]
    fn a_deletion_in_the_foreground_waits_for_dependents_that_block() {
        let deleted = item(&[], true, &[FOREGROUND]);
        let ask = |dependents: &[Dependent]| decide(&deleted, dependents, &state);
        assert_eq!(ask(&[]), Decision::LetGo(FOREGROUND));
        assert_eq!(
            ask(&[dependent("a", false, false)]),
            Decision::LetGo(FOREGROUND)
        );
        let some = [
            dependent("a", true, false),
            dependent("b", true, true),
            dependent("c", false, false),
        ];
        assert_eq!(ask(&some), Decision::Await(vec!["a".to_owned()]));
    }

    #[test]
    fn dependents_with_dependents_go_in_the_foreground_as_well() {
        let item = item(&["waiting"], false, &[]);
        let ask = |dependents: &[Dependent]| decide(&item, dependents, &state);
        assert_eq!(
            ask(&[dependent("a", true, false)]),
            Decision::Delete(Propagation::Foreground)
        );
        assert_eq!(ask(&[dependent("a", true, true)]), Decision::Unblock);
    }

    #[test]
    fn orphans_are_let_go_before_their_owner() {
        let deleted = item(&[], true, &[ORPHAN]);
        let some = [dependent("a", true, false), dependent("b", false, false)];
        let expected = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(decide(&deleted, &some, &state), Decision::Orphan(expected));
        assert_eq!(decide(&deleted, &[], &state), Decision::LetGo(ORPHAN));
    }
}
