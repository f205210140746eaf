//! The screen Cluster: what is read of the hub about one cluster, and the answer that a plain function makes of it.

use std::collections::BTreeMap;

use berth_admin::answers::{Failure, Hub};
use berth_api::cluster::CLUSTER_LEASE;
use berth_api::cluster_set::{Membership, SelectorType};
use berth_api::labels::{CLUSTER_SET, TAINT_UNAVAILABLE, TAINT_UNREACHABLE};
use berth_api::lenient::{self, Unreadable};
use berth_api::{ManagedCluster, ManagedClusterSet, groups};
use berth_hub::{object_path, query_value};
use berth_lifecycle_core::facts::Cluster;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::answers::{
    Act, Capacity, ClaimOrLabel, ClusterAnswer, ConditionAnswer, Handshake, LeaseAnswer, Offer,
    SetAnswer, State, TaintAnswer, Text,
};
use crate::fact::{Standing, is_cordoned};
use crate::handshake::{CsrFact, Facts, LeaseFact, handshake, lateness};
use crate::live::CsrObject;
use crate::screens::offers::{Lacks, Target};
use crate::screens::requests::judge;
use std::sync::Arc;

/// Upper bound on the items of each list of the answer.
const MOST_ITEMS: usize = 200;

/// The number of objects of a page of sets or bindings. Further pages are not read.
const PAGE: usize = 500;

/// What was read of the hub about a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Details {
    object: ManagedCluster,
    unreadable: Unreadable,
    lease: Option<Option<LeaseFact>>,
    namespace: Option<bool>,
    /// The sets that it belongs to, with the namespaces that they are bound to.
    sets: Vec<SetAnswer>,
    lacks: Lacks,
    notes: Vec<Text>,
}

// === impl Details ===

impl Details {
    /// Reads what the user may read. `None`: the cluster does not exist.
    ///
    /// # Errors
    /// The ManagedCluster cannot be read. What else cannot be read is a note.
    pub(crate) async fn read(hub: &Hub, name: &str, lacks: Lacks) -> Result<Option<Self>, Failure> {
        let cluster = object_path((groups::CLUSTER, "v1", groups::MANAGED_CLUSTERS), "", name);
        let lease = object_path(("coordination.k8s.io", "v1", "leases"), name, CLUSTER_LEASE);
        let namespace = object_path(("", "v1", "namespaces"), "", name);
        let page = |resource: &str| {
            let path = object_path((groups::CLUSTER, "v1beta2", resource), "", "");
            format!("{path}?limit={PAGE}")
        };
        let (cluster, lease, namespace, sets, bindings) = futures::join!(
            hub.read(cluster),
            hub.read(lease),
            hub.read(namespace),
            hub.read(page("managedclustersets")),
            hub.read(page("managedclustersetbindings")),
        );
        let Some(value) = cluster? else {
            return Ok(None);
        };
        let mut notes = Vec::new();
        let mut seen = |what: &str, read: Result<Option<Value>, Failure>| match read {
            Ok(value) => Some(value),
            Err(failure) => {
                notes.push(format!("{what} cannot be shown: {}", failure.message).into());
                None
            }
        };
        let lease = seen("The Lease of its agent", lease);
        let namespace = seen("Its namespace", namespace);
        let sets = seen("Its sets", sets).flatten();
        let bindings = seen("Bindings of its sets", bindings).flatten();
        let lenient::Read { object, unreadable } = lenient::cluster(&value);
        if !unreadable.is_empty() {
            notes.push(format!("These fields cannot be read: {unreadable}").into());
        }
        let labels = object.metadata.labels.clone().unwrap_or_default();
        let sets = sets_of(&labels, sets.as_ref(), bindings.as_ref());
        Ok(Some(Self {
            object,
            unreadable,
            lease: lease.map(|it| it.map(|it| LeaseFact::read(&it))),
            namespace: namespace.map(|it| it.is_some()),
            sets,
            lacks,
            notes,
        }))
    }

    /// The Lease was renewed, deleted, or can be seen no more.
    pub(crate) fn set_lease(&mut self, lease: Option<LeaseFact>) {
        self.lease = Some(lease);
    }

    /// The cluster is accepted, and its namespace does not exist yet.
    pub(crate) fn awaits_namespace(&self) -> bool {
        self.object.spec.hub_accepts_client && self.namespace == Some(false)
    }

