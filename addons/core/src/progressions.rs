//! The lists in the status of a ClusterManagementAddOn: its default configs, and the configs of each placement.

use std::collections::BTreeMap;

use berth_api::addon::{
    AddOnConfig, ClusterManagementAddOnStatus, ConfigSpecHash, DefaultConfigReference,
    InstallConfigReference, InstallProgression, PlacementStrategy,
};

use crate::config::{Configs, hashed, names_a_default};
use crate::facts::AddOn;

/// The status with the lists that follow from the spec. It equals the stored one if nothing of them changes.
///
/// `configs`: the current ones, for an add-on with a template. Without them the hashes are those that the add-on's manager wrote.
pub(crate) fn lists(add_on: &AddOn, configs: Option<&Configs>) -> ClusterManagementAddOnStatus {
    let stored = &add_on.status;
    let defaults: Vec<_> = (add_on.default_configs.iter())
        .filter(|it| names_a_default(it))
        .map(|it| default_reference(it, &stored.default_config_references, configs))
        .collect();
    let placements = add_on.placements.iter();
    let progressions = placements.map(|it| progression(it, &defaults, stored, configs));
    ClusterManagementAddOnStatus {
        install_progressions: progressions.collect(),
        default_config_references: defaults_as_stored(defaults, &stored.default_config_references),
    }
}

/// Keeps the stored list if only its order differs: another manager may have written it.
fn defaults_as_stored(
    defaults: Vec<DefaultConfigReference>,
    stored: &[DefaultConfigReference],
) -> Vec<DefaultConfigReference> {
    let is_same = defaults.len() == stored.len() && defaults.iter().all(|it| stored.contains(it));
    if is_same { stored.to_vec() } else { defaults }
}

fn default_reference(
    config: &AddOnConfig,
    stored: &[DefaultConfigReference],
    configs: Option<&Configs>,
) -> DefaultConfigReference {
    let known = stored
        .iter()
        .filter(|it| is_kind(config, &it.group, &it.resource));
    let known = known.filter_map(|it| it.desired_config.as_ref());
    let hash = hash(config, known, configs);
    DefaultConfigReference {
        group: config.group.clone(),
        resource: config.resource.clone(),
        desired_config: Some(hashed(config, hash)),
    }
}

/// The progression of a placement: the defaults, replaced by its configs.
fn progression(
    placement: &PlacementStrategy,
    defaults: &[DefaultConfigReference],
    stored: &ClusterManagementAddOnStatus,
    configs: Option<&Configs>,
) -> InstallProgression {
    let old = stored.install_progressions.iter();
    let mut old =
        old.filter(|it| (&it.namespace, &it.name) == (&placement.namespace, &placement.name));
    let old = old.next();
    let known = old.map_or(&[][..], |it| &it.config_references);
    let mut named: BTreeMap<(&str, &str), Vec<AddOnConfig>> = BTreeMap::new();
    for it in defaults {
        let config = it.desired_config.clone().unwrap_or_default();
        let entries = named.entry((&it.group, &it.resource)).or_default();
        entries.push(AddOnConfig {
            group: it.group.clone(),
            resource: it.resource.clone(),
            namespace: config.namespace,
            name: config.name,
        });
    }
    let mut own: BTreeMap<(&str, &str), Vec<AddOnConfig>> = BTreeMap::new();
    for it in &placement.configs {
        let entries = own.entry((&it.group, &it.resource)).or_default();
        entries.push(it.clone());
    }
    named.extend(own);
    let references: Vec<_> = (named.into_values().flatten())
        .map(|it| install_reference(&it, known, configs))
        .collect();
    let is_same = references.len() == known.len()
        && references
            .iter()
            .zip(known)
            .all(|(new, old)| is_same(new, old));
    InstallProgression {
        namespace: placement.namespace.clone(),
        name: placement.name.clone(),
        config_references: references,
        // They are about the rollout of all references.
        conditions: old
            .filter(|_| is_same)
            .map(|it| it.conditions.clone())
            .unwrap_or_default(),
    }
}

/// The reference to a config. What is known of the config stays with its name.
fn install_reference(
    config: &AddOnConfig,
    stored: &[InstallConfigReference],
    configs: Option<&Configs>,
) -> InstallConfigReference {
    let mut known = stored.iter().filter(|it| {
        is_kind(config, &it.group, &it.resource)
            && it
                .desired_config
                .as_ref()
                .is_some_and(|it| is_named(config, it))
    });
    let known = known.next();
    let desired = known.and_then(|it| it.desired_config.as_ref());
    InstallConfigReference {
        group: config.group.clone(),
        resource: config.resource.clone(),
        desired_config: Some(hashed(config, hash(config, desired.into_iter(), configs))),
        last_applied_config: known.and_then(|it| it.last_applied_config.clone()),
        last_known_good_config: known.and_then(|it| it.last_known_good_config.clone()),
    }
}

/// Returns whether both refer to the same config, whatever its hash.
fn is_same(new: &InstallConfigReference, old: &InstallConfigReference) -> bool {
    let name = |it: &InstallConfigReference| {
        let config = it.desired_config.clone().unwrap_or_default();
        (
            it.group.clone(),
            it.resource.clone(),
            config.namespace,
            config.name,
        )
    };
    name(new) == name(old)
}

/// The hash of a config: the current one, or else the one that is stored for its name.
fn hash<'a>(
    config: &AddOnConfig,
    mut stored: impl Iterator<Item = &'a ConfigSpecHash>,
    configs: Option<&Configs>,
) -> String {
    let kind = (&*config.group, &*config.resource);
    let current = configs.and_then(|it| it.hash_of(kind, &config.namespace, &config.name));
    if let Some(current) = current {
        return current.to_owned();
    }
    let known = stored.find(|it| is_named(config, it));
    known.map(|it| it.spec_hash.clone()).unwrap_or_default()
}

fn is_kind(config: &AddOnConfig, group: &str, resource: &str) -> bool {
    (&*config.group, &*config.resource) == (group, resource)
}

fn is_named(config: &AddOnConfig, it: &ConfigSpecHash) -> bool {
    (&config.namespace, &config.name) == (&it.namespace, &it.name)
}

#[cfg(test)]
mod tests;
