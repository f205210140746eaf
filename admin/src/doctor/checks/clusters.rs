//! Clusters that are pending, that the hub could not set up, or whose agents are silent.

use berth_api::ManagedCluster;
use berth_api::cluster::CLUSTER_LEASE;
use berth_api::conditions;
use berth_api::conditions::{TRUE, UNKNOWN};
use berth_api::reserved::ReservedPrefixes;
use berth_lifecycle_core::facts::Cluster;
use berth_rules::display::ShellWord;

use super::requests::why_not_approved;
use super::sets::is_new;
use crate::doctor::facts::Facts;
use crate::doctor::finding::{Check, Finding, FindingObject};
use crate::hub::Item;
use crate::print::plain;
use kube::ResourceExt;

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let clusters = match &facts.clusters {
        Ok(clusters) => clusters,
        Err(unread) => {
            return [
                Check::PendingClusters,
                Check::AcceptedClusters,
                Check::UnknownClusters,
            ]
            .map(|check| check.unknown("the clusters", unread))
            .into();
        }
    };
    let mut findings = Vec::new();
    let mut silent = Vec::new();
    for item in clusters {
        let name = item.name();
        let object = FindingObject::new("managedcluster", &name);
        let cluster = Cluster::from(item.object.clone());
        let found = if let Some(why) = &item.unreadable {
            let message = format!("it cannot be read: {}", plain(why));
            Some(Check::AcceptedClusters.fault(message).remedy(edit(&name)))
        } else if !item.fields.is_empty() {
            let message = format!(
                "these fields cannot be read, and count as absent: {}; the certificate of its agent is not renewed",
                item.fields
            );
            Some(Check::AcceptedClusters.fault(message).remedy(edit(&name)))
        } else if cluster.deleting {
            None
        } else if cluster.accepted {
            if cluster.condition_status(conditions::cluster::AVAILABLE) == Some(UNKNOWN) {
                silent.push(name.clone());
            }
            accepted(facts, item, &cluster)
        } else {
            pending(facts, item, &cluster)
        };
        findings.extend(found.map(|finding| finding.of(object)));
    }
    if let Some(first) = silent.first() {
        let names: Vec<&str> = silent.iter().map(String::as_str).collect();
        let message = match names.len() {
            1 => format!("the agent of {} sends no heartbeats", super::some(&names)),
            count => format!(
                "the agents of {count} clusters send no heartbeats: {}",
                super::some(&names)
            ),
        };
        findings.push(Check::UnknownClusters.warning(message).remedy(format!(
            "check that the agents run and reach the hub; the time of the last heartbeat: kubectl get lease -n {first} \
             {CLUSTER_LEASE}"
        )));
    }
    findings
}

fn edit(name: &str) -> String {
    let name = ShellWord(name);
    format!(
        "kubectl edit managedcluster {name}, with --subresource=status for the status; if its agent wrote them: berth deny {name}"
    )
}

/// Checks a cluster that is not accepted. A denied cluster is not pending.
fn pending(facts: &Facts, item: &Item<ManagedCluster>, cluster: &Cluster) -> Option<Finding> {
    const CHECK: Check = Check::PendingClusters;
    let name = item.name();
    if cluster
        .condition(conditions::cluster::HUB_ACCEPTED)
        .is_some()
    {
        return None;
    }
    let requests = match &facts.requests {
        Err(unread) => format!("its CertificateSigningRequests could not be read: {unread}"),
        Ok(requests) => {
            let own: Vec<_> = requests
                .iter()
                .filter(|pending| pending.request.cluster == name)
                .collect();
            let reasons: Vec<String> = own
                .iter()
                .filter_map(|pending| {
                    let why = why_not_approved(facts, pending, Some(cluster))?;
                    let named = berth_rules::display::Quoted(&pending.request.name);
                    Some(format!("CertificateSigningRequest {named}: {why}"))
                })
                .collect();
            match reasons.as_slice() {
                [] => "its agent has no pending CertificateSigningRequest".to_owned(),
                reasons => {
                    let more = match reasons.len().saturating_sub(2) {
                        0 => String::new(),
                        more => format!("; and {more} more"),
                    };
                    format!("{}{more}", reasons[..reasons.len().min(2)].join("; "))
                }
            }
        }
    };
    let message = format!("it waits for acceptance; {requests}");
    let name = ShellWord(&name);
    Some(
        CHECK
            .warning(message)
            .remedy(format!("berth accept {name}, or berth deny {name}")),
    )
}