    /// Returns the answer at this time. `csrs`: None if the user may not list CSRs.
    pub(crate) fn answer(&self, csrs: Option<&[Arc<CsrObject>]>, now: Timestamp) -> ClusterAnswer {
        let name = self.object.metadata.name.clone().unwrap_or_default();
        let created = self.object.metadata.creation_timestamp.as_ref();
        let created = created.map(|it| it.0);
        let cluster = Cluster {
            unreadable: self.unreadable.clone(),
            ..Cluster::from(self.object.clone())
        };
        let facts = Facts {
            created,
            csrs: csrs.map(|csrs| csr_facts(&name, &cluster, csrs)),
            lease: self.lease,
            namespace: self.namespace,
            cluster,
            name,
        };
        let state = Standing::of(&facts.cluster).state;
        let spec = &self.object.spec;
        let status = self.object.status.clone().unwrap_or_default();
        let lease = self.lease.flatten().map(|lease| {
            let (grace_seconds, late) = lateness(&facts, lease, now);
            LeaseAnswer {
                renewed: lease.renewed,
                seconds: spec
                    .lease_duration_seconds
                    .filter(|it| *it > 0)
                    .unwrap_or(60),
                grace_seconds,
                late,
            }
        });
        let cordoned = is_cordoned(&spec.taints);
        let handshake = handshake(&facts, now);
        let urls = spec.managed_cluster_client_configs.iter();
        let claims = status.cluster_claims.iter();
        let labels = self.object.metadata.labels.iter().flatten();
        let capacity = status.capacity.iter().map(|(resource, quantity)| {
            let allocatable = status.allocatable.get(resource);
            Capacity {
                resource: Text::line(resource),
                capacity: Text::line(&quantity.0),
                allocatable: Text::line(allocatable.map_or("", |it| &it.0)),
            }
        });
        ClusterAnswer {
            name: Text::line(&facts.name),
            state,
            created,
            actions: self.offers(&facts, state, cordoned, &handshake),
            handshake,
            lease,
            version: Text::line(&status.version.map(|it| it.kubernetes).unwrap_or_default()),
            urls: urls
                .take(MOST_ITEMS)
                .map(|it| Text::line(&it.url))
                .collect(),
            claims: claims
                .take(MOST_ITEMS)
                .map(|it| pair(&it.name, &it.value))
                .collect(),
            labels: labels
                .take(MOST_ITEMS)
                .map(|(key, value)| pair(key, value))
                .collect(),
            capacity: capacity.take(MOST_ITEMS).collect(),
            taints: spec
                .taints
                .iter()
                .take(MOST_ITEMS)
                .map(TaintAnswer::from)
                .collect(),
            cordoned,
            conditions: (facts.cluster.conditions.iter().take(MOST_ITEMS))
                .map(|it| ConditionAnswer {
                    type_: Text::line(&it.type_),
                    status: Text::line(&it.status),
                    reason: Text::line(&it.reason),
                    message: Text::lines(&it.message),
                    since: Some(it.last_transition_time.0),
                })
                .collect(),
            sets: self.sets.clone(),
            placements: None,
            more_placements: 0,
            works: None,
            notes: self.notes.clone(),
        }
    }

    /// Returns the actions that the state of the cluster has.
    fn offers(
        &self,
        facts: &Facts,
        state: State,
        cordoned: bool,
        handshake: &Handshake,
    ) -> Vec<Offer> {
        let mut acts = Vec::new();
        let accepts = handshake.next.as_ref().and_then(|it| it.command.as_ref());
        let accepts = accepts.is_some_and(|it| it.as_str().starts_with("berth accept "));
        if state != State::Deleting && (!facts.cluster.accepted || accepts) {
            acts.push(Act::Accept);
        }
        if facts.cluster.accepted || state == State::Pending {
            acts.push(Act::Deny);
        }
        let was_accepted = facts.cluster.accepted || facts.cluster.denied;
        // Otherwise its agent never had rights on ManifestWorks.
        if was_accepted && facts.cluster.can_be_denied(true) {
            acts.push(Act::DenyNow);
        }
        acts.push(if cordoned { Act::Uncordon } else { Act::Cordon });
        acts.into_iter()
            .map(|act| self.lacks.offer(act, Target::Cluster(&facts.name)))
            .collect()
    }
}

fn csr_facts(name: &str, cluster: &Cluster, csrs: &[Arc<CsrObject>]) -> Vec<CsrFact> {
    let judged = judge(name, cluster, csrs).csrs;
    let with = judged.into_iter().filter_map(|csr| {
        let object = csrs.iter().find(|it| it.request.name == csr.request.name)?;
        Some(CsrFact {
            name: csr.request.name,
            sender: csr.request.username,
            created: csr.request.created,
            decision: csr.decision,
            issued: object.issued,
            approved_by: object.approved_by.clone(),
            approved_at: object.approved_at,
        })
    });
    with.collect()
}

fn pair(name: &str, value: &str) -> ClaimOrLabel {
    ClaimOrLabel {
        name: Text::line(name),
        value: Text::line(value),
    }
}

