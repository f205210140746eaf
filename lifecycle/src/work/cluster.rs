//! The work on one cluster.

use std::time::Duration;

use berth_api::cluster::CLUSTER_LEASE;
use berth_api::{labels, room};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, ROUNDS, Refusal, WriteOutcome, Writer, failed, never_settled, now};
use futures::future::join_all;
use futures::lock::OwnedMutexGuard;
use serde_json::{Value, json};

use crate::kinds::{self, Kind, Lists};
use crate::object::{PartialObject, Renewal};
use crate::remaining::remaining;
use crate::view::Key;
use crate::world::Lifecycle;
use berth_api::plan::{Action, Event, Write, WriteFailure};
use berth_lifecycle_core::cluster_plan::ClusterPlan;
use berth_lifecycle_core::facts::{Cluster, ClusterFacts, Now};
use berth_lifecycle_core::{
    acceptance, automatic, clusters, heartbeat, names, removal, roles, status,
};

/// If the hub takes this long to respond, its agents' renewals may be late for the same reason.
const SLOW: Duration = Duration::from_secs(1);

/// When to check again for another namespace of the cluster's name: namespaces without the label are not watched.
const NAMESPACE_AGAIN: Duration = Duration::from_secs(60);

/// When to read a large ManagedCluster again that could not be read.
const WHOLE_AGAIN: Duration = Duration::from_secs(30);

/// Works on a cluster: collects facts, decides and writes until nothing is due.
pub(crate) async fn reconcile(on: &Handle<Lifecycle>, key: &Key, name: &str) -> Next {
    if !on.change(|world, _| world.begin(key, name)) {
        return Next::SETTLED;
    }
    let hub = on.writer(0);
    let round = Round { on, hub, key, name };
    let done = round.settle().await;
    on.change(|world, wakes| wakes.extend(world.end(name)));
    done
}

/// The work on a cluster.
struct Round<'a> {
    on: &'a Handle<Lifecycle>,
    hub: &'a Writer,
    key: &'a Key,
    name: &'a str,
}

/// A whole ManagedCluster, and the turn of large objects.
struct WholeCluster {
    cluster: Cluster,
    _turn: OwnedMutexGuard<()>,
}

