//! What is due for one cluster, and how it becomes writes.

use std::collections::BTreeMap;
use std::time::Instant;

use berth_api::cluster::Taint;
use berth_api::plan::{Action, Event, Plan, Write};
use serde_json::{Map, Value, json};

use crate::facts::{Cluster, LeftOut};
use crate::names::managers;
use crate::{managed_namespaces, status};

/// What is due for one cluster: a [`Plan`], and changes to the ManagedCluster that several deciders make.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterPlan {
    /// Changes to the ManagedCluster itself; they become one patch.
    pub changes: ClusterChanges,
    /// All others. They are sent at the same time, in no order.
    pub writes: Vec<Write>,
    /// When to decide again, though nothing may have changed. The earliest time that was asked for.
    pub again: Option<Instant>,
}

/// Changes to metadata and spec of a ManagedCluster. Each decider adds its own; [`ClusterPlan::into_plan`] makes one merge
/// patch of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterChanges {
    /// Finalizers to add.
    pub add_finalizers: Vec<&'static str>,
    /// Finalizers to remove.
    pub remove_finalizers: Vec<&'static str>,
    /// Labels to set, or to remove (None).
    pub labels: BTreeMap<String, Option<String>>,
    /// Annotations to set.
    pub annotations: BTreeMap<String, String>,
    /// The new value of spec.taints.
    pub taints: Option<Vec<Taint>>,
    /// spec.hubAcceptsClient becomes true.
    pub accept: bool,
    /// Events, sent when the patch has been written.
    pub events: Vec<Event>,
}

// === impl ClusterPlan ===

impl ClusterPlan {
    /// Returns true if nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.changes == ClusterChanges::default()
    }

    /// Returns true if it writes a list of which the facts have only a part: then it must be decided from the whole list.
    pub fn rewrites(&self, left_out: LeftOut) -> bool {
        let ClusterChanges {
            add_finalizers,
            remove_finalizers,
            taints,
            ..
        } = &self.changes;
        let finalizers = !add_finalizers.is_empty() || !remove_finalizers.is_empty();
        let mut writes = self.writes.iter();
        (left_out.finalizers && finalizers)
            || (left_out.taints && taints.is_some())
            || (left_out.managed_namespaces
                && writes.any(|write| write.reconciler == managed_namespaces::NAME))
    }

    /// Leaves the changes of the ManagedCluster and its lists out.
    pub fn leave_cluster(&mut self) {
        self.changes = ClusterChanges::default();
        self.writes
            .retain(|write| write.reconciler != managed_namespaces::NAME);
    }

    /// Asks to decide again at this time, if not earlier.
    pub fn look_again(&mut self, at: Instant) {
        self.again = Some(self.again.map_or(at, |earlier| earlier.min(at)));
    }

    /// The writes that carry this out: the changes become one merge patch of `cluster`, which has its uid and
    /// resourceVersion. Without a ManagedCluster the changes are dropped.
    ///
    /// Each object is written at most once: two writes at the same time would conflict. The patch comes first, then the
    /// writes in their order; the deciders ask again for a write that is left out.
    pub fn into_plan(self, name: &str, cluster: Option<&Cluster>) -> Plan {
        let patch = cluster.and_then(|cluster| self.changes.into_patch(name, cluster));
        let mut writes: Vec<Write> = Vec::new();
        for write in patch.into_iter().chain(self.writes) {
            if writes.iter().all(|other| other.target != write.target) {
                writes.push(write);
            }
        }
        Plan {
            writes,
            again: self.again,
        }
    }
}

// === impl ClusterChanges ===

impl ClusterChanges {
    /// One merge patch of all changes; None without a change.
    fn into_patch(self, name: &str, cluster: &Cluster) -> Option<Write> {
        if self == Self::default() {
            return None;
        }
        let mut metadata = Map::new();
        metadata.insert("uid".into(), cluster.uid.clone().into());
        metadata.insert(
            "resourceVersion".into(),
            cluster.resource_version.clone().into(),
        );
        let mut finalizers = cluster.finalizers.clone();
        finalizers.retain(|finalizer| !self.remove_finalizers.contains(&finalizer.as_str()));
        for add in self.add_finalizers {
            if !finalizers.iter().any(|finalizer| finalizer == add) {
                finalizers.push(add.to_owned());
            }
        }
        if finalizers != cluster.finalizers {
            metadata.insert("finalizers".into(), finalizers.into());
        }
        if !self.labels.is_empty() {
            let labels = self.labels.into_iter();
            let labels: Map<_, _> = labels.map(|(key, value)| (key, json!(value))).collect();
            metadata.insert("labels".into(), labels.into());
        }
        if !self.annotations.is_empty() {
            metadata.insert("annotations".into(), json!(self.annotations));
        }
        let mut spec = Map::new();
        if let Some(taints) = self.taints {
            spec.insert("taints".into(), json!(taints));
        }
        if self.accept {
            spec.insert("hubAcceptsClient".into(), Value::Bool(true));
        }
        let mut body = Map::new();
        body.insert("metadata".into(), metadata.into());
        if !spec.is_empty() {
            body.insert("spec".into(), spec.into());
        }
        Some(Write {
            target: status::cluster_target(name),
            action: Action::Patch {
                subresource: None,
                body: body.into(),
            },
            reconciler: managers::PATCHES,
            events: self.events,
        })
    }
}

