//! The manifests that users apply: every object is what Kubernetes takes it for, the objects fit one another, and the
//! registrations fit the gate, down to the conditions under which the API server does not even call it.
//!
//! Everything is read from the files. `overlays` also has kubectl build the kustomizations, where there is a kubectl.

mod alerts;
mod compared_with_the_gate;
mod conditions;
mod files;
mod match_conditions;
mod objects;
mod overlays;
mod registrations;
mod reviews;
mod server;
