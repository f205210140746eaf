//! What ordinary clients need of a hub: `kubectl`, `kube` and its runtime, and whoever speaks plain HTTP.
//!
//! The hub is devhub, or a real one where `KUBEBUILDER_ASSETS` names its programs. What is expected
//! of it here was recorded from a real one, to the letter.

#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "clippy.toml allows it in test functions, this is for their helpers; the support is shared"
)]

use berth_testkit::{cluster, transcript};

mod desk;
mod widgets;

mod kubectl;
mod runtime;
mod wire;
