//! Rollout strategies: in which steps a change reaches the clusters of a placement.
//!
//! [`RolloutRules`] is a strategy, checked once. [`rollout`] applies it to the clusters of the placement, by decision group, and to what
//! is known of each of them. It returns the clusters that the caller changes now ([`Rollout`]). The caller changes them, observes what
//! becomes of them, and asks again: after each observation, and at [`Rollout::next`].
//!
//! # Steps
//! - All: every cluster at once. Failures stop nothing, and clusters do not soak.
//! - Progressive: the mandatory groups, then the other clusters, at most `maxConcurrency` at a time. A cluster occupies a place until it
//!   succeeded and soaked, or timed out; a failed cluster occupies one until its deadline.
//! - `ProgressivePerGroup`: the mandatory groups, then the other groups by index. A group starts when no cluster of an earlier group is in
//!   progress or soaks.
//!
//! Mandatory groups follow each other by index, and tolerate no failure. Otherwise `maxFailures` clusters may fail or time out: of all
//! clusters for Progressive, of each group for `ProgressivePerGroup`. More failures are a breach.
//!
//! # Guarantees
//! - After a breach, no cluster starts. Those that are in progress stay in the result.
//! - A Progressive rollout without mandatory groups starts no cluster beyond `maxConcurrency`.
//! - The result does not depend on the order of the groups. Clusters are listed by name.
//! - [`Rollout::next`] is after `now`. Until then, the result does not change by time alone, unless a state has no time.
//! - No input panics.
//!
//! # Compatibility
//! The results equal those of OCM, including these oddities:
//! - A `maxFailures` above the number of clusters tolerates no failure; such a `maxConcurrency` means all clusters. So do zero and below.
//! - `maxConcurrency` is a percentage of the clusters outside the mandatory groups, `maxFailures` of all clusters.
//! - A state without a time counts as entered now. A succeeded cluster without a time soaks for ever, and one in progress never times
//!   out.
//! - A cluster that succeeded after `now`, by its own clock, soaks until then, with every strategy.
//! - A cluster that is reported with [`RolloutStatus::TimeOut`] counts as a failure, but [`Rollout::timed_out`] does not list it.
//! - While a group is in progress, a new cluster of it waits, unless it is the first of the groups.
//!
//! OCM differs here: its rollouts wait without need, go on where they should stop, or report less.
//! - OCM starts clusters after a breach: those whose names precede the failed one, and all of the group.
//! - OCM counts a failure in a later group as progress in an earlier one, so that no further group starts, and a timeout as progress that
//!   ended, so that the next group starts while clusters are in progress.
//! - With mandatory groups, OCM starts no further cluster while any other is in progress, failed or timed out.
//! - OCM lets clusters that are reported with [`RolloutStatus::ToApply`] start before it counts those in progress, which then exceed
//!   `maxConcurrency`. When these are more than `maxConcurrency`, it omits some, and their failures.
//! - OCM loses groups if an index is missing or occurs twice, and reports their clusters as removed. Here, an index only orders the groups.
//! - OCM reads `maxConcurrency` when the mandatory groups are done. Here, an invalid value is an error at once.

mod duration;
mod progress;
mod rules;

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

pub use rules::{RolloutError, RolloutRules};

use progress::Progress;
use rules::{Share, Steps};

/// A decision group of a placement. Groups with the same index and name are one; a cluster in several groups belongs to the first.
///
/// `K`: how clusters are named, `String` or `&str`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolloutGroup<K = String> {
    /// The value of the label `cluster.open-cluster-management.io/decision-group-index`.
    pub index: i32,
    /// The value of the label `cluster.open-cluster-management.io/decision-group-name`; empty for groups without a name.
    pub name: String,
    /// The clusters.
    pub clusters: BTreeSet<K>,
}

