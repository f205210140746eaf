//! A hub in memory, which takes the writes of plans for one cluster, and answers with the facts that they make.
//!
//! It refuses what an API server refuses: changes of immutable fields, and writes with an old resourceVersion, another uid or
//! a missing namespace. Agents and the namespace controller act when a test calls [`FakeHub::others_act`].

mod writes;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use berth_api::labels;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::facts_of;
use crate::cluster_plan::ClusterPlan;
use crate::config::Config;
use crate::facts::{
    Cluster, ClusterFacts, ClusterSet, Now, Owned, OwnedObjects, Remaining, RemainingObject,
};
use crate::{acceptance, names, removal, roles};
use berth_api::GroupVersionResource;
use berth_api::plan::{Event, Write};

pub(crate) const ADDONS: &str = "addon.open-cluster-management.io/v1beta1/managedclusteraddons";
pub(crate) const WORKS: &str = "work.open-cluster-management.io/v1/manifestworks";

/// The hub.
#[derive(Clone, Debug)]
pub(crate) struct FakeHub {
    pub(crate) config: Config,
    pub(crate) name: String,
    pub(crate) cluster: Option<Cluster>,
    pub(crate) was_there: bool,
    pub(crate) full: bool,
    /// Namespace and RBAC, by resource and name.
    pub(crate) objects: BTreeMap<(String, String), Stored>,
    /// The content of the namespace, by kind.
    pub(crate) content: BTreeMap<GroupVersionResource, Vec<Content>>,
    /// Kinds that cannot be listed, and why.
    pub(crate) unlistable: BTreeMap<GroupVersionResource, String>,
    pub(crate) bindings: Vec<String>,
    pub(crate) trusted_request: bool,
    pub(crate) refused_request: bool,
    pub(crate) sets: Vec<ClusterSet>,
    /// The ClusterRoles that all agents share exist.
    pub(crate) common_roles: bool,
    pub(crate) common_roles_failure: Option<String>,
    pub(crate) events: Vec<Event>,
    pub(crate) writes: Vec<Write>,
    now: Now,
    version: u64,
}

/// A namespace or an RBAC object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stored {
    pub(crate) uid: String,
    pub(crate) version: String,
    pub(crate) deleting: bool,
    pub(crate) finalizers: Vec<String>,
    pub(crate) body: Value,
}

/// An object in the cluster's namespace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Content {
    pub(crate) object: RemainingObject,
    /// An agent has to remove its finalizer.
    pub(crate) finalizer: bool,
}

/// A kind, written as in `--gc-resource-list`.
pub(crate) fn kind(text: &str) -> GroupVersionResource {
    let parts: Vec<&str> = text.split('/').collect();
    GroupVersionResource {
        group: parts[0].to_owned(),
        version: parts[1].to_owned(),
        resource: parts[2].to_owned(),
    }
}

// === impl FakeHub ===

impl FakeHub {
    /// A hub with a cluster that is not accepted yet.
    pub(crate) fn new(name: &str) -> Self {
        Self {
            config: Config {
                namespace: "hub".to_owned(),
                gc_resources: vec![kind(ADDONS), kind(WORKS)],
                ..Config::default()
            },
            name: name.to_owned(),
            cluster: Some(Cluster {
                uid: "cluster".to_owned(),
                resource_version: "1".to_owned(),
                ..Cluster::default()
            }),
            was_there: true,
            full: false,
            objects: BTreeMap::new(),
            content: BTreeMap::new(),
            unlistable: BTreeMap::new(),
            bindings: Vec::new(),
            trusted_request: false,
            refused_request: false,
            sets: Vec::new(),
            common_roles: true,
            common_roles_failure: None,
            events: Vec::new(),
            writes: Vec::new(),
            now: Now {
                instant: Instant::now(),
                wall: Timestamp::from_second(1_700_000_000).expect("it is in range"),
            },
            version: 1,
        }
    }

    /// A hub with an accepted cluster that has all its objects.
    pub(crate) fn accepted(name: &str) -> Self {
        let mut hub = Self::new(name);
        hub.cluster().accepted = true;
        hub.run();
        hub.writes.clear();
        hub.events.clear();
        hub
    }

    pub(crate) fn cluster(&mut self) -> &mut Cluster {
        self.cluster.as_mut().expect("the cluster is there")
    }

    pub(crate) fn now(&self) -> Now {
        self.now
    }

