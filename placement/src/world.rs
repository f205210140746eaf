//! Placements as a [`World`]: the placements that a change concerns, and the work on each.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use berth_api::Now;
use berth_api::plan::{Plan, Target};
use berth_reconcile::queue::Next;
use berth_reconcile::{
    Handle, Lane, Meta, ROUNDS, Report, Source, Wake, WatchError, World, WriteOutcome, failed,
    never_settled, now,
};
use jiff::Timestamp;

use crate::budget::Budgets;
use crate::decide::{Due, NAME, Step};
use crate::doubt::Removal;
use crate::evaluate::evaluate;
use crate::kinds::{Fact, Kind};
use crate::metrics::Metrics;
use crate::needs::Needs;
use crate::sig::{DueSlices, Slices};
use crate::told::{Pending, Written, regarding};
use crate::view::{Circumstances, Key, View};
use crate::wanted::Wanted;

/// Placements whose decisions are written at the same time.
const AT_ONCE: usize = 16;

/// The longest time until a placement with a timer is evaluated again: the clock may be set in the meantime.
const LONGEST_TIMER: Duration = Duration::from_secs(3600);

/// The view of the hub, with settings and metrics.
pub(crate) struct Placements {
    pub(crate) view: View,
    /// What CEL expressions may cost.
    pub(crate) budgets: Budgets,
    slices: Slices,
    needs: Needs,
    pub(crate) metrics: Metrics,
}

