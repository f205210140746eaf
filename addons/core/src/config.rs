//! Which configs an add-on gets on a cluster.
//!
//! For each group and resource the configs of the ManagedClusterAddOn replace those of the placement, and these the defaults. Several
//! configs of one group and resource are replaced as a whole.

mod hash;

use std::collections::{BTreeMap, HashMap};

use berth_api::addon::{
    AddOnConfig, ConfigReference, ConfigSpecHash, DefaultConfigReference, InstallConfigReference,
};
use berth_api::groups;

use crate::facts::OnCluster;

pub use hash::spec_hash;

/// Name of a default config in v1beta1 that says: this kind has no default.
const NO_DEFAULT: &str = "__reserved_no_default__";

/// The hashes of the configs that this manager watches.
#[derive(Debug, Default)]
pub struct Hashes {
    deployment_configs: HashMap<(String, String), String>,
    templates: HashMap<String, String>,
}

/// A config that an add-on is to have on a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desired {
    /// The API group of the config.
    pub group: String,
    /// The resource of the config.
    pub resource: String,
    /// The config, with its hash.
    pub config: ConfigSpecHash,
}

/// The kind of a config: its group and resource.
type Kind<'a> = (&'a str, &'a str);

/// The configs that an add-on is to have on a cluster, sorted by group and resource.
///
/// `defaults`: the references in the status of the ClusterManagementAddOn. `placed`: those of the install progression of the cluster's
/// placement. `hashes`: the current ones, for an add-on with a template. Without them the hashes of the cluster's own configs are those
/// that the add-on's manager wrote.
pub(crate) fn desired(
    defaults: &[DefaultConfigReference],
    placed: &[InstallConfigReference],
    on: &OnCluster,
    hashes: Option<&Hashes>,
) -> Vec<Desired> {
    let mut all: BTreeMap<Kind<'_>, Vec<Desired>> = BTreeMap::new();
    let defaults = defaults.iter().filter_map(|it| {
        let config = it.desired_config.as_ref()?;
        Some(((&*it.group, &*it.resource), config.clone()))
    });
    replace(&mut all, defaults);
    let placed = placed.iter().filter_map(|it| {
        let config = it.desired_config.as_ref()?;
        Some(((&*it.group, &*it.resource), config.clone()))
    });
    replace(&mut all, placed);
    let own = on.configs.iter().map(|it| {
        let kind = (&*it.group, &*it.resource);
        let hash = match hashes {
            Some(hashes) => hashes.of(kind, &it.namespace, &it.name).map(str::to_owned),
            None => stored_hash(on, it),
        };
        (kind, hashed(it, hash.unwrap_or_default()))
    });
    replace(&mut all, own);
    all.into_values().flatten().collect()
}

/// Replaces the configs of each kind that occurs.
fn replace<'a>(
    all: &mut BTreeMap<Kind<'a>, Vec<Desired>>,
    by: impl Iterator<Item = (Kind<'a>, ConfigSpecHash)>,
) {
    let mut grouped: BTreeMap<Kind<'a>, Vec<Desired>> = BTreeMap::new();
    for (kind, config) in by {
        grouped.entry(kind).or_default().push(Desired {
            group: kind.0.to_owned(),
            resource: kind.1.to_owned(),
            config,
        });
    }
    all.extend(grouped);
}

/// The hash of a cluster's own config that the add-on's manager wrote.
fn stored_hash(on: &OnCluster, config: &AddOnConfig) -> Option<String> {
    let desired = on
        .references
        .iter()
        .filter(|it| (&it.group, &it.resource) == (&config.group, &config.resource))
        .filter_map(|it| it.desired_config.as_ref());
    let mut same =
        desired.filter(|it| (&it.namespace, &it.name) == (&config.namespace, &config.name));
    same.next().map(|it| it.spec_hash.clone())
}

pub(crate) fn hashed(config: &AddOnConfig, hash: String) -> ConfigSpecHash {
    ConfigSpecHash {
        namespace: config.namespace.clone(),
        name: config.name.clone(),
        spec_hash: hash,
    }
}

/// Returns whether an entry of `spec.defaultConfigs` names a config.
pub(crate) fn names_a_default(config: &AddOnConfig) -> bool {
    !config.name.is_empty() && config.name != NO_DEFAULT
}

/// Returns whether the cluster's references are exactly those desired.
pub(crate) fn is_referenced(desired: &[Desired], references: &[ConfigReference]) -> bool {
    desired.len() == references.len()
        && desired.iter().all(|it| {
            let found = reference(it, references).and_then(|it| it.desired_config.as_ref());
            found == Some(&it.config)
        })
}

/// The references of a cluster once it is to have the desired configs. What is known of a config stays.
pub(crate) fn references(desired: &[Desired], stored: &[ConfigReference]) -> Vec<ConfigReference> {
    let of = |it: &Desired| {
        let known = reference(it, stored);
        ConfigReference {
            group: it.group.clone(),
            resource: it.resource.clone(),
            desired_config: Some(it.config.clone()),
            last_applied_config: known.and_then(|it| it.last_applied_config.clone()),
            last_observed_generation: known.map_or(0, |it| it.last_observed_generation),
        }
    };
    desired.iter().map(of).collect()
}

/// The reference to a config, whatever its hash.
fn reference<'a>(desired: &Desired, all: &'a [ConfigReference]) -> Option<&'a ConfigReference> {
    let config = &desired.config;
    all.iter().find(|it| {
        (&it.group, &it.resource) == (&desired.group, &desired.resource)
            && it
                .desired_config
                .as_ref()
                .is_some_and(|it| (&it.namespace, &it.name) == (&config.namespace, &config.name))
    })
}

// === impl Hashes ===

impl Hashes {
    /// Notes the hash of an AddOnDeploymentConfig, or that it is gone. Returns whether that is new.
    pub fn set_deployment_config(
        &mut self,
        namespace: &str,
        name: &str,
        hash: Option<String>,
    ) -> bool {
        let at = (namespace.to_owned(), name.to_owned());
        let new = hash.clone();
        let old = match hash {
            Some(hash) => self.deployment_configs.insert(at, hash),
            None => self.deployment_configs.remove(&at),
        };
        old != new
    }

    /// Notes the hash of an AddOnTemplate, or that it is gone. Returns whether that is new.
    pub fn set_template(&mut self, name: &str, hash: Option<String>) -> bool {
        let new = hash.clone();
        let old = match hash {
            Some(hash) => self.templates.insert(name.to_owned(), hash),
            None => self.templates.remove(name),
        };
        old != new
    }

    /// The hash of a config; empty for one that does not exist, `None` for a kind that this manager does not watch.
    pub(crate) fn of(&self, kind: Kind<'_>, namespace: &str, name: &str) -> Option<&str> {
        let found = match kind {
            (groups::ADDON, groups::ADDON_DEPLOYMENT_CONFIGS) => self
                .deployment_configs
                .get(&(namespace.to_owned(), name.to_owned())),
            (groups::ADDON, groups::ADDON_TEMPLATES) => self.templates.get(name),
            _ => return None,
        };
        Some(found.map_or("", String::as_str))
    }
}

#[cfg(test)]
mod tests;
