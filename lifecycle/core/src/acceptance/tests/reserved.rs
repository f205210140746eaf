//! Names and namespaces that no cluster may have.

use super::*;

#[test]
fn what_is_reserved_or_a_workspace_is_refused() {
    // name, whether its namespace already has the cluster's label, bindings in it, the text of the refusal
    let long = "x".repeat(64);
    let rows: [(&str, bool, &[&str], Option<&str>); 20] = [
        ("default", false, &[], Some("reserved")),
        ("default", true, &[], Some("reserved")),
        ("kube-system", true, &[], Some("reserved")),
        ("kube-public", false, &[], Some("reserved")),
        ("kube-node-lease", false, &[], Some("reserved")),
        ("kube-anything", false, &[], Some("reserved")),
        // OCM accepted it: its agent keeps its permissions.
        ("kube-anything", true, &[], None),
        ("kubernetes", false, &[], None),
        ("hub", false, &[], Some("reserved")),
        ("open-cluster-management", false, &[], Some("reserved")),
        ("open-cluster-management-hub", false, &[], Some("reserved")),
        (
            "open-cluster-management-agent",
            false,
            &[],
            Some("reserved"),
        ),
        (
            "open-cluster-management-agent-addon",
            true,
            &[],
            Some("reserved"),
        ),
        (
            "open-cluster-management-agent2",
            false,
            &[],
            Some("reserved"),
        ),
        ("open-cluster", false, &[], None),
        (
            "team",
            false,
            &["prod"],
            Some("holds ManagedClusterSetBinding \"prod\", which"),
        ),
        (
            "team",
            false,
            &["prod", "test", "x"],
            Some("\"prod\" and 2 more"),
        ),
        ("team", true, &["prod"], None),
        ("a.b", false, &[], Some("must not contain dots")),
        (
            &long,
            false,
            &[],
            Some("must be no more than 63 characters"),
        ),
    ];
    for (name, labelled, bindings, expected) in rows {
        let mut hub = FakeHub::new(name);
        hub.cluster().accepted = true;
        hub.bindings = bindings.iter().map(|&name| name.to_owned()).collect();
        if labelled {
            hub.insert(roles::namespace(&hub.config, name));
        }
        let before = hub.objects.clone();
        let row = format!("{name}, labelled: {labelled}, bindings: {bindings:?}");
        hub.run();
        let (status, reason, message) = hub_accepted(&hub).expect("it is told");
        match expected {
            None => assert_eq!((status, reason, message), ACCEPTED, "{row}"),
            Some(why) => {
                assert_eq!((status, reason), ("False", "Error"), "{row}");
                assert!(message.starts_with("Not accepted: "), "{row}: {message}");
                assert!(message.contains(why), "{row}: {message}");
                assert!(
                    message.contains("delete"),
                    "{row} names the remedy: {message}"
                );
                assert_eq!(hub.objects, before, "{row}: nothing is made or labelled");
                assert_eq!(reasons(&hub), [] as [&str; 0], "{row}");
                let api = labels::API_RESOURCE_CLEANUP;
                assert!(!hub.cluster().has_finalizer(api), "{row}");
            }
        }
    }
}

#[test]
fn names_of_shared_groups_and_roles_are_refused_always() {
    assert_eq!(
        names::agent_group("managed-clusters"),
        berth_api::agents::ALL
    );
    assert_eq!(
        names::cluster_role("registration"),
        names::REGISTRATION_ROLE
    );
    assert_eq!(names::cluster_role("work"), names::WORK_ROLE);
    for (name, why) in [
        ("managed-clusters", "the group of all agents"),
        ("registration", "one that all agents share"),
        ("work", "one that all agents share"),
        ("openshift-x", "begin with \"openshift-\""),
    ] {
        let mut hub = FakeHub::new(name);
        hub.cluster().accepted = true;
        hub.run();
        let (status, reason, message) = hub_accepted(&hub).expect("it is told");
        assert_eq!((status, reason), ("False", "Error"), "{name}");
        assert!(message.contains(why), "{name}: {message}");
        assert!(hub.objects.is_empty(), "{name}");
    }
}

