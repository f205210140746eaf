//! `berth agent`: the built binary, on a managed cluster, with a hub on which our reconcilers run.

// Its name makes it the first, as it takes the longest.
mod absences;

mod addons;
mod bootstrapping;
mod changing;
mod hosted;
mod joining;
mod keeping;
mod kills;
mod proxies;
mod reporting;
mod several;
mod spoilt;
mod works;
mod world;
