//! ClusterProfiles: each cluster of a set, in each namespace that the set is bound to, for tools that do not know OCM.
//!
//! Follows OCM's ClusterProfileLifecycleController and ClusterProfileStatusController, so either adopts the objects of the other
//! without a write. Differences:
//! - It follows changes of a cluster's labels, not only of sets and bindings.
//! - It keeps a profile while it cannot be decided whether the cluster belongs to the sets.
//! - It keeps the properties that other writers added.
//!
//! # Whose item it is
//! Two conditions are the hub's, by their types; all others stay. A property is the hub's if a claim of the cluster has its name,
//! or if the hub's controller added it: then it goes with the claim. A property that another field manager added stays as it is, even if
//! a claim has its name. Access providers are never read or written. A profile of another cluster manager is left alone.
//!
//! Both lists are patched with a resourceVersion, not applied: OCM's controller may have written items before, and OCM's CRD declares the
//! lists as single fields, in which items have no owners.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Instant;

use berth_api::conditions::{self, since};
use berth_api::inventory::{
    CLUSTER_PROFILES, CLUSTER_SET, CONTROL_PLANE_HEALTHY, GROUP, JOINED, MANAGER,
    OPEN_CLUSTER_MANAGEMENT, VERSION,
};
use berth_api::plan::{Action, Plan, Target, Write};
use berth_api::{GroupVersionResource, labels, names};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Map, Value, json};

use crate::facts::{Cluster, Now, Profile, Reported};

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "cluster_profiles";

/// The relation of a cluster to the sets that are bound to a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// It belongs to one of them.
    Member,
    /// It belongs to none of them.
    Outsider,
    /// A binding cannot be read or has no condition `Bound` yet, or the selector of a set is invalid.
    Unknown,
}

/// The input of the decision about one ClusterProfile.
#[derive(Clone, Copy, Debug)]
pub struct ProfileFacts<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name, and the cluster's.
    pub name: &'a str,
    /// The cluster's relation to the sets that are bound to the namespace.
    pub membership: Membership,
    /// The ManagedCluster; None if it does not exist (any more).
    pub cluster: Option<&'a Cluster>,
    /// The ClusterProfile; None if it does not exist.
    pub stored: Option<&'a Profile>,
    /// The namespace was being deleted. Whether it takes new objects is tried at this time.
    pub closed_until: Option<Instant>,
}

/// Plans the next write to the ClusterProfile.
pub fn decide(facts: &ProfileFacts<'_>, now: Now) -> Plan {
    let cluster = facts.cluster.filter(|cluster| !cluster.deleting);
    let write = match (cluster, facts.membership, facts.stored) {
        (_, _, Some(stored)) if stored.deleting || stored.is_foreign() => None,
        (Some(cluster), Membership::Member, None) => {
            if let Some(until) = facts.closed_until.filter(|until| *until > now.instant) {
                let mut plan = Plan::default();
                plan.look_again(until);
                return plan;
            }
            facts.create(cluster)
        }
        (Some(cluster), Membership::Member | Membership::Unknown, Some(stored)) => (facts)
            .labels(cluster, stored)
            .or_else(|| facts.status(cluster, stored, now)),
        (None, _, Some(stored)) | (Some(_), Membership::Outsider, Some(stored)) => {
            facts.delete(stored)
        }
        (_, _, None) => None,
    };
    write.map(Plan::from).unwrap_or_default()
}

// === impl ProfileFacts ===

impl ProfileFacts<'_> {
    fn create(&self, cluster: &Cluster) -> Option<Write> {
        // A label has the cluster's name.
        if !names::label_value(self.name).is_empty() {
            return None;
        }
        let body = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": "ClusterProfile",
            "metadata": {
                "name": self.name,
                "namespace": self.namespace,
                "labels": Map::from_iter(self.wanted_labels(cluster)),
            },
            "spec": {
                "displayName": self.name,
                "clusterManager": {"name": OPEN_CLUSTER_MANAGEMENT},
            },
        });
        Some(self.write(Action::Create { body }))
    }

    /// Writes the labels that differ.
    fn labels(&self, cluster: &Cluster, stored: &Profile) -> Option<Write> {
        let wanted = self.wanted_labels(cluster).into_iter();
        let differing = wanted.filter(|(key, value)| {
            let stored = stored.labels.get(key);
            stored.map(String::as_str) != value.as_str()
        });
        let differing: Map<_, _> = differing.collect();
        if differing.is_empty() {
            return None;
        }
        let mut metadata = precondition(stored);
        metadata.insert("labels".to_owned(), differing.into());
        Some(self.write(Action::Patch {
            subresource: None,
            body: json!({"metadata": metadata}),
        }))
    }

    fn wanted_labels(&self, cluster: &Cluster) -> [(String, Value); 3] {
        // As with OCM, sets that select by other labels are not shown.
        let set = cluster.labels.get(labels::CLUSTER_SET);
        [
            (MANAGER, OPEN_CLUSTER_MANAGEMENT),
            (labels::CLUSTER_NAME, self.name),
            (CLUSTER_SET, set.map(String::as_str).unwrap_or_default()),
        ]
        .map(|(key, value)| (key.to_owned(), json!(value)))
    }

    /// Writes the fields of the status that differ.
    fn status(&self, cluster: &Cluster, stored: &Profile, now: Now) -> Option<Write> {
        let nothing = Reported::default();
        let reported = cluster.reported.as_deref().unwrap_or(&nothing);
        let mut status = Map::new();
        // What cannot be read counts as absent. It must not remove what was shown.
        if cluster.unreadable.is_empty() {
            if reported.kubernetes != stored.kubernetes {
                let version =
                    json!({"kubernetes": or_null(&reported.kubernetes, String::is_empty)});
                status.insert("version".to_owned(), version);
            }
            if let Some(properties) = properties(reported, stored) {
                let properties = or_null(&properties, Vec::is_empty);
                status.insert("properties".to_owned(), properties);
            }
        }
        if let Some(conditions) = conditions(cluster, stored, now) {
            status.insert("conditions".to_owned(), json!(conditions));
        }
        if status.is_empty() {
            return None;
        }
        Some(self.write(Action::Patch {
            subresource: Some("status"),
            body: json!({"metadata": precondition(stored), "status": status}),
        }))
    }

    /// Deletes a profile whose spec and label say that it is the hub's.
    fn delete(&self, stored: &Profile) -> Option<Write> {
        let delete = || Action::Delete {
            uid: stored.uid.clone(),
            resource_version: None,
            why: "the cluster is gone, or belongs to no set that is bound to the namespace",
        };
        stored.is_own().then(|| self.write(delete()))
    }

    fn write(&self, action: Action) -> Write {
        Write {
            target: Target {
                resource: GroupVersionResource::new(GROUP, VERSION, CLUSTER_PROFILES),
                namespace: Some(self.namespace.to_owned()),
                name: self.name.to_owned(),
            },
            action,
            reconciler: NAME,
            events: Vec::new(),
        }
    }
}

