//! Which cluster an object belongs to, by its name.

use crate::engine::kinds::Kind;
use crate::names;

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
