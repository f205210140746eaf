//! CSRs that wait for a decision. Any user who may create CSRs can label them for a cluster, so there is a bound on their memory.

use std::collections::HashMap;
use std::sync::Arc;

use berth_lifecycle_core::csrs::CheckedRequest;

/// Upper bound on the bytes of memory of a CSR that is kept. An agent's takes half of it.
const LARGEST: usize = 4 * 1024;

/// Upper bound on the bytes of memory of all CSRs that are kept.
const ALL: usize = 16 * 1024 * 1024;

/// By name.
#[derive(Debug, Default)]
pub(super) struct Requests {
    by_name: HashMap<Arc<str>, Entry>,
    /// The memory of those that are kept.
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    uid: Option<String>,
    /// `None`: it is read from the hub when its turn comes.
    kept: Option<CheckedRequest>,
    bytes: usize,
}

// === impl Requests ===

impl Requests {
    /// Returns true if the former CSR of this name was another object.
    pub(super) fn insert(&mut self, name: &Arc<str>, request: CheckedRequest) -> bool {
        let old = self.remove(name);
        let bytes = request.memory();
        let is_kept = bytes <= LARGEST && self.bytes + bytes <= ALL;
        let entry = Entry {
            uid: request.request().metadata.uid.clone(),
            bytes: if is_kept { bytes } else { 0 },
            kept: is_kept.then_some(request),
        };
        self.bytes += entry.bytes;
        let is_other = old.is_some_and(|uid| uid != entry.uid);
        self.by_name.insert(name.clone(), entry);
        is_other
    }

    /// Returns its uid, if there was one of this name.
    pub(super) fn remove(&mut self, name: &str) -> Option<Option<String>> {
        let entry = self.by_name.remove(name)?;
        self.bytes -= entry.bytes;
        Some(entry.uid)
    }

    /// The CSR of this name. `Some(None)`: it must be read from the hub.
    pub(super) fn get(&self, name: &str) -> Option<Option<&CheckedRequest>> {
        self.by_name.get(name).map(|entry| entry.kept.as_ref())
    }

    /// The shared copy of this name.
    pub(super) fn name(&self, name: &str) -> Option<&Arc<str>> {
        self.by_name.get_key_value(name).map(|(name, _)| name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.by_name.keys()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
