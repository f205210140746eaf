//! The effects of a changed object, kind by kind.

use std::sync::Arc;

use berth_api::cluster::CLUSTER_LEASE;
use berth_api::cluster_set::Membership;
use berth_api::{ManagedClusterSet, ManagedClusterSetBinding, labels, lenient};
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;

use super::index::owner;
use super::profiles::bound;
use super::{Entry, Key, Source, View};
use crate::kinds::Kind;
use crate::object::PartialObject;
use berth_lifecycle_core::config::Config;
use berth_lifecycle_core::csrs::CheckedRequest;
use berth_lifecycle_core::facts::{
    Addon, Binding, CertificateRequest, Cluster, ClusterSet, Lease, Now, Owned, Standing,
};
use berth_lifecycle_core::{clock, csrs, heartbeat, names, roles};

impl View {
    pub(super) fn cluster_changed(&mut self, name: &Arc<str>, object: &PartialObject) {
        let mut new = Cluster {
            left_out: object.left_out,
            is_large: object.is_large,
            ..Cluster::read(&object.value)
        };
        if !self.config.gates.cluster_profile {
            new.reported = None;
        }
        let entry = self.clusters.entry(name.clone()).or_default();
        let mut old = entry.cluster.take();
        let mut known_unreadable = None;
        let reports_anew = (old.as_ref()).is_some_and(|old| old.reported != new.reported);
        if let Some(old) = &mut old {
            // A new resourceVersion alone is no change: agents report much that decisions do not need.
            old.resource_version.clone_from(&new.resource_version);
            old.reported.clone_from(&new.reported);
            known_unreadable = Some(&old.unreadable);
        }
        if !new.unreadable.is_empty() && known_unreadable != Some(&new.unreadable) {
            let fields = &new.unreadable;
            tracing::warn!(cluster = %name, %fields, "fields of the ManagedCluster cannot be parsed and count as absent");
        }
        if old.as_ref() == Some(&new) {
            entry.cluster = Some(new);
            if reports_anew {
                self.wake_profiles_of(name);
            }
            return;
        }
        entry.cluster = Some(new.clone());
        self.membership_changed(name, old.as_ref(), Some(&new));
        self.wake_cluster(name);
        self.wake_profiles_of(name);
    }

    /// Updates the members of sets, and wakes the keys that depend on a cluster's acceptance and existence.
    pub(super) fn membership_changed(
        &mut self,
        name: &str,
        old: Option<&Cluster>,
        new: Option<&Cluster>,
    ) {
        match (old.is_some(), new.is_some()) {
            (false, true) => self.existing += 1,
            (true, false) => self.existing = self.existing.saturating_sub(1),
            _ => {}
        }
        if old.is_some() != new.is_some() && self.existing <= 1 {
            self.wakes.push(Key::CommonRoles);
        }
        let accepted = |cluster: Option<&Cluster>| cluster.is_some_and(|cluster| cluster.accepted);
        if accepted(old) != accepted(new) {
            let bindings = self.bindings.get_key_value(name);
            let keys = bindings.into_iter().flat_map(|(namespace, names)| {
                names
                    .keys()
                    .map(|name| Key::Binding(namespace.clone(), name.clone()))
            });
            self.wakes.extend(keys);
        }
        // A trusted user may have sent its CSR before the ManagedCluster.
        self.wake_requests(name);
        let (old, new) = (
            old.map(|cluster| &cluster.labels),
            new.map(|cluster| &cluster.labels),
        );
        if old == new {
            return;
        }
        let sets = new.map(|labels| self.sets.selecting(labels));
        let sets = sets.unwrap_or_default();
        if let Some(entry) = self.clusters.get_mut(name) {
            let moved = self.sets.moved(&entry.sets, &sets);
            self.wakes.extend(moved.into_iter().map(Key::Set));
            entry.sets = sets;
        }
    }

