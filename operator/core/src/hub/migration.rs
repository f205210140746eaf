//! Objects that are stored in a version that this program's CustomResourceDefinitions do not have: of a hub that skipped releases of OCM.
//!
//! The API server refuses a definition without a version in which objects may be stored. So the definition keeps that version, beside its own
//! in which everything is stored from then on. All objects are written anew, the definition's status is told so, and the version goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use berth_api::GroupVersionResource;
use berth_api::plan::{Action, Target, Write};
use berth_manifests::{Hub, values::HubValues};
use serde_json::{Value, json};

use super::RECONCILER;
use crate::decision::Store;
use crate::objects::{Id, Kind, Stored};

/// The CustomResourceDefinitions that had other versions than today.
pub(crate) const FORMER: [(&str, &[&str]); 1] = [(
    "cluster.open-cluster-management.io",
    &[
        "managedclustersets",
        "managedclustersetbindings",
        "placements",
        "placementdecisions",
    ],
)];

/// A CustomResourceDefinition whose objects are to be written anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The definition.
    pub definition: Id,
    /// All objects, in the version in which they will be stored.
    pub objects: GroupVersionResource,
    /// The versions in which some of them may be stored.
    former: Vec<String>,
    uid: String,
    resource_version: String,
}

/// The versions of this program's definitions, by the names of these.
static VERSIONS: LazyLock<BTreeMap<String, BTreeSet<String>>> = LazyLock::new(|| {
    let mut values = HubValues::default();
    values.cluster_profiles.enabled = true;
    values.cluster_profiles.placement_decisions = true;
    let definitions = Hub::with(&values, "").definitions.into_iter();
    let versions = definitions.filter_map(|it| {
        let name = it["metadata"]["name"].as_str()?.to_owned();
        Some((name, names(&it).map(str::to_owned).collect()))
    });
    versions.collect()
});

/// Keeps the versions of a stored definition in which objects may be stored.
pub(super) fn keep(wanted: &mut Value, stored: &Stored) {
    let known: BTreeSet<String> = names(wanted).map(str::to_owned).collect();
    let object = stored.object();
    let versions = object["spec"]["versions"].as_array().into_iter().flatten();
    let former = versions.filter(|it| {
        let name = it["name"].as_str().unwrap_or_default();
        stored.stored_versions.iter().any(|it| it == name) && !known.contains(name)
    });
    if let Some(versions) = wanted["spec"]["versions"].as_array_mut() {
        versions.extend(former.cloned().map(|mut it| {
            it["storage"] = json!(false);
            it
        }));
    }
}

/// What is to be written anew for a ClusterManager: its definitions have their versions, and there are objects in others.
#[must_use]
pub fn migrations(name: &str, stored: &Store) -> Vec<Migration> {
    let definitions = stored.iter().filter(|(id, it)| {
        id.kind == Kind::Definition && it.created_by.as_deref() == Some(name) && it.is_applied()
    });
    let due = definitions.filter_map(|(id, it)| migration(id, it));
    due.collect()
}

fn migration(id: &Id, stored: &Stored) -> Option<Migration> {
    let known = VERSIONS.get(&id.name)?;
    let versions = stored.stored_versions.iter();
    let former: Vec<_> = versions
        .filter(|it| !known.contains(*it))
        .cloned()
        .collect();
    if former.is_empty() {
        return None;
    }
    let spec = stored.object()["spec"].take();
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let versions = spec["versions"].as_array()?.iter();
    let version = versions.filter(|it| it["storage"] == true);
    let version = version
        .map(|it| text(&it["name"]))
        .find(|it| known.contains(it))?;
    Some(Migration {
        definition: id.clone(),
        objects: GroupVersionResource::new(
            text(&spec["group"]),
            version,
            text(&spec["names"]["plural"]),
        ),
        former,
        uid: stored.uid.clone(),
        resource_version: stored.resource_version.clone(),
    })
}

/// The names of the versions of a definition.
fn names(definition: &Value) -> impl Iterator<Item = &str> {
    let versions = definition["spec"]["versions"].as_array();
    let versions = versions.into_iter().flatten();
    versions.filter_map(|it| it["name"].as_str())
}

// === impl Migration ===

impl Migration {
    /// Writes an object anew. A patch without content suffices: the API server stores the object if that changes how it is stored.
    #[must_use]
    pub fn anew(&self, target: &Target, object: &Value) -> Write {
        // The one value that OCM renamed, from v1beta1 to v1beta2; its webhook converted it.
        let selector = &object["spec"]["clusterSelector"]["selectorType"];
        let body = match self.objects.resource == "managedclustersets"
            && selector == "LegacyClusterSetLabel"
        {
            true => {
                json!({"spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}})
            }
            false => json!({}),
        };
        let action = Action::Patch {
            subresource: None,
            body,
        };
        let (target, events) = (target.clone(), Vec::new());
        Write {
            target,
            action,
            reconciler: RECONCILER,
            events,
        }
    }

    /// Has the definition say that all objects are stored in its version. Not if it has changed since.
    #[must_use]
    pub fn done(&self) -> Write {
        let body = json!({
            "metadata": {"uid": self.uid, "resourceVersion": self.resource_version},
            "status": {"storedVersions": [self.objects.version]},
        });
        let action = Action::Patch {
            subresource: Some("status"),
            body,
        };
        self.definition.write(RECONCILER, action)
    }

    /// What is due, as text for users.
    #[must_use]
    pub fn shown(&self) -> String {
        format!(
            "the objects of {} are written anew in version {}, and until then it keeps {}",
            self.definition.name,
            self.objects.version,
            self.former.join(", ")
        )
    }
}
