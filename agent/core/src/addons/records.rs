//! Which Secrets the agent made for add-ons. The record is kept in a Secret of its own, so that the Secrets of an add-on that went while
//! the agent was down are deleted, too. OCM's agent leaves them behind. A mark on the Secrets themselves would make them differ from OCM's.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Place;
use super::wanted::Registration;

/// The key of the record in its Secret.
pub const KEY: &str = "secrets";

/// A Secret that the agent made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct Record {
    /// The name of the add-on.
    pub addon: String,
    /// Where it is.
    #[serde(flatten)]
    pub place: Place,
    /// Its name.
    pub secret: String,
    /// [`Registration::mark`] of what it was made for.
    pub mark: String,
}

/// What follows from the record and the registrations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// Secrets to delete. Nothing else uses them any more.
    pub delete: Vec<Record>,
    /// The record once they are deleted. It is written before a new Secret is made.
    pub record: Vec<Record>,
}

/// Compares the record with the registrations.
///
/// `kept`: add-ons that are being deleted. They may need their Secrets to clean up.
#[must_use]
pub fn due(record: &[Record], wanted: &[Registration], kept: &BTreeSet<String>) -> Due {
    let mut due = Due::default();
    for old in record {
        let is_wanted = |it: &Registration| it.is_in(old) && it.mark() == old.mark;
        if wanted.iter().any(is_wanted) {
            continue;
        }
        let is_replaced = wanted.iter().any(|it| it.is_in(old));
        if !kept.contains(&old.addon) {
            due.delete.push(old.clone());
        } else if !is_replaced {
            due.record.push(old.clone());
        }
    }
    due.record.extend(wanted.iter().map(Registration::record));
    due.record.sort_unstable();
    due
}

/// Reads the record. One that cannot be read is empty: what it named stays.
#[must_use]
pub fn read(text: &[u8]) -> Vec<Record> {
    serde_json::from_slice(text).unwrap_or_default()
}

/// Returns the text of the record.
#[must_use]
pub fn text(record: &[Record]) -> Vec<u8> {
    serde_json::json!(record).to_string().into_bytes()
}

// === impl Registration ===

impl Registration {
    /// Returns the record of its Secret.
    #[must_use]
    pub fn record(&self) -> Record {
        Record {
            addon: self.addon.clone(),
            place: self.place.clone(),
            secret: self.secret.clone(),
            mark: self.mark(),
        }
    }

    /// Returns true if its Secret has the place and the name of this record.
    fn is_in(&self, record: &Record) -> bool {
        self.place == record.place && self.secret == record.secret
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addons::Driver;
    use crate::addons::fact::{self, Addon};
    use crate::addons::wanted::registrations;

    fn registration(addon: &str, namespace: &str, user: &str) -> Registration {
        let fact = Addon {
            namespace: namespace.to_owned(),
            registrations: vec![fact::Registration {
                user: user.to_owned(),
                ..fact::Registration::default()
            }],
            ..Addon::default()
        };
        let (mut valid, _) = registrations("c1", None, Driver::Csr, [(addon, &fact)]);
        valid.remove(0)
    }

    #[test]
    fn secrets_go_with_their_registration() {
        let x = registration("x", "n", "u");
        let moved = registration("x", "m", "u");
        let renamed = registration("x", "n", "v");
        let y = registration("y", "n", "u");
        let (old, other) = (x.record(), y.record());
        for (sentence, record, wanted, kept, delete, then) in [
            ("nothing", vec![], vec![], "", vec![], vec![]),
            ("new", vec![], vec![&x], "", vec![], vec![&old]),
            ("the same", vec![&old], vec![&x], "", vec![], vec![&old]),
            (
                "gone",
                vec![&old, &other],
                vec![&y],
                "",
                vec![&old],
                vec![&other],
            ),
            (
                "in another namespace",
                vec![&old],
                vec![&moved],
                "",
                vec![&old],
                vec![&moved.record()],
            ),
            (
                "another subject",
                vec![&old],
                vec![&renamed],
                "",
                vec![&old],
                vec![&renamed.record()],
            ),
            ("being deleted", vec![&old], vec![], "x", vec![], vec![&old]),
            (
                "another is being deleted",
                vec![&old],
                vec![],
                "y",
                vec![&old],
                vec![],
            ),
            (
                "being deleted, another subject",
                vec![&old],
                vec![&renamed],
                "x",
                vec![],
                vec![&renamed.record()],
            ),
        ] {
            let owned = |them: Vec<&Record>| -> Vec<Record> { them.into_iter().cloned().collect() };
            let wanted: Vec<Registration> = wanted.into_iter().cloned().collect();
            let kept = BTreeSet::from([kept.to_owned()]);
            let expected = Due {
                delete: owned(delete),
                record: owned(then),
            };
            assert_eq!(due(&owned(record), &wanted, &kept), expected, "{sentence}");
        }
    }

    #[test]
    fn a_record_is_read_back() {
        let record = vec![
            registration("x", "n", "u").record(),
            registration("y", "n", "u").record(),
        ];
        assert_eq!(read(&text(&record)), record);
        assert_eq!(read(b"?"), []);
    }
}
