//! Applies changes of the hub to the view.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::objects::{is_owned, owned};
use super::{Blind, Key, Source, View};
use crate::kinds::Kind;
use crate::object::{PartialObject, Renewal};
use berth_lifecycle_core::facts::Now;

/// A watch that has not failed for this time works. Longer than its interval between two attempts.
const SIGHT: Duration = Duration::from_secs(25);

impl View {
    /// Records that a watch failed.
    pub(crate) fn lost_sight(&mut self, kind: Kind, now: Now) {
        if kind == Kind::Lease {
            let blind = self.blind.get_or_insert(Blind {
                since: now.instant,
                until: now.instant,
            });
            blind.until = now.instant + SIGHT;
        }
    }

    /// Returns true if leases are not watched now, so that missing renewals mean nothing.
    pub(crate) fn is_blind(&mut self, now: Now) -> bool {
        if self.blind.is_some_and(|blind| blind.until <= now.instant) {
            self.sees_leases(now);
        }
        self.blind.is_some()
    }

    /// When to check again if leases are watched. None if they are. No event may wake the cluster, since all agents may be silent.
    pub(crate) fn sight(&self) -> Option<Instant> {
        self.blind.map(|blind| blind.until)
    }

    /// Records that leases are watched again. The time without a watch does not count as silence.
    pub(crate) fn sees_leases(&mut self, now: Now) {
        let Some(Blind { since, .. }) = self.blind.take() else {
            return;
        };
        let blind = now.instant.saturating_duration_since(since);
        for (name, entry) in &mut self.clusters {
            if let Some(lease) = entry.lease.as_mut() {
                let seen = [Some(&mut lease.renewed), lease.first_seen.as_mut()];
                for time in seen.into_iter().flatten().filter(|time| **time <= since) {
                    *time = time.checked_add(blind).unwrap_or(now.instant);
                }
            }
            self.wakes.push(Key::Cluster(name.clone()));
        }
    }

    /// Restarts the silence of a cluster's agent: the hub did not respond, so the agent could not renew its lease either.
    pub(crate) fn excuse(&mut self, cluster: &str, now: Now) {
        if let Some(lease) = self
            .clusters
            .get_mut(cluster)
            .and_then(|entry| entry.lease.as_mut())
        {
            lease.renewed = now.instant;
        }
    }

    /// Compares the renewal that the hub reports (`answered`, already applied to the view) with the renewal from which the
    /// silence was decided (`known`). Returns true if they confirm the silence.
    ///
    /// After a restore of the hub, the view may hold a newer lease than the hub, and ignore the answer. If the two renewals
    /// differ then, it is unknown which one is right: the silence restarts, so that the hub is not asked again at once.
    pub(crate) fn confirms_silence(
        &mut self,
        cluster: &str,
        answered: Option<Timestamp>,
        known: Option<Timestamp>,
        now: Now,
    ) -> bool {
        let is_as_known = (self.lease(cluster)).is_some_and(|held| held.renew_time == known);
        let confirmed = answered == known;
        if is_as_known && !confirmed {
            self.excuse(cluster, now);
        }
        is_as_known && confirmed
    }

    /// Applies a new or changed object.
    pub(crate) fn apply(&mut self, kind: Kind, object: &PartialObject, source: Source, now: Now) {
        let namespace: Arc<str> = object.namespace().into();
        let name: Arc<str> = object.name().into();
        match kind {
            Kind::Cluster => self.cluster_changed(&name, object),
            Kind::Set => self.set_changed(name, object),
            Kind::Binding => self.binding_changed(namespace, name, object),
            Kind::Addon => self.addon_changed(&namespace, &name, object),
            Kind::Lease => self.lease_changed(object, object.renew_time(), source, now),
            Kind::Csr => self.request_changed(name, object),
            Kind::Profile => self.profile_changed(namespace, name, object),
            Kind::Namespace | Kind::ClusterRole | Kind::ClusterRoleBinding | Kind::RoleBinding => {
                let owned = is_owned(kind, object).then(|| owned(&self.config, object));
                self.owned_changed(kind, &namespace, &name, owned);
            }
        }
    }

    /// Applies a new or changed Lease.
    pub(crate) fn apply_lease(&mut self, lease: &PartialObject<Renewal>, source: Source, now: Now) {
        self.lease_changed(lease, lease.value.time, source, now);
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, kind: Kind, namespace: &str, name: &str) {
        match kind {
            Kind::Cluster => {
                let Some(entry) = self.clusters.get_mut(name) else {
                    return;
                };
                let old = entry.cluster.take();
                entry.was_there |= old.is_some();
                entry.namespace_taken = None;
                self.membership_changed(name, old.as_ref(), None);
                self.wake_cluster(name);
                self.wake_profiles_of(name);
            }
            Kind::Set => {
                let Some((slot, _)) = self.sets.remove(name) else {
                    return;
                };
                self.wake_members(name, slot);
                for entry in self.clusters.values_mut() {
                    entry.sets.set(slot, false);
                }
                self.wake_bindings_of(name);
                self.wake_profiles_of_set(name);
                self.wakes.push(Key::DefaultSets);
            }
            Kind::Binding => {
                if let Some(names) = self.bindings.get_mut(namespace) {
                    names.remove(name);
                    if names.is_empty() {
                        self.bindings.remove(namespace);
                        self.namespace_may_be_new(namespace);
                    }
                    self.wake_cluster(namespace);
                    self.wake_profiles_in(&namespace.into());
                }
            }
            Kind::Addon => {
                if let Some(entry) = self.clusters.get_mut(namespace) {
                    entry.addons.remove(name);
                    self.wake_cluster(namespace);
                }
            }
            Kind::Lease => {
                if let Some(entry) = self.clusters.get_mut(namespace) {
                    entry.lease = None;
                    self.wake_cluster(namespace);
                }
            }
            Kind::Csr => {
                self.forget_request(name);
                self.trusted.remove(name);
                self.refused.remove(name);
            }
            Kind::Profile => self.profile_gone(namespace, name),
            Kind::Namespace | Kind::ClusterRole | Kind::ClusterRoleBinding | Kind::RoleBinding => {
                self.owned_changed(kind, namespace, name, None);
            }
        }
        for of in [namespace, name] {
            self.forget_empty(of);
        }
    }
}
