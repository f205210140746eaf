//! Which clusters have changed, in order: what is kept of an evaluation catches up by judging those again.

use std::collections::VecDeque;

/// Upper bound on the changes that are remembered. An evaluation that missed more is made anew: some are, in tests.
const LONGEST: usize = if cfg!(all(test, debug_assertions)) {
    16
} else {
    8192
};

/// The slots of the clusters that have changed.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    slots: VecDeque<u32>,
    /// The position of the first of them.
    first: u64,
    /// By slot, the position of its last change.
    last: Vec<u64>,
}

// === impl Journal ===

impl Journal {
    /// Notes a change of the cluster in a slot.
    pub(crate) fn note(&mut self, slot: usize) {
        let Ok(short) = u32::try_from(slot) else {
            return;
        };
        if slot >= self.last.len() {
            self.last.resize(slot + 1, 0);
        }
        self.last[slot] = self.end();
        self.slots.push_back(short);
        if self.slots.len() > LONGEST {
            self.slots.pop_front();
            self.first += 1;
        }
    }

    /// The position after the last change.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.slots.len() as u64
    }

    /// The slots that have changed since a position, each once. `None` if the changes are not remembered any more.
    pub(crate) fn since(&self, position: u64) -> Option<Vec<usize>> {
        let skipped = usize::try_from(position.checked_sub(self.first)?).ok()?;
        let changes = (position..).zip(self.slots.iter().skip(skipped));
        let slots = changes.map(|(position, slot)| (position, *slot as usize));
        let latest = slots.filter(|(position, slot)| self.last[*slot] == *position);
        Some(latest.map(|(_, slot)| slot).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_changed_slot_is_named_once_until_it_is_forgotten() {
        let mut journal = Journal::default();
        assert_eq!(journal.since(0), Some(vec![]));
        for slot in [3, 1, 3] {
            journal.note(slot);
        }
        assert_eq!(journal.since(0), Some(vec![1, 3]));
        assert_eq!(journal.since(2), Some(vec![3]));
        let end = journal.end();
        assert_eq!(journal.since(end), Some(vec![]));
        for _ in 0..LONGEST {
            journal.note(5);
        }
        assert_eq!(journal.since(end), Some(vec![5]));
        assert_eq!(journal.since(0), None);
    }
}
