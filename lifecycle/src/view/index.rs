//! Finds the cluster of an object by the object's name.

use crate::kinds::Kind;
use berth_lifecycle_core::names;

/// The cluster whose namespace or RBAC object has exactly this name.
///
/// Admins may have objects whose names begin the same way, such as a role for the admins of one cluster.
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
