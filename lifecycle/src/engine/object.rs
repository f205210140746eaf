//! An object as it comes over the wire, from a watch or in answer to a write.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope};
use serde::de::{self, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Any object. What it holds is read later: one that cannot be read must not stop a watch.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Object<V = Value> {
    /// name, namespace, uid and resourceVersion; nothing else.
    #[serde(skip)]
    pub(crate) metadata: ObjectMeta,
    /// The whole object, without managed fields; or what is kept of it.
    pub(crate) value: V,
}

/// All that is kept of a Lease by its watch. Thousands are renewed each minute, so that nothing is made of the rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Renewal {
    /// spec.renewTime, if it can be told.
    pub(crate) time: Option<Timestamp>,
}

// === impl Object ===

impl<V> Object<V> {
    pub(crate) fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// As a number, to compare by. Kubernetes' resource versions of one kind are numbers that grow.
    pub(crate) fn version(&self) -> Option<u64> {
        self.metadata.resource_version.as_deref()?.parse().ok()
    }
}

impl Object {
    /// The value of a label; empty, if it has none.
    pub(crate) fn label(&self, key: &str) -> &str {
        self.value["metadata"]["labels"][key]
            .as_str()
            .unwrap_or_default()
    }

    /// spec.renewTime of a Lease, if it can be told.
    pub(crate) fn renew_time(&self) -> Option<Timestamp> {
        self.value["spec"]["renewTime"].as_str()?.parse().ok()
    }

    /// Reads it as a `T`.
    ///
    /// # Errors
    /// What in it is no `T`, for a person.
    pub(crate) fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, String> {
        T::deserialize(&self.value).map_err(|error| error.to_string())
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Whole(fields) = Whole::deserialize(deserializer)?;
        let metadata = fields
            .get("metadata")
            .and_then(Value::as_object)
            .ok_or_else(|| de::Error::missing_field("metadata"))?;
        let text = |key| metadata.get(key).and_then(Value::as_str).map(str::to_owned);
        let metadata = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Self {
            metadata,
            value: Value::Object(fields),
        })
    }
}

/// A Lease is of a type that the hub knows, so that its fields are what they ought to be.
impl<'de> Deserialize<'de> for Object<Renewal> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata {
            name: Option<String>,
            namespace: Option<String>,
            resource_version: Option<String>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Spec {
            renew_time: Option<String>,
        }
        #[derive(Deserialize)]
        struct Lease {
            metadata: Metadata,
            spec: Option<Spec>,
        }
        let Lease { metadata, spec } = Lease::deserialize(deserializer)?;
        let time = spec.and_then(|spec| spec.renew_time);
        Ok(Self {
            metadata: ObjectMeta {
                name: metadata.name,
                namespace: metadata.namespace,
                resource_version: metadata.resource_version,
                ..ObjectMeta::default()
            },
            value: Renewal {
                time: time.and_then(|time| time.parse().ok()),
            },
        })
    }
}

/// The fields of an object. Managed fields are skipped as they are read: they can be most of it.
struct Whole(Map<String, Value>);

/// The fields of an object's metadata.
struct Metadata(Map<String, Value>);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(true)).map(Self)
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(false)).map(Self)
    }
}

/// Collects fields, of a whole object or of its metadata.
struct Fields(bool);

impl<'de> Visitor<'de> for Fields {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let value = match (&*key, self.0) {
                ("metadata", true) => Value::Object(access.next_value::<Metadata>()?.0),
                ("managedFields", false) => {
                    access.next_value::<IgnoredAny>()?;
                    continue;
                }
                _ => access.next_value()?,
            };
            fields.insert(key, value);
        }
        Ok(fields)
    }
}

impl<V> Resource for Object<V> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    #[test]
    fn everything_is_kept_but_managed_fields() {
        let text = json!({
            "kind": "Lease",
            "metadata": {
                "name": "a", "namespace": "b", "uid": "c", "resourceVersion": "7",
                "labels": {"managedFields": "x"},
                "managedFields": [{"manager": "m"}],
            },
            "spec": {"metadata": {"managedFields": [1]}, "renewTime": null},
        });
        let object: Object = serde_json::from_value(text.clone()).unwrap();
        assert_eq!((object.name(), object.namespace()), ("a", "b"));
        assert_eq!(object.version(), Some(7));
        let mut expected = text;
        expected["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("managedFields");
        assert_eq!(object.value, expected);
    }

    #[test]
    fn of_a_lease_that_is_watched_its_renewal_is_kept() {
        let time = "2026-08-11T12:00:00.000001Z";
        for (sentence, spec, expected) in [
            (
                "renewed",
                json!({"holderIdentity": "a", "leaseDurationSeconds": 60, "renewTime": time}),
                Some(time),
            ),
            ("never renewed", json!({"holderIdentity": "a"}), None),
            ("no time", json!({"renewTime": null}), None),
            ("an absurd time", json!({"renewTime": "yesterday"}), None),
            ("nothing", Value::Null, None),
        ] {
            let text = json!({
                "kind": "Lease",
                "apiVersion": "coordination.k8s.io/v1",
                "metadata": {
                    "name": "a", "namespace": "b", "uid": "c", "resourceVersion": "7",
                    "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}],
                },
                "spec": spec,
            });
            let lease: Object<Renewal> = serde_json::from_value(text.clone()).unwrap();
            assert_eq!((lease.name(), lease.namespace()), ("a", "b"), "{sentence}");
            assert_eq!(lease.version(), Some(7), "{sentence}");
            let expected = expected.map(|time| time.parse().unwrap());
            assert_eq!(lease.value.time, expected, "{sentence}");
            let whole: Object = serde_json::from_value(text).unwrap();
            assert_eq!(lease.value.time, whole.renew_time(), "{sentence}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for (text, why) in [
            ("[]", "an object"),
            ("{}", "missing field `metadata`"),
            (r#"{"metadata": 7}"#, "an object"),
        ] {
            let error = serde_json::from_str::<Object>(text)
                .unwrap_err()
                .to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
