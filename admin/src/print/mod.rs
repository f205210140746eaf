//! What commands show, as kubectl would: tables, trees, and the objects themselves.

mod age;
mod objects;
mod table;
mod tree;

use berth_rules::display::is_plain;

pub(crate) use age::age;
pub(crate) use objects::{print_json, print_names, print_one_json, print_one_yaml, print_yaml};
pub(crate) use table::Table;
pub(crate) use tree::Node;

/// How objects are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// One line for each.
    Table,
    /// The same, with more columns.
    Wide,
    /// Each with its fields, as a drawing.
    Tree,
    /// All fields, as JSON.
    Json,
    /// All fields, as YAML.
    Yaml,
    /// resource/name.
    Name,
}

/// Text of others, fit for a terminal: one line, and nothing in it that a terminal would obey.
pub(crate) fn plain(text: &str) -> String {
    match text.split_once(['\n', '\r']) {
        // As kubectl has it.
        Some((first, _)) => format!("{}...", plain(first)),
        None => text
            .chars()
            .map(|c| if is_plain(c) { c } else { '?' })
            .collect(),
    }
}
