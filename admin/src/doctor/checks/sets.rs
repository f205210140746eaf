//! Sets and bindings: default sets, invalid selectors, and bindings that are not effective or in the wrong namespace.

use std::collections::BTreeSet;

use berth_api::conditions::condition_of;
use berth_api::conditions::{self, TRUE};
use berth_api::{ManagedClusterSet, labels};
use berth_lifecycle_core::config::Config;
use berth_lifecycle_core::default_sets;
use berth_lifecycle_core::facts::ClusterSet;
use jiff::SignedDuration;
use kube::ResourceExt;

use crate::doctor::facts::Facts;
use crate::doctor::finding::{Check, Finding, FindingObject};
use crate::doctor::installation;
use crate::hub::Item;
use crate::print::plain;

/// The controller may not have handled newer objects yet.
const NEW: SignedDuration = SignedDuration::from_secs(30);

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    match &facts.sets {
        Ok(sets) => {
            if installation::keeps_no_default_sets(facts) {
                let why = "the hub does not manage them (feature gate DefaultClusterSet)";
                findings.push(Check::DefaultSets.skipped(why));
            } else {
                for name in [labels::DEFAULT_SET, labels::GLOBAL_SET] {
                    findings.extend(default_set(name, sets));
                }
            }
            findings.extend(sets.iter().filter_map(selector));
        }
        Err(unread) => {
            for check in [Check::DefaultSets, Check::Sets] {
                findings.push(check.unknown("the sets", unread));
            }
        }
    }
    findings.extend(bindings(facts));
    findings
}

fn set_object(name: &str) -> FindingObject {
    FindingObject::new("managedclusterset", name)
}

fn default_set(name: &str, sets: &[Item<ManagedClusterSet>]) -> Option<Finding> {
    const CHECK: Check = Check::DefaultSets;
    let found = sets.iter().find(|item| item.name() == name);
    let keeps = "the controller creates and repairs it: check that it runs (checks controller and controller-rights)";
    let finding = match found {
        None => CHECK.fault("it does not exist").remedy(keeps),
        Some(item) if item.unreadable.is_some() => {
            let why = item.unreadable.as_deref().unwrap_or_default();
            CHECK
                .fault(format!("it cannot be read: {}", plain(why)))
                .remedy(format!("kubectl edit managedclusterset {name}"))
        }
        Some(item) => {
            let set = ClusterSet::from(item.object.clone());
            if set.deleting {
                let finalizers = item.object.finalizers();
                let finalizers: Vec<&str> = finalizers.iter().map(String::as_str).collect();
                let held = match finalizers.as_slice() {
                    [] => String::new(),
                    finalizers => {
                        format!(", and held by the finalizers {}", super::some(finalizers))
                    }
                };
                CHECK
                    .fault(format!(
                        "it is being deleted{held}; the hub creates it again after the deletion"
                    ))
                    .remedy(format!("kubectl edit managedclusterset {name}"))
            } else {
                wrong_selector(name, set)?
            }
        }
    };
    Some(finding.of(set_object(name)))
}

/// Compares the selector with the one that the controller would write.
fn wrong_selector(name: &str, set: ClusterSet) -> Option<Finding> {
    const CHECK: Check = Check::DefaultSets;
    let keeps_it = set.keeps_selector;
    let set = ClusterSet {
        keeps_selector: false,
        ..set
    };
    let config = Config::default();
    let (default, global) = match name {
        labels::DEFAULT_SET => (Some(&set), None),
        _ => (None, Some(&set)),
    };
    let plan = default_sets::decide(&config, default, global);
    let is_right = plan.writes.iter().all(|write| write.target.name != name);
    if is_right {
        return None;
    }
    let means = match name {
        labels::DEFAULT_SET => "clusters with its label do not belong to it",
        _ => "it does not select every cluster",
    };
    Some(if keeps_it {
        CHECK
            .warning(format!(
                "its selector is not the default one, and annotation {}=false keeps the hub from repairing it: {means}",
                labels::AUTO_UPDATE_SET
            ))
            .remedy(format!(
                "kubectl annotate managedclusterset {name} {}-",
                labels::AUTO_UPDATE_SET
            ))
    } else {
        CHECK
            .fault(format!("its selector is not the default one: {means}"))
            .remedy(
                "the controller repairs it: check that it runs (checks controller and controller-rights)",
            )
    })
}

