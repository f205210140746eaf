//! The stream of what happened on the hub.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use super::paced::Paced;
use super::refusal::refusal;
use super::{Answer, Answering, Changes, answered, at_once};
use crate::answers::{Connection, HubAnswer, Text, TimelineAnswer};
use crate::app::App;
use crate::live::{Happenings, Open};
use crate::screens::timeline::{Filter, timeline};
use crate::table::Table;

/// A busy hub has many Events. An answer is made at most this often.
const PAUSE: Duration = Duration::from_secs(1);

/// What happened.
pub(crate) struct TimelineScreen {
    clusters: Open<Table>,
    happenings: Open<Happenings>,
    changes: Paced,
    filter: Filter,
}

// === impl TimelineScreen ===

impl TimelineScreen {
    pub(crate) fn new(app: &Arc<App>, filter: Filter) -> Self {
        let (clusters, happenings) = (app.clusters.open(), app.happenings.open());
        let changes = Changes::of([clusters.changes(), happenings.changes()]);
        Self {
            changes: Paced::new(changes, PAUSE),
            clusters,
            happenings,
            filter,
        }
    }

    fn now(&self) -> TimelineAnswer {
        let notes = [
            refusal("Clusters", &self.clusters.connection()),
            refusal("Events", &self.happenings.connection()),
        ];
        let notes: Vec<Text> = notes.into_iter().flatten().collect();
        self.clusters.with(|table, _| {
            (self.happenings).with(|happenings, _| timeline(table, happenings, &self.filter, notes))
        })
    }
}

/// The connection of two kinds: both are loaded, neither is away; it is refused if both are.
fn both(one: HubAnswer, other: HubAnswer) -> HubAnswer {
    let either = |state| {
        [&one, &other]
            .into_iter()
            .find(|it| it.state == state)
            .cloned()
    };
    let first = either(Connection::Away).or_else(|| either(Connection::Loading));
    let first = first.or_else(|| either(Connection::Connected));
    first.unwrap_or(one)
}

impl Answering for TimelineScreen {
    fn changed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(self.changes.next())
    }

    fn hub(&self) -> HubAnswer {
        both(self.happenings.connection(), self.clusters.connection())
    }

    fn answer(&mut self) -> BoxFuture<'_, Answer> {
        let is_refused = self.hub().state == Connection::Refused;
        let answer = (!is_refused).then(|| self.now());
        at_once(answered(answer.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn both_kinds_that_are_refused_are_a_banner() {
        use Connection::{Away, Connected, Loading, Refused};
        let hub = |state| HubAnswer {
            state,
            since: Timestamp::UNIX_EPOCH,
            message: Some("why".into()),
            remedy: None,
            missing: None,
        };
        for (one, other, expected) in [
            (Connected, Connected, Connected),
            (Refused, Connected, Connected),
            (Connected, Refused, Connected),
            (Refused, Refused, Refused),
            (Refused, Loading, Loading),
            (Away, Loading, Away),
            (Connected, Away, Away),
        ] {
            assert_eq!(both(hub(one), hub(other)).state, expected);
        }
    }
}
