//! The scheduler: filters, scores, selects and groups the clusters of a scene.

use std::collections::HashSet;
use std::fmt;

use jiff::Timestamp;

use crate::eligible::Eligible;
use crate::facts::Cluster;
use crate::groups::Group;
use crate::hub::Hub;
use crate::misconfigured::Misconfiguration;
use crate::predicates::Excess;
use crate::ranking::{Ranked, best};
use crate::rules::{OnFault, Rules, Spec};
use crate::scoring::{Scoring, Sources, expiry};
use crate::taints::earlier;

/// Upper bound on the clusters that a warning names; it counts the others.
const NAMED: usize = 20;

/// The input of an evaluation.
#[derive(Clone)]
pub struct Scene<'a> {
    /// The clusters that it may select.
    pub eligible: Eligible<'a>,
    /// The clusters that its own PlacementDecisions list.
    pub previous: &'a HashSet<String>,
    /// The rest of the hub.
    pub hub: &'a dyn Hub,
    /// The time.
    pub now: Timestamp,
}

/// The decisions for a placement, and their reasons.
pub struct Schedule<'a> {
    /// The clusters that its PlacementDecisions are to list.
    pub decisions: Decisions<'a>,
    /// How many clusters are missing.
    pub unscheduled: usize,
    /// When the result can change although nothing else does. `None` means never.
    pub next: Option<Timestamp>,
    /// Problems that do not prevent the evaluation.
    pub warnings: Vec<Warning<'a>>,
    /// Why the placement cannot be evaluated.
    pub fault: Option<Fault<'a>>,
    /// How many clusters each step left.
    pub counts: Counts,
    /// The steps that spread constraints took. [`Rules::steps`] does not contain them.
    pub spread_steps: u64,
    pub(crate) rules: &'a Rules,
    pub(crate) scene: Scene<'a>,
    pub(crate) scoring: Scoring<'a>,
    /// The clusters that passed the filters. The selected ones come first, in their order.
    pub(crate) ranked: Vec<Ranked<'a>>,
}

/// The clusters of a placement.
#[derive(Clone, Debug)]
pub enum Decisions<'a> {
    /// These, in groups: at least one, which is empty if no cluster is selected.
    Groups(Vec<Group<'a>>),
    /// Those of the previous decisions, as they are grouped there, sorted by name. Others are removed, and none is added.
    Kept(Vec<&'a str>),
}

/// Why a placement cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault<'a> {
    /// Its spec is invalid.
    Misconfigured(&'a Misconfiguration),
    /// The selector of a set is invalid, so the set's members are unknown.
    Set {
        /// The name of the set.
        name: &'a str,
        /// The mistakes in its selector.
        mistakes: &'a str,
    },
    /// Its CEL expressions exceed their budget on all clusters. Its decisions are kept, whatever [`OnFault`] says.
    TooCostly {
        /// The budget, in steps.
        budget: u64,
    },
    /// A CEL expression exceeds its budget on a cluster, so it is not known whether the cluster matches. The placement's decisions are kept,
    /// whatever [`OnFault`] says.
    TooCostlyOn {
        /// The name of the cluster, the first one by name.
        cluster: &'a str,
        /// The expression and its budget.
        excess: Excess,
    },
    /// The evaluations of the placements in its namespace have spent their budget, so it is evaluated later. Its decisions are kept, whatever
    /// [`OnFault`] says.
    Postponed {
        /// The budget of a minute, in steps.
        budget: u64,
    },
    /// It has CEL expressions, and the whole object of a cluster is not known ([`Cluster::object`]). Its decisions are kept, whatever
    /// [`OnFault`] says.
    NotRead,
    /// It has CEL expressions, and whole objects of clusters take too much memory, so that one that it may select was left out
    /// ([`CelObject::left_out`](crate::CelObject::left_out)). Its decisions are kept, whatever [`OnFault`] says.
    TooLarge {
        /// The limit on the memory of all objects, in bytes.
        limit: usize,
    },
}

/// A problem that does not prevent the evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning<'a> {
    /// Scores that are no longer valid, and count as 0.
    ExpiredScores {
        /// The name of the AddOnPlacementScores.
        resource: &'a str,
        /// The clusters whose scores expired, by name.
        clusters: Vec<&'a str>,
    },
}

