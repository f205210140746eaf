//! Clusters whose ManagedCluster is gone.

use super::*;
use crate::roles;

#[test]
fn what_a_gone_cluster_left_behind_goes_too() {
    let mut hub = FakeHub::accepted("c1");
    hub.put(ADDONS, "a", None, false);
    hub.put(WORKS, "w", None, true);
    hub.cluster = None;
    hub.run();
    assert_eq!(hub.names(ADDONS), [] as [&str; 0]);
    assert_eq!(hub.names(WORKS), ["w"]);
    assert_eq!(
        hub.object("rolebindings", WORK)
            .map(|stored| stored.deleting),
        Some(true)
    );
    assert_eq!(hub.objects.len(), 2, "the other permissions are gone");
    assert_eq!(
        again_after(&decided(&hub), hub.now()),
        Some(Duration::from_secs(30))
    );
    hub.settle();
    let left: Vec<&str> = hub
        .objects
        .keys()
        .map(|(resource, _)| &**resource)
        .collect();
    assert_eq!(left, ["namespaces"]);
    assert_eq!(asked(&hub), [], "and nothing is asked any more");
    assert_eq!(decided(&hub), ClusterPlan::default());
    assert!(
        hub.writes
            .iter()
            .all(|write| !matches!(write.action, Action::ApplyStatus { .. }))
    );
}

/// When a hub is restored from a backup, its clusters may be restored last.
#[test]
fn what_is_there_of_a_cluster_that_was_never_seen_is_not_cleaned_up() {
    let mut hub = FakeHub::accepted("c1");
    hub.put(WORKS, "w", None, false);
    let cluster = hub.cluster.take();
    hub.was_there = false;
    hub.run();
    assert_eq!(hub.names(WORKS), ["w"], "the works of a running cluster");
    hub.cluster = cluster;
    hub.settle();
    assert_eq!(hub.names(WORKS), ["w"]);
}

#[test]
fn a_gone_cluster_without_permissions_left_leaves_its_namespace_alone() {
    let mut hub = FakeHub::accepted("c1");
    hub.put(WORKS, "w", None, false);
    hub.cluster = None;
    hub.objects
        .retain(|(resource, _), _| resource == "namespaces");
    assert_eq!(asked(&hub), []);
    assert_eq!(decided(&hub), ClusterPlan::default());
}

#[test]
fn a_cluster_made_again_with_the_name_of_a_gone_one_keeps_what_is_there() {
    let mut hub = FakeHub::accepted("c1");
    let objects = hub.objects.clone();
    let cluster = hub.cluster();
    cluster.uid = "another".to_owned();
    cluster.finalizers.clear();
    cluster.conditions.clear();
    hub.run();
    assert_eq!(hub.objects, objects);
}

#[test]
fn a_cluster_that_is_gone_loses_its_permissions_and_a_reserved_namespace_none() {
    for (name, left) in [("c1", 0), ("default", 2), ("kube-system", 2), ("hub", 2)] {
        let mut hub = FakeHub::new(name);
        hub.cluster = None;
        let config = hub.config.clone();
        hub.insert(roles::cluster_role(&config, name, true));
        hub.insert(roles::registration_binding(&config, name));
        hub.run();
        assert_eq!(hub.objects.len(), left, "{name}");
    }
}