impl Round<'_> {
    async fn settle(&self) -> Next {
        for _ in 0..ROUNDS {
            if !self.has_turn() {
                return Next::SETTLED;
            }
            let (plan, whole) = self.plan(now()).await;
            if plan.writes.iter().any(sets_unknown) && !self.is_silent().await {
                continue;
            }
            let again = plan.again;
            let writes = self.writes(plan, whole.as_ref().map(|it| &it.cluster));
            let silenced = writes.iter().find(|write| sets_unknown(write));
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
                WriteOutcome::Nothing => return Next::again(again),
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

    /// Returns false if the turn of the cluster comes in another lane, where its key is woken.
    fn has_turn(&self) -> bool {
        self.on.change(|world, wakes| {
            let key = world.key_of(self.name);
            let is_here = key == *self.key;
            if !is_here {
                wakes.wake(key);
            }
            is_here
        })
    }

    /// Removes something that the agent wrote from a denied or deleted ManagedCluster that is too large for any write. Returns
    /// true if a new decision may now succeed.
    ///
    /// Not for an accepted cluster: its agent would write it again, and its permissions do not depend on the ManagedCluster.
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
                    "a ManagedCluster that is too large for any write cannot be read"
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
                    "managed cluster {name} has the maximum size of an object, so that no write succeeds; it is denied or deleted, so \
                     this was removed: {}",
                    spare.what
                ),
                namespace: None,
            }],
        };
        matches!(self.on.carry_out(vec![write]).await, WriteOutcome::Written)
    }

    /// Decides, and returns the whole ManagedCluster if the plan was made from it.
    async fn plan(&self, now: Now) -> (ClusterPlan, Option<WholeCluster>) {
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
        let decide = |whole: Option<&Cluster>| {
            let world = self.on.world();
            let view = world.view();
            let plan = view.with_cluster(name, remaining.as_deref(), |facts| {
                let facts = ClusterFacts {
                    cluster: whole.or(facts.cluster),
                    ..*facts
                };
                let mut plan = clusters::decide(&facts, now);
                if let Some(at) = view.sight().filter(|_| facts.lease.is_some()) {
                    plan.look_again(at);
                }
                if !is_free {
                    plan.look_again(now.instant + NAMESPACE_AGAIN);
                }
                plan
            });
            plan.unwrap_or_default()
        };
        let plan = decide(None);
        let left_out = (self.on.world().view().cluster(name)).map(|it| it.left_out);
        if !left_out.is_some_and(|left_out| plan.rewrites(left_out)) {
            return (plan, None);
        }
        let whole = self.whole().await;
        let mut plan = decide(whole.as_ref().map(|it| &it.cluster));
        if whole.is_none() {
            plan.leave_cluster();
            plan.look_again(now.instant + WHOLE_AGAIN);
        }
        (plan, whole)
    }

    /// Reads the whole ManagedCluster from the hub: the view keeps a part of its lists. Large objects are worked on one after the other,
    /// because each takes many times its size while it is read and written.
    async fn whole(&self) -> Option<WholeCluster> {
        let name = self.name;
        let turn = self.on.world().large();
        let turn = turn.lock_owned().await;
        let read = self.hub.read(&status::cluster_target(name)).await;
        let object = match &read {
            Ok((object, _)) => object,
            Err(Refusal { code, message, .. }) => {
                tracing::warn!(
                    cluster = name,
                    code,
                    error = message,
                    "a large ManagedCluster cannot be read"
                );
                return None;
            }
        };
        let (labels, gates) = {
            let world = self.on.world();
            (world.labels().clone(), world.config().gates)
        };
        let object = kinds::cluster(&object.item(), &labels, gates, Lists::WHOLE).ok()?;
        Some(WholeCluster {
            cluster: Cluster::read(&object.value),
            _turn: turn,
        })
    }

    /// Asks the hub for a namespace of this name without the cluster's label, and records the answer. Returns true if none
    /// exists.
    async fn ask_for_namespace(&self) -> bool {
        let name = self.name;
        let target = roles::target(&roles::namespace(self.on.world().config(), name));
        let taken = match self.hub.read(&target).await {
            // The watch reports a namespace with the label.
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

    /// Reads the cluster's lease from the hub, because the watch may have missed a renewal. Returns true if the hub confirms the
    /// agent's silence.
    ///
    /// If the hub is slow or does not respond, agents cannot renew either: then the silence counts from now.
    async fn is_silent(&self) -> bool {
        let name = self.name;
        let known = self.on.world().view().lease(name).map(|it| it.renew_time);
        let Some(known) = known else {
            return true;
        };
        let since = self.on.moment(Kind::Lease);
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
                self.on.gone(since, name, CLUSTER_LEASE);
                false
            }
            Err(refusal) if matches!(refusal.code, 0 | 429 | 500..) => {
                self.on.world().view_mut().excuse(name, now());
                false
            }
            // The account may not read the lease: rely on the watch.
            Err(_) => true,
        }
    }

    /// Reports failures in the cluster's status. If that fails, too, they are in the log.
    async fn report(&self, failures: &[WriteFailure]) {
        let now = now();
        let lasted = self.on.failing_for(self.key, now.instant);
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
        let writes = self.writes(plan, None);
        self.on.carry_out(writes).await;
    }

    fn writes(&self, plan: ClusterPlan, whole: Option<&Cluster>) -> Vec<Write> {
        let world = self.on.world();
        let cluster = whole.or_else(|| world.view().cluster(self.name));
        plan.into_plan(self.name, cluster).writes
    }
}

/// Returns true for the write that sets a cluster to Unknown.
fn sets_unknown(write: &Write) -> bool {
    write.reconciler == heartbeat::NAME && matches!(write.action, Action::ApplyStatus { .. })
}
