//! What tests of single crates need, without a hub for development: a fake hub, and waiting for what happens soon.
//!
//! The kit of the end-to-end tests, `berth-testkit`, stands on it.

#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in tests; all of this is for tests"
)]

mod eventually;
mod fake_hub;

pub use eventually::{
    PATIENCE, eventually, eventually_blocking, eventually_within, next_second, when,
};
pub use fake_hub::{FakeHub, Fault, HubRequest};

use std::path::{Path, PathBuf};

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../..")
        .join(path)
}
