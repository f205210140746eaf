//! Compares two selectors, finds selectors that select nothing, and matches many objects.
//!
//! For each key, a selector defines the values that an object may have, and whether the object may lack the key. Two selectors are
//! compared key by key, in time linear in the number of their values.

use std::collections::{BTreeMap, BTreeSet};

use super::{Selector, Test};

/// What all requirements on one key allow in combination.
struct Allowed<'s> {
    absent: bool,
    values: Values<'s>,
}

/// A selector by key, for many objects: each takes a look for each of its labels, however many requirements the selector has.
pub struct ByKey<'s> {
    allowed: BTreeMap<&'s str, Allowed<'s>>,
    /// The number of keys that an object must have.
    needed: usize,
}

enum Values<'s> {
    Only(BTreeSet<&'s str>),
    AllBut(BTreeSet<&'s str>),
}

impl Selector {
    /// Returns whether an object can exist that this selector selects and `old` does not.
    ///
    /// # Guarantees
    /// If `false`, `old` selects every object that this selector selects.
    #[must_use]
    pub fn is_wider_than(&self, old: &Self) -> bool {
        let (new, old) = (self.allowed(), old.allowed());
        let selects_nothing = new.values().any(Allowed::is_nothing);
        let kept = |(key, before): (&&str, &Allowed<'_>)| {
            // A key without requirements allows every value; a requirement never does.
            new.get(key).is_some_and(|now| now.is_within(before))
        };
        !selects_nothing && !old.iter().all(kept)
    }

    /// Returns a key whose requirements exclude each other, so that no object can be selected.
    #[must_use]
    pub fn contradiction(&self) -> Option<&str> {
        let mut allowed = self.allowed().into_iter();
        allowed.find_map(|(key, allowed)| allowed.is_nothing().then_some(key))
    }

    /// The selector, prepared for many objects.
    #[must_use]
    pub fn by_key(&self) -> ByKey<'_> {
        let allowed = self.allowed();
        ByKey {
            needed: allowed.values().filter(|it| !it.absent).count(),
            allowed,
        }
    }

    fn allowed(&self) -> BTreeMap<&str, Allowed<'_>> {
        let mut allowed: BTreeMap<&str, Allowed<'_>> = BTreeMap::new();
        for requirement in &self.requirements {
            allowed
                .entry(&requirement.key)
                .or_insert_with(Allowed::anything)
                .restrict(&requirement.test);
        }
        allowed
    }
}

impl ByKey<'_> {
    /// As [`Selector::matches`].
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let mut found = 0;
        for (key, value) in labels {
            if let Some(allowed) = self.allowed.get(key.as_str()) {
                if !allowed.has(value) {
                    return false;
                }
                found += usize::from(!allowed.absent);
            }
        }
        found == self.needed
    }
}

impl<'s> Allowed<'s> {
    fn anything() -> Self {
        Self {
            absent: true,
            values: Values::AllBut(BTreeSet::new()),
        }
    }

    fn has(&self, value: &str) -> bool {
        match &self.values {
            Values::Only(values) => values.contains(value),
            Values::AllBut(values) => !values.contains(value),
        }
    }

    fn is_nothing(&self) -> bool {
        !self.absent && matches!(&self.values, Values::Only(values) if values.is_empty())
    }

    fn restrict(&mut self, test: &'s Test) {
        match test {
            Test::In(values) => {
                self.absent = false;
                match &mut self.values {
                    Values::Only(only) => only.retain(|value| values.contains(*value)),
                    Values::AllBut(but) => {
                        let values = values.iter().map(String::as_str);
                        let only = values.filter(|value| !but.contains(value)).collect();
                        self.values = Values::Only(only);
                    }
                }
            }
            Test::NotIn(values) => match &mut self.values {
                Values::Only(only) => only.retain(|value| !values.contains(*value)),
                Values::AllBut(but) => but.extend(values.iter().map(String::as_str)),
            },
            Test::Exists => self.absent = false,
            Test::DoesNotExist => self.values = Values::Only(BTreeSet::new()),
        }
    }

    fn is_within(&self, other: &Self) -> bool {
        let values = match (&self.values, &other.values) {
            (Values::Only(own), Values::Only(others)) => own.is_subset(others),
            (Values::Only(own), Values::AllBut(but)) => own.is_disjoint(but),
            (Values::AllBut(own), Values::AllBut(others)) => others.is_subset(own),
            // A finite list never holds all values.
            (Values::AllBut(_), Values::Only(_)) => false,
        };
        values && (other.absent || !self.absent)
    }
}

#[cfg(test)]
mod tests {
    use crate::selector::{Selector, text};

    fn selector(typed: &str) -> Selector {
        Selector::parse(&text::label_selector(typed).expect(typed)).expect(typed)
    }

    #[test]
    fn requirements_that_exclude_each_other_are_found() {
        for (typed, key) in [
            ("", None),
            ("env=dev,env in (dev, test)", None),
            ("env=dev,env=test", Some("env")),
            ("a,env in (dev, test),env!=dev", None),
            ("a,env in (dev, test),env notin (dev, test)", Some("env")),
            ("env,!env", Some("env")),
            ("env=dev,!env", Some("env")),
            ("env!=dev,!env", None),
            ("env,env!=dev", None),
        ] {
            assert_eq!(selector(typed).contradiction(), key, "{typed}");
        }
    }

    #[test]
    fn a_selector_is_wider_where_it_does_not_keep_what_it_required() {
        for (sentence, old, new, wider) in [
            ("the same", "env=dev", "env=dev", false),
            ("the same in other words", "env=dev", "env in (dev)", false),
            ("more requirements", "env=dev", "env=dev,region=eu", false),
            ("fewer requirements", "env=dev,region=eu", "env=dev", true),
            ("no requirement left", "env=dev", "", true),
            ("none before", "", "env=dev", false),
            ("none at all", "", "", false),
            ("fewer values", "env in (dev,test)", "env in (dev)", false),
            ("more values", "env in (dev)", "env in (dev,test)", true),
            ("another value", "env=dev", "env=prod", true),
            ("another key", "env=dev", "region=dev", true),
            (
                "fewer values left out",
                "env notin (a,b)",
                "env notin (a)",
                true,
            ),
            (
                "more values left out",
                "env notin (a)",
                "env notin (a,b)",
                false,
            ),
            ("a value in place of any", "env", "env=dev", false),
            ("any value in place of one", "env=dev", "env", true),
            (
                "no key in place of any other value",
                "env notin (a)",
                "!env",
                false,
            ),
            (
                "any other value in place of no key",
                "!env",
                "env notin (a)",
                true,
            ),
            (
                "a value that was left out",
                "env notin (a)",
                "env in (a,b)",
                true,
            ),
            ("one that was not", "env notin (a)", "env in (b)", false),
            (
                "the key may be missing now",
                "env,env notin (a)",
                "env notin (a)",
                true,
            ),
            (
                "or must be there now",
                "env notin (a)",
                "env,env notin (a)",
                false,
            ),
            (
                "requirements on a key hold together",
                "env in (a,b),env in (b,c)",
                "env=b",
                false,
            ),
            (
                "and none of their values more",
                "env in (a,b),env in (b,c)",
                "env in (a,b)",
                true,
            ),
            (
                "what selects nothing selects no more",
                "env=a",
                "region=eu,env in (b),env in (c)",
                false,
            ),
            ("from nothing to something", "env=a,env=b", "env=a", true),
        ] {
            assert_eq!(
                selector(new).is_wider_than(&selector(old)),
                wider,
                "{sentence}: {old:?} -> {new:?}"
            );
        }
    }
}
