//! `berth work diff`.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;

use berth_api::{groups, lenient};
use berth_hub::object_path;
use clap_complete::engine::ArgValueCandidates;
use serde_json::{Value, json};

use super::differences::{self, Difference, DifferingObject};
use crate::complete;
use crate::failure::CommandError;
use crate::flags::{TableArgs, TableFormat};
use crate::hub::{HubArgs, HubConnection, namespace};
use crate::print::{Table, print_one_json, print_one_yaml};

/// The exit code if something differs, as that of `kubectl diff`.
const DIFFERS: u8 = 1;
/// The exit code of an error.
pub(super) const FAILURE: u8 = 2;

const WORKS: (&str, &str, &str) = (groups::WORK, "v1", groups::MANIFEST_WORKS);

const EXAMPLES: &str = "\
Examples:
  # Everything that is not as prescribed, on all clusters
  berth work diff

  # One ManifestWork, on all clusters that have it
  berth work diff web

  # A cluster
  berth work diff -n cluster1

States:
  Drifted      the object has other fields than its manifest; the message names them
  Missing      the object does not exist on the cluster
  NotApplied   the manifest could not be applied; the message says why
  Unknown      the agent could not find out whether the object exists
  NotReported  the agent has not reported this version of the ManifestWork; is the cluster available?

The command reads what the agents reported, and nothing on the clusters. Only Berth's agents report fields that differ, and they repair
them unless the update strategy is ReadOnly.

Exit codes: 0 nothing differs, 1 something differs, 2 an error.";

/// Show what the clusters have that differs from their ManifestWorks
///
/// Shows the objects of ManifestWorks that are missing, that could not be applied, or that have other fields than prescribed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only ManifestWorks of these names
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::works))]
    names: Vec<String>,
    /// Only ManifestWorks of this cluster: the cluster's namespace on the hub
    #[arg(
        short,
        long,
        visible_alias = "cluster",
        value_name = "CLUSTER",
        value_parser = namespace,
        add = ArgValueCandidates::new(complete::clusters)
    )]
    namespace: Option<String>,
    #[command(flatten)]
    output: TableArgs,
    #[command(flatten)]
    hub: HubArgs,
}

/// What was read.
#[derive(Default)]
struct Found {
    /// Names that exist.
    names: BTreeSet<String>,
    /// The ManifestWorks that were asked for.
    works: usize,
    differences: Vec<Difference>,
    /// Why a ManifestWork cannot be read, with its name.
    unreadable: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// The hub cannot be used, a ManifestWork that was named does not exist, or the output cannot be written.
pub(super) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let hub = HubConnection::of(&args.hub).await?;
    let path = object_path(WORKS, args.namespace.as_deref().unwrap_or_default(), "");
    let mut found = Found::default();
    let mut take = |work: Option<Value>| match work {
        Some(work) => found.add(&work, &args.names),
        None => found = Found::default(),
    };
    hub.each_at(path, &mut take).await?;
    if let Some(name) = args.names.iter().find(|it| !found.names.contains(*it)) {
        let names = found.names.iter().map(String::as_str);
        return Err(CommandError::no_such(
            "manifestworks.work.open-cluster-management.io",
            name,
            names,
        )
        .into());
    }
    found.write(args)
}

// === impl Found ===

impl Found {
    fn add(&mut self, work: &Value, asked: &[String]) {
        let text = |field: &str| work["metadata"][field].as_str().unwrap_or_default();
        let name = text("name");
        self.names.insert(name.to_owned());
        if !asked.is_empty() && !asked.iter().any(|it| it == name) {
            return;
        }
        match lenient::manifest_work(&work.to_string()) {
            Ok(read) => {
                self.works += 1;
                self.differences.extend(differences::of(&read.object));
            }
            Err(error) => self.unreadable.push(format!(
                "ManifestWork {}/{name} cannot be read: {error}",
                text("namespace")
            )),
        }
    }

    fn write(mut self, args: &Args) -> anyhow::Result<ExitCode> {
        self.differences
            .sort_by(|a, b| (&a.cluster, &a.work).cmp(&(&b.cluster, &b.work)));
        let mut out = io::BufWriter::new(io::stdout().lock());
        let document = || json!({"works": self.works, "differences": self.differences});
        match args.output.format {
            TableFormat::Json => print_one_json(&mut out, &document())?,
            TableFormat::Yaml => print_one_yaml(&mut out, &document())?,
            TableFormat::Table => table(&self.differences).write(&mut out, true, &[])?,
        }
        out.flush()?;
        let mut err = io::stderr().lock();
        for unreadable in &self.unreadable {
            writeln!(err, "Warning: {}", crate::print::plain(unreadable))?;
        }
        let works = match self.works {
            1 => "1 ManifestWork".to_owned(),
            count => format!("{count} ManifestWorks"),
        };
        if args.output.format == TableFormat::Table && self.differences.is_empty() {
            writeln!(err, "No differences in {works}.")?;
        }
        Ok(ExitCode::from(self.code()))
    }

    /// The exit code. An unreadable ManifestWork may differ.
    fn code(&self) -> u8 {
        match (&self.differences[..], &self.unreadable[..]) {
            ([], []) => 0,
            ([], _) => FAILURE,
            _ => DIFFERS,
        }
    }
}

fn table(differences: &[Difference]) -> Table {
    let mut table = Table::new(&["CLUSTER", "WORK", "OBJECT", "STATE", "MESSAGE"]);
    for it in differences {
        let object = it
            .object
            .as_ref()
            .map_or_else(|| "(all)".to_owned(), DifferingObject::title);
        table.row(vec![
            it.cluster.clone(),
            it.work.clone(),
            object,
            it.state.name().to_owned(),
            it.message.clone(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_work_is_an_error_and_counts_for_nothing() {
        let mut found = Found::default();
        assert_eq!((found.works, found.code()), (0, 0));
        found.add(&json!({"metadata": {"name": "a"}, "spec": 1}), &[]);
        assert_eq!((found.works, found.code()), (0, FAILURE));
        let [why] = &found.unreadable[..] else {
            panic!("{:?}", found.unreadable)
        };
        assert!(why.starts_with("ManifestWork /a cannot be read: "), "{why}");
        // It has not been reported.
        found.add(&json!({"metadata": {"name": "b"}, "spec": {}}), &[]);
        assert_eq!((found.works, found.code()), (1, DIFFERS));
    }
}
