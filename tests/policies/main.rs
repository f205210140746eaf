//! The proof that the policies and the gate are equal.
//!
//! One real kube-apiserver has both: the policies of `berth-policies`, and a gate with the registrations of the manifests. A group
//! of the requester decides which of them sees a write, so each write is sent twice, as the same user, as a dry run, against the same
//! stored object. Both responses must be equal: the decision, the code, the message after the API server's own words, the
//! warnings, and the object. What may differ is listed in `differences`, and each row of that list must have a case.
//!
//! Writes are the rows of tables (`tables`) and random ones (`random`). Mutants of the policies must be found (`mutants`), so
//! that the comparison itself is tested.
//!
//! The suite needs a real hub (`KUBEBUILDER_ASSETS`, Kubernetes 1.36 or newer): without one, its tests are skipped. More random writes, and
//! other ones:
//!
//! ```sh
//! BERTH_PROOF_WRITES=50000 BERTH_PROOF_SEED=7 cargo test --test policies random -- --nocapture
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    unreachable_pub,
    reason = "clippy.toml allows it in test functions, this is for their helpers; modules of a suite share them"
)]

mod compare;
mod cost;
mod dialects;
mod differences;
mod engine;
mod hub;
mod in_force;
mod latency;
mod mutants;
mod random;
mod switch;
mod tables;
mod users;
mod write;
