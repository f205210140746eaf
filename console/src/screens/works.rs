//! The screens Works and Work: plain functions of what is followed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use berth_admin::answers::{DifferingObject, WorkState, differences_of, fields_of};
use berth_api::conditions::{TRUE, condition_of, manifest, manifest_work};
use berth_api::work::{FieldValue, ManifestCondition};
use jiff::Timestamp;

use crate::answers::{
    DifferenceGroup, DifferencePlace, FeedbackAnswer, FieldAnswer, ObjectState, RolloutRow, Text,
    WorkAnswer, WorkCondition, WorkCount, WorkObject, WorksAnswer,
};
use crate::live::{
    MOST_CONDITIONS, Objects, RolloutFact, WholeWork, WorkDifference, WorkFact, condition,
};
use crate::screens::rollouts;

/// Upper bound on the ManifestWorks that are shown.
const MOST_ROWS: usize = 200;

/// Upper bound on the replica sets that are shown.
const MOST_SETS: usize = 50;

/// Upper bound on the groups of differences that are shown.
const MOST_GROUPS: usize = 50;

/// Upper bound on the groups of differences that are counted. Objects of further ones are not.
const MOST_COUNTED: usize = 10_000;

/// Upper bound on the objects of a group that are shown.
const MOST_PLACES: usize = 20;

/// Upper bound on the writers of a field that are shown.
const MOST_MANAGERS: usize = 5;

/// Upper bound on the objects of a ManifestWork that are shown.
const MOST_OBJECTS: usize = 200;

/// Upper bound on the values of an object that are shown.
const MOST_VALUES: usize = 50;

/// What is searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Search {
    /// A part of `CLUSTER/NAME`, or of the replica set's `NAMESPACE/NAME`. With a slash at its end: the cluster.
    pub(crate) part: String,
    /// Only those in this state, by its name.
    pub(crate) state: String,
}

// === impl Search ===

impl Search {
    fn matches(&self, fact: &WorkFact) -> bool {
        let row = &fact.row;
        if self.part.is_empty() {
            return true;
        }
        if self.part.strip_suffix('/') == Some(row.cluster.as_str()) {
            return true;
        }
        let set = row.set.as_ref();
        let has = |namespace: &Text, name: &Text| {
            format!("{}/{}", namespace.as_str(), name.as_str()).contains(&self.part)
        };
        !self.part.ends_with('/')
            && (has(&row.cluster, &row.name) || set.is_some_and(|it| has(&it.namespace, &it.name)))
    }

    fn matches_set(&self, set: &RolloutFact) -> bool {
        format!("{}/{}", set.namespace, set.name).contains(&self.part)
    }

    fn has_state(&self, state: WorkCondition) -> bool {
        self.state.is_empty() || serde_json::to_value(state).is_ok_and(|it| it == *self.state)
    }
}

/// Returns the answer of the screen Works. Without `works`, they cannot be listed.
pub(crate) fn works(
    works: Option<&Objects<WorkFact>>,
    sets: &Objects<RolloutFact>,
    search: &Search,
    notes: Vec<Text>,
    now: Timestamp,
) -> WorksAnswer {
    let all = works.into_iter().flat_map(Objects::iter);
    let found: Vec<_> = all.filter(|it| search.matches(it)).collect();
    let (groups, more_differences) = groups(&found);
    let mut rows: Vec<_> = found
        .iter()
        .filter(|it| search.has_state(it.row.state))
        .collect();
    // They come by cluster and name, and the order is stable.
    rows.sort_by_key(|it| it.row.state);
    let mut rollouts: Vec<_> = sets.iter().filter(|it| search.matches_set(it)).collect();
    rollouts.sort_by_key(|it| it.state);
    let shown = &rollouts[..rollouts.len().min(MOST_SETS)];
    WorksAnswer {
        more_sets: rollouts.len() - shown.len(),
        sets: rows_of(shown, works, now),
        matched: rows.len(),
        works: (rows.iter().take(MOST_ROWS))
            .map(|it| it.row.clone())
            .collect(),
        total: works.map_or(0, Objects::len),
        states: counts(found.iter().copied()),
        differences: groups,
        more_differences,
        notes,
    }
}

