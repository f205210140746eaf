//! Which clusters wait to be accepted.

use berth_api::{ManagedCluster, conditions};
use berth_lifecycle_core::facts::Cluster;

use crate::hub::Item;

/// Why a cluster that is not accepted is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// It had been accepted, and was turned out.
    TurnedOut,
    /// Some of it cannot be read.
    Unreadable,
}

/// The names of those that wait, and of those that are passed over, in the order of the list.
pub(super) fn pending(items: &[Item<ManagedCluster>]) -> (Vec<String>, Vec<(String, Passed)>) {
    let (mut waiting, mut passed) = (Vec::new(), Vec::new());
    for item in items {
        let name = item.name();
        let cluster = Cluster::from(item.object.clone());
        if item.unreadable.is_some() || !item.fields.is_empty() {
            passed.push((name, Passed::Unreadable));
        } else if cluster.accepted || cluster.deleting {
        } else if was_turned_out(&cluster) {
            passed.push((name, Passed::TurnedOut));
        } else {
            waiting.push(name);
        }
    }
    (waiting, passed)
}

/// Somebody decided against it. (While its agent still takes down work, the condition is true, but says so.)
fn was_turned_out(cluster: &Cluster) -> bool {
    cluster
        .condition(conditions::cluster::HUB_ACCEPTED)
        .is_some_and(|condition| {
            condition.status == conditions::TRUE
                || condition.reason == conditions::cluster::HUB_CLUSTER_ADMIN_DENIED
        })
}

// === impl Passed ===

impl Passed {
    /// In words, with the remedy.
    pub(super) fn told(self, name: &str) -> String {
        match self {
            Self::TurnedOut => format!(
                "{name} is passed over: it was accepted once, and turned out; 'berth accept {name}' accepts it again"
            ),
            Self::Unreadable => format!(
                "{name} is passed over: fields of it cannot be read; 'berth accept {name}' accepts it all the same"
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
        let (waiting, passed) = pending(&items);
        assert_eq!(waiting, ["new", "failed"]);
        let passed: Vec<_> = passed
            .iter()
            .map(|(name, why)| (name.as_str(), *why))
            .collect();
        assert_eq!(
            passed,
            [
                ("denied", Passed::TurnedOut),
                ("just denied", Passed::TurnedOut),
                ("strange", Passed::Unreadable),
            ]
        );
    }
}
