//! The life of a server: ready or not, counting, over every TLS it offers, with certificates that change, and to its end.

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

mod certificates;
mod drain;
mod health;
mod limits;
mod logs;
mod metrics;
mod tls;
