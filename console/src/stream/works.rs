//! The streams of the list of works, of one ManifestWork, and of one ManifestWorkReplicaSet.
//!
//! The list follows all ManifestWorks, since it counts them. The others follow what they show.

use std::sync::Arc;
use std::time::Duration;

use berth_api::{groups, labels};
use futures::future::BoxFuture;
use http::StatusCode;
use jiff::Timestamp;
use tokio::time::Instant;

use super::refusal::refusal;
use super::{Answer, Answering, Changes, answered, at_once, loading_or_first};
use crate::answers::{Connection, ErrorAnswer, HubAnswer, Text};
use crate::app::App;
use crate::live::{DecidedFact, Fact, Kind, Objects, Open, Part, RolloutFact, WholeWork, WorkFact};
use crate::respond::Refused;
use crate::rights::Rbac;
use crate::screens::rollouts::Whole;
use crate::screens::works::{Search, work, works};

/// What time alone changes is looked at this often: soaks and deadlines end.
const TICK: Duration = Duration::from_secs(5);

/// A pause is at least this many times as long as a look at all works took.
const SHARE: u32 = 20;

/// The list of works and rollouts.
pub(crate) struct WorksScreen {
    works: Open<Objects<WorkFact>>,
    rollouts: Open<Objects<RolloutFact>>,
    changes: Changes,
    search: Search,
    /// No look begins before.
    not_before: Instant,
}

/// One ManifestWork.
pub(crate) struct WorkScreen {
    open: Open<Objects<WholeWork>>,
    changes: Changes,
    cluster: String,
    name: String,
}

/// One ManifestWorkReplicaSet.
pub(crate) struct ReplicaSetScreen {
    app: Arc<App>,
    namespace: String,
    name: String,
    set: Open<Objects<RolloutFact>>,
    works: Open<Objects<WorkFact>>,
    decided: Open<Objects<DecidedFact>>,
    changes: Changes,
}

/// Follows a part of a kind, for one page.
pub(crate) fn part<F: Fact>(app: &App, part: Part) -> Open<Objects<F>> {
    Kind::part(app.hub.clone(), app.tasks.clone(), part).open()
}

/// The objects, if they were listed.
fn known<'a, F>(all: &'a Objects<F>, hub: &HubAnswer) -> Option<&'a Objects<F>> {
    let is_known = match hub.state {
        Connection::Connected => true,
        // What was known stays.
        Connection::Away => all.len() > 0,
        Connection::Loading | Connection::Refused => false,
    };
    is_known.then_some(all)
}

fn not_found(resource: &str, name: &str, namespace: &str) -> ErrorAnswer {
    let name = berth_rules::display::Quoted(name);
    let namespace = berth_rules::display::Quoted(namespace);
    let why = format!(
        "{resource}.{} {name} not found in namespace {namespace}",
        groups::WORK
    );
    Refused::new(StatusCode::NOT_FOUND, "NotFound", why).answer()
}

/// Waits for a change, or until time alone may have changed something.
fn changed_or_tick(changes: &mut Changes) -> BoxFuture<'_, ()> {
    Box::pin(async {
        tokio::select! {
            () = changes.next() => {}
            () = tokio::time::sleep(TICK) => {}
        }
    })
}

// === impl WorksScreen ===

impl WorksScreen {
    pub(crate) fn new(app: &App, search: Search) -> Self {
        let (works, rollouts) = (app.works.open(), app.rollouts.open());
        Self {
            changes: Changes::of([works.changes(), rollouts.changes()]),
            works,
            rollouts,
            search,
            not_before: Instant::now(),
        }
    }
}