#[test]
fn a_cluster_that_was_accepted_before_its_name_was_reserved_is_kept_with_a_warning() {
    for name in ["default", "kube-system", "hub", "registration", "work"] {
        let mut hub = FakeHub::accepted("c1");
        // As another hub controller created it.
        hub.name = name.to_owned();
        hub.objects.clear();
        for body in [
            roles::namespace(&hub.config, name),
            roles::cluster_role_binding(&hub.config, name),
            roles::registration_binding(&hub.config, name),
            roles::work_binding(&hub.config, name),
        ] {
            hub.insert(body);
        }
        hub.run();
        let (status, reason, message) = hub_accepted(&hub).expect("it is told");
        assert_eq!((status, reason), (ACCEPTED.0, ACCEPTED.1), "{name}");
        assert!(message.starts_with(ACCEPTED.2), "{name}: {message}");
        assert!(message.contains("is reserved"), "{name}: {message}");
        assert_eq!(reasons(&hub), ["ManagedClusterNameReserved"], "{name}");
        assert!(hub.events[0].warning);
        for object in ["registration", "work"] {
            let binding = format!("open-cluster-management:managedcluster:{name}:{object}");
            assert!(hub.object("rolebindings", &binding).is_some(), "{name}");
        }
        // The roles that all agents share are not overwritten for one of them.
        let role = names::cluster_role(name);
        let shared = ["registration", "work"].contains(&name);
        let own = hub.object("clusterroles", &role);
        assert_eq!(own.is_none(), shared, "{name}");
    }
}

#[test]
fn the_cluster_whose_group_is_that_of_all_agents_loses_all_rights_at_once() {
    let name = "managed-clusters";
    for (accepted, deleting) in [(true, false), (false, false), (true, true)] {
        let mut hub = FakeHub::accepted("c1");
        hub.name = name.to_owned();
        hub.objects.clear();
        for body in [
            roles::namespace(&hub.config, name),
            roles::cluster_role(&hub.config, name, true),
            roles::cluster_role_binding(&hub.config, name),
            roles::registration_binding(&hub.config, name),
            roles::work_binding(&hub.config, name),
        ] {
            hub.insert(body);
        }
        // Work that no agent removes does not keep it.
        hub.put(WORKS, "work", None, true);
        hub.cluster().accepted = accepted;
        hub.cluster().deleting = deleting;
        hub.run();
        let left: Vec<_> = hub.objects.keys().map(|(kind, _)| &**kind).collect();
        assert_eq!(left, ["namespaces"], "accepted: {accepted}");
        if deleting {
            continue;
        }
        let (status, _, message) = hub_accepted(&hub).expect("it is told");
        assert_eq!(status, "False", "accepted: {accepted}");
        assert!(
            !accepted || message.contains("the group of all agents"),
            "{message}"
        );
    }
}

#[test]
fn a_refused_cluster_is_accepted_when_the_reason_is_gone_and_else_forgotten() {
    let mut hub = FakeHub::new("team");
    hub.cluster().accepted = true;
    hub.bindings.push("prod".to_owned());
    hub.run();
    let mut other = hub.clone();

    hub.bindings.clear();
    hub.run();
    assert_eq!(hub_accepted(&hub), Some(ACCEPTED));

    other.cluster().accepted = false;
    other.run();
    assert_eq!(hub_accepted(&other), Some(DENIED));
    assert!(
        other.objects.is_empty(),
        "and has no permissions: {:?}",
        other.objects
    );
}

#[test]
fn no_reserved_name_is_accepted_automatically() {
    for name in ["default", "kube-system", "hub", "kube-x", "team"] {
        let mut hub = FakeHub::new(name);
        hub.config.gates.auto_approval = true;
        hub.trusted_request = true;
        hub.bindings.push("prod".to_owned());
        assert_eq!(decided(&hub), ClusterPlan::default(), "{name}");
    }
    let mut hub = FakeHub::new("c1");
    hub.config.gates.auto_approval = true;
    hub.trusted_request = true;
    hub.insert(roles::namespace(&hub.config, "c1")).deleting = true;
    assert_eq!(
        decided(&hub),
        ClusterPlan::default(),
        "nor into a namespace that terminates"
    );
}

/// OCM accepts such a cluster, and its denial overwrites the role of all agents with the rules of a denied cluster.
#[test]
fn denying_a_name_of_all_agents_takes_what_it_has_and_writes_nothing_to_the_shared_roles() {
    for name in ["registration", "work", "managed-clusters"] {
        let mut hub = FakeHub::new(name);
        let config = hub.config.clone();
        hub.cluster().conditions =
            vec![condition(HUB_ACCEPTED, ACCEPTED.0, ACCEPTED.1, ACCEPTED.2)];
        if name == "managed-clusters" {
            hub.insert(roles::cluster_role(&config, name, true));
        } else {
            let role = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": names::cluster_role(name), "labels": {(labels::CLUSTER_NAME): ""}},
                "rules": [],
            });
            hub.insert(role);
        }
        hub.insert(roles::cluster_role_binding(&config, name));
        hub.insert(roles::registration_binding(&config, name));
        let shared = hub.object("clusterroles", &names::cluster_role(name));
        let shared = shared.filter(|_| name != "managed-clusters").cloned();
        hub.run();
        let left: Vec<_> = hub.objects.values().cloned().collect();
        assert_eq!(left, Vec::from_iter(shared), "{name}");
        assert_eq!(hub_accepted(&hub), Some(DENIED), "{name}");
    }
}
