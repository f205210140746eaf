#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::*;

fn name(text: &str) -> RbacName {
    let (namespace, name) = text.split_once('/').unwrap();
    RbacName {
        namespace: namespace.into(),
        name: name.into(),
    }
}

fn account(text: &str) -> Account {
    let (namespace, name) = text.split_once('/').unwrap();
    Account {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

fn rules(verb: &str) -> Rbac {
    let role = json!({"metadata": {"name": "r"}, "rules": [{"verbs": [verb]}]});
    super::role(&role.to_string()).unwrap()
}

fn bound(kind: &str, role: &str, subjects: &Value) -> Rbac {
    let object = json!({"roleRef": {"kind": kind, "name": role}, "subjects": subjects});
    binding(&object.to_string()).unwrap()
}

fn to_account(namespace: &str, name: &str) -> Value {
    json!([{"kind": "ServiceAccount", "namespace": namespace, "name": name}])
}

#[test]
fn a_subject_is_read_as_the_accounts_that_it_contains() {
    for (subject, account_name, contains) in [
        (
            json!({"kind": "ServiceAccount", "namespace": "a", "name": "x"}),
            "a/x",
            true,
        ),
        (
            json!({"kind": "ServiceAccount", "namespace": "a", "name": "x"}),
            "b/x",
            false,
        ),
        (
            json!({"kind": "User", "name": "system:serviceaccount:a:x"}),
            "a/x",
            true,
        ),
        (json!({"kind": "User", "name": "x"}), "a/x", false),
        (
            json!({"kind": "Group", "name": "system:serviceaccounts"}),
            "a/x",
            true,
        ),
        (
            json!({"kind": "Group", "name": "system:authenticated"}),
            "a/x",
            true,
        ),
        (
            json!({"kind": "Group", "name": "system:serviceaccounts:a"}),
            "a/x",
            true,
        ),
        (
            json!({"kind": "Group", "name": "system:serviceaccounts:b"}),
            "a/x",
            false,
        ),
        (
            json!({"kind": "Group", "name": "system:masters"}),
            "a/x",
            false,
        ),
    ] {
        let mut grants = Grants::default();
        let object = bound("ClusterRole", "r", &json!([subject]));
        let accounts = grants.sees(name("/b"), object);
        assert_eq!(
            accounts.contains(&account(account_name)),
            contains,
            "{subject} contains {account_name}"
        );
    }
}

#[test]
fn a_changed_role_concerns_the_accounts_that_are_bound_to_it() {
    let mut grants = Grants::default();
    grants.sees(
        name("a/by-role"),
        bound("Role", "r", &to_account("a", "role")),
    );
    grants.sees(
        name("a/by-cluster-role"),
        bound("ClusterRole", "r", &to_account("a", "cluster-role")),
    );
    grants.sees(name("b/other"), bound("Role", "r", &to_account("b", "x")));
    let (of_role, of_cluster_role) = (account("a/role"), account("a/cluster-role"));
    let concerned = grants.sees(name("a/r"), rules("get"));
    assert!(concerned.contains(&of_role));
    assert!(!concerned.contains(&of_cluster_role) && !concerned.contains(&account("b/x")));
    let concerned = grants.sees(name("/r"), rules("get"));
    assert!(concerned.contains(&of_cluster_role) && !concerned.contains(&of_role));
    assert!(
        grants.sees(name("a/r"), rules("get")).is_empty(),
        "its rules have not changed"
    );
    assert!(grants.sees(name("a/r"), rules("list")).contains(&of_role));
    assert!(grants.role_gone(&name("a/r")).contains(&of_role));
    assert!(
        grants.role_gone(&name("a/r")).is_empty(),
        "it was gone before"
    );
}

#[test]
fn a_changed_binding_concerns_the_accounts_of_before_and_after() {
    let mut grants = Grants::default();
    let of = |account: &str| bound("Role", "r", &to_account("a", account));
    let (x, y) = (account("a/x"), account("a/y"));
    assert!(grants.sees(name("a/b"), of("x")).contains(&x));
    assert!(grants.sees(name("a/b"), of("x")).is_empty());
    let concerned = grants.sees(name("a/b"), of("y"));
    assert!(concerned.contains(&x) && concerned.contains(&y));
    let concerned = grants.sees(name("a/b"), bound("Role", "r", &json!([])));
    assert!(concerned.contains(&y) && !concerned.contains(&x));
    assert!(grants.bindings.is_empty(), "it binds no service account");
    grants.sees(name("a/b"), of("x"));
    assert!(grants.binding_gone(&name("a/b")).contains(&x));
}

#[test]
fn an_object_with_missing_fields_is_read() {
    assert_eq!(role("{}").unwrap(), role(r#"{"kind":"Role"}"#).unwrap());
    assert!(binding(r#"{"roleRef":{"name":"r"}}"#).is_ok());
    assert!(binding("{}").is_err() && role("1").is_err());
}
