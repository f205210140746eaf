//! The agent's report: `status` of its ManagedCluster.
//!
//! The order is that of OCM's agent. A cluster that is not accepted gets no report. An API server that does not work hides the rest: only
//! its condition is reported. While the hub says that the clocks differ, nothing is reported, because the hub would not believe it.
//!
//! The report is a JSON merge patch of the fields that differ, with uid and resourceVersion: the hub writes conditions into the same list,
//! and OCM's agent owns the same fields, so that a server-side apply could not remove what it has written.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use berth_api::Now;
use berth_api::cluster::{ClusterSetManagedNamespaceConfig, ManagedClusterClaim};
use berth_api::conditions::{self, TRUE, cluster, with_condition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Map, Value, json};

use crate::cluster::Cluster;
use crate::resources::{self, Resources};

/// What the agent knows of its cluster. `None`: not known yet, or not to be reported; the hub's value stays.
#[derive(Clone, Debug, Default)]
pub struct Report<'a> {
    /// The condition `ManagedClusterConditionAvailable`, if it is to be changed.
    pub available: Option<Condition>,
    /// The API server works. The fields below are reported only then.
    pub works: bool,
    /// The Kubernetes version.
    pub version: Option<&'a str>,
    /// The sums over the nodes.
    pub resources: Option<&'a Resources>,
    /// The claims.
    pub claims: Option<Vec<ManagedClusterClaim>>,
    /// The managed namespaces with their conditions.
    pub managed_namespaces: Option<Vec<ClusterSetManagedNamespaceConfig>>,
    /// The condition `ClusterCertificateRotated`, after a renewal.
    pub rotated: Option<Condition>,
}

/// Returns the patch of the ManagedCluster's status that is due. `None`: nothing differs, or nothing may be reported now.
#[must_use]
pub fn patch(cluster: &Cluster, report: Report<'_>, now: Now) -> Option<Value> {
    if !cluster.is_set_up() || cluster.is_clock_off() {
        return None;
    }
    let mut conditions: Option<Vec<Condition>> = None;
    let joined = (!cluster.has(cluster::JOINED, TRUE)).then(|| joined(now));
    for condition in [report.rotated, joined, report.available]
        .into_iter()
        .flatten()
    {
        let stored = conditions.as_ref().unwrap_or(&cluster.conditions);
        conditions = with_condition(stored, condition).or(conditions);
    }
    let mut status = Map::new();
    if let Some(conditions) = conditions {
        status.insert("conditions".into(), json!(conditions));
    }
    if report.works {
        if let Some(version) = report.version {
            let stored = cluster.version.as_ref().map(|it| it.kubernetes.as_str());
            if stored != Some(version) {
                status.insert("version".into(), json!({"kubernetes": version}));
            }
        }
        if let Some(Resources {
            capacity,
            allocatable,
            ..
        }) = report.resources
        {
            for (field, stored, wanted) in [
                ("capacity", &cluster.capacity, capacity),
                ("allocatable", &cluster.allocatable, allocatable),
            ] {
                if !resources::are_equal(stored, wanted) {
                    status.insert(field.into(), map_patch(stored, wanted));
                }
            }
        }
        if let Some(claims) = report.claims
            && claims != cluster.claims
        {
            status.insert("clusterClaims".into(), list_or_null(&claims));
        }
    }
    if let Some(namespaces) = report.managed_namespaces
        && namespaces != cluster.managed_namespaces
    {
        status.insert("managedNamespaces".into(), list_or_null(&namespaces));
    }
    if status.is_empty() {
        return None;
    }
    Some(json!({
        "metadata": {"uid": cluster.uid, "resourceVersion": cluster.resource_version},
        "status": status,
    }))
}

fn joined(now: Now) -> Condition {
    conditions::new(
        cluster::JOINED,
        (TRUE, "ManagedClusterJoined"),
        "Managed cluster joined",
        now.wall,
    )
}

/// A merge patch from one map to the other: null for what is to go.
fn map_patch(stored: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>) -> Value {
    let gone = stored.keys().filter(|name| !wanted.contains_key(*name));
    let gone = gone.map(|name| (name.clone(), Value::Null));
    let new = wanted
        .iter()
        .filter(|(name, amount)| stored.get(*name) != Some(amount));
    let new = new.map(|(name, amount)| (name.clone(), json!(amount)));
    Value::Object(gone.chain(new).collect())
}

fn list_or_null<T: serde::Serialize>(list: &[T]) -> Value {
    if list.is_empty() {
        Value::Null
    } else {
        json!(list)
    }
}
