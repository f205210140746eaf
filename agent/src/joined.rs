//! The agent once it has a certificate: it keeps the cluster's Lease on the hub, reports the cluster, and labels its namespaces.
//!
//! # Guarantees
//! - What the managed cluster's API server does not serve, or does not allow, is not reported; the rest is.
//! - Nothing is written when nothing has changed. At rest the hub gets one write per period of the Lease.

mod facts;
mod lease;
mod left_out;
mod probe;
mod work;
mod world;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;

use std::sync::Arc;

use berth_api::{GroupVersionResource, groups};
use berth_hub::HubApi;
use berth_lease::Term;
use berth_reconcile::{Ended, Engine, Item, Metrics, Watched};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::facts::{Fact, Kind};
use self::world::ClusterReport;
use crate::events;
use crate::registration::{Connection, Registered};
use crate::settings::Settings;
use crate::standing::Standing;

/// The place of the hub among the API servers of the engine.
const HUB: usize = 0;
/// The place of the managed cluster's API server.
const MANAGED: usize = 1;

/// What the agent of a cluster with a certificate needs.
pub(crate) struct Joined<'a> {
    pub(crate) settings: &'a Settings,
    /// The hub, with the agent's certificate.
    pub(crate) hub: HubApi,
    pub(crate) managed: &'a HubApi,
    pub(crate) term: Option<Term>,
    pub(crate) metrics: Metrics,
    pub(crate) counts: crate::Counts,
    pub(crate) standing: Standing,
    pub(crate) registered: watch::Receiver<Registered>,
}

impl Joined<'_> {
    /// Runs over this connection until `stop`.
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
            managed,
            term,
            metrics,
            counts,
            standing,
            registered,
        } = self;
        let cluster = connection.identity.cluster.as_str();
        let (report, lease) = ClusterReport::new(settings, connection, standing.clone());
        let label = report.label().to_owned();
        let engine = Engine::new(
            report,
            vec![(hub.clone(), None), (managed.clone(), None)],
            berth_reconcile::Settings {
                controller: events::CONTROLLER,
                instance: &settings.instance,
                manager: "berth-agent",
                term: term.clone(),
            },
            metrics,
        );
        let work = Arc::clone(engine.handle());
        for (kind, row) in rows(settings, cluster, &label) {
            work.watch(kind, row);
        }
        let end = stop.child_token();
        let keeper = lease::Keeper::new(hub, term, cluster, counts, lease, settings.clock.clone());
        let others = async {
            tokio::select! {
                () = probe::run(managed, settings.probe_period, &work) => {}
                () = keeper.run(&work) => {}
                () = work::follow_rotations(registered, &work) => {}
            }
        };
        let ended = tokio::select! {
            ended = engine.run(end.clone()) => ended,
            () = others => Ok(()),
        };
        standing.hub(berth_agent_core::registered::HubStanding::Unknown);
        ended
    }
}

/// The rows of the table of kinds. Only the ManagedCluster is needed.
fn rows(settings: &Settings, cluster: &str, label: &str) -> Vec<(Kind, Watched<Fact>)> {
    let kind = |group: &str, version: &str, resource: &str| {
        GroupVersionResource::new(group, version, resource)
    };
    let clusters = kind(groups::CLUSTER, "v1", groups::MANAGED_CLUSTERS);
    let mut rows = vec![
        (
            Kind::Cluster,
            Watched::new("managedclusters", clusters, facts::cluster)
                .on(HUB)
                .named(cluster),
        ),
        (
            Kind::Node,
            Watched::new("nodes", kind("", "v1", "nodes"), facts::node)
                .on(MANAGED)
                .optional(),
        ),
        (
            Kind::Namespace,
            {
                let label = label.to_owned();
                let read = move |item: &Item<'_>| facts::namespace(item, &label);
                Watched::new("namespaces", kind("", "v1", "namespaces"), read)
            }
            .on(MANAGED)
            .labelled(label.to_owned())
            .optional(),
        ),
    ];
    if settings.cluster_claims {
        let claims = kind(groups::CLUSTER, "v1alpha1", "clusterclaims");
        let row = Watched::new("clusterclaims", claims, facts::claim)
            .on(MANAGED)
            .optional();
        rows.push((Kind::Claim, row));
    }
    if settings.cluster_properties {
        let properties = kind("about.k8s.io", "v1beta1", "clusterproperties");
        let row = Watched::new("clusterproperties", properties, facts::claim)
            .or_version("v1alpha1")
            .on(MANAGED)
            .optional();
        rows.push((Kind::Property, row));
    }
    rows
}