    pub(crate) fn condition(&self, type_: &str) -> Option<(&str, &str, &str)> {
        let condition = self.cluster.as_ref()?.condition(type_)?;
        Some((&condition.status, &condition.reason, &condition.message))
    }

    pub(crate) fn insert(&mut self, body: Value) -> &mut Stored {
        self.version += 1;
        let finalizers = strings(&body["metadata"]["finalizers"]);
        let stored = Stored {
            uid: format!("uid-{}", self.version),
            version: self.version.to_string(),
            deleting: false,
            finalizers,
            body,
        };
        let target = roles::target(&stored.body);
        let key = (target.resource.resource, target.name);
        self.objects.insert(key.clone(), stored);
        self.objects
            .get_mut(&key)
            .expect("it has just been inserted")
    }

    pub(crate) fn object(&self, resource: &str, name: &str) -> Option<&Stored> {
        self.objects.get(&(resource.to_owned(), name.to_owned()))
    }

    pub(crate) fn object_mut(&mut self, resource: &str, name: &str) -> &mut Stored {
        self.objects
            .get_mut(&(resource.to_owned(), name.to_owned()))
            .expect("the object is there")
    }

    pub(crate) fn put(
        &mut self,
        resource: &str,
        name: &str,
        priority: Option<&str>,
        finalizer: bool,
    ) {
        self.version += 1;
        self.content
            .entry(kind(resource))
            .or_default()
            .push(Content {
                object: RemainingObject {
                    name: name.to_owned(),
                    uid: format!("uid-{}", self.version),
                    deleting: false,
                    cleanup_priority: priority.map(str::to_owned),
                },
                finalizer,
            });
    }

    /// Names of what is left of a kind.
    pub(crate) fn names(&self, resource: &str) -> Vec<&str> {
        self.content
            .get(&kind(resource))
            .into_iter()
            .flatten()
            .map(|content| &*content.object.name)
            .collect()
    }

