//! The evaluation of a placement that is due. CEL expressions and large evaluations, which may take seconds, run on another thread, without
//! the world locked, and within the budget of the namespace.

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_api::Now;
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, ROUNDS, apart, now};

use crate::budget::Permission;
use crate::view::{Apart, Evaluated, Key, Known, Matching};
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
    /// The budget of the namespace permits an evaluation that takes long.
    is_permitted: bool,
    /// The time of what was evaluated apart.
    took: Duration,
}

enum Step {
    /// The placement is evaluated; without a result there is nothing to write.
    Evaluated(Option<Arc<Wanted>>, Option<Duration>),
    /// CEL expressions are to be evaluated first.
    Match(Matching),
    /// The rest takes long, too.
    Apart(Box<Apart>),
    /// Other evaluations come first. The end of one wakes the placement.
    Busy,
}

/// Evaluates a placement, and counts the wanted decisions for others from now on. Returns them, and how long the placement rests.
///
/// # Errors
/// The result of the work: there is nothing to write now.
pub(crate) async fn evaluate(
    on: &Handle<Placements>,
    key: &Key,
) -> Result<(Arc<Wanted>, Option<Duration>), Next> {
    let mut progress = Progress::default();
    let evaluated = steps(on, key, &mut progress).await;
    if progress.is_permitted {
        on.change(|world, wakes| wakes.extend(world.budgets.ended(&key.namespace)));
    }
    let (wanted, rest) = evaluated?;
    wanted.map(|wanted| (wanted, rest)).ok_or(Next::SETTLED)
}

/// What is wanted, if there is something to write, and how long the placement rests.
type Evaluation = (Option<Arc<Wanted>>, Option<Duration>);

async fn steps(
    on: &Handle<Placements>,
    key: &Key,
    progress: &mut Progress,
) -> Result<Evaluation, Next> {
    // Clusters that changed in the meantime are matched again.
    for _ in 0..ROUNDS {
        match on.change(|world, _| world.step(key, progress, now())) {
            Step::Evaluated(wanted, rest) => return Ok((wanted, rest)),
            Step::Busy => {
                return Err(Next::SETTLED);
            }
            Step::Match(matching) => {
                let budget = matching.settings().cel_rate;
                let begun = Instant::now();
                let (known, steps) = apart(move || matching.run()).await;
                progress.took += begun.elapsed();
                progress.known.add(known);
                on.change(|world, _| world.charge(key, steps, budget));
            }
            Step::Apart(evaluation) => {
                let budget = evaluation.settings().cel_rate;
                let begun = Instant::now();
                let evaluated = apart(move || evaluation.run()).await;
                progress.took += begun.elapsed();
                return Ok(on.change(|world, _| {
                    world.charge(key, evaluated.steps, budget);
                    world.conclude(key, evaluated, progress.took)
                }));
            }
        }
    }
    Err(Next::again(Some(now().instant + TOO_FAST)))
}

// === impl Placements ===

impl Placements {
    /// Evaluates the placement, if that does not take long.
    fn step(&mut self, key: &Key, progress: &mut Progress, now: Now) -> Step {
        let matching = self.view.unmatched(key, &progress.known);
        let is_long = matching.is_some() || self.view.is_large(key);
        if is_long && !progress.is_permitted {
            let placement = self.view.placement(key);
            let budget = placement.map_or(0, |it| it.rules.settings().cel_rate);
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
        if let Some(matching) = matching {
            return Step::Match(matching);
        }
        if is_long {
            let known = std::mem::take(&mut progress.known);
            let evaluation = self.view.apart(key, known, now.wall);
            return evaluation.map_or(Step::Evaluated(None, None), |it| Step::Apart(Box::new(it)));
        }
        let begun = Instant::now();
        let wanted = self.view.evaluate_kept(key, &progress.known, now.wall);
        let took = progress.took + begun.elapsed();
        let (wanted, rest) = self.rests(key, wanted, took);
        Step::Evaluated(wanted, rest)
    }

    /// Takes over what was evaluated apart. If the placement has changed since then, it is evaluated again: the change has woken it.
    fn conclude(&mut self, key: &Key, evaluated: Evaluated, took: Duration) -> Evaluation {
        let placement = self.view.placement(key);
        if !placement.is_some_and(|it| evaluated.is_of(&it.rules) && !it.is_left_alone()) {
            return (None, None);
        }
        self.rests(key, Some(Arc::new(evaluated.wanted)), took)
    }

    /// The result of an evaluation, and how long the placement rests after it.
    fn rests(&mut self, key: &Key, wanted: Option<Arc<Wanted>>, took: Duration) -> Evaluation {
        self.metrics.took(took);
        let wanted = self.concluded(key, wanted);
        let placement = self.view.placement(key);
        let is_restless = placement.is_some_and(|it| it.rules.is_restless());
        (wanted, rest_after(took, is_restless))
    }

    fn charge(&mut self, key: &Key, steps: u64, budget: u64) {
        (self.budgets).charge(&key.namespace, steps, budget, now().instant);
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
mod tests;
