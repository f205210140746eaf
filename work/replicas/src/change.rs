//! Changes of ManifestWorks and of the finalizer, and the bodies of their requests.

use std::collections::BTreeMap;

use berth_api::labels;
use serde::Serialize;

use crate::names::label;
use crate::set::ReplicaSet;
use crate::work::Work;

/// A change that is due.
#[derive(Clone, Debug, PartialEq)]
pub enum Change<'a> {
    /// Adds the finalizer of the replica set.
    AddFinalizer,
    /// Removes the finalizer of the replica set.
    RemoveFinalizer,
    /// Creates a ManifestWork.
    Create {
        /// Its namespace.
        cluster: String,
        /// Its name.
        name: String,
        /// The placement that selects the cluster.
        placement: &'a str,
    },
    /// Changes the labels of a ManifestWork, and its spec.
    Update {
        /// The ManifestWork.
        work: &'a Work,
        /// The labels that are to be set, or to be removed (`None`).
        labels: BTreeMap<String, Option<String>>,
        /// The spec is to be changed, too.
        spec: bool,
    },
    /// Deletes a ManifestWork.
    Delete {
        /// The ManifestWork.
        work: &'a Work,
        /// The reason, for the log.
        why: &'static str,
    },
}

/// A new ManifestWork, or a patch of one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a, S> {
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    metadata: Metadata<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<S>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    /// A patch of another object of the same name is a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<&'a str>,
    /// `None` removes a label.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, Option<String>>,
}

// === impl Change ===

impl<'a> Change<'a> {
    /// The cluster and the name of the ManifestWork; `None` for a change of the replica set.
    pub fn work(&self) -> Option<(&str, &str)> {
        match self {
            Self::AddFinalizer | Self::RemoveFinalizer => None,
            Self::Create { cluster, name, .. } => Some((cluster, name)),
            Self::Update { work, .. } | Self::Delete { work, .. } => {
                Some((&work.cluster, &work.name))
            }
        }
    }

    /// Returns whether the ManifestWork gets the spec of the template.
    pub fn sets_spec(&self) -> bool {
        match self {
            Self::Create { .. } => true,
            Self::Update { spec, .. } => *spec,
            Self::AddFinalizer | Self::RemoveFinalizer | Self::Delete { .. } => false,
        }
    }

    /// The JSON text of a new ManifestWork, or of the merge patch of a stored one. `None` for other changes.
    pub fn body(&self, set: &ReplicaSet) -> Option<String> {
        let text = match self {
            Self::AddFinalizer | Self::RemoveFinalizer | Self::Delete { .. } => return None,
            Self::Create {
                cluster,
                name,
                placement,
            } => {
                let label = label(&set.namespace, &set.name).ok()?;
                let labels = set.labels_of_works(&label, placement);
                let labels = labels.into_iter().map(|(key, value)| (key, Some(value)));
                serde_json::to_string(&Body {
                    api_version: Some("work.open-cluster-management.io/v1"),
                    kind: Some("ManifestWork"),
                    metadata: Metadata {
                        name: Some(name),
                        namespace: Some(cluster),
                        uid: None,
                        labels: labels.collect(),
                    },
                    spec: Some(set.template.spec()),
                })
            }
            Self::Update { work, labels, spec } => serde_json::to_string(&Body {
                api_version: None,
                kind: None,
                metadata: Metadata {
                    name: None,
                    namespace: None,
                    uid: Some(&work.uid),
                    labels: labels.clone(),
                },
                spec: spec.then(|| set.template.patch()),
            }),
        };
        // Texts and maps with texts as keys are JSON.
        text.ok()
    }

    /// The finalizers of the replica set after the change; `None` for a change of a ManifestWork.
    pub fn finalizers(&self, set: &ReplicaSet) -> Option<Vec<String>> {
        let mut finalizers = set.finalizers.clone();
        finalizers.retain(|it| it != labels::REPLICA_SET_CLEANUP);
        match self {
            Self::AddFinalizer => finalizers.push(labels::REPLICA_SET_CLEANUP.to_owned()),
            Self::RemoveFinalizer => {}
            _ => return None,
        }
        Some(finalizers)
    }
}

impl Work {
    /// Those of the wanted labels that are to be set, and the labels that are to be removed (`None`): the controller wrote them, and they
    /// are not wanted any more.
    pub(super) fn labels_due(
        &self,
        wanted: &BTreeMap<String, String>,
    ) -> BTreeMap<String, Option<String>> {
        let dropped = self.written_labels.iter();
        let dropped = dropped.filter(|key| !wanted.contains_key(*key));
        let mut due: BTreeMap<_, _> = dropped.map(|key| (key.clone(), None)).collect();
        for (key, value) in wanted {
            if self.labels.get(key) != Some(value) {
                due.insert(key.clone(), Some(value.clone()));
            }
        }
        due
    }
}
