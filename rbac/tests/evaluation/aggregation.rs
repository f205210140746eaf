//! The permissions of an aggregated ClusterRole; each row of a table is a sentence.

use crate::support::{ask, load, policy};

const AGGREGATED: &str = "
kind: ClusterRole
metadata: {name: top}
aggregationRule:
  clusterRoleSelectors:
  - {matchLabels: {to-top: 'yes'}}
  - {matchExpressions: [{key: tier, operator: In, values: [a, b]}, {key: retired, operator: DoesNotExist}]}
rules: [{verbs: [get], apiGroups: [''], resources: [written-by-hand]}]
---
kind: ClusterRole
metadata: {name: one, labels: {to-top: 'yes'}}
rules: [{verbs: [get], apiGroups: [''], resources: [one]}]
---
kind: ClusterRole
metadata: {name: two, labels: {tier: b}}
rules: [{verbs: [get], apiGroups: [''], resources: [two]}]
---
kind: ClusterRole
metadata: {name: apart, labels: {tier: b, retired: ''}}
rules: [{verbs: [get], apiGroups: [''], resources: [apart]}]
---
kind: ClusterRole
metadata: {name: middle, labels: {tier: a, circle: 'yes'}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {deep: 'yes'}}, {matchLabels: {circle: 'yes'}}]}
---
kind: ClusterRole
metadata: {name: back, labels: {circle: 'yes'}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {tier: a}}]}
rules: [{verbs: [get], apiGroups: [''], resources: [written-in-a-circle]}]
---
kind: ClusterRole
metadata: {name: leaf, labels: {deep: 'yes'}}
rules: [{verbs: [get], apiGroups: [''], resources: [leaf]}]
---
kind: ClusterRole
metadata: {name: everything}
aggregationRule: {clusterRoleSelectors: [{}]}
---
kind: ClusterRole
metadata: {name: unlabelled}
aggregationRule: {clusterRoleSelectors: [{matchExpressions: [{key: tier, operator: NotIn, values: [a, b]}, {key: to-top, operator: Exists}]}]}
---
kind: ClusterRoleBinding
metadata: {name: top}
roleRef: {kind: ClusterRole, name: top}
subjects: [{kind: User, name: u}]
---
kind: ClusterRoleBinding
metadata: {name: everything}
roleRef: {kind: ClusterRole, name: everything}
subjects: [{kind: User, name: all}]
---
kind: ClusterRoleBinding
metadata: {name: unlabelled}
roleRef: {kind: ClusterRole, name: unlabelled}
subjects: [{kind: User, name: x}]
---
kind: ClusterRoleBinding
metadata: {name: back}
roleRef: {kind: ClusterRole, name: back}
subjects: [{kind: User, name: c}]
";

#[test]
fn an_aggregated_role_has_the_rules_of_the_roles_it_selects() {
    let rows = [
        ("a role selected by a label", "u", "one", true),
        (
            "a role selected by another selector, by expressions",
            "u",
            "two",
            true,
        ),
        ("all parts of a selector must hold", "u", "apart", false),
        (
            "through a selected role that is aggregated itself",
            "u",
            "leaf",
            true,
        ),
        (
            "what was written into it is overwritten",
            "u",
            "written-by-hand",
            false,
        ),
        (
            "also where roles select each other",
            "u",
            "written-in-a-circle",
            false,
        ),
        (
            "a role in a circle gets what the circle reaches",
            "c",
            "leaf",
            true,
        ),
        ("an empty selector selects all", "all", "apart", true),
        (
            "and still nothing that is overwritten",
            "all",
            "written-by-hand",
            false,
        ),
        (
            "a role without the label is not in any list",
            "x",
            "one",
            true,
        ),
        ("one with a listed value is", "x", "two", false),
        (
            "one without the other label does not have it",
            "x",
            "leaf",
            false,
        ),
    ];
    let policy = policy(AGGREGATED);
    for (sentence, user, resource, allowed) in rows {
        let line = format!("get core {resource}");
        assert_eq!(
            ask(&policy, user, &[], &line).is_allowed(),
            allowed,
            "{sentence}"
        );
    }
}

#[test]
fn aggregation_follows_labels_as_they_change() {
    let part = |labels: &str| {
        format!(
            "kind: ClusterRole\nmetadata: {{name: part, labels: {{{labels}}}}}\nrules: [{{verbs: [get], apiGroups: [''], resources: [pods]}}]"
        )
    };
    let top = "
kind: ClusterRole
metadata: {name: top}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {to: top}}]}
---
kind: ClusterRoleBinding
metadata: {name: b}
roleRef: {kind: ClusterRole, name: top}
subjects: [{kind: User, name: u}]
";
    let plain = "kind: ClusterRole\nmetadata: {name: top}\nrules: [{verbs: [get], apiGroups: [''], resources: [nodes]}]";
    let mut policy = policy(top);
    let mut allowed_after = |yaml: &str| {
        load(&mut policy, yaml).unwrap();
        ask(&policy, "u", &[], "get core pods").is_allowed()
    };
    assert!(
        allowed_after(&part("to: top")),
        "a selected role that comes later"
    );
    assert!(!allowed_after(&part("to: bottom")), "its label changes");
    assert!(allowed_after(&part("to: top")), "and changes back");
    assert!(!allowed_after(plain), "the role is aggregated no longer");
    assert!(allowed_after(top), "and is again");
    assert!(policy.remove_cluster_role("part"));
    assert!(
        !ask(&policy, "u", &[], "get core pods").is_allowed(),
        "the selected role is removed"
    );
}
