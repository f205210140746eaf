//! The clusters that `--all-pending` accepts.

use berth_api::{ManagedCluster, conditions};
use berth_lifecycle_core::facts::Cluster;

use crate::hub::Item;

/// The reason why a cluster that is not accepted is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skipped {
    /// The cluster was accepted and then denied.
    Denied,
    /// Fields of the ManagedCluster cannot be decoded.
    Unreadable,
}

/// Returns the names of the pending and of the skipped clusters, in the order of the list.
pub(super) fn pending(items: &[Item<ManagedCluster>]) -> (Vec<String>, Vec<(String, Skipped)>) {
    let (mut waiting, mut skipped) = (Vec::new(), Vec::new());
    for item in items {
        let name = item.name();
        let cluster = Cluster::from(item.object.clone());
        if item.unreadable.is_some() || !item.fields.is_empty() {
            skipped.push((name, Skipped::Unreadable));
        } else if cluster.accepted || cluster.deleting {
        } else if was_denied(&cluster) {
            skipped.push((name, Skipped::Denied));
        } else {
            waiting.push(name);
        }
    }
    (waiting, skipped)
}

/// Returns true if an admin denied the cluster. While its agent still removes work, the condition is true, with this reason.
pub(crate) fn was_denied(cluster: &Cluster) -> bool {
    cluster
        .condition(conditions::cluster::HUB_ACCEPTED)
        .is_some_and(|condition| {
            condition.status == conditions::TRUE
                || condition.reason == conditions::cluster::HUB_CLUSTER_ADMIN_DENIED
        })
}

// === impl Skipped ===

impl Skipped {
    /// Returns the message, with the remedy.
    pub(super) fn message(self, name: &str) -> String {
        match self {
            Self::Denied => format!(
                "{name} is skipped: it was accepted and then denied; 'berth accept {name}' accepts it again"
            ),
            Self::Unreadable => format!(
                "{name} is skipped: some of its fields cannot be read; 'berth accept {name}' accepts it anyway"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn those_wait_that_nobody_has_decided_about() {
        let condition = |status: &str, reason: &str| {
            json!([{
                "type": "HubAcceptedManagedCluster", "status": status, "reason": reason, "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }])
        };
        let none = json!([]);
        let item = |name: &str, accepted, deleting: bool, conditions| {
            let mut value = json!({
                "metadata": {"name": name},
                "spec": {"hubAcceptsClient": accepted},
                "status": {"conditions": conditions},
            });
            if deleting {
                value["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            }
            Item::<ManagedCluster>::of(value)
        };
        let items = [
            item("new", json!(false), false, none.clone()),
            item("accepted", json!(true), false, none.clone()),
            item("leaving", json!(false), true, none.clone()),
            item(
                "denied",
                json!(false),
                false,
                condition("False", "HubClusterAdminDenied"),
            ),
            item(
                "just denied",
                json!(false),
                false,
                condition("True", "HubClusterAdminAccepted"),
            ),
            item("failed", json!(false), false, condition("False", "Error")),
            item("strange", json!("yes"), false, none),
        ];
        let (waiting, skipped) = pending(&items);
        assert_eq!(waiting, ["new", "failed"]);
        let skipped: Vec<_> = skipped
            .iter()
            .map(|(name, why)| (name.as_str(), *why))
            .collect();
        assert_eq!(
            skipped,
            [
                ("denied", Skipped::Denied),
                ("just denied", Skipped::Denied),
                ("strange", Skipped::Unreadable),
            ]
        );
    }
}
