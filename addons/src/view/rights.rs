//! What the view knows about certificates and permissions of add-ons.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use berth_addons_core::deploy;
use berth_addons_core::facts::{OnCluster, Request};
use berth_addons_core::registration::permissions::{
    Agent, Granted, Permissions, granted, permissions,
};
use berth_addons_core::registration::{NOT_ACCEPTED, Registered, registered, requests};
use berth_api::conditions::{addon, condition_of};
use k8s_openapi::api::rbac::v1::RoleBinding;

use super::View;
use crate::bindings::Faults;
use crate::keys::{Key, Place, place};
use crate::kinds::Kind;

impl View {
    /// Adds the keys of certificates, permissions and tokens to those that a change of this kind concerns. Those of the permissions that a
    /// ManagedClusterAddOn concerns are there: its conditions, which change often, concern none.
    pub(crate) fn with_rights(&self, kind: Kind, mut keys: Vec<Key>) -> Vec<Key> {
        if !matches!(
            kind,
            Kind::AddOn | Kind::OnCluster | Kind::Cluster | Kind::Template
        ) {
            return keys;
        }
        let mut more = BTreeSet::new();
        for key in &keys {
            match key {
                Key::AddOn(name) => {
                    if kind != Kind::OnCluster {
                        more.insert(Key::Permissions(name.clone()));
                    }
                    if matches!(kind, Kind::AddOn | Kind::Template) {
                        let requests = self.requests.of_add_on(name);
                        more.extend(requests.cloned().map(Key::Request));
                    }
                }
                Key::OnCluster(at) => {
                    if kind != Kind::OnCluster && self.on(at).is_some() {
                        more.insert(Key::Permissions(at.1.clone()));
                    }
                    more.extend(self.requests.of(at).cloned().map(Key::Request));
                    if kind == Kind::OnCluster && self.has_tokens(at) {
                        more.insert(Key::Tokens(at.clone()));
                    }
                }
                Key::Permissions(_) | Key::Request(_) | Key::Tokens(_) => {}
            }
        }
        keys.extend(more);
        keys
    }

    /// All keys of certificates and permissions.
    pub(super) fn all_rights(&self) -> impl Iterator<Item = Key> {
        let names = self.on_clusters.keys().chain(self.bindings.add_ons());
        let names: BTreeSet<_> = names.cloned().collect();
        let requests = self.requests.names().cloned().map(Key::Request);
        names.into_iter().map(Key::Permissions).chain(requests)
    }

    /// Applies a CertificateSigningRequest, or its end.
    pub(super) fn request_changed(&mut self, name: &str, request: Option<Request>) -> Vec<Key> {
        let is_kept = request.is_some();
        self.requests.set(name, request);
        let key = is_kept.then(|| Key::Request(name.to_owned()));
        key.into_iter().collect()
    }

    /// Applies a RoleBinding, or its end.
    pub(super) fn binding_changed(&mut self, at: &Place, binding: Option<RoleBinding>) -> Vec<Key> {
        let mut keys = Vec::new();
        for name in self.bindings.set(at, binding) {
            let waiting = self.on_clusters.get(&name).into_iter().flatten();
            // One in another namespace is for all clusters: those that have their permissions do not wait for it.
            let waiting = waiting
                .filter(|(cluster, on)| **cluster == at.0 || !is_applied(on))
                .map(|(cluster, _)| Key::OnCluster(place(cluster, &name)));
            keys.extend(waiting);
            keys.push(Key::Permissions(name));
        }
        keys
    }

