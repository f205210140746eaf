//! Where the view keeps what it knows of an object.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::View;
use crate::engine::kinds::Kind;
use crate::names;

impl View {
    /// The version of an object that is known.
    pub(super) fn version(&self, kind: Kind, namespace: &str, name: &str) -> Option<u64> {
        let owned = |owner: &str| self.clusters.get(owner).map(|entry| &entry.owned);
        let version = match kind {
            Kind::Cluster => &self.cluster(name)?.resource_version,
            Kind::Set => &self.set(name)?.0.resource_version,
            Kind::Binding => &self.binding(namespace, name)?.resource_version,
            Kind::Addon => {
                &self
                    .clusters
                    .get(namespace)?
                    .addons
                    .get(name)?
                    .resource_version
            }
            Kind::Lease => {
                &self
                    .clusters
                    .get(namespace)?
                    .lease
                    .as_ref()?
                    .resource_version
            }
            Kind::Csr => {
                let metadata = &self.requests.get(name)?.metadata;
                metadata.resource_version.as_ref()?
            }
            Kind::Namespace => &owned(name)?.namespace.as_ref()?.resource_version,
            Kind::RoleBinding => {
                let owned = owned(owner(kind, namespace, name)?)?;
                let slot = if name == names::work_binding(namespace) {
                    &owned.work_binding
                } else {
                    &owned.registration_binding
                };
                &slot.as_ref()?.resource_version
            }
            Kind::ClusterRole | Kind::ClusterRoleBinding => {
                let common = match name {
                    names::REGISTRATION_ROLE => Some(&self.registration_role),
                    names::WORK_ROLE => Some(&self.work_role),
                    _ => None,
                };
                if let (Kind::ClusterRole, Some(role)) = (kind, common) {
                    return role.as_ref()?.resource_version.parse().ok();
                }
                let owned = owned(names::cluster_of_role(name)?)?;
                let slot = if kind == Kind::ClusterRole {
                    &owned.cluster_role
                } else {
                    &owned.cluster_role_binding
                };
                &slot.as_ref()?.resource_version
            }
        };
        version.parse().ok()
    }

    /// The names of all objects of a kind that are known, with their namespaces.
    pub(super) fn names(&self, kind: Kind) -> Vec<(Arc<str>, Arc<str>)> {
        let none: Arc<str> = "".into();
        let clusters = self.clusters.iter();
        let of_cluster = |name: String, of: &Arc<str>, namespaced: bool| {
            let namespace = if namespaced { of } else { &none };
            (namespace.clone(), Arc::<str>::from(name))
        };
        match kind {
            Kind::Cluster => clusters
                .filter(|(_, entry)| entry.cluster.is_some())
                .map(|(name, _)| (none.clone(), name.clone()))
                .collect(),
            Kind::Set => {
                let names = self.sets.names();
                names.map(|name| (none.clone(), name.clone())).collect()
            }
            Kind::Binding => self
                .bindings
                .iter()
                .flat_map(|(namespace, names)| {
                    names.keys().map(|name| (namespace.clone(), name.clone()))
                })
                .collect(),
            Kind::Addon => clusters
                .flat_map(|(cluster, entry)| {
                    let names = entry.addons.keys();
                    names.map(|name| (cluster.clone(), Arc::from(&**name)))
                })
                .collect(),
            Kind::Lease => clusters
                .filter(|(_, entry)| entry.lease.is_some())
                .map(|(name, _)| of_cluster(names::CLUSTER_LEASE.to_owned(), name, true))
                .collect(),
            Kind::Csr => {
                let names = self.requests.keys().chain(self.trusted.names());
                let names: BTreeSet<_> = names.chain(self.refused.names()).collect();
                let names = names.into_iter();
                names.map(|name| (none.clone(), name.clone())).collect()
            }
            Kind::Namespace => clusters
                .filter(|(_, entry)| entry.owned.namespace.is_some())
                .map(|(name, _)| (none.clone(), name.clone()))
                .collect(),
            Kind::ClusterRole => {
                let common = [
                    (names::REGISTRATION_ROLE, &self.registration_role),
                    (names::WORK_ROLE, &self.work_role),
                ];
                let common = common.into_iter().filter(|(_, role)| role.is_some());
                let common = common.map(|(name, _)| (none.clone(), Arc::from(name)));
                clusters
                    .filter(|(_, entry)| entry.owned.cluster_role.is_some())
                    .map(|(name, _)| of_cluster(names::cluster_role(name), name, false))
                    .chain(common)
                    .collect()
            }
            Kind::ClusterRoleBinding => clusters
                .filter(|(_, entry)| entry.owned.cluster_role_binding.is_some())
                .map(|(name, _)| of_cluster(names::cluster_role(name), name, false))
                .collect(),
            Kind::RoleBinding => clusters
                .flat_map(|(name, entry)| {
                    let bindings = [
                        (
                            names::registration_binding(name),
                            &entry.owned.registration_binding,
                        ),
                        (names::work_binding(name), &entry.owned.work_binding),
                    ];
                    let there = bindings.into_iter().filter(|(_, slot)| slot.is_some());
                    there.map(|(binding, _)| of_cluster(binding, name, true))
                })
                .collect(),
        }
    }
}

/// The cluster whose namespace or RBAC object has exactly this name.
///
/// Others may have objects whose names begin the same way, such as a role for those who look after one cluster.
pub(super) fn owner<'a>(kind: Kind, namespace: &'a str, name: &'a str) -> Option<&'a str> {
    match kind {
        Kind::Namespace => Some(name),
        Kind::RoleBinding => [names::registration_binding, names::work_binding]
            .iter()
            .any(|binding| binding(namespace) == name)
            .then_some(namespace),
        Kind::ClusterRole | Kind::ClusterRoleBinding => names::cluster_of_role(name),
        _ => None,
    }
}
