//! Work with more to it than a decision and its writes.

use berth_api::conditions::{TRUE, cluster};
use berth_api::plan::Event;
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Reference, Regarding, failed, now};
use tokio::sync::watch;

use super::HUB;
use super::world::{ClusterReport, Key};
use crate::registration::Registered;

/// Writes the status, and tells the hub's users of a change of availability by an Event.
pub(super) async fn status(on: &Handle<ClusterReport>) -> Next {
    let before = {
        let mut world = on.world();
        world.refresh();
        availability(&world)
    };
    let done = on.settle(&Key::Status).await;
    let world = on.world();
    let after = availability(&world);
    if before != after
        && let Some(is_available) = after
        && let Some(stored) = world.cluster()
    {
        let name = world.name().to_owned();
        let regarding = Regarding {
            api_version: "cluster.open-cluster-management.io/v1".to_owned(),
            kind: "ManagedCluster".to_owned(),
            metadata: Reference {
                name: name.clone(),
                uid: Some(stored.uid.clone()),
                ..Reference::default()
            },
        };
        drop(world);
        on.tell(HUB, &event(&name, is_available), &regarding);
    }
    done
}

/// Labels the namespaces, and notes which of them could not be written.
pub(super) async fn namespaces(on: &Handle<ClusterReport>) -> Next {
    match on.attempt(&Key::Namespaces).await {
        Ok(done) => {
            on.change(|world, wakes| world.labels_failed(&[], wakes));
            done
        }
        Err(failures) => {
            let causes: Vec<_> = failures.iter().map(|(failure, _)| failure).collect();
            on.change(|world, wakes| world.labels_failed(&causes, wakes));
            failed(&failures)
        }
    }
}

/// Hands on the results of renewals. Ends when the registration has ended.
pub(super) async fn follow_rotations(
    mut registered: watch::Receiver<Registered>,
    on: &Handle<ClusterReport>,
) {
    // What was before is known to the hub.
    let mut before = registered.borrow_and_update().rotated.clone();
    while registered.changed().await.is_ok() {
        let rotated = registered.borrow_and_update().rotated.clone();
        if let Some(rotated) = &rotated
            && before.as_ref() != Some(rotated)
        {
            on.change(|world, wakes| world.rotates(rotated, now(), wakes));
        }
        before = rotated;
    }
}

/// Whether the hub says that the cluster is available; `None`: it says neither.
fn availability(world: &ClusterReport) -> Option<bool> {
    let condition = world.cluster()?.condition(cluster::AVAILABLE)?;
    match condition.status.as_str() {
        TRUE => Some(true),
        berth_api::conditions::FALSE => Some(false),
        _ => None,
    }
}

/// The texts are those of OCM's agent, with its spelling: scripts may look for them.
fn event(cluster: &str, is_available: bool) -> Event {
    Event {
        warning: !is_available,
        reason: if is_available {
            "Available"
        } else {
            "Unavailable"
        },
        note: if is_available {
            format!(
                "The {cluster} is successfully imported, and it is managed by the hub cluster. Its apieserver is available"
            )
        } else {
            format!(
                "The {cluster} is successfully imported. However, its Kube API server is unavailable"
            )
        },
        namespace: Some(cluster.to_owned()),
    }
}
