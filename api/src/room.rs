//! Frees space in a ManagedCluster that has the maximum size of a stored object.
//!
//! An agent writes parts of its own ManagedCluster, and can fill it to within bytes of etcd's limit. Then even a denial does not fit:
//! `false` is one byte longer than `true`. So the hub removes fields that the agent wrote, the least needed first.

use serde_json::{Map, Value, json};

use crate::{conditions, labels};

/// A part of a ManagedCluster that can be removed.
#[derive(Clone, Debug, PartialEq)]
pub struct Spare {
    /// A fixed description for messages.
    pub what: &'static str,
    /// The subresource to patch; `None` for the object itself.
    pub subresource: Option<&'static str>,
    /// A JSON merge patch without a resourceVersion.
    pub patch: Value,
    /// Users may have written this part, too: remove it only if a denial does not fit otherwise.
    pub last_resort: bool,
}

/// Conditions that the hub reads. All others belong to the agent or its add-ons.
const KEPT: [&str; 6] = [
    conditions::cluster::HUB_ACCEPTED,
    conditions::cluster::JOINED,
    conditions::cluster::AVAILABLE,
    conditions::cluster::CLOCK_SYNCED,
    conditions::cluster::DELETING,
    conditions::cluster::READABLE,
];

/// Returns the parts that can be removed from this ManagedCluster, in the order of removal.
pub fn spares(cluster: &Value) -> Vec<Spare> {
    let mut spares = Vec::new();
    let mut spare = |what, subresource, patch: Option<Value>, last_resort| {
        spares.extend(patch.map(|patch| Spare {
            what,
            subresource,
            patch,
            last_resort,
        }));
    };
    let (metadata, spec, status) = (&cluster["metadata"], &cluster["spec"], &cluster["status"]);
    let in_status = |patch: Value| json!({"status": patch});
    let without = |of: &Value, names: &[&str]| {
        let fields: Map<_, _> = names
            .iter()
            .filter(|name| !of[**name].is_null())
            .map(|name| ((*name).to_owned(), Value::Null))
            .collect();
        (!fields.is_empty()).then_some(Value::Object(fields))
    };
    let keys_without = |field: &str, is_spare: &dyn Fn(&str) -> bool| {
        let keys: Vec<&str> = metadata[field]
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .filter(|key| is_spare(key))
            .collect();
        let patch = without(&metadata[field], &keys)?;
        Some(json!({"metadata": {field: patch}}))
    };
    spare(
        "its claims (status.clusterClaims)",
        Some("status"),
        without(status, &["clusterClaims"]).map(in_status),
        false,
    );
    spare(
        "the annotations of its agent (agent.open-cluster-management.io)",
        None,
        keys_without("annotations", &|key| key.starts_with(labels::AGENT_PREFIX)),
        false,
    );
    spare(
        "its capacity and version as its agent reports them",
        Some("status"),
        without(status, &["allocatable", "capacity", "version"]).map(in_status),
        false,
    );
    spare(
        "its addresses (spec.managedClusterClientConfigs)",
        None,
        without(spec, &["managedClusterClientConfigs"]).map(|patch| json!({"spec": patch})),
        false,
    );
    let conditions = status["conditions"].as_array();
    let kept: Vec<&Value> = conditions
        .into_iter()
        .flatten()
        .filter(|condition| {
            let type_ = condition["type"].as_str().unwrap_or_default();
            KEPT.contains(&type_)
        })
        .collect();
    let all = conditions.map_or(0, Vec::len);
    let namespaces = without(status, &["managedNamespaces"]);
    if kept.len() < all || namespaces.is_some() {
        let mut patch = namespaces.unwrap_or_else(|| json!({}));
        if kept.len() < all {
            patch["conditions"] = json!(kept);
        }
        spare(
            "conditions that are not the hub's, and the list of managed namespaces",
            Some("status"),
            Some(in_status(patch)),
            false,
        );
    }
    let own = [labels::DENY_NOW, labels::AUTO_ACCEPTED_ON];
    spare(
        "its annotations",
        None,
        keys_without("annotations", &|key| !own.contains(&key)),
        true,
    );
    spare(
        "its taints",
        None,
        without(spec, &["taints"]).map(|patch| json!({"spec": patch})),
        true,
    );
    spare(
        "its labels but that of its set",
        None,
        keys_without("labels", &|key| key != labels::CLUSTER_SET),
        true,
    );
    spares
}

/// Returns whether a response means that the object exceeds the maximum size. API servers return the message of etcd, or of their
/// etcd client, with 500.
pub fn is_too_large(code: u16, message: &str) -> bool {
    code == 413
        || code == 500
            && (message.contains("request is too large")
                || message.contains("trying to send message larger than max"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(mut object: Value, spares: &[Spare]) -> Value {
        fn merge(into: &mut Value, patch: &Value) {
            let Some(fields) = patch.as_object() else {
                *into = patch.clone();
                return;
            };
            for (key, value) in fields {
                if value.is_null() {
                    into.as_object_mut().unwrap().remove(key);
                } else {
                    merge(&mut into[key], value);
                }
            }
        }
        for spare in spares {
            merge(&mut object, &spare.patch);
        }
        object
    }

    #[test]
    fn everything_an_agent_may_write_can_be_removed() {
        let condition = |type_: &str| json!({"type": type_, "status": "True"});
        let full = json!({
            "metadata": {
                "name": "c1",
                "labels": {"cluster.open-cluster-management.io/clusterset": "s", "a": "b"},
                "annotations": {
                    "agent.open-cluster-management.io/x": "1", "y": "2",
                    "open-cluster-management.io/deny-now": "true",
                },
            },
            "spec": {"hubAcceptsClient": true, "taints": [1], "managedClusterClientConfigs": [2]},
            "status": {
                "allocatable": {"cpu": "1"}, "capacity": {"cpu": "1"}, "version": {"kubernetes": "1"},
                "clusterClaims": [3], "managedNamespaces": [4],
                "conditions": [condition("HubAcceptedManagedCluster"), condition("x"), 7],
            },
        });
        let spares = spares(&full);
        assert_eq!(spares.len(), 8);
        assert_eq!(
            merged(full, &spares),
            json!({
                "metadata": {
                    "name": "c1",
                    "labels": {"cluster.open-cluster-management.io/clusterset": "s"},
                    "annotations": {"open-cluster-management.io/deny-now": "true"},
                },
                "spec": {"hubAcceptsClient": true},
                "status": {"conditions": [condition("HubAcceptedManagedCluster")]},
            })
        );
        assert!(spares.is_sorted_by_key(|spare| spare.last_resort));
    }

    #[test]
    fn absent_parts_are_not_removed() {
        for object in [
            json!({}),
            json!(1),
            json!({"metadata": 1, "spec": [], "status": "x"}),
        ] {
            assert_eq!(spares(&object), [], "{object}");
        }
        let claims = json!({"status": {"clusterClaims": []}});
        assert_eq!(spares(&claims).len(), 1);
    }

    #[test]
    fn messages_of_etcd_and_of_its_client_mean_too_large() {
        for (code, message, expected) in [
            (413, "", true),
            (500, "etcdserver: request is too large", true),
            (
                500,
                "rpc error: code = ResourceExhausted desc = trying to send message larger than max (1 vs. 0)",
                true,
            ),
            (500, "etcdserver: leader changed", false),
            (403, "request is too large", false),
        ] {
            assert_eq!(is_too_large(code, message), expected, "{message}");
        }
    }
}
