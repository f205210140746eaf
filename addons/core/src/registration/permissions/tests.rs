//! RoleBindings of add-ons. Numbers are those of OCM's scenarios.

mod stored;

use berth_api::addon::{AddOnTemplateSpec, RegistrationConfig};
use k8s_openapi::api::rbac::v1::RoleBinding;
use serde_json::{Value, json};

use super::{Agent, Permissions, permissions};
use crate::registration::registrations;

const OCM: &str = "open-cluster-management:x:clusterrole:agent";

fn current(role: &str) -> Value {
    json!({"type": "CurrentCluster", "currentCluster": {"clusterRoleName": role}})
}

fn single(namespace: &str, kind: &str, role: &str) -> Value {
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role});
    json!({"type": "SingleNamespace", "singleNamespace": {"namespace": namespace, "roleRef": role}})
}

fn template(all: &[Value]) -> AddOnTemplateSpec {
    serde_json::from_value(json!({
        "registration": [{"type": "KubeClient", "kubeClient": {"hubPermissions": all}}],
    }))
    .unwrap()
}

/// What the hub writes into the status of a ManagedClusterAddOn whose agent uses certificates.
fn certificates(cluster: &str) -> Vec<RegistrationConfig> {
    registrations(cluster, "x", &template(&[]), &[])
}

fn token(cluster: &str) -> Vec<RegistrationConfig> {
    let user = format!("system:serviceaccount:{cluster}:x-agent");
    serde_json::from_value(json!([
        {"type": "kubeClient", "kubeClient": {"driver": "token", "subject": {"user": user}}},
    ]))
    .unwrap()
}

fn agent<'a>(
    cluster: &'a str,
    template: &'a AddOnTemplateSpec,
    registrations: &'a [RegistrationConfig],
) -> Agent<'a> {
    Agent {
        cluster,
        uid: cluster,
        template: Some(template),
        registrations,
    }
}

/// The bindings: namespace, name, role and subjects.
fn lines(found: &Permissions) -> Vec<String> {
    let line = |binding: &RoleBinding| {
        let meta = &binding.metadata;
        let subjects = binding.subjects.iter().flatten();
        let subjects: Vec<_> = subjects
            .map(|it| it.name.replace("system:open-cluster-management:", "~"))
            .collect();
        format!(
            "{}/{} {} {} [{}]",
            meta.namespace.as_deref().unwrap(),
            meta.name.as_deref().unwrap(),
            binding.role_ref.kind,
            binding.role_ref.name,
            subjects.join(" ")
        )
    };
    found.wanted.iter().map(line).collect()
}

#[test]
fn a_role_in_the_namespace_of_the_cluster_is_for_its_agents() {
    // 22.
    let (template, registrations) = (template(&[current("r")]), certificates("c1"));
    let found = permissions("x", &[agent("c1", &template, &registrations)], &[]);
    let expected = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {
            "name": OCM,
            "namespace": "c1",
            "labels": {
                "open-cluster-management.io/addon-name": "x",
                "open-cluster-management.io/addon-template-name": "",
            },
            "ownerReferences": [{
                "apiVersion": "addon.open-cluster-management.io/v1beta1",
                "kind": "ManagedClusterAddOn",
                "name": "x",
                "uid": "c1",
            }],
        },
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"},
        "subjects": [
            {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "Group",
                "name": "system:open-cluster-management:cluster:c1:addon:x",
            },
            {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "User",
                "name": "system:open-cluster-management:cluster:c1:addon:x:agent:x-agent",
            },
        ],
    });
    assert_eq!(json!(found.wanted), json!([expected]));
    assert_eq!(
        (found.unwanted, found.pending, found.faults),
        (vec![], vec![], vec![])
    );
}

#[test]
fn without_a_subject_permissions_wait() {
    let template = template(&[current("r"), current("s")]);
    let waits = registrations("c1", "x", &template, &token("c2"));
    let ready = certificates("c2");
    let agents = [
        agent("c1", &template, &waits),
        agent("c2", &template, &ready),
    ];
    let found = permissions("x", &agents, &[]);
    assert_eq!(found.pending, ["c1"]);
    assert_eq!(found.wanted.len(), 2);
    assert!(
        found
            .wanted
            .iter()
            .all(|it| it.metadata.namespace.as_deref() == Some("c2"))
    );
}

