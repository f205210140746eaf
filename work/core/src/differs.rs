//! What differs between a manifest and the object on the cluster, in a bounded form for users.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use berth_api::text::without_middle;
use serde_json::Value;

use crate::path::Path;

/// What the agent says after differences that it has put back, and that come again.
pub const CONTESTED: &str = "another client changes it again and again";

/// Differences that are kept; the others are counted.
const MAX_SHOWN: usize = 10;
/// Bytes of a value that are kept.
const MAX_VALUE: usize = 64;
/// Bytes of a path that are kept.
const MAX_PATH: usize = 160;
/// Differences that are remembered one by one. If more are left after a write, all differences of the object are accepted until the
/// manifest changes.
const MAX_SETTLED: usize = 4096;

/// The fields that differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// The first ones, in the order of the manifest.
    pub shown: Vec<Difference>,
    /// The number of all of them.
    pub count: usize,
}

/// A field that differs. Values of Secrets are not in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field, such as `spec.replicas`; an item of a list by its key: `spec.containers[name="a"].image`.
    pub path: String,
    /// The value in the manifest as JSON, cut if it is long. Empty: the manifest does not have the field.
    pub ours: String,
    /// The value on the cluster as JSON, cut if it is long. Empty: the object does not have the field.
    pub theirs: String,
    /// The field manager that last wrote the field, if known.
    pub manager: Option<String>,
}

/// The text has no differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoDifferences;

/// What a watched object needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// A request is due. False for drift that the strategy leaves alone (ReadOnly; the spec of a Pod).
    pub write: bool,
    /// What differs. Empty if only the owner reference is missing, or if the strategy does not compare (CreateOnly).
    pub differences: Differences,
}

/// What to remember of an object that was applied: what differed after the write, because the API server normalizes or prunes it.
///
/// It may be lost; then one write more is made that changes nothing. It is bound to the manifest: for another manifest it is without
/// effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    manifest: u64,
    /// Sorted digests of the differences. None: any difference.
    accepted: Option<Arc<[u64]>>,
}

/// Collects differences.
pub(crate) struct Findings<'a> {
    settled: &'a Settled,
    /// The object is a Secret.
    hidden: bool,
    /// Those that are not accepted.
    pub(crate) differences: Differences,
    /// A write is due, perhaps without any difference that users see.
    pub(crate) due: bool,
    /// What is found now is only reported: no write is due, and nothing is accepted.
    pub(crate) muted: bool,
    /// All of them.
    found: Vec<u64>,
}

// === impl Settled ===

impl Default for Settled {
    fn default() -> Self {
        Self {
            manifest: 0,
            accepted: Some(Arc::default()),
        }
    }
}

impl Settled {
    /// Is this about the same manifest? Otherwise, an empty one for it.
    pub(crate) fn for_manifest(self, manifest: u64) -> Self {
        if self.manifest == manifest {
            return self;
        }
        Self {
            manifest,
            accepted: Some(Arc::default()),
        }
    }

    fn accepts(&self, digest: u64) -> bool {
        let accepted = self.accepted.as_ref();
        accepted.is_none_or(|accepted| accepted.binary_search(&digest).is_ok())
    }
}

// === impl Findings ===

impl<'a> Findings<'a> {
    /// Nothing found yet.
    pub(crate) fn new(settled: &'a Settled, hidden: bool) -> Self {
        Self {
            settled,
            hidden,
            differences: Differences::default(),
            due: false,
            muted: false,
            found: Vec::new(),
        }
    }

    /// A field differs.
    pub(crate) fn differs(
        &mut self,
        path: &Path,
        ours: Option<&Value>,
        theirs: Option<&Value>,
        manager: Option<&str>,
    ) {
        if !self.muted && self.is_accepted(path, ours, theirs) {
            return;
        }
        if self.differences.shown.len() < MAX_SHOWN {
            let shown = Difference {
                path: without_middle(&path.to_string(), MAX_PATH).into_owned(),
                ours: self.value(ours),
                theirs: self.value(theirs),
                manager: manager.map(|name| without_middle(name, MAX_VALUE).into_owned()),
            };
            self.differences.shown.push(shown);
        }
        self.differences.count += 1;
        if !self.muted {
            self.found.push(of_field(path, ours, theirs));
            self.due = true;
        }
    }

