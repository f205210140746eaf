//! One run of `berth get`: which hub, which objects, and how they are shown.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::process::ExitCode;

use berth_rules::display::Lines;
use berth_work_core::jsonpath::Path;
use clap::ValueEnum;
use clap::error::ErrorKind;
use jiff::Timestamp;
use kube::Resource;
use serde::de::DeserializeOwned;

use super::columns::{Columns, Described, path_of, sort_by};
use super::find::{Asked, Found};
use super::screen::{Screen, View};
use crate::failure::CommandError;
use crate::hub::{Change, Filter, HubArgs, HubConnection};
use crate::print::{Format, Template};

/// Flags that all kinds share.
#[derive(Debug, clap::Args)]
pub(super) struct ShowArgs {
    /// Output format: table, wide, tree, json, yaml, name, custom-columns=TITLE:PATH,... or jsonpath=TEMPLATE [default: table]
    #[arg(short, long, value_name = "FORMAT", value_parser = shown)]
    output: Option<Shown>,
    /// Only objects with these labels, such as env=prod,region!=eu
    #[arg(short = 'l', long, value_name = "SELECTOR", conflicts_with = "names")]
    selector: Option<String>,
    /// Only objects with these fields, such as metadata.name=a
    #[arg(long, value_name = "SELECTOR", conflicts_with = "names")]
    field_selector: Option<String>,
    /// Sort by the value of a field, such as .metadata.creationTimestamp
    #[arg(long, value_name = "PATH", value_parser = path_of, conflicts_with = "watch")]
    sort_by: Option<Path>,
    /// A column with all labels
    #[arg(long)]
    show_labels: bool,
    /// A column for each of these labels
    #[arg(short = 'L', long, value_name = "KEY,...", value_delimiter = ',')]
    label_columns: Vec<String>,
    /// A name without an object is no error
    #[arg(long)]
    ignore_not_found: bool,
    /// Omit the column headers of a table
    #[arg(long)]
    no_headers: bool,
    /// After the list, show each change; not with -o tree
    #[arg(short, long)]
    watch: bool,
    /// Show changes only, without the list
    #[arg(long, conflicts_with = "watch")]
    watch_only: bool,
}

/// An output format.
#[derive(Clone, Debug)]
enum Shown {
    Known(Format),
    Described(Described),
}

/// Parses an output format.
fn shown(text: &str) -> Result<Shown, String> {
    if let Some(described) = Described::parse(text)? {
        return Ok(Shown::Described(described));
    }
    Format::from_str(text, false)
        .map(Shown::Known)
        .map_err(|_| {
            "expected table, wide, tree, json, yaml, name, custom-columns=... or jsonpath=..."
                .to_owned()
        })
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
        self.watch || self.watch_only
    }

    /// The columns, and the template in place of JSON.
    fn described(&self) -> (Columns, Option<Template>) {
        let (described, template) = match self.output.clone() {
            Some(Shown::Described(Described::Columns(columns))) => (Some(columns), None),
            Some(Shown::Described(Described::Template(template))) => (None, Some(template)),
            _ => (None, None),
        };
        let columns = Columns {
            described,
            labels: self.label_columns.clone(),
            show_labels: self.show_labels,
        };
        (columns, template)
    }

    /// Returns the format of the flags, or else the default, which is a table for watches. A tree cannot be watched: then the
    /// program ends with a usage error.
    fn format(&self, default: Format) -> Format {
        let default = if self.is_watch() {
            Format::Table
        } else {
            default
        };
        let format = match &self.output {
            None => default,
            Some(Shown::Known(format)) => *format,
            Some(Shown::Described(Described::Columns(_))) => Format::Table,
            Some(Shown::Described(Described::Template(_))) => Format::Json,
        };
        if self.is_watch() && format == Format::Tree {
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
            fields: args.field_selector.clone(),
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
        let mut found = if self.args.is_watch() {
            self.asked.list(&self.hub).await?
        } else {
            self.asked.find(&self.hub).await?
        };
        if let Some(path) = &self.args.sort_by {
            sort_by(&mut found.items, path);
        }
        let is_missing = |it: &CommandError| matches!(it, CommandError::NotFound { .. });
        if self.args.ignore_not_found {
            found.failures.retain(|failure| !is_missing(failure));
        }
        Ok(found)
    }

    pub(super) fn screen(&self) -> Output {
        let out = BufWriter::new(io::stdout().lock());
        let (columns, template) = self.args.described();
        Screen::new(out, self.format, !self.args.no_headers).with(columns, template)
    }

    /// Shows the objects that were found, reports the others, and returns the exit code.
    pub(super) fn show<V: View>(
        &self,
        screen: &mut Output,
        view: &V,
        found: &Found<V::Kind>,
    ) -> io::Result<ExitCode> {
        let now = Timestamp::now();
        if self.args.watch_only {
            screen.knows(view, &found.items);
        } else if self.args.watch {
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
        self.args.is_watch() && (self.asked.names.is_empty() || !found.items.is_empty())
    }
}
