//! Prevents escalation: users cannot grant permissions that they do not hold
//! (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping>).

use std::collections::BTreeSet;

use berth_rbac::{MissingRole, ObjectRef, RbacKind, Request, compact, describe, not_covered};
use k8s_openapi::api::rbac::v1::PolicyRule;

use super::{GROUP, SUPERUSERS};
use crate::World;
use crate::user::User;

/// Returns true for a user who may grant any rights: a superuser, or a user with the verb `escalate` (or `bind`) on the role.
/// The name is empty for a role that is being created.
pub(crate) fn is_exempt(
    world: &World,
    user: &User,
    verb: &str,
    role: (RbacKind, &str, &str),
) -> bool {
    if user.groups.iter().any(|group| group == SUPERUSERS) {
        return true;
    }
    let (kind, namespace, name) = role;
    let request = Request::Resource {
        verb,
        api_group: GROUP,
        resource: match kind {
            RbacKind::Role => "roles",
            _ => "clusterroles",
        },
        subresource: "",
        name,
        namespace,
    };
    world
        .authorizer
        .evaluate(&world.store, user, &request)
        .is_allowed()
}

/// Checks that the user holds all of `wanted` in a namespace (empty: everywhere).
///
/// # Errors
/// The refusal with the missing rights, in kube-apiserver's words.
pub(crate) fn check(
    world: &World,
    user: &User,
    namespace: &str,
    wanted: &[PolicyRule],
) -> Result<(), String> {
    let held = world.authorizer.rules_for(&world.store, user, namespace);
    let missing = not_covered(&held.rules, wanted);
    if missing.is_empty() {
        return Ok(());
    }
    let errors: BTreeSet<_> = held.errors.iter().map(not_found).collect();
    Err(words(
        user,
        &missing,
        &errors.into_iter().collect::<Vec<_>>(),
    ))
}

/// The rules that a role grants; none if there is no such role.
pub(crate) fn rules_of(world: &World, role: &ObjectRef) -> Option<Vec<PolicyRule>> {
    world.authorizer.rules_of(&world.store, role)
}

/// Here kube-apiserver uses the plural.
fn not_found(missing: &MissingRole) -> String {
    let resource = match missing.role.kind {
        RbacKind::Role => "roles",
        _ => "clusterroles",
    };
    format!("{resource}.{GROUP} {:?} not found", missing.role.name)
}

fn words(user: &User, missing: &[PolicyRule], errors: &[String]) -> String {
    let missing: BTreeSet<_> = compact(missing).iter().map(describe).collect();
    let missing: Vec<_> = missing.into_iter().collect();
    let groups: Vec<_> = user
        .groups
        .iter()
        .map(|group| format!("{group:?}"))
        .collect();
    let mut words = format!(
        "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        groups.join(" "),
        missing.join("\n")
    );
    match errors {
        [] => {}
        [one] => words += &format!("; resolution errors: [{one}]"),
        many => words += &format!("; resolution errors: [[{}]]", many.join(", ")),
    }
    words
}
