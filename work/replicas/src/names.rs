//! Names of ManifestWorks, and the label that marks them.

use berth_api::names::label_value;
use md5::{Digest as _, Md5};

use crate::set::ReplicaSet;

/// Bytes of the hash in a name, as twice as many hexadecimal digits.
const HASH: usize = 5;

/// Characters that the API server adds to `generateName`, which OCM's controller uses, and how many it keeps of it.
/// <https://kubernetes.io/docs/reference/using-api/api-concepts/#generated-values>
const GENERATED: usize = 5;
const GENERATED_BASE: usize = 63 - GENERATED;

/// The value of the label that marks the ManifestWorks of a replica set: namespace, dot and name.
///
/// # Errors
/// It cannot be the value of a label. The text says why, and what to do.
pub fn label(namespace: &str, name: &str) -> Result<String, String> {
    let label = format!("{namespace}.{name}");
    let mistakes = label_value(&label);
    if mistakes.is_empty() {
        return Ok(label);
    }
    Err(format!(
        "no ManifestWork is written: the label {} cannot have the value {label:?} ({} characters), which is the namespace, a dot and \
         the name of the ManifestWorkReplicaSet: {}; create it again with a shorter name",
        berth_api::labels::REPLICA_SET,
        label.len(),
        mistakes.join("; ")
    ))
}

/// The namespace and the name of the replica set that a label names. The name may contain dots.
pub(super) fn set_of_label(label: &str) -> Option<(&str, &str)> {
    let (namespace, name) = label.split_once('.')?;
    (!namespace.is_empty() && !name.is_empty()).then_some((namespace, name))
}

/// Returns whether the controller of replica sets, or OCM's, names a ManifestWork of a replica set so. A label proves less: an agent may
/// write it on any ManifestWork of its cluster, and cannot create one.
pub(super) fn is_given(set: &str, work: &str) -> bool {
    let Some(rest) = work.strip_prefix(set) else {
        let base = set.get(..GENERATED_BASE);
        return base
            .and_then(|it| work.strip_prefix(it))
            .is_some_and(is_generated);
    };
    let hash = rest.strip_prefix('-');
    let is_hash = |it: &str| it.len() == 2 * HASH && it.bytes().all(|it| it.is_ascii_hexdigit());
    rest.is_empty() || hash.is_some_and(is_hash) || is_generated(rest)
}

/// Returns whether the API server ends a generated name so.
fn is_generated(end: &str) -> bool {
    end.len() == GENERATED && end.bytes().all(|it| it.is_ascii_alphanumeric())
}

/// The name of a ManifestWork where the name of the replica set is taken.
pub(super) fn hashed(set: &ReplicaSet, placement: &str) -> String {
    let ReplicaSet {
        namespace,
        name,
        uid,
        ..
    } = set;
    let hash = Md5::digest(format!("{namespace}/{name}/{uid}/{placement}"));
    let digits: String = hash
        .iter()
        .take(HASH)
        .map(|it| format!("{it:02x}"))
        .collect();
    format!("{name}-{digits}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_names_its_replica_set() {
        for (label, expected) in [
            ("ns.a", Some(("ns", "a"))),
            ("ns.a.b", Some(("ns", "a.b"))),
            ("ns", None),
            ("ns.", None),
            (".a", None),
            ("", None),
        ] {
            assert_eq!(set_of_label(label), expected, "{label}");
        }
    }

    #[test]
    fn a_name_is_one_that_a_controller_gives() {
        let long = "a".repeat(60);
        let (cut, short) = (
            format!("{}x4k2z", &long[..58]),
            format!("{}x4k2z", &long[..57]),
        );
        for (set, work, expected) in [
            ("web", "web", true),
            ("web", "web-0123456789", true),
            ("web", "webx4k2z", true),
            (&*long, &*cut, true),
            (&*long, &*short, false),
            ("web", "web-012345678", false),
            ("web", "web-012345678x", false),
            ("web", "web-x4k2", false),
            ("web", "webx4k2", false),
            ("web", "other", false),
            ("web", "we", false),
        ] {
            assert_eq!(is_given(set, work), expected, "{set} {work}");
        }
    }

    #[test]
    fn a_label_that_does_not_fit_is_explained() {
        let name = "a".repeat(60);
        assert_eq!(label("ns", &name), Ok(format!("ns.{name}")));
        let why = label("ns1", &name).unwrap_err();
        assert!(
            why.contains("(64 characters)") && why.ends_with("create it again with a shorter name"),
            "{why}"
        );
    }
}