fn selector(item: &Item<ManagedClusterSet>) -> Option<Finding> {
    const CHECK: Check = Check::Sets;
    let name = item.name();
    let finding = match &item.unreadable {
        Some(why) => CHECK.fault(format!("it cannot be read: {}", plain(why))),
        None => {
            let mistakes = ClusterSet::from(item.object.clone()).membership.err()?;
            let message = format!(
                "it selects no clusters, since its selector is invalid: {}",
                plain(&mistakes)
            );
            CHECK.fault(message)
        }
    };
    Some(
        finding
            .of(set_object(&name))
            .remedy(format!("kubectl edit managedclusterset {name}")),
    )
}

fn bindings(facts: &Facts) -> Vec<Finding> {
    let bindings = match &facts.bindings {
        Ok(bindings) => bindings,
        Err(unread) => {
            return [Check::Bindings, Check::ClusterNamespaces]
                .map(|check| check.unknown("the bindings", unread))
                .into();
        }
    };
    let mut findings = Vec::new();
    let accepted: BTreeSet<String> = match &facts.clusters {
        Ok(clusters) => clusters
            .iter()
            .filter(|item| item.object.spec.hub_accepts_client)
            .map(Item::name)
            .collect(),
        Err(unread) => {
            findings.push(Check::ClusterNamespaces.unknown("which clusters are accepted", unread));
            BTreeSet::new()
        }
    };
    for item in bindings {
        let (namespace, name) = (item.object.namespace().unwrap_or_default(), item.name());
        let object = FindingObject::within("managedclustersetbinding", &namespace, &name);
        let delete = format!("kubectl -n {namespace} delete managedclustersetbinding {name}");
        if accepted.contains(&namespace) {
            let message = format!(
                "the namespace is that of the accepted ManagedCluster {namespace:?}, whose agent has rights in it"
            );
            let remedy =
                format!("bind the set in another namespace, and delete this one: {delete}");
            findings.push(
                Check::ClusterNamespaces
                    .fault(message)
                    .of(object)
                    .remedy(remedy),
            );
            continue;
        }
        if item.object.metadata.deletion_timestamp.is_some() {
            continue;
        }
        let set = &item.object.spec.cluster_set;
        let status = item.object.status.as_ref();
        let bound = status
            .and_then(|it| condition_of(&it.conditions, conditions::cluster_set_binding::BOUND));
        let finding = match bound {
            Some(condition) if condition.status == TRUE => continue,
            Some(condition)
                if condition.reason == conditions::cluster_set_binding::CLUSTER_SET_NOT_FOUND =>
            {
                let message =
                    format!("it is not effective: ManagedClusterSet {set:?} does not exist");
                Check::Bindings
                    .warning(message)
                    .remedy(format!("berth create clusterset {set}; or {delete}"))
            }
            Some(condition) => {
                let (reason, message) = (plain(&condition.reason), plain(&condition.message));
                Check::Bindings
                    .warning(format!("it is not effective ({reason}): {message}"))
                    .remedy(format!(
                        "kubectl -n {namespace} describe managedclustersetbinding {name}"
                    ))
            }
            None if is_new(facts, item.object.creation_timestamp().map(|it| it.0)) => continue,
            None => Check::Bindings
                .warning("the hub has not reported yet whether it is effective")
                .remedy("check that the controller runs (checks controller and controller-rights)"),
        };
        findings.push(finding.of(object));
    }
    findings
}

pub(super) fn is_new(facts: &Facts, created: Option<jiff::Timestamp>) -> bool {
    let now = facts.answered.its_time.unwrap_or_else(|| facts.now());
    created.is_some_and(|created| now.duration_since(created) < NEW)
}

#[cfg(test)]
mod tests {
    use berth_api::{ManagedCluster, ManagedClusterSetBinding};
    use serde_json::{Value, json};

    use super::*;
    use crate::doctor::checks::testing::{told, with};

