//! What a change introduces: findings in the new object that were not in the stored one.
//!
//! An object that was stored with a fault stays writable, so only introduced faults refuse a change, and only introduced doubts get a
//! warning.

use std::collections::HashMap;

use crate::Reason;
use crate::display::{Plain, cut_bytes};

/// The maximum length of a message about one field, in bytes.
const LONGEST_MESSAGE: usize = 1_024;

/// The maximum number of warnings. The others are counted.
const MOST_WARNINGS: usize = 10;

/// A finding in an object.
#[derive(Debug)]
pub(crate) struct Finding {
    /// The rule; not shown in a warning.
    pub(crate) reason: Reason,
    /// The sentence for the requester.
    pub(crate) text: String,
    /// The finding without positions in lists: it stays the same when an item before it is added or removed.
    key: String,
}

/// Findings in a stored object, by their keys, with their number.
struct Stored(HashMap<String, usize>);

/// Returns what is found in the new object, and not in the stored one.
pub(crate) fn introduced<T: ?Sized>(
    new: &T,
    stored: Option<&T>,
    find: impl Fn(&T) -> Vec<Finding>,
) -> Vec<Finding> {
    let mut found = find(new);
    if !found.is_empty()
        && let Some(stored) = stored
    {
        let mut stored = Stored::new(find(stored));
        found.retain(|finding| !stored.takes(finding));
    }
    found
}

/// Makes warnings: the first ones, and the number of the others.
pub(crate) fn warnings(doubtful: Vec<Finding>) -> Vec<String> {
    let more = doubtful.len().saturating_sub(MOST_WARNINGS);
    let shown = doubtful.into_iter().take(MOST_WARNINGS);
    let more = (more > 0).then(|| format!("... and {more} more"));
    shown.map(|it| it.text).chain(more).collect()
}

// === impl Finding ===

impl Finding {
    /// Makes a finding about a field. The message may quote the requester's text.
    pub(crate) fn new(reason: Reason, field: impl AsRef<str>, message: &str) -> Self {
        let field = field.as_ref();
        let message = shown(message);
        Self {
            reason,
            text: format!("{field}: {message}"),
            key: format!("{}: {message}", without_positions(field)),
        }
    }

    /// Makes a finding whose sentence stands before the field, as scripts match on the sentence.
    pub(crate) fn sentence(reason: Reason, sentence: &str, field: &str) -> Self {
        let sentence = shown(sentence);
        Self {
            reason,
            text: format!("{sentence}: {field}"),
            key: format!("{sentence}: {}", without_positions(field)),
        }
    }

    /// Makes a finding whose sentence says everything. Findings with the same key are the same.
    pub(crate) fn whole(reason: Reason, sentence: &str, key: &str) -> Self {
        Self {
            reason,
            text: shown(sentence),
            key: shown(key),
        }
    }
}

fn shown(text: &str) -> String {
    Plain(cut_bytes(text, LONGEST_MESSAGE)).to_string()
}

fn without_positions(field: &str) -> String {
    let mut key = String::with_capacity(field.len());
    let mut in_brackets = false;
    for c in field.chars() {
        in_brackets = c == '[' || in_brackets && c.is_ascii_digit();
        if !in_brackets || c == '[' {
            key.push(c);
        }
    }
    key
}

// === impl Stored ===

impl Stored {
    fn new(findings: Vec<Finding>) -> Self {
        let mut counts = HashMap::new();
        for finding in findings {
            *counts.entry(finding.key).or_default() += 1;
        }
        Self(counts)
    }

    /// Takes the finding out of the stored ones, if it is among them.
    fn takes(&mut self, finding: &Finding) -> bool {
        match self.0.get_mut(&finding.key) {
            Some(left @ 1..) => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}
