//! Objects that are stored in a version that this program's CustomResourceDefinitions do not have: of a hub that skipped releases of OCM.
//!
//! The API server refuses a definition without a version in which objects may be stored. So the definition keeps that version, beside its own
//! in which everything is stored from then on. All objects are written anew, the definition's status is told so, and the version goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use berth_api::GroupVersionResource;
use berth_api::plan::{Action, Target, Write};
use serde_json::{Value, json};

use super::RECONCILER;
use super::render::everything;
use crate::decision::Store;
use crate::objects::{Id, Kind, Stored};

/// The kinds that had other versions than today: their group, and their resources.
pub(crate) const FORMER_GROUP: &str = "cluster.open-cluster-management.io";
pub(crate) const FORMER: [&str; 4] = [
    SETS,
    "managedclustersetbindings",
    "placements",
    "placementdecisions",
];

const SETS: &str = "managedclustersets";

/// A CustomResourceDefinition whose objects are to be written anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The definition.
    pub definition: Id,
    /// `metadata.generation` of the definition.
    pub generation: i64,
    /// All objects, in the version in which they will be stored.
    pub objects: GroupVersionResource,
    /// The versions in which some of them may be stored.
    former: Vec<String>,
    uid: String,
    resource_version: String,
}

/// The versions of this program's definitions, by the names of these.
static VERSIONS: LazyLock<BTreeMap<String, BTreeSet<String>>> = LazyLock::new(|| {
    let definitions = everything().definitions.into_iter();
    let versions = definitions.filter_map(|it| {
        let name = it["metadata"]["name"].as_str()?.to_owned();
        Some((name, names(&it).map(str::to_owned).collect()))
    });
    versions.collect()
});

/// Keeps the versions of a stored definition in which objects may be stored. Nobody needs them once the Deployments are rolled out: then they
/// are not served any more, so that nothing new comes in them.
pub(super) fn keep(wanted: &mut Value, stored: &Stored, is_rolled_out: bool) {
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
            it["served"] = json!(it["served"] == true && !is_rolled_out);
            it
        }));
    }
}

/// The definitions of a ClusterManager whose objects may be stored in former versions, and whether these are served.
pub(super) fn former(name: &str, stored: &Store) -> impl Iterator<Item = (Migration, bool)> {
    stored.iter().filter_map(move |(id, it)| {
        let former = former_versions(id, it)?;
        let is_ours = it.created_by.as_deref() == Some(name) && it.is_applied();
        if !is_ours || it.is_deleting() {
            return None;
        }
        migration(id, it, former)
    })
}

fn former_versions(id: &Id, stored: &Stored) -> Option<Vec<String>> {
    if id.kind != Kind::Definition {
        return None;
    }
    let known = VERSIONS.get(&id.name)?;
    let versions = stored.stored_versions.iter();
    let former: Vec<_> = versions
        .filter(|it| !known.contains(*it))
        .cloned()
        .collect();
    (!former.is_empty()).then_some(former)
}

fn migration(id: &Id, stored: &Stored, former: Vec<String>) -> Option<(Migration, bool)> {
    let known = VERSIONS.get(&id.name)?;
    let spec = stored.object()["spec"].take();
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let versions = spec["versions"].as_array()?;
    let mut stores = versions.iter().filter(|it| it["storage"] == true);
    let version = stores
        .find(|it| known.contains(&text(&it["name"])))
        .map(|it| text(&it["name"]))?;
    let is_served = versions
        .iter()
        .any(|it| former.contains(&text(&it["name"])) && it["served"] == true);
    let migration = Migration {
        definition: id.clone(),
        generation: stored.generation,
        objects: GroupVersionResource::new(
            text(&spec["group"]),
            version,
            text(&spec["names"]["plural"]),
        ),
        former,
        uid: stored.uid.clone(),
        resource_version: stored.resource_version.clone(),
    };
    Some((migration, is_served))
}

/// The names of the versions of a definition.
fn names(definition: &Value) -> impl Iterator<Item = &str> {
    let versions = definition["spec"]["versions"].as_array();
    let versions = versions.into_iter().flatten();
    versions.filter_map(|it| it["name"].as_str())
}

// === impl Migration ===

impl Migration {
    /// Returns whether the content of an object decides how it is written.
    #[must_use]
    pub fn needs_content(&self) -> bool {
        self.objects.resource == SETS
    }

    /// Writes an object anew. A patch without content suffices: the API server stores the object if that changes how it is stored. `object`: if
    /// its content decides.
    #[must_use]
    pub fn anew(&self, target: &Target, object: &Value) -> Write {
        // The one value that OCM renamed, from v1beta1 to v1beta2; its webhook converted it.
        let selector = &object["spec"]["clusterSelector"]["selectorType"];
        let body = match self.needs_content() && selector == "LegacyClusterSetLabel" {
            true => json!({
                "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]},
                "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}},
            }),
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

    /// The same with the definition as it is stored now; `None` if another one is due, or none.
    #[must_use]
    pub fn again(&self, stored: &Stored) -> Option<Self> {
        let former = former_versions(&self.definition, stored)?;
        let (again, _) = migration(&self.definition, stored, former)?;
        let is_same = |of: &Self| (of.uid.clone(), of.generation, of.former.clone());
        (is_same(&again) == is_same(self)).then_some(again)
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
