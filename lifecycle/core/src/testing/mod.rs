//! Test support: facts of one cluster, a hub in memory that takes writes, and merge patches as the API server applies them.

mod hub;
mod merge_patch;
pub(crate) mod scene;

pub(crate) use hub::{ADDONS, FakeHub, Stored, WORKS, again_after, condition, kind};
pub(crate) use merge_patch::patched;