fn rows_of(
    sets: &[&Arc<RolloutFact>],
    works: Option<&Objects<WorkFact>>,
    now: Timestamp,
) -> Vec<RolloutRow> {
    let mut by_set: HashMap<(&str, &str), Vec<&Arc<WorkFact>>> = HashMap::new();
    for set in sets {
        by_set.insert((&set.namespace, &set.name), Vec::new());
    }
    for work in works.into_iter().flat_map(Objects::iter) {
        if let Some(set) = &work.row.set
            && let Some(mine) = by_set.get_mut(&(set.namespace.as_str(), set.name.as_str()))
        {
            mine.push(work);
        }
    }
    let rows = sets.iter().map(|set| {
        let mine = by_set.get(&(&*set.namespace, &*set.name));
        rollouts::row(
            set,
            mine.filter(|_| works.is_some()).map(Vec::as_slice),
            now,
        )
    });
    rows.collect()
}

/// The states of ManifestWorks, the worst first.
pub(crate) fn counts<'a>(works: impl Iterator<Item = &'a Arc<WorkFact>>) -> Vec<WorkCount> {
    let mut counts: BTreeMap<WorkCondition, usize> = BTreeMap::new();
    for work in works {
        *counts.entry(work.row.state).or_default() += 1;
    }
    let counts = counts.into_iter();
    counts
        .map(|(state, count)| WorkCount { state, count })
        .collect()
}

/// Groups the differences by what differs. Returns the most frequent ones, and the number of the others.
fn groups(works: &[&Arc<WorkFact>]) -> (Vec<DifferenceGroup>, usize) {
    /// What is gathered of a group.
    #[derive(Default)]
    struct Group<'a> {
        objects: usize,
        clusters: BTreeSet<&'a str>,
        managers: BTreeSet<&'a Text>,
        places: Vec<(&'a WorkFact, &'a WorkDifference)>,
    }
    let mut groups: BTreeMap<(WorkCondition, &Text), Group<'_>> = BTreeMap::new();
    for work in works {
        for it in &work.differences {
            let key = (it.state, &it.what);
            if groups.len() >= MOST_COUNTED && !groups.contains_key(&key) {
                continue;
            }
            let group = groups.entry(key).or_default();
            group.objects += 1;
            group.clusters.insert(work.row.cluster.as_str());
            group.managers.extend(&it.manager);
            if group.places.len() < MOST_PLACES {
                group.places.push((work, it));
            }
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, it)| Reverse(it.objects));
    let more = groups.len().saturating_sub(MOST_GROUPS);
    let shown = groups.into_iter().take(MOST_GROUPS);
    let shown = shown.map(|((state, what), group)| DifferenceGroup {
        what: what.clone(),
        state,
        count: group.objects,
        clusters: group.clusters.len(),
        managers: (group.managers.into_iter().take(MOST_MANAGERS))
            .cloned()
            .collect(),
        places: (group.places.into_iter())
            .map(|(work, it)| DifferencePlace {
                cluster: work.row.cluster.clone(),
                work: work.row.name.clone(),
                object: it.object.clone(),
                found: it.found.clone(),
            })
            .collect(),
    });
    (shown.collect(), more)
}