#[test]
fn a_role_in_a_single_namespace_is_for_all_clusters() {
    let template = template(&[single("shared", "Role", "r")]);
    let (c1, c2, c3) = (certificates("c1"), token("c2"), token("c3"));
    let agents = [
        agent("c1", &template, &c1),
        agent("c2", &template, &c2),
        agent("c3", &template, &c3),
    ];
    let found = permissions("x", &agents, &[]);
    let all = "shared/open-cluster-management:x:role:agent Role r \
               [~addon:x system:serviceaccount:c2:x-agent system:serviceaccount:c3:x-agent]";
    assert_eq!(lines(&found), [all]);
    assert_eq!(found.wanted[0].metadata.owner_references, None);
    // A cluster that leaves loses its permission, and the last one takes the binding with it.
    let less = permissions("x", &agents[..1], &found.wanted);
    assert_eq!(
        lines(&less),
        ["shared/open-cluster-management:x:role:agent Role r [~addon:x]"]
    );
    let none = permissions("x", &[], &found.wanted);
    assert_eq!(none.wanted, []);
    let name = "open-cluster-management:x:role:agent";
    assert_eq!(none.unwanted, [("shared".to_owned(), name.to_owned())]);
}

#[test]
fn two_roles_of_a_kind_have_two_names_which_stay() {
    let registrations = certificates("c1");
    let [r, s, both] = [
        template(&[current("r")]),
        template(&[current("s")]),
        template(&[current("r"), current("s")]),
    ];
    let of = |template, stored: &[RoleBinding]| {
        permissions("x", &[agent("c1", template, &registrations)], stored)
    };
    let (own_r, own_s) = (
        "open-cluster-management:x:clusterrole:r:agent",
        "open-cluster-management:x:clusterrole:s:agent",
    );
    let names = |found: &Permissions| {
        let all = found.wanted.iter();
        all.map(|it| (it.role_ref.name.clone(), it.metadata.name.clone().unwrap()))
            .collect::<Vec<_>>()
    };
    let named = |role: &str, name: &str| (role.to_owned(), name.to_owned());
    let first = of(&both, &[]);
    assert_eq!(names(&first), [named("r", OCM), named("s", own_s)]);
    // The stored names stay, also when the order changes.
    let swapped = template(&[current("s"), current("r")]);
    assert_eq!(
        names(&of(&swapped, &first.wanted)),
        [named("s", own_s), named("r", OCM)]
    );
    // A binding never changes its role: OCM's name is free only when the binding is gone.
    let stored = of(&r, &[]).wanted;
    let found = of(&s, &stored);
    assert_eq!(names(&found), [named("s", own_s)]);
    assert_eq!(found.unwanted, [("c1".to_owned(), OCM.to_owned())]);
    // What OCM left: one binding with the role that it looked at last.
    let found = of(&both, &of(&s, &[]).wanted);
    assert_eq!(names(&found), [named("r", own_r), named("s", OCM)]);
}

#[test]
fn a_single_namespace_that_is_a_clusters_has_both() {
    let template = template(&[
        current("r"),
        single("c1", "ClusterRole", "r"),
        single("c1", "ClusterRole", "s"),
    ]);
    let (c1, c2) = (certificates("c1"), certificates("c2"));
    let found = permissions(
        "x",
        &[agent("c1", &template, &c1), agent("c2", &template, &c2)],
        &[],
    );
    assert_eq!(
        lines(&found),
        [
            format!(
                "c1/{OCM} ClusterRole r [~addon:x ~cluster:c1:addon:x ~cluster:c1:addon:x:agent:x-agent]"
            ),
            "c1/open-cluster-management:x:clusterrole:s:agent ClusterRole s [~addon:x]".to_owned(),
            format!(
                "c2/{OCM} ClusterRole r [~cluster:c2:addon:x ~cluster:c2:addon:x:agent:x-agent]"
            ),
        ]
    );
    // It is not one cluster's to delete.
    assert_eq!(found.wanted[0].metadata.owner_references, None);
}

