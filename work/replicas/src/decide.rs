//! Compares a replica set with its placements and its ManifestWorks.

use std::collections::{BTreeMap, BTreeSet};

use berth_api::names::label_value;
use berth_api::plan::Event;
use berth_api::work::ManifestWorkReplicaSetStatus;
use berth_rollout::{RolloutGroup, RolloutRules, RolloutStatus, rollout};
use jiff::Timestamp;

use crate::change::Change;
use crate::names::{hashed, is_given, label};
use crate::set::{PlacementRef, ReplicaSet};
use crate::status::{Counts, Report, Waiting, of_removal};
use crate::work::Work;

/// What a decision is made from.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The replica set.
    pub set: &'a ReplicaSet,
    /// The placements of its namespace that exist, by name; others than its own do not count.
    pub placed: &'a BTreeMap<String, Placed>,
    /// All ManifestWorks with its label, by cluster and name.
    pub works: &'a BTreeMap<(String, String), Work>,
    /// The clusters in whose namespaces another ManifestWork has the name of the replica set.
    pub taken: &'a BTreeSet<String>,
    /// The changes that failed since the last decision that settled. They are not repeated, and are reported.
    pub failures: &'a [FailedChange],
}

/// The clusters that a placement selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// The clusters, as its PlacementDecisions list them, by decision group.
    pub groups: Vec<RolloutGroup>,
    /// The number of clusters that it selects, by its status; 0 if the status does not count. While fewer are listed,
    /// ManifestWorks stay.
    pub selected: usize,
    /// It has no PlacementDecision, and was never evaluated: it may have been created again. Until then, ManifestWorks stay.
    pub is_new: bool,
}

/// A change that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedChange {
    /// The namespace of the ManifestWork; empty for a change of the replica set.
    pub cluster: String,
    /// The name of the ManifestWork.
    pub name: String,
    /// The error, as text for users.
    pub message: String,
    /// It may succeed soon, without a change by a user. Such failures are not reported in the status.
    pub is_transient: bool,
}

/// What is due.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision<'a> {
    /// The changes, in no order.
    pub changes: Vec<Change<'a>>,
    /// The status, once they are made. Equal to the stored one if nothing of it changes.
    pub status: ManifestWorkReplicaSetStatus,
    /// What the status reports for the first time. To be sent once the status is written.
    pub events: Vec<Event>,
    /// When to decide again, even without a change of the facts.
    pub next: Option<Timestamp>,
}

/// The ManifestWorks of a placement, by cluster.
type ByCluster<'a> = BTreeMap<&'a str, Vec<&'a Work>>;

/// The ManifestWorks of a placement, and the clusters that it selects.
struct Deciding<'d, 'a> {
    facts: &'d Facts<'a>,
    changes: Vec<Change<'a>>,
    next: Option<Timestamp>,
    /// Names that this decision gives, by cluster.
    given: BTreeSet<&'a str>,
    /// The clusters that need a ManifestWork, which may not be created now.
    withheld: BTreeSet<&'a str>,
    now: Timestamp,
}

/// Decides what is due for a replica set.
#[must_use]
pub fn decide<'a>(facts: &Facts<'a>, now: Timestamp) -> Decision<'a> {
    let set = facts.set;
    let mut report = Report::default();
    let mut deciding = Deciding {
        facts,
        changes: Vec::new(),
        next: None,
        given: BTreeSet::new(),
        withheld: BTreeSet::new(),
        now,
    };
    if set.is_deleting {
        let left = deciding.remove();
        let status = of_removal(facts, &left, now);
        return deciding.decided(status, Vec::new());
    }
    let label = match label(&set.namespace, &set.name) {
        Ok(label) => label,
        Err(why) => {
            let status = Report::unnameable(set, &why, now);
            return deciding.decided(status, Vec::new());
        }
    };
    if !set.is_finalized() {
        deciding.changes.push(Change::AddFinalizer);
        return deciding.decided(set.status.clone(), Vec::new());
    }
    let mut works: BTreeMap<&str, ByCluster<'a>> = BTreeMap::new();
    for work in facts.works.values() {
        let of = works.entry(work.placement()).or_default();
        of.entry(&*work.cluster).or_default().push(work);
    }
    for placement in &set.placements {
        let own = works.remove(&*placement.name).unwrap_or_default();
        let counts = deciding.place(placement, &label, own);
        report.placements.push(counts);
    }
    let unplaced = works
        .into_values()
        .flat_map(BTreeMap::into_values)
        .flatten();
    for work in unplaced {
        deciding.delete(
            work,
            "the ManifestWorkReplicaSet does not name its placement",
        );
    }
    deciding.keep_where_withheld();
    deciding.decided(report.status(facts, now), report.events(set))
}

