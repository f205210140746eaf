//! The stream of what waits for a decision.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::refusal::refusal;
use super::{Answer, Answering, Changes, answered, loading_or_first};
use crate::answers::{Connection, HubAnswer, RequestsAnswer};
use crate::app::App;
use crate::live::{Csrs, Open};
use crate::screens::requests::{requests, waiting};
use crate::table::Table;

/// The clusters and CSRs that wait.
pub(crate) struct RequestsScreen {
    app: Arc<App>,
    clusters: Open<Table>,
    csrs: Open<Csrs>,
    changes: Changes,
}

// === impl RequestsScreen ===

impl RequestsScreen {
    pub(crate) fn new(app: Arc<App>) -> Self {
        let (clusters, csrs) = (app.clusters.open(), app.csrs.open());
        Self {
            changes: Changes::of([clusters.changes(), csrs.changes()]),
            app,
            clusters,
            csrs,
        }
    }

    /// Waits until both kinds are listed, or failed.
    pub(crate) async fn loaded(&self) {
        futures::join!(self.clusters.loaded(), self.csrs.loaded());
    }

    /// Returns the answer now.
    pub(crate) async fn now(&self) -> RequestsAnswer {
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
                let notes = refusal("CSRs", connection).into_iter().collect();
                requests(table, csrs, &lacks, notes)
            })
        })
    }
}

impl Answering for RequestsScreen {
    fn changed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(self.changes.next())
    }

    fn hub(&self) -> HubAnswer {
        loading_or_first(self.clusters.connection(), [self.csrs.connection()])
    }

    fn answer(&mut self) -> BoxFuture<'_, Answer> {
        Box::pin(async {
            let is_refused = self.clusters.connection().state == Connection::Refused;
            match is_refused {
                true => Ok(None),
                false => answered(Some(&self.now().await)),
            }
        })
    }
}
