//! Namespaces that the sets of the cluster ask the agent to manage: `status.managedNamespaces` of the ManagedCluster.
//!
//! The agent creates each of them, and marks it with a label for its hub. A namespace that is no longer asked for gets the value `false`;
//! none is ever deleted. Labels, values and conditions are those of OCM's agent.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use berth_api::cluster::ClusterSetManagedNamespaceConfig;
use berth_api::conditions::{self, FALSE, TRUE, with_condition};
use berth_api::plan::{Action, Target, Write};
use berth_api::{GroupVersionResource, Now};
use berth_certs::pem::hex;
use serde_json::json;

use crate::cluster::Cluster;

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "managed_namespaces";

/// The condition of an item: the namespace exists, and has the label.
const AVAILABLE: &str = "NamespaceAvailable";

/// The prefix of the label's key.
const LABEL: &str = "clusterset.open-cluster-management.io/";

/// The longest name of a label's key, without the prefix.
const LONGEST_NAME: usize = 63;

/// The namespaces of the managed cluster that have the label of this hub, by name, with the label's value.
pub type Labelled = BTreeMap<String, String>;

/// Returns the key of the label for the hub with this digest: the SHA-256 of its URL, as the bootstrap kubeconfig has it.
#[must_use]
pub fn label(digest_of_url: &[u8; 32]) -> String {
    format!("{LABEL}{}", &hex(digest_of_url)[..LONGEST_NAME])
}

/// Returns the part of a hub's URL that its label is made of: a URL with a path loses query and fragment.
#[must_use]
pub fn hashed_part(url: &str) -> &str {
    let Some((_, rest)) = url.split_once("://") else {
        return url;
    };
    let end_of_host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let path = &rest[end_of_host..];
    if !path.starts_with('/') {
        return url;
    }
    let end = path
        .find(['?', '#'])
        .map_or(url.len(), |at| url.len() - path.len() + at);
    &url[..end]
}

/// Returns the writes to the managed cluster that are due. Nothing is due for a cluster that is not accepted: labels stay.
#[must_use]
pub fn writes(cluster: &Cluster, labelled: &Labelled, label: &str) -> Vec<Write> {
    if !cluster.is_set_up() {
        return Vec::new();
    }
    let wanted = wanted(cluster);
    let is_true = |name: &str| labelled.get(name).is_some_and(|value| value == TRUE_LABEL);
    let missing = wanted.iter().filter(|name| !is_true(name));
    let create = missing.map(|name| {
        write(
            name,
            Action::CreateOrPatch {
                body: json!({
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {"name": name, "labels": {label: TRUE_LABEL}},
                }),
                patch: json!({"metadata": {"labels": {label: TRUE_LABEL}}}),
            },
        )
    });
    let left = labelled
        .iter()
        .filter(|(name, value)| value.as_str() == TRUE_LABEL && !wanted.contains(&name.as_str()));
    let release = left.map(|(name, _)| {
        write(
            name,
            Action::Patch {
                subresource: None,
                body: json!({"metadata": {"labels": {label: FALSE_LABEL}}}),
            },
        )
    });
    create.chain(release).collect()
}

/// Returns `status.managedNamespaces` with the conditions of the items.
///
/// `failures`: why a namespace could not be written, by name.
#[must_use]
pub fn report(
    cluster: &Cluster,
    labelled: &Labelled,
    failures: &BTreeMap<String, String>,
    now: Now,
) -> Vec<ClusterSetManagedNamespaceConfig> {
    let item = |item: &ClusterSetManagedNamespaceConfig| {
        let is_true = labelled
            .get(&item.name)
            .is_some_and(|value| value == TRUE_LABEL);
        let (status, reason, message) = match failures.get(&item.name) {
            _ if is_true => (
                TRUE,
                "NamespaceApplied",
                "Namespace successfully applied and managed".to_owned(),
            ),
            Some(error) => (
                FALSE,
                "NamespaceApplyFailed",
                format!("Failed to apply namespace: {error}"),
            ),
            // Not written yet.
            None => return item.clone(),
        };
        let condition = conditions::new(AVAILABLE, (status, reason), message, now.wall);
        let mut item = item.clone();
        if let Some(conditions) = with_condition(&item.conditions, condition) {
            item.conditions = conditions;
        }
        item
    };
    cluster.managed_namespaces.iter().map(item).collect()
}

const TRUE_LABEL: &str = "true";
const FALSE_LABEL: &str = "false";

/// The names of the namespaces that should be managed.
fn wanted(cluster: &Cluster) -> Vec<&str> {
    if cluster.is_deleting {
        return Vec::new();
    }
    let mut names: Vec<_> = cluster
        .managed_namespaces
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn write(name: &str, action: Action) -> Write {
    Write {
        target: Target {
            resource: GroupVersionResource::new("", "v1", "namespaces"),
            namespace: None,
            name: name.to_owned(),
        },
        action,
        reconciler: NAME,
        events: Vec::new(),
    }
}
