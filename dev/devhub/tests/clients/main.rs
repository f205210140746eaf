//! What ordinary clients need of a hub: `kubectl`, `kube` and its runtime, and whoever speaks plain HTTP.
//!
//! The hub is devhub, or a real one where `KUBEBUILDER_ASSETS` names its programs (see `support/cluster`). What is expected
//! of it here was recorded from a real one, to the letter.

#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "clippy.toml allows it in test functions, this is for their helpers; the support is shared"
)]

#[path = "../../../../tests/support/cluster/mod.rs"]
mod cluster;
#[path = "../../../../tests/support/transcript.rs"]
mod transcript;

mod desk;
mod widgets;

mod kubectl;
mod runtime;
mod wire;
