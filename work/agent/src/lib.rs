//! The agent of a managed cluster: it makes the objects of ManifestWorks real there, and reports them to the hub.
//!
//! # Shape
//! What is decided is in `berth-work-agent-core` and `berth-work-core`, as plain functions. Here is what they say, sent: a world on
//! `berth-reconcile` over two API servers.
//! - `world`, `reconcile`: what watches report goes into the core's view; what a change is to be told of is logged, counted and told;
//! - `connection`: the hub, and when it is another one; `facts`, `table`: what is watched, and what is read of it;
//! - `pass`: works on a ManifestWork: `targets`, `served` map its manifests, `requests`, `call` send what the pass of the core needs,
//!   `removing` deletes objects;
//! - `room`: reads a ManifestWork again once there is room for it; `removal`: the end of an AppliedManifestWork; `status`.
//!
//! # Guarantees
//! - [`run`] ends when it is stopped, when its term is over, or when a task broke; never because something is missing or away.
//! - Settled, the agent sends no request, except watches.
//! - AppliedManifestWorks, finalizers, owner references and conditions are those of OCM's agent, so that either goes on where the other was.

mod call;
mod connection;
mod facts;
mod metrics;
mod pass;
mod reconcile;
mod regarding;
mod removal;
mod removing;
mod requests;
mod room;
mod served;
mod settings;
mod status;
mod table;
mod targets;
mod world;

use std::sync::Arc;

use berth_hub::HubApi;
use berth_lease::{Term, lost};
use berth_reconcile::{Ended, Engine, Limit, Watched};
use berth_work_agent_core::{applied_works, works};
use tokio_util::sync::CancellationToken;

use self::connection::Connection;
use self::facts::Kind;
use self::world::Agent;

pub use self::metrics::Metrics;
pub use self::settings::{NO_EVICTION, Settings, WORKS_MEMORY};

/// The place of the hub among the API servers of the engine.
const HUB: usize = 0;
/// The place of the managed cluster's API server.
const MANAGED: usize = 1;

/// The name of the controller in Events.
const CONTROLLER: &str = "work-agent";

/// Runs the agent until `stop`, or until `term` is over. It waits for the kubeconfig of its hub.
///
/// Without a term no other process may run the agent of this cluster.
///
/// # Errors
/// A task that should run forever ended.
pub async fn run(
    settings: &Settings,
    managed: &HubApi,
    term: Option<Term>,
    metrics: &Metrics,
    stop: CancellationToken,
) -> Result<(), Ended> {
    let lost = lost(term.as_ref());
    tokio::pin!(lost);
    loop {
        let (connection, hub) = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = &mut lost => return Ok(()),
            connected = Connection::wait(settings, managed) => connected,
        };
        tracing::info!(
            cluster = connection.identity.cluster,
            hub = connection.url,
            hub_hash = connection.identity.hub_hash,
            agent = connection.identity.agent_id,
            "carrying out ManifestWorks"
        );
        let engine = engine(settings, &connection, hub, managed, term.clone(), metrics);
        let end = stop.child_token();
        metrics.begun(engine.handle());
        let ended = engine.run(end.clone());
        tokio::pin!(ended);
        tokio::select! {
            ended = &mut ended => return ended,
            () = connection.changed(settings) => {
                // The next agent begins after this one has ended: two would write the same objects.
                end.cancel();
                ended.await?;
                tracing::info!("the kubeconfig names another hub, cluster or agent: beginning anew");
            }
        }
    }
}

fn engine(
    settings: &Settings,
    connection: &Connection,
    hub: HubApi,
    managed: &HubApi,
    term: Option<Term>,
    metrics: &Metrics,
) -> Engine<Agent> {
    let limit = |limit: Option<(f64, u32)>| limit.and_then(|(rate, burst)| Limit::new(rate, burst));
    let world = Agent::new(
        Arc::new(settings.clone()),
        connection.clone(),
        metrics.clone(),
    );
    let engine = Engine::new(
        world,
        vec![
            (hub, limit(settings.hub_limit)),
            (managed.clone(), limit(settings.managed_limit)),
        ],
        berth_reconcile::Settings {
            controller: CONTROLLER,
            instance: &settings.instance,
            manager: berth_api::work::FIELD_MANAGER,
            term,
        },
        metrics.common(),
    );
    let work = engine.handle();
    let manifest_works = Watched::new("manifestworks", works(), facts::work)
        .on(HUB)
        .within(&*connection.identity.cluster);
    work.watch(Kind::Works, manifest_works);
    let applied = Watched::new("appliedmanifestworks", applied_works(), facts::applied);
    work.watch(Kind::Applied, applied.on(MANAGED));
    let definitions = Watched::new(
        "customresourcedefinitions",
        facts::definitions(),
        facts::definition,
    );
    work.watch(Kind::Definitions, definitions.on(MANAGED).optional());
    engine
}
