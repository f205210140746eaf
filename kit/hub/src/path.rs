//! The paths of an API server: the only place that writes them.

use crate::segment;

/// Returns the path of a version of a group, such as `/api/v1` and `/apis/apps/v1`. The core group is empty.
pub fn version_path(group: &str, version: &str) -> String {
    let version = segment(version);
    match group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{}/{version}", segment(group)),
    }
}

/// Returns the path of an object by group, version and resource, or of the collection if the name is empty. The namespace of a
/// cluster-scoped object is empty.
pub fn object_path(
    (group, version, resource): (&str, &str, &str),
    namespace: &str,
    name: &str,
) -> String {
    let mut path = version_path(group, version);
    if !namespace.is_empty() {
        path.push_str("/namespaces/");
        path.push_str(&segment(namespace));
    }
    for part in [resource, name] {
        if !part.is_empty() {
            path.push('/');
            path.push_str(&segment(part));
        }
    }
    path
}

/// Encodes a value of a query, such as a selector. It ends no value, and begins no other parameter.
pub fn query_value(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_one_segment() {
        for (version, namespace, name, expected) in [
            ("v1", "", "", "/apis/g.io/v1/ks"),
            ("v1", "", "a", "/apis/g.io/v1/ks/a"),
            ("v1", "n", "", "/apis/g.io/v1/namespaces/n/ks"),
            ("v1", "n", "a:b", "/apis/g.io/v1/namespaces/n/ks/a:b"),
            ("v1?x=", "n", "a", "/apis/g.io/v1%3Fx%3D/namespaces/n/ks/a"),
            ("v1", "n#", "a/b", "/apis/g.io/v1/namespaces/n%23/ks/a%2Fb"),
        ] {
            let path = object_path(("g.io", version, "ks"), namespace, name);
            assert_eq!(path, expected);
        }
        assert_eq!(
            object_path(("", "v1", "pods"), "n", "a"),
            "/api/v1/namespaces/n/pods/a"
        );
        assert_eq!(version_path("g.io/x", "v1"), "/apis/g.io%2Fx/v1");
    }

    #[test]
    fn a_value_begins_no_other_parameter() {
        assert_eq!(query_value("a/b,!c"), "a/b%2C%21c");
        assert_eq!(query_value("a&limit=1"), "a%26limit%3D1");
    }
}
