//! ManifestWorks, and the templates of ManifestWorkReplicaSets: what the agent cannot carry out is refused, and an executor needs the
//! requester's permission for it.
//!
//! The agent writes with its own identity, after it has checked that the executor could write. So a user who sets the executor, or changes
//! what is written under it, borrows the executor's rights on the managed cluster. OCM asks only when the executor changes; here, also
//! when manifests, their rules or the rules of deletion change.

mod configs;
mod doubts;
mod executor;
mod identifiers;
mod manifest_work;
mod manifests;
mod replica_set;

use std::fmt::Display;

pub use identifiers::plural;
pub use manifest_work::ValidateWork;
pub use replica_set::ValidateReplicaSet;

use self::executor::{Needed, needed};
use crate::findings::Faults;
use crate::introduced::{Finding, introduced, warnings};
use crate::object::{HoldsWork, ReadWork};
use crate::sentences::{self, works};
use crate::{Change, Question, Reason, Settings};

/// What differs between the two kinds.
#[derive(Clone, Copy)]
struct WorkKind<'c> {
    /// The path of the ManifestWork's spec.
    root: &'static str,
    /// The sentence about a spec without manifests.
    no_manifests: &'static str,
    /// The namespace of the ManifestWorks, if it is known.
    namespace: Option<&'c str>,
    /// Further faults.
    others: fn(&ReadWork<'_>) -> Vec<Finding>,
}

/// Results of the examination that the decision needs.
#[derive(Debug, Default)]
pub struct SeenWork {
    warnings: Vec<String>,
    needed: Option<Needed>,
}

// === impl WorkKind ===

impl WorkKind<'_> {
    /// The path of a field.
    fn path(self, field: impl Display) -> String {
        format!("{}.{field}", self.root)
    }

    /// Returns the faults of a spec that do not depend on the stored one.
    fn faults(self, work: &ReadWork<'_>) -> Vec<Finding> {
        let mut found = manifests::faults(self, &work.manifests);
        found.extend(configs::faults(self, &work.rules));
        found.extend(executor::fault(work.rules.executor.as_ref()));
        found.extend((self.others)(work));
        found
    }
}

// === impl SeenWork ===

impl SeenWork {
    /// Examines a change. `faults` holds those that are found already.
    fn examine<'a, O: HoldsWork<'a>>(
        kind: WorkKind<'_>,
        change: &Change<'_, O>,
        settings: &Settings,
        mut faults: Faults,
    ) -> (Faults, Self) {
        if let Some(old) = &change.old
            && (old.metadata().deletion_timestamp.is_some() || change.new.has_spec_of(old))
        {
            return (faults, Self::default());
        }
        let new = match change.new.read() {
            Ok(new) => new,
            Err(error) => {
                // A stored spec may be unreadable, too. But a changed one could hide another executor.
                faults.add(Reason::WorkField, || error);
                return (faults, Self::default());
            }
        };
        let stored = change.old.as_ref().and_then(|old| old.read().ok());
        let stored = stored.as_ref();
        add_faults(&mut faults, kind, &new, stored, settings);
        if !faults.is_empty() {
            return (faults, Self::default());
        }
        let doubtful = introduced(&new, stored, |work| doubts::doubts(kind, work));
        let seen = Self {
            warnings: warnings(doubtful),
            needed: needed(&new, stored, kind.namespace, settings.gates),
        };
        (faults, seen)
    }

    fn questions(&self) -> Vec<Question> {
        let needed = self.needed.iter();
        needed
            .map(|it| Question::Permission(it.permission.clone()))
            .collect()
    }
}

/// Adds the faults that the new spec introduces.
fn add_faults(
    faults: &mut Faults,
    kind: WorkKind<'_>,
    new: &ReadWork<'_>,
    stored: Option<&ReadWork<'_>>,
    settings: &Settings,
) {
    for too_many in new.too_many(stored) {
        faults.add(Reason::ListTooLong, || {
            sentences::faults::too_many(&too_many.what, too_many.number, too_many.most)
        });
    }
    if !new.is_whole() {
        return;
    }
    let was_empty = stored.is_some_and(|it| it.manifests.is_empty());
    if new.manifests.is_empty() && !was_empty {
        faults.add(Reason::NoManifests, || kind.no_manifests.to_owned());
    }
    let (size, limit) = (new.manifests.size(), settings.manifest_limit);
    if size > limit && stored.is_none_or(|it| size > it.manifests.size()) {
        faults.add(Reason::ManifestsSize, || works::manifests_size(size, limit));
    }
    for Finding { reason, text, .. } in introduced(new, stored, |work| kind.faults(work)) {
        faults.add(reason, || text);
    }
}
