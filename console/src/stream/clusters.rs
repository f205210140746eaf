//! The stream of the table of clusters.

use futures::future::BoxFuture;
use tokio::sync::watch;

use super::{Screen, Told, hub_event};
use crate::answers::{Connection, HubAnswer};
use crate::live::Open;
use crate::table::{Shown, Table, View};

/// A window of the table.
pub(crate) struct ClustersScreen {
    open: Open<Table>,
    changes: watch::Receiver<u64>,
    view: View,
    hub: Option<HubAnswer>,
    shown: Option<Shown>,
}

// === impl ClustersScreen ===

impl ClustersScreen {
    pub(crate) fn new(open: Open<Table>, view: View) -> Self {
        Self {
            changes: open.changes(),
            open,
            view,
            hub: None,
            shown: None,
        }
    }

    fn told(&mut self) -> Vec<Told> {
        let (shown, hub) = self.open.with(|table, connection| {
            // A part of the first list would look like the whole.
            let is_known = match connection.state {
                Connection::Connected => true,
                Connection::Loading => false,
                Connection::Away | Connection::Refused => table.len() > 0,
            };
            (
                is_known.then(|| table.window(&self.view)),
                connection.clone(),
            )
        });
        let mut told = Vec::new();
        told.extend(hub_event(&mut self.hub, &hub));
        if let Some(shown) = shown {
            match &self.shown {
                None => told.push(Told::new("window", &shown.answer())),
                Some(before) => {
                    told.extend(shown.since(before).map(|it| Told::new("delta", &it)));
                }
            }
            self.shown = Some(shown);
        }
        told
    }
}

impl Screen for ClustersScreen {
    fn changed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // The sender lives as long as `open`.
            let _ = self.changes.changed().await;
        })
    }

    fn look(&mut self) -> BoxFuture<'_, Vec<Told>> {
        self.changes.mark_unchanged();
        let told = self.told();
        Box::pin(async move { told })
    }
}