/// How many clusters each step left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The clusters that the placement may select.
    pub candidates: usize,
    /// Those that match no predicate.
    pub unmatched: usize,
    /// Those with a taint that the placement does not tolerate.
    pub tainted: usize,
    /// Those that passed both filters.
    pub feasible: usize,
    /// Those that are selected, or kept.
    pub selected: usize,
}

/// Evaluates a placement.
#[must_use]
pub fn schedule<'a>(rules: &'a Rules, scene: Scene<'a>) -> Schedule<'a> {
    match (&rules.spec, scene.eligible.broken()) {
        (Err(mistake), _) => Schedule::faulty(rules, scene, Fault::Misconfigured(mistake)),
        (_, Some((name, mistakes))) => {
            Schedule::faulty(rules, scene, Fault::Set { name, mistakes })
        }
        (Ok(spec), None) => match rules.uses_cel().then(|| scene.unread()).flatten() {
            Some(fault) => Schedule::faulty(rules, scene, fault),
            None => Schedule::evaluated(rules, spec, scene),
        },
    }
}

/// The schedule of a placement whose evaluation must wait: it keeps its decisions. One with a mistake is not evaluated anyway.
#[must_use]
pub fn postponed<'a>(rules: &'a Rules, scene: Scene<'a>) -> Schedule<'a> {
    if rules.spec.is_err() || scene.eligible.broken().is_some() {
        return schedule(rules, scene);
    }
    let budget = rules.settings.cel_rate;
    Schedule::faulty(rules, scene, Fault::Postponed { budget })
}

// === impl Scene ===

impl<'a> Scene<'a> {
    /// Why the whole objects of some candidates cannot be read, if that is so.
    fn unread(&self) -> Option<Fault<'a>> {
        let mut limit = None;
        for cluster in &self.eligible.candidates {
            match &cluster.object {
                None => return Some(Fault::NotRead),
                Some(object) => limit = limit.or(object.limit()),
            }
        }
        limit.map(|limit| Fault::TooLarge { limit })
    }

    pub(crate) fn sources(&self) -> Sources<'a> {
        Sources {
            hub: self.hub,
            previous: self.previous,
            now: self.now,
        }
    }

    pub(crate) fn is_selected(&self, cluster: &Cluster) -> bool {
        self.previous.contains(&cluster.name)
    }

    /// The clusters of the previous decisions that the placement may still select, as far as that is known.
    fn kept(&self) -> Vec<&'a str> {
        let known = self.eligible.candidates.iter().copied();
        let mut kept: Vec<_> = known
            .filter(|cluster| self.is_selected(cluster))
            .map(|cluster| cluster.name.as_str())
            .collect();
        if self.eligible.broken().is_some() {
            let clusters = self
                .previous
                .iter()
                .filter_map(|name| self.hub.cluster(name));
            let clusters = clusters.filter(|cluster| !cluster.is_deleting);
            kept.extend(clusters.map(|cluster| cluster.name.as_str()));
        }
        kept.sort_unstable();
        kept.dedup();
        kept
    }
}

// === impl Schedule ===

impl<'a> Schedule<'a> {
    fn faulty(rules: &'a Rules, scene: Scene<'a>, fault: Fault<'a>) -> Self {
        let decisions = match rules.settings.on_fault {
            OnFault::Remove if fault.is_mistake() => Decisions::Groups(vec![Group::default()]),
            OnFault::Keep | OnFault::Remove => Decisions::Kept(scene.kept()),
        };
        let counts = Counts {
            candidates: scene.eligible.candidates.len(),
            selected: decisions.len(),
            ..Counts::default()
        };
        Self {
            decisions,
            unscheduled: 0,
            next: None,
            warnings: Vec::new(),
            fault: Some(fault),
            counts,
            spread_steps: 0,
            rules,
            scene,
            scoring: Scoring::default(),
            ranked: Vec::new(),
        }
    }

