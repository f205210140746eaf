//! The hub as it was last seen: facts, and what a change of them concerns.
//!
//! # Guarantees
//! - An object that cannot be read concerns itself only. Every ManagedCluster is read: fields that cannot be count as absent.

mod by_cluster;
mod changes;
mod index;
mod objects;
mod sets;
#[cfg(test)]
mod tests;

pub(crate) use berth_reconcile::Source;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use crate::config::Config;
use crate::csrs::CheckedRequest;
use crate::facts::{
    Addon, Binding, Cluster, ClusterFacts, ClusterSet, Lease, Now, Owned, OwnedObjects, Remaining,
};
use by_cluster::ByCluster;
use sets::{Sets, Slots};

/// What may have to be worked on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// A cluster, by name.
    Cluster(Arc<str>),
    /// The ClusterRoles that all agents share.
    CommonRoles,
    /// The default and the global set.
    DefaultSets,
    /// The status of a set.
    Set(Arc<str>),
    /// The status of a binding, by namespace and name.
    Binding(Arc<str>, Arc<str>),
    /// A pending CSR.
    Csr(Arc<str>),
}

/// The hub as it was last seen.
#[derive(Debug)]
pub(crate) struct View {
    config: Arc<Config>,
    clusters: HashMap<Arc<str>, Entry>,
    /// How many of them have a ManagedCluster.
    existing: usize,
    sets: Sets,
    /// By namespace, then by name.
    bindings: HashMap<Arc<str>, BTreeMap<Arc<str>, Binding>>,
    registration_role: Option<Owned>,
    work_role: Option<Owned>,
    /// What keeps the two from being written, for a person.
    common_roles_failure: Option<String>,
    /// CSRs that are pending, or have another cluster's label.
    requests: HashMap<Arc<str>, CheckedRequest>,
    /// Whose they are.
    pending: ByCluster,
    /// CSRs, decided or not, that users sent whose clusters are accepted without a person's doing.
    trusted: ByCluster,
    /// CSRs of those users that a person denied.
    refused: ByCluster,
    blind: Option<Blind>,
    /// Why a pending CSR was not approved, as was told.
    told: HashMap<Arc<str>, &'static str>,
    wakes: Vec<Key>,
    /// What is applied now is part of a list of leases: it reports a renewal some time after it was made.
    pub(super) lists_leases: bool,
}

/// A time in which leases cannot be watched: what is not seen then is no silence.
#[derive(Clone, Copy, Debug)]
struct Blind {
    since: Instant,
    /// When it is over, if the watch does not fail again.
    until: Instant,
}

#[derive(Debug, Default)]
struct Entry {
    cluster: Option<Cluster>,
    was_there: bool,
    /// This version of the ManagedCluster takes nothing more.
    full: Option<String>,
    owned: OwnedObjects,
    namespace_taken: Option<bool>,
    lease: Option<Lease>,
    addons: BTreeMap<Box<str>, Addon>,
    /// The sets that the ManagedCluster belongs to.
    sets: Slots,
}

/// How many clusters there are, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) accepted: usize,
    pub(crate) not_accepted: usize,
    pub(crate) joined: usize,
    pub(crate) available: usize,
    pub(crate) unavailable: usize,
    pub(crate) unknown: usize,
    pub(crate) deleting: usize,
    pub(crate) unreadable: usize,
    pub(crate) leases_fresh: usize,
    pub(crate) leases_expired: usize,
}

// === impl View ===

impl View {
    pub(crate) fn new(config: Arc<Config>) -> Self {
        Self {
            config,
            clusters: HashMap::new(),
            existing: 0,
            sets: Sets::default(),
            bindings: HashMap::new(),
            registration_role: None,
            work_role: None,
            common_roles_failure: None,
            requests: HashMap::new(),
            pending: ByCluster::default(),
            trusted: ByCluster::default(),
            refused: ByCluster::default(),
            blind: None,
            told: HashMap::new(),
            wakes: Vec::new(),
            lists_leases: false,
        }
    }