/// Returns the answer of the screen Work.
pub(crate) fn work(whole: &WholeWork) -> WorkAnswer {
    let work = &whole.work;
    let status = work.status.as_ref();
    let reported = status.map_or(&[][..], |it| &it.resource_status.manifests);
    let mut objects: Vec<_> = reported.iter().map(|it| object(whole, it)).collect();
    objects.sort_by_key(|it| {
        it.wrong
            .iter()
            .map(|it| it.state)
            .min()
            .unwrap_or(WorkCondition::AsPrescribed)
    });
    let more = objects.len().saturating_sub(MOST_OBJECTS);
    objects.truncate(MOST_OBJECTS);
    let conditions = status.map_or(&[][..], |it| &it.conditions);
    let created = work.metadata.creation_timestamp.as_ref();
    let notes = whole.unreadable.clone().into_iter().chain(held(whole));
    WorkAnswer {
        row: whole.row.clone(),
        created: created.map(|it| it.0),
        objects,
        more,
        conditions: conditions
            .iter()
            .take(MOST_CONDITIONS)
            .map(condition)
            .collect(),
        notes: notes.collect(),
    }
}

/// Says that an admin of the cluster holds the work back, if its state says something else: an agent does not put back what differs then.
fn held(whole: &WholeWork) -> Option<Text> {
    let conditions = &whole.work.status.as_ref()?.conditions;
    let held = condition_of(conditions, manifest_work::HELD)?;
    if held.status != TRUE || whole.row.state == WorkCondition::Held {
        return None;
    }
    let name = whole.row.name.as_str();
    let end = format!("at the cluster, berth work release {name} ends it");
    Some(Text::lines(&format!("{}; {end}", held.message)))
}

fn object(whole: &WholeWork, reported: &ManifestCondition) -> WorkObject {
    let status = |type_| {
        let found = condition_of(&reported.conditions, type_);
        Text::line(found.map_or("", |it| &it.status))
    };
    let meta = DifferingObject::from(&reported.resource_meta);
    let all = differences_of(&whole.work);
    let mine = all.iter().filter(|it| it.object.as_ref() == Some(&meta));
    let mut wrong: Vec<ObjectState> = Vec::new();
    let (mut fields, mut more_fields, mut contested) = (Vec::new(), 0, false);
    for it in mine {
        let state: WorkCondition = WorkState::from(it.state).into();
        let mut why = Text::line(&it.message);
        if state == WorkCondition::Drifted {
            let read = fields_of(&it.message);
            contested |= read.contested;
            more_fields += read.more;
            if !read.fields.is_empty() {
                // The fields say it.
                why = Text::default();
            }
            fields.extend(read.fields.iter().map(field));
        }
        wrong.push(ObjectState { state, why });
    }
    let shown = [
        manifest::APPLIED,
        manifest::AVAILABLE,
        manifest_work::DRIFTED,
    ];
    let others = reported.conditions.iter().filter(|it| {
        let is_well = match &*it.type_ {
            manifest_work::PROGRESSING | manifest_work::DEGRADED => it.status != TRUE,
            _ => it.status == TRUE,
        };
        !is_well && !shown.contains(&&*it.type_)
    });
    let values = reported.status_feedback.values.iter().take(MOST_VALUES);
    WorkObject {
        title: Text::line(&meta.title()),
        applied: status(manifest::APPLIED),
        available: status(manifest::AVAILABLE),
        wrong,
        fields,
        more_fields,
        contested,
        values: values
            .map(|it| FeedbackAnswer {
                name: Text::line(&it.name),
                value: Text::line(&value(&it.field_value)),
            })
            .collect(),
        conditions: others.take(MOST_CONDITIONS).map(condition).collect(),
    }
}

fn field(it: &berth_admin::answers::FieldDifference) -> FieldAnswer {
    let value = |text: &str| (!text.is_empty()).then(|| Text::line(text));
    FieldAnswer {
        path: Text::line(&it.path),
        prescribed: value(&it.ours),
        found: value(&it.theirs),
        manager: it.manager.as_deref().map(Text::line),
    }
}

fn value(of: &FieldValue) -> String {
    let text = of.string.clone().or_else(|| of.json_raw.clone());
    let integer = of.integer.map(|it| it.to_string());
    let boolean = of.boolean.map(|it| it.to_string());
    text.or(integer).or(boolean).unwrap_or_default()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::stored;