    fn evaluated(rules: &'a Rules, spec: &'a Spec, scene: Scene<'a>) -> Self {
        let sources = scene.sources();
        let mut counts = Counts::default();
        let mut next = None;
        let mut ranked = Vec::new();
        let mut steps = 0_u64;
        let mut excess: Option<(&str, Excess)> = None;
        let budget = rules.settings.cel_budget;
        let scores = |cluster: &str, name: &str| scene.hub.scores(cluster, name);
        for cluster in scene.eligible.candidates.iter().copied() {
            counts.candidates += 1;
            let matched = scene.hub.matched(&cluster.name);
            let matched =
                matched.unwrap_or_else(|| spec.predicates.matched(cluster, &scores, budget));
            steps = steps.saturating_add(matched.steps);
            if steps > budget {
                return Self::faulty(rules, scene, Fault::TooCostly { budget });
            }
            match matched.result {
                Ok(true) => {}
                Ok(false) => {
                    counts.unmatched += 1;
                    continue;
                }
                // The others are evaluated, too: the fault does not depend on the order of the clusters.
                Err(it) => {
                    let name = cluster.name.as_str();
                    if excess.is_none_or(|(first, _)| name < first) {
                        excess = Some((name, it));
                    }
                    continue;
                }
            }
            let is_selected = scene.is_selected(cluster);
            let judged = (spec.tolerations).judge(cluster, is_selected, scene.now);
            next = earlier(next, judged.unwrap_or_else(|it| it.again));
            if judged.is_err() {
                counts.tainted += 1;
                continue;
            }
            let mut is_avoided = false;
            // The effect does not evict a cluster that is selected already.
            if rules.settings.gates.prefer_no_select && !is_selected {
                let until;
                (is_avoided, until) = spec.tolerations.avoids(cluster, scene.now);
                next = earlier(next, until);
            }
            ranked.push(Ranked {
                cluster,
                score: 0,
                is_avoided,
            });
        }
        if let Some((cluster, excess)) = excess {
            return Self::faulty(rules, scene, Fault::TooCostlyOn { cluster, excess });
        }
        counts.feasible = ranked.len();

        let feasible = ranked.iter().map(|it| it.cluster);
        let scoring = Scoring::new(&spec.weights, sources, feasible);
        for it in &mut ranked {
            it.score = scoring.total(it.cluster, sources);
        }
        let (warnings, expires) = validity(&scoring, &ranked, &scene);
        next = earlier(next, expires);

        let mut spread_steps = 0;
        let selected = if spec.spread.is_empty() {
            best(&mut ranked, spec.number)
        } else {
            best(&mut ranked, None);
            (spec.spread).choose(&mut ranked, spec.number, &mut spread_steps)
        };
        counts.selected = selected;
        let wanted = match spec.number {
            Some(number) => number,
            // All that are feasible. Only spread constraints leave some out.
            None => counts.feasible,
        };
        Self {
            unscheduled: wanted.saturating_sub(selected),
            next,
            warnings,
            scoring,
            spread_steps,
            ..Self::grouped(rules, spec, scene, counts, ranked)
        }
    }

    /// The schedule of clusters that were judged one by one. `ranked` has those that are selected.
    pub(crate) fn concluded(
        rules: &'a Rules,
        scene: Scene<'a>,
        mut counts: Counts,
        ranked: Vec<Ranked<'a>>,
    ) -> Self {
        let Ok(spec) = &rules.spec else {
            return schedule(rules, scene);
        };
        counts.selected = ranked.len();
        let wanted = spec.number.unwrap_or(counts.feasible);
        let scoring = if rules.records_scores() {
            // No score of such a placement depends on other clusters.
            Scoring::new(&spec.weights, scene.sources(), std::iter::empty())
        } else {
            Scoring::default()
        };
        Self {
            unscheduled: wanted.saturating_sub(ranked.len()),
            scoring,
            ..Self::grouped(rules, spec, scene, counts, ranked)
        }
    }

    /// The selected clusters in their groups.
    fn grouped(
        rules: &'a Rules,
        spec: &'a Spec,
        scene: Scene<'a>,
        counts: Counts,
        ranked: Vec<Ranked<'a>>,
    ) -> Self {
        let groups = spec.groups.divide(&ranked[..counts.selected], spec.order);
        Self {
            decisions: Decisions::Groups(groups),
            unscheduled: 0,
            next: None,
            warnings: Vec::new(),
            fault: None,
            counts,
            spread_steps: 0,
            rules,
            scene,
            scoring: Scoring::default(),
            ranked,
        }
    }

    /// The selected clusters, the best one first. Empty if the placement cannot be evaluated.
    #[must_use]
    pub fn selected(&self) -> &[Ranked<'a>] {
        // Kept clusters are counted as selected, too.
        self.ranked.get(..self.counts.selected).unwrap_or_default()
    }
}

