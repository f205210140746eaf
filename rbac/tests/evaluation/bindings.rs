//! The subjects and the scope of bindings; each row of a table is a sentence.

use crate::support::{answer, ask, policy, request};
use berth_rbac::{Grant, Policy, Subject, Verdict, implied_groups};

const SUBJECTS: &str = "
kind: ClusterRole
metadata: {name: reader}
rules:
- {verbs: [get], apiGroups: [''], resources: [pods]}
- {verbs: [get], nonResourceURLs: [/metrics]}
---
kind: ClusterRoleBinding
metadata: {name: users}
roleRef: {kind: ClusterRole, name: reader, apiGroup: rbac.authorization.k8s.io}
subjects: [{kind: User, name: zoe}, {kind: User, name: alice, apiGroup: rbac.authorization.k8s.io}]
---
kind: ClusterRoleBinding
metadata: {name: groups}
roleRef: {kind: ClusterRole, name: reader}
subjects: [{kind: Group, name: team}, {kind: Group, name: 'system:serviceaccounts:batch'}]
---
kind: ClusterRoleBinding
metadata: {name: account}
roleRef: {kind: ClusterRole, name: reader}
subjects: [{kind: ServiceAccount, name: bot, namespace: ci, apiGroup: ''}]
---
kind: RoleBinding
metadata: {name: local, namespace: app}
roleRef: {kind: ClusterRole, name: reader}
subjects: [{kind: ServiceAccount, name: here}, {kind: ServiceAccount, name: there, namespace: other}]
---
kind: ClusterRoleBinding
metadata: {name: nobody}
roleRef: {kind: ClusterRole, name: reader}
";

#[test]
fn subjects_are_users_groups_and_service_accounts() {
    let by = |binding, subject| format!("{binding} -> ClusterRole \"reader\" for {subject}");
    let user = by("ClusterRoleBinding \"users\"", "user \"alice\"");
    let group = by("ClusterRoleBinding \"groups\"", "group \"team\"");
    let account = by(
        "ClusterRoleBinding \"account\"",
        "service account \"ci/bot\"",
    );
    let here = by("RoleBinding \"app/local\"", "service account \"app/here\"");
    let there = by(
        "RoleBinding \"app/local\"",
        "service account \"other/there\"",
    );
    let none = "no".to_owned();
    let rows: [(&str, &str, &[&str], &String); 14] = [
        ("a user by name", "alice", &[], &user),
        ("a member of a group", "dora", &["x", "team"], &group),
        (
            "of several bindings the first by name",
            "alice",
            &["team"],
            &group,
        ),
        ("a user is not a group of that name", "team", &[], &none),
        (
            "a group is not a user of that name",
            "dora",
            &["alice"],
            &none,
        ),
        (
            "a service account by its user name",
            "system:serviceaccount:ci:bot",
            &[],
            &account,
        ),
        (
            "not that of another namespace",
            "system:serviceaccount:app:bot",
            &[],
            &none,
        ),
        (
            "not with more behind the name",
            "system:serviceaccount:ci:bot:x",
            &[],
            &none,
        ),
        ("not the bare name", "bot", &[], &none),
        (
            "a subject without namespace is in its binding's",
            "system:serviceaccount:app:here",
            &[],
            &here,
        ),
        (
            "and in no other",
            "system:serviceaccount:other:here",
            &[],
            &none,
        ),
        (
            "a RoleBinding may name an account from elsewhere",
            "system:serviceaccount:other:there",
            &[],
            &there,
        ),
        (
            "groups a name implies do not count by themselves",
            "system:serviceaccount:batch:job",
            &[],
            &none,
        ),
        ("a binding without subjects is for nobody", "", &[], &none),
    ];
    let policy = policy(SUBJECTS);
    for (sentence, user, groups, expected) in rows {
        assert_eq!(
            answer(&policy, user, groups, "get core pods -n app"),
            *expected,
            "{sentence}"
        );
    }

    let user = "system:serviceaccount:batch:job";
    let subject = Subject {
        user,
        groups: &implied_groups(user),
    };
    assert!(
        policy
            .evaluate(&subject, &request("get core pods"))
            .is_allowed(),
        "implied groups count when given"
    );
}

#[test]
fn a_user_subject_may_spell_out_a_service_account() {
    let policy = policy(
        "
kind: ClusterRole
metadata: {name: r}
rules: [{verbs: [get], apiGroups: [''], resources: [pods]}]
---
kind: ClusterRoleBinding
metadata: {name: b}
roleRef: {kind: ClusterRole, name: r}
subjects: [{kind: User, name: 'system:serviceaccount:ci:bot'}]
",
    );
    assert!(
        ask(
            &policy,
            "system:serviceaccount:ci:bot",
            &[],
            "get core pods"
        )
        .is_allowed()
    );
}

const SCOPES: &str = "
kind: ClusterRole
metadata: {name: wide}
rules:
- {verbs: [get], apiGroups: [''], resources: [pods, nodes]}
- {verbs: [get], nonResourceURLs: [/metrics]}
---
kind: Role
metadata: {name: narrow, namespace: app}
rules: [{verbs: [get], apiGroups: [''], resources: [secrets]}]
---
kind: Role
metadata: {name: narrow, namespace: other}
rules: [{verbs: [delete], apiGroups: [''], resources: [secrets]}]
---
kind: RoleBinding
metadata: {name: by-cluster-role, namespace: app}
roleRef: {kind: ClusterRole, name: wide}
subjects: [{kind: User, name: u}]
---
kind: RoleBinding
metadata: {name: by-role, namespace: app}
roleRef: {kind: Role, name: narrow}
subjects: [{kind: User, name: u}]
";

