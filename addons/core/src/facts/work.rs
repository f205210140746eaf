//! A ManifestWork of an add-on.

use std::collections::BTreeMap;

use berth_api::conditions::{FALSE, TRUE, manifest_work};
use berth_api::{ManifestWork, labels, lenient, text};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::de::Error;

use crate::works::Digest;

/// Upper bound on the bytes of a message that is kept.
const LONGEST_MESSAGE: usize = 256;

/// A ManifestWork of an add-on, without its manifests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// The name of the add-on.
    pub add_on: String,
    /// The namespace of its ManagedClusterAddOn.
    pub cluster: String,
    /// It runs before the add-on is deleted, and says nothing about its progress.
    pub is_pre_delete: bool,
    /// The hash of each config that it was made from; `None` without the annotation, or if that cannot be read.
    pub hashes: Option<BTreeMap<String, String>>,
    /// The conditions Applied and Available are true for the current generation.
    pub is_ready: bool,
    /// Why its current generation is not applied, shortened.
    pub failed: Option<String>,
    /// The digest of what the hub writes of it; `None` if a manifest cannot be read.
    pub digest: Option<Digest>,
    /// Its identity, its generation, and what its agent reports: the conditions, and fields of its objects.
    pub reported: Box<ManifestWork>,
}

// === impl Work ===

impl Work {
    /// Reads a ManifestWork; `None` without the label of an add-on.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(json: &str) -> Result<Option<Self>, serde_json::Error> {
        let stored = lenient::manifest_work(json)?.object;
        let metadata = &stored.metadata;
        let mut of = metadata.labels.clone().unwrap_or_default();
        let Some(add_on) = of.remove(labels::ADDON_NAME) else {
            return Ok(None);
        };
        let name = metadata
            .name
            .as_ref()
            .ok_or_else(|| Error::custom("without a name"))?;
        let annotations = metadata.annotations.as_ref();
        let hashes = annotations.and_then(|it| it.get(labels::CONFIG_SPEC_HASH));
        let conditions = stored.status.as_ref().map_or(&[][..], |it| &it.conditions);
        let current = |type_: &str| {
            let condition = conditions.iter().find(|it| it.type_ == type_)?;
            let is_current = condition.observed_generation == metadata.generation;
            is_current.then_some(condition)
        };
        let applied = current(manifest_work::APPLIED);
        let is_true = |it: Option<&Condition>| it.is_some_and(|it| it.status == TRUE);
        let failed = applied.filter(|it| it.status == FALSE);
        Ok(Some(Self {
            is_pre_delete: name.starts_with(&format!("addon-{add_on}-pre-delete")),
            add_on,
            cluster: of
                .remove(labels::ADDON_NAMESPACE)
                .or_else(|| metadata.namespace.clone())
                .unwrap_or_default(),
            hashes: hashes.and_then(|it| serde_json::from_str(it).ok()),
            is_ready: is_true(applied) && is_true(current(manifest_work::AVAILABLE)),
            failed: failed.map(|it| text::shorten(&it.message, LONGEST_MESSAGE).into_owned()),
            digest: Digest::of_stored(&stored).ok(),
            reported: Box::new(reported(stored)),
        }))
    }
}

/// The part of a work that is kept. Its manifests would be most of the memory of a large hub.
fn reported(stored: ManifestWork) -> ManifestWork {
    let metadata = stored.metadata;
    let status = stored.status.map(|mut status| {
        for condition in &mut status.conditions {
            condition.message = text::shorten(&condition.message, LONGEST_MESSAGE).into_owned();
        }
        let manifests = &mut status.resource_status.manifests;
        manifests.retain(|it| !it.status_feedback.values.is_empty());
        for manifest in manifests {
            manifest.conditions.clear();
        }
        status
    });
    ManifestWork {
        metadata: ObjectMeta {
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            generation: metadata.generation,
            creation_timestamp: metadata.creation_timestamp,
            deletion_timestamp: metadata.deletion_timestamp,
            ..ObjectMeta::default()
        },
        status,
        ..ManifestWork::default()
    }
}

