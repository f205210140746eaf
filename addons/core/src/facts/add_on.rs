//! A ClusterManagementAddOn.

use berth_api::addon::{
    AddOnConfig, ClusterManagementAddOn, ClusterManagementAddOnStatus, InstallStrategyType,
    PlacementStrategy,
};
use berth_api::{groups, labels};

/// The value of the life cycle annotation with which OCM's add-on manager, and this one, manage an add-on.
const ADD_ON_MANAGER: &str = "addon-manager";

/// A ClusterManagementAddOn, as far as it decides.
#[derive(Clone, Debug, PartialEq)]
pub struct AddOn {
    /// metadata.name
    pub name: String,
    /// metadata.uid
    pub uid: String,
    /// metadata.resourceVersion
    pub resource_version: String,
    /// It is being deleted.
    pub is_deleting: bool,
    /// Its life cycle is the hub's: the annotation is absent, or exactly `addon-manager`. Of an add-on with another value, such as `self`
    /// or the empty text, nothing is written.
    pub is_managed: bool,
    /// spec.defaultConfigs
    pub default_configs: Vec<AddOnConfig>,
    /// The way in which its clusters are selected.
    pub install: InstallStrategyType,
    /// The placements of the install strategy; empty unless its type is Placements.
    pub placements: Vec<PlacementStrategy>,
    /// The stored status.
    pub status: ClusterManagementAddOnStatus,
}

// === impl AddOn ===

impl AddOn {
    /// Reads a ClusterManagementAddOn of v1beta1.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(json: &str) -> Result<Self, serde_json::Error> {
        let object: ClusterManagementAddOn = serde_json::from_str(json)?;
        let metadata = object.metadata;
        let annotations = metadata.annotations.unwrap_or_default();
        let life_cycle = annotations.get(labels::ADDON_LIFECYCLE);
        let strategy = object.spec.install_strategy;
        let by_placements = strategy.r#type == InstallStrategyType::Placements;
        Ok(Self {
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            is_deleting: metadata.deletion_timestamp.is_some(),
            is_managed: life_cycle.is_none_or(|it| it == ADD_ON_MANAGER),
            default_configs: object.spec.default_configs,
            install: strategy.r#type,
            placements: if by_placements {
                strategy.placements
            } else {
                Vec::new()
            },
            status: object.status.unwrap_or_default(),
        })
    }

    /// Returns whether the add-ons differ in more than their statuses.
    #[must_use]
    pub fn differs(&self, other: &Self) -> bool {
        let other = Self {
            resource_version: self.resource_version.clone(),
            status: self.status.clone(),
            ..other.clone()
        };
        *self != other
    }

    /// Returns whether anything is written for the add-on.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.is_managed && !self.is_deleting
    }

    /// Returns whether its placements decide on which clusters it is.
    #[must_use]
    pub fn is_placed(&self) -> bool {
        self.install == InstallStrategyType::Placements
    }

    /// Returns whether it is deployed by a template. Such an add-on has no manager of its own, which would write the hashes of its
    /// configs.
    #[must_use]
    pub fn has_template(&self) -> bool {
        let is_template = |it: &AddOnConfig| {
            (&*it.group, &*it.resource) == (groups::ADDON, groups::ADDON_TEMPLATES)
        };
        self.configs().any(is_template)
    }

    /// The configs that it names: the defaults, and those of its placements.
    pub fn configs(&self) -> impl Iterator<Item = &AddOnConfig> {
        let of_placements = self.placements.iter().flat_map(|it| &it.configs);
        self.default_configs.iter().chain(of_placements)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_life_cycle_annotation_says_who_manages_an_add_on() {
        for (annotations, expected) in [
            (json!(null), true),
            (json!({"other": "self"}), true),
            (json!({labels::ADDON_LIFECYCLE: "addon-manager"}), true),
            (json!({labels::ADDON_LIFECYCLE: "self"}), false),
            (json!({labels::ADDON_LIFECYCLE: ""}), false),
            (json!({labels::ADDON_LIFECYCLE: "Addon-Manager"}), false),
            (json!({labels::ADDON_LIFECYCLE: " addon-manager"}), false),
        ] {
            let object = json!({
                "apiVersion": "addon.open-cluster-management.io/v1beta1",
                "kind": "ClusterManagementAddOn",
                "metadata": {"name": "a", "annotations": annotations},
                "spec": {},
            });
            let add_on = AddOn::read(&object.to_string()).unwrap();
            assert_eq!(add_on.is_managed, expected, "{annotations}");
        }
    }

    #[test]
    fn placements_count_only_with_their_type() {
        let of = |type_: &str| {
            let object = json!({
                "apiVersion": "addon.open-cluster-management.io/v1beta1",
                "kind": "ClusterManagementAddOn",
                "metadata": {"name": "a"},
                "spec": {"installStrategy": {"type": type_, "placements": [{"namespace": "n", "name": "p"}]}},
            });
            let add_on = AddOn::read(&object.to_string()).unwrap();
            (add_on.is_placed(), add_on.placements.len())
        };
        assert_eq!(of("Placements"), (true, 1));
        assert_eq!(of("Manual"), (false, 0));
        assert_eq!(of("Later"), (false, 0), "a type of a newer version");
    }
}
