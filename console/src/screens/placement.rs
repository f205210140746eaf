//! The screen Placement: what the explanation of a placement says, as steps, sentences and rows. Plain functions of the explanation.

use std::collections::BTreeMap;

use berth_admin::answers::Explained;
use berth_api::Placement;
use berth_placement_core::Explanation;
use berth_placement_core::explain::{ClusterResult, ExplainedCluster, ExplainedSets};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::answers::{
    ChangedCluster, ConditionAnswer, FunnelStep, GroupCount, Missing, PlacedCluster,
    PlacementAnswer, ResultCount, Selection, Text, WhatIfAnswer,
};

/// Upper bound on the clusters that are shown.
const MOST_PLACED: usize = 200;

/// Upper bound on the added, and on the removed clusters that are shown.
const MOST_CHANGED: usize = 100;

/// Upper bound on the items of the other lists: warnings, sets, groups.
const MOST_LISTED: usize = 50;

/// Which clusters of a placement are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// A part of the name.
    pub(crate) part: String,
    /// A result, by its name.
    pub(crate) result: String,
}

/// The placement, and what the user may do with it.
pub(crate) struct Whole<'a> {
    /// As the hub sent it.
    pub(crate) value: &'a Value,
    pub(crate) explained: &'a Explained,
    /// What the user lacks to replace it.
    pub(crate) missing: Option<Missing>,
    pub(crate) read_only: bool,
    pub(crate) at: Timestamp,
}

// === impl Whole ===

impl Whole<'_> {
    /// Makes the answer.
    pub(crate) fn answer(&self, chosen: &Chosen) -> PlacementAnswer {
        let explanation = &self.explained.explanation;
        let all = explanation.clusters.iter();
        let matching = all.filter(|it| chosen.chooses(it));
        let rows: Vec<_> = matching.clone().take(MOST_PLACED).map(placed).collect();
        PlacementAnswer {
            namespace: Text::line(&explanation.namespace),
            name: Text::line(&explanation.name),
            selection: selection(self.explained),
            differs: differences(explanation),
            matched: matching.count(),
            clusters: rows,
            results: results(explanation),
            yaml: editable(self.value),
            at: self.at,
            may_replace: self.missing.is_none() && !self.read_only,
            missing: self.missing.clone(),
        }
    }
}

// === impl Chosen ===

impl Chosen {
    fn chooses(&self, cluster: &ExplainedCluster) -> bool {
        cluster.name.contains(&self.part)
            && (self.result.is_empty() || self.result == name_of(cluster.result))
    }
}

/// What a changed placement would select, beside what is listed now.
pub(crate) fn what_if(changed: &Explained) -> WhatIfAnswer {
    let explanation = &changed.explanation;
    let stored = &explanation.stored;
    let change = |name: &String| ChangedCluster {
        name: Text::line(name),
        reason: match explanation.cluster(name) {
            Some(cluster) => Text::line(&cluster.reason),
            None => "the cluster does not exist".into(),
        },
    };
    let first = |names: &[String]| names.iter().take(MOST_CHANGED).map(change).collect();
    let more = |names: &[String]| names.len().saturating_sub(MOST_CHANGED);
    WhatIfAnswer {
        mistakes: Vec::new(),
        selection: Some(selection(changed)),
        added: first(&stored.to_add),
        more_added: more(&stored.to_add),
        removed: first(&stored.to_remove),
        more_removed: more(&stored.to_remove),
        stay: stored.clusters.saturating_sub(stored.to_remove.len()),
    }
}

/// The YAML has mistakes.
pub(crate) fn mistaken(mistakes: Vec<String>) -> WhatIfAnswer {
    WhatIfAnswer {
        mistakes: texts(&mistakes),
        selection: None,
        added: Vec::new(),
        more_added: 0,
        removed: Vec::new(),
        more_removed: 0,
        stay: 0,
    }
}

