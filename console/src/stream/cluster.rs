//! The stream of one cluster.
//!
//! Objects of the cluster are read when its ManagedCluster or one of its CSRs changes. Its Lease is followed. What time alone changes is
//! decided anew every few seconds, without a request.

use std::sync::Arc;
use std::time::Duration;

use berth_api::cluster::CLUSTER_LEASE;
use futures::future::BoxFuture;
use http::StatusCode;
use jiff::Timestamp;
use tokio::time::Instant;

use super::refusal::refusal;
use super::works::part;
use super::{Answer, Answering, Changes, answered, loading_or_first};
use crate::answers::{ClusterAnswer, Connection, ErrorAnswer, HubAnswer};
use crate::app::App;
use crate::handshake::LeaseFact;
use crate::live::{CsrObject, Csrs, DecisionFact, Objects, Open, Part, WorkFact};
use crate::respond::Refused;
use crate::screens::details::Details;
use crate::screens::placements::placed_by;
use crate::screens::works::counts;
use crate::table::Table;

/// What time alone changes is looked at this often.
const TICK: Duration = Duration::from_secs(5);

/// Objects are read this often while a change of them is not told: the user may not list clusters, or the namespace is awaited.
const POLL: Duration = Duration::from_secs(4);

/// One cluster.
pub(crate) struct ClusterScreen {
    app: Arc<App>,
    name: String,
    clusters: Open<Table>,
    csrs: Open<Csrs>,
    decisions: Open<Objects<DecisionFact>>,
    /// Those of its namespace.
    works: Open<Objects<WorkFact>>,
    changes: Changes,
    lease: Open<Objects<LeaseFact>>,
    /// What was read, for which versions, and when.
    read: Option<(Key, Instant, Details)>,
}

/// The versions of the objects that are followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Key {
    cluster: Option<(String, String)>,
    csrs: Vec<(String, Option<String>)>,
}

// === impl ClusterScreen ===

impl ClusterScreen {
    pub(crate) fn new(app: Arc<App>, name: String) -> Self {
        let (clusters, csrs) = (app.clusters.open(), app.csrs.open());
        let decisions = app.decisions.open();
        let works = part(&app, Part::Within(name.clone()));
        let lease = Part::One(name.clone(), CLUSTER_LEASE.to_owned());
        let lease = part::<LeaseFact>(&app, lease);
        let changes = [
            clusters.changes(),
            csrs.changes(),
            decisions.changes(),
            works.changes(),
            lease.changes(),
        ];
        Self {
            changes: Changes::of(changes),
            lease,
            app,
            name,
            clusters,
            csrs,
            decisions,
            works,
            read: None,
        }
    }

    fn csrs(&self) -> Option<Vec<Arc<CsrObject>>> {
        csrs_of(&self.csrs, &self.name)
    }

    fn key(&self) -> Key {
        let cluster = self.clusters.with(|table, _| {
            let fact = table.get(&self.name)?;
            Some((fact.uid.clone(), fact.resource_version.clone()))
        });
        let csrs = self.csrs().unwrap_or_default();
        let csrs = csrs.iter().map(|it| {
            let version = it.request.metadata.resource_version.clone();
            (it.request.name.clone(), version)
        });
        Key {
            cluster,
            csrs: csrs.collect(),
        }
    }

    async fn now(&mut self) -> Result<ClusterAnswer, ErrorAnswer> {
        let key = self.key();
        let listed = self.clusters.connection().state;
        let is_read = self.read.as_ref().is_some_and(|(known, at, it)| {
            let is_told = listed != Connection::Refused && !it.awaits_namespace();
            *known == key && (is_told || at.elapsed() < POLL)
        });
        if !is_read {
            let details = details(&self.app, &self.name).await;
            let details = details.map_err(Refused::answer)?;
            self.read = Some((key, Instant::now(), details));
        }
        let csrs = self.csrs();
        let lease = self.lease.with(|all, hub| {
            let is_known = hub.state == Connection::Connected;
            is_known.then(|| all.iter().next().map(|it| **it))
        });
        let (_, _, details) = self
            .read
            .as_mut()
            .ok_or_else(|| not_found(&self.name).answer())?;
        if let Some(lease) = lease {
            details.set_lease(lease);
        }
        let mut answer = details.answer(csrs.as_deref(), Timestamp::now());
        add_placements(&mut answer, &self.decisions, &self.name);
        Ok(with_works(answer, &self.works))
    }
}

impl Answering for ClusterScreen {
    fn changed(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::select! {
                () = self.changes.next() => {}
                () = tokio::time::sleep(TICK) => {}
            }
        })
    }

    fn hub(&self) -> HubAnswer {
        let others = [self.csrs.connection(), self.decisions.connection()];
        loading_or_first(self.clusters.connection(), others)
    }

    fn answer(&mut self) -> BoxFuture<'_, Answer> {
        Box::pin(async { answered(Some(&self.now().await?)) })
    }
}

/// Returns the CSRs of a cluster; None if the user may not list CSRs.
fn csrs_of(csrs: &Open<Csrs>, name: &str) -> Option<Vec<Arc<CsrObject>>> {
    csrs.with(|csrs, connection| {
        let is_known = connection.state != Connection::Refused;
        is_known.then(|| csrs.of(name).cloned().collect())
    })
}

/// Adds the placements that select the cluster.
fn add_placements(answer: &mut ClusterAnswer, decisions: &Open<Objects<DecisionFact>>, name: &str) {
    decisions.with(|decisions, hub| {
        let refused = refusal("The placements that select it", hub);
        if refused.is_none() {
            let (placements, more) = placed_by(decisions, name);
            answer.placements = Some(placements);
            answer.more_placements = more;
        }
        answer.notes.extend(refused);
    });
}

pub(crate) fn not_found(name: &str) -> Refused {
    let name = berth_rules::display::Quoted(name);
    let why = format!(
        "managedclusters.{} {name} not found",
        berth_api::groups::CLUSTER
    );
    Refused::new(StatusCode::NOT_FOUND, "NotFound", why)
}

/// Reads the objects of a cluster.
///
/// # Errors
/// The cluster does not exist, or cannot be read.
pub(crate) async fn details(app: &App, name: &str) -> Result<Details, Refused> {
    let lacks = app.rights.lacks_on(name, app.settings.read_only).await;
    let details = Details::read(&app.hub, name, lacks).await?;
    details.ok_or_else(|| not_found(name))
}

/// Returns the answer of a cluster, without a stream.
///
/// # Errors
/// As [`details`].
pub(crate) async fn answer(app: &Arc<App>, name: &str) -> Result<ClusterAnswer, Refused> {
    let (csrs, decisions) = (app.csrs.open(), app.decisions.open());
    let works = part(app, Part::Within(name.to_owned()));
    let (details, (), (), ()) = futures::join!(
        details(app, name),
        csrs.loaded(),
        decisions.loaded(),
        works.loaded()
    );
    let csrs = csrs_of(&csrs, name);
    let mut answer = details?.answer(csrs.as_deref(), Timestamp::now());
    add_placements(&mut answer, &decisions, name);
    Ok(with_works(answer, &works))
}

/// Adds the states of its ManifestWorks, or why they cannot be shown.
fn with_works(mut answer: ClusterAnswer, works: &Open<Objects<WorkFact>>) -> ClusterAnswer {
    let is_listed = !matches!(
        works.connection().state,
        Connection::Loading | Connection::Refused
    );
    answer.works = is_listed.then(|| works.with(|all, _| counts(all.iter())));
    answer
        .notes
        .extend(refusal("Its works", &works.connection()));
    answer
}
