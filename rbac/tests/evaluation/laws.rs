//! What holds for every policy and every request.

use berth_rbac::{Policy, Request, Subject, implied_groups};
use k8s_openapi::api::rbac::v1 as rbac;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Few words, so that policies and requests meet often; now and then any text at all.
fn word() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "a",
        "b",
        "*",
        "*/a",
        "a/*",
        "a/b",
        "/a",
        "/a/*",
        "",
        "system:serviceaccount:a:b",
    ];
    prop_oneof![9 => select(WORDS).prop_map(str::to_owned), 1 => any::<String>()]
}

fn words() -> impl Strategy<Value = Option<Vec<String>>> {
    proptest::option::of(vec(word(), 0..3))
}

fn metadata() -> impl Strategy<Value = ObjectMeta> {
    (word(), word()).prop_map(|(name, namespace)| ObjectMeta {
        name: Some(name),
        namespace: Some(namespace),
        ..ObjectMeta::default()
    })
}

fn rules() -> impl Strategy<Value = Vec<rbac::PolicyRule>> {
    let resources = (
        vec(word(), 1..3),
        vec(word(), 1..3),
        words(),
        vec(word(), 1..3),
    )
        .prop_map(
            |(api_groups, resources, resource_names, verbs)| rbac::PolicyRule {
                api_groups: Some(api_groups),
                resources: Some(resources),
                resource_names,
                verbs,
                non_resource_urls: None,
            },
        );
    let paths = (vec(word(), 1..3), vec(word(), 1..3)).prop_map(|(urls, verbs)| rbac::PolicyRule {
        non_resource_urls: Some(urls),
        verbs,
        ..rbac::PolicyRule::default()
    });
    vec(prop_oneof![3 => resources, 1 => paths], 0..3)
}

fn subjects() -> impl Strategy<Value = Vec<rbac::Subject>> {
    let kind = select(&["User", "Group", "ServiceAccount"][..]);
    let subject =
        (kind, word(), proptest::option::of(word())).prop_map(|(kind, name, namespace)| {
            rbac::Subject {
                kind: kind.to_owned(),
                name,
                namespace,
                api_group: None,
            }
        });
    vec(subject, 0..4)
}

#[derive(Clone, Debug)]
enum Object {
    ClusterRole(rbac::ClusterRole),
    Role(rbac::Role),
    ClusterRoleBinding(rbac::ClusterRoleBinding),
    RoleBinding(rbac::RoleBinding),
}

fn object() -> impl Strategy<Value = Object> {
    (
        0..4,
        metadata(),
        rules(),
        subjects(),
        select(&["ClusterRole", "Role"][..]),
        word(),
    )
        .prop_map(|(which, metadata, rules, subjects, kind, role)| {
            let (rules, subjects) = (Some(rules), Some(subjects));
            let role_ref = rbac::RoleRef {
                api_group: String::new(),
                kind: kind.to_owned(),
                name: role,
            };
            match which {
                0 => Object::ClusterRole(rbac::ClusterRole {
                    aggregation_rule: None,
                    metadata,
                    rules,
                }),
                1 => Object::Role(rbac::Role { metadata, rules }),
                2 => Object::ClusterRoleBinding(rbac::ClusterRoleBinding {
                    metadata,
                    role_ref,
                    subjects,
                }),
                _ => Object::RoleBinding(rbac::RoleBinding {
                    metadata,
                    role_ref,
                    subjects,
                }),
            }
        })
}

fn add(policy: &mut Policy, object: Object) -> bool {
    match object {
        Object::ClusterRole(object) => policy.upsert_cluster_role(object),
        Object::Role(object) => policy.upsert_role(object),
        Object::ClusterRoleBinding(object) => policy.upsert_cluster_role_binding(object),
        Object::RoleBinding(object) => policy.upsert_role_binding(object),
    }
    .is_ok()
}

fn policy() -> impl Strategy<Value = Policy> {
    vec(object(), 0..24).prop_map(|objects| {
        let mut policy = Policy::new();
        for object in objects {
            add(&mut policy, object);
        }
        policy
    })
}

