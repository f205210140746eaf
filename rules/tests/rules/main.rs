//! The tables of the rules: each row is a write and its decision.

#![allow(clippy::unwrap_used, reason = "tests")]

mod addons;
mod other_kinds;
mod placements;
mod size;
mod support;
mod validate;
mod works;
