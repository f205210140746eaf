//! What to write for a manifest, what differs, and what a ManifestWork reports.
//!
//! A ManifestWork is a list of objects in a cluster's namespace on the hub. An agent on the cluster makes them real and reports back.
//! This crate decides; `berth-work` reads and writes.

mod aggregate;
mod conditions;
pub mod config;
pub mod evaluate;
mod feedback;
mod health;
mod jsonpath;
mod merge;
mod programs;
pub mod report;