/// A user, the user's groups, and the words of a request.
type Question = (String, Vec<String>, [String; 6], bool);

fn question() -> impl Strategy<Value = Question> {
    (
        word(),
        vec(word(), 0..3),
        [word(), word(), word(), word(), word(), word()],
        any::<bool>(),
    )
}

fn request((.., words, path): &Question) -> Request<'_> {
    let [verb, api_group, resource, subresource, name, namespace] = words;
    if *path {
        return Request::NonResource {
            verb,
            path: resource,
        };
    }
    Request::Resource {
        verb,
        api_group,
        resource,
        subresource,
        name,
        namespace,
    }
}

fn subject((user, groups, ..): &Question) -> Subject<'_> {
    Subject { user, groups }
}

proptest! {
    #[test]
    fn another_binding_takes_no_permission_away(
        policy in policy(), question in question(), name in "new-[a-z]{3}", subjects in subjects(), role in word(),
    ) {
        let before = policy.evaluate(&subject(&question), &request(&question)).is_allowed();
        let mut more = policy;
        let metadata = ObjectMeta { name: Some(name), namespace: Some("a".to_owned()), ..ObjectMeta::default() };
        let role_ref = rbac::RoleRef { api_group: String::new(), kind: "ClusterRole".to_owned(), name: role };
        let (subjects, in_namespace) = (Some(subjects), metadata.clone());
        let binding = rbac::ClusterRoleBinding { metadata, role_ref: role_ref.clone(), subjects: subjects.clone() };
        add(&mut more, Object::ClusterRoleBinding(binding));
        let binding = rbac::RoleBinding { metadata: in_namespace, role_ref, subjects };
        add(&mut more, Object::RoleBinding(binding));
        let after = more.evaluate(&subject(&question), &request(&question)).is_allowed();
        prop_assert!(after || !before);
    }

    #[test]
    fn what_is_allowed_without_names_is_allowed_with_any(
        policy in policy(), mut question in question(), name in any::<String>(),
    ) {
        // A rule for the name "" would be one for names, too: no hub has an object of that name.
        let unnamed = |rule: &rbac::PolicyRule| !rule.resource_names.iter().flatten().any(String::is_empty);
        prop_assume!(policy.rules_for(&subject(&question), &question.2[5]).rules.iter().all(unnamed));
        question.2[4] = String::new();
        let without = policy.evaluate(&subject(&question), &request(&question));
        question.2[4] = name;
        let with = policy.evaluate(&subject(&question), &request(&question));
        prop_assert!(with.is_allowed() || !without.is_allowed());
    }

    #[test]
    fn every_verdict_is_the_same_the_second_time(policy in policy(), question in question()) {
        let first = policy.evaluate(&subject(&question), &request(&question));
        prop_assert_eq!(&first, &policy.clone().evaluate(&subject(&question), &request(&question)));
    }

    #[test]
    fn a_request_is_allowed_only_if_a_listed_rule_is_for_its_verb(policy in policy(), question in question()) {
        let request = request(&question);
        let (Request::Resource { verb, .. } | Request::NonResource { verb, .. }) = request;
        let namespace = if let Request::Resource { namespace, .. } = request { namespace } else { "" };
        let listed = policy.rules_for(&subject(&question), namespace).rules;
        let verb_listed = listed.iter().any(|rule| rule.verbs.iter().any(|own| own == "*" || own == verb));
        prop_assert!(verb_listed || !policy.evaluate(&subject(&question), &request).is_allowed());
    }

    #[test]
    fn arbitrary_text_never_panics(
        policy in policy(), user in any::<String>(), groups in vec(any::<String>(), 0..3), text in any::<[String; 6]>(),
    ) {
        let _ = implied_groups(&user);
        let [verb, api_group, resource, subresource, name, namespace] = &text;
        let subject = Subject { user: &user, groups: &groups };
        let _ = policy.evaluate(&subject, &Request::NonResource { verb, path: resource });
        let request = Request::Resource { verb, api_group, resource, subresource, name, namespace };
        if let berth_rbac::Verdict::Allowed(grant) = policy.evaluate(&subject, &request) {
            let _ = grant.to_string();
        }
    }
}
