//! Add-ons of the cluster: the agent gets their certificates and tokens from the hub, and reports whether they work.
//!
//! # Guarantees
//! - Nothing is deleted before the hub has listed the add-ons of the cluster. What the agent made for an add-on is deleted with it, also
//!   if the agent was down meanwhile; and not while the add-on is being deleted.
//! - An install namespace that does not exist yet is waited for.
//! - Nothing is written when nothing has changed. Leases of add-ons are watched.

mod kept;
mod lease;
mod registration;
mod reporter;
mod supervisor;
mod token;
mod world;

use std::sync::Arc;

use berth_agent_core::addons::fact::Addon;
use berth_agent_core::registered::HubStanding;
use berth_api::{GroupVersionResource, groups};
use berth_hub::HubApi;
use berth_lease::Term;
use berth_reconcile::{Ended, Engine, Handle, Item, Keep, Metrics, Watched};
use tokio_util::sync::CancellationToken;

use self::supervisor::Supervisor;
use self::world::{Addons, Kind};
use crate::Clusters;
use crate::events;
use crate::registration::Connection;
use crate::settings::Settings;
use crate::standing::Standing;

/// The resource of add-ons.
const RESOURCE: &str = "managedclusteraddons";

/// What the add-ons of a cluster with a certificate need.
pub(crate) struct AddonManagement<'a> {
    pub(crate) settings: &'a Settings,
    /// The hub, with the agent's certificate.
    pub(crate) hub: HubApi,
    pub(crate) clusters: &'a Clusters,
    pub(crate) term: Option<Term>,
    pub(crate) metrics: Metrics,
    pub(crate) standing: Standing,
}

impl AddonManagement<'_> {
    /// Runs over this connection until `stop`. Does nothing before the hub manages the cluster.
    ///
    /// # Errors
    /// A task that should run forever ended.
    pub(crate) async fn run(
        self,
        connection: &Connection,
        stop: CancellationToken,
    ) -> Result<(), Ended> {
        let Self {
            settings,
            hub,
            clusters,
            term,
            metrics,
            standing,
        } = self;
        let Some(driver) = settings.addons else {
            return std::future::pending().await;
        };
        let is_managed = |hub: &HubStanding| *hub == HubStanding::Managed;
        let mut states = standing.subscribe();
        if states.wait_for(|it| is_managed(&it.hub)).await.is_err() {
            return std::future::pending().await;
        }
        let cluster = connection.identity.cluster.as_str();
        let (world, wanted) = Addons::new(cluster, settings.expiration_seconds, driver);
        let engine = Engine::new(
            world,
            vec![(hub.clone(), None)],
            berth_reconcile::Settings {
                controller: events::CONTROLLER,
                instance: &settings.instance,
                manager: "berth-agent",
                term: term.clone(),
            },
            metrics,
        );
        let work = Arc::clone(engine.handle());
        work.watch(Kind, row(cluster));
        let supervisor =
            Supervisor::new(settings, clusters, term, hub, connection, Arc::clone(&work));
        let follow_standing = async {
            loop {
                let now = is_managed(&states.borrow_and_update().hub);
                work.change(|world, wakes| world.is_managed(now, wakes));
                if states.changed().await.is_err() {
                    return std::future::pending().await;
                }
            }
        };
        tokio::select! {
            ended = engine.run(stop.child_token()) => ended,
            () = supervisor.run(wanted) => Ok(()),
            () = follow_standing => Ok(()),
        }
    }
}

/// The add-ons of the cluster. A hub need not have any.
fn row(cluster: &str) -> Watched<Addon> {
    let kind = GroupVersionResource::new(groups::ADDON, "v1beta1", RESOURCE);
    Watched::new(RESOURCE, kind, read)
        .or_version("v1alpha1")
        .within(cluster)
        .optional()
}

fn read(item: &Item<'_>) -> Result<Addon, serde_json::Error> {
    let keep = Keep::Fields(&[
        ("apiVersion", Keep::Whole),
        (
            "metadata",
            Keep::Fields(&[
                ("name", Keep::Whole),
                ("uid", Keep::Whole),
                ("resourceVersion", Keep::Whole),
                ("deletionTimestamp", Keep::Whole),
                ("annotations", Keep::Whole),
            ]),
        ),
        ("spec", Keep::Fields(&[("installNamespace", Keep::Whole)])),
        (
            "status",
            Keep::Fields(&[
                ("namespace", Keep::Whole),
                ("registrations", Keep::Whole),
                ("kubeClientDriver", Keep::Whole),
                ("healthCheck", Keep::Whole),
                ("conditions", Keep::Whole),
            ]),
        ),
    ]);
    Addon::read(&item.trimmed(&keep)?)
}

type AddonWork = Handle<Addons>;