    /// What changes since the last call concern.
    pub(crate) fn wakes(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.wakes)
    }

    /// Everything there is, for a beginning.
    pub(crate) fn all(&self) -> Vec<Key> {
        let clusters = self.clusters.keys().cloned().map(Key::Cluster);
        let sets = self.sets.names().cloned().map(Key::Set);
        let bindings = self.bindings.iter().flat_map(|(namespace, names)| {
            names
                .keys()
                .map(|name| Key::Binding(namespace.clone(), name.clone()))
        });
        let csrs = self.requests.keys().cloned().map(Key::Csr);
        [Key::CommonRoles, Key::DefaultSets]
            .into_iter()
            .chain(sets)
            .chain(bindings)
            .chain(csrs)
            .chain(clusters)
            .collect()
    }

    /// Has something made of the facts about a cluster. None, if nothing is known of it.
    pub(crate) fn with_cluster<T>(
        &self,
        name: &str,
        remaining: Option<&[Remaining]>,
        make: impl FnOnce(&ClusterFacts<'_>) -> T,
    ) -> Option<T> {
        let entry = self.clusters.get(name)?;
        Some(self.with_entry(name, entry, remaining, make))
    }

    fn with_entry<T>(
        &self,
        name: &str,
        entry: &Entry,
        remaining: Option<&[Remaining]>,
        make: impl FnOnce(&ClusterFacts<'_>) -> T,
    ) -> T {
        let sets: Vec<_> = self.sets.of(&entry.sets).collect();
        let undecided: Vec<_> = self.sets.undecided().map(|set| &*set.name).collect();
        let bindings: Vec<_> = self
            .bindings
            .get(name)
            .into_iter()
            .flat_map(|names| names.keys().map(|name| &**name))
            .collect();
        make(&ClusterFacts {
            config: &self.config,
            name,
            cluster: entry.cluster.as_ref(),
            was_there: entry.was_there,
            full: entry
                .cluster
                .as_ref()
                .is_some_and(|cluster| entry.full.as_ref() == Some(&cluster.resource_version)),
            owned: &entry.owned,
            common_roles: self.has_common_roles(),
            common_roles_failure: self.common_roles_failure.as_deref(),
            lease: entry.lease.as_ref(),
            addons: &entry.addons,
            sets: &sets,
            undecided_sets: &undecided,
            bindings: &bindings,
            leases_watched: self.blind.is_none(),
            trusted_request: self.trusted.of(name).next().is_some(),
            refused_request: self.refused.of(name).next().is_some(),
            namespace_taken: entry.namespace_taken,
            remaining,
        })
    }

    /// Notes whether there is a namespace of the cluster's name without its label; None, if nobody can tell.
    pub(crate) fn namespace_is_taken(&mut self, cluster: &str, taken: Option<bool>) {
        if let Some(entry) = self.clusters.get_mut(cluster)
            && std::mem::replace(&mut entry.namespace_taken, taken) != taken
        {
            self.wake_requests(cluster);
        }
    }

    pub(crate) fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.clusters.get(name)?.cluster.as_ref()
    }

    /// Notes that the ManagedCluster, as it is, takes nothing more. False: that was noted already.
    pub(crate) fn is_full(&mut self, cluster: &str) -> bool {
        let Some(entry) = self.clusters.get_mut(cluster) else {
            return false;
        };
        let version = entry.cluster.as_ref().map(|it| it.resource_version.clone());
        let is_new = version.is_some() && entry.full != version;
        entry.full = version;
        is_new
    }

    pub(crate) fn lease(&self, cluster: &str) -> Option<&Lease> {
        self.clusters.get(cluster)?.lease.as_ref()
    }

    /// A set, and how many clusters belong to it.
    pub(crate) fn set(&self, name: &str) -> Option<(&ClusterSet, usize)> {
        self.sets.get(name)
    }

    pub(crate) fn binding(&self, namespace: &str, name: &str) -> Option<&Binding> {
        self.bindings.get(namespace)?.get(name)
    }

    pub(crate) fn request(&self, name: &str) -> Option<&CheckedRequest> {
        self.requests.get(name)
    }

    /// Notes why a pending CSR is not approved. False: that was told already.
    pub(crate) fn told(&mut self, name: &str, reason: &'static str) -> bool {
        let Some((name, _)) = self.requests.get_key_value(name) else {
            return false;
        };
        self.told.insert(name.clone(), reason) != Some(reason)
    }

    /// Whether there is any ManagedCluster, and the two ClusterRoles that all agents share.
    pub(crate) fn common_roles(&self) -> (bool, Option<&Owned>, Option<&Owned>) {
        (
            self.existing > 0,
            self.registration_role.as_ref(),
            self.work_role.as_ref(),
        )
    }

    /// Notes what keeps the shared ClusterRoles from being written; None, if nothing does.
    pub(crate) fn common_roles_fail(&mut self, why: Option<String>) {
        if self.common_roles_failure == why {
            return;
        }
        self.common_roles_failure = why;
        // Those that have all they need do not look at it.
        let waiting = self.clusters.iter().filter(|(_, entry)| {
            let accepted = |it: &Cluster| it.accepted;
            entry.cluster.as_ref().is_some_and(accepted)
                && entry.owned.registration_binding.is_none()
        });
        let waiting = waiting.map(|(name, _)| Key::Cluster(name.clone()));
        self.wakes.extend(waiting.collect::<Vec<_>>());
    }

    fn has_common_roles(&self) -> bool {
        self.registration_role.is_some() && self.work_role.is_some()
    }

    /// Counts the clusters.
    pub(crate) fn census(&self, now: Now) -> Census {
        use berth_api::conditions::{TRUE, UNKNOWN, cluster as types};
        let mut census = Census::default();
        for entry in self.clusters.values() {
            let Some(cluster) = &entry.cluster else {
                continue;
            };
            let is = |type_, status| cluster.condition_status(type_) == Some(status);
            let of = |counted: bool| usize::from(counted);
            census.unreadable += of(!cluster.unreadable.is_empty());
            let accepted = is(types::HUB_ACCEPTED, TRUE);
            census.accepted += of(accepted);
            census.not_accepted += of(!accepted);
            census.joined += of(is(types::JOINED, TRUE));
            census.deleting += of(cluster.deleting);
            match cluster.condition_status(types::AVAILABLE) {
                Some(TRUE) => census.available += 1,
                None | Some(UNKNOWN) => census.unknown += 1,
                Some(_) => census.unavailable += 1,
            }
            if let Some(lease) = &entry.lease {
                let expired = crate::heartbeat::is_expired(cluster, lease, now);
                census.leases_expired += of(expired);
                census.leases_fresh += of(!expired);
            }
        }
        census
    }
}