/// What became of a change in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolloutStatus {
    /// The change was not applied, or not yet observed.
    ToApply,
    /// The change was applied, and is in progress.
    Progressing,
    /// The change succeeded.
    Succeeded,
    /// The change failed. It may still succeed until the deadline.
    Failed,
    /// The change was in progress or failed when the deadline passed.
    TimeOut,
    /// The cluster takes no part.
    Skip,
}

/// The state of a change in a cluster.
///
/// It is the state of the change that is being rolled out: as long as the cluster reports one of an earlier change, the status is
/// [`ToApply`](RolloutStatus::ToApply). Otherwise a cluster would soak from the success of the earlier change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolloutState {
    /// The status.
    pub status: RolloutStatus,
    /// When the change entered the status. `None` is now.
    pub since: Option<Timestamp>,
}

/// A cluster in the result of [`rollout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolloutCluster<'a> {
    /// The name.
    pub name: &'a str,
    /// The status.
    pub status: RolloutStatus,
    /// When the change entered the status, if known.
    pub since: Option<Timestamp>,
    /// The deadline, or when the cluster has soaked. `None` if the change was not applied, or has no deadline.
    pub until: Option<Timestamp>,
}

/// The next step of a rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rollout<'a> {
    /// The clusters of this step: those to change now ([`RolloutStatus::ToApply`]), those in progress, those that failed and have not
    /// reached the deadline, and those that succeeded and soak.
    pub clusters: Vec<RolloutCluster<'a>>,
    /// The clusters that were in progress or failed when the deadline passed.
    pub timed_out: Vec<RolloutCluster<'a>>,
    /// The clusters that have a state, and are in no group: the placement does not select them any more.
    pub removed: Vec<&'a str>,
    /// More clusters failed than `maxFailures` allows, so that no cluster starts.
    pub is_breached: bool,
    /// When to look again, if nothing is observed before: the next deadline or end of a soak.
    pub next: Option<Timestamp>,
}

/// Returns the next step of a rollout to the clusters of a placement. A cluster without a state has never been changed.
#[must_use]
pub fn rollout<'a, K: Borrow<str> + Ord>(
    rules: &RolloutRules,
    groups: &'a [RolloutGroup<K>],
    states: &'a BTreeMap<K, RolloutState>,
    now: Timestamp,
) -> Rollout<'a> {
    let groups = Groups::new(rules, groups, states, now);
    let step = match rules.steps {
        Steps::All => Step {
            start: groups.all().filter(|it| it.is_waiting()).collect(),
            is_breached: false,
        },
        Steps::Progressive { concurrency } => {
            let (mandatory, others) = groups.split(rules);
            unfinished(&mandatory)
                .unwrap_or_else(|| by_cluster(&groups, &others, concurrency, rules.max_failures))
        }
        Steps::PerGroup => {
            let (mandatory, others) = groups.split(rules);
            unfinished(&mandatory).unwrap_or_else(|| by_group(&others, rules.max_failures))
        }
    };
    let Step { start, is_breached } = step;
    let started: BTreeSet<_> = start.iter().map(|it| it.cluster.name).collect();
    let mut listed: Vec<_> = (groups.all())
        .filter(|it| it.is_listed() || started.contains(it.cluster.name))
        .map(|it| it.cluster)
        .collect();
    let mut timed_out: Vec<_> = (groups.all())
        .filter(|it| it.has_just_timed_out())
        .map(|it| it.cluster)
        .collect();
    listed.sort_unstable_by_key(|it| it.name);
    timed_out.sort_unstable_by_key(|it| it.name);
    Rollout {
        next: listed.iter().filter_map(|it| it.until).min(),
        clusters: listed,
        timed_out,
        removed: groups.removed,
        is_breached,
    }
}

/// The clusters that start.
struct Step<'g, 'a> {
    start: Vec<&'g Progress<'a>>,
    is_breached: bool,
}

/// The clusters by group, and where each of them stands.
struct Groups<'a> {
    by_key: BTreeMap<(i32, &'a str), Vec<Progress<'a>>>,
    removed: Vec<&'a str>,
}

