//! What is to be written so that the stored works are as they should be. Nothing, if they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_api::plan::{Action, Target, Write};
use berth_api::work::{DeleteOption, ManifestConfigOption, ManifestWorkSpec};
use berth_api::{GroupVersionResource, ManifestWork, groups, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Layout, Work, is_deleting};

/// Where the works are, and who owns them.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// The namespace of the works: the cluster that they are for.
    pub namespace: &'a str,
    /// Name and uid of the ManagedClusterAddOn, if it is in that namespace. Hosted works have no owner: it is in another namespace.
    pub addon: Option<(&'a str, &'a str)>,
    /// The name of the reconciler, in metrics and logs.
    pub reconciler: &'static str,
}

/// Returns the writes that make the stored works those of the layout. `existing` are the works that the layout was made from.
#[must_use]
pub fn writes(layout: &Layout, owner: &Owner<'_>, existing: &[ManifestWork]) -> Vec<Write> {
    let stored = |name: &str| {
        let mut all = existing.iter();
        all.find(|work| work.metadata.name.as_deref() == Some(name))
    };
    let mut writes = Vec::new();
    for work in &layout.works {
        let action = match stored(&work.name) {
            None => Some(owner.create(work)),
            // Its name is free when it is gone.
            Some(stored) if is_deleting(stored) => None,
            Some(stored) => owner.patch(work, stored),
        };
        writes.extend(action.map(|action| owner.write(&work.name, action)));
    }
    for name in &layout.unneeded {
        let uid = stored(name).and_then(|it| it.metadata.uid.clone());
        writes.extend(uid.map(|uid| owner.delete(name, uid, "no object of the add-on is in it")));
    }
    writes
}

/// Returns the deletion of a work.
#[must_use]
pub fn delete(work: &ManifestWork, owner: &Owner<'_>, why: &'static str) -> Option<Write> {
    let name = work.metadata.name.as_deref()?;
    Some(owner.delete(name, work.metadata.uid.clone()?, why))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Value,
    spec: &'a ManifestWorkSpec,
}

/// The fields of a spec that add-ons set. `deleteOption` and `manifestConfigs` are null to be removed: what is changed is as what is
/// created.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpecPatch<'a> {
    delete_option: &'a Option<DeleteOption>,
    manifest_configs: Option<&'a Vec<ManifestConfigOption>>,
    workload: &'a berth_api::work::ManifestsTemplate,
}

#[derive(Serialize)]
struct Patch<'a> {
    metadata: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<SpecPatch<'a>>,
}

// === impl Owner ===

