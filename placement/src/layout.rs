//! Which PlacementDecision lists which clusters.
//!
//! # Guarantees
//! - Each wanted cluster is in one place, each place has clusters of one group, and at most [`LIMIT`] of them.
//! - A cluster that is listed stays in its PlacementDecision, unless it belongs to another group now, or few clusters are spread over
//!   many PlacementDecisions. So clusters that OCM's controller listed are adopted as they are.
//! - A PlacementDecision keeps its group: the labels stay, and the clusters move ([`crate::relabel`] says why).
//! - The layout only depends on what is wanted and stored. After any of the writes that lead to it, it is the same.
//!
//! A PlacementDecision is used if it has a name of the form `<placement>-decision-<number>`, is not being deleted, and no other object
//! controls it. The clusters of other PlacementDecisions with the placement's label are listed elsewhere before those are deleted.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use berth_api::placement_decision::LIMIT;

use crate::facts::{DecisionFacts, Owner};
use crate::relabel::Label;
use crate::wanted::{WantedClusters, WantedGroup};

/// Where the wanted clusters are listed.
#[derive(Debug)]
pub(crate) struct Layout<'a> {
    /// The groups.
    pub(crate) groups: Vec<WantedGroup>,
    /// The PlacementDecisions that are to exist, by number.
    pub(crate) places: Vec<Place<'a>>,
    /// The others.
    pub(crate) others: Vec<&'a DecisionFacts>,
    /// The number of groups that have a PlacementDecision with their labels, up to the first that has none.
    visible: usize,
}

/// A PlacementDecision that is to exist.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) number: u64,
    pub(crate) stored: Option<&'a DecisionFacts>,
    /// The index of its group.
    pub(crate) group: usize,
    /// The clusters that it is to list, in their order.
    pub(crate) clusters: Vec<String>,
}

/// Where a cluster stands among the wanted ones: its group, and its position in the group.
type Wanted<'a> = HashMap<&'a str, (usize, usize)>;

// === impl Layout ===

