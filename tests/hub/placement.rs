//! The placement controller on a hub: selection, the layout of decisions, watchers, faults and replicas.
//!
//! It has the rights of `manifests/placement`, and no others. Each test has its own sets, clusters and namespaces.

mod cel;
mod costly;
mod debug;
mod fairness;
mod following;
mod gaps;
mod hub;
mod process;
mod rest;
mod scores;
mod sig;
