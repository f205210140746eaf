//! Changes of objects take effect in the policy.

use crate::support::{answer, ask, load, policy};

const HUB: &str = "
kind: ClusterRole
metadata: {name: r}
rules: [{verbs: [get], apiGroups: [''], resources: [pods]}]
---
kind: ClusterRoleBinding
metadata: {name: b}
roleRef: {kind: ClusterRole, name: r}
subjects: [{kind: User, name: u}, {kind: Group, name: g}]
---
kind: Role
metadata: {name: r, namespace: app}
rules: [{verbs: [get], apiGroups: [''], resources: [secrets]}]
---
kind: RoleBinding
metadata: {name: b, namespace: app}
roleRef: {kind: Role, name: r}
subjects: [{kind: User, name: u}]
";

#[test]
fn a_replaced_object_has_effect_as_it_is_now() {
    let mut policy = policy(HUB);
    load(&mut policy, "kind: ClusterRole\nmetadata: {name: r}\nrules: [{verbs: [list], apiGroups: [''], resources: [pods]}]").unwrap();
    assert!(
        !ask(&policy, "u", &[], "get core pods").is_allowed(),
        "the old rule is gone"
    );
    assert!(
        ask(&policy, "u", &[], "list core pods").is_allowed(),
        "the new rule counts"
    );

    let binding = "kind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: r}\nsubjects: [{kind: User, name: v}]";
    load(&mut policy, binding).unwrap();
    assert!(
        !ask(&policy, "u", &["g"], "list core pods").is_allowed(),
        "the old subjects are gone"
    );
    assert!(
        ask(&policy, "v", &[], "list core pods").is_allowed(),
        "the new subject counts"
    );
}

#[test]
fn an_object_that_is_removed_grants_nothing() {
    let mut policy = policy(HUB);
    assert!(policy.remove_role("app", "r"));
    assert!(
        !ask(&policy, "u", &[], "get core secrets -n app").is_allowed(),
        "no Role"
    );
    load(&mut policy, HUB).unwrap();
    assert!(policy.remove_role_binding("app", "b"));
    assert!(
        !ask(&policy, "u", &[], "get core secrets -n app").is_allowed(),
        "no RoleBinding"
    );
    assert!(policy.remove_cluster_role("r"));
    assert!(
        !ask(&policy, "u", &[], "get core pods").is_allowed(),
        "no ClusterRole"
    );
    load(&mut policy, HUB).unwrap();
    assert!(policy.remove_cluster_role_binding("b"));
    assert_eq!(
        answer(&policy, "u", &["g"], "get core pods"),
        "no",
        "no ClusterRoleBinding"
    );
}

#[test]
fn removing_an_absent_object_returns_false() {
    let mut policy = policy(HUB);
    assert!(!policy.remove_cluster_role("x"));
    assert!(!policy.remove_cluster_role_binding("x"));
    assert!(!policy.remove_role("app", "x"));
    assert!(!policy.remove_role("other", "r"));
    assert!(!policy.remove_role_binding("app", "x"));
    assert!(!policy.remove_role_binding("other", "b"));
}
