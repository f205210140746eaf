//! What the view knows about the tokens of add-ons.

use std::collections::BTreeSet;

use berth_addons_core::tokens;
use berth_api::Now;
use berth_api::plan::Write;

use super::View;
use crate::keys::{Key, Place, place};

impl View {
    /// Applies an object with which agents ask for tokens, or its end.
    pub(super) fn token_changed(
        &mut self,
        kind: tokens::Kind,
        object: &Place,
        stored: Option<tokens::Stored>,
    ) -> Vec<Key> {
        let at = self.tokens.set(kind, object, stored);
        at.map(Key::Tokens).into_iter().collect()
    }

    /// Returns whether anything may be due for the tokens of an add-on on a cluster.
    pub(super) fn has_tokens(&self, at: &Place) -> bool {
        self.on(at).is_some_and(tokens::concerns) || self.tokens.has(at)
    }

    /// The keys of tokens on a cluster.
    pub(super) fn tokens_on(&self, cluster: &str) -> impl Iterator<Item = Key> {
        let concerned = self.on_clusters.iter().filter(|(_, all)| {
            let on = all.get(cluster);
            on.is_some_and(tokens::concerns)
        });
        let concerned = concerned.map(|(name, _)| place(cluster, name));
        let all: BTreeSet<_> = concerned.chain(self.tokens.on(cluster).cloned()).collect();
        all.into_iter().map(Key::Tokens)
    }

    /// All keys of tokens.
    pub(crate) fn all_tokens(&self) -> impl Iterator<Item = Key> {
        let all = self.on_clusters.iter().flat_map(|(name, all)| {
            let concerned = all.iter().filter(|(_, on)| tokens::concerns(on));
            concerned.map(move |(cluster, _)| place(cluster, name))
        });
        let all: BTreeSet<_> = all.chain(self.tokens.all().cloned()).collect();
        all.into_iter().map(Key::Tokens)
    }

    /// Decides what is next for the tokens of an add-on on a cluster. `fault`: why it cannot be made.
    pub(crate) fn decide_tokens(&self, at: &Place, fault: Option<&str>, now: Now) -> Option<Write> {
        let managed = self.clusters.get(&at.0);
        let is_readable = !self.unreadable.contains(at);
        if !is_readable && managed.is_some_and(|it| it.is_accepted) {
            return None;
        }
        let facts = tokens::Facts {
            addon: &at.1,
            cluster: &at.0,
            managed,
            // Nobody escapes a denial by a status that cannot be read.
            on: self.on(at).filter(|_| is_readable),
            stored: self.tokens.of(at),
            fault,
        };
        tokens::next(&facts, now)
    }
}
