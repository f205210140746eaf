//! A ManifestWorkReplicaSet, as far as it decides.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use berth_api::work::{
    CascadeDeletionPolicy, ManifestWorkReplicaSet, ManifestWorkReplicaSetStatus,
};
use berth_api::{labels, lenient};
use berth_rollout::{RolloutError, RolloutRules};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::approval::Approval;
use crate::pause::pause_reason;
use crate::template::Template;

/// A ManifestWorkReplicaSet.
#[derive(Clone, Debug)]
pub struct ReplicaSet {
    /// metadata.namespace
    pub namespace: String,
    /// metadata.name
    pub name: String,
    /// metadata.uid
    pub uid: String,
    /// metadata.resourceVersion
    pub resource_version: String,
    /// metadata.generation
    pub generation: Option<i64>,
    /// metadata.labels: its ManifestWorks have them, too.
    pub labels: BTreeMap<String, String>,
    /// metadata.finalizers
    pub finalizers: Vec<String>,
    /// It is being deleted.
    pub is_deleting: bool,
    /// It stays until its ManifestWorks are gone.
    pub is_foreground: bool,
    /// Its placements, each once.
    pub placements: Vec<PlacementRef>,
    /// Why its rollouts are paused, shortened; empty without a reason. `None` if they are not.
    pub paused: Option<String>,
    /// Whether the steps of its rollouts need an approval, and which have one.
    pub approval: Approval,
    /// The spec of its ManifestWorks.
    pub template: Template,
    /// The stored status.
    pub status: ManifestWorkReplicaSetStatus,
}

/// A placement of a replica set.
#[derive(Clone, Debug)]
pub struct PlacementRef {
    /// The name of the Placement, in the namespace of the replica set.
    pub name: String,
    /// The rollout strategy, or the mistake in it.
    pub rules: Result<RolloutRules, RolloutError>,
}

/// The parts of the object. The template stays text.
#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(default)]
    metadata: Map<String, Value>,
    #[serde(default, borrow)]
    spec: Option<Spec<'a>>,
    #[serde(default)]
    status: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(default)]
    cascade_deletion_policy: Value,
    #[serde(default, borrow)]
    manifest_work_template: Option<&'a RawValue>,
    #[serde(default)]
    placement_refs: Value,
}

// === impl ReplicaSet ===

impl ReplicaSet {
    /// Reads it from its JSON text.
    ///
    /// # Errors
    /// The text is not a ManifestWorkReplicaSet. Invalid fields of its status are ignored.
    pub fn read(json: &str) -> Result<Self, serde_json::Error> {
        let mut parts: Parts<'_> = serde_json::from_str(json)?;
        parts.metadata.remove("managedFields");
        let (spec, template) = match parts.spec {
            Some(spec) => {
                let rest = json!({
                    "cascadeDeletionPolicy": spec.cascade_deletion_policy,
                    "placementRefs": spec.placement_refs,
                });
                (rest, spec.manifest_work_template)
            }
            None => (Value::Null, None),
        };
        let template = Template::read(template)?;
        let object = json!({"metadata": parts.metadata, "spec": spec, "status": parts.status});
        let object = match lenient::with_conditions::<ManifestWorkReplicaSet>(&object) {
            Ok(read) => read.object,
            Err(_) => {
                let object = json!({"metadata": parts.metadata, "spec": spec});
                lenient::with_conditions::<ManifestWorkReplicaSet>(&object)?.object
            }
        };
        let metadata = object.metadata;
        let mut named = BTreeSet::new();
        let mut refs = object.spec.placement_refs;
        refs.retain(|it| named.insert(it.name.clone()));
        let approval = Approval::read(
            metadata.annotations.as_ref(),
            template.digest(),
            refs.iter().map(|it| &*it.name),
        );
        let placements = refs.into_iter().map(|it| PlacementRef {
            rules: RolloutRules::new(&it.rollout_strategy),
            name: it.name,
        });
        Ok(Self {
            namespace: metadata.namespace.unwrap_or_default(),
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            generation: metadata.generation,
            labels: metadata.labels.unwrap_or_default(),
            finalizers: metadata.finalizers.unwrap_or_default(),
            is_deleting: metadata.deletion_timestamp.is_some(),
            is_foreground: object.spec.cascade_deletion_policy == CascadeDeletionPolicy::Foreground,
            placements: placements.collect(),
            paused: pause_reason(metadata.annotations.as_ref()).map(Cow::into_owned),
            approval,
            template,
            status: object.status.unwrap_or_default(),
        })
    }

    /// Returns whether it has the finalizer of its ManifestWorks.
    pub(super) fn is_finalized(&self) -> bool {
        self.finalizers
            .iter()
            .any(|it| it == labels::REPLICA_SET_CLEANUP)
    }

    /// The labels of its ManifestWorks for a placement. `label`: the value of the label that marks them.
    pub(super) fn labels_of_works(&self, label: &str, placement: &str) -> BTreeMap<String, String> {
        let mut wanted = self.labels.clone();
        wanted.insert(labels::REPLICA_SET.to_owned(), label.to_owned());
        wanted.insert(
            labels::REPLICA_SET_PLACEMENT.to_owned(),
            placement.to_owned(),
        );
        wanted
    }
}
