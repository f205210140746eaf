//! A stored object with which agents of an add-on ask for tokens.

use berth_api::labels;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;

use super::Kind;

/// A stored object with the labels and the name of an add-on's.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// metadata.uid
    pub uid: String,
    /// metadata.resourceVersion
    pub resource_version: String,
    /// It is being deleted, and waits for finalizers of others.
    pub is_deleting: bool,
    /// The object without its managed fields, if it does not say what it should.
    pub wrong: Option<Box<Value>>,
}

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    metadata: ObjectMeta,
}

// === impl Stored ===

impl Stored {
    /// Reads an object. `None` if its labels and its name are not those of an add-on's object.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(kind: Kind, json: &str) -> Result<Option<Self>, serde_json::Error> {
        let metadata = serde_json::from_str::<Object>(json)?.metadata;
        let labels = metadata.labels.unwrap_or_default();
        let label = |key: &str| labels.get(key).map(String::as_str);
        let name = metadata.name.unwrap_or_default();
        let addon = label(labels::TOKEN_ADDON).filter(|it| kind.of(it) == name);
        let Some(addon) = addon.filter(|_| label(labels::TOKEN_INFRASTRUCTURE) == Some("true"))
        else {
            return Ok(None);
        };
        let mut stored: Value = serde_json::from_str(json)?;
        if let Some(metadata) = stored["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        let cluster = metadata.namespace.unwrap_or_default();
        let is_right = kind.says(&stored, &kind.object(addon, &cluster));
        Ok(Some(Self {
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            is_deleting: metadata.deletion_timestamp.is_some(),
            wrong: (!is_right).then(|| Box::new(stored)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored(kind: Kind, change: &Value) -> Value {
        let mut object = kind.object("x", "c1");
        let managed = json!([{"manager": "m"}]);
        let stored =
            json!({"metadata": {"uid": "u", "resourceVersion": "7", "managedFields": managed}});
        json_patch::merge(&mut object, &stored);
        json_patch::merge(&mut object, change);
        object
    }

    #[test]
    fn an_object_of_an_add_on_has_its_labels_and_its_name() {
        let label = |key: &str, value: Value| json!({"metadata": {"labels": {key: value}}});
        for (change, expected) in [
            (json!({}), true),
            (label("mine", json!("yes")), true),
            (label(labels::TOKEN_ADDON, json!("y")), false),
            (label(labels::TOKEN_ADDON, Value::Null), false),
            (label(labels::TOKEN_INFRASTRUCTURE, json!("True")), false),
            (label(labels::TOKEN_INFRASTRUCTURE, Value::Null), false),
            (json!({"metadata": {"name": "other"}}), false),
            (json!({"metadata": {"labels": null}}), false),
        ] {
            for kind in Kind::ALL {
                let object = stored(kind, &change).to_string();
                let found = Stored::read(kind, &object).unwrap();
                assert_eq!(found.is_some(), expected, "{kind:?} {change}");
            }
        }
    }

    #[test]
    fn an_object_is_kept_whole_only_if_it_is_wrong() {
        use Kind::{Account, Binding, Role};
        let secrets =
            json!({"rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]});
        for (kind, change, is_right) in [
            (Account, json!({}), true),
            (Account, json!({"secrets": [{"name": "s"}]}), true),
            (Role, json!({}), true),
            (Role, secrets, false),
            (Role, json!({"rules": null}), false),
            (Binding, json!({}), true),
            (Binding, json!({"subjects": []}), false),
            (Binding, json!({"roleRef": {"name": "view"}}), false),
            (Binding, json!({"roleRef": {"kind": "ClusterRole"}}), false),
        ] {
            let mut object = stored(kind, &change);
            let found = Stored::read(kind, &object.to_string()).unwrap().unwrap();
            object["metadata"]
                .as_object_mut()
                .unwrap()
                .remove("managedFields");
            let expected = (!is_right).then(|| Box::new(object));
            assert_eq!(found.wrong, expected, "{kind:?} {change}");
            assert_eq!((&*found.uid, &*found.resource_version), ("u", "7"));
            assert!(!found.is_deleting);
        }
    }

    /// `manifests/cluster-manager/hub/addon-manager/token-*.yaml` of OCM.
    #[test]
    fn the_objects_are_ocms() {
        let role = Kind::Role.object("x", "c1");
        assert_eq!(
            role["rules"],
            json!([
                {"apiGroups": [""], "resources": ["serviceaccounts/token"], "resourceNames": ["x-agent"], "verbs": ["create"]},
                {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["subscribe"]},
            ])
        );
        let binding = Kind::Binding.object("x", "c1");
        let group = |name: &str| json!({"kind": "Group", "name": name, "apiGroup": "rbac.authorization.k8s.io"});
        let [first, second] = [
            group("system:open-cluster-management:c1"),
            group("open-cluster-management:c1"),
        ];
        assert_eq!(binding["subjects"], json!([first, second]));
        let names = Kind::ALL.map(|it| it.object("x", "c1")["metadata"]["name"].clone());
        assert_eq!(names, ["x-agent", "x-token-role", "x-token-role"]);
        let swapped = stored(Kind::Binding, &json!({"subjects": [second, first]}));
        let found = Stored::read(Kind::Binding, &swapped.to_string());
        assert_eq!(found.unwrap().unwrap().wrong, None, "in any order");
    }
}