#[cfg(test)]
mod tests {
    use berth_api::plan::Target;

    use super::*;

    fn cluster() -> Cluster {
        Cluster {
            uid: "u1".to_owned(),
            resource_version: "7".to_owned(),
            finalizers: vec!["a".to_owned(), "b".to_owned()],
            ..Cluster::default()
        }
    }

    /// The bodies of the patches that these changes become.
    fn patches(changes: ClusterChanges) -> Vec<Value> {
        let plan = ClusterPlan {
            changes,
            ..ClusterPlan::default()
        };
        let writes = plan.into_plan("c1", Some(&cluster())).writes.into_iter();
        let body = |write: Write| match write.action {
            Action::Patch {
                subresource: None,
                body,
            } if write.target == status::cluster_target("c1") => body,
            other => panic!("not a patch of the ManagedCluster: {other:?}"),
        };
        writes.map(body).collect()
    }

    #[test]
    fn all_changes_become_one_patch_with_uid_and_version() {
        let event = Event {
            warning: false,
            reason: "ManagedClusterAccepted",
            note: "accepted".to_owned(),
            namespace: None,
        };
        let changes = ClusterChanges {
            add_finalizers: vec!["c", "b"],
            remove_finalizers: vec!["a", "unknown"],
            labels: [
                ("set".to_owned(), Some("x".to_owned())),
                ("old".to_owned(), None),
            ]
            .into(),
            annotations: [("note".to_owned(), "text".to_owned())].into(),
            taints: Some(Vec::new()),
            accept: true,
            events: vec![event.clone()],
        };
        assert_eq!(
            patches(changes.clone()),
            [json!({
                "metadata": {
                    "uid": "u1", "resourceVersion": "7", "finalizers": ["b", "c"],
                    "labels": {"set": "x", "old": null}, "annotations": {"note": "text"},
                },
                "spec": {"taints": [], "hubAcceptsClient": true},
            })]
        );
        let plan = ClusterPlan {
            changes,
            ..ClusterPlan::default()
        };
        let writes = plan.into_plan("c1", Some(&cluster())).writes;
        assert_eq!(writes[0].events, [event]);
    }

    #[test]
    fn only_what_changes_is_in_the_patch() {
        assert_eq!(patches(ClusterChanges::default()), [] as [Value; 0]);
        let accepted = ClusterChanges {
            add_finalizers: vec!["a"],
            accept: true,
            ..ClusterChanges::default()
        };
        assert_eq!(
            patches(accepted),
            [json!({
                "metadata": {"uid": "u1", "resourceVersion": "7"},
                "spec": {"hubAcceptsClient": true},
            })]
        );
    }

    #[test]
    fn a_list_of_which_a_part_is_known_is_not_written() {
        let plan = |changes| ClusterPlan {
            changes,
            ..ClusterPlan::default()
        };
        let taints = plan(ClusterChanges {
            taints: Some(Vec::new()),
            ..ClusterChanges::default()
        });
        let finalizers = plan(ClusterChanges {
            add_finalizers: vec!["a"],
            ..ClusterChanges::default()
        });
        let namespaces = ClusterPlan {
            writes: vec![Write::patch(
                managed_namespaces::NAME,
                status::cluster_target("c1").resource,
                "c1",
                json!({}),
            )],
            ..ClusterPlan::default()
        };
        let part = |finalizers, taints, managed_namespaces| LeftOut {
            finalizers,
            taints,
            managed_namespaces,
        };
        for (plan, of_it, of_others) in [
            (taints, part(false, true, false), part(true, false, true)),
            (
                finalizers,
                part(true, false, false),
                part(false, true, true),
            ),
            (
                namespaces,
                part(false, false, true),
                part(true, true, false),
            ),
        ] {
            assert!(plan.rewrites(of_it), "{plan:?}");
            assert!(!plan.rewrites(of_others), "{plan:?}");
        }
    }

    #[test]
    fn each_object_is_written_once_and_the_patch_comes_first() {
        let write = |name: &str, why| Write {
            target: Target {
                name: name.to_owned(),
                ..status::cluster_target(name)
            },
            action: Action::Delete {
                uid: "u".to_owned(),
                resource_version: None,
                why,
            },
            reconciler: "tests",
            events: Vec::new(),
        };
        let plan = ClusterPlan {
            changes: ClusterChanges {
                accept: true,
                ..ClusterChanges::default()
            },
            writes: vec![write("c1", "1"), write("x", "2"), write("x", "3")],
            again: Some(Instant::now()),
        };
        let again = plan.again;
        let made = plan.clone().into_plan("c1", Some(&cluster()));
        assert_eq!(made.again, again);
        assert!(matches!(made.writes[0].action, Action::Patch { .. }));
        assert_eq!(made.writes[1..], [write("x", "2")]);
        // Without a ManagedCluster, its changes are dropped.
        let made = plan.into_plan("c1", None);
        assert_eq!(made.writes, [write("c1", "1"), write("x", "2")]);
    }
}
