//! ManifestWorks of the hub as a [`World`].

use std::collections::BTreeSet;
use std::time::Duration;

use berth_api::Now;
use berth_api::plan::{Action, Plan, Target, Write};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, Lane, Meta, Report, Source, Wake, WatchError, World};

use super::kinds::{Fact, Kind};
use super::sets;
use super::view::{Key, Place, View};

/// The name of the reconciler of replica sets, in metrics.
pub(super) const SETS: &str = "manifestworkreplicaset";

/// The name of the reconciler of ManifestWorks that are done, in metrics.
const FINISHED: &str = "manifestworkgarbagecollection";

/// Replica sets that are worked on at the same time.
const SETS_AT_ONCE: usize = 4;

/// ManifestWorks that are deleted at the same time.
const FINISHED_AT_ONCE: usize = 16;

/// The longest time until a key with a timer is decided again: the clock may be set in the meantime.
pub(super) const LONGEST_TIMER: Duration = Duration::from_secs(3600);

/// The view of the hub.
#[derive(Debug)]
pub(super) struct Works {
    pub(super) view: View,
    kinds: Vec<Kind>,
    listed: BTreeSet<Kind>,
    /// The kinds that the hub does not serve.
    missing: BTreeSet<Kind>,
}

// === impl Works ===

impl Works {
    /// The view of these kinds, which are watched.
    pub(super) fn new(kinds: Vec<Kind>) -> Self {
        Self {
            view: View::default(),
            kinds,
            listed: BTreeSet::new(),
            missing: BTreeSet::new(),
        }
    }

    /// Returns whether everything that a decision about the key reads has been seen.
    pub(super) fn is_ready(&self, key: &Key) -> bool {
        let is_seen = |kind: &Kind| self.listed.contains(kind) && !self.missing.contains(kind);
        match key {
            Key::Set(_) => self.kinds.iter().all(is_seen),
            Key::Finished(_) => is_seen(&Kind::Work),
        }
    }
}

impl World for Works {
    type Kind = Kind;
    type Key = Key;
    type Fact = Fact;

    const LANES: &'static [Lane] = &[
        Lane::new(SETS, SETS_AT_ONCE),
        Lane::new(FINISHED, FINISHED_AT_ONCE),
    ];

    fn lane(key: &Key) -> usize {
        match key {
            Key::Set(_) => 0,
            Key::Finished(_) => 1,
        }
    }

    /// Those of one namespace do not delay those of another.
    fn group(key: &Key) -> &str {
        let (Key::Set((namespace, _)) | Key::Finished((namespace, _))) = key;
        namespace
    }

    fn apply(&mut self, _: Kind, it: &Meta, fact: Fact, sight: Report, wakes: &mut Wake<Self>) {
        let at = (it.namespace.clone(), it.name.clone());
        let concerned = self.view.apply(at, fact);
        // The reconcile that wrote it decides again.
        if sight.source != Source::Write {
            wakes.extend(concerned);
        }
    }

    fn gone(&mut self, kind: Kind, namespace: &str, name: &str, wakes: &mut Wake<Self>) {
        let at = (namespace.to_owned(), name.to_owned());
        wakes.extend(self.view.remove(kind, &at));
    }

    fn listed(&mut self, kind: Kind, _: Now, wakes: &mut Wake<Self>) {
        let is_first = self.listed.insert(kind);
        if self.missing.remove(&kind) || is_first {
            wakes.extend(self.view.all());
        }
    }

    fn lost_sight(&mut self, kind: Kind, error: &WatchError, _: Now, _: &mut Wake<Self>) {
        if error.code == 404 && self.missing.insert(kind) {
            tracing::info!(
                resource = kind.name(),
                "the hub does not serve this kind: waiting for it"
            );
        }
    }

    /// Kinds that the hub serves and that have not been listed yet.
    fn unprimed(&self) -> Vec<&'static str> {
        let kinds = self.kinds.iter();
        let unprimed = kinds.filter(|it| !self.listed.contains(it) && !self.missing.contains(it));
        unprimed.map(|it| it.name()).collect()
    }

    fn all(&self) -> Vec<Key> {
        self.view.all()
    }

    fn decide(&self, key: &Key, now: Now) -> Plan {
        match key {
            Key::Finished(at) if self.is_ready(key) => self.clean_up(at, now),
            _ => Plan::default(),
        }
    }

    async fn reconcile(on: &Handle<Self>, key: &Key) -> Next {
        match key {
            Key::Set(at) => sets::reconcile(on, key, at).await,
            Key::Finished(_) => on.settle(key).await,
        }
    }
}

impl Works {
    /// Deletes a ManifestWork that is done, when its time is over.
    fn clean_up(&self, at: &Place, now: Now) -> Plan {
        let Some(finished) = self.view.finished(at) else {
            return Plan::default();
        };
        if let Some(remaining) = finished.remaining(now.wall) {
            let remaining = Duration::try_from(remaining).unwrap_or_default();
            let mut plan = Plan::default();
            plan.look_again(now.instant + remaining.min(LONGEST_TIMER));
            return plan;
        }
        let write = Write {
            target: Target {
                resource: Kind::Work.resource(),
                namespace: Some(at.0.clone()),
                name: at.1.clone(),
            },
            action: Action::Delete {
                uid: finished.uid.clone(),
                resource_version: Some(finished.resource_version.clone()),
                why: "it is complete, and its ttlSecondsAfterFinished is over",
            },
            reconciler: FINISHED,
            events: Vec::new(),
        };
        write.into()
    }
}
