//! How far rollouts are: what became of the template in each cluster, by the rules of the rollout itself. Plain functions of what is followed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_rollout::{RolloutGroup, RolloutState, RolloutStatus, rollout};
use jiff::Timestamp;

use crate::answers::{
    Act, Missing, PlacementStage, ReplicaSetAnswer, RolloutCondition, RolloutRow, Stage,
    StageAnswer, StageCluster, StageCount, StageFold, Text,
};
use crate::live::{DecidedFact, Objects, RolloutFact, RolloutPlacement, WorkFact};
use crate::screens::offers::{Lacks, Target};

/// Upper bound on the clusters of a stage that are shown.
const MOST_CLUSTERS: usize = 100;

/// What became of the template in a cluster.
#[derive(Clone, Debug)]
struct Found {
    stage: Stage,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    work: Option<Arc<WorkFact>>,
}

/// A placement of a rollout, cluster by cluster.
#[derive(Clone, Debug, Default)]
struct Placed {
    clusters: BTreeMap<String, Found>,
    /// The number of clusters that wait, and whose names are not known.
    unnamed: usize,
    next: Option<Timestamp>,
}

/// The decision groups of a placement.
fn groups_of(decided: &Objects<DecidedFact>, placement: &str) -> Vec<RolloutGroup> {
    let mut groups: BTreeMap<(i32, &str), BTreeSet<String>> = BTreeMap::new();
    for decision in decided.iter().filter(|it| it.placement == placement) {
        let group = (decision.group_index, &*decision.group_name);
        let clusters = groups.entry(group).or_default();
        clusters.extend(decision.clusters.iter().cloned());
    }
    let groups = groups.into_iter();
    let groups = groups.map(|((index, name), clusters)| RolloutGroup {
        index,
        name: name.to_owned(),
        clusters,
    });
    groups.collect()
}

/// Looks at the clusters of a placement. `works`: the ManifestWorks of the replica set; without them, nothing is known of its clusters.
/// Without `decided`, only clusters that have a ManifestWork are known by name.
fn place(
    set: &RolloutFact,
    placement: &RolloutPlacement,
    works: Option<&[&Arc<WorkFact>]>,
    decided: Option<&Objects<DecidedFact>>,
    now: Timestamp,
) -> Placed {
    let Some(works) = works else {
        return Placed::default();
    };
    let mine = works.iter().filter(|it| *it.placement == *placement.name);
    let mine: BTreeMap<String, &Arc<WorkFact>> = mine
        .map(|it| (it.row.cluster.as_str().to_owned(), *it))
        .collect();
    let states: BTreeMap<String, RolloutState> = (mine.iter())
        .filter_map(|(cluster, work)| {
            let state = work.progress?.of(set.template?, set.expects_progressing);
            Some((cluster.clone(), state))
        })
        .collect();
    let groups = match decided {
        Some(decided) => groups_of(decided, &placement.name),
        None => vec![RolloutGroup {
            clusters: states.keys().cloned().collect(),
            ..RolloutGroup::default()
        }],
    };
    let step = placement.rules.as_ref();
    let step = step.map(|rules| rollout(rules, &groups, &states, now));
    let step = step.unwrap_or_default();
    let until: BTreeMap<&str, Option<Timestamp>> = (step.clusters.iter())
        .map(|it| (it.name, it.until))
        .collect();
    let is_late = |name: &str| step.timed_out.iter().any(|it| it.name == name);
    let selected: BTreeSet<&String> = groups.iter().flat_map(|it| &it.clusters).collect();
    let found = |cluster: &String| {
        let state = states.get(cluster);
        let until = until.get(&**cluster).copied().flatten();
        let stage = match state.map(|it| it.status) {
            Some(_) if !selected.contains(cluster) => Stage::Leaving,
            Some(RolloutStatus::TimeOut) => Stage::TimedOut,
            Some(_) if is_late(cluster) => Stage::TimedOut,
            Some(RolloutStatus::Failed) => Stage::Failed,
            Some(RolloutStatus::Progressing) => Stage::Working,
            Some(RolloutStatus::Succeeded) if until.is_some_and(|it| it > now) => Stage::Soaking,
            Some(RolloutStatus::Succeeded) => Stage::Done,
            Some(RolloutStatus::ToApply | RolloutStatus::Skip) | None => Stage::Waiting,
        };
        let is_running = !matches!(stage, Stage::Waiting | Stage::Leaving | Stage::TimedOut);
        Found {
            stage,
            since: state.and_then(|it| it.since),
            until: until.filter(|_| is_running),
            work: mine.get(cluster).map(|it| Arc::clone(it)),
        }
    };
    let names: BTreeSet<&String> = selected.iter().copied().chain(states.keys()).collect();
    let clusters: BTreeMap<_, _> = (names.into_iter())
        .map(|it| (it.clone(), found(it)))
        .collect();
    let unnamed = match (decided, placement.selected) {
        (None, Some(selected)) => selected.saturating_sub(clusters.len()),
        _ => 0,
    };
    Placed {
        clusters,
        unnamed,
        next: step.next,
    }
}

