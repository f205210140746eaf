//! `berth agent`: the built binary, on a managed cluster, with a hub on which our reconcilers run.

mod addons;
mod hosted;
mod joining;
mod keeping;
mod reporting;
mod several;
mod world;
