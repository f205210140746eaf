//! `berth get`: clusters, sets, bindings, placements, works and others, as tables, trees and objects; and tokens ([`bootstrap`](crate::bootstrap)).
//!
//! Each kind is a [`View`](screen::View): its columns, rows and tree are plain functions of its objects. All kinds share the
//! rest: [`query`] runs the command, [`find`] reads the objects, and [`screen`] writes them. With `--watch` each change adds
//! a row, as in kubectl.

mod addons;
mod bindings;
mod clusters;
mod clustersets;
mod columns;
mod csrs;
mod find;
mod info;
mod namespaced;
mod operator;
mod pending;
mod placements;
mod profiles;
mod query;
mod replicasets;
mod screen;
pub(crate) mod works;

use std::process::ExitCode;

use clap::Subcommand;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::bootstrap;
use crate::hub::HubArgs;
use crate::print::age;

/// Show clusters, sets, bindings, placements, works, replica sets and others, or print a token for a new cluster
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  berth get clusters
  berth get clusters --clusterset prod -o wide
  berth get pending
  berth get clustersets
  berth get bindings -n team-a
  berth get placements -n team-a
  berth get works -n cluster1
  berth get replicasets -n team-a
  berth get addons -n cluster1

  # As kubectl: other columns, another order, a text
  berth get clusters -o custom-columns=NAME:.metadata.name,URL:.spec.managedClusterClientConfigs[0].url
  berth get clusters --sort-by .metadata.creationTimestamp -L region
  berth get clusters -o jsonpath='{.items[*].metadata.name}'

  berth get token")]
pub struct Args {
    #[command(subcommand)]
    what: What,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, Subcommand)]
enum What {
    Clusters(clusters::Args),
    Pending(pending::Args),
    Csr(csrs::Args),
    Clustersets(clustersets::Args),
    Bindings(bindings::Args),
    Placements(placements::Args),
    Works(works::Args),
    Replicasets(replicasets::Args),
    Profiles(profiles::Args),
    Addons(addons::Args),
    Clustermanagers(operator::ClusterManagerArgs),
    Klusterlets(operator::KlusterletArgs),
    #[command(name = "hub-info")]
    HubInfo(info::HubInfoArgs),
    #[command(name = "klusterlet-info")]
    KlusterletInfo(info::KlusterletInfoArgs),
    Token(bootstrap::Args),
}

/// The text of a cell whose value this version of Berth cannot decode, or that the user may not read.
const UNREADABLE: &str = "<unreadable>";

/// Runs the command.
///
/// # Errors
/// Those of the hub and of the output.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.what {
        What::Clusters(what) => clusters::run(what, &args.hub).await,
        What::Pending(what) => pending::run(what, &args.hub).await,
        What::Csr(what) => csrs::run(what, &args.hub).await,
        What::Clustersets(what) => clustersets::run(what, &args.hub).await,
        What::Bindings(what) => bindings::run(what, &args.hub).await,
        What::Placements(what) => placements::run(what, &args.hub).await,
        What::Works(what) => works::run(what, &args.hub).await,
        What::Replicasets(what) => replicasets::run(what, &args.hub).await,
        What::Profiles(what) => profiles::run(what, &args.hub).await,
        What::Addons(what) => addons::run(what, &args.hub).await,
        What::Clustermanagers(what) => operator::cluster_managers(what, &args.hub).await,
        What::Klusterlets(what) => operator::klusterlets(what, &args.hub).await,
        What::HubInfo(what) => info::hub(what, &args.hub).await,
        What::KlusterletInfo(what) => info::klusterlet(what, &args.hub).await,
        What::Token(what) => bootstrap::run(what, &args.hub).await,
    }
}

fn age_of(metadata: &ObjectMeta, now: Timestamp) -> String {
    let since = metadata.creation_timestamp.as_ref().map(|time| time.0);
    age(since, now)
}
