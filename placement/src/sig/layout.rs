//! Which slice lists which clusters.
//!
//! # Guarantees
//! - Each wanted cluster is in one place. There are as few places as possible, but at least one.
//! - A cluster that is listed stays in its slice, unless fewer slices are needed. Then the clusters of the last slices move.
//! - A slice keeps its index, unless the index is not valid.
//! - The layout only depends on what is wanted and stored. After any of the writes that lead to it, it is the same.

use std::collections::{BTreeMap, HashMap, HashSet};

use berth_api::inventory;

use super::slice::SliceFacts;
use crate::facts::Owner;

/// The most clusters in a slice. Few clusters in tests take several slices.
pub(super) const LIMIT: usize = if cfg!(all(test, debug_assertions)) {
    3
} else {
    inventory::LIMIT
};

/// Where the wanted clusters are listed.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    /// The slices that are to exist, by decision index.
    pub(super) places: Vec<Place<'a>>,
    /// The others of the placement.
    pub(super) others: Vec<&'a SliceFacts>,
    /// The index of each wanted cluster.
    pub(super) place_of: HashMap<&'a str, usize>,
}

/// A slice that is to exist.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) name: String,
    pub(super) stored: Option<&'a SliceFacts>,
    /// The clusters that it is to list, in their order.
    pub(super) clusters: Vec<&'a str>,
}

// === impl Layout ===

impl<'a> Layout<'a> {
    /// Lays out the wanted clusters. `stored`: the slices of the namespace.
    pub(super) fn new(
        owner: Owner<'_>,
        wanted: &[&'a str],
        stored: &'a BTreeMap<String, SliceFacts>,
    ) -> Self {
        let needed = wanted.len().div_ceil(LIMIT).max(1);
        let (slots, others) = slots(owner, needed, stored);
        let mut position = HashMap::with_capacity(wanted.len());
        for (index, name) in wanted.iter().enumerate() {
            position.entry(*name).or_insert(index);
        }
        let mut place_of = HashMap::with_capacity(wanted.len());
        let mut contents = vec![Vec::new(); needed];
        for (index, slot) in slots.iter().enumerate() {
            for name in slot.iter().flat_map(|stored| &stored.clusters) {
                let has_room = contents[index].len() < LIMIT;
                let wanted = position.get_key_value(name.as_str());
                if let Some((name, _)) = wanted
                    && has_room
                    && !place_of.contains_key(name)
                {
                    contents[index].push(*name);
                    place_of.insert(*name, index);
                }
            }
        }
        let mut index = 0;
        for name in wanted {
            if place_of.contains_key(name) {
                continue;
            }
            while contents[index].len() >= LIMIT {
                // There is room for all of the wanted clusters.
                index += 1;
            }
            contents[index].push(*name);
            place_of.insert(*name, index);
        }
        let names = names(owner, &slots, stored);
        let places = slots.into_iter().zip(names).zip(contents);
        let places = places.map(|((stored, name), mut clusters)| {
            clusters.sort_unstable_by_key(|it| position[it]);
            Place {
                name,
                stored,
                clusters,
            }
        });
        Self {
            places: places.collect(),
            others,
            place_of,
        }
    }
}

/// The stored slices by decision index, and the others of the placement.
fn slots<'a>(
    owner: Owner<'_>,
    needed: usize,
    stored: &'a BTreeMap<String, SliceFacts>,
) -> (Vec<Option<&'a SliceFacts>>, Vec<&'a SliceFacts>) {
    let own = stored.values().filter(|it| it.belongs_to(owner));
    let (mut usable, mut others): (Vec<_>, Vec<_>) = own.partition(|it| it.number(owner).is_some());
    usable.sort_unstable_by_key(|it| it.number(owner));
    let mut slots = vec![None; needed];
    let mut rest = Vec::new();
    for it in usable {
        match it.index().and_then(|index| slots.get_mut(index)) {
            Some(free @ None) => *free = Some(it),
            _ => rest.push(it),
        }
    }
    let mut rest = rest.into_iter();
    for (free, it) in slots.iter_mut().filter(|it| it.is_none()).zip(&mut rest) {
        *free = Some(it);
    }
    others.extend(rest);
    (slots, others)
}

/// The names of the slices. New ones get the number that follows the index, if no other object has the name.
fn names(
    owner: Owner<'_>,
    slots: &[Option<&SliceFacts>],
    stored: &BTreeMap<String, SliceFacts>,
) -> Vec<String> {
    let mut given = HashSet::new();
    let names = slots.iter().zip(1..).map(|(slot, first)| match slot {
        Some(stored) => stored.name.clone(),
        None => {
            let names = (first..).map(|number| owner.decision(number));
            let mut free = names.filter(|it| !stored.contains_key(it) && !given.contains(it));
            let name = free.next().unwrap_or_default();
            given.insert(name.clone());
            name
        }
    });
    names.collect()
}
