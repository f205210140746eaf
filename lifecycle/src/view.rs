//! The last observed state of the hub: facts, and the keys that a change of them wakes.
//!
//! # Guarantees
//! - An object that cannot be read affects itself only. Every ManagedCluster is read: fields that cannot be read count as absent.

mod by_cluster;
mod changes;
mod index;
mod objects;
mod profiles;
mod requests;
mod sets;
#[cfg(test)]
mod tests;

pub(crate) use berth_reconcile::Source;
pub(crate) use objects::read_request;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use berth_lifecycle_core::clusters::Turn;
use berth_lifecycle_core::config::Config;
use berth_lifecycle_core::csrs::CheckedRequest;
use berth_lifecycle_core::facts::{
    Addon, Binding, Cluster, ClusterFacts, ClusterSet, Lease, Now, Owned, OwnedObjects, Remaining,
};
use by_cluster::ByCluster;
use profiles::Profiles;
use requests::Requests;
use sets::{Sets, Slots};

/// A key of the work queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// A cluster, by name.
    Cluster(Arc<str>),
    /// A cluster whose turn comes apart from others, by name.
    Apart(Turn, Arc<str>),
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
    /// A ClusterProfile, by namespace and name.
    Profile(Arc<str>, Arc<str>),
}

/// The last observed state of the hub.
#[derive(Debug)]
pub(crate) struct View {
    config: Arc<Config>,
    clusters: HashMap<Arc<str>, Entry>,
    /// The number of clusters with a ManagedCluster.
    existing: usize,
    sets: Sets,
    /// By namespace, then by name.
    bindings: HashMap<Arc<str>, BTreeMap<Arc<str>, Binding>>,
    profiles: Profiles,
    registration_role: Option<Owned>,
    work_role: Option<Owned>,
    /// The error that prevents writing the two, as text for users.
    common_roles_failure: Option<String>,
    /// CSRs that are pending, or have another cluster's label.
    requests: Requests,
    /// The clusters of `requests`.
    pending: ByCluster,
    /// Valid CSRs, pending or approved, of users whose clusters are accepted automatically.
    trusted: ByCluster,
    /// CSRs of those users that an admin denied.
    refused: ByCluster,
    blind: Option<Blind>,
    /// The reported reasons why CSRs are not approved.
    reported: HashMap<Arc<str>, &'static str>,
    wakes: Vec<Key>,
    /// The current objects are from a list of leases, which shows renewals late.
    pub(super) lists_leases: bool,
}

/// A time in which leases are not watched: missing renewals in it mean nothing.
#[derive(Clone, Copy, Debug)]
struct Blind {
    since: Instant,
    /// Its end, if the watch does not fail again.
    until: Instant,
}

#[derive(Debug, Default)]
struct Entry {
    cluster: Option<Cluster>,
    was_there: bool,
    /// The resourceVersion of a ManagedCluster that is too large for any write.
    full: Option<String>,
    owned: OwnedObjects,
    namespace_taken: Option<bool>,
    lease: Option<Lease>,
    addons: BTreeMap<Box<str>, Addon>,
    /// The sets that the ManagedCluster belongs to.
    sets: Slots,
}

