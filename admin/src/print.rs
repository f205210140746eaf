//! Output of objects as tables, trees, JSON and YAML, in kubectl's style.

mod age;
mod objects;
mod style;
mod table;
mod template;
mod tree;
mod visits;

use berth_rules::display::is_plain;

pub(crate) use age::age;
pub(crate) use objects::{
    list, print_json, print_names, print_one_json, print_one_yaml, print_yaml,
};
pub(crate) use style::Style;
pub use style::has_colours;
pub(crate) use table::Table;
pub(crate) use template::{Template, text_of};
pub(crate) use tree::Node;
pub(crate) use visits::Visits;

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// One line for each object.
    Table,
    /// A table with more columns.
    Wide,
    /// A tree of objects and fields.
    Tree,
    /// All fields, as JSON.
    Json,
    /// All fields, as YAML.
    Yaml,
    /// resource/name.
    Name,
}

/// Makes text of other users safe for a terminal: one line, without control characters.
pub(crate) fn plain(text: &str) -> String {
    match text.split_once(['\n', '\r']) {
        // As in kubectl.
        Some((first, _)) => format!("{}...", plain(first)),
        None => text
            .chars()
            .map(|c| if is_plain(c) { c } else { '?' })
            .collect(),
    }
}