#[test]
fn bindings_of_others_stay() {
    let (template, registrations) = (template(&[current("r")]), certificates("c1"));
    let own = permissions("x", &[agent("c1", &template, &registrations)], &[])
        .wanted
        .remove(0);
    let mut other_name = own.clone();
    other_name.metadata.name = Some("mine".to_owned());
    let mut no_label = own.clone();
    no_label.metadata.labels = None;
    let mut other_addon = own.clone();
    let label = "open-cluster-management.io/addon-name".to_owned();
    other_addon
        .metadata
        .labels
        .as_mut()
        .unwrap()
        .insert(label, "y".to_owned());
    // Its name is taken.
    let stored = std::slice::from_ref(&no_label);
    let found = permissions("x", &[agent("c1", &template, &registrations)], stored);
    let name = found.wanted[0].metadata.name.as_deref();
    assert_eq!(name, Some("open-cluster-management:x:clusterrole:r:agent"));
    assert_eq!(found.unwanted, []);
    let found = permissions("x", &[], &[other_name, no_label, other_addon, own]);
    assert_eq!(found.unwanted, [("c1".to_owned(), OCM.to_owned())]);
}

#[test]
fn what_is_bound_stays_while_a_template_is_not_known() {
    let template = template(&[current("r"), single("shared", "ClusterRole", "r")]);
    let (c1, c2) = (token("c1"), token("c2"));
    let agents = [agent("c1", &template, &c1), agent("c2", &template, &c2)];
    let stored = permissions("x", &agents, &[]).wanted;
    let unknown = Agent {
        template: None,
        ..agents[0]
    };
    let found = permissions("x", &[unknown, agents[1]], &stored);
    assert_eq!(
        lines(&found),
        [
            format!("c2/{OCM} ClusterRole r [system:serviceaccount:c2:x-agent]"),
            format!(
                "shared/{OCM} ClusterRole r [system:serviceaccount:c1:x-agent system:serviceaccount:c2:x-agent]"
            ),
        ]
    );
    assert_eq!(found.unwanted, []);
    // Also if no template is known.
    let found = permissions("x", &[unknown], &stored);
    assert_eq!((found.wanted.len(), found.unwanted.len()), (0, 0));
}

#[test]
fn permissions_that_make_no_sense_are_faults() {
    let registrations = certificates("c1");
    let other_group = json!({"type": "SingleNamespace", "singleNamespace": {
        "namespace": "n", "roleRef": {"apiGroup": "", "kind": "Role", "name": "r"},
    }});
    for (permission, fault) in [
        (
            current(""),
            r#""ClusterRole" "" is not a Role or ClusterRole"#,
        ),
        (
            single("", "Role", "r"),
            r#""" is not the name of a namespace"#,
        ),
        (
            single("n", "Group", "r"),
            r#""Group" "r" is not a Role or ClusterRole"#,
        ),
        (other_group, r#""" is not the API group of roles"#),
        (
            json!({"type": "CurrentCluster"}),
            "a permission of type CurrentCluster has no currentCluster",
        ),
        (
            json!({"type": "SingleNamespace"}),
            "a permission of type SingleNamespace has no singleNamespace",
        ),
        (
            json!({"type": "All"}),
            r#"the type "All" of a permission is not known"#,
        ),
    ] {
        let template = template(&[permission, current("r")]);
        let found = permissions("x", &[agent("c1", &template, &registrations)], &[]);
        assert_eq!(found.faults, [("c1".to_owned(), fault.to_owned())]);
        // The other permission is granted.
        assert_eq!(found.wanted.len(), 1);
    }
}

#[test]
fn a_long_role_has_a_digest_in_the_name() {
    let registrations = certificates("c1");
    let template = template(&[current("a"), current(&"r".repeat(129))]);
    let found = permissions("x", &[agent("c1", &template, &registrations)], &[]);
    let name = found.wanted[1].metadata.name.as_deref().unwrap();
    assert_eq!(
        name.len(),
        "open-cluster-management:x:clusterrole:".len() + 64 + ":agent".len()
    );
}
