//! The spec of a placement, checked once.

use berth_api::Placement;
use berth_api::placement::{PlacementSpec, SortBy};

use crate::facts::{Cluster, Scores};
use crate::groups::{GroupRules, Order};
use crate::misconfigured::Misconfiguration;
use crate::predicates::{Matched, Predicates};
use crate::prioritizers::{ScoreSource, Weights};
use crate::spread::Constraints;
use crate::taints::Tolerations;

/// What the spec of a placement says, ready to be applied.
#[derive(Clone, Debug)]
pub struct Rules {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) sets: Vec<String>,
    /// If it has mistakes, the first of them.
    pub(crate) spec: Result<Spec, Misconfiguration>,
    pub(crate) settings: Settings,
}

/// The spec, checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spec {
    pub(crate) predicates: Predicates,
    pub(crate) tolerations: Tolerations,
    pub(crate) weights: Weights,
    pub(crate) number: Option<usize>,
    pub(crate) spread: Constraints,
    pub(crate) groups: GroupRules,
    pub(crate) order: Order,
    /// The steps that a cluster takes at most, without its taints and without CEL expressions.
    tests: u64,
}

/// The steps of a built-in prioritizer on a cluster.
const BUILT_IN: u64 = 4;

/// The steps of an add-on's score on a cluster: to look up the score, and its end.
const ADD_ON: u64 = 12;

/// How many times as long as that of a predicate the selector of a group takes: the clusters that it does not take are copied.
const GROUP: u64 = 6;

/// The steps of a spread constraint on a cluster, before clusters are chosen.
const CONSTRAINT: u64 = 4;

/// How a scheduler differs from OCM's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which fields count that OCM ignores.
    pub gates: Gates,
    /// What becomes of the decisions of a placement with a mistake.
    pub on_fault: OnFault,
    /// The budget of all CEL expressions of a placement on all clusters, in steps. OCM has none.
    pub cel_budget: u64,
    /// The budget of the placements in a namespace in a minute, in steps: of all CEL expressions, and of evaluations that take long for
    /// another reason. OCM has none.
    pub cel_rate: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            gates: Gates::default(),
            on_fault: OnFault::default(),
            // A few seconds of one core; 5,000 steps for each of 10,000 clusters.
            cel_budget: 50_000_000,
            // Two of the most expensive placements. A seventh of one core.
            cel_rate: 100_000_000,
        }
    }
}

/// Fields of the API that OCM's controller ignores or leaves empty. All are off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gates {
    /// `spec.spreadPolicy`
    pub spread: bool,
    /// `spec.sortBy`
    pub sort_by: bool,
    /// Taints with the effect `PreferNoSelect`.
    pub prefer_no_select: bool,
    /// `score` and `reason` of decisions, and counts in the message of `PlacementSatisfied`.
    pub scores: bool,
}

/// What becomes of the decisions of a placement that cannot be evaluated because of a mistake in its spec or in a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFault {
    /// They stay, except those for clusters that the placement may not select any more: deleted, or in no set that is bound.
    #[default]
    Keep,
    /// They are removed, as in OCM.
    Remove,
}

/// Returns all mistakes in a spec, in OCM's order of steps. [`Rules::misconfiguration`] is the first of them.
#[must_use]
pub fn mistakes(spec: &PlacementSpec) -> Vec<Misconfiguration> {
    let mut mistakes = Vec::new();
    // No gate changes what is a mistake.
    Spec::new(spec, Gates::default(), &mut mistakes);
    mistakes
}

// === impl Rules ===

