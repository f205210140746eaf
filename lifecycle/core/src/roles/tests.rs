use std::collections::BTreeMap;

use super::*;
use proptest::prelude::*;

fn config(labels: &[(&str, &str)]) -> Config {
    Config {
        labels: labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        ..Config::default()
    }
}

fn all(config: &Config) -> [Value; 8] {
    [
        namespace(config, "c1"),
        cluster_role(config, "c1", true),
        cluster_role(config, "c1", false),
        cluster_role_binding(config, "c1"),
        registration_binding(config, "c1"),
        work_binding(config, "c1"),
        registration_role(config),
        work_role(config),
    ]
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A rule as `groups|resources|names|verbs`.
fn rules(object: &Value) -> Vec<String> {
    let joined = |value: &Value| list(value).iter().map(text).collect::<Vec<_>>().join(",");
    list(&object["rules"])
        .iter()
        .map(|rule| {
            let fields = ["apiGroups", "resources", "resourceNames", "verbs"];
            assert!(
                rule.as_object()
                    .is_some_and(|rule| rule.keys().all(|key| fields.contains(&&**key)))
            );
            fields.map(|field| joined(&rule[field])).join("|")
        })
        .collect()
}

#[test]
fn rules_are_those_of_ocm_in_its_order() {
    let config = config(&[]);
    assert_eq!(
        rules(&cluster_role(&config, "c1", true)),
        [
            "certificates.k8s.io|certificatesigningrequests||create,get,list,watch",
            "register.open-cluster-management.io|managedclusters/clientcertificates||renew",
            "cluster.open-cluster-management.io|managedclusters|c1|get,list,update,watch",
            "cluster.open-cluster-management.io|managedclusters/status|c1|patch,update",
        ]
    );
    assert_eq!(
        rules(&cluster_role(&config, "c1", false)),
        ["cluster.open-cluster-management.io|managedclusters|c1|get,list,watch"]
    );
    assert_eq!(
        rules(&registration_role(&config)),
        [
            "coordination.k8s.io|leases||get,list,watch,update",
            "addon.open-cluster-management.io|managedclusteraddons||get,list,watch",
            "addon.open-cluster-management.io|managedclusteraddons/status||patch,update",
            "events.k8s.io|events||create",
        ]
    );
    assert_eq!(
        rules(&work_role(&config)),
        [
            ",events.k8s.io|events||create,patch,update",
            "work.open-cluster-management.io|manifestworks||get,list,watch,update,patch",
            "work.open-cluster-management.io|manifestworks/status||patch,update",
        ]
    );
}

#[test]
fn bindings_name_the_role_and_both_groups_of_the_agent() {
    let config = config(&[]);
    for (binding, name, namespace, role) in [
        (
            cluster_role_binding(&config, "c1"),
            "open-cluster-management:managedcluster:c1",
            None,
            "open-cluster-management:managedcluster:c1",
        ),
        (
            registration_binding(&config, "c1"),
            "open-cluster-management:managedcluster:c1:registration",
            Some("c1"),
            "open-cluster-management:managedcluster:registration",
        ),
        (
            work_binding(&config, "c1"),
            "open-cluster-management:managedcluster:c1:work",
            Some("c1"),
            "open-cluster-management:managedcluster:work",
        ),
    ] {
        assert_eq!(binding["metadata"]["name"], name);
        assert_eq!(binding["metadata"]["namespace"].as_str(), namespace);
        assert_eq!(
            binding["roleRef"],
            json!({ "apiGroup": RBAC, "kind": "ClusterRole", "name": role })
        );
        let groups = [
            "system:open-cluster-management:c1",
            "open-cluster-management:c1",
        ];
        let expected =
            groups.map(|name| json!({ "kind": "Group", "apiGroup": RBAC, "name": name }));
        assert_eq!(binding["subjects"], json!(expected));
    }
    for object in all(&config) {
        let is_work_binding = object["metadata"]["name"] == names::work_binding("c1");
        let expected: &[&str] = if is_work_binding {
            &[labels::MANIFEST_WORK_CLEANUP]
        } else {
            &[]
        };
        assert_eq!(list(&object["metadata"]["finalizers"]), expected);
    }
}

#[test]
fn an_object_is_addressed_by_its_kind_namespace_and_name() {
    let addresses = all(&config(&[])).map(|object| {
        let Target {
            resource,
            namespace,
            name,
        } = target(&object);
        assert_eq!(resource.version, "v1");
        let group = object["apiVersion"].as_str().unwrap_or_default();
        assert_eq!(
            group.strip_suffix("v1"),
            Some(&*if resource.group.is_empty() {
                String::new()
            } else {
                format!("{}/", resource.group)
            })
        );
        format!(
            "{} {} {name}",
            resource.resource,
            namespace.unwrap_or_default()
        )
    });
    assert_eq!(
        addresses,
        [
            "namespaces  c1",
            "clusterroles  open-cluster-management:managedcluster:c1",
            "clusterroles  open-cluster-management:managedcluster:c1",
            "clusterrolebindings  open-cluster-management:managedcluster:c1",
            "rolebindings c1 open-cluster-management:managedcluster:c1:registration",
            "rolebindings c1 open-cluster-management:managedcluster:c1:work",
            "clusterroles  open-cluster-management:managedcluster:registration",
            "clusterroles  open-cluster-management:managedcluster:work",
        ]
    );
}

#[test]
fn configured_labels_are_on_everything_and_never_say_whose_it_is() {
    let config = config(&[
        ("team", "a"),
        (labels::CLUSTER_NAME, "stolen"),
        (labels::ADDON_NAME, "hidden"),
    ]);
    for (object, cluster) in all(&config)
        .iter()
        .zip(["c1", "c1", "c1", "c1", "c1", "c1", "", ""])
    {
        assert_eq!(
            object["metadata"]["labels"],
            json!({ "team": "a", (labels::CLUSTER_NAME): cluster })
        );
    }
    // Also after objects of another cluster were made: no state is kept.
    let _ = cluster_role(&config, "c2", true);
    let denied = cluster_role(&config, "c1", false);
    assert_eq!(denied["metadata"]["labels"][labels::CLUSTER_NAME], "c1");
}

#[test]
fn what_is_ours_counts_and_what_is_not_does_not() {
    let config = config(&[("team", "a")]);
    type Edit = fn(&mut Value);
    let role: Value = cluster_role(&config, "c1", true);
    let binding: Value = work_binding(&config, "c1");
    let rows: [(&str, &Value, bool, Edit); 23] = [
        ("nothing is changed", &role, true, |_| {}),
        ("a label of somebody else's", &role, true, |o| {
            o["metadata"]["labels"]["x"] = json!("y")
        }),
        ("an annotation", &role, true, |o| {
            o["metadata"]["annotations"] = json!({"x": "y"})
        }),
        ("what the API server adds", &role, true, |o| {
            o["metadata"]["uid"] = json!("u");
            o["metadata"]["resourceVersion"] = json!("7");
            o["metadata"]["managedFields"] = json!([{}]);
        }),
        ("absent lists are empty ones", &role, true, |o| {
            o["rules"][0]["resourceNames"] = json!([])
        }),
        ("null is empty, too", &role, true, |o| {
            o["rules"][0]["nonResourceURLs"] = Value::Null
        }),
        ("a role has no subjects", &role, true, |o| {
            o["subjects"] = json!([])
        }),
        ("the cluster's label is another", &role, false, |o| {
            o["metadata"]["labels"][labels::CLUSTER_NAME] = json!("c2");
        }),
        ("a configured label is another", &role, false, |o| {
            o["metadata"]["labels"]["team"] = json!("b")
        }),
        ("a configured label is empty", &role, false, |o| {
            o["metadata"]["labels"]["team"] = json!("")
        }),
        ("all labels are gone", &role, false, |o| {
            o["metadata"]["labels"] = Value::Null
        }),
        ("one verb more", &role, false, |o| {
            o["rules"][0]["verbs"] = json!(["*"])
        }),
        ("one rule less", &role, false, |o| {
            o["rules"].as_array_mut().expect("a list").pop();
        }),
        ("no rules", &role, false, |o| o["rules"] = Value::Null),
        ("rules in another order", &role, false, |o| {
            o["rules"].as_array_mut().expect("a list").swap(0, 1)
        }),
        ("the name of another cluster", &role, false, |o| {
            o["rules"][2]["resourceNames"] = json!(["c2"])
        }),
        ("no name: all clusters", &role, false, |o| {
            o["rules"][2]["resourceNames"] = json!([])
        }),
        ("a URL", &role, false, |o| {
            o["rules"][0]["nonResourceURLs"] = json!(["/"])
        }),
        (
            "the API server adds the group of a subject",
            &binding,
            true,
            |o| {
                o["subjects"][0]
                    .as_object_mut()
                    .expect("a map")
                    .remove("apiGroup");
            },
        ),
        ("one subject more", &binding, false, |o| {
            o["subjects"]
                .as_array_mut()
                .expect("a list")
                .push(json!({"kind": "User", "name": "eve"}));
        }),
        (
            "a service account instead of a group",
            &binding,
            false,
            |o| {
                o["subjects"][0]["kind"] = json!("ServiceAccount");
            },
        ),
        ("another role", &binding, false, |o| {
            o["roleRef"]["name"] = json!("cluster-admin")
        }),
        ("finalizers are told apart from this", &binding, true, |o| {
            o["metadata"]["finalizers"] = Value::Null
        }),
    ];
    for (row, object, same, edit) in rows {
        let mut edited = object.clone();
        edit(&mut edited);
        let is_same = fingerprint(&config, &edited) == fingerprint(&config, object);
        assert_eq!(is_same, same, "{row}");
    }
}

#[test]
fn a_wanted_object_has_the_fingerprint_and_the_target_of_its_body() {
    let configs = [
        config(&[]),
        config(&[("team", "a"), ("a", ""), (labels::ADDON_NAME, "hidden")]),
    ];
    for (config, cluster) in configs.iter().flat_map(|it| [(it, "c1"), (it, "c-2")]) {
        for object in [
            ClusterObject::Namespace,
            ClusterObject::ClusterRole { accepted: true },
            ClusterObject::ClusterRole { accepted: false },
            ClusterObject::ClusterRoleBinding,
            ClusterObject::RegistrationBinding,
            ClusterObject::WorkBinding,
        ] {
            let body = object.body(config, cluster);
            let found = object.fingerprint(config, cluster);
            assert_eq!(found, fingerprint(config, &body), "{object:?} {cluster}");
            assert_eq!(
                object.target(cluster),
                target(&body),
                "{object:?} {cluster}"
            );
        }
    }
}

#[test]
fn a_service_account_belongs_to_the_core_group() {
    let account = |extra: Value| {
        let mut subject = json!({ "kind": "ServiceAccount", "name": "a", "namespace": "n" });
        if let Value::String(group) = extra {
            subject["apiGroup"] = json!(group);
        }
        fingerprint(&config(&[]), &json!({ "subjects": [subject] }))
    };
    assert_eq!(account(Value::Null), account(json!("")));
    assert_ne!(account(Value::Null), account(json!(RBAC)));
}

#[test]
fn no_two_of_our_objects_are_the_same() {
    let config = config(&[]);
    let digests: BTreeMap<u64, usize> = all(&config)
        .iter()
        .enumerate()
        .map(|(at, object)| (fingerprint(&config, object), at))
        .collect();
    assert_eq!(digests.len(), 8);
}

#[test]
fn a_value_does_not_slip_from_one_field_into_the_next() {
    let digest = |rule: Value| fingerprint(&config(&[]), &json!({ "rules": [rule] }));
    assert_ne!(
        digest(json!({ "apiGroups": ["a"], "resources": ["b"] })),
        digest(json!({ "apiGroups": ["a", "b"] }))
    );
    assert_ne!(
        digest(json!({ "verbs": ["ab"] })),
        digest(json!({ "verbs": ["a", "b"] }))
    );
    assert_ne!(
        digest(json!({})),
        fingerprint(&config(&[]), &json!({ "rules": [] }))
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let keys = prop::sample::select(vec![
            "metadata", "labels", "rules", "verbs", "subjects", "roleRef", "kind", "name",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keys, inner, 0..4).prop_map(|map| map
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn anything_has_a_digest(object in any_json()) {
        let config = config(&[("team", "a")]);
        prop_assert_eq!(fingerprint(&config, &object), fingerprint(&config, &object.clone()));
    }
}

#[test]
fn an_object_is_of_the_agent_by_its_content() {
    let config = config(&[]);
    for made in [
        cluster_role(&config, "c1", true),
        cluster_role(&config, "c1", false),
        cluster_role_binding(&config, "c1"),
        registration_binding(&config, "c1"),
        work_binding(&config, "c1"),
    ] {
        assert!(is_of_agent(&made), "{made}");
        let mut edited = made.clone();
        edited["subjects"] = json!([{"kind": "User", "name": "eve"}]);
        assert!(is_of_agent(&edited), "{edited}");
        let mut foreign = edited;
        foreign["rules"] = json!([]);
        foreign["roleRef"] = json!({"kind": "ClusterRole", "name": "view"});
        assert!(!is_of_agent(&foreign), "{foreign}");
    }
}
