//! The condition `Bound` of ManagedClusterSetBindings.
//!
//! Follows OCM's ManagedClusterSetBindingController, except for a binding in the namespace of an accepted cluster. The gate
//! refuses such a binding. One that was created while the gate was down, or at the moment of the acceptance, gets Bound=False:
//! the cluster's agent can read that namespace, and must not see what is placed on other clusters.

#[cfg(test)]
mod tests;

use berth_api::conditions;
use berth_api::conditions::{FALSE, TRUE};
use berth_api::groups;
use serde_json::json;

use crate::facts::{Binding, Now};
use berth_api::GroupVersionResource;
use berth_api::plan::{Action, Plan, Target, Write};

/// The reconciler's name, in metrics and logs.
pub const NAME: &str = "binding_status";

/// Plans the status of the binding of this namespace and name.
///
/// `set_exists`: its ManagedClusterSet exists. `accepted_cluster`: the namespace belongs to an accepted ManagedCluster.
pub fn decide(
    namespace: &str,
    name: &str,
    binding: &Binding,
    set_exists: bool,
    accepted_cluster: bool,
    now: Now,
) -> Plan {
    let mut plan = Plan::default();
    if binding.deleting {
        return plan;
    }
    let (status, reason, message) = if accepted_cluster {
        let message = format!(
            "The namespace belongs to ManagedCluster {namespace:?}, which is accepted: its agent works there. Bind the set \
             in another namespace, and delete this binding: kubectl delete managedclustersetbinding -n {namespace} {name}"
        );
        (
            FALSE,
            conditions::cluster_set_binding::NAMESPACE_BELONGS_TO_CLUSTER,
            message,
        )
    } else if set_exists {
        (
            TRUE,
            conditions::cluster_set_binding::CLUSTER_SET_BOUND,
            String::new(),
        )
    } else {
        (
            FALSE,
            conditions::cluster_set_binding::CLUSTER_SET_NOT_FOUND,
            String::new(),
        )
    };
    let condition = conditions::new(
        conditions::cluster_set_binding::BOUND,
        (status, reason),
        message,
        now.wall,
    );
    if let Some(conditions) = berth_api::conditions::with_condition(&binding.conditions, condition)
    {
        plan.writes.push(Write {
            target: Target {
                resource: GroupVersionResource {
                    group: groups::CLUSTER.to_owned(),
                    version: "v1beta2".to_owned(),
                    resource: groups::MANAGED_CLUSTER_SET_BINDINGS.to_owned(),
                },
                namespace: Some(namespace.to_owned()),
                name: name.to_owned(),
            },
            action: Action::Patch {
                subresource: Some("status"),
                // The CRD declares a plain list, so the patch repeats the conditions of other writers.
                body: json!({
                    "metadata": {"uid": binding.uid, "resourceVersion": binding.resource_version},
                    "status": {"conditions": conditions},
                }),
            },
            reconciler: NAME,
            events: Vec::new(),
        });
    }
    plan
}
