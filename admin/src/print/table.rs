//! Tables in kubectl's format: columns are as wide as their cells, with three spaces between; a table without rows is empty.

use std::io::{self, Write};

use super::plain;

/// Spaces between two columns.
const GAP: usize = 3;

/// Rows under a header.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

// === impl Table ===

impl Table {
    pub(crate) fn new(header: &[impl AsRef<str>]) -> Self {
        Self {
            header: header.iter().map(|it| it.as_ref().to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, with a cell for each column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.header.len());
        self.rows.push(cells);
    }

    /// Returns true if it has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the width of each column.
    pub(crate) fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.header.iter().map(String::len).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(plain(cell).chars().count());
            }
        }
        widths
    }

    /// Writes the table. `at_least` has minimum widths, which align the rows of a watch.
    pub(crate) fn write(
        &self,
        out: &mut impl Write,
        header: bool,
        at_least: &[usize],
    ) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut widths = self.widths();
        for (width, least) in widths.iter_mut().zip(at_least) {
            *width = (*width).max(*least);
        }
        if header {
            line(out, &widths, self.header.iter().map(|title| plain(title)))?;
        }
        for row in &self.rows {
            line(out, &widths, row.iter().map(|cell| plain(cell)))?;
        }
        Ok(())
    }
}

fn line(
    out: &mut impl Write,
    widths: &[usize],
    cells: impl Iterator<Item = String>,
) -> io::Result<()> {
    let mut text = String::new();
    for (cell, width) in cells.zip(widths) {
        let padding = (width + GAP).saturating_sub(cell.chars().count());
        text.push_str(&cell);
        text.extend(std::iter::repeat_n(' ', padding));
    }
    writeln!(out, "{}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(table: &Table, header: bool) -> String {
        let mut out = Vec::new();
        table.write(&mut out, header, &[]).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let mut table = Table::new(&["NAME", "ACCEPTED"]);
        assert_eq!(written(&table, true), "");
        table.row(vec!["cluster1".into(), "true".into()]);
        table.row(vec!["é".into(), String::new()]);
        assert_eq!(
            written(&table, true),
            "NAME       ACCEPTED\ncluster1   true\né\n"
        );
        assert_eq!(written(&table, false), "cluster1   true\né\n");
    }

    #[test]
    fn a_cell_is_one_line_that_no_terminal_obeys() {
        let mut table = Table::new(&["NAME"]);
        table.row(vec!["a\u{1b}[31m\nb".into()]);
        assert_eq!(written(&table, false), "a?[31m...\n");
    }
}
