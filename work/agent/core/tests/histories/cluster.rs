//! The ConfigMaps of the managed cluster.

use std::collections::BTreeMap;

use berth_work_core::testing::Server;
use berth_work_core::{Response, Step};
use serde_json::Value;

/// A model of an API server for each of them, and what watches report, in order.
pub(crate) struct Cluster {
    servers: BTreeMap<&'static str, Server>,
    pub(crate) log: Vec<(&'static str, Option<Value>)>,
}

/// Without objects. Its UIDs are not those of another one.
fn server(name: &'static str) -> Server {
    let mut server = Server::empty();
    server.uids = name;
    server
}

impl Cluster {
    pub(crate) fn new(names: &[&'static str]) -> Self {
        Self {
            servers: names.iter().map(|it| (*it, server(it))).collect(),
            log: Vec::new(),
        }
    }

    pub(crate) fn live(&self, name: &str) -> Option<Value> {
        self.servers[name].live()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let all = self.servers.iter();
        all.filter_map(|(name, server)| Some((*name, server.live()?)))
    }

    pub(crate) fn answer<R>(&mut self, name: &str, step: Step<R>) -> Response {
        self.changes(name, |server| server.answer(step))
    }

    /// A change by another client.
    pub(crate) fn change(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        if self.live(name).is_some() {
            self.changes(name, |server| server.edit("other", change));
        }
    }

    /// A deletion by another client.
    pub(crate) fn delete(&mut self, name: &str) {
        if let Some(live) = self.live(name) {
            let uid = live["metadata"]["uid"].as_str().unwrap().to_owned();
            let step = Step::<()>::Delete {
                uid,
                resource_version: None,
            };
            self.answer(name, step);
        }
    }

    fn changes<T>(&mut self, name: &str, change: impl FnOnce(&mut Server) -> T) -> T {
        let (name, server) = self
            .servers
            .iter_mut()
            .find(|(it, _)| **it == name)
            .unwrap();
        let before = server.live();
        let changed = change(server);
        let after = server.live();
        if before != after {
            self.log.push((name, after));
        }
        changed
    }
}
