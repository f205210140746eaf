//! Support for tests of single crates, which do not use devhub: a fake hub, and functions that wait for a condition.
//!
//! `berth-testkit`, the support for end-to-end tests, uses this crate.

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

/// The path of a file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../..")
        .join(path)
}
