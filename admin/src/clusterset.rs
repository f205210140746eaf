//! `berth create clusterset`, `berth delete clusterset`, `berth clusterset set|bind|unbind`.
//!
//! They have the names and messages of `clusteradm`'s commands, with four differences: every target is tried; `--dry-run`
//! writes nothing; clusters cannot be added to a set that selects its members by other labels; and a set that has members or
//! bindings is deleted only with `--force`.

mod bind;
pub(crate) mod create;
pub(crate) mod delete;
mod selectors;
mod set;

use std::process::ExitCode;

use berth_api::{ManagedClusterSet, ManagedClusterSetBinding, groups};
use clap::Subcommand;
use kube::ResourceExt;

use super::failure::CommandError;
use super::hub::{HubArgs, HubConnection, Item};
use super::outcomes::WriteArgs;
use super::targets::distinct;
pub(crate) use bind::{bind_one, unbind_one};
pub(crate) use selectors::Selects;
pub(crate) use set::{due, unfit};

const EXAMPLES: &str = "\
Examples:
  berth clusterset set prod --clusters cluster1,cluster2
  berth clusterset bind prod --namespace team-a
  berth clusterset unbind prod --namespace team-a";

/// Add clusters to a set, bind a set to a namespace, or unbind it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,
    #[command(flatten)]
    hub: HubArgs,
    #[command(flatten)]
    write: WriteArgs,
}

#[derive(Debug, Subcommand)]
enum What {
    Set(set::Args),
    Bind(bind::BindArgs),
    Unbind(bind::UnbindArgs),
}

/// Runs the command.
///
/// # Errors
/// Those of the output, and those of the hub that concern all targets.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let hub = HubConnection::of(&args.hub).await?;
    match &args.what {
        What::Set(set) => set::run(&hub, set, &args.write).await,
        What::Bind(bind) => bind::bind(&hub, bind, (&args.hub, &args.write)).await,
        What::Unbind(unbind) => bind::unbind(&hub, unbind, (&args.hub, &args.write)).await,
    }
}

/// Parses a name, alone or in a list with commas.
fn name(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a name is empty".to_owned()),
        name => Ok(name.to_owned()),
    }
}

/// Returns the set of this name.
///
/// # Errors
/// The set does not exist or is being deleted.
pub(crate) async fn existing(
    hub: &HubConnection,
    name: &str,
) -> Result<Item<ManagedClusterSet>, CommandError> {
    let Some(set) = hub.get::<ManagedClusterSet>(None, name).await? else {
        return Err(no_such_set(hub, name).await);
    };
    if set.object.metadata.deletion_timestamp.is_some() {
        return Err(CommandError::Refused(format!(
            "Clusterset {name} is being deleted"
        )));
    }
    Ok(set)
}

/// The error for a set that does not exist, with a suggestion.
async fn no_such_set(hub: &HubConnection, name: &str) -> CommandError {
    let resource = format!("{}.{}", groups::MANAGED_CLUSTER_SETS, groups::CLUSTER);
    let names = set_names(hub).await;
    CommandError::no_such(&resource, name, names.iter().map(String::as_str))
}

/// Returns the names of all sets, for suggestions; empty if they cannot be read.
async fn set_names(hub: &HubConnection) -> Vec<String> {
    let names = hub.names::<ManagedClusterSet>(None).await;
    names.unwrap_or_default()
}

/// Returns the set of a binding: `spec.clusterSet`, or else the name of the binding, which the gate keeps equal.
fn set_of(binding: &Item<ManagedClusterSetBinding>) -> String {
    match binding.object.spec.cluster_set.as_str() {
        "" => binding.name(),
        set => set.to_owned(),
    }
}

/// Returns the namespaces that a set is bound to.
fn namespaces_of(set: &str, bindings: &[Item<ManagedClusterSetBinding>]) -> Vec<String> {
    let of_set = bindings.iter().filter(|binding| set_of(binding) == set);
    let mut namespaces: Vec<String> = of_set
        .filter_map(|binding| binding.object.namespace())
        .collect();
    namespaces.dedup();
    namespaces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_as_they_come_each_once() {
        let names = ["b", "a", "b", "c"].map(str::to_owned);
        assert_eq!(distinct(&names), ["b", "a", "c"]);
        assert_eq!(name(" a "), Ok("a".to_owned()));
        assert!(name(" ").is_err());
    }
}