    /// What the hub knows about a request; `None` if it is not for an add-on from a template.
    pub(crate) fn judged(&self, request: &Request) -> Option<requests::Facts<'_>> {
        let at = place(&request.cluster, &request.addon);
        if self.unreadable.contains(&at) || !self.is_readable(&request.addon) {
            return None;
        }
        let add_on = self.add_ons.get(&request.addon);
        // Also if the template was edited, and the cluster's turn has not come: certificates are renewed meanwhile.
        match registered(add_on, self.on(&at)?, &self.configs) {
            Registered::Template { template, .. } => Some(requests::Facts {
                cluster_is_accepted: self.is_accepted(&at.0),
                template: template.spec.as_ref(),
            }),
            Registered::Nothing | Registered::Unknown => None,
        }
    }

    /// Decides about the permissions of an add-on. Returns also the stored bindings. `None` if nothing is decided.
    pub(crate) fn decide_permissions(&self, name: &str) -> Option<(Permissions, Vec<RoleBinding>)> {
        let add_on = self.add_ons.get(name);
        if !self.is_readable(name) || add_on.is_some_and(|it| !it.is_managed) {
            return None;
        }
        let all = self.on_clusters.get(name).into_iter().flatten();
        let accepted = all.filter(|(it, _)| self.is_accepted(it) || self.is_leaving(it));
        let agents = accepted.filter_map(|(cluster, on)| self.agent(name, cluster, on));
        let agents: Vec<_> = agents.collect();
        let stored = self.bindings.all_of(name);
        if agents.is_empty() && stored.is_empty() {
            return None;
        }
        Some((permissions(name, &agents, &stored), stored))
    }

    /// `None` if the add-on has no template there.
    fn agent<'a>(&'a self, name: &str, cluster: &'a str, on: &'a OnCluster) -> Option<Agent<'a>> {
        let at = place(cluster, name);
        let registered = registered(self.add_ons.get(name), on, &self.configs);
        let template = match registered {
            Registered::Nothing => return None,
            // Its hooks may need what it has. They run also before a cluster goes.
            _ if on.is_deleting || self.is_leaving(cluster) => None,
            _ if self.unreadable.contains(&at) => None,
            Registered::Template {
                template,
                is_current: true,
            } => template.spec.as_ref(),
            Registered::Template { .. } | Registered::Unknown => None,
        };
        Some(Agent {
            cluster,
            uid: &on.uid,
            template,
            registrations: &on.registrations,
        })
    }

    /// Whether the agents of an add-on on a cluster have the permissions of their template.
    pub(super) fn permission_state<'a>(
        &'a self,
        at: &Place,
        on: &'a OnCluster,
    ) -> deploy::Permissions<'a> {
        let (cluster, name) = at;
        let Some(agent) = self.agent(name, cluster, on) else {
            return deploy::Permissions::Applied;
        };
        let stored = |namespace: &str| self.bindings.within(name, namespace);
        let missing = match granted(name, &agent, stored) {
            Granted::NoSubject => return deploy::Permissions::Pending(deploy::NO_SUBJECT),
            Granted::All => Vec::new(),
            Granted::Missing(_) if !self.is_accepted(cluster) => {
                return deploy::Permissions::Pending(NOT_ACCEPTED);
            }
            Granted::Missing(namespaces) => namespaces,
        };
        let fault = match self.bindings.faults(name) {
            Some(Faults {
                of_clusters,
                of_bindings,
            }) => of_clusters.get(cluster).or_else(|| {
                let mut of_bindings = of_bindings.iter();
                let found = of_bindings.find(|((namespace, _), _)| missing.contains(namespace));
                found.map(|(_, it)| it)
            }),
            // After a start it is not known yet: what an earlier process said stays.
            None => None,
        };
        let said = condition_of(&on.conditions, addon::REGISTRATION_APPLIED)
            .filter(|it| it.reason == addon::SET_PERMISSION_FAILED)
            .and_then(|it| it.message.strip_prefix(deploy::NOT_PERMITTED))
            .filter(|_| self.bindings.faults(name).is_none());
        match fault.map(String::as_str).or(said) {
            Some(why) => deploy::Permissions::Failed(why),
            None if missing.is_empty() => deploy::Permissions::Applied,
            None => deploy::Permissions::Pending(deploy::NOT_BOUND),
        }
    }

    /// Notes why permissions of an add-on cannot be given. Returns the keys that this concerns.
    pub(crate) fn set_faults(&mut self, name: &str, faults: Faults) -> Vec<Key> {
        let is_faultless = faults == Faults::default();
        if !self.bindings.set_faults(name, faults) {
            return Vec::new();
        }
        let all = self.on_clusters.get(name).into_iter().flatten();
        let concerned = all.filter(|(_, on)| !is_faultless || !is_applied(on));
        let keys = concerned.map(|(cluster, _)| Key::OnCluster(place(cluster, name)));
        keys.collect()
    }

    /// The namespace of the hub's components.
    pub(crate) fn namespace(&self) -> &str {
        &self.settings.namespace
    }

    pub(super) fn on(&self, at: &Place) -> Option<&OnCluster> {
        self.on_clusters.get(&at.1)?.get(&at.0)
    }

    /// The cluster is being deleted, and was not denied.
    fn is_leaving(&self, cluster: &str) -> bool {
        let cluster = self.clusters.get(cluster);
        cluster.is_some_and(|it| it.is_accepted && it.is_deleting)
    }

    fn is_accepted(&self, cluster: &str) -> bool {
        let cluster = self.clusters.get(cluster);
        cluster.is_some_and(|it| it.is_accepted && !it.is_deleting)
    }
}

/// The condition says that the permissions are given.
fn is_applied(on: &OnCluster) -> bool {
    let condition = condition_of(&on.conditions, addon::REGISTRATION_APPLIED);
    condition.is_some_and(|it| it.reason == addon::SET_PERMISSION_APPLIED)
}