    pub(super) fn set_changed(&mut self, name: Arc<str>, object: &PartialObject) {
        let set = match lenient::with_conditions::<ManagedClusterSet>(&object.value) {
            Ok(set) => ClusterSet::from(set.object),
            Err(error) => {
                tracing::warn!(set = %name, %error, "a ManagedClusterSet cannot be parsed and is not changed");
                return;
            }
        };
        let (slot, old) = self.sets.insert(set);
        let Some((set, _)) = self.sets.get(&name) else {
            return;
        };
        let is_new = old.is_none();
        let selects_others = (old.as_ref()).is_none_or(|old| old.selector != set.selector);
        let concerns_members = old.is_none_or(|old| {
            old.managed_namespaces != set.managed_namespaces || old.deleting != set.deleting
        });
        if selects_others {
            // First the clusters that leave the set, below those that join it.
            self.wake_members(&name, slot);
            self.reselect(&name, slot);
        }
        if selects_others || concerns_members {
            self.wake_members(&name, slot);
        }
        if selects_others {
            self.wake_profiles_of_set(&name);
        }
        if is_new {
            self.wake_bindings_of(&name);
        }
        if [labels::DEFAULT_SET, labels::GLOBAL_SET].contains(&&*name) {
            self.wakes.push(Key::DefaultSets);
        }
        self.wakes.push(Key::Set(name));
    }

    /// Matches a set with a changed selector against all clusters.
    fn reselect(&mut self, name: &str, slot: usize) {
        let Some((set, _)) = self.sets.get(name) else {
            return;
        };
        let selects = set.membership.as_ref().ok().map(Membership::for_many);
        let mut members = 0;
        for entry in self.clusters.values_mut() {
            let selects =
                |cluster: &Cluster| selects.as_ref().is_some_and(|it| it(&cluster.labels));
            let is = entry.cluster.as_ref().is_some_and(selects);
            entry.sets.set(slot, is);
            members += usize::from(is);
        }
        drop(selects);
        self.sets.count(slot, members);
    }

    /// Wake the clusters of a set, and those whose status names it.
    pub(super) fn wake_members(&mut self, name: &str, slot: usize) {
        for (cluster, entry) in &self.clusters {
            let names = |cluster: &Cluster| {
                let mut namespaces = cluster.managed_namespaces.iter();
                namespaces.any(|namespace| namespace.cluster_set == name)
            };
            if entry.sets.contains(slot) || entry.cluster.as_ref().is_some_and(names) {
                self.wakes.push(Key::Cluster(cluster.clone()));
            }
        }
    }

    pub(super) fn wake_bindings_of(&mut self, set: &str) {
        for (namespace, names) in &self.bindings {
            let of = names
                .iter()
                .filter(|(_, binding)| binding.cluster_set == set);
            let keys = of.map(|(name, _)| Key::Binding(namespace.clone(), name.clone()));
            self.wakes.extend(keys);
        }
    }

    pub(super) fn binding_changed(
        &mut self,
        namespace: Arc<str>,
        name: Arc<str>,
        object: &PartialObject,
    ) {
        let binding = match lenient::with_conditions::<ManagedClusterSetBinding>(&object.value) {
            Ok(binding) => Binding::from(binding.object),
            Err(error) => {
                tracing::warn!(%namespace, binding = %name, %error, "a ManagedClusterSetBinding cannot be parsed");
                // It still marks its namespace as a workspace.
                Binding {
                    deleting: true,
                    ..Binding::default()
                }
            }
        };
        let effect = |binding: &Binding| {
            let bound = bound(binding).map(str::to_owned);
            (binding.cluster_set.clone(), bound)
        };
        let new_effect = effect(&binding);
        let names = self.bindings.entry(namespace.clone()).or_default();
        let old = names.insert(name.clone(), binding);
        if old.is_none() {
            self.wake_cluster(&namespace);
        }
        if old.as_ref().map(effect) != Some(new_effect) {
            self.wake_profiles_in(&namespace);
        }
        self.wakes.push(Key::Binding(namespace, name));
    }

    pub(super) fn addon_changed(&mut self, namespace: &str, name: &str, object: &PartialObject) {
        let addon = match Addon::read(&object.value) {
            Ok(addon) => addon,
            Err(error) => {
                tracing::warn!(
                    cluster = namespace,
                    addon = name,
                    %error,
                    "a ManagedClusterAddOn cannot be parsed"
                );
                return;
            }
        };
        let entry = self.clusters.entry(namespace.into()).or_default();
        entry.addons.insert(name.into(), addon);
        self.wake_cluster(namespace);
    }

