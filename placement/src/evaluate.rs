//! The evaluation of a placement that is due. Its CEL expressions, which may take seconds, are evaluated on another thread, without the world
//! locked, and within the budget of its namespace.

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_api::Now;
use berth_reconcile::queue::Done;
use berth_reconcile::{ROUNDS, Work, apart, now};

use crate::budget::Permission;
use crate::view::{Key, Known, Matching};
use crate::wanted::Wanted;
use crate::world::Placements;

/// An evaluation that takes longer is costly: the placement rests after it.
const COSTLY: Duration = Duration::from_millis(10);

/// How many times as long as its evaluation took, a placement rests after a costly one: then it takes less than a tenth of a processor,
/// however often clusters change.
const REST: u32 = 10;

/// How long a placement rests whose evaluations select other clusters each time. The events of its own writes may wake it.
const RESTLESS: Duration = Duration::from_secs(10);

/// When to try again if clusters change faster than CEL expressions are evaluated on them.
const TOO_FAST: Duration = Duration::from_secs(1);

/// An evaluation that is under way.
#[derive(Default)]
struct Progress {
    known: Known,
    /// The budget of the namespace permits to evaluate CEL expressions.
    is_permitted: bool,
    /// What the CEL expressions took.
    took: Duration,
}

enum Step {
    /// The placement is evaluated; without a result there is nothing to write.
    Evaluated(Option<Arc<Wanted>>, Option<Duration>),
    /// CEL expressions are to be evaluated first.
    Match(Matching),
    /// Other evaluations of CEL expressions come first. The end of one wakes the placement.
    Busy,
}

/// Evaluates a placement, and counts the wanted decisions for others from now on. Returns them, and how long the placement rests.
///
/// # Errors
/// The result of the work: there is nothing to write now.
pub(crate) async fn evaluate(
    on: &Work<Placements>,
    key: &Key,
) -> Result<(Arc<Wanted>, Option<Duration>), Done> {
    let mut progress = Progress::default();
    let evaluated = steps(on, key, &mut progress).await;
    if progress.is_permitted {
        on.change(|world, wakes| wakes.extend(world.budgets.ended(&key.namespace)));
    }
    let (wanted, rest) = evaluated?;
    wanted.map(|wanted| (wanted, rest)).ok_or(Done::Settled {
        again: None,
        pause: None,
    })
}

#[allow(clippy::type_complexity, reason = "the fields of a step")]
async fn steps(
    on: &Work<Placements>,
    key: &Key,
    progress: &mut Progress,
) -> Result<(Option<Arc<Wanted>>, Option<Duration>), Done> {
    // Clusters that changed in the meantime are matched again.
    for _ in 0..ROUNDS {
        match on.change(|world, _| world.step(key, progress, now())) {
            Step::Evaluated(wanted, rest) => return Ok((wanted, rest)),
            Step::Busy => {
                return Err(Done::Settled {
                    again: None,
                    pause: None,
                });
            }
            Step::Match(matching) => {
                let budget = matching.settings().cel_rate;
                let begun = Instant::now();
                let (known, steps) = apart(move || matching.run()).await;
                progress.took += begun.elapsed();
                progress.known.add(known);
                on.change(|world, _| {
                    let budgets = &mut world.budgets;
                    budgets.charge(&key.namespace, steps, budget, now().instant);
                });
            }
        }
    }
    Err(Done::Settled {
        again: Some(now().instant + TOO_FAST),
        pause: None,
    })
}

// === impl Placements ===

impl Placements {
    /// Evaluates the placement, if what its CEL expressions make of the clusters is known.
    fn step(&mut self, key: &Key, progress: &mut Progress, now: Now) -> Step {
        if let Some(matching) = self.view.unmatched(key, &progress.known) {
            let budget = matching.settings().cel_rate;
            if !progress.is_permitted {
                match self.budgets.ask(key, budget, now.instant) {
                    Permission::Granted => progress.is_permitted = true,
                    Permission::Busy => return Step::Busy,
                    Permission::Spent(wait) => {
                        let until = now.wall.checked_add(wait).unwrap_or(now.wall);
                        let wanted = self.view.postpone(key, now.wall, until);
                        return Step::Evaluated(self.concluded(key, wanted), None);
                    }
                }
            }
            return Step::Match(matching);
        }
        let begun = Instant::now();
        let wanted = self.view.evaluate_kept(key, &progress.known, now.wall);
        let took = progress.took + begun.elapsed();
        self.metrics.took(took);
        let wanted = self.concluded(key, wanted);
        let placement = self.view.placement(key);
        let is_restless = placement.is_some_and(|it| it.rules.is_restless());
        Step::Evaluated(wanted, rest_after(took, is_restless))
    }

    /// Counts the wanted decisions of a placement for others from now on. Returns them if there is something to write.
    fn concluded(&mut self, key: &Key, wanted: Option<Arc<Wanted>>) -> Option<Arc<Wanted>> {
        let view = &mut self.view;
        self.metrics
            .evaluated(key, view.placement(key), wanted.as_deref());
        let wanted = wanted.filter(|it| !it.is_unread)?;
        view.writes(key, &wanted.clusters);
        Some(wanted)
    }
}

/// How long a placement rests after an evaluation.
fn rest_after(took: Duration, is_restless: bool) -> Option<Duration> {
    let costly = (took >= COSTLY).then(|| took.saturating_mul(REST));
    let restless = is_restless.then_some(RESTLESS);
    costly.max(restless)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_rest_after_costly_evaluations_and_between_restless_ones() {
        let millis = Duration::from_millis;
        for (took, is_restless, expected) in [
            (millis(9), false, None),
            (millis(10), false, Some(millis(100))),
            (millis(9), true, Some(RESTLESS)),
            (millis(2000), true, Some(millis(20_000))),
        ] {
            assert_eq!(
                rest_after(took, is_restless),
                expected,
                "{took:?} {is_restless}"
            );
        }
    }
}
