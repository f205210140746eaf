//! Why an add-on on a cluster is as it is: where its configs come from, as whom its agent acts, and what it waits for.
//!
//! It says what the hub's objects say, and decides nothing: conditions and reasons are those that the manager of the add-on and the
//! cluster's agent have written.

mod registrations;
mod waits;
mod works;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use berth_api::addon::{
    AddOnConfig, ClusterManagementAddOn, ConfigReference, InstallStrategyType, ManagedClusterAddOn,
    ManagedClusterAddOnStatus,
};
use berth_api::conditions::{addon, condition_of};
use berth_api::text::shorten;
use berth_api::{ManagedCluster, ManifestWork, labels};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::rbac::v1::RoleBinding;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Serialize;

use crate::config::{TEMPLATE, names_a_default};

pub use registrations::{Registration, Request, RequestState};
pub use works::{NotReady, Work};

/// Upper bound on the bytes of a message of another component.
const LONGEST_MESSAGE: usize = 512;

/// What is known about an add-on on a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The ManagedClusterAddOn.
    pub on: &'a ManagedClusterAddOn,
    /// The ClusterManagementAddOn of its name.
    pub add_on: Option<&'a ClusterManagementAddOn>,
    /// The ManagedCluster.
    pub cluster: Option<&'a ManagedCluster>,
    /// The ManifestWorks with the label of the add-on, in the namespace of the cluster and of the hosting cluster.
    pub works: &'a [ManifestWork],
    /// The RoleBindings with the label of the add-on, in the namespace of the cluster.
    pub bindings: &'a [RoleBinding],
    /// The CertificateSigningRequests with the labels of the cluster and the add-on.
    pub requests: &'a [CertificateSigningRequest],
}

/// An add-on on a cluster, explained. Texts are for users.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The name of the add-on.
    pub name: String,
    /// The name of the cluster.
    pub cluster: String,
    /// The manager of the add-on, and how the add-on came to the cluster.
    pub manager: String,
    /// The condition Available.
    pub available: String,
    /// The condition Progressing.
    pub progressing: String,
    /// The namespace of its agent on the cluster. Empty if it is not reported.
    pub namespace: String,
    /// What the add-on waits for. Empty for one that works, with the configs that it is to have.
    pub waits_for: Vec<String>,
    /// Its configs.
    pub configs: Vec<Config>,
    /// As whom its agent acts, and by which certificate or token.
    pub registrations: Vec<Registration>,
    /// The condition RegistrationApplied: whether the permissions on the hub are set up.
    pub permissions: String,
    /// The RoleBindings in the namespace of the cluster, each with its role.
    pub role_bindings: Vec<String>,
    /// Its ManifestWorks.
    pub works: Vec<Work>,
    /// Its CertificateSigningRequests, the newest one first.
    pub requests: Vec<Request>,
}

/// A config of an add-on on a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    /// The resource, with its group.
    pub resource: String,
    /// `NAMESPACE/NAME`, or the name of a config without a namespace.
    pub name: String,
    /// Which object names it.
    pub from: String,
    /// The hash of the spec that the add-on is to have. Empty if the config does not exist, or was not read.
    pub desired_hash: String,
    /// The hash of the spec that the add-on has. Empty if nothing was applied.
    pub applied_hash: String,
    /// `applied`, `not applied`, or `not found`.
    pub state: &'static str,
}

// === impl Explanation ===

impl Explanation {
    /// Explains an add-on on a cluster.
    #[must_use]
    pub fn of(facts: &Facts<'_>) -> Self {
        let metadata = &facts.on.metadata;
        let status = facts.status();
        let works = works::of(facts);
        let requests = registrations::requests(facts.requests);
        Self {
            name: metadata.name.clone().unwrap_or_default(),
            cluster: metadata.namespace.clone().unwrap_or_default(),
            manager: manager(facts),
            available: state_of(&status.conditions, addon::AVAILABLE),
            progressing: state_of(&status.conditions, addon::PROGRESSING),
            namespace: status.namespace.clone(),
            waits_for: waits::of(facts, &works, &requests),
            configs: configs(facts),
            registrations: registrations::of(&status.registrations),
            permissions: state_of(&status.conditions, addon::REGISTRATION_APPLIED),
            role_bindings: facts.bindings.iter().map(binding).collect(),
            works,
            requests,
        }
    }
}

// === impl Facts ===

