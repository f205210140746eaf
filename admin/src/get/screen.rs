//! Writes objects, and then their changes, in the output format.
//!
//! A watch writes a row only if a cell has changed, since a hub often updates an object several times for one event. In the
//! formats json, yaml and name it writes every change.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use berth_rules::display::Lines;
use jiff::Timestamp;
use kube::{Resource, ResourceExt};
use serde_json::Value;

use super::columns::Columns;
use crate::hub::Item;
use crate::print::{
    Format, Node, Table, Template, list, print_json, print_names, print_one_json, print_one_yaml,
    print_yaml,
};

/// The output of a kind.
pub(super) trait View {
    /// The kind.
    type Kind: Resource<DynamicType = ()>;

    /// The titles of the columns.
    fn titles(&self) -> Vec<&'static str>;
    /// The cells of a row, one for each column. `now` is for ages.
    fn cells(&self, item: &Item<Self::Kind>, now: Timestamp) -> Vec<String>;
    /// The tree of all objects.
    fn tree(&self, items: &[Item<Self::Kind>]) -> Node;
    /// The message if no object was found.
    fn none(&self) -> String;
    /// Returns true if this object is shown.
    fn includes(&self, _item: &Item<Self::Kind>) -> bool {
        true
    }
}

/// The output.
pub(super) struct Screen<W> {
    out: W,
    format: Format,
    columns: Columns,
    /// Printed instead of the JSON.
    template: Option<Template>,
    header: bool,
    /// The widths of the columns, so that later rows are aligned.
    widths: Vec<usize>,
    /// The last row of each object, by namespace and name.
    shown: HashMap<(Option<String>, String), Vec<String>>,
    /// True after the first YAML document.
    begun: bool,
}

// === impl Screen ===

impl<W: Write> Screen<W> {
    pub(super) fn new(out: W, format: Format, header: bool) -> Self {
        Self {
            out,
            format,
            columns: Columns::default(),
            template: None,
            header,
            widths: Vec::new(),
            shown: HashMap::new(),
            begun: false,
        }
    }

    /// With other columns, and with a template instead of JSON.
    pub(super) fn with(mut self, columns: Columns, template: Option<Template>) -> Self {
        self.columns = columns;
        self.template = template;
        self
    }

    /// Writes all objects, and no changes will follow. With `alone`, one object is written as itself, not as a list.
    pub(super) fn write_all<V: View>(
        &mut self,
        view: &V,
        items: &[Item<V::Kind>],
        alone: bool,
        now: Timestamp,
    ) -> io::Result<()> {
        let values = items.iter().map(|item| &item.value);
        if let Some(template) = &self.template {
            let text = match items {
                [item] if alone => template.render(&item.value),
                [] if alone => Ok(String::new()),
                _ => template.render(&list(values)),
            };
            write!(self.out, "{}", Lines(&text.map_err(io::Error::other)?))?;
            return self.out.flush();
        }
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

    /// Writes the first objects of a watch.
    pub(super) fn begin<V: View>(
        &mut self,
        view: &V,
        items: &[Item<V::Kind>],
        now: Timestamp,
    ) -> io::Result<()> {
        self.knows(view, items);
        if self.is_table() {
            self.table(view, &Vec::from_iter(items), now)?;
        } else {
            for item in items {
                self.object(&item.value)?;
            }
        }
        self.out.flush()
    }

    /// Takes the first objects of a watch for known, without writing them.
    pub(super) fn knows<V: View>(&mut self, view: &V, items: &[Item<V::Kind>]) {
        for item in items {
            let row = self.columns.cells(view, item, Timestamp::MIN);
            self.shown.insert(key(item), row);
        }
    }

    /// Writes an object that may have changed.
    pub(super) fn changed<V: View>(
        &mut self,
        view: &V,
        item: &Item<V::Kind>,
        now: Timestamp,
    ) -> io::Result<()> {
        if !view.includes(item) {
            return self.gone(view, item, now);
        }
        // With a fixed time, so that it changes only with the object.
        let row = self.columns.cells(view, item, Timestamp::MIN);
        let before = self.shown.insert(key(item), row.clone());
        if !self.is_table() {
            self.object(&item.value)?;
        } else if before.as_ref() != Some(&row) {
            self.table(view, &[item], now)?;
        }
        self.out.flush()
    }

    /// Writes the last state of a deleted object, if it was shown before.
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

    /// Writes the objects that have changed. `items` are all objects that exist; others that were shown are forgotten.
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
        let titles = self.columns.titles(view);
        let mut table = Table::new(&titles);
        for item in items {
            table.row(self.columns.cells(view, item, now));
        }
        table.write(&mut self.out, self.header, &self.widths)?;
        if !items.is_empty() {
            self.header = false;
            self.widths.resize(titles.len(), 0);
            for (width, new) in self.widths.iter_mut().zip(table.widths()) {
                *width = (*width).max(new);
            }
        }
        Ok(())
    }

    fn object(&mut self, value: &Value) -> io::Result<()> {
        if let Some(template) = &self.template {
            let text = template.render(value).map_err(io::Error::other)?;
            return writeln!(self.out, "{}", Lines(&text));
        }
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
