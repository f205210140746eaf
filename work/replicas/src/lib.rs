//! ManifestWorkReplicaSets: which ManifestWorks they make, and when.
//!
//! [`decide`] compares a [`ReplicaSet`] with the clusters that its placements select ([`Placed`]) and with its ManifestWorks ([`Work`]).
//! It returns what is to be changed, the status, Events, and when to decide again. It is a plain function: whoever calls it makes the changes and
//! asks again, until nothing is to be changed. A process that is killed in between goes on from what is stored.
//!
//! # Guarantees
//! - Each cluster that a placement selects gets one ManifestWork for this placement. Its name is that of the replica set, unless the name
//!   is taken in the cluster's namespace; otherwise a hash follows, always the same. ManifestWorks that OCM's controller made keep their
//!   names.
//! - A ManifestWork has the labels of the replica set and two more. Labels of others stay.
//! - The manifests of the template are copied as text, so no number changes.
//! - A ManifestWork is deleted only if its placement exists, was evaluated, and lists all clusters that it selects, and not this one; if the replica set
//!   does not name its placement any more; or with the replica set.
//! - While an annotation pauses the rollouts, no ManifestWork is created and none gets another spec. A ManifestWork that a new one is to
//!   replace in its cluster stays until the new one may be created.
//! - If an annotation requires approvals, no more clusters of a placement with a rollout in steps get the template than were approved for it.
//! - A failed write concerns its cluster only.
//! - Without a change of the facts, the second decision changes nothing.
//!
//! # Compatibility
//! Labels, finalizer, status and conditions are OCM's. The differences are in `docs/replica-sets.md`.

mod approval;
mod change;
mod decide;
mod finished;
mod names;
mod pause;
mod set;
mod state;
mod status;
mod template;
mod work;

pub use approval::{Approval, ApprovalOffer};
pub use change::Change;
pub use decide::{Decision, Facts, FailedChange, Placed, decide};
pub use finished::Finished;
pub use names::label;
pub use pause::{LONGEST_PAUSE_REASON, pause_reason};
pub use set::{PlacementRef, ReplicaSet};
pub use state::Progress;
pub use status::{is_stopped, listed_clusters};
pub use template::{Digest, Template};
pub use work::{MANAGER, Work};
