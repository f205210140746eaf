//! `berth get`: clusters, sets and bindings, as tables, trees and objects.
//!
//! A kind is a [`View`]: its columns, its rows and its tree are plain functions of what the hub has. What is asked
//! for is found in one way for all ([`find`]), and written in one way for all ([`screen`]). With `--watch` the rows of what
//! changes follow, as kubectl has it.

mod bindings;
mod clusters;
mod clustersets;
mod find;
mod screen;

use std::io::{self, BufWriter, StdoutLock, Write};
use std::process::ExitCode;

use berth_rules::display::Lines;
use clap::Subcommand;
use clap::error::ErrorKind;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::de::DeserializeOwned;

use crate::failure::CommandError;
use crate::hub::{Change, HubArgs, HubConnection, Item};
use crate::print::{Format, age};
use find::Asked;
use screen::{Screen, View};

/// Show clusters, sets or bindings
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  berth get clusters
  berth get clusters --clusterset prod -o wide
  berth get clustersets
  berth get bindings -n team-a")]
pub struct Args {
    #[command(subcommand)]
    what: What,
    #[command(flatten)]
    hub: HubArgs,
}

#[derive(Debug, Subcommand)]
enum What {
    Clusters(clusters::Args),
    Clustersets(clustersets::Args),
    Bindings(bindings::Args),
}

/// How they are shown.
#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// Only those with these labels, such as env=prod,region!=eu
    #[arg(short = 'l', long, value_name = "SELECTOR", conflicts_with = "names")]
    selector: Option<String>,
    /// Leave out the titles of a table's columns
    #[arg(long)]
    no_headers: bool,
    /// Go on, and show what changes when it does; not as a tree
    #[arg(short, long)]
    watch: bool,
}

/// What a cell says of an object, or of a part of it, that this version of Berth cannot read, or that we may not.
const UNREADABLE: &str = "<unreadable>";

/// Runs the command.
///
/// # Errors
/// Those of the hub.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.what {
        What::Clusters(what) => clusters::run(what, &args.hub).await,
        What::Clustersets(what) => clustersets::run(what, &args.hub).await,
        What::Bindings(what) => bindings::run(what, &args.hub).await,
    }
}

// === impl ShowArgs ===

impl ShowArgs {
    /// The format that was asked for, or else this one; a watch is a table then. A tree cannot be watched: that ends the
    /// program, as other wrong usage does.
    fn format(&self, asked: Option<Format>, default: Format) -> Format {
        let default = if self.watch { Format::Table } else { default };
        let format = asked.unwrap_or(default);
        if self.watch && format == Format::Tree {
            let why = "--watch cannot be drawn as a tree: use it with -o table, wide, name, json or yaml\n";
            clap::Error::raw(ErrorKind::ArgumentConflict, why).exit();
        }
        format
    }

    fn screen(&self, format: Format) -> Screen<BufWriter<StdoutLock<'static>>> {
        let out = BufWriter::new(io::stdout().lock());
        Screen::new(out, format, !self.no_headers)
    }
}

/// Shows what is asked for, of a kind that stands for itself.
async fn show<V>(
    hub: &HubConnection,
    view: &V,
    asked: &Asked,
    args: &ShowArgs,
    format: Format,
) -> anyhow::Result<ExitCode>
where
    V: View<Kind: DeserializeOwned + Default>,
{
    let mut found = if args.watch {
        asked.list::<V::Kind>(hub).await?
    } else {
        asked.find(hub).await?
    };
    found.items.retain(|item| view.includes(item));
    let mut screen = args.screen(format);
    let now = Timestamp::now();
    if !args.watch {
        screen.write_all(view, &found.items, asked.is_for_one(), now)?;
        return Ok(end(view, asked, &found.items, &found.failures, format));
    }
    screen.begin(view, &found.items, now)?;
    let code = end(view, asked, &found.items, &found.failures, format);
    if found.items.is_empty() && !asked.names.is_empty() {
        return Ok(code);
    }
    let namespace = asked.namespace.as_deref();
    hub.watch(namespace, &asked.listed(), found.version, |change| {
        let now = Timestamp::now();
        match change {
            Change::Applied(item) if asked.is_about(&item.name()) => {
                screen.changed(view, &item, now)?;
            }
            Change::Applied(_) => {}
            Change::Deleted(item) => screen.gone(view, &item, now)?,
            Change::All(items) => {
                let asked = items.iter().filter(|item| asked.is_about(&item.name()));
                screen.all_are(view, asked, now)?;
            }
        }
        Ok::<_, anyhow::Error>(())
    })
    .await?;
    Ok(code)
}

/// Says that there is nothing, or not what was named, and returns the exit code.
fn end<V: View>(
    view: &V,
    asked: &Asked,
    items: &[Item<V::Kind>],
    failures: &[CommandError],
    format: Format,
) -> ExitCode {
    let mut said = io::stderr();
    // With nowhere left to write to, the exit code must do.
    if items.is_empty() && asked.names.is_empty() && !matches!(format, Format::Json | Format::Yaml)
    {
        let _ = writeln!(said, "{}", view.none());
    }
    for failure in failures {
        let _ = writeln!(said, "Error: {}", Lines(&failure.to_string()));
    }
    if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

fn age_of(metadata: &ObjectMeta, now: Timestamp) -> String {
    let since = metadata.creation_timestamp.as_ref().map(|time| time.0);
    age(since, now)
}
