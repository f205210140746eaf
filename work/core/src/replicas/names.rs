//! Names of ManifestWorks, and the label that marks them.

use berth_api::names::label_value;
use md5::{Digest as _, Md5};

use super::set::ReplicaSet;

/// Bytes of the hash in a name, as twice as many hexadecimal digits.
const HASH: usize = 5;

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
