//! Names, labels and annotations of the works of add-ons, and of their manifests.

use serde_json::{Map, Value};

/// On a manifest, as annotation or label: the cluster that gets it in hosted mode.
pub const HOSTED_MANIFEST_LOCATION: &str =
    "addon.open-cluster-management.io/hosted-manifest-location";
/// On a Job or Pod of an add-on, as annotation or label: it runs before the add-on is deleted.
pub const PRE_DELETE: &str = "addon.open-cluster-management.io/addon-pre-delete";
/// The former label for [`PRE_DELETE`].
const FORMER_PRE_DELETE: &str = "open-cluster-management.io/addon-pre-delete";
/// On a manifest, as annotation: its object stays when the work is deleted.
const DELETION_ORPHAN: &str = "addon.open-cluster-management.io/deletion-orphan";

/// Which works of an add-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// What the add-on deploys on its cluster.
    Deploy,
    /// What the add-on deploys on the cluster that hosts its agent.
    HostedDeploy {
        /// The namespace of the ManagedClusterAddOn.
        addon_namespace: &'a str,
    },
    /// The hooks that run on the cluster before the add-on is deleted.
    Hook,
    /// The hooks that run on the cluster that hosts the agent.
    HostedHook {
        /// The namespace of the ManagedClusterAddOn.
        addon_namespace: &'a str,
    },
}

// === impl Place ===

impl<'a> Place<'a> {
    /// Returns the name of a work. Hooks have one work only.
    #[must_use]
    pub fn name(&self, addon: &str, index: u32) -> String {
        let prefix = self.prefix(addon);
        match self {
            Self::Deploy | Self::HostedDeploy { .. } => format!("{prefix}-{index}"),
            Self::Hook | Self::HostedHook { .. } => prefix,
        }
    }

    /// Returns whether a work of this name is one of this place.
    #[must_use]
    pub fn has(&self, addon: &str, name: &str) -> bool {
        self.index(addon, name).is_some()
    }

    /// Returns the index of a work of this place, from its name. `None` for the name of another work.
    pub(super) fn index(&self, addon: &str, name: &str) -> Option<u32> {
        let rest = name.strip_prefix(&self.prefix(addon))?;
        match self {
            Self::Deploy | Self::HostedDeploy { .. } => {
                let index = rest.strip_prefix('-')?;
                let is_canonical = index == "0" || !index.starts_with(['0', '+']);
                index.parse().ok().filter(|_| is_canonical)
            }
            Self::Hook | Self::HostedHook { .. } => rest.is_empty().then_some(0),
        }
    }

    pub(super) fn addon_namespace(&self) -> Option<&'a str> {
        match self {
            Self::Deploy | Self::Hook => None,
            Self::HostedDeploy { addon_namespace } | Self::HostedHook { addon_namespace } => {
                Some(addon_namespace)
            }
        }
    }

    pub(super) fn is_hook(&self) -> bool {
        matches!(self, Self::Hook | Self::HostedHook { .. })
    }

    fn prefix(&self, addon: &str) -> String {
        match self {
            Self::Deploy => format!("addon-{addon}-deploy"),
            Self::HostedDeploy { addon_namespace } => {
                format!("addon-{addon}-deploy-hosting-{addon_namespace}")
            }
            Self::Hook => format!("addon-{addon}-pre-delete"),
            Self::HostedHook { addon_namespace } => {
                format!("addon-{addon}-pre-delete-hosting-{addon_namespace}")
            }
        }
    }
}

/// Returns true if a work of this name is one of the add-on's, of any place.
#[must_use]
pub fn is_of_addon(addon: &str, addon_namespace: &str, name: &str) -> bool {
    let places = [
        Place::Deploy,
        Place::HostedDeploy { addon_namespace },
        Place::Hook,
        Place::HostedHook { addon_namespace },
    ];
    places
        .iter()
        .any(|place| place.index(addon, name).is_some())
}

/// Returns true if the object of a manifest stays when its work is deleted.
pub(super) fn is_orphan(object: &Map<String, Value>) -> bool {
    mark(object, "annotations", DELETION_ORPHAN).is_some()
}

/// Returns true if a manifest asks to run before the add-on is deleted. Only Jobs and Pods can.
pub(super) fn asks_to_be_hook(object: &Map<String, Value>) -> bool {
    ["annotations", "labels"]
        .iter()
        .any(|marks| mark(object, marks, PRE_DELETE).is_some())
        || mark(object, "labels", FORMER_PRE_DELETE).is_some()
}

/// The value of [`HOSTED_MANIFEST_LOCATION`]; the annotation wins.
pub(super) fn location(object: &Map<String, Value>) -> Option<&str> {
    ["annotations", "labels"].iter().find_map(|marks| {
        let value = mark(object, marks, HOSTED_MANIFEST_LOCATION)?.as_str()?;
        Some(value).filter(|value| !value.is_empty())
    })
}

fn mark<'a>(object: &'a Map<String, Value>, marks: &str, name: &str) -> Option<&'a Value> {
    object.get("metadata")?.get(marks)?.get(name)
}