// === impl Facts ===

impl<'a> Facts<'a> {
    /// The ManifestWorks with the label and a name that a controller gave them.
    fn given(self) -> impl Iterator<Item = &'a Work> {
        let set = &*self.set.name;
        let works = self.works.values();
        works.filter(move |it| is_given(set, &it.name))
    }
}

/// Takes those clusters out of a step that wait for an approval.
///
/// All ManifestWorks of the placement with the template count, also those of clusters that are not selected any more: never do more
/// clusters have it than were approved.
fn unapproved(
    set: &ReplicaSet,
    placement: &str,
    works: &BTreeMap<&str, &Work>,
    start: &mut Vec<&str>,
) -> Option<Waiting> {
    let current = works.values().filter(|it| it.is_current(&set.template));
    let current = current.count();
    let free = set.approval.of(placement).saturating_sub(current);
    // As in a rollout, a cluster that had the template before comes first.
    start.sort_unstable_by_key(|it| (!works.contains_key(it), *it));
    let waiting = start.split_off(free.min(start.len()));
    (!waiting.is_empty()).then(|| Waiting {
        count: current + start.len() + waiting.len(),
        clusters: waiting.into_iter().map(str::to_owned).collect(),
    })
}

// === impl Deciding ===

impl<'a> Deciding<'_, 'a> {
    /// Returns the decision, without the changes that have failed.
    fn decided(self, status: ManifestWorkReplicaSetStatus, events: Vec<Event>) -> Decision<'a> {
        let failures = self.facts.failures.iter();
        let failed: BTreeSet<_> = failures.map(|it| (&*it.cluster, &*it.name)).collect();
        let mut changes = self.changes;
        changes.retain(|it| !failed.contains(&it.work().unwrap_or_default()));
        Decision {
            changes,
            status,
            events,
            next: self.next,
        }
    }

    /// Deletes no ManifestWork of a cluster that needs another, which may not be created now: a cluster that moves from one placement of
    /// the replica set to another would have none until then.
    fn keep_where_withheld(&mut self) {
        let withheld = &self.withheld;
        self.changes.retain(|it| match it {
            Change::Delete { work, .. } => !withheld.contains(&*work.cluster),
            _ => true,
        });
    }

    fn delete(&mut self, work: &'a Work, why: &'static str) {
        if !work.is_deleting {
            self.changes.push(Change::Delete { work, why });
        }
    }

    /// Deletes the ManifestWorks, and then lets the replica set go. Returns those that it waits for.
    fn remove(&mut self) -> Vec<&'a Work> {
        let Facts { set, .. } = *self.facts;
        if !set.is_finalized() {
            return Vec::new();
        }
        let works: Vec<_> = self.facts.given().collect();
        for work in &works {
            self.delete(work, "its ManifestWorkReplicaSet is being deleted");
        }
        if self.changes.is_empty() && (works.is_empty() || !set.is_foreground) {
            self.changes.push(Change::RemoveFinalizer);
            return Vec::new();
        }
        works
    }

    /// Decides about the ManifestWorks of a placement. `label`: the value of the label that marks them.
    fn place(
        &mut self,
        placement: &'a PlacementRef,
        label: &str,
        mut works: ByCluster<'a>,
    ) -> Counts<'a> {
        let Facts { set, placed, .. } = *self.facts;
        let mut counts = Counts::new(&placement.name);
        for works in works.values_mut() {
            works.sort_by_key(|it| (it.is_deleting, it.name != set.name, &*it.name));
        }
        let firsts: BTreeMap<&str, &Work> = (works.iter())
            .filter_map(|(cluster, all)| Some((*cluster, *all.first()?)))
            .collect();
        let Some(placed) = placed.get(&placement.name) else {
            counts.is_missing = true;
            counts.count(&set.template, firsts.into_values());
            return counts;
        };
        let groups = placed.groups.iter();
        let selected: BTreeSet<&str> = (groups.flat_map(|it| &it.clusters))
            .map(String::as_str)
            .collect();
        for all in works.values() {
            for work in all.iter().skip(1) {
                self.delete(
                    work,
                    "the cluster has another ManifestWork for the same placement",
                );
            }
        }
        let (stay, go): (Vec<&Work>, Vec<&Work>) =
            (firsts.values()).partition(|it| selected.contains(&*it.cluster));
        counts.groups = placed.groups.len();
        counts.selected = selected.len();
        counts.existing = stay.len();
        counts.is_new = placed.is_new;
        if placed.is_new {
            // They may be selected again.
        } else if selected.len() < placed.selected {
            counts.unlisted = placed.selected - selected.len();
        } else {
            for work in go {
                self.delete(work, "the placement does not select the cluster");
            }
        }
        counts.count(&set.template, stay.iter().copied());
        let mistakes = label_value(&placement.name);
        let spec_due = match &placement.rules {
            Ok(rules) if mistakes.is_empty() => {
                self.roll_out(rules, placement, placed, &firsts, &mut counts)
            }
            Ok(_) => {
                counts.fault = Some(format!(
                    "the name of Placement {} cannot be the value of a label: {}",
                    placement.name,
                    mistakes.join("; ")
                ));
                BTreeSet::new()
            }
            Err(error) => {
                counts.fault = Some(format!(
                    "the rollout strategy of placement {} is invalid: {error}",
                    placement.name
                ));
                BTreeSet::new()
            }
        };
        let wanted = set.labels_of_works(label, &placement.name);
        for work in stay.into_iter().filter(|it| !it.is_deleting) {
            let spec = spec_due.contains(&*work.cluster);
            let labels = work.labels_due(&wanted);
            if spec || !labels.is_empty() {
                self.changes.push(Change::Update { work, labels, spec });
            }
        }
        counts
    }

    /// Creates the ManifestWorks of the next step, and returns the clusters whose ManifestWorks get the template.
    fn roll_out(
        &mut self,
        rules: &RolloutRules,
        placement: &'a PlacementRef,
        placed: &'a Placed,
        works: &BTreeMap<&'a str, &'a Work>,
        counts: &mut Counts<'a>,
    ) -> BTreeSet<&'a str> {
        let template = &self.facts.set.template;
        let states = works.values();
        let states = states.map(|it| (it.cluster.clone(), it.state_at(template, self.now)));
        let states = states.collect();
        let step = rollout(rules, &placed.groups, &states, self.now);
        counts.is_stopped = step.is_breached;
        let failed = step
            .clusters
            .iter()
            .filter(|it| it.status == RolloutStatus::Failed);
        let failed = failed.chain(&step.timed_out);
        counts.failed = failed.map(|it| it.name.to_owned()).collect();
        self.next = self.next.into_iter().chain(step.next).min();
        let start = step.clusters.iter();
        let start = start.filter(|it| it.status == RolloutStatus::ToApply);
        let mut start: Vec<&str> = start.map(|it| it.name).collect();
        let Facts { set, .. } = *self.facts;
        let needs_approval = set.approval.is_required && rules.has_steps();
        if needs_approval {
            counts.waiting = unapproved(set, &placement.name, works, &mut start);
        }
        if set.paused.is_some() {
            start.clear();
        }
        if needs_approval || set.paused.is_some() {
            let selected = placed.groups.iter().flat_map(|it| &it.clusters);
            let selected = selected.map(String::as_str);
            let waits = |it: &&str| !works.contains_key(it) && !start.contains(it);
            self.withheld.extend(selected.filter(waits));
        }
        let mut spec_due = BTreeSet::new();
        for cluster in start {
            match works.get_key_value(cluster) {
                Some((name, _)) => {
                    spec_due.insert(*name);
                }
                None => self.create(cluster, placement, placed),
            }
        }
        spec_due
    }

    fn create(&mut self, cluster: &str, placement: &'a PlacementRef, placed: &'a Placed) {
        let Facts {
            set, works, taken, ..
        } = *self.facts;
        let mut groups = placed.groups.iter();
        let known = groups.find_map(|it| it.clusters.get(cluster));
        let Some(cluster) = known else { return };
        let is_own = works.contains_key(&(cluster.clone(), set.name.clone()));
        let is_free = !is_own
            && !taken.contains(cluster)
            && !self.is_for_earlier(cluster, placement)
            && self.given.insert(cluster);
        self.changes.push(Change::Create {
            cluster: cluster.clone(),
            name: if is_free {
                set.name.clone()
            } else {
                hashed(set, &placement.name)
            },
            placement: &placement.name,
        });
    }

    /// Returns whether an earlier placement selects the cluster, too: the name of the replica set is for its ManifestWork.
    fn is_for_earlier(&self, cluster: &String, placement: &PlacementRef) -> bool {
        let all = self.facts.set.placements.iter();
        let mut earlier = all.take_while(|it| it.name != placement.name);
        earlier.any(|it| {
            let placed = self.facts.placed.get(&it.name);
            let mut groups = placed.iter().flat_map(|it| &it.groups);
            groups.any(|it| it.clusters.contains(cluster))
        })
    }
}
