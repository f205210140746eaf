//! The stream of the fleet.

use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;

use super::{Answering, Changes};
use crate::answers::{Connection, ErrorAnswer, FleetAnswer, HubAnswer, Text};
use crate::app::App;
use crate::live::{Objects, Open, PlacementFact};
use crate::screens::fleet::fleet;
use crate::table::Table;

/// What time alone changes is looked at this often.
const TICK: Duration = Duration::from_secs(60);

/// The whole fleet.
pub(crate) struct FleetScreen {
    clusters: Open<Table>,
    placements: Open<Objects<PlacementFact>>,
    changes: Changes,
}

// === impl FleetScreen ===

impl FleetScreen {
    pub(crate) fn new(app: &App) -> Self {
        let (clusters, placements) = (app.clusters.open(), app.placements.open());
        Self {
            changes: Changes::of([clusters.changes(), placements.changes()]),
            clusters,
            placements,
        }
    }

    fn now(&self) -> FleetAnswer {
        self.clusters.with(|table, _| {
            self.placements.with(|placements, hub| {
                let mut notes = Vec::new();
                if let Some(why) = &hub.message {
                    let why = why.as_str();
                    notes.push(Text::from(format!("Placements cannot be shown: {why}")));
                }
                let placements = (hub.state != Connection::Refused).then_some(placements);
                fleet(table, placements, notes, Timestamp::now())
            })
        })
    }
}

impl Answering for FleetScreen {
    type Answer = FleetAnswer;

    fn changed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::select! {
                () = self.changes.next() => {}
                () = tokio::time::sleep(TICK) => {}
            }
        })
    }

    fn hub(&self) -> HubAnswer {
        let clusters = self.clusters.connection();
        match self.placements.connection() {
            placements if placements.state == Connection::Loading => placements,
            _ => clusters,
        }
    }

    fn answer(&mut self) -> BoxFuture<'_, Result<Option<FleetAnswer>, ErrorAnswer>> {
        let is_refused = self.clusters.connection().state == Connection::Refused;
        let answer = (!is_refused).then(|| self.now());
        Box::pin(std::future::ready(Ok(answer)))
    }
}