/// The number of clusters in each stage that has any.
fn counts(placed: &Placed) -> Vec<StageCount> {
    let mut counts: BTreeMap<Stage, usize> = BTreeMap::new();
    for found in placed.clusters.values() {
        *counts.entry(found.stage).or_default() += 1;
    }
    if placed.unnamed > 0 {
        *counts.entry(Stage::Waiting).or_default() += placed.unnamed;
    }
    let counts = counts.into_iter();
    counts
        .map(|(stage, count)| StageCount { stage, count })
        .collect()
}

/// `are_listed`: the ManifestWorks are, and the counts are made of them.
fn stage(placement: &RolloutPlacement, placed: &Placed, are_listed: bool) -> StageAnswer {
    let reported = placement.reported.clone();
    StageAnswer {
        placement: Text::line(&placement.name),
        strategy: placement.strategy.clone(),
        stopped: placement.is_stopped,
        counts: counts(placed),
        reported: reported.filter(|_| !are_listed),
        next: placed.next,
    }
}

/// The row of a replica set.
pub(crate) fn row(
    set: &RolloutFact,
    works: Option<&[&Arc<WorkFact>]>,
    now: Timestamp,
) -> RolloutRow {
    let placements = set.placements.iter();
    RolloutRow {
        namespace: Text::line(&set.namespace),
        name: Text::line(&set.name),
        state: set.state,
        why: set.why.clone(),
        since: set.since,
        placements: placements
            .map(|it| stage(it, &place(set, it, works, None, now), works.is_some()))
            .collect(),
    }
}

/// A replica set, its ManifestWorks and the decisions of its namespace; None for those that the user may not list.
pub(crate) struct Whole<'a> {
    pub(crate) set: &'a RolloutFact,
    pub(crate) works: Option<&'a Objects<WorkFact>>,
    pub(crate) decided: Option<&'a Objects<DecidedFact>>,
    /// What the user lacks to change it.
    pub(crate) missing: Option<Missing>,
    pub(crate) read_only: bool,
    pub(crate) notes: Vec<Text>,
}

// === impl Whole ===

impl Whole<'_> {
    /// Returns the answer at this time.
    pub(crate) fn answer(self, now: Timestamp) -> ReplicaSetAnswer {
        let set = self.set;
        let works = self.works.map(|it| it.iter().collect::<Vec<_>>());
        let placements = set.placements.iter().map(|it| {
            let placed = place(set, it, works.as_deref(), self.decided, now);
            PlacementStage {
                stage: stage(it, &placed, works.is_some()),
                folds: folds(&placed),
            }
        });
        let acts = [
            // While it is paused, an approved step would be held back.
            (set.waits.is_some() && !set.is_paused).then_some(Act::Approve),
            Some(if set.is_paused {
                Act::Resume
            } else {
                Act::Pause
            }),
        ];
        let lacks = Lacks {
            accept: None,
            change: self.missing,
            read_only: self.read_only,
        };
        let target = Target::ReplicaSet(&set.namespace, &set.name);
        let acts = acts
            .into_iter()
            .flatten()
            .filter(|_| set.state != RolloutCondition::Deleting);
        ReplicaSetAnswer {
            namespace: Text::line(&set.namespace),
            name: Text::line(&set.name),
            state: set.state,
            why: set.why.clone(),
            since: set.since,
            created: set.created,
            needs_approval: set.needs_approval,
            waits: set.waits.clone(),
            placements: placements.collect(),
            actions: acts.map(|act| lacks.offer(act, target)).collect(),
            conditions: set.conditions.clone(),
            notes: self.notes,
        }
    }
}

/// The clusters by stage.
fn folds(placed: &Placed) -> Vec<StageFold> {
    let mut folds: BTreeMap<Stage, StageFold> = BTreeMap::new();
    for (cluster, found) in &placed.clusters {
        let fold = folds.entry(found.stage).or_insert_with(|| StageFold {
            stage: found.stage,
            count: 0,
            clusters: Vec::new(),
        });
        fold.count += 1;
        if fold.clusters.len() < MOST_CLUSTERS {
            let row = found.work.as_ref().map(|it| &it.row);
            fold.clusters.push(StageCluster {
                cluster: Text::line(cluster),
                work: row.map(|it| it.name.clone()),
                why: row.map_or_else(Text::default, |it| it.why.clone()),
                since: found.since,
                until: found.until,
            });
        }
    }
    if placed.unnamed > 0 {
        let fold = folds.entry(Stage::Waiting).or_insert_with(|| StageFold {
            stage: Stage::Waiting,
            count: 0,
            clusters: Vec::new(),
        });
        fold.count += placed.unnamed;
    }
    folds.into_values().collect()
}

#[cfg(test)]
mod tests;
