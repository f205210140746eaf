//! The RoleBindings of an add-on from a template: which exist, for whom, and which go.
//!
//! OCM gives all permissions of one kind in a namespace the same name, so they replace each other; a binding in a single namespace has the
//! subjects of the cluster that was looked at last, and is never removed; and the group of the add-on's agents of all clusters is bound in
//! the namespace of each cluster. Here
//! - a binding never changes its role, which the API server would refuse: a stored binding of the role keeps its name, the first role
//!   without one gets OCM's name, and others have the name of the role in theirs;
//! - a binding in a single namespace has the subjects of all clusters;
//! - in the namespace of a cluster only that cluster's agents are bound;
//! - what no template asks for any more goes.

mod granted;
#[cfg(test)]
mod tests;
mod writes;

pub use granted::{Granted, granted};
pub use writes::writes;

use std::collections::{BTreeMap, BTreeSet};

use berth_api::addon::{
    AddOnTemplateSpec, HubPermissionConfig, HubPermissionType, RegistrationConfig,
    RegistrationSpecType,
};
use berth_api::names::is_dns1123_label;
use berth_api::{groups, labels};
use berth_certs::pem::{hex, sha256};
use k8s_openapi::api::rbac::v1::{RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::subjects::{TOKEN, addon_group, cluster_group};
use super::{account, default_user, driver, subject_is_ready};

/// Label of a RoleBinding that was made from a template. Its value is empty.
pub const ADDON_TEMPLATE: &str = "open-cluster-management.io/addon-template-name";

/// Upper bound on the bytes of a role's name in the name of a binding. A longer one is represented by its digest.
const LONGEST_ROLE: usize = 128;

/// Upper bound on the subjects of a binding: 5,000 service accounts take half a megabyte.
const MOST_SUBJECTS: usize = 5_000;

/// An add-on on a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Agent<'a> {
    /// The name of the cluster.
    pub cluster: &'a str,
    /// The uid of the ManagedClusterAddOn.
    pub uid: &'a str,
    /// Its template. `None` if it is not known, or if the ManagedClusterAddOn is being deleted and its hooks may need their rights: then what
    /// is bound for the cluster stays.
    pub template: Option<&'a AddOnTemplateSpec>,
    /// `status.registrations` of the ManagedClusterAddOn.
    pub registrations: &'a [RegistrationConfig],
}

/// The permissions of an add-on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Permissions {
    /// The bindings that should exist, with name, namespace, labels and owners.
    pub wanted: Vec<RoleBinding>,
    /// Namespace and name of the stored bindings that should not exist.
    pub unwanted: Vec<(String, String)>,
    /// The clusters whose agents have permissions, but no subject yet.
    pub pending: Vec<String>,
    /// What is wrong, by cluster.
    pub faults: Vec<(String, String)>,
}

/// A binding that is wanted.
#[derive(Default)]
struct Wanted {
    subjects: BTreeSet<(&'static str, String)>,
    /// The uids of the ManagedClusterAddOns that want it in the namespace of their cluster.
    owners: BTreeSet<String>,
    /// It is wanted as a binding in a single namespace, too.
    is_shared: bool,
}

/// A role in a namespace.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    namespace: String,
    kind: String,
    role: String,
}

