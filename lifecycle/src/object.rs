//! An object from a watch or from a response, before the view reads its facts.

use berth_reconcile::Meta;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use berth_lifecycle_core::facts::LeftOut;

/// The parts of an object that the view reads.
#[derive(Clone, Debug)]
pub(crate) struct PartialObject<V = Value> {
    /// The metadata that the kit needs.
    pub(crate) metadata: Meta,
    /// The kept fields.
    pub(crate) value: V,
    /// Of a ManagedCluster: the lists of which a part is kept.
    pub(crate) left_out: LeftOut,
    /// Of a ManagedCluster: see [`berth_lifecycle_core::facts::Cluster::is_large`].
    pub(crate) is_large: bool,
}

/// The only field that the watch keeps of a Lease: thousands of Leases are renewed each minute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Renewal {
    /// spec.renewTime. None if it is missing or invalid.
    pub(crate) time: Option<Timestamp>,
}

// === impl PartialObject ===

impl<V> PartialObject<V> {
    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.metadata.namespace
    }
}

impl PartialObject {
    pub(crate) fn new(metadata: &Meta, value: Value) -> Self {
        Self {
            metadata: metadata.clone(),
            value,
            left_out: LeftOut::default(),
            is_large: false,
        }
    }

    /// The value of a label. Empty if the object has no such label.
    pub(crate) fn label(&self, key: &str) -> &str {
        self.value["metadata"]["labels"][key]
            .as_str()
            .unwrap_or_default()
    }

    /// spec.renewTime of a Lease. None if it is missing or invalid.
    pub(crate) fn renew_time(&self) -> Option<Timestamp> {
        self.value["spec"]["renewTime"].as_str()?.parse().ok()
    }

    /// Reads it as a `T`.
    ///
    /// # Errors
    /// The object is not a `T`; the text is for users.
    pub(crate) fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, String> {
        T::deserialize(&self.value).map_err(|error| error.to_string())
    }
}

impl<'de> Deserialize<'de> for PartialObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let metadata = Meta::deserialize(&value["metadata"]).map_err(serde::de::Error::custom)?;
        Ok(Self::new(&metadata, value))
    }
}

/// Lease is a built-in type, so the API server has validated its fields.
impl<'de> Deserialize<'de> for PartialObject<Renewal> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Spec {
            renew_time: Option<String>,
        }
        #[derive(Deserialize)]
        struct Lease {
            metadata: Meta,
            spec: Option<Spec>,
        }
        let Lease { metadata, spec } = Lease::deserialize(deserializer)?;
        let time = spec.and_then(|spec| spec.renew_time);
        Ok(Self {
            metadata,
            value: Renewal {
                time: time.and_then(|time| time.parse().ok()),
            },
            left_out: LeftOut::default(),
            is_large: false,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

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
            let lease: PartialObject<Renewal> = serde_json::from_value(text.clone()).unwrap();
            assert_eq!((lease.name(), lease.namespace()), ("a", "b"), "{sentence}");
            assert_eq!(lease.metadata.version(), Some(7), "{sentence}");
            let expected = expected.map(|time| time.parse().unwrap());
            assert_eq!(lease.value.time, expected, "{sentence}");
            let whole: PartialObject = serde_json::from_value(text).unwrap();
            assert_eq!(lease.value.time, whole.renew_time(), "{sentence}");
        }
    }
}
