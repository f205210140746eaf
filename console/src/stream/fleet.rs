//! The stream of the fleet.

use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;

use super::paced::Paced;
use super::refusal::refusal;
use super::{Answer, Answering, Changes, answered, at_once, loading_or_first};
use crate::answers::{Connection, FleetAnswer, HubAnswer};
use crate::app::App;
use crate::live::{Objects, Open, PlacementFact, RolloutFact, WorkFact};
use crate::screens::fleet::{Others, fleet};
use crate::table::Table;

/// What time alone changes is looked at this often.
const TICK: Duration = Duration::from_secs(60);

/// An answer looks at all clusters and works. It is made at most this often.
const PAUSE: Duration = Duration::from_secs(1);

/// The whole fleet.
pub(crate) struct FleetScreen {
    clusters: Open<Table>,
    placements: Open<Objects<PlacementFact>>,
    works: Open<Objects<WorkFact>>,
    rollouts: Open<Objects<RolloutFact>>,
    changes: Paced,
}

// === impl FleetScreen ===

impl FleetScreen {
    pub(crate) fn new(app: &App) -> Self {
        let (clusters, placements) = (app.clusters.open(), app.placements.open());
        let (works, rollouts) = (app.works.open(), app.rollouts.open());
        let changes = [
            clusters.changes(),
            placements.changes(),
            works.changes(),
            rollouts.changes(),
        ];
        Self {
            changes: Paced::new(Changes::of(changes), PAUSE),
            clusters,
            placements,
            works,
            rollouts,
        }
    }

    fn now(&self) -> FleetAnswer {
        let notes = [
            refusal("Placements", &self.placements.connection()),
            refusal("Works", &self.works.connection()),
            refusal("Replica sets", &self.rollouts.connection()),
        ];
        let notes = notes.into_iter().flatten().collect();
        self.clusters.with(|table, _| {
            self.placements.with(|placements, of_placements| {
                self.works.with(|works, of_works| {
                    self.rollouts.with(|rollouts, of_rollouts| {
                        let others = Others {
                            placements: listed(placements, of_placements),
                            works: listed(works, of_works),
                            rollouts: listed(rollouts, of_rollouts),
                        };
                        fleet(table, others, notes, Timestamp::now())
                    })
                })
            })
        })
    }
}

/// Returns the objects, if the user may list them.
fn listed<'a, F>(all: &'a Objects<F>, hub: &HubAnswer) -> Option<&'a Objects<F>> {
    (hub.state != Connection::Refused).then_some(all)
}

impl Answering for FleetScreen {
    fn changed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::select! {
                () = self.changes.next() => {}
                () = tokio::time::sleep(TICK) => {}
            }
        })
    }

    fn hub(&self) -> HubAnswer {
        let others = [
            self.placements.connection(),
            self.works.connection(),
            self.rollouts.connection(),
        ];
        loading_or_first(self.clusters.connection(), others)
    }

    fn answer(&mut self) -> BoxFuture<'_, Answer> {
        let is_refused = self.clusters.connection().state == Connection::Refused;
        let answer = (!is_refused).then(|| self.now());
        at_once(answered(answer.as_ref()))
    }
}
