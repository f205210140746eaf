//! What a Klusterlet has the operator do on its cluster.
//!
//! # Order
//! CustomResourceDefinitions, namespaces, then accounts and roles, then the Deployment. One agent does the work of OCM's two; it has the name
//! that OCM's has in the same mode, so that one is replaced by the other in its Deployment. What OCM's operator made and nobody needs any more
//! goes when the agent runs; what is in a namespace that the Klusterlet named before, when the agent has come to its hub.
//!
//! Of an agent that runs on this cluster and manages another one (mode Hosted), the definitions, the account and the roles are there, and its
//! Deployment here waits for them: see `managed`, `hosted` and `secret`.
//!
//! # Guarantees
//! - Nothing is written that is as it should be: see [`objects`](crate::objects).
//! - Only objects with the label of this Klusterlet are deleted, in namespaces of Open Cluster Management.
//! - What ManifestWorks made stays when a Klusterlet is deleted, unless it says otherwise.
//! - Of several Klusterlets with the same namespace only the one that made it has an agent: they would share its credentials.

mod choice;
mod connection;
mod decide;
mod facts;
mod found;
mod hosted;
mod managed;
mod place;
mod removal;
mod render;
mod secret;
mod status;

pub use choice::{Choice, Settings, choice};
pub use connection::{Check, Connection, Right, of_bootstrap, of_hub};
pub use decide::{asked_for, can_have_an_agent, decide, report_failures};
pub use facts::{AppliedWork, AppliedWorks, Facts};
pub use found::{Managed, Outcome, Task};
pub use managed::{KINDS_THERE, There, is_shared, kinds_here, task, there};
pub use place::{is_hosted, namespace};
pub use render::{
    ADDON_NAMESPACE, Objects, Rendered, Renderer, agent_deployment, everything, shared,
};
pub use secret::{AGENT_SECRETS, HUB_SECRET, MANAGED_SECRET, TOKEN_FILE};

/// The group and the resource of Klusterlets.
pub(crate) const RECONCILED: (&str, &str) = ("operator.open-cluster-management.io", "klusterlets");

/// The name of the reconciler, in metrics.
pub const RECONCILER: &str = "klusterlet";

#[cfg(test)]
mod tests;