/// Returns the step of the mandatory groups, or `None` when they are done.
fn unfinished<'g, 'a>(mandatory: &[&'g [Progress<'a>]]) -> Option<Step<'g, 'a>> {
    let step = by_group(mandatory, Share::Default);
    let is_busy = mandatory.iter().copied().flatten().any(Progress::is_busy);
    (is_busy || step.is_breached || !step.start.is_empty()).then_some(step)
}

/// Returns the step of a rollout from group to group.
fn by_group<'g, 'a>(groups: &[&'g [Progress<'a>]], max_failures: Share) -> Step<'g, 'a> {
    let is_breached =
        (groups.iter()).any(|group| failures(*group) > max_failures.of(group.len(), 0));
    let is_busy = groups.iter().copied().flatten().any(Progress::is_busy);
    let reached = match (is_breached, is_busy) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => groups.len(),
    };
    let waiting = |group: &&'g [Progress<'a>]| -> Vec<_> {
        group.iter().filter(|it| it.is_waiting()).collect()
    };
    let mut steps = groups.iter().take(reached).map(waiting);
    Step {
        start: steps.find(|start| !start.is_empty()).unwrap_or_default(),
        is_breached,
    }
}

/// Returns the step of a rollout from cluster to cluster, in the groups that are not mandatory.
fn by_cluster<'g, 'a>(
    groups: &'g Groups<'a>,
    others: &[&'g [Progress<'a>]],
    concurrency: Share,
    max_failures: Share,
) -> Step<'g, 'a> {
    let is_breached = failures(groups.all()) > max_failures.of(groups.all().count(), 0);
    let others: Vec<_> = others.iter().copied().flatten().collect();
    let places = concurrency.of(others.len(), others.len());
    let taken = groups.all().filter(|it| it.is_listed()).count();
    let free = if is_breached {
        0
    } else {
        places.saturating_sub(taken)
    };
    let mut start: Vec<_> = others.into_iter().filter(|it| it.is_waiting()).collect();
    // A known state may be that of a change that was applied and not yet observed: it keeps its place.
    start.sort_unstable_by_key(|it| (!it.is_known, it.cluster.name));
    start.truncate(free);
    Step { start, is_breached }
}

fn failures<'g, 'a: 'g>(clusters: impl IntoIterator<Item = &'g Progress<'a>>) -> usize {
    clusters.into_iter().filter(|it| it.is_failure()).count()
}

// === impl Groups ===

impl<'a> Groups<'a> {
    fn new<K: Borrow<str> + Ord>(
        rules: &RolloutRules,
        groups: &'a [RolloutGroup<K>],
        states: &'a BTreeMap<K, RolloutState>,
        now: Timestamp,
    ) -> Self {
        let mut group_of: BTreeMap<&str, (i32, &str)> = BTreeMap::new();
        for group in groups {
            let key = (group.index, group.name.as_str());
            for cluster in &group.clusters {
                let first = group_of.entry(cluster.borrow()).or_insert(key);
                *first = key.min(*first);
            }
        }
        let mut by_key: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (&name, &key) in &group_of {
            let progress = Progress::new(rules, name, states.get(name).copied(), now);
            by_key.entry(key).or_default().push(progress);
        }
        let names = states.keys().map(|it| -> &str { it.borrow() });
        Self {
            by_key,
            removed: names.filter(|name| !group_of.contains_key(name)).collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Progress<'a>> {
        self.by_key.values().flatten()
    }

    /// The mandatory groups and the others, by index.
    fn split(&self, rules: &RolloutRules) -> (Vec<&[Progress<'a>]>, Vec<&[Progress<'a>]>) {
        let (mut mandatory, mut others) = (Vec::new(), Vec::new());
        for (&(index, name), clusters) in &self.by_key {
            let part = if rules.is_mandatory(index, name) {
                &mut mandatory
            } else {
                &mut others
            };
            part.push(clusters.as_slice());
        }
        (mandatory, others)
    }
}
