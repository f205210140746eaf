//! One run of `berth get`: which hub, which objects, and how they are shown.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::process::ExitCode;

use berth_rules::display::Lines;
use clap::error::ErrorKind;
use jiff::Timestamp;
use kube::Resource;
use serde::de::DeserializeOwned;

use super::find::{Asked, Found};
use super::screen::{Screen, View};
use crate::failure::CommandError;
use crate::hub::{Change, Filter, HubArgs, HubConnection};
use crate::print::Format;

/// Flags that all kinds share.
#[derive(Debug, clap::Args)]
pub(super) struct ShowArgs {
    /// Output format: table, wide, tree, json, yaml or name [default: table]
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        value_enum,
        hide_possible_values = true
    )]
    output: Option<Format>,
    /// Only objects with these labels, such as env=prod,region!=eu
    #[arg(short = 'l', long, value_name = "SELECTOR", conflicts_with = "names")]
    selector: Option<String>,
    /// Omit the column headers of a table
    #[arg(long)]
    no_headers: bool,
    /// After the list, show each change; not with -o tree
    #[arg(short, long)]
    watch: bool,
}

/// What a `berth get` shows, of which hub.
pub(super) struct Query<'a> {
    pub(super) hub: HubConnection,
    pub(super) asked: Asked,
    pub(super) format: Format,
    args: &'a ShowArgs,
}

/// The output of a query.
pub(super) type Output = Screen<BufWriter<StdoutLock<'static>>>;

// === impl ShowArgs ===

impl ShowArgs {
    pub(super) fn is_watch(&self) -> bool {
        self.watch
    }

    /// Returns the format of the flags, or else the default, which is a table for watches. A tree cannot be watched: then the
    /// program ends with a usage error.
    fn format(&self, default: Format) -> Format {
        let default = if self.watch { Format::Table } else { default };
        let format = self.output.unwrap_or(default);
        if self.watch && format == Format::Tree {
            let why =
                "--watch does not work with -o tree: use -o table, wide, name, json or yaml\n";
            clap::Error::raw(ErrorKind::ArgumentConflict, why).exit();
        }
        format
    }
}

// === impl Query ===

impl<'a> Query<'a> {
    /// The query of these flags, for the objects of these names, or for all if no name is given.
    ///
    /// # Errors
    /// The flags name no usable hub.
    pub(super) async fn new(
        hub: &HubArgs,
        names: &[String],
        args: &'a ShowArgs,
        default: Format,
    ) -> Result<Self, CommandError> {
        let format = args.format(default);
        let filter = Filter {
            labels: args.selector.clone(),
            fields: None,
        };
        Ok(Self {
            hub: HubConnection::of(hub).await?,
            asked: Asked::new(names, filter),
            format,
            args,
        })
    }

    /// Shows the objects, and with `--watch` their changes.
    ///
    /// # Errors
    /// Those of the hub and of the output.
    pub(super) async fn run<V>(self, view: &V) -> anyhow::Result<ExitCode>
    where
        V: View<Kind: DeserializeOwned + Default>,
    {
        let mut found = self.find().await?;
        found.items.retain(|item| view.includes(item));
        let mut screen = self.screen();
        let code = self.show(&mut screen, view, &found)?;
        if !self.goes_on(&found) {
            return Ok(code);
        }
        let Self { hub, asked, .. } = &self;
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

    /// Finds the objects. For a watch they are listed, since the watch starts at the resourceVersion of the list.
    pub(super) async fn find<K>(&self) -> Result<Found<K>, CommandError>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Default,
    {
        if self.args.watch {
            self.asked.list(&self.hub).await
        } else {
            self.asked.find(&self.hub).await
        }
    }

    pub(super) fn screen(&self) -> Output {
        let out = BufWriter::new(io::stdout().lock());
        Screen::new(out, self.format, !self.args.no_headers)
    }

    /// Shows the objects that were found, reports the others, and returns the exit code.
    pub(super) fn show<V: View>(
        &self,
        screen: &mut Output,
        view: &V,
        found: &Found<V::Kind>,
    ) -> io::Result<ExitCode> {
        let now = Timestamp::now();
        if self.args.watch {
            screen.begin(view, &found.items, now)?;
        } else {
            screen.write_all(view, &found.items, self.asked.is_for_one(), now)?;
        }
        let mut err = io::stderr();
        // An error of standard error is ignored: the exit code has to do.
        let is_document = matches!(self.format, Format::Json | Format::Yaml);
        if found.items.is_empty() && self.asked.names.is_empty() && !is_document {
            let _ = writeln!(err, "{}", view.none());
        }
        for failure in &found.failures {
            let _ = writeln!(err, "Error: {}", Lines(&failure.to_string()));
        }
        Ok(if found.failures.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    /// Returns true if changes are to follow. If no object of the names was found, the command ends.
    pub(super) fn goes_on<K>(&self, found: &Found<K>) -> bool {
        self.args.watch && (self.asked.names.is_empty() || !found.items.is_empty())
    }
}
