//! A ManagedCluster.

use std::collections::BTreeMap;

use berth_api::cluster::{ClusterSetManagedNamespaceConfig, Taint};
use berth_api::conditions::condition_of;
use berth_api::lenient::{self, Read, Unreadable};
use berth_api::{ManagedCluster, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::Value;

use super::reported::Reported;

/// A ManagedCluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cluster {
    /// metadata.uid
    pub uid: String,
    /// metadata.resourceVersion
    pub resource_version: String,
    /// It is being deleted.
    pub deleting: bool,
    /// metadata.labels
    pub labels: BTreeMap<String, String>,
    /// When it was accepted automatically, from its annotation.
    pub auto_accepted_on: Option<String>,
    /// An admin denied it, or a request of its agent, from its annotation.
    pub denied: bool,
    /// The annotation that turns off the check of its clock is `true`.
    pub skip_clock_check: bool,
    /// metadata.finalizers
    pub finalizers: Vec<String>,
    /// spec.hubAcceptsClient
    pub accepted: bool,
    /// It is not accepted, and its annotation says that its agent may not even remove its work.
    pub denied_now: bool,
    /// spec.leaseDurationSeconds
    pub lease_duration_seconds: Option<i32>,
    /// spec.taints
    pub taints: Vec<Taint>,
    /// status.conditions
    pub conditions: Vec<Condition>,
    /// status.managedNamespaces
    pub managed_namespaces: Vec<ClusterSetManagedNamespaceConfig>,
    /// What its agent reports, if the view keeps it for ClusterProfiles.
    pub reported: Option<Box<Reported>>,
    /// Fields that cannot be read. They count as absent.
    pub unreadable: Unreadable,
    /// Lists of which the view keeps a part.
    pub left_out: LeftOut,
    /// It is large as JSON: the API server takes long to write it.
    pub is_large: bool,
}

/// Lists with items that the view does not keep, because they are too many. What decisions read is kept. To write such a list, it must be
/// read from the hub first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Of metadata.finalizers.
    pub finalizers: bool,
    /// Of spec.taints.
    pub taints: bool,
    /// Of status.managedNamespaces.
    pub managed_namespaces: bool,
}

// === impl Cluster ===

impl Cluster {
    /// Reads a ManagedCluster. Never fails: see [`Self::unreadable`].
    pub fn read(object: &Value) -> Self {
        let Read { object, unreadable } = lenient::cluster(object);
        Self {
            unreadable,
            ..Self::from(object)
        }
    }

    /// The condition of this type.
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        condition_of(&self.conditions, type_)
    }

    /// `status` of the condition of this type.
    pub fn condition_status(&self, type_: &str) -> Option<&str> {
        self.condition(type_)
            .map(|condition| condition.status.as_str())
    }

    /// Returns true if a denial has something to record: the cluster is accepted, or its denial is not recorded yet. `now`: a
    /// denial that also revokes the rights on ManifestWorks.
    pub fn can_be_denied(&self, now: bool) -> bool {
        self.accepted || !self.denied || (now && !self.denied_now)
    }

    /// Returns true if it has this finalizer.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|own| own == finalizer)
    }
}

impl From<ManagedCluster> for Cluster {
    fn from(object: ManagedCluster) -> Self {
        let metadata = object.metadata;
        let annotations = metadata.annotations.unwrap_or_default();
        let mut status = object.status.unwrap_or_default();
        Self {
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
            labels: metadata.labels.unwrap_or_default(),
            auto_accepted_on: annotations.get(labels::AUTO_ACCEPTED_ON).cloned(),
            denied: annotations.contains_key(labels::DENIED_ON),
            skip_clock_check: annotations
                .get(labels::SKIP_CLOCK_SYNC_CHECK)
                .is_some_and(|value| value == "true"),
            denied_now: !object.spec.hub_accepts_client
                && annotations
                    .get(labels::DENY_NOW)
                    .is_some_and(|value| value == "true"),
            finalizers: metadata.finalizers.unwrap_or_default(),
            accepted: object.spec.hub_accepts_client,
            lease_duration_seconds: object.spec.lease_duration_seconds,
            taints: object.spec.taints,
            reported: Reported::of(&mut status),
            conditions: status.conditions,
            managed_namespaces: status.managed_namespaces,
            unreadable: Unreadable::default(),
            left_out: LeftOut::default(),
            is_large: false,
        }
    }
}
