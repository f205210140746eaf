//! What evaluations of the placements of each namespace may cost that take long, by CEL expressions or by their size: a budget of steps that
//! refills with time, from the first evaluation on.
//!
//! # Guarantees
//! - Over any time, a namespace takes at most the steps that its budget has and that it refills by, and those of its last evaluation.
//! - One evaluation of a namespace is under way at a time, and [`AT_ONCE`] of all of them. Others wait in the order in which they asked.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::view::Key;

/// Long evaluations at the same time.
const AT_ONCE: usize = 2;

/// In this time, a budget refills from nothing.
const REFILLS: Duration = Duration::from_secs(60);

/// The budgets of all namespaces.
#[derive(Debug, Default)]
pub(crate) struct Budgets {
    /// Those that are not full.
    spent: HashMap<Arc<str>, Spent>,
    /// The namespaces with an evaluation under way.
    running: HashSet<Arc<str>>,
    waiting: Vec<Key>,
}

/// The part of a budget that is spent; more than all of it after a costly evaluation.
#[derive(Clone, Copy, Debug)]
struct Spent {
    steps: u64,
    at: Instant,
}

/// The answer to a placement that asks for a long evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    /// It may begin. [`Budgets::ended`] ends it.
    Granted,
    /// Others are under way. The end of one wakes the placement.
    Busy,
    /// The budget is spent for so long.
    Spent(Duration),
}

// === impl Budgets ===

impl Budgets {
    /// Asks for the evaluation of a placement. `budget`: the steps that a namespace has in a minute.
    pub(crate) fn ask(&mut self, key: &Key, budget: u64, now: Instant) -> Permission {
        let spent = self.spent.get(&key.namespace);
        let spent = spent.map_or(0, |it| it.left(budget, now));
        if spent > 0 && spent >= budget {
            return Permission::Spent(refill(spent - budget + 1, budget));
        }
        if self.running.len() >= AT_ONCE || self.running.contains(&key.namespace) {
            if !self.waiting.contains(key) {
                self.waiting.push(key.clone());
            }
            return Permission::Busy;
        }
        self.running.insert(key.namespace.clone());
        Permission::Granted
    }

    /// Charges what an evaluation took.
    pub(crate) fn charge(&mut self, namespace: &Arc<str>, steps: u64, budget: u64, now: Instant) {
        self.spent.retain(|_, it| it.left(budget, now) > 0);
        let spent = self.spent.get(namespace);
        let spent = spent.map_or(0, |it| it.left(budget, now));
        let steps = spent.saturating_add(steps);
        if steps > 0 {
            let namespace = namespace.clone();
            self.spent.insert(namespace, Spent { steps, at: now });
        }
    }

    /// Ends an evaluation. Returns the placements that have waited for that.
    pub(crate) fn ended(&mut self, namespace: &Arc<str>) -> Vec<Key> {
        self.running.remove(namespace);
        std::mem::take(&mut self.waiting)
    }
}

// === impl Spent ===

impl Spent {
    /// The part that is not refilled yet.
    fn left(self, budget: u64, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.at);
        let refilled = u128::from(budget) * since.as_millis() / REFILLS.as_millis();
        let refilled = u64::try_from(refilled).unwrap_or(u64::MAX);
        self.steps.saturating_sub(refilled)
    }
}

/// Returns the time in which this number of steps is refilled, rounded up.
fn refill(steps: u64, budget: u64) -> Duration {
    let millis = (u128::from(steps) * REFILLS.as_millis()).div_ceil(u128::from(budget.max(1)));
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: u64 = 6_000;

    fn key(namespace: &str, name: &str) -> Key {
        Key::new(namespace, name)
    }

    #[test]
    fn a_budget_is_charged_from_the_first_evaluation_on_and_refills_with_time() {
        let start = Instant::now();
        for (sentence, charges, asked_at, expected) in [
            ("nothing is spent", &[][..], 0, None),
            ("a part is spent", &[(0, 5_999)], 0, None),
            ("all is spent", &[(0, 6_000)], 0, Some(10)),
            ("a step is refilled", &[(0, 6_000)], 10, None),
            ("more is spent", &[(0, 12_000)], 0, Some(60_010)),
            (
                "half of it is refilled",
                &[(0, 12_000)],
                30_000,
                Some(30_010),
            ),
            (
                "it adds up",
                &[(0, 4_000), (10_000, 4_000)],
                10_000,
                Some(10_010),
            ),
            (
                "it refills up to its size",
                &[(0, 100), (3_600_000, 6_000)],
                3_600_000,
                Some(10),
            ),
            ("a clock does not go back", &[(1_000, 6_000)], 0, Some(10)),
        ] {
            let mut budgets = Budgets::default();
            let place = key("a", "p");
            let at = |millis| start + Duration::from_millis(millis);
            for (millis, steps) in charges {
                budgets.charge(&place.namespace, *steps, BUDGET, at(*millis));
            }
            let expected = expected.map_or(Permission::Granted, |wait| {
                Permission::Spent(Duration::from_millis(wait))
            });
            assert_eq!(
                budgets.ask(&place, BUDGET, at(asked_at)),
                expected,
                "{sentence}"
            );
            assert_eq!(
                budgets.ask(&key("b", "p"), BUDGET, at(asked_at)),
                Permission::Granted,
                "{sentence}: of another namespace"
            );
        }
    }

    #[test]
    fn one_placement_of_a_namespace_is_evaluated_at_a_time_and_the_others_are_woken() {
        let now = Instant::now();
        let mut budgets = Budgets::default();
        let ask = |budgets: &mut Budgets, namespace, name| {
            budgets.ask(&key(namespace, name), BUDGET, now)
        };
        assert_eq!(ask(&mut budgets, "a", "z"), Permission::Granted);
        assert_eq!(ask(&mut budgets, "a", "y"), Permission::Busy);
        assert_eq!(ask(&mut budgets, "a", "x"), Permission::Busy);
        assert_eq!(ask(&mut budgets, "a", "y"), Permission::Busy);
        assert_eq!(ask(&mut budgets, "b", "p"), Permission::Granted);
        assert_eq!(ask(&mut budgets, "c", "p"), Permission::Busy);
        let woken = budgets.ended(&key("a", "z").namespace);
        assert_eq!(woken, [key("a", "y"), key("a", "x"), key("c", "p")]);
        assert_eq!(ask(&mut budgets, "c", "p"), Permission::Granted);
        assert_eq!(ask(&mut budgets, "a", "y"), Permission::Busy);
        budgets.ended(&key("b", "p").namespace);
        assert_eq!(ask(&mut budgets, "a", "y"), Permission::Granted);
    }

    #[test]
    fn full_budgets_take_no_memory() {
        let start = Instant::now();
        let mut budgets = Budgets::default();
        for number in 0..100 {
            budgets.charge(
                &key(&format!("n{number}"), "p").namespace,
                100,
                BUDGET,
                start,
            );
        }
        assert_eq!(budgets.spent.len(), 100);
        let later = start + Duration::from_secs(1);
        budgets.charge(&key("a", "p").namespace, 100, BUDGET, later);
        assert_eq!(budgets.spent.len(), 1);
    }

    #[test]
    fn a_budget_of_nothing_permits_what_costs_nothing() {
        let now = Instant::now();
        let mut budgets = Budgets::default();
        let place = key("a", "p");
        assert_eq!(budgets.ask(&place, 0, now), Permission::Granted);
        budgets.ended(&place.namespace);
        budgets.charge(&place.namespace, 1, 0, now);
        assert!(matches!(budgets.ask(&place, 0, now), Permission::Spent(_)));
    }
}
