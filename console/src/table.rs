//! The table of clusters, and the windows of it that pages show.
//!
//! # Guarantees
//! - A window is the part from `from` on of the clusters that match, in order; clusters with equal fields are ordered by name.
//! - The window that a page has, with each [`Delta`] applied, equals the window of the table.

mod changes;
mod sort;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

pub(crate) use changes::{Change, Changes, What};
pub(crate) use sort::Sort;

use crate::answers::{ClusterRow, Counts, Delta, State, Window};
use crate::fact::ClusterFact;
use crate::search::Query;

/// Upper bound on the rows of a window.
pub(crate) const MOST_ROWS: usize = 500;

/// All clusters, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    clusters: BTreeMap<Arc<str>, Arc<ClusterFact>>,
    changes: Changes,
}

/// What a page shows of the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub(crate) query: Query,
    pub(crate) sort: Sort,
    /// The first row.
    pub(crate) from: usize,
    /// The number of rows, at most [`MOST_ROWS`].
    pub(crate) count: usize,
}

/// A window of the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    total: usize,
    matched: usize,
    counts: Counts,
    from: usize,
    rows: Vec<Arc<ClusterFact>>,
}

// === impl Table ===

impl Table {
    pub(crate) fn insert(&mut self, mut fact: ClusterFact) {
        let changes = std::mem::take(&mut fact.changes);
        self.changes.add(&fact.name, changes);
        self.clusters
            .insert(fact.name.as_str().into(), Arc::new(fact));
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.clusters.remove(name);
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<ClusterFact>> {
        self.clusters.get(name)
    }

    pub(crate) fn len(&self) -> usize {
        self.clusters.len()
    }

    /// Keeps those that `keeps` returns true for.
    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(&str) -> bool) {
        self.clusters.retain(|name, _| keeps(name));
    }

    /// All clusters, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<ClusterFact>> {
        self.clusters.values()
    }

    /// What has changed of clusters lately.
    pub(crate) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Returns the window of a view.
    pub(crate) fn window(&self, view: &View) -> Shown {
        let mut rows: Vec<&Arc<ClusterFact>> =
            self.iter().filter(|it| view.query.matches(it)).collect();
        let mut counts = Counts::default();
        for row in &rows {
            *counts.of(row.row.state) += 1;
        }
        view.sort.apply(&mut rows);
        let matched = rows.len();
        let count = view.count.min(MOST_ROWS);
        let window = rows.into_iter().skip(view.from).take(count);
        Shown {
            total: self.clusters.len(),
            matched,
            counts,
            from: view.from,
            rows: window.cloned().collect(),
        }
    }
}

// === impl Shown ===

impl Shown {
    /// The whole window.
    pub(crate) fn answer(&self) -> Window {
        Window {
            total: self.total,
            matched: self.matched,
            counts: self.counts,
            from: self.from,
            rows: self.rows.iter().map(|it| it.row.clone()).collect(),
        }
    }

    /// What has changed since the page got `before`, a window of the same view; `None` if nothing has.
    pub(crate) fn since(&self, before: &Self) -> Option<Delta> {
        let known: HashMap<&str, &Arc<ClusterFact>> = (before.rows.iter())
            .map(|row| (row.name.as_str(), row))
            .collect();
        let is_known = |row: &&Arc<ClusterFact>| {
            (known.get(row.name.as_str()))
                .is_some_and(|it| Arc::ptr_eq(it, row) || it.row == row.row)
        };
        let rows: Vec<ClusterRow> = (self.rows.iter())
            .filter(|row| !is_known(row))
            .map(|row| row.row.clone())
            .collect();
        let names = |shown: &Self| {
            shown
                .rows
                .iter()
                .map(|it| it.name.clone())
                .collect::<Vec<_>>()
        };
        let is_same = rows.is_empty()
            && (self.total, self.matched, self.counts)
                == (before.total, before.matched, before.counts)
            && names(self) == names(before);
        (!is_same).then(|| Delta {
            total: self.total,
            matched: self.matched,
            counts: self.counts,
            from: self.from,
            order: self.rows.iter().map(|it| it.row.name.clone()).collect(),
            rows,
        })
    }
}

// === impl Counts ===

impl Counts {
    pub(crate) fn of(&mut self, state: State) -> &mut usize {
        match state {
            State::Pending => &mut self.pending,
            State::Denied => &mut self.denied,
            State::Accepted => &mut self.accepted,
            State::Joined => &mut self.joined,
            State::Available => &mut self.available,
            State::Unavailable => &mut self.unavailable,
            State::Unknown => &mut self.unknown,
            State::Deleting => &mut self.deleting,
        }
    }

    /// The number of all.
    pub(crate) fn sum(&self) -> usize {
        let in_use = self.joined + self.available + self.unavailable + self.unknown;
        self.pending + self.denied + self.accepted + in_use + self.deleting
    }
}

#[cfg(test)]
mod tests;
