//! Objects as JSON: their fields, and what identifies them.

use serde_json::{Map, Value};

/// Identifies an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

// === impl Key ===

impl Key {
    pub(crate) fn of(object: &Map<String, Value>) -> Self {
        let text = |path: &[&str]| text(object, path).to_owned();
        Self {
            api_version: text(&["apiVersion"]),
            kind: text(&["kind"]),
            namespace: text(&["metadata", "namespace"]),
            name: text(&["metadata", "name"]),
        }
    }

    /// The API group. Empty for the core group.
    pub(crate) fn group(&self) -> &str {
        berth_api::path::group_version(&self.api_version).0
    }

    /// The resource of the kind, as Kubernetes guesses it: `Deployment` gives `deployments`, `NetworkPolicy` gives `networkpolicies`.
    pub(crate) fn resource(&self) -> String {
        let kind = self.kind.to_lowercase();
        match kind.strip_suffix('y') {
            _ if kind.is_empty() || kind == "endpoints" => kind,
            Some(stem) => format!("{stem}ies"),
            None if kind.ends_with('s') => format!("{kind}es"),
            None => format!("{kind}s"),
        }
    }
}

/// A string field of an object; empty if it is absent.
pub(crate) fn text<'a>(object: &'a Map<String, Value>, path: &[&str]) -> &'a str {
    let Some((last, path)) = path.split_last() else {
        return "";
    };
    let mut object = object;
    for field in path {
        match object.get(*field) {
            Some(Value::Object(inner)) => object = inner,
            _ => return "",
        }
    }
    object.get(*last).and_then(Value::as_str).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resource_of_a_kind_is_guessed_as_kubernetes_does() {
        for (kind, resource) in [
            ("Deployment", "deployments"),
            ("NetworkPolicy", "networkpolicies"),
            ("Ingress", "ingresses"),
            ("Endpoints", "endpoints"),
            ("ClusterRoleBinding", "clusterrolebindings"),
            ("", ""),
        ] {
            let key = Key {
                api_version: "v1".to_owned(),
                kind: kind.to_owned(),
                namespace: String::new(),
                name: String::new(),
            };
            assert_eq!(key.resource(), resource);
        }
    }
}
