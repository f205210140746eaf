//! Runs the laws: on made-up inputs, on recorded reviews, and on the seeds of the fuzzers.

#![allow(clippy::unwrap_used, reason = "tests")]

mod made_up;
mod reviews;
mod seeds;