#[test]
fn a_role_binding_counts_in_its_namespace_only() {
    let rows = [
        (
            "a ClusterRole through a RoleBinding",
            "get core pods web -n app",
            true,
        ),
        (
            "grants nothing in another namespace",
            "get core pods web -n other",
            false,
        ),
        ("nothing across namespaces", "get core pods", false),
        ("nothing cluster-scoped", "get core nodes n1", false),
        ("no paths", "get /metrics", false),
        (
            "a Role grants in its namespace",
            "get core secrets -n app",
            true,
        ),
        ("not elsewhere", "get core secrets -n other", false),
        (
            "a Role of the same name elsewhere is another",
            "delete core secrets -n app",
            false,
        ),
    ];
    for (sentence, line, allowed) in rows {
        assert_eq!(
            ask(&policy(SCOPES), "u", &[], line).is_allowed(),
            allowed,
            "{sentence}: {line}"
        );
    }
}

#[test]
fn a_grant_names_the_role_with_its_namespace() {
    let expected = r#"RoleBinding "app/by-role" -> Role "app/narrow" for user "u""#;
    assert_eq!(
        answer(&policy(SCOPES), "u", &[], "get core secrets -n app"),
        expected
    );
}

const DANGLING: &str = "
kind: ClusterRole
metadata: {name: r}
rules: [{verbs: [get], apiGroups: [''], resources: [pods]}]
---
kind: ClusterRoleBinding
metadata: {name: a-dangling}
roleRef: {kind: ClusterRole, name: gone}
subjects: [{kind: User, name: u}]
---
kind: ClusterRoleBinding
metadata: {name: b-good}
roleRef: {kind: ClusterRole, name: r}
subjects: [{kind: User, name: u}]
---
kind: RoleBinding
metadata: {name: c-dangling, namespace: app}
roleRef: {kind: Role, name: r}
subjects: [{kind: User, name: u}]
";

#[test]
fn a_binding_without_its_role_is_reported_and_stops_nothing() {
    let policy = policy(DANGLING);
    let cluster = r#"clusterrole.rbac.authorization.k8s.io "gone" not found: ClusterRoleBinding "a-dangling" grants nothing until ClusterRole "gone" is created"#;
    let local = r#"role.rbac.authorization.k8s.io "r" not found: RoleBinding "app/c-dangling" grants nothing until Role "app/r" is created"#;
    let trouble = |line| match ask(&policy, "u", &[], line) {
        Verdict::NoOpinion { errors } => errors.iter().map(ToString::to_string).collect(),
        Verdict::Allowed(grant) => vec![format!("allowed: {grant}")],
    };

    assert!(
        ask(&policy, "u", &[], "get core pods").is_allowed(),
        "bindings behind it grant"
    );
    assert_eq!(trouble("get core nodes"), [cluster], "one cluster-wide");
    assert_eq!(
        trouble("get core secrets -n app"),
        [cluster, local],
        "two in the namespace"
    );
    assert_eq!(
        ask(&policy, "other", &[], "get core nodes"),
        Verdict::NoOpinion { errors: Vec::new() },
        "another user's bindings are not reported"
    );
}

#[test]
fn superusers_are_an_option() {
    let line = "delete core nodes";
    assert_eq!(
        answer(&Policy::new(), "root", &["system:masters"], line),
        "no",
        "no group is special by itself"
    );
    let policy = Policy::new()
        .with_superusers("system:masters")
        .with_superusers("breakglass");
    let verdict = ask(&policy, "root", &["a", "breakglass"], "get /metrics");
    assert_eq!(
        verdict,
        Verdict::Allowed(Grant::Superuser {
            group: "breakglass".to_owned()
        })
    );
    assert_eq!(
        answer(&policy, "root", &["system:masters"], line),
        r#"group "system:masters" may do everything"#
    );
    assert_eq!(
        answer(&policy, "system:masters", &[], line),
        "no",
        "a user of the group's name is nobody"
    );
}

#[test]
fn rules_are_listed_for_a_namespace() {
    let resources = |user: &str, namespace: &str| -> Vec<String> {
        let rules = policy(SCOPES)
            .rules_for(&Subject::<&str> { user, groups: &[] }, namespace)
            .rules;
        rules
            .into_iter()
            .flat_map(|rule| rule.resources.or(rule.non_resource_urls).unwrap())
            .collect()
    };
    assert_eq!(
        resources("u", "app"),
        ["pods", "nodes", "/metrics", "secrets"],
        "in the order of the bindings"
    );
    assert_eq!(
        resources("u", ""),
        [""; 0],
        "RoleBindings do not count without their namespace"
    );
    assert_eq!(resources("x", "app"), [""; 0], "nothing for others");

    let dangling = policy(DANGLING).rules_for(
        &Subject::<&str> {
            user: "u",
            groups: &[],
        },
        "app",
    );
    assert_eq!(
        (dangling.rules.len(), dangling.errors.len()),
        (1, 2),
        "what is missing is reported"
    );

    let all = Policy::new().with_superusers("m").rules_for(
        &Subject {
            user: "root",
            groups: &["m"],
        },
        "",
    );
    assert_eq!(
        all.rules.len(),
        2,
        "superusers: every resource and every path"
    );
}
