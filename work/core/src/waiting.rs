//! What the deletion of a ManifestWork waits for, in words.

use berth_api::text::shorten;
use berth_api::work::AppliedManifestResourceMeta;

use crate::report::LONGEST_ERROR;

/// OCM's message of the condition Deleting. The objects follow it.
pub(crate) const IS_DELETED: &str = "ManifestWork is being deleted";

/// Objects that are named; the others are counted.
const MOST_OBJECTS: usize = 3;

/// Finalizers of an object that are named; the others are counted.
const MOST_FINALIZERS: usize = 3;

/// The message about a deletion that waits for these objects, each with what it waits for.
#[must_use]
pub fn waits_for(objects: &[(AppliedManifestResourceMeta, String)]) -> String {
    if objects.is_empty() {
        return IS_DELETED.to_owned();
    }
    let named = objects.iter().take(MOST_OBJECTS);
    let named = named.map(|(it, why)| format!("{}: {why}", name(it)));
    let more = match objects.len().saturating_sub(MOST_OBJECTS) {
        0 => String::new(),
        more => format!("; and {more} more objects"),
    };
    let named = named.collect::<Vec<_>>().join("; ");
    let message = format!("{IS_DELETED}; it waits for {named}{more}");
    shorten(&message, LONGEST_ERROR).into_owned()
}

/// Why an object with these finalizers, which is being deleted, is still there.
#[must_use]
pub fn kept_by(finalizers: &[String]) -> String {
    let named: Vec<_> = finalizers.iter().take(MOST_FINALIZERS).cloned().collect();
    let more = match finalizers.len().saturating_sub(MOST_FINALIZERS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match finalizers.len() {
        0 => "it is being deleted".to_owned(),
        1 => format!("finalizer {} has not been removed", named[0]),
        _ => format!(
            "finalizers {}{more} have not been removed",
            named.join(", ")
        ),
    }
}

/// As kubectl takes it: `deployments.apps n/web`.
fn name(object: &AppliedManifestResourceMeta) -> String {
    let group = match &*object.group {
        "" => String::new(),
        group => format!(".{group}"),
    };
    let namespace = match &*object.namespace {
        "" => String::new(),
        namespace => format!("{namespace}/"),
    };
    format!("{}{group} {namespace}{}", object.resource, object.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(
        group: &str,
        resource: &str,
        namespace: &str,
        name: &str,
    ) -> AppliedManifestResourceMeta {
        AppliedManifestResourceMeta {
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            ..AppliedManifestResourceMeta::default()
        }
    }

    #[test]
    fn the_message_names_objects_and_finalizers() {
        let finalizers =
            |names: &[&str]| kept_by(&names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        assert_eq!(waits_for(&[]), "ManifestWork is being deleted");
        let one = (
            object("", "configmaps", "n", "held"),
            finalizers(&["example.com/keep"]),
        );
        assert_eq!(
            waits_for(std::slice::from_ref(&one)),
            "ManifestWork is being deleted; it waits for configmaps n/held: finalizer example.com/keep has not been removed"
        );
        let others = [
            (
                object("example.com", "widgets", "", "w"),
                finalizers(&["a", "b", "c", "d"]),
            ),
            (object("", "pods", "n", "p"), finalizers(&[])),
        ];
        let mut all = vec![one.clone()];
        all.extend(others);
        all.extend([one.clone(), one]);
        assert!(waits_for(&all).ends_with(
            "widgets.example.com w: finalizers a, b, c and 1 more have not been removed; pods n/p: it is being deleted; and 2 more objects"
        ));
    }

    #[test]
    fn a_long_message_keeps_both_ends() {
        let object = object("", "configmaps", "n", "held");
        let message = waits_for(&[(object, format!("{} the reason", "x".repeat(5000)))]);
        assert!(message.len() <= LONGEST_ERROR);
        assert!(message.starts_with(IS_DELETED) && message.ends_with("the reason"));
    }
}
