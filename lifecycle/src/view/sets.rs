//! ManagedClusterSets and their members.
//!
//! Membership is stored: a set is matched with the clusters when its selector changes, and a cluster with the sets when its
//! labels change. Each set has a slot, a small number, and a cluster remembers the slots of its sets as bits:
//! 10,000 clusters that all belong to 1,000 sets need 1.3 MB.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use berth_lifecycle_core::facts::ClusterSet;

/// All sets.
#[derive(Debug, Default)]
pub(super) struct Sets {
    slots: Vec<Option<Entry>>,
    slot_of: BTreeMap<Arc<str>, usize>,
    /// Sets whose members all have one label, by its key and value: almost all sets of most hubs.
    by_label: HashMap<Box<str>, HashMap<Box<str>, Slots>>,
    /// The other sets, by the keys of the labels that their selectors read.
    by_key: HashMap<Box<str>, Slots>,
    /// Sets that a cluster without any labels belongs to.
    without_labels: Slots,
    /// Sets with invalid selectors, except those that are being deleted.
    undecided: Slots,
}

#[derive(Debug)]
struct Entry {
    set: ClusterSet,
    members: usize,
}

/// Slots of sets, as bits.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots(Vec<u64>);

// === impl Sets ===

impl Sets {
    /// The set of this name, and the number of its members.
    pub(super) fn get(&self, name: &str) -> Option<(&ClusterSet, usize)> {
        let entry = self.slots[*self.slot_of.get(name)?].as_ref()?;
        Some((&entry.set, entry.members))
    }

    /// Returns true if the set of this name exists and is in one of these slots.
    pub(super) fn has(&self, name: &str, slots: &Slots) -> bool {
        let slot = self.slot_of.get(name);
        slot.is_some_and(|slot| slots.contains(*slot))
    }

    /// The names of all sets, sorted.
    pub(super) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.slot_of.keys()
    }

    /// The sets in these slots, in no order.
    pub(super) fn of<'a>(&'a self, slots: &'a Slots) -> impl Iterator<Item = &'a ClusterSet> {
        let entries = slots
            .iter()
            .filter_map(|slot| self.slots.get(slot)?.as_ref());
        entries.map(|entry| &entry.set)
    }

    /// The sets whose members are unknown, in no order.
    pub(super) fn undecided(&self) -> impl Iterator<Item = &ClusterSet> {
        self.of(&self.undecided)
    }

    /// The slots of the sets that a cluster with these labels belongs to.
    pub(super) fn selecting(&self, labels: &BTreeMap<String, String>) -> Slots {
        let mut slots = self.without_labels.clone();
        // A set that reads none of these labels treats the cluster as one without labels.
        for (key, value) in labels {
            let by_label = self.by_label.get(&**key).and_then(|of| of.get(&**value));
            let looking = by_label.into_iter().chain(self.by_key.get(&**key));
            for slot in looking.flat_map(Slots::iter) {
                let entry = self.slots[slot].as_ref();
                slots.set(slot, entry.is_some_and(|entry| entry.set.selects(labels)));
            }
        }
        slots
    }

    /// Inserts or replaces a set, and returns its slot and the old set.
    ///
    /// The number of members stays: if the selector has changed, the caller must set it ([`Sets::count`]).
    pub(super) fn insert(&mut self, set: ClusterSet) -> (usize, Option<ClusterSet>) {
        let old = self.take(&set.name);
        let (slot, members) = match &old {
            Some((slot, entry)) => (*slot, entry.members),
            None => (self.free_slot(), 0),
        };
        self.slot_of.insert(set.name.clone(), slot);
        self.index(&set, slot, true);
        self.slots[slot] = Some(Entry { set, members });
        (slot, old.map(|(_, entry)| entry.set))
    }

    /// Removes a set, and returns it with its slot. The caller must remove the slot from all clusters: another set may get it.
    pub(super) fn remove(&mut self, name: &str) -> Option<(usize, ClusterSet)> {
        let (slot, entry) = self.take(name)?;
        Some((slot, entry.set))
    }

    /// Sets the number of members of the set in this slot.
    pub(super) fn count(&mut self, slot: usize, members: usize) {
        if let Some(entry) = &mut self.slots[slot] {
            entry.members = members;
        }
    }

    /// Moves a cluster from the sets `old` to the sets `new`. Returns the names of the sets that it joined or left.
    pub(super) fn moved(&mut self, old: &Slots, new: &Slots) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        for slot in old.difference(new) {
            if let Some(Some(entry)) = self.slots.get_mut(slot) {
                entry.members = match new.contains(slot) {
                    true => entry.members + 1,
                    false => entry.members.saturating_sub(1),
                };
                names.push(entry.set.name.clone());
            }
        }
        names
    }

    fn take(&mut self, name: &str) -> Option<(usize, Entry)> {
        let slot = self.slot_of.remove(name)?;
        let entry = self.slots[slot].take()?;
        self.index(&entry.set, slot, false);
        Some((slot, entry))
    }

    /// Adds a set to the indexes by label, or removes it.
    fn index(&mut self, set: &ClusterSet, slot: usize, is: bool) {
        let membership = match &set.membership {
            Ok(membership) => membership,
            Err(_) => return self.undecided.set(slot, is && !set.deleting),
        };
        if let Some((key, value)) = membership.required() {
            let of_key = self.by_label.entry(key.into()).or_default();
            let slots = of_key.entry(value.into()).or_default();
            slots.set(slot, is);
            if slots.is_empty() {
                of_key.remove(value);
            }
            if of_key.is_empty() {
                self.by_label.remove(key);
            }
            return;
        }
        for key in membership.keys() {
            let slots = self.by_key.entry(key.into()).or_default();
            slots.set(slot, is);
            if slots.is_empty() {
                self.by_key.remove(key);
            }
        }
        let none = BTreeMap::new();
        (self.without_labels).set(slot, is && membership.matches(&none));
    }

    fn free_slot(&mut self) -> usize {
        let free = self.slots.iter().position(Option::is_none);
        free.unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        })
    }
}

// === impl Slots ===

impl Slots {
    const BITS: usize = u64::BITS as usize;

    pub(super) fn contains(&self, slot: usize) -> bool {
        let word = self.0.get(slot / Self::BITS);
        word.is_some_and(|word| word & (1 << (slot % Self::BITS)) != 0)
    }

    pub(super) fn set(&mut self, slot: usize, is: bool) {
        let (index, bit) = (slot / Self::BITS, 1 << (slot % Self::BITS));
        if is {
            if self.0.len() <= index {
                self.0.resize(index + 1, 0);
            }
            self.0[index] |= bit;
        } else if let Some(word) = self.0.get_mut(index) {
            *word &= !bit;
        }
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        let words = self.0.iter().copied().enumerate();
        words.flat_map(|(index, word)| bits(word).map(move |bit| index * Self::BITS + bit))
    }

    /// The slots that are in only one of the two.
    fn difference(&self, other: &Self) -> impl Iterator<Item = usize> {
        let word = |slots: &Self, index| slots.0.get(index).copied().unwrap_or_default();
        let words = 0..self.0.len().max(other.0.len());
        words.flat_map(move |index| {
            let differing = word(self, index) ^ word(other, index);
            bits(differing).map(move |bit| index * Self::BITS + bit)
        })
    }
}

/// The positions of the one bits, from the lowest.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        // Clears the lowest one bit.
        word &= word.checked_sub(1)?;
        Some(bit as usize)
    })
}
