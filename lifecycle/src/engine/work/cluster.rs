//! The work on one cluster.

use std::time::Duration;

use berth_api::{labels, room};
use berth_reconcile::queue::Done;
use berth_reconcile::{ROUNDS, Refusal, Work, WriteOutcome, Writer, failed, never_settled, now};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::cluster_plan::ClusterPlan;
use crate::engine::kinds::Kind;
use crate::engine::object::{PartialObject, Renewal};
use crate::engine::remaining::remaining;
use crate::engine::view::Key;
use crate::engine::world::Lifecycle;
use crate::facts::{Cluster, Now};
use crate::{acceptance, automatic, clusters, heartbeat, names, removal, roles, status};
use berth_api::plan::{Action, Event, Write, WriteFailure};

/// An agent whose hub takes so long to answer may be as late with its renewals.
const SLOW: Duration = Duration::from_secs(1);

/// When to look again whether a namespace is in the way: one without the label is not watched.
const NAMESPACE_AGAIN: Duration = Duration::from_secs(60);

/// Works on a cluster: asks what has to be known, decides and writes until nothing is due.
pub(crate) async fn work(on: &Work<Lifecycle>, name: &str) -> Done {
    let hub = on.writer(0);
    Round { on, hub, name }.settle().await
}

/// The work on a cluster.
struct Round<'a> {
    on: &'a Work<Lifecycle>,
    hub: &'a Writer,
    name: &'a str,
}

