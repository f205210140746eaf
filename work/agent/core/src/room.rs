//! The agent's memory for ManifestWorks: which of them it carries out, and which it only knows by name.
//!
//! A work that does not fit is kept without its manifests, and nothing is done about its objects: nothing is applied, and nothing deleted. It is
//! read again once there is room.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use berth_api::work::ManifestWork;
use berth_work_core::budget::{Claim, Excess, refused};

/// The claims of all ManifestWorks.
#[derive(Debug, Default)]
pub struct Room {
    /// In bytes.
    budget: u64,
    works: HashMap<Arc<str>, Claimed>,
    /// The works that were refused.
    refused: HashMap<Arc<str>, Excess>,
    /// The cost of the works that are kept with their manifests.
    kept: u64,
    /// A claim has changed since the last decision.
    is_due: bool,
}

#[derive(Debug)]
struct Claimed {
    claim: Claim,
    /// A digest of what the claim depends on: UID, generation, labels and finalizers.
    of: u64,
    /// The manifests are in memory.
    is_kept: bool,
}

/// What a decision changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// These are refused, and still kept with their manifests.
    pub strip: Vec<Arc<str>>,
    /// These were refused, or could not be kept, and fit now.
    pub fit: Vec<Arc<str>>,
    /// These are refused for the first time, or for another reason.
    pub news: Vec<(Arc<str>, Excess)>,
}

// === impl Room ===

impl Room {
    pub fn new(budget: u64) -> Self {
        Self {
            budget,
            ..Self::default()
        }
    }

    /// The budget, in bytes.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// The number of works that are refused.
    pub fn refused(&self) -> usize {
        self.refused.len()
    }

    /// Returns true if the work is as it was last seen.
    pub fn is_of(&self, name: &str, work: &ManifestWork) -> bool {
        self.works.get(name).is_some_and(|it| it.of == digest(work))
    }

    /// Returns why a work is refused.
    pub(crate) fn refuses(&self, name: &str) -> Option<Excess> {
        self.refused.get(name).copied()
    }

    /// Returns true if the manifests of the work are in memory, and are to be carried out.
    pub fn has(&self, name: &str) -> bool {
        !self.refused.contains_key(name) && self.works.get(name).is_none_or(|it| it.is_kept)
    }

    /// Returns true if the work fits, and has to be read again.
    pub fn misses(&self, name: &str) -> bool {
        !self.refused.contains_key(name) && self.works.get(name).is_some_and(|it| !it.is_kept)
    }

    /// A work was read. Returns true if its manifests can be kept until all is decided.
    pub(crate) fn arrives(&mut self, name: &Arc<str>, work: &ManifestWork) -> bool {
        let of = digest(work);
        let known = self.works.get(name);
        let same = known.filter(|it| it.of == of);
        let is_same = same.is_some();
        let own = known.filter(|it| it.is_kept).map_or(0, |it| it.claim.cost);
        let claim = same.map_or_else(|| Claim::of(work), |it| it.claim.again(work));
        let others = self.kept.saturating_sub(own);
        let fits = others.saturating_add(claim.cost) <= self.budget;
        let is_kept = match is_same {
            true if self.refused.contains_key(name) => false,
            true => own > 0 || fits,
            false => fits,
        };
        self.kept = others + if is_kept { claim.cost } else { 0 };
        self.is_due |= !is_same;
        let claimed = Claimed { claim, of, is_kept };
        self.works.insert(Arc::clone(name), claimed);
        is_kept
    }

    /// A work is gone.
    pub(crate) fn leaves(&mut self, name: &str) {
        if let Some(left) = self.works.remove(name) {
            self.kept -= if left.is_kept { left.claim.cost } else { 0 };
        }
        self.refused.remove(name);
        self.is_due = true;
    }

    /// Decides which works are refused, if a claim has changed.
    pub fn decide(&mut self) -> Changes {
        let mut changes = Changes::default();
        if !std::mem::take(&mut self.is_due) {
            return changes;
        }
        let claims = self.works.iter().map(|(name, it)| (&**name, it.claim));
        let refused = refused(claims, self.budget);
        let refused: HashMap<Arc<str>, Excess> = (refused.into_iter())
            .map(|(name, excess)| (name.into(), excess))
            .collect();
        for (name, work) in &mut self.works {
            let Some(excess) = refused.get(name) else {
                if self.refused.contains_key(name) || !work.is_kept {
                    changes.fit.push(Arc::clone(name));
                }
                continue;
            };
            if std::mem::take(&mut work.is_kept) {
                self.kept -= work.claim.cost;
                changes.strip.push(Arc::clone(name));
            }
            if self.refused.get(name) != Some(excess) {
                changes.news.push((Arc::clone(name), *excess));
            }
        }
        self.refused = refused;
        changes
    }
}

fn digest(work: &ManifestWork) -> u64 {
    let mut hasher = DefaultHasher::new();
    let metadata = &work.metadata;
    (&metadata.uid, metadata.generation).hash(&mut hasher);
    (&metadata.labels, &metadata.finalizers).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use berth_api::work::Manifest;
    use serde_json::json;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// A work that costs about as many MiB.
    fn work(generation: i64, mib: usize) -> ManifestWork {
        let mut work = ManifestWork::default();
        work.metadata.generation = Some(generation);
        let manifest = Manifest::new(&json!({"data": "x".repeat(mib << 19)})).unwrap();
        work.spec.workload.manifests = vec![manifest];
        work
    }

    fn names(of: &[Arc<str>]) -> Vec<&str> {
        of.iter().map(|it| &**it).collect()
    }

    #[test]
    fn what_does_not_fit_is_refused_until_there_is_room() {
        let mut room = Room::new(10 * MIB);
        let [a, b] = ["a", "b"].map(Arc::from);
        // The list may have them in any order: the first to come is not the first to be served.
        assert!(room.arrives(&b, &work(1, 6)));
        assert!(!room.arrives(&a, &work(1, 6)), "not kept meanwhile");
        let changes = room.decide();
        assert_eq!(names(&changes.strip), ["b"]);
        assert_eq!(names(&changes.fit), ["a"], "to be read again");
        assert_eq!(changes.news.len(), 1);
        assert!(room.misses("a") && !room.has("a"));
        assert!(room.arrives(&a, &work(1, 6)));
        assert!(room.has("a") && room.refuses("b").is_some());
        assert_eq!(room.decide(), Changes::default(), "nothing has changed");
        // Its status is written: the event has the manifests again.
        assert!(!room.arrives(&b, &work(1, 6)));
        assert_eq!(room.decide(), Changes::default());
        room.leaves("a");
        assert_eq!(names(&room.decide().fit), ["b"]);
        assert!(room.arrives(&b, &work(1, 6)) && room.has("b"));
    }

    #[test]
    fn a_change_that_does_not_fit_is_refused_and_one_that_fits_is_not() {
        let mut room = Room::new(10 * MIB);
        let a: Arc<str> = "a".into();
        assert!(room.arrives(&a, &work(1, 6)));
        room.decide();
        assert!(!room.arrives(&a, &work(2, 12)));
        assert_eq!(room.decide().news.len(), 1);
        assert!(!room.has("a"));
        assert!(room.arrives(&a, &work(3, 7)), "kept until it is decided");
        assert!(!room.has("a"));
        assert_eq!(names(&room.decide().fit), ["a"]);
        assert!(room.has("a"));
    }
}
