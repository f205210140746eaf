//! The agent of a managed cluster: it registers the cluster with its hub, keeps its certificate, and reports it.
//!
//! # Shape
//! What is decided is in `berth-agent-core`, as plain functions. Here is the rest:
//! - `registration`: the certificate, from the first request to each renewal, by the bootstrap kubeconfig and two Secrets;
//! - `joined`: the Lease, the report and the managed namespaces, over a connection with this certificate;
//! - `addons`: certificates and health of the cluster's add-ons, over the same.
//!
//! # Guarantees
//! - [`run`] ends when it is stopped, when its term is over, or when a task broke; never because something is missing or away.
//! - What the agent waits for is in its [`Standing`], in the log, in an Event on its cluster, and in a metric.
//! - Secrets, files and reports are those of OCM's agent, so that either goes on where the other was.

mod addons;
mod bootstrap;
mod events;
mod exchange;
mod failed;
mod folder;
mod hubs;
mod joined;
mod metrics;
mod registration;
mod request;
mod settings;
mod standing;
mod store;
mod told;

use berth_agent_core::registered::HubStanding;
use berth_hub::{Access, HubApi};
use berth_lease::{Term, lost};
use berth_reconcile::{Ended, Metrics};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::addons::AddonManagement;
use crate::failed::UNTOLD;
use crate::joined::Joined;
use crate::registration::{Registered, Registration};
use crate::store::{Secrets, Store};

pub use berth_agent_core::addons::Driver;
pub use metrics::Counts;
pub use settings::{Clock, Settings, VERSION};
pub use standing::{Standing, State, Wait};

/// The API servers of an agent.
#[derive(Clone, Debug)]
pub struct Clusters {
    /// The cluster that the agent runs in, with its Secrets.
    pub management: HubApi,
    /// The cluster that it registers: the same one, but in Hosted mode.
    pub managed: HubApi,
}

/// Runs the agent until `stop`, or until `term` is over.
///
/// Without a term no other process may run the agent of this cluster.
///
/// # Errors
/// A task that should run forever ended.
pub async fn run(
    settings: &Settings,
    clusters: &Clusters,
    term: Option<Term>,
    metrics: Metrics,
    counts: Counts,
    standing: &Standing,
    stop: CancellationToken,
) -> Result<(), Ended> {
    let secrets = Secrets::new(
        clusters.management.clone(),
        term.clone(),
        &settings.namespace,
    );
    let store = Store::new(secrets, &settings.hub_secret);
    let (tell, registered) = watch::channel(Registered::default());
    let registration = Registration::new(settings, &store, standing.clone(), tell);
    let joined = async {
        let mut registered = registered;
        loop {
            let connection = registered.borrow_and_update().connection.clone();
            let Some(connection) = connection else {
                if registered.changed().await.is_err() {
                    return Ok(());
                }
                continue;
            };
            // The state reported by the previous hub is no longer valid.
            standing.hub(HubStanding::Unknown);
            let is_other = |it: &Registered| it.connection.as_ref() != Some(&connection);
            let access = Access::of_agent(Some(settings.folder.join("kubeconfig")));
            let hub = match HubApi::connect(&access).await {
                Ok(hub) => hub,
                Err(error) => {
                    warn!(%error, "the kubeconfig for the hub cannot be used");
                    standing.hub(HubStanding::Away(error.to_string()));
                    // Wait until the registration writes another kubeconfig.
                    if registered.wait_for(is_other).await.is_err() {
                        return Ok(());
                    }
                    continue;
                }
            };
            let joined = Joined {
                settings,
                hub: hub.clone(),
                managed: &clusters.managed,
                term: term.clone(),
                metrics: metrics.clone(),
                counts: counts.clone(),
                standing: standing.clone(),
                registered: registered.clone(),
            };
            let addons = AddonManagement {
                settings,
                hub,
                clusters,
                term: term.clone(),
                metrics: metrics.clone(),
                standing: standing.clone(),
            };
            let end = CancellationToken::new();
            let other = registered.wait_for(is_other);
            tokio::select! {
                ended = joined.run(&connection, end.clone()) => ended?,
                ended = addons.run(&connection, end.clone()) => ended?,
                _ = other => end.cancel(),
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => Ok(()),
        () = lost(term.as_ref()) => Ok(()),
        ended = joined => ended,
        () = registration.run() => Ok(()),
        () = tell_changes(&store, settings, standing) => Ok(()),
    }
}

/// Logs how the hub sees the cluster, and reports what lasts and is not good by an Event, whenever that changes. Never ends.
async fn tell_changes(store: &Store, settings: &Settings, standing: &Standing) {
    let mut states = standing.subscribe();
    let mut told = "";
    loop {
        let state = states.borrow_and_update().clone();
        // The registration reports its own waits.
        let is_news = state.waiting.is_none() && state.hub.reason() != told;
        let wait = state
            .wait()
            .filter(|_| is_news && state.hub != HubStanding::Unknown);
        if is_news && state.hub == HubStanding::Managed {
            told = state.hub.reason();
            info!(cluster = state.cluster, "the cluster is managed by the hub");
        }
        let changed = tokio::select! {
            changed = states.changed() => changed,
            () = sleep(UNTOLD), if wait.is_some() => {
                if let Some(wait) = wait {
                    told = wait.reason;
                    warn!(reason = wait.reason, "waiting: {wait}");
                    events::tell(store, settings, &wait).await;
                }
                continue;
            }
        };
        if changed.is_err() {
            return std::future::pending().await;
        }
    }
}
