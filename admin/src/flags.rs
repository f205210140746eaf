//! `--dry-run` and `--output`, each defined once. A command changes their help with `mut_arg`.

use crate::hub::DryRun;

/// The flag of commands that write.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct DryRunArgs {
    /// Write nothing: 'client' prints what would be written, 'server' also has the hub check it
    #[arg(
        id = "dry_run",
        long = "dry-run",
        value_name = "client|server|none",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "client",
        default_value = "none",
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub(crate) mode: DryRun,
}

/// The flag of commands that print lines, or a document instead.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct DocumentArgs {
    /// Print json or yaml
    #[arg(
        id = "output",
        short = 'o',
        long = "output",
        value_name = "json|yaml",
        value_enum,
        hide_possible_values = true
    )]
    pub(crate) format: Option<DocumentFormat>,
}

/// The flag of commands that print lines, or names or a document instead.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct NameOrDocumentArgs {
    /// Print the names of what succeeded, or the outcomes as json or yaml, instead of lines
    #[arg(
        id = "output",
        short = 'o',
        long = "output",
        value_name = "name|json|yaml",
        value_enum,
        hide_possible_values = true,
        help_heading = "Writes and output"
    )]
    pub(crate) format: Option<NameOrDocument>,
}

/// The flag of commands that print a table, or a document instead.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct TableArgs {
    /// Output format: table, json or yaml [default: table]
    #[arg(
        id = "output",
        short = 'o',
        long = "output",
        value_name = "FORMAT",
        value_enum,
        hide_possible_values = true,
        default_value_t,
        hide_default_value = true
    )]
    pub(crate) format: TableFormat,
}

/// The format of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DocumentFormat {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// Names, or the format of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum NameOrDocument {
    /// `RESOURCE/NAME`, as kubectl prints it.
    Name,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// A table, or the format of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TableFormat {
    /// Text and a table.
    #[default]
    Table,
    /// Everything, as JSON.
    Json,
    /// Everything, as YAML.
    Yaml,
}