    /// Was the difference accepted? Then it stays accepted.
    pub(crate) fn is_accepted(
        &mut self,
        path: &Path,
        ours: Option<&Value>,
        theirs: Option<&Value>,
    ) -> bool {
        let digest = of_field(path, ours, theirs);
        let is_accepted = self.settled.accepts(digest);
        if is_accepted {
            self.found.push(digest);
        }
        is_accepted
    }

    /// A field is equal, and does not belong to the field manager that should own it.
    pub(crate) fn unowned(&mut self, path: &Path) {
        let digest = digest(&(path.to_string(), "unowned"));
        self.due |= !self.settled.accepts(digest);
        self.found.push(digest);
    }

    /// Accepts all that was found.
    pub(crate) fn settle(mut self) -> Settled {
        self.found.sort_unstable();
        self.found.dedup();
        let accepted = (self.found.len() <= MAX_SETTLED).then(|| self.found.into());
        Settled {
            manifest: self.settled.manifest,
            accepted,
        }
    }

    fn value(&self, value: Option<&Value>) -> String {
        match value {
            None => String::new(),
            Some(_) if self.hidden => "(hidden)".to_owned(),
            Some(value) => without_middle(&text(Some(value)), MAX_VALUE).into_owned(),
        }
    }
}

/// The digest of a difference.
fn of_field(path: &Path, ours: Option<&Value>, theirs: Option<&Value>) -> u64 {
    digest(&(path.to_string(), text(ours), text(theirs)))
}

/// A digest within this process.
pub(crate) fn digest(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Reads the differences of a text as agents report it: the reverse of its [`Display`](fmt::Display).
///
/// Values that are cut, or have the words of the format in them, are read as far as they can be told apart.
impl std::str::FromStr for Differences {
    type Err = NoDifferences;

    fn from_str(text: &str) -> Result<Self, NoDifferences> {
        let mut shown = Vec::new();
        let mut rest = text;
        loop {
            let counted = rest.strip_prefix("and ");
            let counted = counted.and_then(|it| it.strip_suffix(" more")?.parse::<usize>().ok());
            if let Some(more) = counted.filter(|_| !shown.is_empty()) {
                let count = more.saturating_add(shown.len());
                return Ok(Self { shown, count });
            }
            let (difference, left) = difference_of(rest).ok_or(NoDifferences)?;
            shown.push(difference);
            rest = match left.strip_prefix("; ") {
                Some(left) => left,
                None if left.is_empty() => {
                    let count = shown.len();
                    return Ok(Self { shown, count });
                }
                None => return Err(NoDifferences),
            };
        }
    }
}

/// Reads a difference, and returns what follows it.
fn difference_of(text: &str) -> Option<(Difference, &str)> {
    const OURS: &str = ": prescribed ";
    const THEIRS: &str = ": not in the manifest, found ";
    let at = |words: &str| text.find(words).unwrap_or(usize::MAX);
    let (path, ours, rest) = if at(OURS) < at(THEIRS) {
        let (path, rest) = text.split_once(OURS)?;
        let (ours, rest) = value_of(rest);
        (path, ours, rest)
    } else {
        let (path, _) = text.split_once(THEIRS)?;
        // The value is read below.
        (path, "", &text[path.len() + THEIRS.len() - FOUND.len()..])
    };
    let (theirs, rest) = match rest.strip_prefix(NOT_FOUND) {
        Some(rest) => ("", rest),
        None => value_of(rest.strip_prefix(FOUND)?),
    };
    let (manager, rest) = match rest.strip_prefix(WRITTEN) {
        Some(rest) => {
            let (manager, rest) = rest.split_once(')')?;
            (Some(manager.to_owned()), rest)
        }
        None => (None, rest),
    };
    let difference = Difference {
        path: path.to_owned(),
        ours: ours.to_owned(),
        theirs: theirs.to_owned(),
        manager,
    };
    Some((difference, rest))
}

const FOUND: &str = ", found ";
const NOT_FOUND: &str = ", not found";
const WRITTEN: &str = " (written by ";

/// Splits a text after the value at its start.
fn value_of(text: &str) -> (&str, &str) {
    let ends = |rest: &str| {
        let words = [FOUND, NOT_FOUND, WRITTEN, "; "];
        rest.is_empty() || words.iter().any(|it| rest.starts_with(it))
    };
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    if let Some(Ok(_)) = values.next() {
        let (value, rest) = text.split_at(values.byte_offset());
        if ends(rest) {
            return (value, rest);
        }
    }
    // It is a number or a word, or it was cut.
    let mut places = text.char_indices().map(|(at, _)| at);
    let end = places.find(|at| ends(&text[*at..]));
    text.split_at(end.unwrap_or(text.len()))
}

fn text(value: Option<&Value>) -> String {
    value.map(Value::to_string).unwrap_or_default()
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            ours,
            theirs,
            manager,
        } = self;
        match (ours.as_str(), theirs.as_str()) {
            ("", theirs) => write!(f, "{path}: not in the manifest, found {theirs}")?,
            (ours, "") => write!(f, "{path}: prescribed {ours}, not found")?,
            (ours, theirs) => write!(f, "{path}: prescribed {ours}, found {theirs}")?,
        }
        match manager {
            Some(manager) => write!(f, " (written by {manager})"),
            None => Ok(()),
        }
    }
}

