//! The manifests that users apply: every object is valid for Kubernetes, the objects refer to each other correctly, and the
//! registrations match the gate, including the conditions under which the API server does not call it.
//!
//! The tests read all of it from the files. `overlays` also builds the kustomizations with kubectl, if kubectl is installed.

mod add_ons;
mod agent;
mod alerts;
mod compared_with_the_gate;
mod conditions;
mod console;
pub(crate) mod files;
mod match_conditions;
pub(crate) mod objects;
mod operator;
pub(crate) mod overlays;
mod placement;
mod policies;
mod registrations;
mod replica_sets;
mod reviews;
mod server;
