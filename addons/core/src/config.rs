//! Which configs an add-on gets on a cluster.
//!
//! For each group and resource the configs of the ManagedClusterAddOn replace those of the placement, and these the defaults. Several
//! configs of one group and resource are replaced as a whole.

mod hash;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use berth_api::addon::{
    AddOnConfig, AddOnDeploymentConfigSpec, AddOnTemplateSpec, ConfigReference, ConfigSpecHash,
    DefaultConfigReference, InstallConfigReference,
};
use berth_api::groups;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::facts::OnCluster;

pub(crate) use hash::canonical;
pub use hash::spec_hash;

/// Name of a default config in v1beta1 that says: this kind has no default.
const NO_DEFAULT: &str = "__reserved_no_default__";

/// The configs that this manager watches.
#[derive(Debug, Default)]
pub struct Configs {
    deployment_configs: HashMap<(String, String), Arc<DeploymentConfig>>,
    templates: HashMap<String, Arc<Template>>,
}

/// A config as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored<T> {
    /// The hash of its spec.
    pub hash: String,
    /// Its spec; `None` if it cannot be read.
    pub spec: Option<T>,
}

/// A stored AddOnDeploymentConfig.
pub type DeploymentConfig = Stored<AddOnDeploymentConfigSpec>;

/// A stored AddOnTemplate.
pub type Template = Stored<AddOnTemplateSpec>;

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

/// The kind of AddOnDeploymentConfigs.
pub(crate) const DEPLOYMENT_CONFIG: Kind<'_> = (groups::ADDON, groups::ADDON_DEPLOYMENT_CONFIGS);

/// The kind of AddOnTemplates.
pub(crate) const TEMPLATE: Kind<'_> = (groups::ADDON, groups::ADDON_TEMPLATES);

/// The configs that an add-on is to have on clusters of a placement that name none themselves, sorted by group and resource.
///
/// `defaults`: the references in the status of the ClusterManagementAddOn. `placed`: those of the install progression of the placement.
pub(crate) fn shared(
    defaults: &[DefaultConfigReference],
    placed: &[InstallConfigReference],
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
    all.into_values().flatten().collect()
}

/// The configs that an add-on is to have on a cluster, sorted by group and resource.
///
/// `shared`: those of a cluster that names none. `configs`: the current ones, for an add-on with a template. Without them the hashes of the
/// cluster's own configs are those that the add-on's manager wrote.
pub(crate) fn desired<'a>(
    shared: &'a [Desired],
    on: &OnCluster,
    configs: Option<&Configs>,
) -> Cow<'a, [Desired]> {
    if on.configs.is_empty() {
        return Cow::Borrowed(shared);
    }
    let mut all: BTreeMap<Kind<'_>, Vec<Desired>> = BTreeMap::new();
    for it in shared {
        let of = all.entry((&*it.group, &*it.resource)).or_default();
        of.push(it.clone());
    }
    let own = on.configs.iter().map(|it| {
        let kind = (&*it.group, &*it.resource);
        let hash = match configs {
            Some(configs) => configs
                .hash_of(kind, &it.namespace, &it.name)
                .map(str::to_owned),
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

/// Returns whether a config is of a kind.
pub(crate) fn is_of(config: &AddOnConfig, kind: Kind<'_>) -> bool {
    (&*config.group, &*config.resource) == kind
}

/// The first desired config of a kind that the references name.
pub(crate) fn desired_of<'a>(
    references: &'a [ConfigReference],
    kind: Kind<'_>,
) -> Option<&'a ConfigSpecHash> {
    let mut all = references.iter();
    let first = all.find(|it| (&*it.group, &*it.resource) == kind)?;
    first.desired_config.as_ref()
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

// === impl Stored ===

impl<T: DeserializeOwned> Stored<T> {
    /// Reads a config.
    ///
    /// # Errors
    /// The text is not a JSON object.
    pub fn read(json: &str) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Object<T> {
            spec: T,
        }
        Ok(Self {
            hash: spec_hash(json)?,
            spec: serde_json::from_str::<Object<T>>(json)
                .ok()
                .map(|it| it.spec),
        })
    }
}

// === impl Configs ===

impl Configs {
    /// Notes an AddOnDeploymentConfig, or that it is gone. Returns whether its hash is new.
    pub fn set_deployment_config(
        &mut self,
        namespace: &str,
        name: &str,
        config: Option<Arc<DeploymentConfig>>,
    ) -> bool {
        set(
            &mut self.deployment_configs,
            (namespace.to_owned(), name.to_owned()),
            config,
        )
    }

    /// Notes an AddOnTemplate, or that it is gone. Returns whether its hash is new.
    pub fn set_template(&mut self, name: &str, template: Option<Arc<Template>>) -> bool {
        set(&mut self.templates, name.to_owned(), template)
    }

    /// The AddOnDeploymentConfig of this name.
    #[must_use]
    pub fn deployment_config(&self, namespace: &str, name: &str) -> Option<&Arc<DeploymentConfig>> {
        let at = (namespace.to_owned(), name.to_owned());
        self.deployment_configs.get(&at)
    }

    /// The AddOnTemplate of this name.
    #[must_use]
    pub fn template(&self, name: &str) -> Option<&Arc<Template>> {
        self.templates.get(name)
    }

    /// The hash of a config; empty for one that does not exist, `None` for a kind that this manager does not watch.
    pub(crate) fn hash_of(&self, kind: Kind<'_>, namespace: &str, name: &str) -> Option<&str> {
        let found = match kind {
            DEPLOYMENT_CONFIG => self.deployment_config(namespace, name).map(|it| &it.hash),
            TEMPLATE => self.template(name).map(|it| &it.hash),
            _ => return None,
        };
        Some(found.map_or("", String::as_str))
    }
}

fn set<K: Eq + Hash, T>(
    all: &mut HashMap<K, Arc<Stored<T>>>,
    at: K,
    config: Option<Arc<Stored<T>>>,
) -> bool {
    let new = config.as_ref().map(|it| it.hash.clone());
    let old = match config {
        Some(config) => all.insert(at, config),
        None => all.remove(&at),
    };
    old.map(|it| it.hash.clone()) != new
}

#[cfg(test)]
mod tests;