#[cfg(test)]
mod tests {
    use berth_api::addon::ConfigReference;
    use serde_json::{Value, json};

    use super::*;
    use crate::works::config_hashes;

    fn work(name: &str, labels: Value, annotations: Value, conditions: Value) -> Option<Work> {
        let object = json!({
            "metadata": {
                "name": name, "namespace": "c1", "generation": 2, "labels": labels, "annotations": annotations,
            },
            "status": {"conditions": conditions},
        });
        Work::read(&object.to_string()).unwrap()
    }

    fn condition(type_: &str, status: &str, generation: i64) -> Value {
        json!({
            "type": type_, "status": status, "reason": "R", "message": "why",
            "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    }

    #[test]
    fn a_work_belongs_to_the_add_on_of_its_labels() {
        assert_eq!(work("w", json!({}), json!({}), json!([])), None);
        let of = json!({"open-cluster-management.io/addon-name": "a"});
        let own = work("addon-a-deploy-0", of, json!({}), json!([])).unwrap();
        assert_eq!((&*own.add_on, &*own.cluster), ("a", "c1"));
        assert!(!own.is_pre_delete && own.hashes.is_none());
        let of = json!({
            "open-cluster-management.io/addon-name": "a", "open-cluster-management.io/addon-namespace": "c2",
        });
        let hosted = work("addon-a-pre-delete-hosting-c2", of, json!({}), json!([]));
        let hosted = hosted.unwrap();
        assert_eq!((&*hosted.cluster, hosted.is_pre_delete), ("c2", true));
    }

    #[test]
    fn a_work_is_ready_when_its_current_generation_is() {
        for (applied, available, is_ready, failed) in [
            (Some(("True", 2)), Some(("True", 2)), true, None),
            (Some(("True", 1)), Some(("True", 2)), false, None),
            (Some(("True", 2)), Some(("True", 1)), false, None),
            (Some(("True", 2)), Some(("False", 2)), false, None),
            (Some(("True", 2)), None, false, None),
            (None, None, false, None),
            (Some(("False", 2)), None, false, Some("why")),
            (Some(("False", 1)), None, false, None),
            (Some(("Unknown", 2)), None, false, None),
        ] {
            let of = |type_, it: Option<(&str, i64)>| {
                it.map(|(status, generation)| condition(type_, status, generation))
            };
            let conditions: Vec<_> = [of("Applied", applied), of("Available", available)]
                .into_iter()
                .flatten()
                .collect();
            let labels = json!({"open-cluster-management.io/addon-name": "a"});
            let work = work("w", labels, json!({}), json!(conditions)).unwrap();
            let found = (work.is_ready, work.failed.as_deref());
            assert_eq!(found, (is_ready, failed), "{applied:?} {available:?}");
        }
    }

    #[test]
    fn the_annotation_names_configs_by_resource_namespace_and_name() {
        let of = json!({"open-cluster-management.io/addon-name": "a"});
        let hashes = json!({"b.g/n/x": "h1", "configmaps//y": ""}).to_string();
        let annotations = json!({"open-cluster-management.io/config-spec-hash": hashes});
        let stored = work("w", of.clone(), annotations, json!([])).unwrap();
        let reference = |group: &str, resource: &str, namespace: &str, name: &str, hash: &str| {
            serde_json::from_value(json!({
                "group": group, "resource": resource,
                "desiredConfig": {"namespace": namespace, "name": name, "specHash": hash},
            }))
            .unwrap()
        };
        let references: [ConfigReference; 2] = [
            reference("", "configmaps", "", "y", ""),
            reference("g", "b", "n", "x", "h1"),
        ];
        assert_eq!(stored.hashes, Some(config_hashes(&references)));
        let annotations = json!({"open-cluster-management.io/config-spec-hash": "not JSON"});
        assert_eq!(work("w", of, annotations, json!([])).unwrap().hashes, None);
    }
}
