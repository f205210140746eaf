//! Test support: facts of one cluster, a hub in memory that takes writes, and merge patches as the API server applies them.

mod facts;
mod hub;
mod merge_patch;
pub(crate) mod scene;

pub(crate) use facts::{condition, facts_of, patch_of};
pub(crate) use hub::{ADDONS, FakeHub, Stored, WORKS, again_after, kind};
pub(crate) use merge_patch::patched;