/// Returns the bindings of an add-on.
///
/// `agents` are all ManagedClusterAddOns of the add-on on accepted clusters: a cluster that is left out loses its permissions.
/// `stored` are all RoleBindings with the labels of the add-on and of templates, and those of others that have a name of the add-on: they
/// are left alone, and their names are not used.
#[must_use]
pub fn permissions(addon: &str, agents: &[Agent<'_>], stored: &[RoleBinding]) -> Permissions {
    let mut found = Permissions::default();
    // In the order in which they are found: the first one may get OCM's name.
    let mut order: Vec<Place> = Vec::new();
    let mut wanted: BTreeMap<Place, Wanted> = BTreeMap::new();
    let all = stored;
    let stored: Vec<_> = all.iter().filter(|it| is_ours(addon, it)).collect();
    for agent in agents {
        for (place, is_shared) in places(agent, &mut found.faults) {
            if !subject_is_ready(agent.cluster, addon, agent.registrations) {
                found.pending.push(agent.cluster.to_owned());
                break;
            }
            if !wanted.contains_key(&place) {
                order.push(place.clone());
            }
            let wanted = wanted.entry(place).or_default();
            wanted.subjects.extend(subjects(addon, agent, is_shared));
            if is_shared {
                wanted.is_shared = true;
            } else {
                wanted.owners.insert(agent.uid.to_owned());
            }
        }
    }
    let kept = keep_unknown(addon, agents, &stored, &mut wanted);
    let names = names(addon, &order, &stored, all);
    for place in &order {
        let (Some(name), Some(wanted)) = (names.get(place), wanted.remove(place)) else {
            continue;
        };
        if wanted.subjects.len() > MOST_SUBJECTS {
            found.faults.push((
                place.namespace.clone(),
                format!("RoleBinding {name} has more than {MOST_SUBJECTS} subjects"),
            ));
            continue;
        }
        found.wanted.push(binding(addon, name, place, wanted));
    }
    let wanted: BTreeSet<_> = (names.iter())
        .map(|(place, name)| (&*place.namespace, &**name))
        .collect();
    for binding in stored {
        let (namespace, name) = named(binding);
        if !wanted.contains(&(namespace, name)) && !kept.contains(&(namespace, name)) {
            let unwanted = (namespace.to_owned(), name.to_owned());
            found.unwanted.push(unwanted);
        }
    }
    found
}

/// The roles that the template of an agent asks for, and whether each is in a single namespace for all clusters.
fn places(agent: &Agent<'_>, faults: &mut Vec<(String, String)>) -> Vec<(Place, bool)> {
    let mut places = Vec::new();
    let registrations = agent.template.iter().flat_map(|it| &it.registration);
    let permissions = registrations
        .filter(|it| it.r#type == RegistrationSpecType::KubeClient)
        .filter_map(|it| it.kube_client.as_ref())
        .flat_map(|it| &it.hub_permissions);
    for permission in permissions {
        match place(agent.cluster, permission) {
            Ok(place) => places.push(place),
            Err(fault) => faults.push((agent.cluster.to_owned(), fault)),
        }
    }
    places
}

fn place(cluster: &str, permission: &HubPermissionConfig) -> Result<(Place, bool), String> {
    let of = |namespace: &str, kind: &str, role: &str| {
        if !is_dns1123_label(namespace) {
            return Err(format!("{namespace:?} is not the name of a namespace"));
        }
        if !["ClusterRole", "Role"].contains(&kind) || role.is_empty() {
            return Err(format!("{kind:?} {role:?} is not a Role or ClusterRole"));
        }
        Ok(Place {
            namespace: namespace.to_owned(),
            kind: kind.to_owned(),
            role: role.to_owned(),
        })
    };
    match (
        &permission.r#type,
        &permission.current_cluster,
        &permission.single_namespace,
    ) {
        (HubPermissionType::CurrentCluster, Some(it), _) => {
            Ok((of(cluster, "ClusterRole", &it.cluster_role_name)?, false))
        }
        (HubPermissionType::SingleNamespace, _, Some(it)) => {
            if it.role_ref.api_group != groups::RBAC {
                let group = &it.role_ref.api_group;
                return Err(format!("{group:?} is not the API group of roles"));
            }
            let place = of(&it.namespace, &it.role_ref.kind, &it.role_ref.name)?;
            Ok((place, true))
        }
        (HubPermissionType::CurrentCluster, ..) => {
            Err("a permission of type CurrentCluster has no currentCluster".to_owned())
        }
        (HubPermissionType::SingleNamespace, ..) => {
            Err("a permission of type SingleNamespace has no singleNamespace".to_owned())
        }
        (HubPermissionType::Other(other), ..) => {
            Err(format!("the type {other:?} of a permission is not known"))
        }
    }
}

/// The subjects of an agent. In a single namespace, agents with certificates are bound by the group of all clusters' agents: 10,000 users
/// would not fit into an object.
fn subjects(
    addon: &str,
    agent: &Agent<'_>,
    is_shared: bool,
) -> impl Iterator<Item = (&'static str, String)> {
    let cluster = agent.cluster;
    let subjects = match (driver(agent.registrations), is_shared) {
        (TOKEN, _) => vec![("User", account(cluster, addon))],
        (_, true) => vec![("Group", addon_group(addon))],
        (_, false) => vec![
            ("Group", cluster_group(cluster, addon)),
            ("User", default_user(cluster, addon)),
        ],
    };
    subjects.into_iter()
}

/// Keeps what is bound for clusters whose template is not known: their bindings, and their subjects in single namespaces.
fn keep_unknown<'a>(
    addon: &str,
    agents: &[Agent<'_>],
    stored: &[&'a RoleBinding],
    wanted: &mut BTreeMap<Place, Wanted>,
) -> BTreeSet<(&'a str, &'a str)> {
    let unknown: BTreeSet<_> = agents
        .iter()
        .filter(|it| it.template.is_none())
        .map(|it| it.cluster)
        .collect();
    if unknown.is_empty() {
        return BTreeSet::new();
    }
    let known: BTreeSet<_> = agents
        .iter()
        .filter(|it| it.template.is_some())
        .map(|it| it.cluster)
        .collect();
    let accounts: BTreeSet<_> = unknown.iter().map(|it| account(it, addon)).collect();
    let mut kept = BTreeSet::new();
    for binding in stored {
        let (namespace, name) = named(binding);
        if !known.contains(namespace) {
            kept.insert((namespace, name));
        }
        if let Some(wanted) = wanted.get_mut(&Place::of(binding))
            && wanted.is_shared
        {
            let subjects = binding.subjects.iter().flatten();
            let accounts = subjects.filter(|it| accounts.contains(&it.name));
            wanted
                .subjects
                .extend(accounts.map(|it| ("User", it.name.clone())));
        }
    }
    kept
}

/// The names of the bindings. A stored binding of the role keeps its name. `all`: with those of others, whose names are taken.
fn names(
    addon: &str,
    order: &[Place],
    stored: &[&RoleBinding],
    all: &[RoleBinding],
) -> BTreeMap<Place, String> {
    let mut names = BTreeMap::new();
    let mut taken: BTreeSet<(String, String)> = all
        .iter()
        .map(named)
        .map(|(namespace, name)| (namespace.to_owned(), name.to_owned()))
        .collect();
    let mut of_role: BTreeMap<Place, BTreeSet<&str>> = BTreeMap::new();
    for it in stored {
        of_role
            .entry(Place::of(it))
            .or_default()
            .insert(named(it).1);
    }
    for place in order {
        let ocms = ocms_name(addon, &place.kind);
        // Of several stored ones, the one with OCM's name.
        let stored = (of_role.get(place).into_iter().flatten())
            .copied()
            .min_by_key(|name| (*name != ocms, *name));
        let name = match stored {
            Some(name) => name.to_owned(),
            None if !taken.contains(&(place.namespace.clone(), ocms.clone())) => ocms,
            None => place.own_name(addon),
        };
        taken.insert((place.namespace.clone(), name.clone()));
        names.insert(place.clone(), name);
    }
    names
}

fn ocms_name(addon: &str, kind: &str) -> String {
    format!("{}{}:agent", prefix(addon), kind.to_lowercase())
}

fn prefix(addon: &str) -> String {
    format!("open-cluster-management:{addon}:")
}

/// A binding with the labels of the add-on and a name of the add-on. A user's binding with one of both is left alone.
fn is_ours(addon: &str, binding: &RoleBinding) -> bool {
    let labels = binding.metadata.labels.as_ref();
    let label = |key: &str| {
        labels
            .and_then(|labels| labels.get(key))
            .map(String::as_str)
    };
    label(labels::ADDON_NAME) == Some(addon)
        && label(ADDON_TEMPLATE).is_some()
        && named(binding).1.starts_with(&prefix(addon))
}

/// Namespace and name.
fn named(binding: &RoleBinding) -> (&str, &str) {
    let ObjectMeta {
        namespace, name, ..
    } = &binding.metadata;
    (
        namespace.as_deref().unwrap_or_default(),
        name.as_deref().unwrap_or_default(),
    )
}

fn binding(addon: &str, name: &str, place: &Place, wanted: Wanted) -> RoleBinding {
    let subjects = wanted.subjects.into_iter().map(|(kind, name)| Subject {
        api_group: Some(groups::RBAC.to_owned()),
        kind: kind.to_owned(),
        name,
        namespace: None,
    });
    // An owner in another namespace would let the garbage collector delete the binding.
    let owners = wanted.owners.into_iter().filter(|_| !wanted.is_shared);
    let owners: Vec<_> = owners
        .map(|uid| OwnerReference {
            api_version: format!("{}/v1beta1", groups::ADDON),
            kind: "ManagedClusterAddOn".to_owned(),
            name: addon.to_owned(),
            uid,
            controller: None,
            block_owner_deletion: None,
        })
        .collect();
    RoleBinding {
        metadata: ObjectMeta {
            namespace: Some(place.namespace.clone()),
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([
                (labels::ADDON_NAME.to_owned(), addon.to_owned()),
                (ADDON_TEMPLATE.to_owned(), String::new()),
            ])),
            owner_references: Some(owners).filter(|owners| !owners.is_empty()),
            ..ObjectMeta::default()
        },
        role_ref: RoleRef {
            api_group: groups::RBAC.to_owned(),
            kind: place.kind.clone(),
            name: place.role.clone(),
        },
        subjects: Some(subjects.collect()),
    }
}

// === impl Place ===

impl Place {
    fn of(binding: &RoleBinding) -> Self {
        Self {
            namespace: named(binding).0.to_owned(),
            kind: binding.role_ref.kind.clone(),
            role: binding.role_ref.name.clone(),
        }
    }

    /// A name that no other role has.
    fn own_name(&self, addon: &str) -> String {
        let kind = self.kind.to_lowercase();
        let role = match self.role.len() {
            ..=LONGEST_ROLE => self.role.clone(),
            _ => hex(&sha256(self.role.as_bytes())),
        };
        format!("{}{kind}:{role}:agent", prefix(addon))
    }
}
