//! `berth agent`: the built binary, on a managed cluster, with a hub on which our reconcilers run.

mod addons;
mod bootstrapping;
mod changing;
mod joining;
mod keeping;
mod kills;
mod outages;
mod proxies;
mod reporting;
mod spoilt;
mod world;