/// The properties: one for each claim, and those of other writers. None if the stored ones are the same in any order.
fn properties(reported: &Reported, stored: &Profile) -> Option<Vec<Value>> {
    fn name_of(item: &Value) -> &str {
        item["name"].as_str().unwrap_or_default()
    }
    let is_others = |item: &Value| stored.others.contains(name_of(item));
    let own: Vec<_> = (stored.properties.iter())
        .filter(|it| !is_others(it))
        .collect();
    let claims: Vec<_> = (reported.claims.iter())
        .filter(|claim| !stored.others.contains(&claim.name))
        .collect();
    let shown: BTreeSet<_> = own
        .iter()
        .map(|item| (name_of(item), item["value"].as_str().unwrap_or_default()))
        .collect();
    let wanted: BTreeSet<_> = claims
        .iter()
        .map(|claim| (&*claim.name, &*claim.value))
        .collect();
    if shown == wanted && own.len() == claims.len() {
        return None;
    }
    let claims = claims.into_iter().map(|claim| {
        let same = |item: &&&Value| name_of(item) == claim.name && item["value"] == claim.value;
        // With the time at which another writer observed it.
        let stored = own.iter().find(same).map(|item| (*item).clone());
        stored.unwrap_or_else(|| json!({"name": claim.name, "value": claim.value}))
    });
    let others = stored.properties.iter().filter(|item| is_others(item));
    Some(claims.chain(others.cloned()).collect())
}

/// The conditions: the two that follow the cluster's, and those of other writers. None if the stored ones are the same.
fn conditions(cluster: &Cluster, stored: &Profile, now: Now) -> Option<Vec<Value>> {
    let mut conditions = stored.conditions.clone();
    let mut changed = false;
    for (type_, of_cluster) in [
        (CONTROL_PLANE_HEALTHY, conditions::cluster::AVAILABLE),
        (JOINED, conditions::cluster::JOINED),
    ] {
        let Some(of_cluster) = cluster.condition(of_cluster) else {
            continue;
        };
        let old = conditions.iter_mut().find(|old| old["type"] == type_);
        let is_same = old.as_deref().is_some_and(|old| {
            old["status"] == of_cluster.status
                && old["reason"] == of_cluster.reason
                && old["message"] == of_cluster.message
        });
        if is_same {
            continue;
        }
        let time = match old.as_deref() {
            Some(old) if old["status"] == of_cluster.status => old["lastTransitionTime"].clone(),
            _ => Value::Null,
        };
        let mut condition = json!(Condition {
            type_: type_.to_owned(),
            last_transition_time: since(Some(of_cluster), &of_cluster.status)
                .unwrap_or(Time(now.wall)),
            observed_generation: None,
            ..of_cluster.clone()
        });
        if time.is_string() {
            condition["lastTransitionTime"] = time;
        }
        match old {
            Some(old) => *old = condition,
            None => conditions.push(condition),
        }
        changed = true;
    }
    changed.then_some(conditions)
}

/// The metadata with which a patch fails if the object is another one, or has changed.
fn precondition(stored: &Profile) -> Map<String, Value> {
    let fields = [
        ("uid", &stored.uid),
        ("resourceVersion", &stored.resource_version),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), json!(value)));
    fields.into_iter().collect()
}

/// The value, or null, which removes a field.
fn or_null<T: serde::Serialize>(value: &T, is_absent: impl Fn(&T) -> bool) -> Value {
    if is_absent(value) {
        return Value::Null;
    }
    json!(value)
}
