//! The stream of what waits for a decision.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::watch;

use super::{Screen, Told, hub_event};
use crate::answers::{Connection, HubAnswer, RequestsAnswer, Text};
use crate::app::App;
use crate::live::{Csrs, Open};
use crate::screens::requests::{requests, waiting};
use crate::table::Table;

/// The clusters and CSRs that wait.
pub(crate) struct RequestsScreen {
    app: Arc<App>,
    clusters: Open<Table>,
    csrs: Open<Csrs>,
    cluster_changes: watch::Receiver<u64>,
    csr_changes: watch::Receiver<u64>,
    hub: Option<HubAnswer>,
    told: Option<RequestsAnswer>,
}

// === impl RequestsScreen ===

impl RequestsScreen {
    pub(crate) fn new(app: Arc<App>) -> Self {
        let (clusters, csrs) = (app.clusters.open(), app.csrs.open());
        Self {
            cluster_changes: clusters.changes(),
            csr_changes: csrs.changes(),
            app,
            clusters,
            csrs,
            hub: None,
            told: None,
        }
    }

    /// Waits until both kinds are listed, or failed.
    pub(crate) async fn loaded(&self) {
        futures::join!(self.clusters.loaded(), self.csrs.loaded());
    }

    /// Returns how the clusters stand with the hub.
    pub(crate) fn hub(&self) -> HubAnswer {
        self.clusters.connection()
    }

    /// Returns the answer now.
    pub(crate) async fn answer(&self) -> RequestsAnswer {
        let (names, _) =
            (self.clusters).with(|table, _| self.csrs.with(|csrs, _| waiting(table, csrs)));
        let mut lacks = BTreeMap::new();
        for fact in names {
            let read_only = self.app.settings.read_only;
            let lacking = self.app.rights.lacks_on(&fact.name, read_only).await;
            lacks.insert(fact.name.clone(), lacking);
        }
        self.clusters.with(|table, _| {
            self.csrs.with(|csrs, connection| {
                let mut notes = Vec::new();
                if let Some(why) = &connection.message {
                    notes.push(Text::from(format!(
                        "CSRs cannot be shown: {}",
                        why.as_str()
                    )));
                }
                requests(table, csrs, &lacks, notes)
            })
        })
    }

    async fn news(&mut self) -> Vec<Told> {
        let hub = self.hub();
        let mut told = Vec::new();
        told.extend(hub_event(&mut self.hub, &hub));
        let loads = self.csrs.connection().state == Connection::Loading;
        if matches!(hub.state, Connection::Connected | Connection::Away) && !loads {
            let answer = self.answer().await;
            if self.told.as_ref() != Some(&answer) {
                told.push(Told::new("answer", &answer));
                self.told = Some(answer);
            }
        }
        told
    }
}

impl Screen for RequestsScreen {
    fn changed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // The senders live as long as what is open.
            tokio::select! {
                _ = self.cluster_changes.changed() => {}
                _ = self.csr_changes.changed() => {}
            }
        })
    }

    fn look(&mut self) -> BoxFuture<'_, Vec<Told>> {
        self.cluster_changes.mark_unchanged();
        self.csr_changes.mark_unchanged();
        Box::pin(self.news())
    }
}