/// Returns which scores are expired, and when the first of the others expires.
fn validity<'a>(
    scoring: &Scoring<'a>,
    ranked: &[Ranked<'a>],
    scene: &Scene<'a>,
) -> (Vec<Warning<'a>>, Option<Timestamp>) {
    let mut warnings = Vec::new();
    let mut next = None;
    for scorer in scoring.scorers() {
        let Some(resource) = scorer.resource() else {
            continue;
        };
        let mut clusters = Vec::new();
        for it in ranked {
            let name = it.cluster.name.as_str();
            let Some(scores) = scene.hub.scores(name, resource) else {
                continue;
            };
            if scores.is_expired(scene.now) {
                clusters.push(name);
            }
            next = earlier(next, expiry(scores, scene.now));
        }
        if !clusters.is_empty() {
            clusters.sort_unstable();
            warnings.push(Warning::ExpiredScores { resource, clusters });
        }
    }
    (warnings, next)
}

// === impl Decisions ===

impl<'a> Decisions<'a> {
    /// The number of clusters.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Groups(groups) => groups.iter().map(|group| group.clusters.len()).sum(),
            Self::Kept(names) => names.len(),
        }
    }

    /// Returns whether there are no clusters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names of the clusters, group by group.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        let (groups, kept) = match self {
            Self::Groups(groups) => (groups.as_slice(), &[][..]),
            Self::Kept(names) => (&[][..], names.as_slice()),
        };
        let grouped = groups.iter().flat_map(|group| &group.clusters);
        let grouped = grouped.map(|it| it.cluster.name.as_str());
        grouped.chain(kept.iter().copied())
    }
}

// === impl Fault ===

impl Fault<'_> {
    /// Returns whether an object on the hub has a mistake. Otherwise, a limit of this program is exceeded, or something is not known yet.
    fn is_mistake(&self) -> bool {
        match self {
            Self::Misconfigured(_) | Self::Set { .. } => true,
            Self::TooCostly { .. }
            | Self::TooCostlyOn { .. }
            | Self::Postponed { .. }
            | Self::NotRead
            | Self::TooLarge { .. } => false,
        }
    }

    /// The path of the field of the placement that causes the fault, if it is one field.
    #[must_use]
    pub fn field(&self) -> Option<String> {
        match self {
            Self::Misconfigured(mistake) => Some(mistake.field()),
            Self::TooCostlyOn { excess, .. } => Some(excess.field()),
            Self::Set { .. }
            | Self::TooCostly { .. }
            | Self::Postponed { .. }
            | Self::NotRead
            | Self::TooLarge { .. } => None,
        }
    }
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misconfigured(mistake) => write!(f, "{}:{mistake}", mistake.step()),
            Self::Set { name, mistakes } => {
                write!(
                    f,
                    "failed to get clusters from ClusterSet {name:?}: {mistakes}"
                )
            }
            Self::NotRead => f.write_str(
                "the CEL expressions read whole ManagedClusters, which are not known yet; the decisions are kept as they were",
            ),
            Self::TooLarge { limit } => write!(
                f,
                "the CEL expressions read whole ManagedClusters, which take more memory than the limit of {} MiB; the decisions are kept as they were; select with labels and claims instead, or make the ManagedClusters smaller",
                limit >> 20
            ),
            Self::TooCostly { budget } => write!(
                f,
                "the CEL expressions cost too much on the clusters of the placement: they exceed the limit of {budget} steps; make them simpler, or put label selectors before them"
            ),
            Self::Postponed { budget } => write!(
                f,
                "the Placements in this namespace cost too much: their evaluations exceed the limit of {budget} steps in a minute, so this Placement waits; the decisions are kept as they were; make CEL expressions simpler, or put label selectors before them; use fewer predicates, tolerations and prioritizers"
            ),
            Self::TooCostlyOn { cluster, excess } => write!(
                f,
                "the CEL expression {} costs too much on the cluster {cluster}: {}; make it simpler, or put label selectors before it",
                excess.field(),
                excess.limit()
            ),
        }
    }
}

// === impl Warning ===

impl fmt::Display for Warning<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::ExpiredScores { resource, clusters } = self;
        f.write_str("AddOnPlacementScores")?;
        for cluster in clusters.iter().take(NAMED) {
            write!(f, " {cluster}/{resource}")?;
        }
        if let Some(more @ 1..) = clusters.len().checked_sub(NAMED) {
            write!(f, " and {more} more")?;
        }
        f.write_str(" expired")
    }
}