    pub(super) fn lease_changed<V>(
        &mut self,
        object: &PartialObject<V>,
        renew_time: Option<Timestamp>,
        source: Source,
        now: Now,
    ) {
        let listing = self.lists_leases;
        if source == Source::Watch && !listing {
            self.sees_leases(now);
        }
        if object.name() != CLUSTER_LEASE {
            return;
        }
        let namespace = object.namespace();
        let resource_version = object.metadata.resource_version.clone();
        let entry = self.clusters.entry(namespace.into()).or_default();
        let Some(lease) = &mut entry.lease else {
            entry.lease = Some(Lease {
                resource_version,
                renew_time,
                renewed: heartbeat::first_seen(renew_time, now),
                first_seen: Some(now.instant),
                observed_wall: None,
            });
            self.wake_cluster(namespace);
            return;
        };
        lease.resource_version = resource_version;
        if lease.renew_time == renew_time {
            return;
        }
        lease.renew_time = renew_time;
        lease.renewed = now.instant;
        lease.first_seen = None;
        // A list shows a renewal late, so it cannot be used to compare clocks.
        let late = listing || source == Source::Read;
        lease.observed_wall = (!late).then_some(now.wall);
        // A renewal rarely wakes the cluster, only for its clock: thousands arrive each minute.
        let cluster = entry.cluster.as_ref();
        if cluster.is_some_and(|cluster| clock::new_verdict(cluster, lease).is_some()) {
            self.wake_cluster(namespace);
        }
    }

    pub(super) fn request_changed(&mut self, name: Arc<str>, object: &PartialObject) {
        let request = match object.read::<CertificateSigningRequest>() {
            Ok(request) => request,
            Err(error) => {
                tracing::warn!(csr = %name, error, "a CertificateSigningRequest cannot be parsed and is left to an admin");
                // Its former content is outdated.
                self.trusted.remove(&name);
                self.forget_request(&name);
                return;
            }
        };
        let read = CertificateRequest::read(request);
        // A listed user's valid request lets its cluster be accepted, unless an admin denied such a request.
        let vouches = read
            .as_ref()
            .filter(|(request, _)| csrs::is_from_listed_user(&self.config, request));
        let denied = vouches.is_some_and(|(request, _)| request.is_denied());
        let vouches = vouches.is_some_and(|(_, standing)| *standing != Standing::Refused);
        let cluster = object.label(labels::CLUSTER_NAME);
        let mut changed = false;
        for (all, is) in [(&mut self.trusted, vouches), (&mut self.refused, denied)] {
            if is {
                changed |= all.insert(&name, cluster);
            } else {
                all.remove(&name);
            }
        }
        if changed {
            self.wake_cluster(cluster);
            self.wake_requests(cluster);
        }
        let Some(request) = read.and_then(waiting) else {
            self.forget_request(&name);
            return;
        };
        self.pending.insert(&name, cluster);
        if self.requests.insert(&name, request) {
            self.reported.remove(&name);
        }
        self.wakes.push(Key::Csr(name));
    }

    /// Removes a CSR that needs no decision any more.
    pub(super) fn forget_request(&mut self, name: &str) {
        self.requests.remove(name);
        self.pending.remove(name);
        self.reported.remove(name);
    }

