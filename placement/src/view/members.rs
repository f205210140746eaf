//! Sets of clusters, as one bit per cluster.

/// Some of the clusters, by their slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Members(Vec<u64>);

// === impl Members ===

impl Members {
    /// Adds or removes a slot. Returns true if that is a change.
    pub(crate) fn set(&mut self, slot: usize, is_member: bool) -> bool {
        let (word, bit) = (slot / 64, 1 << (slot % 64));
        if word >= self.0.len() {
            if !is_member {
                return false;
            }
            self.0.resize(word + 1, 0);
        }
        let was_member = self.0[word] & bit != 0;
        self.0[word] = if is_member {
            self.0[word] | bit
        } else {
            self.0[word] & !bit
        };
        was_member != is_member
    }

    pub(crate) fn has(&self, slot: usize) -> bool {
        self.0
            .get(slot / 64)
            .is_some_and(|word| word & (1 << (slot % 64)) != 0)
    }

    /// The bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<u64>()
    }

    /// Adds all slots of another set.
    pub(crate) fn add(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    /// The slots, in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        let words = self.0.iter().enumerate();
        words.flat_map(|(index, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(index * 64 + bit as usize)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_added_removed_and_listed() {
        let mut members = Members::default();
        assert!(!members.set(700, false));
        for slot in [0, 63, 64, 200] {
            assert!(members.set(slot, true) && !members.set(slot, true));
        }
        assert!(members.set(64, false));
        assert_eq!(members.iter().collect::<Vec<_>>(), [0, 63, 200]);
        assert!(members.has(63) && !members.has(64) && !members.has(10_000));
        let mut other = Members::default();
        other.set(1, true);
        other.add(&members);
        assert_eq!(other.iter().collect::<Vec<_>>(), [0, 1, 63, 200]);
    }
}
