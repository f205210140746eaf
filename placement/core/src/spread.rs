//! Spread constraints: how evenly the selected clusters are spread over the values of labels and claims. OCM ignores them.
//!
//! Places are filled one after another, each with the best cluster that keeps the constraints. The skew of a value is the number of
//! selected clusters with it, less that of the value with the fewest; values count that a cluster has which passed the filters. A
//! cluster without the label or claim breaks the constraint. A cluster that breaks a constraint with `DoNotSchedule` is not selected. One
//! that breaks a constraint with `ScheduleAnyway` is selected if all others do as well, or break a constraint that is listed earlier.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use berth_api::placement::{SpreadConstraint, SpreadPolicy, TopologyKeyType, WhenUnsatisfiable};

use crate::facts::Cluster;
use crate::ranking::Ranked;

/// The constraints of a placement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Constraints(Vec<Constraint>);

#[derive(Clone, Debug)]
struct Constraint {
    key: String,
    is_claim: bool,
    max_skew: usize,
    is_hard: bool,
}

/// The clusters with the same value for each constraint: they break the same constraints at any time.
struct Topology {
    /// The index of the value in each constraint's counts; `None` if the cluster has none.
    values: Vec<Option<usize>>,
    /// The positions of the clusters that are not selected yet, the best one last.
    waiting: Vec<usize>,
}

/// How many selected clusters have each value of one constraint.
#[derive(Default)]
struct Counts {
    by_value: Vec<usize>,
    /// How many values have each count.
    values_by_count: BTreeMap<usize, usize>,
}

// === impl Constraints ===

impl Constraints {
    pub(crate) fn new(policy: &SpreadPolicy) -> Self {
        let constraints = policy.spread_constraints.iter().map(Constraint::new);
        Self(constraints.collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of constraints.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Moves the selected clusters to the front, in their order, and returns how many they are: at most `number`.
    ///
    /// `ranked` is in its order. The others are in their order behind. `steps` counts the constraints that are looked at.
    pub(crate) fn choose(
        &self,
        ranked: &mut Vec<Ranked<'_>>,
        number: Option<usize>,
        steps: &mut u64,
    ) -> usize {
        let number = number.unwrap_or(ranked.len()).min(ranked.len());
        let (mut topologies, mut counts) = self.topologies(ranked);
        // The best cluster of each topology that has some left.
        let mut heads: BTreeMap<usize, usize> = BTreeMap::new();
        for (index, topology) in topologies.iter().enumerate() {
            heads.extend(topology.waiting.last().map(|best| (*best, index)));
        }
        let mut selected = BTreeSet::new();
        while selected.len() < number {
            let mut next: Option<(Vec<bool>, usize, usize)> = None;
            for (position, index) in &heads {
                *steps = steps.saturating_add(self.0.len() as u64);
                let Some(broken) = self.broken(&topologies[*index], &counts) else {
                    continue;
                };
                let is_whole = !broken.contains(&true);
                if next.as_ref().is_none_or(|(least, ..)| broken < *least) {
                    next = Some((broken, *position, *index));
                }
                if is_whole {
                    break;
                }
            }
            let Some((_, position, index)) = next else {
                break;
            };
            selected.insert(position);
            heads.remove(&position);
            let topology = &mut topologies[index];
            topology.waiting.pop();
            heads.extend(topology.waiting.last().map(|best| (*best, index)));
            for (value, counts) in topology.values.iter().zip(&mut counts) {
                counts.add(*value);
            }
        }
        let mut others = Vec::with_capacity(ranked.len() - selected.len());
        let mut front = Vec::with_capacity(ranked.len());
        for (position, it) in ranked.drain(..).enumerate() {
            let is_selected = selected.contains(&position);
            if is_selected { &mut front } else { &mut others }.push(it);
        }
        front.append(&mut others);
        *ranked = front;
        selected.len()
    }

    fn topologies(&self, ranked: &[Ranked<'_>]) -> (Vec<Topology>, Vec<Counts>) {
        let mut indices: Vec<HashMap<&str, usize>> =
            self.0.iter().map(|_| HashMap::new()).collect();
        let mut by_values: HashMap<Vec<Option<usize>>, usize> = HashMap::new();
        let mut topologies: Vec<Topology> = Vec::new();
        // The best one is pushed last.
        for (position, it) in ranked.iter().enumerate().rev() {
            let values = self.0.iter().zip(&mut indices);
            let values = values.map(|(constraint, indices)| {
                let value = constraint.value(it.cluster)?;
                let next = indices.len();
                Some(*indices.entry(value).or_insert(next))
            });
            let values: Vec<_> = values.collect();
            let index = *by_values.entry(values).or_insert_with_key(|values| {
                topologies.push(Topology {
                    values: values.clone(),
                    waiting: Vec::new(),
                });
                topologies.len() - 1
            });
            topologies[index].waiting.push(position);
        }
        let counts = indices.iter().map(|values| Counts::new(values.len()));
        (topologies, counts.collect())
    }

    /// Returns which constraints one more cluster of the topology would break; `None` if one of them must not be broken.
    fn broken(&self, topology: &Topology, counts: &[Counts]) -> Option<Vec<bool>> {
        let mut broken = Vec::with_capacity(self.0.len());
        for ((constraint, value), counts) in self.0.iter().zip(&topology.values).zip(counts) {
            let is_broken = value.is_none_or(|value| counts.skew_with(value) > constraint.max_skew);
            if is_broken && constraint.is_hard {
                return None;
            }
            broken.push(is_broken);
        }
        Some(broken)
    }
}

// === impl Constraint ===

impl Constraint {
    fn new(constraint: &SpreadConstraint) -> Self {
        Self {
            key: constraint.topology_key.clone(),
            is_claim: constraint.topology_key_type == TopologyKeyType::Claim,
            max_skew: usize::try_from(constraint.max_skew).unwrap_or(1).max(1),
            is_hard: constraint.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule,
        }
    }

    fn value<'c>(&self, cluster: &'c Cluster) -> Option<&'c str> {
        let found = if self.is_claim {
            &cluster.claims
        } else {
            &cluster.labels
        };
        found.get(&self.key).map(String::as_str)
    }
}

// === impl Counts ===

impl Counts {
    fn new(values: usize) -> Self {
        let values_by_count = (values > 0).then_some((0, values));
        Self {
            by_value: vec![0; values],
            values_by_count: values_by_count.into_iter().collect(),
        }
    }

    fn least(&self) -> usize {
        self.values_by_count.keys().next().copied().unwrap_or(0)
    }

    /// The skew of a value if one more cluster with it were selected.
    fn skew_with(&self, value: usize) -> usize {
        (self.by_value[value] + 1).saturating_sub(self.least())
    }

    fn add(&mut self, value: Option<usize>) {
        let Some(value) = value else {
            return;
        };
        let count = &mut self.by_value[value];
        if let Some(values) = self.values_by_count.get_mut(count) {
            *values -= 1;
            if *values == 0 {
                self.values_by_count.remove(count);
            }
        }
        *count += 1;
        *self.values_by_count.entry(*count).or_default() += 1;
    }
}
