//! One cluster with all its facts, for tests of single deciders; carries out their plans.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::Value;

pub(crate) use super::facts::applied_condition;
use super::facts_of;
use crate::cluster_plan::{ClusterChanges, ClusterPlan};
use crate::config::Config;
use crate::facts::{Addon, Cluster, ClusterFacts, Lease, Now, Owned, OwnedObjects};
use berth_api::conditions::with_condition;
use berth_api::plan::Action;

/// The cluster's name.
pub(crate) const NAME: &str = "c1";

/// A decider.
pub(crate) type Decider = fn(&ClusterFacts<'_>, Now, &mut ClusterPlan);

/// A cluster, its objects, and the time.
pub(crate) struct Scene {
    pub(crate) config: Config,
    pub(crate) cluster: Option<Cluster>,
    pub(crate) owned: OwnedObjects,
    pub(crate) lease: Option<Lease>,
    pub(crate) addons: BTreeMap<Box<str>, Addon>,
    pub(crate) now: Now,
}

// === impl Scene ===

impl Scene {
    /// A cluster with its namespace and without conditions.
    pub(crate) fn new() -> Self {
        Self {
            config: Config::default(),
            cluster: Some(Cluster {
                resource_version: "7".to_owned(),
                ..Cluster::default()
            }),
            owned: OwnedObjects {
                namespace: Some(Owned::default()),
                ..OwnedObjects::default()
            },
            lease: None,
            addons: BTreeMap::new(),
            now: now(),
        }
    }

    pub(crate) fn cluster(&mut self) -> &mut Cluster {
        self.cluster.as_mut().unwrap()
    }

    /// With this condition, an hour old.
    pub(crate) fn with(mut self, type_: &str, status: &str) -> Self {
        let since = self.now.wall - SignedDuration::from_hours(1);
        self.cluster()
            .conditions
            .push(condition(type_, status, since));
        self
    }

    /// With a lease whose renewal was seen this long ago, by clocks that agree.
    pub(crate) fn renewed(mut self, ago: Duration) -> Self {
        let wall = self.now.wall - ago;
        self.lease = Some(Lease {
            resource_version: "8".to_owned(),
            renew_time: Some(wall),
            renewed: self.now.instant - ago,
            first_seen: None,
            observed_wall: Some(wall),
        });
        self
    }

    /// With a lease that is this old by the agent's clock, seen for the first time now.
    pub(crate) fn first_seen(mut self, age: Duration) -> Self {
        self = self.renewed(age);
        let lease = self.lease.as_mut().unwrap();
        (lease.first_seen, lease.observed_wall) = (Some(self.now.instant), None);
        self
    }

    pub(crate) fn decide(&self, decider: Decider) -> ClusterPlan {
        let facts = ClusterFacts {
            cluster: self.cluster.as_ref(),
            lease: self.lease.as_ref(),
            ..facts_of(&self.config, NAME, &self.owned, &self.addons)
        };
        let mut plan = ClusterPlan::default();
        decider(&facts, self.now, &mut plan);
        plan
    }

    /// Decides and carries out until nothing is due, which is after `rounds` rounds.
    pub(crate) fn settles(&mut self, decider: Decider, rounds: usize) {
        for _ in 0..rounds {
            let plan = self.decide(decider);
            assert!(!plan.is_empty(), "something was expected to be due");
            self.carry_out(&plan);
        }
        let plan = self.decide(decider);
        assert!(plan.is_empty(), "asks for ever: {plan:?}");
    }

    /// Updates the facts as the hub does when this plan is written.
    pub(crate) fn carry_out(&mut self, plan: &ClusterPlan) {
        let ClusterChanges { labels, taints, .. } = plan.changes.clone();
        let cluster = self.cluster.as_mut().unwrap();
        for (key, value) in labels {
            match value {
                Some(value) => cluster.labels.insert(key, value),
                None => cluster.labels.remove(&key),
            };
        }
        if let Some(taints) = taints {
            cluster.taints = taints;
        }
        for write in &plan.writes {
            match (&*write.target.resource.resource, &write.action) {
                ("managedclusters", Action::ApplyStatus { body, .. }) => {
                    check_version(body, &cluster.resource_version);
                    let applied = applied_condition(body);
                    if let Some(conditions) = with_condition(&cluster.conditions, applied) {
                        cluster.conditions = conditions;
                    }
                }
                ("managedclusteraddons", Action::ApplyStatus { body, .. }) => {
                    let addon = self.addons.get_mut(&*write.target.name).unwrap();
                    check_version(body, &addon.resource_version);
                    addon.available = Some(applied_condition(body));
                }
                ("leases", Action::CreateOrPatch { body, .. }) => {
                    let renew_time = body["spec"]["renewTime"].as_str().unwrap();
                    let renew_time = renew_time.parse::<Timestamp>().unwrap();
                    self.lease = Some(Lease {
                        resource_version: "9".to_owned(),
                        renew_time: Some(renew_time),
                        renewed: crate::heartbeat::first_seen(Some(renew_time), self.now),
                        first_seen: Some(self.now.instant),
                        observed_wall: None,
                    });
                }
                (resource, action) => panic!("not expected of {resource}: {action:?}"),
            }
        }
    }
}

pub(crate) fn now() -> Now {
    Now {
        // In the future, so that an earlier Instant exists on every system.
        instant: Instant::now() + Duration::from_hours(48),
        wall: "2026-08-11T12:00:00.5Z".parse().unwrap(),
    }
}

/// A condition with this time.
pub(crate) fn condition(type_: &str, status: &str, since: Timestamp) -> Condition {
    Condition {
        last_transition_time: Time(since),
        ..super::condition(
            type_,
            status,
            &format!("Is{status}"),
            &format!("{type_} is {status}"),
        )
    }
}

fn check_version(body: &Value, stored: &str) {
    let decided_from = &body["metadata"]["resourceVersion"];
    assert!(decided_from.is_null() || decided_from == stored);
}