/// One line: the differences that are kept, and the number of the others.
impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, difference) in self.shown.iter().enumerate() {
            let separator = if position > 0 { "; " } else { "" };
            write!(f, "{separator}{difference}")?;
        }
        match self.count.saturating_sub(self.shown.len()) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

// === impl Differences ===

impl Differences {
    /// Returns true if nothing differs.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn difference(path: &str, ours: &str, theirs: &str, manager: Option<&str>) -> Difference {
        Difference {
            path: path.to_owned(),
            ours: ours.to_owned(),
            theirs: theirs.to_owned(),
            manager: manager.map(str::to_owned),
        }
    }

    #[test]
    fn what_is_told_of_differences_is_read_again() {
        let list = r#"spec.containers[name="a"].image"#;
        let hard = r#"{"a":"; b: prescribed 1, found 2 (written by x)"}"#;
        let each = [
            difference(".spec.replicas", "3", "5", Some("kubectl-edit")),
            difference(list, r#""x:1""#, r#""x:2""#, None),
            difference("data.a", "", r#""new""#, Some("someone")),
            difference("data.b", "true", "", None),
            difference("data.c", "", "null", None),
            difference("data.d", hard, "[1,2]", Some("a b")),
            difference("data.e", "(hidden)", "(hidden)", None),
            difference("data.f", r#""long...text""#, r#"{"a":"cut...cut"#, None),
        ];
        for count in 1..=each.len() {
            for more in [0, 7] {
                let told = Differences {
                    shown: each[..count].to_vec(),
                    count: count + more,
                };
                assert_eq!(told.to_string().parse(), Ok(told));
            }
        }
    }

    #[test]
    fn another_text_has_no_differences() {
        for text in [
            "",
            "and 3 more",
            "spec.replicas",
            "spec.replicas: 3, is 5",
            "a: prescribed 1",
            "a: prescribed 1, found 2 (written by x",
            "a: prescribed 1, found 2; the rest is cut",
            "a: prescribed 1, found 2; and many more",
        ] {
            assert_eq!(text.parse::<Differences>(), Err(NoDifferences), "{text}");
        }
    }
}
