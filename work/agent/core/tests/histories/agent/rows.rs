//! The rows: what is watched of the cluster's objects, and what these watches report.

use std::rc::Rc;

use berth_work_agent_core::{Arrived, ObjectItem, RowId};
use fastrand::Rng;

use super::Agent;
use crate::World;
use crate::cluster::{Cluster, Shown};
use crate::things::{Kind, namespace};

/// A kind in a namespace.
pub(super) struct Row {
    kind: Kind,
    /// `None`: all of them.
    namespace: Option<Box<str>>,
    at: At,
}

/// How far a watch is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// It is not listed yet.
    New,
    /// So many changes were reported.
    Change(usize),
    /// The API server does not know the kind any more.
    Lost,
}

impl Row {
    fn has(&self, name: &str) -> bool {
        (self.namespace.as_deref()).is_none_or(|it| it == namespace(name))
    }

    fn knows_kind(&self, cluster: &Cluster) -> bool {
        self.kind != Kind::Widget || cluster.is_served
    }

    /// Returns true if there is something to report.
    pub(super) fn has_news(&self, cluster: &Cluster) -> bool {
        match self.at {
            At::New => true,
            At::Change(at) => at < cluster.log(self.kind).len() || !self.knows_kind(cluster),
            At::Lost => self.knows_kind(cluster),
        }
    }

    /// How many changes the watch has reported.
    fn reported(&self) -> usize {
        match self.at {
            At::Change(at) => at,
            At::New | At::Lost => 0,
        }
    }
}

impl Agent {
    /// Brings the rows up to date.
    pub(super) fn table(&mut self) {
        let changes = self.view.rows.changes();
        for row in &changes.removed {
            self.view.forgets(*row);
            self.rows.remove(row);
        }
        for (row, place) in changes.added {
            self.view.awaits(row);
            let resource = self.view.rows.resource(place.kind).unwrap();
            let watched = Row {
                kind: Kind::of_resource(resource),
                namespace: place.namespace,
                at: At::New,
            };
            self.rows.insert(row, watched);
        }
    }

    /// Returns true if a row is to be listed for the first time.
    pub(crate) fn has_new_row(&self) -> bool {
        self.rows.values().any(|it| it.at == At::New)
    }

    /// A row is listed, or reports the next change, or its kind is not served any more.
    pub(super) fn report_row(&mut self, world: &World, rng: &mut Rng) {
        let cluster = &world.cluster;
        let news = self.rows.iter().filter(|(_, it)| it.has_news(cluster));
        let news: Vec<_> = news.collect();
        let Some((&id, row)) = rng.choice(news) else {
            return;
        };
        let (log, at) = (cluster.log(row.kind), row.at);
        match at {
            At::Change(at) if at < log.len() => {
                let (name, object) = &log[at];
                self.say(|| format!("a report of {name}"));
                let is_of_row = row.has(name);
                self.moves(id, At::Change(at + 1));
                if is_of_row {
                    self.row_shows(id, at + 1, name, object.as_ref());
                }
            }
            _ if !row.knows_kind(cluster) => {
                self.say(|| "a kind is not served".to_owned());
                self.moves(id, At::Lost);
                self.change(|view, wakes| view.row_lost(id, 404, "404", wakes));
            }
            _ => self.list_row(id, cluster),
        }
    }

    fn list_row(&mut self, id: RowId, cluster: &Cluster) {
        let row = &self.rows[&id];
        let (kind, was_lost, end) = (row.kind, row.at == At::Lost, cluster.log(row.kind).len());
        self.say(|| format!("a list of {kind:?}"));
        let names = cluster.names();
        let names: Vec<_> = names
            .filter(|it| Kind::of(it) == kind && row.has(it))
            .collect();
        for name in names {
            let object = cluster.shown(name);
            // What a new watch does not list was never shown by it.
            if object.is_some() || was_lost {
                self.row_shows(id, end, name, object);
            }
        }
        self.moves(id, At::Change(end));
        self.change(|view, wakes| view.row_listed(id, wakes));
    }

    fn moves(&mut self, id: RowId, at: At) {
        if let Some(row) = self.rows.get_mut(&id) {
            row.at = at;
        }
    }

    /// Shows an object to the view, as it was after this many changes, unless something newer was seen.
    pub(super) fn row_shows(
        &mut self,
        row: RowId,
        at: usize,
        name: &'static str,
        object: Option<&Rc<Shown>>,
    ) {
        let seen = self.seen.entry(name).or_default();
        if *seen > at {
            return;
        }
        *seen = at;
        let arrived = match object {
            None => None,
            Some(object) => match self.read(row, name, object) {
                // No manifest prescribes it.
                None => return,
                arrived => arrived,
            },
        };
        let place = (namespace(name), name);
        self.change(|view, wakes| view.row_sees(row, place, arrived, wakes));
    }

    fn read(&self, row: RowId, name: &str, object: &Shown) -> Option<Arrived> {
        let text = |field: &str| object.value["metadata"][field].as_str().unwrap();
        let item = ObjectItem {
            namespace: namespace(name),
            name,
            uid: text("uid"),
            version: text("resourceVersion"),
            json: object.json(),
        };
        let kind = self.view.rows.place(row)?.kind;
        let (prescriptions, evaluator) = (&self.view.prescriptions, &self.view.evaluator);
        prescriptions.read(kind, &item, evaluator, None).unwrap()
    }

    /// Returns true if the watch of the row has seen the object.
    pub(super) fn has_seen(&self, row: Option<RowId>, name: &str, world: &World) -> bool {
        let row = row.and_then(|it| self.rows.get(&it));
        row.is_none_or(|row| {
            let log = &world.cluster.log(row.kind)[..row.reported()];
            let last = log.iter().rev().find(|(of, _)| *of == name);
            last.is_some_and(|(_, it)| it.is_some())
        })
    }
}
