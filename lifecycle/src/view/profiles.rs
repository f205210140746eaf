//! ClusterProfiles, and which of them a change concerns. Without the gate `ClusterProfile`, all of this does nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_api::conditions::{TRUE, cluster_set_binding::BOUND};

use super::{Entry, Key, View};
use crate::object::PartialObject;
use berth_lifecycle_core::facts::{Binding, Profile};
use berth_lifecycle_core::profiles::{Membership, ProfileFacts};

/// How long nothing is created in a namespace that was being deleted.
const CLOSED: Duration = Duration::from_secs(300);

/// The ClusterProfiles of the hub.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    /// By namespace, then by name.
    stored: HashMap<Arc<str>, BTreeMap<Arc<str>, Profile>>,
    /// They have been listed, so one that is not here does not exist.
    are_listed: bool,
    /// Namespaces that were being deleted, and when one is tried again. They may hold bindings for long, and would refuse one write for
    /// each cluster.
    closed: HashMap<Arc<str>, Instant>,
    /// It was logged that the hub does not serve them.
    is_missed: bool,
}

impl View {
    /// Calls `make` with the facts about a ClusterProfile. None if ClusterProfiles are not watched.
    pub(crate) fn with_profile<T>(
        &self,
        namespace: &str,
        name: &str,
        make: impl FnOnce(&ProfileFacts<'_>) -> T,
    ) -> Option<T> {
        let stored = self.profiles.stored.get(namespace);
        self.profiles.are_listed.then(|| {
            make(&ProfileFacts {
                namespace,
                name,
                membership: self.membership(namespace, self.clusters.get(name)),
                cluster: self.cluster(name),
                stored: stored.and_then(|names| names.get(name)),
                closed_until: self.profiles.closed.get(namespace).copied(),
            })
        })
    }

    /// Records that a namespace is being deleted.
    pub(crate) fn namespace_ends(&mut self, namespace: Arc<str>, now: Instant) {
        self.profiles.closed.retain(|_, until| *until > now);
        self.profiles.closed.insert(namespace, now + CLOSED);
    }

    /// Records that a namespace has no binding any more: with the next one, it may be another namespace of that name.
    pub(super) fn namespace_may_be_new(&mut self, namespace: &str) {
        self.profiles.closed.remove(namespace);
    }

    /// The keys of all ClusterProfiles that exist or are wanted.
    pub(super) fn profile_keys(&self) -> Vec<Key> {
        let namespaces = self.profile_namespaces().into_iter();
        namespaces.flat_map(|it| self.profiles_in(it)).collect()
    }

    pub(super) fn profile_changed(
        &mut self,
        namespace: Arc<str>,
        name: Arc<str>,
        object: &PartialObject,
    ) {
        let names = self.profiles.stored.entry(namespace.clone()).or_default();
        names.insert(name.clone(), Profile::read(&object.value));
        self.wake_profile(&namespace, &name);
    }

    pub(super) fn profile_gone(&mut self, namespace: &str, name: &str) {
        if let Some(names) = self.profiles.stored.get_mut(namespace) {
            names.remove(name);
            if names.is_empty() {
                self.profiles.stored.remove(namespace);
            }
            self.wake_profile(&namespace.into(), &name.into());
        }
    }

    /// Records that the hub's ClusterProfiles have been listed.
    pub(crate) fn profiles_are_listed(&mut self) {
        self.profiles.are_listed = true;
        self.profiles.is_missed = false;
        self.wakes.extend(self.profile_keys());
    }

    /// Records that the hub does not serve ClusterProfiles. Returns true if that is news.
    pub(crate) fn profiles_are_missing(&mut self) -> bool {
        self.profiles.are_listed = false;
        !std::mem::replace(&mut self.profiles.is_missed, true)
    }

    /// Wake the ClusterProfiles of a cluster: those that exist, and those that are wanted now.
    pub(super) fn wake_profiles_of(&mut self, cluster: &str) {
        if !self.profiles.are_listed {
            return;
        }
        let entry = self.clusters.get_key_value(cluster);
        let name = entry.map_or_else(|| cluster.into(), |(name, _)| name.clone());
        let entry = entry.map(|(_, entry)| entry);
        let concerned = self.profile_namespaces().into_iter().filter(|namespace| {
            let stored = self.profiles.stored.get(*namespace);
            stored.is_some_and(|names| names.contains_key(cluster))
                || self.membership(namespace, entry) == Membership::Member
        });
        let keys = concerned.map(|namespace| Key::Profile(namespace.clone(), name.clone()));
        let keys: Vec<_> = keys.collect();
        self.wakes.extend(keys);
    }

    /// Wake the ClusterProfiles of a namespace: those that exist, and those that are wanted now.
    pub(super) fn wake_profiles_in(&mut self, namespace: &Arc<str>) {
        if self.profiles.are_listed {
            self.wakes.extend(self.profiles_in(namespace));
        }
    }

    /// Wake the ClusterProfiles of the namespaces that a set is bound to.
    pub(super) fn wake_profiles_of_set(&mut self, set: &str) {
        let bound = self.bindings.iter().filter(|(_, names)| {
            let mut bindings = names.values();
            bindings.any(|binding| binding.cluster_set == set)
        });
        let namespaces: Vec<_> = bound.map(|(namespace, _)| namespace.clone()).collect();
        for namespace in &namespaces {
            self.wake_profiles_in(namespace);
        }
    }

    fn wake_profile(&mut self, namespace: &Arc<str>, name: &Arc<str>) {
        if self.profiles.are_listed {
            self.wakes
                .push(Key::Profile(namespace.clone(), name.clone()));
        }
    }

    fn profile_namespaces(&self) -> BTreeSet<&Arc<str>> {
        let stored = self.profiles.stored.keys();
        self.bindings.keys().chain(stored).collect()
    }

    fn profiles_in(&self, namespace: &Arc<str>) -> Vec<Key> {
        if !self.profiles.are_listed {
            return Vec::new();
        }
        let stored = self.profiles.stored.get(namespace);
        let stored = stored.into_iter().flat_map(BTreeMap::keys);
        let is_bound = self.bindings.contains_key(namespace);
        let members = self.clusters.iter().filter(|(_, entry)| {
            is_bound && self.membership(namespace, Some(entry)) == Membership::Member
        });
        let names: BTreeSet<_> = members.map(|(name, _)| name).chain(stored).collect();
        names
            .into_iter()
            .map(|name| Key::Profile(namespace.clone(), name.clone()))
            .collect()
    }

    /// The relation of a cluster to the sets that are bound to a namespace.
    fn membership(&self, namespace: &str, entry: Option<&Entry>) -> Membership {
        let mut found = Membership::Outsider;
        let bindings = self.bindings.get(namespace);
        for binding in bindings.into_iter().flat_map(BTreeMap::values) {
            if binding.cluster_set.is_empty() {
                // It could not be read.
                found = Membership::Unknown;
            } else if let Some((set, _)) = self.sets.get(&binding.cluster_set) {
                let is_in = entry.is_some_and(|entry| self.sets.has(&set.name, &entry.sets));
                match bound(binding) {
                    Some(TRUE) if is_in => return Membership::Member,
                    Some(TRUE) if set.membership.is_err() => found = Membership::Unknown,
                    // The hub has not decided yet whether the binding has effect.
                    None if is_in => found = Membership::Unknown,
                    _ => {}
                }
            }
        }
        found
    }
}

/// The status of the condition `Bound`: whether the binding has effect. None: the hub has not decided yet.
pub(super) fn bound(binding: &Binding) -> Option<&str> {
    let mut conditions = binding.conditions.iter();
    let condition = conditions.find(|condition| condition.type_ == BOUND)?;
    Some(&condition.status)
}