impl<'a> Facts<'a> {
    fn status(&self) -> Cow<'a, ManagedClusterAddOnStatus> {
        match &self.on.status {
            Some(status) => Cow::Borrowed(status),
            None => Cow::Owned(ManagedClusterAddOnStatus::default()),
        }
    }

    fn annotation(&self, key: &str) -> Option<&'a str> {
        let annotations = self.on.metadata.annotations.as_ref()?;
        annotations.get(key).map(String::as_str)
    }

    /// The add-on is deployed by a template: the hub's controller of add-ons is its manager.
    fn is_template(&self) -> bool {
        let of_status = self.on.status.iter().flat_map(|it| &it.config_references);
        let of_status = of_status.map(|it| (&*it.group, &*it.resource));
        let defaults = self.add_on.iter().flat_map(|it| &it.spec.default_configs);
        let defaults = defaults.map(|it| (&*it.group, &*it.resource));
        of_status.chain(defaults).any(|it| it == TEMPLATE)
    }
}

fn manager(facts: &Facts<'_>) -> String {
    let Some(add_on) = facts.add_on else {
        return "none: there is no ClusterManagementAddOn of this name".to_owned();
    };
    let life_cycle = add_on.metadata.annotations.as_ref();
    let life_cycle = life_cycle.and_then(|it| it.get(labels::ADDON_LIFECYCLE));
    let mut words = match (life_cycle.map(String::as_str), facts.is_template()) {
        (None | Some("addon-manager"), true) => {
            "the hub's controller of add-ons, by an AddOnTemplate".to_owned()
        }
        (None | Some("addon-manager"), false) => {
            "its own; the hub's controller of add-ons installs and configures it".to_owned()
        }
        (Some(other), _) => format!(
            "its own; the life cycle {:?} keeps the hub's controller of add-ons away",
            shorten(other, 63)
        ),
    };
    let installed = if facts.annotation(labels::ADDON_INSTALLED_FOR).is_some() {
        "; installed by a placement"
    } else if add_on.spec.install_strategy.r#type == InstallStrategyType::Placements {
        "; created by a user or another manager, so it stays when no placement selects the cluster"
    } else {
        "; created by a user"
    };
    words.push_str(installed);
    words
}

fn configs(facts: &Facts<'_>) -> Vec<Config> {
    let status = facts.status();
    let of = |it: &ConfigReference| {
        let desired = it.desired_config.clone().unwrap_or_default();
        let applied = it.last_applied_config.as_ref();
        // What was applied may be another config.
        let applied =
            applied.filter(|it| (&it.namespace, &it.name) == (&desired.namespace, &desired.name));
        let applied = applied.map(|it| it.spec_hash.clone()).unwrap_or_default();
        let state = match &*desired.spec_hash {
            "" => "not found",
            hash if hash == applied => "applied",
            _ => "not applied",
        };
        let config = AddOnConfig {
            group: it.group.clone(),
            resource: it.resource.clone(),
            namespace: desired.namespace,
            name: desired.name,
        };
        Config {
            resource: resource(&config),
            name: name(&config),
            from: origin(facts, &config),
            desired_hash: desired.spec_hash,
            applied_hash: applied,
            state,
        }
    };
    status.config_references.iter().map(of).collect()
}

/// The object that names the config for this cluster.
fn origin(facts: &Facts<'_>, config: &AddOnConfig) -> String {
    if facts.on.spec.configs.contains(config) {
        return "ManagedClusterAddOn".to_owned();
    }
    let Some(add_on) = facts.add_on else {
        return "not named any more".to_owned();
    };
    let placements = add_on.spec.install_strategy.placements.iter();
    let mut naming = placements.filter(|it| it.configs.contains(config));
    if let Some(placement) = naming.next_back() {
        return format!("Placement {}/{}", placement.namespace, placement.name);
    }
    let mut defaults = add_on.spec.default_configs.iter();
    if defaults.any(|it| names_a_default(it) && it == config) {
        return "default of ClusterManagementAddOn".to_owned();
    }
    "not named any more".to_owned()
}

fn resource(config: &AddOnConfig) -> String {
    match &*config.group {
        "" => config.resource.clone(),
        group => format!("{}.{group}", config.resource),
    }
}

fn name(config: &AddOnConfig) -> String {
    match &*config.namespace {
        "" => config.name.clone(),
        namespace => format!("{namespace}/{}", config.name),
    }
}

fn binding(binding: &RoleBinding) -> String {
    let name = binding.metadata.name.as_deref().unwrap_or_default();
    let role = &binding.role_ref;
    format!("{name} ({} {})", role.kind, role.name)
}

/// A condition in words.
fn state_of(conditions: &[Condition], type_: &str) -> String {
    let Some(it) = condition_of(conditions, type_) else {
        return "not reported".to_owned();
    };
    let message = shorten(&it.message, LONGEST_MESSAGE);
    format!("{} ({}): {message}", it.status, it.reason)
}
