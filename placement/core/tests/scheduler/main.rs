//! The scheduler, by tables of sentences and by laws. The cases of OCM's own tests are among the rows.

#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in test functions, this is for their helpers"
)]

mod bench;
mod conditions;
mod doubts;
mod eligible;
mod explained;
mod faults;
mod gates;
mod groups;
mod laws;
mod outcomes;
mod predicates;
mod prioritizers;
mod records;
mod selection;
mod taints;
