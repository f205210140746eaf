//! `berth agent`: the built binary, on a managed cluster, with a hub on which our reconcilers run.

mod addons;
mod joining;
mod keeping;
mod kills;
mod outages;
mod reporting;
mod world;
