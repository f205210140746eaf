//! The stream of the hub's health.
//!
//! The checks run when a page opens, when a page asks, and when a Deployment or a registration of the hub changes. CRDs, certificates and
//! clusters are not followed for this: the answer says when the checks ran.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use jiff::Timestamp;

use super::paced::Paced;
use super::{Answer, Answering, Changes, answered, at_once};
use crate::answers::{Connection, ErrorAnswer, HealthAnswer, HubAnswer};
use crate::app::App;
use crate::health::{State, Wish};
use crate::live::{OpenParts, Revisions};
use crate::respond::Refused;
use crate::screens::health::{Around, health};

/// What time alone changes is looked at this often.
const TICK: Duration = Duration::from_secs(5);

/// Leases are renewed often. An answer is made at most this often.
const PAUSE: Duration = Duration::from_secs(1);

/// The hub's health.
pub(crate) struct HealthScreen {
    app: Arc<App>,
    parts: OpenParts,
    changes: Paced,
    opened: Timestamp,
    /// The revisions for which the checks ran.
    revisions: Option<Revisions>,
    /// Since when the checks are due.
    due: Option<Instant>,
    was_away: bool,
}

// === impl HealthScreen ===

impl HealthScreen {
    pub(crate) fn new(app: Arc<App>) -> Self {
        let parts = app.parts.open();
        let changes = parts.changes().into_iter().chain([app.health.changes()]);
        // What was found a moment ago is shown.
        app.health.look();
        Self {
            changes: Paced::new(Changes::of(changes), PAUSE),
            parts,
            app,
            opened: Timestamp::now(),
            revisions: None,
            due: None,
            was_away: false,
        }
    }

    /// The checks are due when the revisions differ from those before, and when the hub is back.
    fn compare(&mut self) {
        let was_away = self.was_away;
        self.was_away = self.parts.leases.connection().state == Connection::Away;
        let is_back = was_away && !self.was_away;
        let now = self.parts.revisions();
        let has_changed = match (&self.revisions, &now) {
            (Some(before), Some(now)) => before != now,
            _ => false,
        };
        if now.is_some() {
            self.revisions = now;
        }
        if is_back || has_changed {
            self.due = Some(Instant::now());
        }
    }

    /// Runs the checks if they are due and may run; else they stay due.
    fn look_if_due(&mut self) {
        let Some(since) = self.due else {
            return;
        };
        if self.app.health.has_begun_since(since) || self.app.health.look() == Wish::Begun {
            self.due = None;
        }
    }

    fn now(&mut self) -> Result<Option<HealthAnswer>, ErrorAnswer> {
        self.compare();
        self.look_if_due();
        let state = self.app.health.state();
        let around = Around {
            leaders: self.parts.leaders(),
            followed: self.parts.revisions().is_some(),
            tries: self.app.health.tries,
            now: Timestamp::now(),
        };
        match (&state.looked, &state.failed) {
            (Some(looked), _) => Ok(Some(health(looked, &state, &around))),
            (None, Some(failure)) => Err(Refused::from(failure.clone()).answer()),
            (None, None) => Ok(None),
        }
    }
}

impl Answering for HealthScreen {
    fn changed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::select! {
                () = self.changes.next() => {}
                () = tokio::time::sleep(TICK) => {}
            }
        })
    }

    fn hub(&self) -> HubAnswer {
        let leases = self.parts.leases.connection();
        let state = match (leases.state, self.app.health.state()) {
            (Connection::Away, _) => return leases,
            (
                _,
                State {
                    looked: None,
                    failed: None,
                    ..
                },
            ) => Connection::Loading,
            _ => Connection::Connected,
        };
        HubAnswer {
            state,
            since: self.opened,
            message: None,
            remedy: None,
            missing: None,
        }
    }

    fn answer(&mut self) -> BoxFuture<'_, Answer> {
        let now = self.now();
        at_once(now.and_then(|it| answered(it.as_ref())))
    }
}