/// Returns the mistakes of a changed placement that is another object.
pub(crate) fn another(placement: &Placement, namespace: &str, name: &str) -> Vec<String> {
    let metadata = &placement.metadata;
    let mut mistakes = Vec::new();
    for (field, found, expected) in [
        ("metadata.namespace", &metadata.namespace, namespace),
        ("metadata.name", &metadata.name, name),
    ] {
        if found.as_deref() != Some(expected) {
            mistakes.push(format!(
                "{field}: this page changes {expected:?}; create another placement by kubectl"
            ));
        }
    }
    mistakes
}

fn texts(lines: &[String]) -> Vec<Text> {
    let lines = lines.iter().take(MOST_LISTED);
    lines.map(|it| Text::from(it.as_str())).collect()
}

fn selection(explained: &Explained) -> Selection {
    let explanation = &explained.explanation;
    let fault = explanation.fault.iter().map(|fault| {
        let field = explanation.field.as_ref();
        let field = field.filter(|field| !fault.contains(field.as_str()));
        field.map_or_else(|| fault.clone(), |field| format!("{field}: {fault}"))
    });
    let refused = explanation.more_faults().map(str::to_owned);
    let faults: Vec<_> = fault.chain(refused).collect();
    let is_grouped = explanation.groups.len() > 1;
    let groups = explanation.groups.iter().filter(|_| is_grouped);
    Selection {
        steps: steps(explanation),
        conditions: explanation
            .conditions
            .iter()
            .map(|it| ConditionAnswer {
                type_: Text::line(&it.r#type),
                status: Text::line(&it.status),
                reason: Text::line(&it.reason),
                message: Text::line(&it.message),
                since: None,
            })
            .collect(),
        faults: texts(&faults),
        warnings: texts(&explanation.warnings),
        sets: texts(&explanation.sets.eligible),
        set_notes: set_notes(&explanation.sets),
        groups: groups
            .take(MOST_LISTED)
            .map(|it| GroupCount {
                index: it.index,
                name: Text::line(&it.name),
                clusters: it.clusters,
            })
            .collect(),
        next: explanation.next,
        hint: explained.hint.as_deref().map(Text::line),
        notes: texts(&explained.notes),
    }
}

/// The steps of the funnel: each has what is left, and why the others are not.
fn steps(explanation: &Explanation) -> Vec<FunnelStep> {
    let counts = &explanation.counts;
    let step = |title: &str, clusters: usize, without: Option<String>| FunnelStep {
        title: title.into(),
        clusters,
        without: without.map(Text::from),
    };
    let others = |number: usize, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 cluster {one}")),
        number => Some(format!("{number} clusters {many}")),
    };
    let outside = counts.hub.saturating_sub(counts.candidates);
    let mut steps = vec![
        step("on the hub", counts.hub, None),
        step(
            "in its sets",
            counts.candidates,
            others(outside, "is in none of them", "are in none of them"),
        ),
    ];
    if explanation.fault.is_some() {
        let why = "it cannot be evaluated: what was selected before is kept";
        steps.push(step("kept", counts.selected, Some(why.to_owned())));
        return steps;
    }
    let matched = counts.candidates.saturating_sub(counts.unmatched);
    steps.push(step(
        "match its predicates",
        matched,
        others(counts.unmatched, "matches none", "match none"),
    ));
    steps.push(step(
        "have only tolerated taints",
        counts.feasible,
        others(
            counts.tainted,
            "has a taint that it does not tolerate",
            "have a taint that it does not tolerate",
        ),
    ));
    let behind = counts.feasible.saturating_sub(counts.selected);
    let without = match (counts.wanted, counts.unscheduled) {
        (Some(wanted), 1..) => Some(are_wanted(wanted)),
        (Some(wanted), 0) => others(behind, "ranks behind", "rank behind")
            .map(|it| format!("{it}: {}", are_wanted(wanted))),
        (None, _) => None,
    };
    steps.push(step("selected", counts.selected, without));
    steps
}

fn are_wanted(number: i32) -> String {
    match number {
        1 => "1 is wanted".to_owned(),
        number => format!("{number} are wanted"),
    }
}