impl Rules {
    /// Checks the spec of a placement. A mistake is reported by [`Self::misconfiguration`].
    #[must_use]
    pub fn new(placement: &Placement, settings: Settings) -> Self {
        let metadata = &placement.metadata;
        let mut mistakes = Vec::new();
        let spec = Spec::new(&placement.spec, settings.gates, &mut mistakes);
        Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            sets: placement.spec.cluster_sets.clone(),
            spec: mistakes.into_iter().next().map_or(Ok(spec), Err),
            settings,
        }
    }

    /// The placement's namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The placement's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The sets that the placement names; if empty, all that are bound count.
    #[must_use]
    pub fn sets(&self) -> &[String] {
        &self.sets
    }

    /// Returns whether the placement has CEL expressions, which read [`Cluster::object`](crate::Cluster::object), and may read any scores.
    #[must_use]
    pub fn uses_cel(&self) -> bool {
        self.spec
            .as_ref()
            .is_ok_and(|spec| spec.predicates.use_cel())
    }

    /// The steps that a cluster takes at most, without its taints and without CEL expressions. A step takes roughly as long as one of a CEL
    /// expression.
    #[must_use]
    pub fn tests(&self) -> u64 {
        self.spec.as_ref().map_or(0, |spec| spec.tests)
    }

    /// The steps that an evaluation takes at most, without CEL expressions and without [`Schedule::spread_steps`](crate::Schedule):
    /// over so many clusters, with so many taints in all.
    #[must_use]
    pub fn steps(&self, clusters: usize, taints: usize) -> u64 {
        let tolerations = self.spec.as_ref().map_or(0, |it| it.tolerations.len());
        let tests = self.tests().saturating_mul(clusters as u64);
        tests.saturating_add((tolerations as u64).saturating_mul(taints as u64))
    }

    /// The steps that the choice among so many clusters takes at most if each has other values of the keys of spread constraints.
    #[must_use]
    pub fn most_spread_steps(&self, clusters: usize) -> u64 {
        self.spec.as_ref().map_or(0, |spec| {
            let number = spec.number.unwrap_or(clusters).min(clusters);
            let looks = (clusters as u64).saturating_mul(number as u64);
            looks.saturating_mul(spec.spread.len() as u64)
        })
    }

    /// Matches a cluster with the predicates. This may take long if they have CEL expressions.
    #[must_use]
    pub fn matched<'s>(
        &self,
        cluster: &Cluster,
        scores: &dyn Fn(&str, &str) -> Option<&'s Scores>,
    ) -> Option<Matched> {
        let spec = self.spec.as_ref().ok()?;
        Some((spec.predicates).matched(cluster, scores, self.settings.cel_budget))
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Returns whether scores, reasons and counts are recorded ([`Gates::scores`]).
    #[must_use]
    pub fn records_scores(&self) -> bool {
        self.settings.gates.scores
    }

    /// What the scores of clusters are made of. Empty if the spec has a mistake: no cluster gets a score.
    pub fn score_sources(&self) -> impl Iterator<Item = ScoreSource<'_>> {
        let spec = self.spec.as_ref().ok();
        let weights = spec.into_iter().flat_map(|spec| spec.weights.iter());
        weights.map(|(prioritizer, _)| prioritizer.reads())
    }

    /// Returns whether each evaluation may select other clusters although nothing else has changed: the weight of Steady is negative, so
    /// selected clusters are worth less than others.
    #[must_use]
    pub fn is_restless(&self) -> bool {
        let spec = self.spec.as_ref();
        spec.is_ok_and(|spec| spec.number.is_some() && spec.weights.is_restless())
    }

    /// The first mistake in the spec, in OCM's order of steps.
    #[must_use]
    pub fn misconfiguration(&self) -> Option<&Misconfiguration> {
        self.spec.as_ref().err()
    }
}

// === impl Spec ===

impl Spec {
    /// Checks the spec, and reports its mistakes in OCM's order of steps. Parts with a mistake are left out.
    pub(crate) fn new(
        spec: &PlacementSpec,
        gates: Gates,
        mistakes: &mut Vec<Misconfiguration>,
    ) -> Self {
        let predicates = Predicates::new(&spec.predicates, mistakes);
        let tolerations = Tolerations::new(&spec.tolerations, mistakes);
        let weights = Weights::new(&spec.prioritizer_policy, mistakes);
        let number = spec.number_of_clusters.map(|number| {
            usize::try_from(number).unwrap_or_else(|_| {
                mistakes.push(Misconfiguration::NegativeNumber(number));
                0
            })
        });
        let groups = GroupRules::new(&spec.decision_strategy.group_strategy, mistakes);
        let spread = if gates.spread {
            Constraints::new(&spec.spread_policy)
        } else {
            Constraints::default()
        };
        let of_weights = weights
            .iter()
            .map(|(prioritizer, _)| match prioritizer.reads() {
                ScoreSource::AddOn(_) => ADD_ON,
                ScoreSource::OtherDecisions
                | ScoreSource::OwnDecisions
                | ScoreSource::Allocatable(_) => BUILT_IN,
            });
        let tests = predicates.tests()
            + GROUP * groups.tests()
            + of_weights.sum::<u64>()
            + CONSTRAINT * spread.len() as u64;
        Self {
            predicates,
            tolerations,
            weights,
            number,
            spread,
            tests,
            groups,
            order: match spec.sort_by {
                Some(SortBy::Score) if gates.sort_by => Order::ByScore,
                _ => Order::ByName,
            },
        }
    }
}