/// The numbers of clusters and leases, by state.
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
            profiles: Profiles::default(),
            registration_role: None,
            work_role: None,
            common_roles_failure: None,
            requests: Requests::default(),
            pending: ByCluster::default(),
            trusted: ByCluster::default(),
            refused: ByCluster::default(),
            blind: None,
            reported: HashMap::new(),
            wakes: Vec::new(),
            lists_leases: false,
        }
    }

    /// The keys that changes since the last call have woken.
    pub(crate) fn wakes(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.wakes)
    }

    /// All keys, for the start.
    pub(crate) fn all(&self) -> Vec<Key> {
        let clusters = self.clusters.keys().cloned().map(Key::Cluster);
        let sets = self.sets.names().cloned().map(Key::Set);
        let bindings = self.bindings.iter().flat_map(|(namespace, names)| {
            names
                .keys()
                .map(|name| Key::Binding(namespace.clone(), name.clone()))
        });
        let csrs = self.requests.names().cloned().map(Key::Csr);
        [Key::CommonRoles, Key::DefaultSets]
            .into_iter()
            .chain(sets)
            .chain(bindings)
            .chain(csrs)
            .chain(clusters)
            .chain(self.profile_keys())
            .collect()
    }

    /// Calls `make` with the facts about a cluster. None if the view has none.
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
        let owned = match entry.cluster {
            Some(_) => Cow::Borrowed(&entry.owned),
            None => Cow::Owned(entry.owned.without_cluster()),
        };
        make(&ClusterFacts {
            config: &self.config,
            name,
            cluster: entry.cluster.as_ref(),
            was_there: entry.was_there,
            full: entry
                .cluster
                .as_ref()
                .is_some_and(|cluster| entry.full.as_ref() == Some(&cluster.resource_version)),
            owned: &owned,
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

    /// Records if a namespace of the cluster's name exists without its label. None: unknown.
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

    /// Records that the ManagedCluster is too large for any write. Returns false if that is recorded already.
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

    /// A set, and the number of its members.
    pub(crate) fn set(&self, name: &str) -> Option<(&ClusterSet, usize)> {
        self.sets.get(name)
    }

    pub(crate) fn binding(&self, namespace: &str, name: &str) -> Option<&Binding> {
        self.bindings.get(namespace)?.get(name)
    }

    /// A CSR that waits for a decision. `Some(None)`: it must be read from the hub.
    pub(crate) fn request(&self, name: &str) -> Option<Option<&CheckedRequest>> {
        self.requests.get(name)
    }

    /// Records the reason why a CSR is not approved. Returns false if that reason was recorded already.
    pub(crate) fn report(&mut self, name: &str, reason: &'static str) -> bool {
        let Some(name) = self.requests.name(name) else {
            return false;
        };
        self.reported.insert(name.clone(), reason) != Some(reason)
    }

    /// Returns true if a ManagedCluster exists, and the two ClusterRoles that all agents share.
    pub(crate) fn common_roles(&self) -> (bool, Option<&Owned>, Option<&Owned>) {
        (
            self.existing > 0,
            self.registration_role.as_ref(),
            self.work_role.as_ref(),
        )
    }

    /// Records the error that prevents writing the shared ClusterRoles. None: they can be written.
    pub(crate) fn common_roles_fail(&mut self, why: Option<String>) {
        if self.common_roles_failure == why {
            return;
        }
        self.common_roles_failure = why;
        // Only clusters without role bindings wait for the roles.
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
        use berth_api::conditions::{self, TRUE, UNKNOWN};
        let mut census = Census::default();
        for entry in self.clusters.values() {
            let Some(cluster) = &entry.cluster else {
                continue;
            };
            let is = |type_, status| cluster.condition_status(type_) == Some(status);
            let of = |counted: bool| usize::from(counted);
            census.unreadable += of(!cluster.unreadable.is_empty());
            let accepted = is(conditions::cluster::HUB_ACCEPTED, TRUE);
            census.accepted += of(accepted);
            census.not_accepted += of(!accepted);
            census.joined += of(is(conditions::cluster::JOINED, TRUE));
            census.deleting += of(cluster.deleting);
            match cluster.condition_status(conditions::cluster::AVAILABLE) {
                Some(TRUE) => census.available += 1,
                None | Some(UNKNOWN) => census.unknown += 1,
                Some(_) => census.unavailable += 1,
            }
            if let Some(lease) = &entry.lease {
                let expired = berth_lifecycle_core::heartbeat::is_expired(cluster, lease, now);
                census.leases_expired += of(expired);
                census.leases_fresh += of(!expired);
            }
        }
        census
    }
}