fn set_notes(sets: &ExplainedSets) -> Vec<Text> {
    let mut notes = Vec::new();
    let mut note = |words: &str, names: Vec<&String>| {
        if !names.is_empty() {
            let names: Vec<_> = names.into_iter().take(MOST_LISTED).cloned().collect();
            notes.push(Text::from(format!("{words}: {}", names.join(", "))));
        }
    };
    let is_bound = |name: &&String| sets.bound.contains(name) || sets.missing.contains(name);
    let unused = sets.bound.iter().filter(|it| !sets.eligible.contains(it));
    let unbound = sets.named.iter().filter(|it| !is_bound(it));
    note(
        "Bound to the namespace, and not named by it",
        unused.collect(),
    );
    note(
        "Named by it, and not bound to the namespace",
        unbound.collect(),
    );
    note(
        "Bound to the namespace, and they do not exist",
        sets.missing.iter().collect(),
    );
    notes
}

/// How what is stored differs from what is computed, in sentences.
fn differences(explanation: &Explanation) -> Vec<Text> {
    let stored = &explanation.stored;
    let mut sentences = Vec::new();
    if stored.is_deleting {
        sentences.push("The placement is being deleted, and its decisions with it.".into());
    }
    if stored.is_paused {
        sentences.push(
            "It is paused by the annotation cluster.open-cluster-management.io/experimental-scheduling-disable: its decisions stay as they are."
                .into(),
        );
    }
    if stored.differs() && stored.is_unreported() {
        sentences.push("No controller has looked at it yet.".into());
    }
    let mut clusters = |names: &[String], would: &str, lists: [&str; 2]| match names {
        [] => {}
        [one] => sentences.push(format!("Cluster {one} {would}, {}.", lists[0]).into()),
        [first, ..] => {
            let number = names.len();
            let lists = lists[1];
            sentences.push(format!("{number} clusters, such as {first}, {would}, {lists}.").into());
        }
    };
    let not_yet = [
        "and no decision lists it yet",
        "and no decision lists them yet",
    ];
    clusters(&stored.to_add, "would be selected", not_yet);
    let still = [
        "and a decision still lists it",
        "and decisions still list them",
    ];
    clusters(&stored.to_remove, "would not be selected", still);
    sentences
}

fn placed(cluster: &ExplainedCluster) -> PlacedCluster {
    PlacedCluster {
        name: Text::line(&cluster.name),
        selected: cluster.result.is_selected(),
        result: cluster.result.words().into(),
        reason: Text::line(&cluster.reason),
        rank: cluster.rank,
        score: cluster.score,
        decision: cluster.decision.as_deref().map(Text::line),
    }
}

fn results(explanation: &Explanation) -> Vec<ResultCount> {
    let mut counts: BTreeMap<ClusterResult, usize> = BTreeMap::new();
    for cluster in &explanation.clusters {
        *counts.entry(cluster.result).or_default() += 1;
    }
    let counts = counts.into_iter();
    counts
        .map(|(result, clusters)| ResultCount {
            result: name_of(result),
            words: result.words().into(),
            clusters,
        })
        .collect()
}

/// The name of a result, as JSON has it.
fn name_of(result: ClusterResult) -> String {
    json!(result).as_str().unwrap_or_default().to_owned()
}

/// The YAML that a person changes: without what the hub alone writes, with the resourceVersion, by which a change of somebody else is
/// noticed.
fn editable(value: &Value) -> String {
    let metadata = &value["metadata"];
    let mut kept = json!({"name": metadata["name"], "namespace": metadata["namespace"]});
    for field in [
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
        "resourceVersion",
    ] {
        if !metadata[field].is_null() {
            kept[field] = metadata[field].clone();
        }
    }
    let whole = json!({
        "apiVersion": value["apiVersion"],
        "kind": value["kind"],
        "metadata": kept,
        "spec": value["spec"],
    });
    // An object of JSON has keys of text only.
    serde_saphyr::to_string(&whole).unwrap_or_default()
}

#[cfg(test)]
mod tests;
