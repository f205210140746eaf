//! The files of the repository: those that users apply, and those that are generated from code.

#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in test functions, this is for their helpers"
)]

mod charts;
mod generated;
mod house;
mod manifests;
mod pages;
mod release;