impl Answering for WorksScreen {
    fn changed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            changed_or_tick(&mut self.changes).await;
            tokio::time::sleep_until(self.not_before).await;
            self.changes.seen();
        })
    }

    fn hub(&self) -> HubAnswer {
        let (works, rollouts) = (self.works.connection(), self.rollouts.connection());
        match (works.state, rollouts.state) {
            (Connection::Loading, _) => works,
            (_, Connection::Loading) => rollouts,
            // The other kind is shown, with a note.
            (Connection::Refused, _) => rollouts,
            _ => works,
        }
    }

    fn answer(&mut self) -> BoxFuture<'_, Answer> {
        let notes = [
            refusal("ManifestWorks", &self.works.connection()),
            refusal("Replica sets", &self.rollouts.connection()),
        ];
        let all_refused = notes.iter().all(Option::is_some);
        let notes = notes.into_iter().flatten().collect();
        let begun = Instant::now();
        let answer = (!all_refused).then(|| {
            self.works.with(|all, hub| {
                let all = known(all, hub);
                self.rollouts
                    .with(|sets, _| works(all, sets, &self.search, notes, Timestamp::now()))
            })
        });
        self.not_before = Instant::now() + begun.elapsed() * SHARE;
        at_once(answered(answer.as_ref()))
    }
}

// === impl WorkScreen ===

impl WorkScreen {
    pub(crate) fn new(app: &App, cluster: &str, name: &str) -> Self {
        let one = Part::One(cluster.to_owned(), name.to_owned());
        let open = part::<WholeWork>(app, one);
        Self {
            changes: Changes::of([open.changes()]),
            open,
            cluster: cluster.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl Answering for WorkScreen {
    fn changed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(self.changes.next())
    }

    fn hub(&self) -> HubAnswer {
        self.open.connection()
    }

    fn answer(&mut self) -> BoxFuture<'_, Answer> {
        let key = format!("{}/{}", self.cluster, self.name);
        at_once(self.open.with(|all, hub| match all.get(&key) {
            Some(whole) => answered(Some(&work(whole))),
            None if hub.state == Connection::Connected => {
                Err(not_found(groups::MANIFEST_WORKS, &self.name, &self.cluster))
            }
            None => Ok(None),
        }))
    }
}

// === impl ReplicaSetScreen ===

impl ReplicaSetScreen {
    /// # Errors
    /// No replica set can have this name.
    pub(crate) fn new(app: Arc<App>, namespace: &str, name: &str) -> Result<Self, Refused> {
        let label = berth_work_replicas::label(namespace, name);
        let label =
            label.map_err(|why| Refused::new(StatusCode::BAD_REQUEST, "BadRequest", why))?;
        let set = part(&app, Part::One(namespace.to_owned(), name.to_owned()));
        let mine = Part::Labelled(format!("{}={label}", labels::REPLICA_SET));
        let works = part(&app, mine);
        let decided = part(&app, Part::Within(namespace.to_owned()));
        Ok(Self {
            changes: Changes::of([set.changes(), works.changes(), decided.changes()]),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            set,
            works,
            decided,
            app,
        })
    }

    async fn now(&mut self) -> Answer {
        let right = Rbac::rollout(&self.namespace, Some(&self.name)).into();
        // The hub decides about the write itself.
        let missing = self.app.rights.lacks(right).await.ok().flatten();
        let notes = [
            refusal(
                "Clusters that have no ManifestWork yet",
                &self.decided.connection(),
            ),
            refusal("ManifestWorks", &self.works.connection()),
        ];
        let notes: Vec<Text> = notes.into_iter().flatten().collect();
        let key = format!("{}/{}", self.namespace, self.name);
        self.set.with(|sets, hub| {
            let Some(set) = sets.get(&key) else {
                return match hub.state {
                    Connection::Connected => Err(not_found(
                        groups::MANIFEST_WORK_REPLICA_SETS,
                        &self.name,
                        &self.namespace,
                    )),
                    _ => Ok(None),
                };
            };
            self.works.with(|works, hub| {
                let works = known(works, hub);
                self.decided.with(|decided, hub| {
                    let whole = Whole {
                        set,
                        works,
                        decided: known(decided, hub),
                        missing,
                        read_only: self.app.settings.read_only,
                        notes,
                    };
                    answered(Some(&whole.answer(Timestamp::now())))
                })
            })
        })
    }
}

impl Answering for ReplicaSetScreen {
    fn changed(&mut self) -> BoxFuture<'_, ()> {
        changed_or_tick(&mut self.changes)
    }

    fn hub(&self) -> HubAnswer {
        let others = [self.works.connection(), self.decided.connection()];
        loading_or_first(self.set.connection(), others)
    }

    fn answer(&mut self) -> BoxFuture<'_, Answer> {
        Box::pin(self.now())
    }
}