impl<'a> Layout<'a> {
    /// Lays out the wanted clusters. `stored`: the placement's PlacementDecisions. `is_taken`: an object of this name exists.
    pub(crate) fn new(
        owner: Owner<'_>,
        wanted: &WantedClusters,
        stored: &[&'a DecisionFacts],
        is_taken: impl Fn(&str) -> bool,
    ) -> Self {
        let groups = match wanted {
            WantedClusters::Groups(groups) => groups.clone(),
            WantedClusters::Kept(names) => groups_of(stored, names),
        };
        let all: Wanted<'_> = (groups.iter().enumerate())
            .flat_map(|(index, group)| {
                let names = group.clusters.iter().enumerate();
                names.map(move |(position, name)| (name.as_str(), (index, position)))
            })
            .collect();
        let mut usable = Vec::new();
        let mut others = Vec::new();
        for it in stored {
            match owner.number_of(it) {
                Some(number) => usable.push((number, *it)),
                None => others.push(*it),
            }
        }
        usable.sort_unstable_by_key(|(number, _)| *number);
        let mut of_group: Vec<Vec<(u64, &DecisionFacts)>> = vec![Vec::new(); groups.len()];
        let mut spare = Vec::new();
        for (number, it) in usable {
            match Label::of(it) {
                Some(label) if label.is_of(&groups) => of_group[label.index].push((number, it)),
                // Its clusters are listed elsewhere, then it is deleted.
                Some(_) => others.push(it),
                None => match group_for(it, &all) {
                    Some(group) => of_group[group].push((number, it)),
                    None => spare.push((number, it)),
                },
            }
        }
        let mut places: Vec<Place<'a>> = Vec::new();
        for (index, mine) in of_group.into_iter().enumerate() {
            let (filled, unused) = fill(index, &groups[index], mine, &all);
            places.extend(filled);
            spare.extend(unused);
        }
        spare.sort_unstable_by_key(|(number, _)| Reverse(*number));
        // Those whose clusters have to be listed elsewhere first are not given to another group.
        let is_needed = |it: &DecisionFacts| {
            it.clusters()
                .iter()
                .any(|name| all.contains_key(name.as_str()))
        };
        let (needed, mut spare): (Vec<_>, Vec<_>) =
            spare.into_iter().partition(|(_, it)| is_needed(it));
        others.extend(needed.into_iter().map(|(_, it)| it));
        let mut numbers = BTreeSet::new();
        // Places beyond those that are stored.
        for place in places.iter_mut().filter(|place| place.number == 0) {
            if let Some((number, stored)) = spare.pop() {
                (place.number, place.stored) = (number, Some(stored));
                continue;
            }
            let is_free =
                |number: &u64| !numbers.contains(number) && !is_taken(&owner.decision(*number));
            place.number = (1..).find(is_free).unwrap_or(u64::MAX);
            numbers.insert(place.number);
        }
        others.extend(spare.into_iter().map(|(_, it)| it));
        places.sort_unstable_by_key(|place| place.number);
        for place in &mut places {
            let position = |name: &String| all.get(name.as_str()).copied();
            place.clusters.sort_by_cached_key(position);
        }
        let labelled = places.iter().filter(|place| is_labelled(place, &groups));
        let labelled: HashSet<usize> = labelled.map(|place| place.group).collect();
        let visible = (0..).take_while(|group| labelled.contains(group)).count();
        Self {
            groups,
            places,
            others,
            visible,
        }
    }

    /// The labels of a place.
    pub(crate) fn label(&self, place: &Place<'_>) -> Label<'_> {
        Label {
            index: place.group,
            name: &self.groups[place.group].name,
        }
    }

    /// Returns whether consumers see the place: its PlacementDecision has the labels of its group, and so has one of each group before.
    pub(crate) fn is_visible(&self, place: &Place<'_>) -> bool {
        place.group < self.visible && is_labelled(place, &self.groups)
    }

    /// Where each wanted cluster is listed, by the index of the place.
    pub(crate) fn place_of(&self) -> HashMap<&str, usize> {
        let places = self.places.iter().enumerate();
        let names = places.flat_map(|(index, place)| {
            let names = place.clusters.iter();
            names.map(move |name| (name.as_str(), index))
        });
        names.collect()
    }
}

fn is_labelled(place: &Place<'_>, groups: &[WantedGroup]) -> bool {
    let label = place.stored.and_then(Label::of);
    label.is_some_and(|label| label.index == place.group && label.is_of(groups))
}

/// The group of most clusters that a PlacementDecision without valid labels lists.
fn group_for(stored: &DecisionFacts, all: &Wanted<'_>) -> Option<usize> {
    let mut shared: HashMap<usize, usize> = HashMap::new();
    for name in stored.clusters() {
        if let Some((group, _)) = all.get(name.as_str()) {
            *shared.entry(*group).or_default() += 1;
        }
    }
    let shared = shared.into_iter();
    let best = shared.max_by_key(|(index, shared)| (*shared, Reverse(*index)));
    best.map(|(index, _)| index)
}

/// Places the clusters of a group. Returns the places, with the number 0 for new ones, and the stored objects that are not needed.
fn fill<'a>(
    index: usize,
    group: &WantedGroup,
    stored: Vec<(u64, &'a DecisionFacts)>,
    all: &Wanted<'_>,
) -> (Vec<Place<'a>>, Vec<(u64, &'a DecisionFacts)>) {
    let is_mine = |name: &String| {
        all.get(name.as_str())
            .is_some_and(|(group, _)| *group == index)
    };
    let mut stored: Vec<_> = stored
        .into_iter()
        .map(|(number, it)| {
            let mine = it.clusters().iter().filter(|name| is_mine(name));
            (mine.count(), number, it)
        })
        .collect();
    stored.sort_unstable_by_key(|(mine, number, _)| (Reverse(*mine), *number));
    let needed = group.clusters.len().div_ceil(LIMIT).max(1);
    let used = stored.iter().filter(|(mine, ..)| *mine > 0).count();
    // Few clusters in many objects: the fullest of them take the others' clusters.
    let filled = if used >= 2 * needed { needed } else { used };
    let mut placed: HashSet<&str> = HashSet::new();
    let mut places = Vec::new();
    for (_, number, it) in &stored[..filled] {
        let mine = it.clusters().iter().filter(|name| is_mine(name));
        let mut clusters = Vec::new();
        for name in mine {
            if clusters.len() < LIMIT && placed.insert(name) {
                clusters.push(name.clone());
            }
        }
        places.push(Place {
            number: *number,
            stored: Some(*it),
            group: index,
            clusters,
        });
    }
    let mut unused: Vec<_> = stored[filled..]
        .iter()
        .map(|(_, number, it)| (*number, *it))
        .collect();
    places.sort_unstable_by_key(|place| place.number);
    unused.sort_unstable_by_key(|(number, _)| Reverse(*number));
    let left = group.clusters.iter();
    let mut left: Vec<&String> = left
        .filter(|name| !placed.contains(name.as_str()))
        .collect();
    for place in &mut places {
        // Clusters that leave the object for another one occupy it until then.
        let stored = place.stored.into_iter().flat_map(DecisionFacts::clusters);
        let leaving =
            stored.filter(|name| all.contains_key(name.as_str()) && !place.clusters.contains(name));
        let room = LIMIT.saturating_sub(place.clusters.len() + leaving.count());
        let more = left.drain(..room.min(left.len()));
        place.clusters.extend(more.cloned());
    }
    while !left.is_empty() || places.is_empty() {
        // An object that lists some of them, an object of the group without clusters, or a new one.
        let missing: HashSet<&String> = left.iter().copied().collect();
        let lists_missing =
            |(_, it): &(u64, &DecisionFacts)| it.clusters().iter().any(|it| missing.contains(it));
        let is_empty = |(_, it): &(u64, &DecisionFacts)| !it.clusters().iter().any(is_mine);
        let found = unused.iter().rposition(lists_missing);
        let found = found.or_else(|| unused.iter().rposition(is_empty));
        let (number, stored) = match found.map(|found| unused.remove(found)) {
            Some((number, it)) => (number, Some(it)),
            None => (0, None),
        };
        if let Some(stored) = stored {
            let listed: HashSet<&String> = stored.clusters().iter().collect();
            left.sort_by_key(|name| !listed.contains(name));
        }
        let clusters = left.drain(..LIMIT.min(left.len()));
        places.push(Place {
            number,
            stored,
            group: index,
            clusters: clusters.cloned().collect(),
        });
    }
    (places, unused)
}

/// The groups that PlacementDecisions list these clusters in, in the order of their indexes.
fn groups_of(stored: &[&DecisionFacts], names: &[String]) -> Vec<WantedGroup> {
    let kept: HashSet<&String> = names.iter().collect();
    let mut stored = stored.to_vec();
    let index = |it: &DecisionFacts| {
        let index = it.group_index.as_deref().and_then(|it| it.parse().ok());
        index.unwrap_or(u64::MAX)
    };
    stored.sort_by_cached_key(|it| (index(it), it.group_name.clone(), it.name.clone()));
    let mut placed = HashSet::new();
    let mut groups: Vec<((u64, Option<&str>), WantedGroup)> = Vec::new();
    for it in stored {
        let group = (index(it), it.group_name.as_deref());
        let clusters = it.clusters().iter();
        let clusters = clusters.filter(|name| kept.contains(name) && placed.insert(name.as_str()));
        let clusters: Vec<_> = clusters.cloned().collect();
        match groups.last_mut().filter(|(last, _)| *last == group) {
            Some((_, last)) => last.clusters.extend(clusters),
            None => {
                let name = it.group_name.clone().unwrap_or_default();
                groups.push((group, WantedGroup { name, clusters }));
            }
        }
    }
    let mut groups: Vec<_> = groups.into_iter().map(|(_, group)| group).collect();
    groups.retain(|group| !group.clusters.is_empty());
    if groups.is_empty() {
        groups.push(WantedGroup::default());
    }
    for group in &mut groups {
        group.clusters.sort_unstable();
    }
    groups
}
