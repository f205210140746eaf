#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

fn object(value: Value) -> Object {
    Object::try_from(value).unwrap()
}

/// The message without its beginning.
fn words(errors: &[FieldError]) -> String {
    if errors.is_empty() {
        return String::new();
    }
    let message = ApiError::invalid("g", "K", "x", errors).message;
    message
        .strip_prefix(r#"K.g "x" is invalid: "#)
        .unwrap()
        .to_owned()
}

#[test]
fn a_rule_is_about_resources_or_about_paths() {
    let rows = [
        (
            false,
            json!({ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }),
            "",
        ),
        (
            false,
            json!({ "verbs": ["get"], "nonResourceURLs": ["/x"] }),
            "",
        ),
        (
            false,
            json!({ "apiGroups": [""], "resources": ["pods"] }),
            "rules[0].verbs: Required value: verbs must contain at least one value",
        ),
        (
            false,
            json!({ "verbs": ["get"] }),
            "[rules[0].apiGroups: Required value: resource rules must supply at least one api group, rules[0].resources: Required value: resource rules must supply at least one resource]",
        ),
        (
            true,
            json!({ "verbs": ["get"], "nonResourceURLs": ["/x"] }),
            r#"rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs"#,
        ),
        (
            false,
            json!({ "verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"] }),
            r#"rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs"#,
        ),
    ];
    for (namespaced, rule, expected) in rows {
        // `verbs` is required by the type, and may be missing in what is sent.
        let mut rule = rule;
        if rule["verbs"].is_null() {
            rule["verbs"] = json!([]);
        }
        let role = object(json!({ "rules": [rule] }));
        assert_eq!(words(&rule_errors(&role, namespaced)), expected);
    }
}

#[test]
fn an_aggregation_rule_selects() {
    let rows = [
        (json!(null), ""),
        (
            json!({ "clusterRoleSelectors": [{ "matchLabels": { "a": "b" } }] }),
            "",
        ),
        (
            json!({}),
            "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
        ),
        (
            json!({ "clusterRoleSelectors": [{ "matchExpressions": [{ "key": "a", "operator": "Has" }] }] }),
            r#"aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Has": not a valid selector operator"#,
        ),
    ];
    for (aggregation, expected) in rows {
        let role = object(json!({ "aggregationRule": aggregation }));
        assert_eq!(words(&aggregation_errors(&role)), expected);
    }
}

#[test]
fn a_binding_names_a_role_and_subjects() {
    let role = |kind: &str| json!({ "apiGroup": GROUP, "kind": kind, "name": "r" });
    let user = json!({ "apiGroup": GROUP, "kind": "User", "name": "u" });
    let rows = [
        (false, role("ClusterRole"), user.clone(), ""),
        (true, role("Role"), user.clone(), ""),
        (
            true,
            role("ClusterRole"),
            json!({ "kind": "ServiceAccount", "name": "bot" }),
            "",
        ),
        (
            false,
            role("Role"),
            user.clone(),
            r#"roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole""#,
        ),
        (
            true,
            json!({ "apiGroup": "x", "kind": "Thing", "name": "" }),
            user.clone(),
            r#"[roleRef.apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io", roleRef.kind: Unsupported value: "Thing": supported values: "Role", "ClusterRole", roleRef.name: Required value]"#,
        ),
        (
            true,
            json!({ "apiGroup": GROUP, "kind": "Role", "name": "a/b" }),
            user,
            r#"roleRef.name: Invalid value: "a/b": may not contain '/'"#,
        ),
        (
            false,
            role("ClusterRole"),
            json!({ "apiGroup": "x", "kind": "ServiceAccount", "name": "" }),
            r#"[subjects[0].name: Required value, subjects[0].apiGroup: Unsupported value: "x": supported values: "", subjects[0].namespace: Required value]"#,
        ),
        (
            false,
            role("ClusterRole"),
            json!({ "apiGroup": "", "kind": "Group", "name": "g" }),
            r#"subjects[0].apiGroup: Unsupported value: "": supported values: "rbac.authorization.k8s.io""#,
        ),
        (
            false,
            role("ClusterRole"),
            json!({ "kind": "Robot", "name": "g" }),
            r#"subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group""#,
        ),
    ];
    for (namespaced, role, subject, expected) in rows {
        let binding = object(json!({ "roleRef": role, "subjects": [subject] }));
        assert_eq!(words(&binding_errors(&binding, None, namespaced)), expected);
    }
}

#[test]
fn the_role_of_a_binding_stays() {
    let binding = |role: &str| {
        let role = json!({ "apiGroup": GROUP, "kind": "ClusterRole", "name": role });
        object(json!({ "roleRef": role }))
    };
    let errors = binding_errors(&binding("b"), Some(&binding("a")), false);
    let expected = r#"roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"b"}: cannot change roleRef"#;
    assert_eq!(words(&errors), expected);
}

#[test]
fn groups_of_roles_and_people_go_without_saying() {
    let mut binding = object(json!({
        "roleRef": { "kind": "ClusterRole", "name": "r" },
        "subjects": [
            { "kind": "User", "name": "u" },
            { "kind": "Group", "name": "g", "apiGroup": "" },
            { "kind": "ServiceAccount", "name": "s" },
            { "kind": "User", "name": "v", "apiGroup": "x" },
            "nonsense",
        ],
    }));
    default_binding(&mut binding);
    let mut bare = Object::default();
    default_binding(&mut bare);
    assert_eq!(bare.str_at(&["roleRef", "apiGroup"]), GROUP);
    assert_eq!(binding.str_at(&["roleRef", "apiGroup"]), GROUP);
    let subjects = binding.at(&["subjects"]).unwrap();
    let group = |index: usize| subjects[index]["apiGroup"].as_str();
    assert_eq!(
        [group(0), group(1), group(2), group(3)],
        [Some(GROUP), Some(GROUP), None, Some("x")]
    );
}
