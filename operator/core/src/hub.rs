//! What a ClusterManager has the operator do.
//!
//! # Order
//! CustomResourceDefinitions, then namespace, accounts, roles and the Service, bindings, then the Deployments. Webhook configurations come when all
//! Deployments are rolled out, and have the certificates of an authority: before that the API server would refuse the writes that they guard.
//! Until then a stored CustomResourceDefinition keeps its conversion, too. What OCM's operator made and nobody needs any more goes last.
//!
//! A definition loses no version in which objects may be stored, until these are written anew (`migration`).
//!
//! In mode Hosted the hub is another cluster (`place`, `hosted`): the Deployments are here, and the objects of both clusters decide together.
//!
//! # Guarantees
//! - Nothing is written that is as it should be: see [`objects`](crate::objects).
//! - A CustomResourceDefinition of a later version stays as it is.
//! - Only objects with the label of this ClusterManager are deleted: no Namespace; Secrets only with the ClusterManager, and
//!   CustomResourceDefinitions only if that says so, or a flag does.
//! - Of several ClusterManagers only the oldest has this cluster as its hub, and of several with the same hub elsewhere the first: they would
//!   write the same objects.
//! - The mode of a ClusterManager does not change: what it has stays where it is until it is deleted.
//!
//! OCM deletes all clusters with a ClusterManager, and points the conversion of add-ons to a server that does not run yet.

mod choice;
mod decide;
mod definitions;
mod hosted;
mod migration;
mod place;
mod removal;
mod render;
mod status;

pub use choice::{Choice, Ports, Settings, choice, labels_of};
pub use decide::{
    Facts, asked_for, can_have_a_hub, decide, migrations, report_failures, unreachable,
    wants_credentials,
};
pub use hosted::{
    Hosting, KINDS_HERE, TOKEN_FILE, accounts, is_here, kinds_there, secret_of, secrets,
};
pub use migration::Migration;
pub(crate) use migration::{FORMER, FORMER_GROUP};
pub use place::{HUB_KUBECONFIG, is_elsewhere, is_hosted};
pub(crate) use render::everything;
pub use render::{Objects, Renderer, deployments};
pub use status::is_complete;

/// The group and the resource of ClusterManagers.
pub(crate) const RECONCILED: (&str, &str) =
    ("operator.open-cluster-management.io", "clustermanagers");

/// The name of the reconciler, in metrics.
pub const RECONCILER: &str = "clustermanager";

#[cfg(test)]
mod tests;