/// Plans a part of what is due for a placement.
type Part = fn(&Placements, &Key, &Wanted, Step<'_>, Now) -> Plan;

// === impl Placements ===

impl Placements {
    /// `needs`: what the table of kinds keeps of ManagedClusters.
    pub(crate) fn new(metrics: Metrics, needs: Needs) -> Self {
        Self {
            view: View::default(),
            budgets: Budgets::default(),
            slices: Slices::default(),
            needs,
            metrics,
        }
    }

    /// Follows up a change of the view: wakes placements, and begins or ends to keep whole ManagedClusters.
    fn changed(&mut self, wakes: &mut Wake<Self>) {
        wakes.extend(self.view.wakes());
        if self.view.takes_in() | self.needs.takes_in() {
            wakes.list_anew(Kind::Cluster);
        }
        let is_needed = self.view.needs_objects();
        if !self.needs.whole.need(is_needed) {
            return;
        }
        if is_needed {
            wakes.list_anew(Kind::Cluster);
        } else {
            self.view.drop_objects();
        }
    }

    /// The writes of OCM's PlacementDecisions and of the status that are due for a placement.
    fn plan(&self, key: &Key, wanted: &Wanted, step: Step<'_>, now: Now) -> Plan {
        let placement = self.view.placement(key).filter(|it| !it.is_left_alone());
        let Some(placement) = placement else {
            return Plan::default();
        };
        let decisions = self.view.decisions(&key.namespace);
        let none = BTreeMap::new();
        let due = Due {
            placement,
            wanted,
            decisions: decisions.unwrap_or(&none),
        };
        due.plan(step, now)
    }

    /// The writes of SIG-Multicluster's PlacementDecisions that are due for a placement.
    fn plan_slices(&self, key: &Key, wanted: &Wanted, step: Step<'_>, now: Now) -> Plan {
        let placement = self.view.placement(key).filter(|it| !it.is_left_alone());
        let (Some(placement), Some(stored)) = (placement, self.slices.of(&key.namespace)) else {
            return Plan::default();
        };
        let names: Vec<_> = wanted.clusters.names().map(String::as_str).collect();
        let due = DueSlices {
            owner: placement.owner(),
            wanted: &names,
            stored,
        };
        due.plan(step, now.wall)
    }

    /// The PlacementDecisions of a placement that a write with an unknown outcome may still change.
    fn doubtful(&self, key: &Key, now: Timestamp) -> Vec<(Kind, String, Timestamp)> {
        let placement = self.view.placement(key);
        let slices = placement.map(|it| self.slices.doubtful(it.owner(), now));
        let slices = slices.into_iter().flatten();
        let decisions = self.view.doubtful(key, now).into_iter();
        let decisions = decisions.map(|(name, until)| (Kind::Decision, name, until));
        let slices = slices.map(|(name, until)| (Kind::Slice, name, until));
        decisions.chain(slices).collect()
    }

    /// Wake those of these placements that exist.
    fn wake(&self, keys: Vec<Key>, wakes: &mut Wake<Self>) {
        let exists = |key: &Key| self.view.placement(key).is_some();
        wakes.extend(keys.into_iter().filter(exists));
    }
}

impl World for Placements {
    type Kind = Kind;
    type Key = Key;
    type Fact = Fact;

    const LANES: &'static [Lane] = &[Lane::new(NAME, AT_ONCE)];

    /// Placements of one namespace do not delay those of another.
    fn group(key: &Key) -> &str {
        &key.namespace
    }

    fn apply(&mut self, _: Kind, it: &Meta, fact: Fact, sight: Report, wakes: &mut Wake<Self>) {
        let circumstances = Circumstances {
            is_own: sight.source == Source::Write,
            is_listing: sight.is_listing,
            now: sight.now.wall,
        };
        let place = (&*it.namespace, &*it.name);
        if let Fact::Slice(slice) = fact {
            let concerned = self.slices.apply(place.0, place.1, slice);
            if !circumstances.is_own {
                self.wake(concerned, wakes);
            }
            return;
        }
        self.view.apply(place, fact, circumstances);
        self.changed(wakes);
    }

    fn gone(&mut self, kind: Kind, namespace: &str, name: &str, wakes: &mut Wake<Self>) {
        if kind == Kind::Slice {
            let concerned = self.slices.remove(namespace, name);
            return self.wake(concerned, wakes);
        }
        self.view.remove(kind, namespace, name, now().wall);
        if kind == Kind::Placement {
            self.metrics.gone(&Key::new(namespace, name));
        }
        self.changed(wakes);
    }

    fn over(on: &Handle<Self>) {
        on.world().metrics.over();
    }

    fn listed(&mut self, kind: Kind, _: Now, wakes: &mut Wake<Self>) {
        if kind == Kind::Cluster {
            self.view.wake_readers_of_objects();
            self.changed(wakes);
        }
        if kind == Kind::Slice && self.slices.listed() {
            wakes.extend(self.view.all());
        }
    }

    fn lost_sight(&mut self, kind: Kind, error: &WatchError, _: Now, _: &mut Wake<Self>) {
        let is_missing = kind == Kind::Slice && error.code == 404;
        if is_missing && self.slices.missing() {
            tracing::warn!(
                "feature gate SIGPlacementDecision is on, but the hub does not serve PlacementDecisions of multicluster.x-k8s.io; \
                 to serve them: kubectl apply -k manifests/crds/inventory"
            );
        }
    }

    fn all(&self) -> Vec<Key> {
        self.view.all()
    }

    fn decide(&self, key: &Key, now: Now) -> Plan {
        let wanted = self.view.evaluate(key, now.wall);
        let wanted = wanted.filter(|it| !it.is_unread);
        let plan = wanted.map(|wanted| self.plan(key, &wanted, Step::Next, now));
        plan.unwrap_or_default()
    }

    /// Evaluates the placement once, and writes until its decisions are the wanted ones. Decisions of other placements, which change in the
    /// meantime, do not change the result.
    async fn reconcile(on: &Handle<Self>, key: &Key) -> Next {
        let (wanted, rest) = match evaluate(on, key).await {
            Ok(evaluated) => evaluated,
            Err(done) => return done,
        };
        let begun = now();
        let mut written = Written::default();
        let writing = Instant::now();
        let done = carry_out(on, key, &wanted, begun, &mut written).await;
        on.world().metrics.bound(writing.elapsed());
        tell(on, key, &written);
        on.change(|world, _| world.view.written(key));
        match (done, rest) {
            (Next::Settled { again, .. }, rest) => Next::rests(again, rest, begun.instant),
            (done, _) => done,
        }
    }
}

async fn carry_out(
    on: &Handle<Placements>,
    key: &Key,
    wanted: &Wanted,
    begun: Now,
    written: &mut Written,
) -> Next {
    read_again(on, key).await;
    // The slices follow: OCM's PlacementDecisions and the status do not wait for them.
    let parts: [Part; 2] = [Placements::plan, Placements::plan_slices];
    let mut later = Vec::new();
    for part in parts {
        match carry_out_part(on, key, wanted, part, written).await {
            Ok(again) => later.extend(again),
            Err(done) => return done,
        }
    }
    let longest = begun.instant + LONGEST_TIMER;
    let doubts = on.world().doubtful(key, now().wall);
    let next = doubts.into_iter().map(|(_, _, until)| until);
    let next = next.chain(wanted.next).min().map(|next| {
        let wait = next.duration_since(begun.wall);
        let wait = Duration::try_from(wait).unwrap_or_default();
        begun.instant + wait.min(LONGEST_TIMER)
    });
    let later = later.into_iter().map(|it| it.min(longest));
    let again = next.into_iter().chain(later).min();
    Next::again(again)
}

/// Writes until nothing of this part is due, and returns when to look again.
///
/// # Errors
/// The result of the work, if something is still due.
async fn carry_out_part(
    on: &Handle<Placements>,
    key: &Key,
    wanted: &Wanted,
    part: Part,
    written: &mut Written,
) -> Result<Option<Instant>, Next> {
    for _ in 0..ROUNDS {
        let plan = part(&on.world(), key, wanted, Step::Next, now());
        let later = plan.again;
        match write(on, key, plan, written).await {
            WriteOutcome::Nothing => return Ok(later),
            WriteOutcome::Written => {}
            WriteOutcome::Failed(failures) => {
                let lasting = failures.iter().find(|(failure, _)| !failure.is_transient());
                let why = lasting.map(|(failure, _)| &*failure.message);
                let plan = part(&on.world(), key, wanted, Step::Failed(why), now());
                write(on, key, plan, written).await;
                return Err(failed(&failures));
            }
        }
    }
    Err(never_settled(key))
}

/// Carries out writes, and notes those that succeeded, and which of those that remove clusters may still be carried out after they failed.
async fn write(
    on: &Handle<Placements>,
    key: &Key,
    plan: Plan,
    written: &mut Written,
) -> WriteOutcome {
    let removals: Vec<_> = plan.writes.iter().filter_map(Removal::of).collect();
    let pending = {
        let world = on.world();
        let stored = world.view.decisions(&key.namespace);
        let writes = plan.writes.iter();
        writes.filter_map(|it| Pending::of(it, stored)).collect()
    };
    let outcome = on.carry_out(plan.writes).await;
    let failures = match &outcome {
        WriteOutcome::Failed(failures) => failures.as_slice(),
        WriteOutcome::Nothing | WriteOutcome::Written => &[],
    };
    written.add(pending, failures);
    if let WriteOutcome::Failed(failures) = &outcome {
        let failures = || failures.iter().map(|(failure, _)| failure);
        let uncertain = removals.iter().filter(|it| it.is_uncertain(failures()));
        on.change(|world, _| {
            for it in uncertain {
                match it.kind {
                    Kind::Slice => world.slices.doubt(&key.namespace, it, now().wall),
                    _ => world.view.doubt(&key.namespace, it, now().wall),
                }
            }
        });
    }
    outcome
}

/// Sends the Events about what was written.
fn tell(on: &Handle<Placements>, key: &Key, written: &Written) {
    let events = written.events();
    if events.is_empty() {
        return;
    }
    let regarding = on.world().view.placement(key).map(regarding);
    for event in &events {
        if let Some(regarding) = &regarding {
            on.tell(0, event, regarding);
        }
    }
}

/// Reads the PlacementDecisions again that a write with an unknown outcome may have changed. The watch may be as late as the write.
async fn read_again(on: &Handle<Placements>, key: &Key) {
    let doubtful = on.world().doubtful(key, now().wall);
    for (kind, name, _) in doubtful {
        let target = Target {
            resource: kind.resource(),
            namespace: Some(key.namespace.to_string()),
            name,
        };
        let since = on.moment(kind);
        match on.writer(0).read(&target).await {
            Ok((object, _)) => on.observed(kind, &object),
            Err(refusal) if refusal.is_absent => {
                on.gone(since, &key.namespace, &target.name);
            }
            // The doubt stays.
            Err(_) => {}
        }
    }
}
