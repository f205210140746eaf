//! Follows a kind: a list and a watch, whose reports go into a store. It is compiled once for all kinds.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use berth_reconcile::{Item, Meta, Reports, WatchError, Watched, follow_all};
use jiff::Timestamp;

use super::store::key;
use super::{Common, KEPT, Part};
use crate::answers::{Connection, HubAnswer};
use crate::rights::READS;

/// A kind, whatever its store.
pub(super) trait Followed: Send + Sync {
    fn common(&self) -> &Common;

    fn watched(&self) -> Watched<()>;

    /// The resource and its group, for messages.
    fn resource(&self) -> &'static str;

    /// Keeps an object, without telling it.
    fn insert(&self, key: &str, item: &Item<'_>);

    /// Forgets an object, without telling it.
    fn remove(&self, key: &str);

    /// Forgets the other objects, without telling it.
    fn retain(&self, listed: &HashSet<String>);

    fn connect(&self, change: &dyn Fn(&mut HubAnswer));

    /// Empties the store, if nobody looks. The next one who does begins anew.
    fn rests(&self) -> bool;
}

/// Writes what a watch reports into the store.
struct Filled<'a> {
    shared: &'a dyn Followed,
    /// While objects are listed: the keys of those that the list has named.
    listed: Option<HashSet<String>>,
}

/// Follows a kind until nobody looks, or the server ends.
pub(super) fn begin(shared: Arc<dyn Followed>) {
    let tasks = shared.common().tasks.clone();
    let ended = tasks.end.cancelled_owned();
    tasks.tracker.spawn(async move {
        tokio::select! {
            () = ended => {}
            () = follow(&*shared) => {}
        }
    });
}

async fn follow(shared: &dyn Followed) {
    let common = shared.common();
    let watched = common.part.of(shared.watched());
    let mut filled = Filled {
        shared,
        listed: None,
    };
    tokio::select! {
        never = follow_all(common.hub.api(), &watched, &mut filled) => match never {},
        () = idle(shared) => {}
    }
}

/// Ends when nobody has looked for [`KEPT`]. Then the store is empty, and the next one begins anew.
async fn idle(shared: &dyn Followed) {
    let common = shared.common();
    let mut open = common.open.subscribe();
    let kept = match common.part {
        Part::All => KEPT,
        _ => Duration::ZERO,
    };
    loop {
        // The sender lives as long as this.
        if open.wait_for(|count| *count == 0).await.is_err() {
            return;
        }
        let opened = tokio::time::timeout(kept, open.wait_for(|count| *count > 0));
        if opened.await.is_err() && shared.rests() {
            return;
        }
    }
}

/// Returns what a failed list or watch means, and what to do.
fn judge(code: u16, resource: &str) -> (Connection, String) {
    match code {
        401 => (
            Connection::Refused,
            "sign in at the hub again, for example by kubectl, and reload".to_owned(),
        ),
        403 => (
            Connection::Refused,
            format!(
                "ask an admin for a role that may list and watch {resource}: {READS} is one"
            ),
        ),
        404 => (
            Connection::Refused,
            "this API server has none of the CRDs of a hub: choose another --context, or install the hub by `berth init`".to_owned(),
        ),
        _ => (
            Connection::Away,
            "the page shows what was known, and goes on by itself when the hub answers".to_owned(),
        ),
    }
}

// === impl Filled ===

impl Filled<'_> {
    fn stands(&self, state: Connection, message: Option<&str>, remedy: Option<&str>) {
        self.shared.connect(&|connection| {
            let since = match connection.state == state {
                true => connection.since,
                false => Timestamp::now(),
            };
            *connection = HubAnswer {
                state,
                since,
                message: message.map(Into::into),
                remedy: remedy.map(Into::into),
                missing: None,
            };
        });
        self.shared.common().tell();
    }
}

impl Reports for Filled<'_> {
    const RESUMES: bool = true;

    fn listing(&mut self) {
        self.listed = Some(HashSet::new());
    }

    fn listed(&mut self, _: Option<u64>) {
        if let Some(listed) = self.listed.take() {
            self.shared.retain(&listed);
        }
        self.stands(Connection::Connected, None, None);
    }

    fn object(&mut self, item: &Item<'_>) {
        let key = key(&item.meta);
        self.shared.insert(&key, item);
        match &mut self.listed {
            // Told at the end of the list.
            Some(listed) => {
                listed.insert(key);
            }
            None => self.shared.common().tell(),
        }
    }

    fn deleted(&mut self, meta: &Meta) {
        self.shared.remove(&key(meta));
        self.shared.common().tell();
    }

    fn unreadable(&mut self, _: &str) {}

    fn interrupted(&mut self, error: &WatchError) {
        self.listed = None;
        let (state, remedy) = judge(error.code, self.shared.resource());
        self.stands(state, Some(&error.message), Some(&remedy));
    }

    fn resumed(&mut self) {
        self.stands(Connection::Connected, None, None);
    }
}