    /// Calls `use_them` with the current facts.
    pub(crate) fn with_facts<T>(
        &self,
        ask: bool,
        use_them: impl FnOnce(&ClusterFacts<'_>) -> T,
    ) -> T {
        let owned = match self.cluster {
            Some(_) => self.owned(),
            None => self.owned().without_cluster(),
        };
        let addons = BTreeMap::new();
        let bindings: Vec<&str> = self.bindings.iter().map(String::as_str).collect();
        let labels = self.cluster.as_ref().map(|cluster| &cluster.labels);
        let sets: Vec<&ClusterSet> = (self.sets.iter())
            .filter(|set| labels.is_some_and(|labels| set.selects(labels)))
            .collect();
        let mut facts = ClusterFacts {
            cluster: self.cluster.as_ref(),
            was_there: self.was_there,
            full: self.full,
            common_roles: self.common_roles,
            common_roles_failure: self.common_roles_failure.as_deref(),
            sets: &sets,
            bindings: &bindings,
            trusted_request: self.trusted_request,
            refused_request: self.refused_request,
            namespace_taken: Some(self.has_foreign_namespace()),
            ..facts_of(&self.config, &self.name, &owned, &addons)
        };
        let questions = removal::questions(&facts);
        let remaining: Vec<Remaining> = questions
            .into_iter()
            .map(|resource| Remaining {
                objects: match self.unlistable.get(&resource) {
                    Some(why) => Err(why.clone()),
                    None => Ok(self
                        .content
                        .get(&resource)
                        .into_iter()
                        .flatten()
                        .map(|content| content.object.clone())
                        .collect()),
                },
                resource,
            })
            .collect();
        if ask && !remaining.is_empty() {
            facts.remaining = Some(&remaining);
        }
        use_them(&facts)
    }

    /// The plan of the deciders of acceptance and removal.
    pub(crate) fn decide(&self) -> ClusterPlan {
        self.with_facts(true, |facts| {
            let mut plan = ClusterPlan::default();
            removal::decide(facts, self.now, &mut plan);
            acceptance::decide(facts, self.now, &mut plan);
            plan
        })
    }

    /// Decides and writes until nothing is due, and returns the number of rounds. Agents do nothing meanwhile.
    pub(crate) fn run(&mut self) -> usize {
        for round in 0..50 {
            let plan = self.decide();
            if plan.is_empty() {
                return round;
            }
            let failures = self.carry_out(plan);
            assert_eq!(failures, [], "no write of ours is refused");
        }
        panic!("it writes for ever: {:#?}", self.decide());
    }

    /// As [`FakeHub::run`]; agents and namespace controller act whenever nothing else is due.
    pub(crate) fn settle(&mut self) {
        for _ in 0..200 {
            let rounds = self.run();
            assert!(rounds <= 10, "{rounds} rounds");
            if !self.others_act() {
                return;
            }
        }
        panic!("it does not settle: {:#?}", self.decide());
    }

    /// A user deletes the ManagedCluster.
    pub(crate) fn delete_cluster(&mut self) {
        let cluster = self.cluster();
        cluster.deleting = true;
        if cluster.finalizers.is_empty() {
            self.cluster = None;
        }
    }

    /// The agent removes objects that are being deleted, and the namespace controller continues. Returns true if anything
    /// changed.
    pub(crate) fn others_act(&mut self) -> bool {
        let mut acted = false;
        for content in self.content.values_mut() {
            let before = content.len();
            content.retain(|content| !content.object.deleting);
            acted |= content.len() < before;
        }
        let namespace = ("namespaces".to_owned(), self.name.clone());
        if self
            .objects
            .get(&namespace)
            .is_some_and(|stored| stored.deleting)
        {
            for content in self.content.values_mut() {
                acted |= !content.is_empty();
                content.clear();
            }
            let inside: Vec<_> = self
                .objects
                .iter()
                .filter(|((resource, _), _)| resource == "rolebindings")
                .map(|(key, stored)| (key.clone(), stored.uid.clone(), stored.deleting))
                .collect();
            if inside.is_empty() {
                self.objects.remove(&namespace);
                acted = true;
            }
            for ((resource, name), uid, deleting) in inside {
                if !deleting {
                    acted = true;
                    self.remove((resource, name), &uid).expect("it is there");
                }
            }
        }
        acted
    }

    /// The visible state, without values that differ from run to run.
    pub(crate) fn portrait(&self) -> Value {
        let objects: BTreeMap<String, Value> = self
            .objects
            .iter()
            .map(|((resource, name), stored)| {
                let shown = json!([stored.body, stored.deleting, stored.finalizers]);
                (format!("{resource}/{name}"), shown)
            })
            .collect();
        let cluster = self.cluster.as_ref().map(|cluster| {
            let mut finalizers = cluster.finalizers.clone();
            finalizers.sort();
            let mut conditions = cluster.conditions.clone();
            conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
            json!([
                cluster.accepted,
                cluster.auto_accepted_on,
                finalizers,
                conditions
            ])
        });
        let content: Vec<String> = self
            .content
            .values()
            .flatten()
            .map(|content| content.object.name.clone())
            .collect();
        json!({ "objects": objects, "cluster": cluster, "content": content })
    }

    /// A namespace of the cluster's name exists without its label.
    fn has_foreign_namespace(&self) -> bool {
        self.object("namespaces", &self.name).is_some() && self.owned().namespace.is_none()
    }

    fn owned(&self) -> OwnedObjects {
        let own = |resource: &str, name: String| {
            let stored = self.objects.get(&(resource.to_owned(), name))?;
            let label = &stored.body["metadata"]["labels"][labels::CLUSTER_NAME];
            (label.as_str() == Some(&self.name)).then(|| Owned {
                uid: stored.uid.clone(),
                resource_version: stored.version.clone(),
                deleting: stored.deleting,
                work_finalizer: stored
                    .finalizers
                    .iter()
                    .any(|own| own == labels::MANIFEST_WORK_CLEANUP),
                other_finalizers: stored
                    .finalizers
                    .iter()
                    .filter(|own| *own != labels::MANIFEST_WORK_CLEANUP)
                    .cloned()
                    .collect(),
                fingerprint: roles::fingerprint(&self.config, &stored.body),
                is_of_agent: roles::is_of_agent(&stored.body),
            })
        };
        let name = &self.name;
        OwnedObjects {
            namespace: own("namespaces", name.clone()),
            cluster_role: own("clusterroles", names::cluster_role(name)),
            cluster_role_binding: own("clusterrolebindings", names::cluster_role(name)),
            registration_binding: own("rolebindings", names::registration_binding(name)),
            work_binding: own("rolebindings", names::work_binding(name)),
        }
    }

    fn next_version(&mut self) -> String {
        self.version += 1;
        self.version.to_string()
    }
}

/// The time from `now` until the plan asks to decide again.
pub(crate) fn again_after(plan: &ClusterPlan, now: Now) -> Option<Duration> {
    plan.again.map(|at| at.duration_since(now.instant))
}

fn strings(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
