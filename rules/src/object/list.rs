//! Lists of an object: kept up to a limit; further items are only counted.
//!
//! A requester chooses the length of a list, and a short item of JSON is large in memory. So items are counted while they
//! are decoded, and those beyond the limit are dropped. An object that was stored with a longer list must stay usable: its
//! labels change, the cluster is denied, the object is deleted. So a long list with only stored items counts as unchanged.

use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, SeqAccess};

use super::collection::{Items, Sequence};
use super::shape::FromObject;

/// The maximum number of taints, of client configs, and of requirements of a selector.
pub const LONGEST_LIST: usize = 1_000;

/// A list of an object.
#[derive(Clone, Debug)]
pub struct List<T> {
    held: Vec<T>,
    length: usize,
    stays: bool,
}

/// A list for the comparison with the stored one, by their JSON text.
#[derive(Debug)]
pub struct Compared<'l> {
    /// The name of its field in `spec`.
    pub field: &'static str,
    /// The number of items.
    pub length: usize,
    /// True if all items are kept.
    pub is_whole: bool,
    /// The comparison sets this if each item is in the stored list.
    pub stays: &'l mut bool,
}

// === impl List ===

impl<T> List<T> {
    /// Returns the number of items as submitted.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns true if all items are kept.
    pub fn is_whole(&self) -> bool {
        self.length == self.held.len()
    }

    /// Returns true if each item is known to be in the stored list. Known only if one of the two lists is not whole.
    pub fn stays(&self) -> bool {
        self.stays
    }

    /// Returns true if it is too long and not stored already.
    pub(crate) fn is_too_long(&self) -> bool {
        !self.is_whole() && !self.stays
    }

    pub(super) fn compared(&mut self, field: &'static str) -> Compared<'_> {
        Compared {
            field,
            length: self.length,
            is_whole: self.is_whole(),
            stays: &mut self.stays,
        }
    }
}

impl<T: PartialEq> List<T> {
    /// Returns true if it is known to equal the other list, or to be a part of it.
    pub(crate) fn is_unchanged(&self, other: &Self) -> bool {
        self.stays || (self.is_whole() && other.is_whole() && self.held == other.held)
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(held: Vec<T>) -> Self {
        Self {
            length: held.len(),
            held,
            stays: false,
        }
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.held
    }
}

/// Keeps a list up to its limit.
struct Bounded<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Items<'de> for Bounded<T> {
    type Value = List<T>;

    fn read<A: SeqAccess<'de>>(self, mut items: A) -> Result<List<T>, A::Error> {
        let mut list = List::default();
        while list.length < LONGEST_LIST {
            match items.next_element::<FromObject<T>>()? {
                Some(FromObject(item)) => list.held.push(item),
                None => return Ok(list),
            }
            list.length += 1;
        }
        while items.next_element::<IgnoredAny>()?.is_some() {
            list.length += 1;
        }
        Ok(list)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Sequence(Bounded(PhantomData)).deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ClientConfig;

    #[test]
    fn a_list_is_held_up_to_its_bound_and_counted_beyond() {
        for (length, held) in [
            (0, 0),
            (999, 999),
            (1_000, 1_000),
            (1_001, 1_000),
            (50_000, 1_000),
        ] {
            let text = format!("[{}]", vec!["{}"; length].join(","));
            let list: List<ClientConfig<'_>> = serde_json::from_str(&text).unwrap();
            assert_eq!((list.length(), list.len()), (length, held));
            assert_eq!(list.is_too_long(), length > LONGEST_LIST);
        }
        let none: List<ClientConfig<'_>> = serde_json::from_str("null").unwrap();
        assert_eq!(none.length(), 0);
    }
}
