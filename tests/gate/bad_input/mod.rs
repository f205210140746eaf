//! Whatever comes in that is not as it should be: it gets a well-formed, precise answer, and the next one is served.

#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in test functions; this is for their helpers"
)]

#[path = "../support/in_process.rs"]
mod in_process;
#[path = "../support/reviews.rs"]
mod reviews;
#[path = "../support/mod.rs"]
mod support;

mod bodies;
mod connections;
mod content;
mod floods;
mod hub_files;
mod memory;
mod requests;
mod start;
