//! Which add-ons are in trouble. The objects are not kept: there may be many on each cluster.

use berth_addons_core::facts::OnCluster;
use berth_api::{groups, lenient};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::Deserialize;
use serde_json::Value;

use super::{Named, read};
use crate::doctor::checks::SHOWN;
use crate::doctor::facts::{Fact, Trouble, TroubledAddOns};
use crate::failure::CommandError;
use crate::hub::HubConnection;

const ADD_ONS: Named = ("managedclusteraddons", groups::ADDON);

/// What both versions of a ManagedClusterAddOn have.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Reported {
    metadata: ObjectMeta,
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Vec<Condition>,
}

/// Reads the add-ons of all clusters. A hub that does not serve them has none; one without a gate may serve only the older version.
pub(super) async fn troubled(hub: &HubConnection) -> Fact<TroubledAddOns> {
    let listed = match list(hub, "v1beta1").await {
        Err(CommandError::NoHub { .. }) => list(hub, "v1alpha1").await,
        listed => listed,
    };
    let listed = match listed {
        Err(CommandError::NoHub { .. }) => Ok(TroubledAddOns::new()),
        listed => listed,
    };
    read("list", ADD_ONS, None, std::future::ready(listed)).await
}

async fn list(hub: &HubConnection, version: &str) -> Result<TroubledAddOns, CommandError> {
    let (resource, group) = ADD_ONS;
    let mut found = TroubledAddOns::new();
    let mut take = |object: Option<Value>| match object {
        Some(object) => add(&mut found, &object),
        None => found.clear(),
    };
    let path = format!("/apis/{group}/{version}/{resource}");
    hub.each_at(path, &mut take).await.map(|()| found)
}

fn add(found: &mut TroubledAddOns, object: &Value) {
    let Ok(read) = lenient::with_conditions::<Reported>(object) else {
        return;
    };
    let Reported { metadata, status } = read.object;
    let (Some(cluster), Some(name)) = (metadata.namespace, metadata.name) else {
        return;
    };
    let on = OnCluster {
        is_deleting: metadata.deletion_timestamp.is_some(),
        conditions: status.conditions,
        ..OnCluster::default()
    };
    let troubles = on.states().filter_map(|it| match it {
        "failed" => Some(Trouble::Failed),
        "unavailable" => Some(Trouble::Unavailable),
        _ => None,
    });
    let Some(worst) = troubles.min().filter(|_| !on.is_deleting) else {
        return;
    };
    let clusters = found.entry((name, worst)).or_default();
    clusters.count += 1;
    if clusters.first.len() < SHOWN {
        clusters.first.push(cluster);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_worst_state_counts_and_only_the_first_clusters_are_named() {
        let mut found = TroubledAddOns::new();
        let on = |cluster: &str, conditions: &[(&str, &str, &str)]| {
            let conditions = conditions.iter().map(|(type_, status, reason)| {
                json!({
                    "type": type_, "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
                })
            });
            json!({
                "metadata": {"namespace": cluster, "name": "x"},
                // As in v1alpha1.
                "spec": {"installNamespace": "n"},
                "status": {"conditions": conditions.collect::<Vec<_>>(), "registrations": [{"signerName": "s"}]},
            })
        };
        let unavailable = ("Available", "False", "A");
        for number in 1..=7 {
            add(&mut found, &on(&format!("c{number}"), &[unavailable]));
        }
        let failed = ("Progressing", "False", "Failed");
        add(&mut found, &on("c8", &[unavailable, failed]));
        add(&mut found, &on("c9", &[("Available", "Unknown", "A")]));
        let mut leaves = on("c10", &[failed]);
        leaves["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        add(&mut found, &leaves);
        add(&mut found, &json!({"metadata": 1}));
        let lines = found.iter().map(|((name, trouble), on)| {
            let first = on.first.join(" ");
            format!("{name} {trouble:?} {}: {first}", on.count)
        });
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines, ["x Failed 1: c8", "x Unavailable 7: c1 c2 c3 c4 c5"]);
    }
}
