//! What differs between a manifest and the object on the cluster, in a bounded form for users.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use berth_api::text::without_middle;
use serde_json::Value;

use crate::path::Path;

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