impl Round<'_> {
    async fn settle(&self) -> Done {
        for _ in 0..ROUNDS {
            let plan = self.plan(now()).await;
            if plan.writes.iter().any(tells_silence) && !self.is_silent().await {
                continue;
            }
            let again = plan.again;
            let writes = self.writes(plan);
            let silenced = writes.iter().find(|write| tells_silence(write));
            let silenced = silenced.map(|write| write.target.clone());
            let outcome = self.on.carry_out(writes).await;
            let failures = match &outcome {
                WriteOutcome::Failed(failures) => &failures[..],
                WriteOutcome::Nothing | WriteOutcome::Written => &[],
            };
            if silenced.is_some_and(|it| failures.iter().all(|(of, _)| of.target != it)) {
                self.on.world().metrics().expired();
            }
            match outcome {
                WriteOutcome::Nothing => return Done::Settled { again, pause: None },
                WriteOutcome::Written => {}
                WriteOutcome::Failed(failures) if self.makes_room(&failures).await => {}
                WriteOutcome::Failed(failures) => {
                    let refused = failures.iter().map(|(failure, _)| failure.clone());
                    self.report(&refused.collect::<Vec<_>>()).await;
                    return failed(&failures);
                }
            }
        }
        never_settled(&self.name)
    }

    /// Takes something that the agent wrote off a ManagedCluster that is denied or deleted and takes no write any more.
    /// Returns whether it is worthwhile to decide again.
    ///
    /// An accepted cluster's agent would write it again; and the rights are not in the ManagedCluster.
    async fn makes_room(&self, failures: &[(WriteFailure, Refusal)]) -> bool {
        let name = self.name;
        let target = status::cluster_target(name);
        let is_full = |(failure, _): &(WriteFailure, Refusal)| {
            failure.target == target && failure.is_too_large()
        };
        let leaves = |it: &Cluster| it.deleting || !it.accepted;
        let is_leaving = || (self.on.world().view().cluster(name)).is_some_and(leaves);
        if !failures.iter().any(is_full) || !is_leaving() {
            return false;
        }
        let object = match self.hub.find(&target).await {
            Ok(Some(object)) => object,
            Ok(None) => return false,
            Err(refusal) => {
                let error = refusal.message;
                tracing::warn!(
                    cluster = name,
                    error,
                    "a ManagedCluster that takes no write could not be read"
                );
                return false;
            }
        };
        let spares = room::spares(&object.parse().unwrap_or_default());
        let Some(spare) = spares.into_iter().find(|spare| !spare.last_resort) else {
            return self.on.world().view_mut().is_full(name);
        };
        let mut body = spare.patch;
        body["metadata"]["uid"] = json!(object.meta.uid);
        body["metadata"]["resourceVersion"] = json!(object.meta.resource_version);
        let write = Write {
            target,
            action: Action::Patch {
                subresource: spare.subresource,
                body,
            },
            reconciler: names::managers::PATCHES,
            events: vec![Event {
                warning: true,
                reason: "ManagedClusterTrimmed",
                note: format!(
                    "managed cluster {name} is as large as the hub stores objects, and its agent loses its rights: took \
                     off {}",
                    spare.what
                ),
                namespace: None,
            }],
        };
        matches!(self.on.carry_out(vec![write]).await, WriteOutcome::Written)
    }

    async fn plan(&self, now: Now) -> ClusterPlan {
        let name = self.name;
        let (questions, asks_for_namespace) = self.on.change(|world, wakes| {
            let view = world.view_mut();
            if view.is_blind(now) {
                tracing::debug!(cluster = name, "leases are not watched now");
            }
            wakes.extend(view.wakes());
            let questions = view.with_cluster(name, None, |facts| {
                (
                    removal::questions(facts),
                    automatic::asks_for_namespace(facts),
                )
            });
            questions.unwrap_or_default()
        });
        let is_free = !asks_for_namespace || self.ask_for_namespace().await;
        let remaining = if questions.is_empty() {
            None
        } else {
            let answers = questions.iter();
            Some(join_all(answers.map(|kind| remaining(self.hub, name, kind))).await)
        };
        let world = self.on.world();
        let view = world.view();
        let plan = view.with_cluster(name, remaining.as_deref(), |facts| {
            let mut plan = clusters::decide(facts, now);
            if let Some(at) = view.sight().filter(|_| facts.lease.is_some()) {
                plan.look_again(at);
            }
            if !is_free {
                plan.look_again(now.instant + NAMESPACE_AGAIN);
            }
            plan
        });
        plan.unwrap_or_default()
    }

    /// Asks whether there is a namespace of this name that is not the cluster's, and notes the answer. True: there is none.
    async fn ask_for_namespace(&self) -> bool {
        let name = self.name;
        let target = roles::target(&roles::namespace(self.on.world().config(), name));
        let taken = match self.hub.read(&target).await {
            // The watch reports one with the label.
            Ok((namespace, _)) => {
                let namespace: Value = namespace.parse().unwrap_or_default();
                (namespace["metadata"]["labels"][labels::CLUSTER_NAME] != name).then_some(true)
            }
            Err(refusal) if refusal.is_absent => Some(false),
            Err(refusal) => {
                tracing::warn!(
                    cluster = name,
                    code = refusal.code,
                    error = refusal.message,
                    "the namespace cannot be read: the cluster is not accepted automatically"
                );
                None
            }
        };
        self.on.change(|world, wakes| {
            let view = world.view_mut();
            view.namespace_is_taken(name, taken);
            wakes.extend(view.wakes());
        });
        taken == Some(false)
    }

    /// Whether the hub says of this cluster's lease what the watch did, whose own silence may be all there is.
    ///
    /// A hub that does not answer, or takes long, has left agents waiting, too: then the silence begins anew.
    async fn is_silent(&self) -> bool {
        let name = self.name;
        let known = self.on.world().view().lease(name).map(|it| it.renew_time);
        let Some(known) = known else {
            return true;
        };
        match self.hub.read(&heartbeat::lease(name)).await {
            Ok((lease, took)) => {
                self.on.observed(Kind::Lease, &lease);
                let answered: PartialObject<Renewal> = match lease.parse() {
                    Ok(lease) => lease,
                    Err(_) => return true,
                };
                let mut world = self.on.world();
                let view = world.view_mut();
                let confirmed = view.confirms_silence(name, answered.value.time, known, now());
                if took > SLOW {
                    view.excuse(name, now());
                }
                took <= SLOW && confirmed
            }
            Err(refusal) if refusal.is_absent => {
                self.on.gone(Kind::Lease, name, names::CLUSTER_LEASE);
                false
            }
            Err(refusal) if matches!(refusal.code, 0 | 429 | 500..) => {
                self.on.world().view_mut().excuse(name, now());
                false
            }
            // It may not be asked; the watch has to do.
            Err(_) => true,
        }
    }

    /// Tells of failures in the cluster's status. If that fails, too, the log has told.
    async fn report(&self, failures: &[WriteFailure]) {
        let now = now();
        let key = Key::Cluster(self.name.into());
        let lasted = self.on.failing_for(&key, now.instant);
        let mut plan = ClusterPlan::default();
        self.on
            .world()
            .view()
            .with_cluster(self.name, None, |facts| {
                if facts.cluster.is_some() {
                    acceptance::report(facts, failures, lasted, now, &mut plan);
                    removal::report(facts, failures, lasted, now, &mut plan);
                }
            });
        let writes = self.writes(plan);
        self.on.carry_out(writes).await;
    }

    fn writes(&self, plan: ClusterPlan) -> Vec<Write> {
        let world = self.on.world();
        let cluster = world.view().cluster(self.name);
        plan.into_plan(self.name, cluster).writes
    }
}

/// Whether this says of a cluster that it is silent.
fn tells_silence(write: &Write) -> bool {
    write.reconciler == heartbeat::NAME && matches!(write.action, Action::ApplyStatus { .. })
}