impl Owner<'_> {
    fn reference(&self) -> Option<OwnerReference> {
        let (name, uid) = self.addon?;
        Some(OwnerReference {
            api_version: format!("{}/v1beta1", groups::ADDON),
            kind: "ManagedClusterAddOn".to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        })
    }

    fn create(&self, work: &Work) -> Action {
        let mut metadata = json!({
            "name": work.name,
            "namespace": self.namespace,
            "labels": work.labels,
        });
        if !work.annotations.is_empty() {
            metadata["annotations"] = json!(work.annotations);
        }
        if let Some(owner) = self.reference() {
            metadata["ownerReferences"] = json!([owner]);
        }
        Action::CreateText {
            body: text(&Body {
                api_version: "work.open-cluster-management.io/v1",
                kind: "ManifestWork",
                metadata,
                spec: &work.spec,
            }),
        }
    }

    /// `None` if the stored work is as it should be. Other labels, annotations, owners, and the executor stay.
    fn patch(&self, work: &Work, stored: &ManifestWork) -> Option<Action> {
        let mut metadata = Map::new();
        let labels = additions(&work.labels, stored.metadata.labels.as_ref());
        if !labels.is_empty() {
            metadata.insert("labels".to_owned(), labels.into());
        }
        let mut annotations = additions(&work.annotations, stored.metadata.annotations.as_ref());
        let has_hash = |all: &BTreeMap<String, String>| all.contains_key(labels::CONFIG_SPEC_HASH);
        if stored.metadata.annotations.as_ref().is_some_and(has_hash)
            && !has_hash(&work.annotations)
        {
            annotations.insert(labels::CONFIG_SPEC_HASH.to_owned(), Value::Null);
        }
        if !annotations.is_empty() {
            metadata.insert("annotations".to_owned(), annotations.into());
        }
        if let Some(owners) = self.owners(stored) {
            metadata.insert("ownerReferences".to_owned(), json!(owners));
        }
        let spec = (!is_same_spec(&work.spec, &stored.spec)).then_some(SpecPatch {
            delete_option: &work.spec.delete_option,
            manifest_configs: Some(&work.spec.manifest_configs).filter(|it| !it.is_empty()),
            workload: &work.spec.workload,
        });
        if metadata.is_empty() && spec.is_none() {
            return None;
        }
        // The patch is refused if the work has changed or is another one by now.
        metadata.insert("uid".to_owned(), json!(stored.metadata.uid));
        let version = &stored.metadata.resource_version;
        metadata.insert("resourceVersion".to_owned(), json!(version));
        Some(Action::PatchText {
            body: text(&Patch {
                metadata: metadata.into(),
                spec,
            }),
        })
    }

    /// The owners of a stored work with ours, if ours is missing. A former ManagedClusterAddOn of the name is not an owner any more.
    fn owners(&self, stored: &ManifestWork) -> Option<Vec<OwnerReference>> {
        let ours = self.reference()?;
        let all = stored.metadata.owner_references.iter().flatten();
        let is_ours = |it: &&OwnerReference| it.uid == ours.uid && it.controller == Some(true);
        if all.clone().any(|it| is_ours(&it)) {
            return None;
        }
        let is_other = |it: &&OwnerReference| it.kind != ours.kind && it.controller != Some(true);
        let mut owners: Vec<_> = all.filter(is_other).cloned().collect();
        owners.push(ours);
        Some(owners)
    }

    fn delete(&self, name: &str, uid: String, why: &'static str) -> Write {
        let action = Action::Delete {
            uid,
            resource_version: None,
            why,
        };
        self.write(name, action)
    }

    fn write(&self, name: &str, action: Action) -> Write {
        Write {
            target: Target {
                resource: GroupVersionResource::new(groups::WORK, "v1", groups::MANIFEST_WORKS),
                namespace: Some(self.namespace.to_owned()),
                name: name.to_owned(),
            },
            action,
            reconciler: self.reconciler,
            events: Vec::new(),
        }
    }
}

/// The entries that are missing or differ.
fn additions(
    wanted: &BTreeMap<String, String>,
    stored: Option<&BTreeMap<String, String>>,
) -> Map<String, Value> {
    let missing = wanted
        .iter()
        .filter(|(key, value)| stored.and_then(|stored| stored.get(*key)) != Some(*value));
    missing
        .map(|(key, value)| (key.clone(), value.as_str().into()))
        .collect()
}

/// The order of configs and of orphaning rules does not count: OCM's differs.
fn is_same_spec(wanted: &ManifestWorkSpec, stored: &ManifestWorkSpec) -> bool {
    let rules = |spec: &ManifestWorkSpec| {
        let option = spec.delete_option.clone()?;
        let selected = option.selectively_orphans.clone();
        Some((
            option,
            selected.map_or_else(Vec::new, |it| it.orphaning_rules),
        ))
    };
    let is_same_option = match (rules(wanted), rules(stored)) {
        (None, None) => true,
        (Some((one, rules)), Some((other, stored))) => {
            one.propagation_policy == other.propagation_policy
                && one.ttl_seconds_after_finished == other.ttl_seconds_after_finished
                && is_permutation(&rules, &stored)
        }
        _ => false,
    };
    is_same_option
        && wanted.workload == stored.workload
        && is_permutation(&wanted.manifest_configs, &stored.manifest_configs)
}

fn is_permutation<T: PartialEq>(one: &[T], other: &[T]) -> bool {
    one == other
        || (one.len() == other.len()
            && one.iter().all(|it| other.contains(it))
            && other.iter().all(|it| one.contains(it)))
}

/// JSON values and the types of the API are written as JSON. Were one not, the API server would refuse the empty body.
fn text(body: &impl Serialize) -> Arc<str> {
    serde_json::to_string(body).unwrap_or_default().into()
}