    fn sets(change: impl Fn(&mut Value)) -> Vec<Finding> {
        let mut all = json!([
            {"metadata": {"name": "default"},
             "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}},
            {"metadata": {"name": "global"},
             "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}},
            {"metadata": {"name": "prod"}},
        ]);
        change(&mut all);
        let items: Vec<_> = all
            .as_array()
            .unwrap()
            .iter()
            .map(|it| Item::<ManagedClusterSet>::of(it.clone()))
            .collect();
        check(&with(|facts| facts.sets = Ok(items.clone())))
    }

    #[test]
    fn every_hub_has_two_sets_with_their_selectors() {
        type Change = fn(&mut Value);
        let table: [(&str, Change, &[&str]); 8] = [
            ("as the hub makes them", |_| {}, &[]),
            (
                "one is gone",
                |all| drop(all.as_array_mut().unwrap().remove(0)),
                &["fault: it does not exist"],
            ),
            (
                "held while it is deleted",
                |all| {
                    all[1]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
                    all[1]["metadata"]["finalizers"] = json!(["a/b"]);
                },
                &["fault: it is being deleted, and held by the finalizers \"a/b\""],
            ),
            (
                "another selector",
                |all| {
                    let selector = json!({"matchLabels": {"a": "b"}});
                    all[1]["spec"]["clusterSelector"]["labelSelector"] = selector;
                },
                &["fault: its selector is not the default one: it does not select every"],
            ),
            (
                "another selector, on purpose",
                |all| {
                    all[0]["spec"]["clusterSelector"] =
                        json!({"selectorType": "LabelSelector", "labelSelector": {}});
                    all[0]["metadata"]["annotations"] =
                        json!({"cluster.open-cluster-management.io/autoupdate": "false"});
                },
                &["warning: its selector is not the default one, and annotation"],
            ),
            (
                "on purpose, and right",
                |all| {
                    all[0]["metadata"]["annotations"] =
                        json!({"cluster.open-cluster-management.io/autoupdate": "false"});
                },
                &[],
            ),
            (
                "an invalid selector",
                |all| {
                    all[2]["spec"] = json!({"clusterSelector": {"selectorType": "LabelSelector",
                        "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}});
                },
                &[
                    "fault: it selects no clusters, since its selector is invalid: spec.clusterSelector",
                ],
            ),
            (
                "one that cannot be read",
                |all| all[2]["spec"] = json!({"clusterSelector": 1}),
                &["fault: it cannot be read"],
            ),
        ];
        for (sentence, change, expected) in table {
            assert_eq!(told(&sets(change), expected), expected, "{sentence}");
        }
    }

    #[test]
    fn bindings_are_in_force_and_not_in_namespaces_of_clusters() {
        let binding = |namespace: &str, condition: Value| {
            json!({
                "metadata": {"name": "prod", "namespace": namespace,
                             "creationTimestamp": "2026-01-01T00:00:00Z"},
                "spec": {"clusterSet": "prod"},
                "status": {"conditions": [condition]},
            })
        };
        let condition = |status: &str, reason: &str| {
            json!({"type": "Bound", "status": status, "reason": reason, "message": "m",
                   "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let mut untold = binding("team", Value::Null);
        untold["status"] = json!({});
        let mut new = untold.clone();
        new["metadata"]["creationTimestamp"] =
            json!(crate::doctor::checks::testing::NOW.to_string());
        let mut going = untold.clone();
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let found = condition("True", "ClusterSetBound");
        let table: [(&str, Value, &[&str]); 7] = [
            ("effective", binding("team", found.clone()), &[]),
            (
                "no set",
                binding("team", condition("False", "ClusterSetNotFound")),
                &["warning: it is not effective: ManagedClusterSet \"prod\" does not exist"],
            ),
            (
                "another reason",
                binding("team", condition("False", "Odd")),
                &["warning: it is not effective (Odd): m"],
            ),
            (
                "in a cluster's namespace",
                binding("c1", found.clone()),
                &["fault: the namespace is that of the accepted ManagedCluster \"c1\""],
            ),
            ("in that of a cluster that waits", binding("c2", found), &[]),
            ("untold", untold, &["warning: the hub has not reported"]),
            ("made just now", new, &[]),
        ];
        let clusters = [("c1", true), ("c2", false)].map(|(name, accepted)| {
            Item::<ManagedCluster>::of(
                json!({"metadata": {"name": name}, "spec": {"hubAcceptsClient": accepted}}),
            )
        });
        let check_with = |value: &Value| {
            bindings(&with(|facts| {
                facts.clusters = Ok(clusters.to_vec());
                facts.bindings = Ok(vec![Item::<ManagedClusterSetBinding>::of(value.clone())]);
            }))
        };
        for (sentence, value, expected) in table {
            assert_eq!(told(&check_with(&value), expected), expected, "{sentence}");
        }
        assert_eq!(check_with(&going), []);
    }
}
