//! The decisions of placements as PlacementDecisions of SIG-Multicluster (KEP-5313): for tools that do not know OCM. The feature gate
//! `SIGPlacementDecision` enables them.
//!
//! A PlacementDecision of this kind is called a slice here: each lists at most 100 of the clusters that a placement selected, by their
//! ClusterProfiles in the placement's namespace. Names, labels and the scheduler's name are those of OCM's controller, so that it adopts
//! the slices, and the other way round. The decision index differs: it counts the slices, as the KEP asks. OCM's controller writes the
//! index of the decision group.
//!
//! `slice` is what is kept of each, `slices` keeps all of the hub, `layout` decides which slice lists which clusters, and `plan` which
//! writes lead there. The last two are plain functions.

mod layout;
mod plan;
mod slice;
mod slices;
#[cfg(test)]
mod tests;

pub(crate) use self::plan::{DueSlices, clusters_in};
pub(crate) use self::slice::SliceFacts;
pub(crate) use self::slices::Slices;
