//! ManifestWorkReplicaSets, and ManifestWorks that are done.

mod faults;
mod following;
mod hub;
mod process;
mod rollouts;