fn accepted(facts: &Facts, item: &Item<ManagedCluster>, cluster: &Cluster) -> Option<Finding> {
    const CHECK: Check = Check::AcceptedClusters;
    let describe = || {
        format!(
            "kubectl describe managedcluster {}",
            ShellWord(&item.name())
        )
    };
    match cluster.condition(conditions::cluster::HUB_ACCEPTED) {
        Some(condition) if condition.status == TRUE => kept(facts, &item.name()),
        // The cluster was accepted again, and the controller may not have seen it yet.
        Some(condition) if condition.reason == conditions::cluster::HUB_CLUSTER_ADMIN_DENIED => {
            let since = condition.last_transition_time.0;
            (!is_new(facts, Some(since))).then(|| not_yet(CHECK))
        }
        Some(condition) => {
            let message = format!(
                "it is accepted, but its setup failed ({}): {}",
                plain(&condition.reason),
                plain(&condition.message)
            );
            Some(CHECK.fault(message).remedy(describe()))
        }
        None if is_new(facts, item.object.creation_timestamp().map(|it| it.0)) => None,
        None => Some(not_yet(CHECK)),
    }
}

/// Checks for a cluster that was accepted before its name was reserved.
fn kept(facts: &Facts, name: &str) -> Option<Finding> {
    const CHECK: Check = Check::AcceptedClusters;
    let prefixes = ReservedPrefixes::default();
    let reservation = prefixes.reservation(name, &facts.namespace)?;
    reservation.is_exact().then(|| {
        CHECK
            .warning(format!("its name {reservation}"))
            .remedy(format!(
                "register the cluster under another name; then: kubectl delete managedcluster {}",
                ShellWord(name)
            ))
    })
}

fn not_yet(check: Check) -> Finding {
    check
        .warning("it is accepted, but not set up yet")
        .remedy("check that the controller runs (checks controller and controller-rights)")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::doctor::checks::testing::{NOW, told, with};

    fn cluster(name: &str, accepted: bool, conditions: &[(&str, &str, &str)]) -> Value {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(type_, status, reason)| {
                json!({"type": type_, "status": status, "reason": reason, "message": "m",
                       "lastTransitionTime": "2026-01-01T00:00:00Z"})
            })
            .collect();
        json!({
            "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"hubAcceptsClient": accepted},
            "status": {"conditions": conditions},
        })
    }

    fn check_with(clusters: &[Value]) -> Vec<Finding> {
        let items: Vec<_> = clusters
            .iter()
            .map(|it| Item::<ManagedCluster>::of(it.clone()))
            .collect();
        check(&with(|facts| facts.clusters = Ok(items.clone())))
    }

    #[test]
    fn a_cluster_is_as_its_conditions_say() {
        const ACCEPTED: &str = "HubAcceptedManagedCluster";
        const AVAILABLE: &str = "ManagedClusterConditionAvailable";
        let good = (ACCEPTED, "True", "HubClusterAdminAccepted");
        let denied = (ACCEPTED, "False", "HubClusterAdminDenied");
        let mut new = cluster("c1", true, &[]);
        new["metadata"]["creationTimestamp"] = json!(NOW.to_string());
        let mut going = cluster("c1", false, &[]);
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let mut unreadable = cluster("c1", true, &[good]);
        unreadable["spec"]["taints"] = json!(1);
        let table: [(&str, Value, &[&str]); 12] = [
            ("in order", cluster("c1", true, &[good]), &[]),
            (
                "in order, and its name is the hub's",
                cluster("kube-system", true, &[good]),
                &["warning: its name is reserved: the namespace of this name"],
            ),
            (
                "a prefix is for the controller to judge",
                cluster("kube-edge", true, &[good]),
                &[],
            ),
            (
                "waiting",
                cluster("c1", false, &[]),
                &["warning: it waits for acceptance; its agent has no pending"],
            ),
            ("turned out", cluster("c1", false, &[denied]), &[]),
            ("going", going, &[]),
            (
                "not set up",
                cluster("c1", true, &[]),
                &["warning: it is accepted, but not set up yet"],
            ),
            ("accepted just now", new, &[]),
            (
                "accepted again, and nobody has seen it",
                cluster("c1", true, &[denied]),
                &["warning: it is accepted, but not set up yet"],
            ),
            (
                "in trouble",
                cluster("c1", true, &[(ACCEPTED, "False", "Error")]),
                &["fault: it is accepted, but its setup failed (Error): m"],
            ),
            (
                "silent",
                cluster("c1", true, &[good, (AVAILABLE, "Unknown", "x")]),
                &["warning: the agent of \"c1\" sends no heartbeats"],
            ),
            (
                "unreadable",
                unreadable,
                &["fault: these fields cannot be read, and count as absent: spec.taints"],
            ),
        ];
        for (sentence, value, expected) in table {
            assert_eq!(
                told(&check_with(&[value]), expected),
                expected,
                "{sentence}"
            );
        }
    }

    #[test]
    fn many_silent_clusters_are_counted() {
        let silent: Vec<Value> = (1..=7)
            .map(|number| {
                cluster(
                    &format!("c{number}"),
                    true,
                    &[
                        ("HubAcceptedManagedCluster", "True", "x"),
                        ("ManagedClusterConditionAvailable", "Unknown", "x"),
                    ],
                )
            })
            .collect();
        let expected = [
            "warning: the agents of 7 clusters send no heartbeats: \"c1\", \"c2\", \"c3\", \"c4\", \"c5\" and 2 more",
        ];
        assert_eq!(told(&check_with(&silent), &expected), expected);
    }
}
