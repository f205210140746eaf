//! A hub from the outside, over HTTP: what clients in Rust and Go rely on, and never see.
#![allow(clippy::unwrap_used, reason = "tests")]

mod client;
mod connections;
mod lists;
mod requests;
mod versions;
mod watches;
