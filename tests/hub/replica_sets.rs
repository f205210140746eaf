//! ManifestWorkReplicaSets, and ManifestWorks that are done.

mod faults;
mod following;
mod hub;
mod pausing;
mod process;
mod rollouts;
