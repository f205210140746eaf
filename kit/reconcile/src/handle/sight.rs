//! What watches and responses report becomes facts.

use std::convert::Infallible;
use std::sync::Arc;

use super::{Handle, Row, now};
use crate::object::{Item, Meta, RawObject};
use crate::seen::Source;
use crate::watch::{Reports, Then, WatchError, follow};
use crate::watched::Watched;
use crate::world::{Report, World};

/// A moment in what is known of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Moment<K> {
    pub(super) kind: K,
    version: u64,
}

/// Hands on what the watch of a row reports.
struct RowReports<'a, W: World> {
    work: &'a Handle<W>,
    kind: W::Kind,
    watched: &'a Watched<W::Fact>,
    /// An unreadable object was logged.
    has_logged: bool,
    /// The failure that was logged last, until a list or a watch succeeds.
    logged: Option<WatchError>,
    /// The world knows that the watch failed, and not yet that it goes on.
    is_lost: bool,
}

impl<W: World> Handle<W> {
    /// Follows the kind of a row.
    pub(crate) async fn follow(self: Arc<Self>, kind: W::Kind, row: Arc<Row<W>>) -> Infallible {
        let api = self.writer(row.watched.server).api();
        let mut reports = RowReports {
            work: &self,
            kind,
            watched: &row.watched,
            has_logged: false,
            logged: None,
            is_lost: false,
        };
        follow(api, &row.watched, &row.list_anew, &mut reports).await
    }

    /// Applies an object that a call of this controller read.
    pub fn observed(&self, kind: W::Kind, object: &RawObject) {
        let row = self.rows().get(&kind).cloned();
        if let Some(row) = row {
            self.see(kind, &row.watched, &object.item(), Source::Read);
        }
    }

    /// Applies an object that a call of this controller read, and that the watch of its kind leaves out.
    pub fn observed_beside(&self, kind: W::Kind, object: &RawObject) {
        let row = self.rows().get(&kind).cloned();
        if let Some(row) = row {
            self.see(kind, &row.watched, &object.item(), Source::Beside);
        }
    }

    /// Returns true if an object exists, as far as the watch of its kind and calls of this controller have shown. After the first list of
    /// the kind, an object that is not seen did not exist a moment ago.
    pub fn is_seen(&self, kind: W::Kind, namespace: &str, name: &str) -> bool {
        self.state().seen.has(kind, namespace, name)
    }

    /// What is known of a kind now. To be taken before a call that may find an object absent: see [`Handle::gone`].
    pub fn moment(&self, kind: W::Kind) -> Moment<W::Kind> {
        let version = self.state().seen.highest(kind);
        Moment { kind, version }
    }

    /// Removes an object that does not exist, as a call of this controller found that was sent after the moment. Does nothing if
    /// the object was reported since: an object of its name may have been created after the call, and if not, the watch will
    /// say so.
    pub fn gone(&self, since: Moment<W::Kind>, namespace: &str, name: &str) {
        let Moment { kind, version } = since;
        self.update(|state, wakes| {
            if state.seen.is_absent(kind, namespace, name, version) {
                state.world.gone(kind, namespace, name, wakes);
            }
        });
    }

    /// Applies an object that exists, or has changed, unless something newer is known.
    pub(super) fn see(
        &self,
        kind: W::Kind,
        watched: &Watched<W::Fact>,
        item: &Item<'_>,
        source: Source,
    ) {
        if self.state().seen.is_known(kind, &item.meta, source) {
            return;
        }
        // Before the state is locked: an object may have a megabyte.
        let fact = watched.read(item);
        if fact.is_err() {
            self.metrics.unreadable(watched.name);
        }
        self.update(|state, wakes| {
            let sight = Report {
                source,
                is_listing: state.seen.is_listing(kind),
                now: now(),
            };
            if !state.seen.is_news(kind, &item.meta, source) {
                return;
            }
            match fact {
                Ok(fact) => state.world.apply(kind, &item.meta, fact, sight, wakes),
                Err(error) => state.world.unreadable(kind, &item.meta, &error),
            }
        });
    }

    /// Removes an object that the watch reports as deleted.
    fn deleted(&self, kind: W::Kind, meta: &Meta) {
        self.update(|state, wakes| {
            if state.seen.is_gone(kind, meta) {
                let Meta {
                    namespace, name, ..
                } = meta;
                state.world.gone(kind, namespace, name, wakes);
            }
        });
    }

    pub(super) fn listing(&self, kind: W::Kind) {
        self.state().seen.listing(kind);
    }

    pub(super) fn listed(&self, kind: W::Kind, version: Option<u64>) {
        self.update(|state, wakes| {
            // First what is gone: `World::listed` decides by what exists.
            for (namespace, name) in state.seen.listed(kind, version) {
                state.world.gone(kind, &namespace, &name, wakes);
            }
            if let Some(version) = version {
                state.world.listed_at(kind, version);
            }
            state.world.listed(kind, now(), wakes);
        });
    }

    fn lost_sight(&self, kind: W::Kind, name: &'static str, error: &WatchError) {
        self.metrics.watch_failed(name);
        self.update(|state, wakes| state.world.lost_sight(kind, error, now(), wakes));
    }

    /// Removes the objects of a kind whose watch has ended.
    pub(crate) fn forget(&self, kind: W::Kind) {
        self.update(|state, wakes| {
            for (namespace, name) in state.seen.forget(kind) {
                state.world.gone(kind, &namespace, &name, wakes);
            }
        });
    }
}

// === impl RowReports ===

impl<W: World> Reports for RowReports<'_, W> {
    const RESUMES: bool = true;

    fn listing(&mut self) {
        self.work.listing(self.kind);
    }

    fn listed(&mut self, version: Option<u64>) {
        self.work.listed(self.kind, version);
        self.logged = None;
        self.is_lost = false;
        tracing::debug!(resource = self.watched.name, "listed");
    }

    fn object(&mut self, item: &Item<'_>) {
        self.work.see(self.kind, self.watched, item, Source::Watch);
    }

    fn deleted(&mut self, meta: &Meta) {
        self.work.deleted(self.kind, meta);
    }

    fn unreadable(&mut self, why: &str) {
        let resource = self.watched.name;
        self.work.metrics.unreadable(resource);
        self.work.state().seen.unreadable(self.kind);
        if !std::mem::replace(&mut self.has_logged, true) {
            tracing::warn!(
                resource,
                why,
                "an object cannot be read and is passed over; further ones are counted"
            );
        }
    }

    fn interrupted(&mut self, error: &WatchError) {
        let resource = self.watched.name;
        self.work.lost_sight(self.kind, resource, error);
        self.is_lost = true;
        let is_expected = error.then == Then::NextVersion && self.watched.optional;
        // Once: an agent that is not accepted yet may wait for days.
        if is_expected || self.logged.as_ref() == Some(error) {
            tracing::debug!(resource, %error, "a watch failed again and is begun anew");
        } else {
            tracing::warn!(resource, %error, "a watch failed and is begun anew");
            self.logged = Some(error.clone());
        }
    }

    fn resumed(&mut self) {
        self.logged = None;
        if std::mem::take(&mut self.is_lost) {
            self.work.update(|state, wakes| {
                state.world.regained_sight(self.kind, now(), wakes);
            });
        }
    }

    fn went_back(&mut self, from: u64, to: u64) {
        self.work.metrics.watch_went_back(self.watched.name);
        let mut state = self.work.state();
        // A version may be of two states of an object: one before the restore, and one after it.
        state.seen.reread(self.kind);
        state.world.went_back(self.kind, from, to);
    }
}