/// Returns the sets that select these labels.
fn sets_of(
    labels: &BTreeMap<String, String>,
    sets: Option<&Value>,
    bindings: Option<&Value>,
) -> Vec<SetAnswer> {
    let items = |list: Option<&Value>| -> Vec<Value> {
        let items = list.and_then(|it| it["items"].as_array());
        items.cloned().unwrap_or_default()
    };
    let bound: Vec<(String, String)> = (items(bindings).iter())
        .filter_map(|it| {
            let namespace = it["metadata"]["namespace"].as_str()?;
            let set = it["spec"]["clusterSet"].as_str()?;
            Some((set.to_owned(), namespace.to_owned()))
        })
        .collect();
    let mut found: Vec<SetAnswer> = (items(sets).iter())
        .filter_map(|it| {
            let set = ManagedClusterSet::deserialize(it).ok()?;
            let name = set.metadata.name?;
            let selector = &set.spec.cluster_selector;
            let members = Membership::new(&name, selector).ok()?;
            let namespaces = bound.iter().filter(|(set, _)| *set == name);
            members.matches(labels).then(|| SetAnswer {
                by_label: selector.selector_type != SelectorType::LabelSelector,
                bound: namespaces
                    .take(MOST_ITEMS)
                    .map(|(_, namespace)| Text::line(namespace))
                    .collect(),
                name: Text::line(&name),
            })
        })
        .take(MOST_ITEMS)
        .collect();
    // The label says so, even if the set does not exist, or cannot be seen.
    if let Some(own) = labels.get(CLUSTER_SET)
        && !found.iter().any(|it| it.name == Text::line(own))
    {
        found.push(SetAnswer {
            name: Text::line(own),
            by_label: true,
            bound: Vec::new(),
        });
    }
    found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The path of the Events about a cluster.
pub(crate) fn events_path(name: &str, limit: usize) -> String {
    // Those of this group are in the role console-reader.
    let path = object_path(("events.k8s.io", "v1", "events"), "", "");
    let selector = format!("regarding.kind=ManagedCluster,regarding.name={name}");
    format!(
        "{path}?limit={limit}&fieldSelector={}",
        query_value(&selector)
    )
}

// === impl LeaseFact ===

impl LeaseFact {
    pub(crate) fn read(lease: &Value) -> Self {
        let renewed = lease["spec"]["renewTime"].as_str();
        Self {
            renewed: renewed.and_then(|it| it.parse().ok()),
        }
    }
}

// === impl TaintAnswer ===

impl From<&berth_api::cluster::Taint> for TaintAnswer {
    fn from(taint: &berth_api::cluster::Taint) -> Self {
        let by_hub = [TAINT_UNAVAILABLE, TAINT_UNREACHABLE].contains(&taint.key.as_str());
        Self {
            key: Text::line(&taint.key),
            value: Text::line(&taint.value),
            effect: Text::line(taint.effect.as_str()),
            added: taint.time_added.as_ref().map(|it| it.0),
            by_hub,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_sets_of_a_cluster_are_those_that_select_it() {
        let labels = BTreeMap::from([
            (CLUSTER_SET.to_owned(), "prod".to_owned()),
            ("env".to_owned(), "live".to_owned()),
        ]);
        let by_labels = |key: &str| {
            json!({"clusterSelector": {
                "selectorType": "LabelSelector", "labelSelector": {"matchLabels": {key: "live"}},
            }})
        };
        let sets = json!({"items": [
            {"metadata": {"name": "prod"}, "spec": {}},
            {"metadata": {"name": "dev"}, "spec": {}},
            {"metadata": {"name": "live"}, "spec": by_labels("env")},
            {"metadata": {"name": "none"}, "spec": by_labels("x")},
            {"metadata": {"name": "broken"}, "spec": {"clusterSelector": []}},
        ]});
        let bindings = json!({"items": [
            {"metadata": {"name": "prod", "namespace": "shop"}, "spec": {"clusterSet": "prod"}},
            {"metadata": {"name": "dev", "namespace": "shop"}, "spec": {"clusterSet": "dev"}},
        ]});
        let shown = |sets: Option<&Value>| -> Vec<(String, bool, usize)> {
            let found = sets_of(&labels, sets, Some(&bindings));
            let each = found.iter();
            each.map(|it| (it.name.as_str().to_owned(), it.by_label, it.bound.len()))
                .collect()
        };
        let expected = [("live".to_owned(), false, 0), ("prod".to_owned(), true, 1)];
        assert_eq!(shown(Some(&sets)), expected);
        assert_eq!(shown(None), [("prod".to_owned(), true, 0)]);
    }
}
