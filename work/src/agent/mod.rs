//! The agent of a managed cluster: it makes the objects of ManifestWorks real there, and reports them to the hub.
//!
//! # Shape
//! What is decided is in `berth-work-core`, as plain functions. Here is the rest, a world on `berth-reconcile` over two API servers:
//! - `connection`: the hub, and when it is another one;
//! - `targets`: from manifests to objects; `rows`, `table`: one watch for each kind and namespace that manifests name;
//! - `objects`: an object that arrives is compared with its manifests, and not kept;
//! - `permissions`: the roles and bindings of the cluster, while a ManifestWork has an executor; `executor`, `checks`: what it may do;
//! - `pass`, `task`, `run`: apply what is missing or differs; `record`: lists it in the AppliedManifestWork;
//! - `room`: which ManifestWorks fit into the agent's memory; the others are known without their manifests, and nothing is done for them;
//! - `lifecycle`, `removal`: from the finalizer of a ManifestWork to the end of its AppliedManifestWork; `status`: its status;
//! - `rivals`: another agent with the same agent ID, which undoes what this one writes to AppliedManifestWorks.
//!
//! # Guarantees
//! - [`run`] ends when it is stopped, when its term is over, or when a task broke; never because something is missing or away.
//! - Settled, the agent sends no request, except watches.
//! - AppliedManifestWorks, finalizers, owner references and conditions are those of OCM's agent, so that either goes on where the other was.

mod call;
mod checks;
mod connection;
mod executor;
mod facts;
mod fights;
mod lifecycle;
mod lines;
mod mapping;
mod metrics;
mod objects;
mod pass;
mod permissions;
mod progress;
mod record;
mod removal;
mod removing;
mod rivals;
mod room;
mod rows;
mod run;
#[cfg(test)]
mod scale;
mod served;
mod settings;
mod status;
mod table;
mod targets;
mod task;
mod world;

use std::sync::Arc;

use berth_hub::HubApi;
use berth_lease::{Term, lost};
use berth_reconcile::{Ended, Engine, Limit, Settings as EngineSettings, Watched};
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
            cluster = connection.cluster,
            hub = connection.url,
            hub_hash = connection.hub_hash,
            agent = connection.agent_id,
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
        Arc::new(connection.clone()),
        metrics.clone(),
    );
    let engine = Engine::new(
        world,
        vec![
            (hub, limit(settings.hub_limit)),
            (managed.clone(), limit(settings.managed_limit)),
        ],
        EngineSettings {
            controller: CONTROLLER,
            instance: &settings.instance,
            manager: berth_api::work::FIELD_MANAGER,
            term,
        },
        metrics.common(),
    );
    let work = engine.handle();
    let works = Watched::new("manifestworks", facts::works(), facts::work)
        .on(HUB)
        .within(&*connection.cluster);
    work.watch(Kind::Works, works);
    let applied = Watched::new(
        "appliedmanifestworks",
        facts::applied_works(),
        facts::applied,
    );
    work.watch(Kind::Applied, applied.on(MANAGED));
    let definitions = Watched::new(
        "customresourcedefinitions",
        facts::definitions(),
        facts::definition,
    );
    work.watch(Kind::Definitions, definitions.on(MANAGED).optional());
    engine
}
