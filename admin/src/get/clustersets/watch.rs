//! `berth get clustersets --watch`: a set is shown again when it changes, or when its bindings or clusters do.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};

use berth_api::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use jiff::Timestamp;
use kube::Resource;
use serde::de::DeserializeOwned;

use super::{ReadAt, Sets, facts};
use crate::failure::CommandError;
use crate::get::find::{Asked, Found, warn};
use crate::get::screen::Screen;
use crate::hub::{Change, Filter, HubConnection, Item};

/// The state of the watch: the facts, the screen and the sets.
struct Board<W> {
    view: Sets,
    screen: Screen<W>,
    sets: BTreeMap<String, Item<ManagedClusterSet>>,
}

/// Shows changes until the hub refuses a watch or the output fails.
pub(super) async fn watch<W: Write>(
    hub: &HubConnection,
    asked: &Asked,
    view: Sets,
    screen: Screen<W>,
    found: Found<ManagedClusterSet>,
    at: ReadAt,
) -> anyhow::Result<()> {
    let sets = found.items.into_iter().map(|item| (item.name(), item));
    let board = RefCell::new(Board {
        view,
        screen,
        sets: sets.collect(),
    });
    let listed = asked.listed();
    let sets = hub.watch(None, &listed, found.version, |change| {
        board.borrow_mut().set(change, asked)?;
        Ok::<_, anyhow::Error>(())
    });
    let bindings =
        aside::<ManagedClusterSetBinding>(hub, at.bindings, "bound namespaces", |change| {
            board.borrow_mut().binding(&change)
        });
    let clusters = aside::<ManagedCluster>(hub, at.clusters, "clusters of sets", |change| {
        board.borrow_mut().cluster(&change)
    });
    futures::try_join!(sets, bindings, clusters)?;
    Ok(())
}

/// A watch of bindings or clusters. If the hub refuses it, a warning is printed, and the watch of sets goes on.
async fn aside<K>(
    hub: &HubConnection,
    version: Option<String>,
    what: &str,
    mut tell: impl FnMut(Change<K>) -> io::Result<()>,
) -> anyhow::Result<()>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Default,
{
    let Some(version) = version else {
        return Ok(());
    };
    let all = Filter::default();
    let watched = hub.watch(None, &all, version, |change| {
        tell(change).map_err(anyhow::Error::from)
    });
    match watched.await {
        Err(error) => match error.downcast::<CommandError>() {
            Ok(why) => {
                warn(&format!("changes of {what}"), &why);
                Ok(())
            }
            Err(error) => Err(error),
        },
        Ok(()) => Ok(()),
    }
}

// === impl Board ===

impl<W: Write> Board<W> {
    fn set(&mut self, change: Change<ManagedClusterSet>, asked: &Asked) -> io::Result<()> {
        let now = Timestamp::now();
        match change {
            Change::Applied(item) if asked.is_about(&item.name()) => {
                self.screen.changed(&self.view, &item, now)?;
                self.sets.insert(item.name(), *item);
            }
            Change::Applied(_) => {}
            Change::Deleted(item) => {
                self.screen.gone(&self.view, &item, now)?;
                self.sets.remove(&item.name());
            }
            Change::All(items) => {
                let items = items.into_iter().map(|item| (item.name(), item));
                self.sets = items.filter(|(name, _)| asked.is_about(name)).collect();
                self.all(now)?;
            }
        }
        Ok(())
    }

    fn binding(&mut self, change: &Change<ManagedClusterSetBinding>) -> io::Result<()> {
        let now = Timestamp::now();
        let set = match change {
            Change::Applied(item) => self.view.facts.bound_is(item, true),
            Change::Deleted(item) => self.view.facts.bound_is(item, false),
            Change::All(items) => {
                self.view.facts.bindings_are(items);
                return self.all(now);
            }
        };
        match self.sets.get(&set) {
            None => Ok(()),
            Some(item) => self.screen.changed(&self.view, item, now),
        }
    }

    fn cluster(&mut self, change: &Change<ManagedCluster>) -> io::Result<()> {
        let now = Timestamp::now();
        let labels = match change {
            Change::Applied(item) => self.view.facts.cluster_is(item, true),
            Change::Deleted(item) => self.view.facts.cluster_is(item, false),
            Change::All(items) => {
                self.view.facts.clusters_are(items);
                return self.all(now);
            }
        };
        for item in self.sets.values() {
            let Ok(members) = facts::members(item) else {
                continue;
            };
            let [before, after] = labels
                .each_ref()
                .map(|it| it.as_ref().is_some_and(|it| members.matches(it)));
            if before != after {
                self.screen.changed(&self.view, item, now)?;
            }
        }
        Ok(())
    }

    fn all(&mut self, now: Timestamp) -> io::Result<()> {
        self.screen.all_are(&self.view, self.sets.values(), now)
    }
}
