//! Which add-ons are in trouble. The objects are not kept: there may be many on each cluster.

use berth_addons_core::facts::OnCluster;
use serde_json::Value;

use super::{Named, read};
use crate::doctor::checks::SHOWN;
use crate::doctor::facts::{Fact, TroubledAddOns};
use crate::failure::CommandError;
use crate::hub::HubConnection;

const ADD_ONS: Named = ("managedclusteraddons", berth_api::groups::ADDON);

/// Reads the add-ons of all clusters. A hub that does not serve them has none.
pub(super) async fn troubled(hub: &HubConnection) -> Fact<TroubledAddOns> {
    let (resource, group) = ADD_ONS;
    let mut found = TroubledAddOns::new();
    let mut take = |object: Option<Value>| match object {
        Some(object) => add(&mut found, &object),
        None => found.clear(),
    };
    let listing = hub.each_at(format!("/apis/{group}/v1beta1/{resource}"), &mut take);
    let listed = match listing.await {
        Err(CommandError::NoHub { .. }) => Ok(()),
        listed => listed,
    };
    read("list", ADD_ONS, None, std::future::ready(listed))
        .await
        .map(|()| found)
}

fn add(found: &mut TroubledAddOns, object: &Value) {
    let Ok(on) = OnCluster::of(object) else {
        return;
    };
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    let troubles = ["failed", "unavailable"];
    let worst = troubles
        .into_iter()
        .find(|it| on.states().any(|state| state == *it));
    let Some(worst) = worst.filter(|_| !on.is_deleting) else {
        return;
    };
    let clusters = found.entry((text("name").to_owned(), worst)).or_default();
    clusters.count += 1;
    if clusters.first.len() < SHOWN {
        clusters.first.push(text("namespace").to_owned());
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
                "metadata": {"namespace": cluster, "name": "x"}, "spec": {},
                "status": {"conditions": conditions.collect::<Vec<_>>()},
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
        let lines = found.iter().map(|((name, state), on)| {
            let first = on.first.join(" ");
            format!("{name} {state} {}: {first}", on.count)
        });
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines, ["x failed 1: c8", "x unavailable 7: c1 c2 c3 c4 c5"]);
    }
}
