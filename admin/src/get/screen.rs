//! Writing what was found, and then what changes, in the format that was asked for.
//!
//! A row of a watch is written when it says something new: a hub writes an object several times over for what is one
//! event to a person. Objects are written at every change, and so are their names, for those who read everything.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use jiff::Timestamp;
use kube::{Resource, ResourceExt};
use serde_json::Value;

use crate::hub::Item;
use crate::print::{
    Format, Node, Table, print_json, print_names, print_one_json, print_one_yaml, print_yaml,
};

/// A kind, as it is shown.
pub(super) trait View {
    /// The kind.
    type Kind: Resource<DynamicType = ()>;

    /// The titles of the columns.
    fn titles(&self) -> Vec<&'static str>;
    /// A cell for each of them. The time is for ages.
    fn cells(&self, item: &Item<Self::Kind>, now: Timestamp) -> Vec<String>;
    /// All as a drawing.
    fn tree(&self, items: &[Item<Self::Kind>]) -> Node;
    /// What is said when there are none.
    fn none(&self) -> String;
    /// Whether this one is shown.
    fn includes(&self, _item: &Item<Self::Kind>) -> bool {
        true
    }
}

/// Where it is written.
pub(super) struct Screen<W> {
    out: W,
    format: Format,
    header: bool,
    /// Of the columns, so that what follows stands below.
    widths: Vec<usize>,
    /// The rows that were written last, by namespace and name.
    shown: HashMap<(Option<String>, String), Vec<String>>,
    /// Whether a YAML document was written.
    begun: bool,
}

// === impl Screen ===

impl<W: Write> Screen<W> {
    pub(super) fn new(out: W, format: Format, header: bool) -> Self {
        Self {
            out,
            format,
            header,
            widths: Vec::new(),
            shown: HashMap::new(),
            begun: false,
        }
    }

    /// Writes these, which are all. `alone`: one that was asked for by its name is no list.
    pub(super) fn write_all<V: View>(
        &mut self,
        view: &V,
        items: &[Item<V::Kind>],
        alone: bool,
        now: Timestamp,
    ) -> io::Result<()> {
        let values = items.iter().map(|item| &item.value);
        match (self.format, items) {
            (Format::Table | Format::Wide, _) => self.table(view, &Vec::from_iter(items), now)?,
            (Format::Tree, []) => {}
            (Format::Tree, _) => view.tree(items).write(&mut self.out)?,
            (Format::Json, [item]) if alone => print_one_json(&mut self.out, &item.value)?,
            (Format::Yaml, [item]) if alone => print_one_yaml(&mut self.out, &item.value)?,
            (Format::Json | Format::Yaml, []) if alone => {}
            (Format::Json, _) => print_json(&mut self.out, values)?,
            (Format::Yaml, _) => print_yaml(&mut self.out, values)?,
            (Format::Name, _) => print_names(&mut self.out, values)?,
        }
        self.out.flush()
    }

    /// Writes these, which others will follow.
    pub(super) fn begin<V: View>(
        &mut self,
        view: &V,
        items: &[Item<V::Kind>],
        now: Timestamp,
    ) -> io::Result<()> {
        for item in items {
            self.shown.insert(key(item), still(view, item));
        }
        if self.is_table() {
            self.table(view, &Vec::from_iter(items), now)?;
        } else {
            for item in items {
                self.object(&item.value)?;
            }
        }
        self.out.flush()
    }

    /// Writes one that may have changed.
    pub(super) fn changed<V: View>(
        &mut self,
        view: &V,
        item: &Item<V::Kind>,
        now: Timestamp,
    ) -> io::Result<()> {
        if !view.includes(item) {
            return self.gone(view, item, now);
        }
        let row = still(view, item);
        let before = self.shown.insert(key(item), row.clone());
        if !self.is_table() {
            self.object(&item.value)?;
        } else if before.as_ref() != Some(&row) {
            self.table(view, &[item], now)?;
        }
        self.out.flush()
    }

    /// Writes one that is gone, as it was last, if it was shown.
    pub(super) fn gone<V: View>(
        &mut self,
        view: &V,
        item: &Item<V::Kind>,
        now: Timestamp,
    ) -> io::Result<()> {
        if self.shown.remove(&key(item)).is_none() {
            return Ok(());
        }
        if self.is_table() {
            self.table(view, &[item], now)?;
        } else {
            self.object(&item.value)?;
        }
        self.out.flush()
    }

    /// Writes those of these, which are all, that may have changed. Of others that were shown nothing is known but that they
    /// are gone.
    pub(super) fn all_are<'a, V: View<Kind: 'a>>(
        &mut self,
        view: &V,
        items: impl IntoIterator<Item = &'a Item<V::Kind>>,
        now: Timestamp,
    ) -> io::Result<()> {
        let mut there = HashSet::new();
        for item in items {
            there.insert(key(item));
            self.changed(view, item, now)?;
        }
        self.shown.retain(|key, _| there.contains(key));
        Ok(())
    }

    fn is_table(&self) -> bool {
        matches!(self.format, Format::Table | Format::Wide)
    }

    fn table<V: View>(
        &mut self,
        view: &V,
        items: &[&Item<V::Kind>],
        now: Timestamp,
    ) -> io::Result<()> {
        let mut table = Table::new(&view.titles());
        for item in items {
            table.row(view.cells(item, now));
        }
        table.write(&mut self.out, self.header, &self.widths)?;
        if !items.is_empty() {
            self.header = false;
            self.widths.resize(view.titles().len(), 0);
            for (width, new) in self.widths.iter_mut().zip(table.widths()) {
                *width = (*width).max(new);
            }
        }
        Ok(())
    }

    fn object(&mut self, value: &Value) -> io::Result<()> {
        match self.format {
            Format::Json => print_one_json(&mut self.out, value),
            Format::Yaml => {
                if std::mem::replace(&mut self.begun, true) {
                    writeln!(self.out, "---")?;
                }
                print_one_yaml(&mut self.out, value)
            }
            _ => print_names(&mut self.out, [value]),
        }
    }
}

fn key<K: Resource<DynamicType = ()>>(item: &Item<K>) -> (Option<String>, String) {
    (item.object.namespace(), item.object.name_any())
}

/// A row in which nothing changes but by a change of the object.
fn still<V: View>(view: &V, item: &Item<V::Kind>) -> Vec<String> {
    view.cells(item, Timestamp::MIN)
}
