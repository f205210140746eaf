//! Commands about add-ons.

mod create;
mod delete;
mod disable;
mod enable;
mod explain;
mod render;

use std::process::ExitCode;

use berth_api::addon::{AddOnConfig, ManagedClusterAddOn};
use berth_api::groups;
use berth_api::names::dns1123_subdomain;
use clap::Subcommand;

use crate::failure::CommandError;
use crate::hub::HubConnection;
use crate::targets::distinct;

/// A command about add-ons, with its arguments.
#[derive(Debug, Subcommand)]
#[expect(
    missing_docs,
    reason = "clap would show it instead of the documentation of the arguments"
)]
pub enum AddonCommand {
    Create(create::Args),
    Delete(delete::Args),
    Disable(disable::Args),
    Enable(enable::Args),
    Explain(explain::Args),
    Render(render::Args),
}

// === impl AddonCommand ===

impl AddonCommand {
    /// Runs the command in a runtime of its own, and returns its exit code.
    ///
    /// # Errors
    /// A file or the hub cannot be used, or the output cannot be written.
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        let command = async {
            match self {
                Self::Create(args) => create::run(args).await,
                Self::Delete(args) => delete::run(args).await,
                Self::Disable(args) => disable::run(args).await,
                Self::Enable(args) => enable::run(args).await,
                Self::Explain(args) => explain::run(args).await,
                Self::Render(args) => render::run(args).await,
            }
        };
        crate::command::in_runtime(command)
    }
}

/// Parses the name of an add-on.
fn addon_name(text: &str) -> Result<String, String> {
    let text = text.trim();
    match dns1123_subdomain(text).first() {
        None => Ok(text.to_owned()),
        Some(why) => Err(why.clone()),
    }
}

/// Names of add-ons, as arguments or by clusteradm's flag.
#[derive(Debug, clap::Args)]
#[group(id = "addons", required = true, multiple = true)]
struct AddonNames {
    /// Names of the add-ons
    #[arg(value_name = "NAME", value_parser = addon_name)]
    words: Vec<String>,
    /// Names of the add-ons, separated by commas
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = addon_name)]
    names: Vec<String>,
}

/// Parses KEY=VALUE.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("it is not of the form KEY=VALUE".to_owned()),
    }
}

/// The reference of an add-on to a config of its own API group.
fn reference(resource: &str, namespace: &str, name: &str) -> AddOnConfig {
    AddOnConfig {
        group: groups::ADDON.to_owned(),
        resource: resource.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

// === impl AddonNames ===

impl AddonNames {
    /// Returns each name once, in the given order.
    fn each(&self) -> Vec<&str> {
        distinct(self.words.iter().chain(&self.names))
    }
}

/// The error about an add-on that a cluster does not have, with the name of one that it has.
async fn no_such(hub: &HubConnection, name: &str, cluster: &str) -> CommandError {
    let names = hub.names::<ManagedClusterAddOn>(Some(cluster)).await;
    let names = names.unwrap_or_default();
    CommandError::no_such(
        &format!(
            "managedclusteraddons.{} of cluster {cluster}",
            groups::ADDON
        ),
        name,
        names.iter().map(String::as_str),
    )
}
