//! In which order PlacementDecisions get the labels of other groups.
//!
//! Consumers of decision groups (OCM's work manager and add-on manager, through `PlacementDecisionClustersTracker` of its sdk-go) read the
//! groups from the labels. They count the different indexes, walk as many indexes from 0 on, and assume one name for each. A group after
//! a missing index, and one of two groups with the same index, is invisible to them, and they remove their objects from its clusters.
//!
//! # Guarantees
//! - After each of these writes, in any order, every cluster that is visible to such a consumer still is.
//! - The steps end, after at most two for each index with another name: then no label is wrong below the number of groups.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::DecisionFacts;
use crate::wanted::WantedGroup;

/// The labels that say which group a PlacementDecision belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label<'a> {
    pub(crate) index: usize,
    pub(crate) name: &'a str,
}

/// A PlacementDecision, and the labels that it is to have next.
pub(crate) type Relabelled<'a> = (&'a DecisionFacts, Label<'a>);

// === impl Label ===

impl<'a> Label<'a> {
    /// The labels of a PlacementDecision. `None` if they name no group, or no placement.
    pub(crate) fn of(stored: &'a DecisionFacts) -> Option<Self> {
        stored.listed.placement.as_ref()?;
        let index = stored.group_index.as_deref()?;
        let name = stored.group_name.as_deref()?;
        let index = index.parse().ok()?;
        Some(Self { index, name })
    }

    /// Returns whether this is the label of one of the groups.
    pub(crate) fn is_of(self, groups: &[WantedGroup]) -> bool {
        let group = groups.get(self.index);
        group.is_some_and(|group| group.name == self.name)
    }
}

/// The next labels to write, if PlacementDecisions have an index of the wanted groups with another name. `stored`: those of the placement.
pub(crate) fn relabel<'a>(
    groups: &'a [WantedGroup],
    stored: &[&'a DecisionFacts],
) -> Vec<Relabelled<'a>> {
    let mut by_index: BTreeMap<usize, Vec<(&DecisionFacts, Label<'_>)>> = BTreeMap::new();
    // Also those that are being deleted, since consumers read them as long as they exist.
    for it in stored {
        if let Some(label) = Label::of(it) {
            by_index.entry(label.index).or_default().push((it, label));
        }
    }
    let wrong = by_index.range(..groups.len()).filter(|(_, objects)| {
        let mut objects = objects.iter();
        objects.any(|(_, label)| !label.is_of(groups))
    });
    let right = |index: usize| Label {
        index,
        name: &groups[index].name,
    };
    let mut in_place = Vec::new();
    let mut several = None;
    for (index, objects) in wrong {
        let is_alone = objects.len() == 1;
        let is_shared = objects.iter().any(|(_, label)| label.is_of(groups));
        if is_alone || is_shared {
            let others = objects.iter().filter(|(_, label)| !label.is_of(groups));
            in_place.extend(others.map(|(it, _)| (*it, right(*index))));
        } else if several.is_none() {
            several = Some((*index, objects));
        }
    }
    if !in_place.is_empty() {
        return in_place;
    }
    let Some((index, objects)) = several else {
        return Vec::new();
    };
    // One stays, so that the index does not vanish. The others move to the group with their name, or behind all groups.
    let names: BTreeSet<_> = objects.iter().map(|(_, label)| label.name).collect();
    let name = objects[0].1.name;
    let present = (0..).take_while(|index| by_index.contains_key(index));
    let behind = present.count();
    let is_free = |to: &usize| {
        *to != index
            && *to <= behind
            && groups[*to].name == name
            && (by_index.get(to).into_iter().flatten()).all(|(_, label)| label.name == name)
    };
    let mut same = (index + 1..groups.len()).chain(0..index);
    let to = match same.find(is_free) {
        Some(to) if names.len() == 1 => right(to),
        _ if behind < groups.len() => right(behind),
        _ => Label {
            index: behind,
            name,
        },
    };
    let rest = objects[1..].iter();
    rest.map(|(it, _)| (*it, to)).collect()
}

#[cfg(test)]
mod tests {
    use berth_placement_core::Decision;

    use super::*;

    /// A PlacementDecision with this label.
    fn stored(name: &str, index: usize, group: &str) -> DecisionFacts {
        DecisionFacts {
            name: name.to_owned(),
            listed: Decision {
                placement: Some("p".to_owned()),
                ..Decision::default()
            },
            group_index: Some(index.to_string()),
            group_name: Some(group.to_owned()),
            ..DecisionFacts::default()
        }
    }

    fn next(groups: &[&str], labels: &[(usize, &str)]) -> Vec<String> {
        let groups = groups.iter().map(|name| WantedGroup {
            name: (*name).to_owned(),
            clusters: Vec::new(),
        });
        let groups: Vec<_> = groups.collect();
        let objects = labels.iter().enumerate();
        let objects =
            objects.map(|(number, (index, name))| stored(&format!("{number}"), *index, name));
        let objects: Vec<_> = objects.collect();
        let next = relabel(&groups, &objects.iter().collect::<Vec<_>>());
        let next = next.into_iter();
        next.map(|(it, label)| format!("{}: {}/{}", it.name, label.index, label.name))
            .collect()
    }

    #[test]
    fn an_index_never_vanishes_and_has_one_name() {
        for (sentence, groups, labels, expected) in [
            (
                "all are right",
                &["", "a"][..],
                &[(0, ""), (1, "a"), (1, "a")][..],
                &[][..],
            ),
            (
                "more groups than wanted are no concern",
                &["a"],
                &[(0, "a"), (1, "b"), (2, "c")],
                &[],
            ),
            (
                "single objects are renamed at once",
                &["b", "a"],
                &[(0, "a"), (1, "b")],
                &["0: 0/b", "1: 1/a"],
            ),
            (
                "beside a right one, the others follow",
                &["b"],
                &[(0, "a"), (0, "b")],
                &["0: 0/b"],
            ),
            (
                "of several, all but one move to the group of their name",
                &["x", ""],
                &[(0, ""), (0, ""), (0, "")],
                &["1: 1/", "2: 1/"],
            ),
            (
                "the group of their name exists",
                &["x", ""],
                &[(0, ""), (0, ""), (1, "")],
                &["1: 1/"],
            ),
            (
                "its index has another name yet",
                &["x", "", "z"],
                &[(0, ""), (0, ""), (1, "y"), (1, "y"), (2, "z")],
                &["1: 3/"],
            ),
            (
                "there is none of their name: they move behind all",
                &["x"],
                &[(0, "a"), (0, "a"), (1, "b")],
                &["1: 2/a"],
            ),
            (
                "behind all is a wanted group",
                &["x", "y"],
                &[(0, "a"), (0, "a")],
                &["1: 1/y"],
            ),
            (
                "the group of their name would leave a gap",
                &["x", "y", ""],
                &[(0, ""), (0, "")],
                &["1: 1/y"],
            ),
        ] {
            assert_eq!(next(groups, labels), expected, "{sentence}");
        }
    }
}
