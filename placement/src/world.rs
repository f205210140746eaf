//! Placements as a [`World`]: the placements that a change concerns, and the work on each.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_api::Now;
use berth_api::plan::Plan;
use berth_reconcile::queue::Done;
use berth_reconcile::{
    Lane, Meta, ROUNDS, Sight, Source, Wakes, Work, World, WriteOutcome, failed, never_settled, now,
};
use jiff::Timestamp;

use crate::decide::{Due, NAME, Step};
use crate::kinds::{Fact, Kind};
use crate::metrics::Metrics;
use crate::view::{Key, View};
use crate::wanted::Wanted;

/// Placements whose decisions are written at the same time.
const AT_ONCE: usize = 16;

/// The longest time until a placement with a timer is evaluated again: the clock may be set in the meantime.
const LONGEST_TIMER: Duration = Duration::from_secs(3600);

/// The view of the hub, with settings and metrics.
pub(crate) struct Placements {
    view: View,
    metrics: Metrics,
}

// === impl Placements ===

impl Placements {
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self {
            view: View::default(),
            metrics,
        }
    }

    /// Evaluates a placement, and counts the wanted decisions for others from now on.
    fn evaluate(&mut self, key: &Key, now: Timestamp) -> Option<Wanted> {
        let view = &mut self.view;
        let wanted = self.metrics.timed(|| view.evaluate(key, now));
        self.metrics
            .evaluated(key, view.placement(key), wanted.as_ref());
        if let Some(wanted) = &wanted {
            view.writes(key, wanted.names());
        }
        wanted
    }

    /// The writes that are due for a placement.
    fn plan(&self, key: &Key, wanted: &Wanted, step: Step<'_>, now: Timestamp) -> Plan {
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
}

impl World for Placements {
    type Kind = Kind;
    type Key = Key;
    type Fact = Fact;

    const LANES: &'static [Lane] = &[Lane::new(NAME, AT_ONCE)];

    fn apply(&mut self, _: Kind, it: &Meta, fact: Fact, sight: Sight, wakes: &mut Wakes<Self>) {
        let is_own = sight.source == Source::Write;
        let place = (&*it.namespace, &*it.name);
        self.view.apply(place, fact, is_own, sight.now.wall);
        wakes.extend(self.view.wakes());
    }

    fn gone(&mut self, kind: Kind, namespace: &str, name: &str, wakes: &mut Wakes<Self>) {
        self.view.remove(kind, namespace, name, now().wall);
        if kind == Kind::Placement {
            self.metrics.gone(&Key::new(namespace, name));
        }
        wakes.extend(self.view.wakes());
    }

    fn all(&self) -> Vec<Key> {
        self.view.all()
    }

    fn decide(&self, key: &Key, now: Now) -> Plan {
        let wanted = self.view.evaluate(key, now.wall);
        let plan = wanted.map(|wanted| self.plan(key, &wanted, Step::Next, now.wall));
        plan.unwrap_or_default()
    }

    /// Evaluates the placement once, and writes until its decisions are the wanted ones. Decisions of other placements, which change in the
    /// meantime, do not change the result.
    async fn work(on: &Work<Self>, key: &Key) -> Done {
        let begun = now();
        let wanted = on.change(|world, _| world.evaluate(key, begun.wall));
        let Some(wanted) = wanted else {
            return Done::Settled {
                again: None,
                pause: None,
            };
        };
        let done = carry_out(on, key, &wanted, begun).await;
        on.change(|world, _| world.view.written(key));
        done
    }
}

async fn carry_out(on: &Work<Placements>, key: &Key, wanted: &Wanted, begun: Now) -> Done {
    for _ in 0..ROUNDS {
        let plan = on.world().plan(key, wanted, Step::Next, now().wall);
        match on.carry_out(plan.writes).await {
            WriteOutcome::Nothing => {
                let again = wanted.next.map(|next| {
                    let wait = next.duration_since(begun.wall);
                    let wait = Duration::try_from(wait).unwrap_or_default();
                    begun.instant + wait.min(LONGEST_TIMER)
                });
                return Done::Settled { again, pause: None };
            }
            WriteOutcome::Written => {}
            WriteOutcome::Failed(failures) => {
                let lasting = failures.iter().find(|(failure, _)| !failure.is_transient());
                let why = lasting.map(|(failure, _)| &*failure.message);
                let plan = on.world().plan(key, wanted, Step::Failed(why), now().wall);
                on.carry_out(plan.writes).await;
                return failed(&failures);
            }
        }
    }
    never_settled(key)
}
