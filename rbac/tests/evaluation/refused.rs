//! Objects that a hub would not store are refused, with field and remedy.

use crate::support::{ask, load};
use berth_rbac::Policy;

#[test]
fn an_object_a_hub_would_not_store_is_refused() {
    let role = |rule: &str| format!("kind: ClusterRole\nmetadata: {{name: r}}\nrules: [{rule}]");
    let selector = |text: &str| {
        format!(
            "kind: ClusterRole\nmetadata: {{name: r}}\naggregationRule: {{clusterRoleSelectors: [{text}]}}"
        )
    };
    let binding = |role: &str, subject: &str| {
        format!(
            "kind: ClusterRoleBinding\nmetadata: {{name: b}}\nroleRef: {{{role}}}\nsubjects: [{subject}]"
        )
    };
    let subject = |subject: &str| binding("kind: ClusterRole, name: r", subject);
    let nothing = || "{kind: User, name: u}";
    let rows = [
        ("kind: ClusterRole\nmetadata: {}".to_owned(), r#"ClusterRole "": metadata.name: must not be empty"#),
        ("kind: Role\nmetadata: {name: r}".to_owned(), r#"Role "/r": metadata.namespace: a Role needs a namespace"#),
        ("kind: ClusterRole\nmetadata: {name: a/b}".to_owned(), r#"ClusterRole "a/b": metadata.name: "a/b" must not contain '/' or '%'"#),
        ("kind: ClusterRole\nmetadata: {name: ..}".to_owned(), r#"ClusterRole "..": metadata.name: ".." cannot be a name"#),
        (role("{verbs: [], apiGroups: [''], resources: [pods]}"), r#"ClusterRole "r": rules[0].verbs: a rule needs at least one verb"#),
        (role("{verbs: [get], resources: [pods]}"), r#"ClusterRole "r": rules[0].apiGroups: a rule for resources needs an API group; the core group is """#),
        (role("{verbs: [get], apiGroups: ['']}"), r#"ClusterRole "r": rules[0].resources: a rule needs resources or nonResourceURLs"#),
        (
            role("{verbs: [get], apiGroups: [''], resources: [pods], nonResourceURLs: [/x]}"),
            r#"ClusterRole "r": rules[0].nonResourceURLs: a rule is for paths or for resources, not for both: split it into two rules"#,
        ),
        (
            "kind: Role\nmetadata: {name: r, namespace: app}\nrules: [{verbs: [get], nonResourceURLs: [/x]}]".to_owned(),
            r#"Role "app/r": rules[0].nonResourceURLs: only a ClusterRole can grant paths, through a ClusterRoleBinding"#,
        ),
        (selector(""), r#"ClusterRole "r": aggregationRule.clusterRoleSelectors: needs at least one selector; otherwise remove aggregationRule"#),
        (
            selector("{}, {matchExpressions: [{key: a, operator: in, values: [b]}]}"),
            r#"ClusterRole "r": aggregationRule.clusterRoleSelectors[1].matchExpressions[0].operator: Invalid value: "in": not a valid selector operator"#,
        ),
        (
            selector("{matchExpressions: [{key: a, operator: NotIn}]}"),
            r#"ClusterRole "r": aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"#,
        ),
        (
            selector("{matchExpressions: [{key: a, operator: Exists, values: [b]}]}"),
            r#"ClusterRole "r": aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"#,
        ),
        (
            binding("kind: Role, name: r", nothing()),
            r#"ClusterRoleBinding "b": roleRef.kind: a ClusterRoleBinding binds a ClusterRole; a Role is bound by a RoleBinding in its namespace"#,
        ),
        (binding("kind: Rolle, name: r", nothing()), r#"ClusterRoleBinding "b": roleRef.kind: "Rolle" must be ClusterRole or Role"#),
        (binding("kind: ClusterRole", nothing()), r#"ClusterRoleBinding "b": roleRef.name: must not be empty"#),
        (
            binding("kind: ClusterRole, name: r, apiGroup: v1", nothing()),
            r#"ClusterRoleBinding "b": roleRef.apiGroup: "v1" must be "rbac.authorization.k8s.io""#,
        ),
        (subject("{kind: User, name: u}, {kind: Group}"), r#"ClusterRoleBinding "b": subjects[1].name: must not be empty"#),
        (
            subject("{kind: Group, name: g, apiGroup: v1}"),
            r#"ClusterRoleBinding "b": subjects[0].apiGroup: "v1" must be "rbac.authorization.k8s.io" for a Group"#,
        ),
        (
            subject("{kind: ServiceAccount, name: s, namespace: app, apiGroup: rbac.authorization.k8s.io}"),
            r#"ClusterRoleBinding "b": subjects[0].apiGroup: "rbac.authorization.k8s.io" must be "" for a ServiceAccount"#,
        ),
        (
            subject("{kind: ServiceAccount, name: s}"),
            r#"ClusterRoleBinding "b": subjects[0].namespace: a ClusterRoleBinding must name the service account's namespace"#,
        ),
        (
            subject("{kind: ServiceAccount, name: 'a:b', namespace: app}"),
            r#"ClusterRoleBinding "b": subjects[0].name: "a:b" cannot be the name of a service account: it is not a lowercase DNS subdomain"#,
        ),
        (
            subject("{kind: Robot, name: r}"),
            r#"ClusterRoleBinding "b": subjects[0].kind: "Robot" must be User, Group or ServiceAccount"#,
        ),
    ];
    for (yaml, expected) in rows {
        let error = load(&mut Policy::new(), &yaml).unwrap_err();
        assert_eq!(error.to_string(), expected, "{yaml}");
    }
}

#[test]
fn a_refused_object_leaves_the_policy_as_it_was() {
    let mut policy =
        crate::support::rules_of_u("{verbs: [get], apiGroups: [''], resources: [pods]}");
    load(
        &mut policy,
        "kind: ClusterRole\nmetadata: {name: r}\nrules: [{verbs: []}]",
    )
    .unwrap_err();
    load(
        &mut policy,
        "kind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: Role, name: r}",
    )
    .unwrap_err();
    assert!(ask(&policy, "u", &[], "get core pods").is_allowed());
}
