//! The paths of an API server: the only place that makes them of parts.

use std::borrow::Cow;

/// The path of SubjectAccessReviews.
pub const SUBJECT_ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Encodes one segment of a path, such as a name or a version: what it holds begins no other segment and no query. Colons stay, which
/// names of RBAC objects have.
pub fn segment(text: &str) -> Cow<'_, str> {
    let stays = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte);
    if text.bytes().all(stays) {
        return text.into();
    }
    let mut encoded = String::with_capacity(text.len() + 8);
    for byte in text.bytes() {
        if stays(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded.into()
}

/// Returns the path of a group, such as `/api` and `/apis/apps`. The core group is empty.
pub fn group_path(group: &str) -> String {
    match group {
        "" => "/api".to_owned(),
        group => format!("/apis/{}", segment(group)),
    }
}

/// Returns the path of a version of a group, such as `/api/v1` and `/apis/apps/v1`.
pub fn version_path(group: &str, version: &str) -> String {
    let mut path = group_path(group);
    path.push('/');
    path.push_str(&segment(version));
    path
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
    fn a_segment_begins_no_other_and_no_query() {
        for (text, encoded) in [
            ("v1", "v1"),
            ("system:node-1_a.b~", "system:node-1_a.b~"),
            ("v1?x=", "v1%3Fx%3D"),
            ("v1#", "v1%23"),
            ("a/b", "a%2Fb"),
            ("a%2Fb", "a%252Fb"),
            ("a b&ü", "a%20b%26%C3%BC"),
        ] {
            assert_eq!(segment(text), encoded);
        }
    }

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
