//! The streams of the list of placements, and of one placement.
//!
//! A placement is evaluated when one of the kinds that it depends on has changed, on what the hub then has. Since that lists all
//! clusters, the pause between two evaluations is a multiple of the time that one takes.

use std::sync::Arc;
use std::time::Duration;

use berth_admin::answers::{Explained, PlacementFacts};
use berth_api::{Placement, groups};
use futures::future::BoxFuture;
use http::StatusCode;
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::{Answer, Answering, Changes, answered, at_once};
use crate::answers::{Connection, ErrorAnswer, HubAnswer, Missing, PlacementAnswer};
use crate::app::App;
use crate::live::{DecisionFact, Objects, Open, PlacementFact};
use crate::respond::Refused;
use crate::rights::Rbac;
use crate::screens::placement::{Chosen, Whole};
use crate::screens::placements::placements;
use crate::table::Table;

/// The shortest pause between two evaluations.
const PAUSE: Duration = Duration::from_secs(3);

/// A pause is at least this many times as long as an evaluation took.
const SHARE: u32 = 20;

/// A placement that waits for its controller is looked at again after this time, since time alone can change it.
const AGAIN: Duration = Duration::from_secs(30);

/// The list of placements.
pub(crate) struct PlacementsScreen {
    open: Open<Objects<PlacementFact>>,
    changes: Changes,
    part: String,
}

/// One placement.
pub(crate) struct PlacementScreen {
    app: Arc<App>,
    namespace: String,
    name: String,
    chosen: Chosen,
    placements: Open<Objects<PlacementFact>>,
    _decisions: Open<Objects<DecisionFact>>,
    _clusters: Open<Table>,
    changes: Changes,
    /// No evaluation begins before.
    not_before: Instant,
}

/// A placement, evaluated.
struct Evaluated {
    value: Value,
    explained: Explained,
}

// === impl PlacementsScreen ===

impl PlacementsScreen {
    pub(crate) fn new(app: &App, part: &str) -> Self {
        let open = app.placements.open();
        Self {
            changes: Changes::of([open.changes()]),
            open,
            part: part.to_owned(),
        }
    }
}

impl Answering for PlacementsScreen {
    fn changed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(self.changes.next())
    }

    fn hub(&self) -> HubAnswer {
        self.open.connection()
    }

    fn answer(&mut self) -> BoxFuture<'_, Answer> {
        let answer = self.open.with(|all, hub| {
            (hub.state != Connection::Refused).then(|| placements(all, &self.part))
        });
        at_once(answered(answer.as_ref()))
    }
}

// === impl PlacementScreen ===

impl PlacementScreen {
    pub(crate) fn new(app: Arc<App>, namespace: &str, name: &str, chosen: Chosen) -> Self {
        let placements = app.placements.open();
        let (decisions, clusters) = (app.decisions.open(), app.clusters.open());
        let changes = [
            placements.changes(),
            decisions.changes(),
            clusters.changes(),
        ];
        Self {
            changes: Changes::of(changes),
            app,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            chosen,
            placements,
            _decisions: decisions,
            _clusters: clusters,
            not_before: Instant::now(),
        }
    }

    async fn now(&mut self) -> Result<PlacementAnswer, ErrorAnswer> {
        let begun = Instant::now();
        let evaluated = evaluate(&self.app, &self.namespace, &self.name).await;
        self.not_before = Instant::now() + PAUSE.max(begun.elapsed() * SHARE);
        let evaluated = evaluated.map_err(Refused::answer)?;
        let whole = Whole {
            value: &evaluated.value,
            explained: &evaluated.explained,
            missing: missing(&self.app, &self.namespace).await,
            read_only: self.app.settings.read_only,
            at: Timestamp::now(),
        };
        Ok(whole.answer(&self.chosen))
    }
}

impl Answering for PlacementScreen {
    fn changed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::select! {
                () = self.changes.next() => {}
                () = tokio::time::sleep(AGAIN) => {}
            }
            sleep_until(self.not_before).await;
            self.changes.seen();
        })
    }

    fn hub(&self) -> HubAnswer {
        // Whether one placement can be read says the answer itself.
        let mut hub = self.placements.connection();
        if hub.state == Connection::Refused {
            hub.state = Connection::Connected;
        }
        hub
    }

    fn answer(&mut self) -> BoxFuture<'_, Answer> {
        Box::pin(async { answered(Some(&self.now().await?)) })
    }
}

/// Evaluates a placement on what the hub has now.
///
/// # Errors
/// It does not exist, or the user may not read what it depends on.
async fn evaluate(app: &App, namespace: &str, name: &str) -> Result<Evaluated, Refused> {
    let Some((value, placement)) = app.hub.placement(namespace, name).await? else {
        let resource = format!("{}.{}", groups::PLACEMENTS, groups::CLUSTER);
        let name = berth_rules::display::Quoted(name);
        let why = format!("{resource} {name} not found in namespace {namespace:?}");
        return Err(Refused::new(StatusCode::NOT_FOUND, "NotFound", why));
    };
    let facts = app.hub.placement_facts(&placement).await?;
    let explained = explained(Arc::new(facts), placement).await?;
    Ok(Evaluated { value, explained })
}

/// Explains a placement on a thread of its own: expressions may take a second.
pub(crate) async fn explained(
    facts: Arc<PlacementFacts>,
    placement: Placement,
) -> Result<Explained, Refused> {
    let task = tokio::task::spawn_blocking(move || facts.explain(&placement, Timestamp::now()));
    task.await.map_err(Refused::failed)
}

/// Returns what the user lacks to replace placements of a namespace.
async fn missing(app: &App, namespace: &str) -> Option<Missing> {
    let right = Rbac::placements(namespace).into();
    // The hub decides about the write itself.
    app.rights.lacks(right).await.ok().flatten()
}
