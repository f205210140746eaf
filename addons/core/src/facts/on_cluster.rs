//! A ManagedClusterAddOn.

use std::collections::BTreeMap;

use berth_api::addon::{
    AddOnConfig, ConfigGroupResource, ConfigReference, HealthCheckMode, ManagedClusterAddOn,
    RegistrationConfig,
};
use berth_api::conditions::{FALSE, TRUE, addon, condition_of};
use berth_api::{labels, lenient};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, OwnerReference};
use serde_json::Value;

/// Why the agents of an add-on on a cluster have no rights.
pub const NOT_ACCEPTED: &str = "the ManagedCluster is not accepted (spec.hubAcceptsClient)";

/// A ManagedClusterAddOn, as far as it decides: the add-on on one cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OnCluster {
    /// metadata.uid
    pub uid: String,
    /// metadata.resourceVersion
    pub resource_version: String,
    /// metadata.generation
    pub generation: Option<i64>,
    /// It is being deleted.
    pub is_deleting: bool,
    /// metadata.finalizers
    pub finalizers: Vec<String>,
    /// metadata.ownerReferences
    pub owners: Vec<OwnerReference>,
    /// The annotations of add-ons, and the mark of this manager.
    pub annotations: BTreeMap<String, String>,
    /// spec.configs
    pub configs: Vec<AddOnConfig>,
    /// status.supportedConfigs
    pub supported: Vec<ConfigGroupResource>,
    /// status.configReferences
    pub references: Vec<ConfigReference>,
    /// status.registrations
    pub registrations: Vec<RegistrationConfig>,
    /// status.namespace
    pub namespace: String,
    /// status.healthCheck.mode
    pub health_check: HealthCheckMode,
    /// status.conditions
    pub conditions: Vec<Condition>,
}

/// Conditions, by type and reason, that mean a failure while they are false.
const FAILURES: [(&str, &str); 5] = [
    (addon::PROGRESSING, addon::FAILED),
    (addon::PROGRESSING, addon::CONFIGURATION_UNSUPPORTED),
    (
        addon::HOSTING_CLUSTER_VALIDITY,
        addon::HOSTING_CLUSTER_INVALID,
    ),
    (addon::REGISTRATION_APPLIED, addon::SET_PERMISSION_FAILED),
    (
        addon::TOKEN_INFRASTRUCTURE_READY,
        addon::TOKEN_INFRASTRUCTURE_APPLY_FAILED,
    ),
];

// === impl OnCluster ===

impl OnCluster {
    /// Reads a ManagedClusterAddOn of v1beta1. Agents write its status, so that each condition is read on its own.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(json: &str) -> Result<Self, serde_json::Error> {
        let value: Value = serde_json::from_str(json)?;
        let object = lenient::with_conditions::<ManagedClusterAddOn>(&value)?.object;
        let metadata = object.metadata;
        let status = object.status.unwrap_or_default();
        let mut annotations = metadata.annotations.unwrap_or_default();
        annotations.retain(|key, _| is_of_add_ons(key) || key == labels::ADDON_INSTALLED_FOR);
        Ok(Self {
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            generation: metadata.generation,
            is_deleting: metadata.deletion_timestamp.is_some(),
            finalizers: metadata.finalizers.unwrap_or_default(),
            owners: metadata.owner_references.unwrap_or_default(),
            annotations,
            configs: object.spec.configs,
            supported: status.supported_configs,
            references: status.config_references,
            registrations: status.registrations,
            namespace: status.namespace,
            health_check: status.health_check.mode,
            conditions: status.conditions,
        })
    }

    /// The cluster that is to host the agent, if it is another one.
    #[must_use]
    pub fn hosting(&self) -> Option<&str> {
        let name = self.annotations.get(labels::ADDON_HOSTING_CLUSTER)?;
        Some(name.as_str()).filter(|it| !it.is_empty())
    }

    /// The states it is in, for metrics: one of `available`, `unavailable` and `unknown` (also if nothing has reported it), and beside it
    /// `failed` (its manifests, configs, hosting cluster, permissions or tokens) and `deleting`.
    pub fn states(&self) -> impl Iterator<Item = &'static str> {
        let status_of = |type_| condition_of(&self.conditions, type_).map(|it| it.status.as_str());
        let available = match status_of(addon::AVAILABLE) {
            Some(TRUE) => "available",
            Some(FALSE) => "unavailable",
            _ => "unknown",
        };
        let is_failed = FAILURES.iter().any(|(type_, reason)| {
            // A cluster that an admin denied has not failed.
            let is = |it: &Condition| {
                it.status == FALSE && it.reason == *reason && !it.message.ends_with(NOT_ACCEPTED)
            };
            condition_of(&self.conditions, type_).is_some_and(is)
        });
        let besides = [(is_failed, "failed"), (self.is_deleting, "deleting")];
        let besides = besides.into_iter().filter(|it| it.0).map(|it| it.1);
        [available].into_iter().chain(besides)
    }

    /// Returns whether the objects differ in more than their version.
    #[must_use]
    pub fn differs(&self, other: &Self) -> bool {
        let other = Self {
            resource_version: self.resource_version.clone(),
            ..other.clone()
        };
        *self != other
    }

    /// Returns whether the objects differ in more than their version and conditions.
    #[must_use]
    pub fn differs_beyond_conditions(&self, other: &Self) -> bool {
        let other = Self {
            resource_version: self.resource_version.clone(),
            conditions: self.conditions.clone(),
            ..other.clone()
        };
        *self != other
    }
}

/// Returns whether an annotation of a cluster is one of its add-ons, which they get, too.
pub(crate) fn is_of_add_ons(key: &str) -> bool {
    key.starts_with(labels::ADDON_PREFIX)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use berth_api::Now;
    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::condition::condition;

    /// The states of an add-on with these conditions: type, status, reason.
    #[test]
    fn states_are_of_its_conditions() {
        let now = Now {
            wall: Timestamp::UNIX_EPOCH,
            instant: Instant::now(),
        };
        for (conditions, states) in [
            (&[][..], &["unknown"][..]),
            (&[("Available", "True", "A")], &["available"]),
            (&[("Available", "False", "A")], &["unavailable"]),
            (&[("Available", "Unknown", "A")], &["unknown"]),
            (
                &[
                    ("Available", "True", "A"),
                    ("Progressing", "False", "Failed"),
                ],
                &["available", "failed"],
            ),
            (
                &[
                    ("Available", "True", "A"),
                    ("Progressing", "False", "Completed"),
                ],
                &["available"],
            ),
            (
                &[("RegistrationApplied", "False", "SetPermissionFailed")],
                &["unknown", "failed"],
            ),
            (
                &[("RegistrationApplied", "False", "PermissionConfigPending")],
                &["unknown"],
            ),
            (
                &[("HostingClusterValidity", "False", "HostingClusterInvalid")],
                &["unknown", "failed"],
            ),
            (
                &[(
                    "TokenInfrastructureReady",
                    "False",
                    "TokenInfrastructureApplyFailed",
                )],
                &["unknown", "failed"],
            ),
        ] {
            let made = conditions
                .iter()
                .map(|(type_, status, reason)| condition(type_, (status, reason), "", now));
            let mut on = OnCluster {
                conditions: made.collect(),
                ..OnCluster::default()
            };
            assert_eq!(on.states().collect::<Vec<_>>(), states, "{conditions:?}");
            on.is_deleting = true;
            assert_eq!(on.states().last(), Some("deleting"));
        }
    }
}
