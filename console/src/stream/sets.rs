//! The stream of the sets.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::refusal::refusal;
use super::{Answer, Answering, Changes, answered, at_once, loading_or_first};
use crate::answers::{Connection, HubAnswer, SetsAnswer};
use crate::app::App;
use crate::live::{BindingFact, Objects, Open, SetFact};
use crate::screens::sets::sets;
use crate::table::Table;

/// The sets, their clusters, and their bindings.
pub(crate) struct SetsScreen {
    app: Arc<App>,
    sets: Open<Objects<SetFact>>,
    bindings: Open<Objects<BindingFact>>,
    clusters: Open<Table>,
    changes: Changes,
}

// === impl SetsScreen ===

impl SetsScreen {
    pub(crate) fn new(app: Arc<App>) -> Self {
        let (sets, bindings) = (app.sets.open(), app.bindings.open());
        let clusters = app.clusters.open();
        Self {
            changes: Changes::of([sets.changes(), bindings.changes(), clusters.changes()]),
            app,
            sets,
            bindings,
            clusters,
        }
    }

    /// Waits until all kinds are listed, or failed.
    pub(crate) async fn loaded(&self) {
        futures::join!(
            self.sets.loaded(),
            self.bindings.loaded(),
            self.clusters.loaded()
        );
    }

    /// Returns the answer now.
    pub(crate) fn now(&self) -> SetsAnswer {
        let notes = [
            refusal("Clusters", &self.clusters.connection()),
            refusal("Bindings", &self.bindings.connection()),
        ];
        let notes = notes.into_iter().flatten().collect();
        let read_only = self.app.settings.read_only;
        self.clusters.with(|table, _| {
            self.sets.with(|all, _| {
                (self.bindings).with(|bindings, _| sets(table, all, bindings, notes, read_only))
            })
        })
    }
}

impl Answering for SetsScreen {
    fn changed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(self.changes.next())
    }

    fn hub(&self) -> HubAnswer {
        let others = [self.bindings.connection(), self.clusters.connection()];
        loading_or_first(self.sets.connection(), others)
    }

    fn answer(&mut self) -> BoxFuture<'_, Answer> {
        let is_refused = self.sets.connection().state == Connection::Refused;
        let answer = (!is_refused).then(|| self.now());
        at_once(answered(answer.as_ref()))
    }
}