    /// Applies a change of a cluster's namespace or RBAC object; None: it is gone. An object with another cluster's label counts
    /// as gone: it is applied again if the cluster needs it, and otherwise not touched.
    pub(super) fn owned_changed(
        &mut self,
        kind: Kind,
        namespace: &str,
        name: &str,
        new: Option<Owned>,
    ) {
        let had_common_roles = self.has_common_roles();
        if kind == Kind::ClusterRole {
            let common = match name {
                names::REGISTRATION_ROLE => Some(&mut self.registration_role),
                names::WORK_ROLE => Some(&mut self.work_role),
                _ => None,
            };
            if let Some(slot) = common {
                *slot = new;
                self.wakes.push(Key::CommonRoles);
                if !had_common_roles && self.has_common_roles() {
                    // Role bindings wait for them.
                    self.wakes
                        .extend(self.clusters.keys().cloned().map(Key::Cluster));
                }
                return;
            }
        }
        let Some(owner) = owner(kind, namespace, name) else {
            return;
        };
        if new.is_none() && !self.clusters.contains_key(owner) {
            return;
        }
        let owned = &mut self.clusters.entry(owner.into()).or_default().owned;
        let slot = match kind {
            Kind::Namespace => &mut owned.namespace,
            Kind::ClusterRole => &mut owned.cluster_role,
            Kind::ClusterRoleBinding => &mut owned.cluster_role_binding,
            Kind::RoleBinding if name == names::registration_binding(owner) => {
                &mut owned.registration_binding
            }
            _ => &mut owned.work_binding,
        };
        let mut old = std::mem::replace(slot, new.clone());
        if let (Some(old), Some(new)) = (&mut old, &new) {
            old.resource_version.clone_from(&new.resource_version);
        }
        if old != new {
            self.wake_cluster(owner);
            if kind == Kind::Namespace {
                self.wake_requests(owner);
            }
        }
    }

    pub(super) fn wake_cluster(&mut self, name: &str) {
        if let Some((name, _)) = self.clusters.get_key_value(name) {
            self.wakes.push(Key::Cluster(name.clone()));
        }
    }

    pub(super) fn wake_requests(&mut self, cluster: &str) {
        self.wakes
            .extend(self.pending.of(cluster).cloned().map(Key::Csr));
    }

    pub(super) fn forget_empty(&mut self, name: &str) {
        let is_empty = |entry: &Entry| {
            entry.cluster.is_none()
                && entry.owned == Default::default()
                && entry.lease.is_none()
                && entry.addons.is_empty()
        };
        if self.clusters.get(name).is_some_and(is_empty) {
            self.clusters.remove(name);
        }
    }
}

/// Returns true if the hub keeps this object for a cluster: it has exactly the name of one of the cluster's objects, and the
/// cluster's label. The ClusterRoles that all agents share are known by their names.
pub(super) fn is_owned(kind: Kind, object: &PartialObject) -> bool {
    let (namespace, name) = (object.namespace(), object.name());
    let shared =
        kind == Kind::ClusterRole && [names::REGISTRATION_ROLE, names::WORK_ROLE].contains(&name);
    shared
        || owner(kind, namespace, name)
            .is_some_and(|cluster| object.label(labels::CLUSTER_NAME) == cluster)
}

pub(super) fn owned(config: &Config, object: &PartialObject) -> Owned {
    let metadata = &object.value["metadata"];
    let finalizers = metadata["finalizers"].as_array().into_iter().flatten();
    let finalizers = finalizers.filter_map(|finalizer| finalizer.as_str());
    let (ours, others): (Vec<_>, Vec<_>) =
        finalizers.partition(|finalizer| *finalizer == labels::MANIFEST_WORK_CLEANUP);
    Owned {
        uid: object.metadata.uid.clone(),
        resource_version: object.metadata.resource_version.clone(),
        deleting: !metadata["deletionTimestamp"].is_null(),
        work_finalizer: !ours.is_empty(),
        other_finalizers: others.into_iter().map(str::to_owned).collect(),
        fingerprint: roles::fingerprint(config, &object.value),
        is_of_agent: roles::is_of_agent(&object.value),
    }
}

/// A CSR that waits for a decision.
fn waiting((request, standing): (CertificateRequest, Standing)) -> Option<CheckedRequest> {
    if standing == Standing::Pending || csrs::is_foreign(&request) {
        CheckedRequest::new(request)
    } else {
        None
    }
}

/// Reads a CSR that the view does not keep. None if it does not wait for a decision.
pub(crate) fn read_request(object: &PartialObject) -> Option<CheckedRequest> {
    let request = object.read().ok()?;
    CertificateRequest::read(request).and_then(waiting)
}
