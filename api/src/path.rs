//! The paths of an API server: the only place that makes them of parts.

use std::borrow::Cow;

use serde_json::Value;

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

/// Splits an apiVersion into group and version. The core group is empty.
#[must_use]
pub fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
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

/// Returns the path of an object of this resource, by its apiVersion, name and namespace. Without a namespace the object is
/// cluster-scoped. `None`: the object has no apiVersion or no name.
#[must_use]
pub fn path_of(object: &Value, resource: &str) -> Option<String> {
    let metadata = &object["metadata"];
    let (group, version) = group_version(object["apiVersion"].as_str()?);
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    let name = metadata["name"].as_str().filter(|it| !it.is_empty())?;
    Some(object_path((group, version, resource), namespace, name))
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
    use serde_json::json;

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
    fn an_object_has_a_path_if_it_has_an_api_version_and_a_name() {
        let object = |api_version: Value, namespace: Value, name: Value| {
            let metadata = json!({"name": name, "namespace": namespace});
            json!({"apiVersion": api_version, "metadata": metadata})
        };
        for (object, expected) in [
            (
                object("v1".into(), "n".into(), "a".into()),
                Some("/api/v1/namespaces/n/ks/a"),
            ),
            (
                object("g.io/v1".into(), Value::Null, "a:b".into()),
                Some("/apis/g.io/v1/ks/a:b"),
            ),
            (
                object("g.io/v1".into(), "n".into(), "a/b".into()),
                Some("/apis/g.io/v1/namespaces/n/ks/a%2Fb"),
            ),
            (object("v1".into(), "n".into(), Value::Null), None),
            (object("v1".into(), "n".into(), "".into()), None),
            (object(Value::Null, "n".into(), "a".into()), None),
            (Value::Null, None),
        ] {
            assert_eq!(path_of(&object, "ks").as_deref(), expected, "{object}");
        }
    }

    #[test]
    fn a_value_begins_no_other_parameter() {
        assert_eq!(query_value("a/b,!c"), "a/b%2C%21c");
        assert_eq!(query_value("a&limit=1"), "a%26limit%3D1");
    }
}
