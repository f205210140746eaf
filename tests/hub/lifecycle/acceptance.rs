//! The objects that an accepted cluster gets, and those that a denied cluster loses.

use berth_lifecycle_core::roles;
use serde_json::{Value, json};

use crate::lifecycle::hub::{
    ACCEPTED, HubWithReconcilers, cluster_path, condition, config, lease_path, namespace_path,
    owned_paths, rbac_path, writes,
};
use berth_testkit::cluster::{AsAdmin, fresh};
use berth_testkit::{eventually, when};

fn labels(cluster: &str) -> Value {
    json!({"open-cluster-management.io/cluster-name": cluster})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_accepted_cluster_has_all_it_needs() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("accepted");
    let object = hub.accepted(&name).await;
    assert_eq!(
        object["spec"]["holderIdentity"], "managed-cluster-lease",
        "{object}"
    );

    let objects = hub.quiet(&owned_paths(&name)).await;
    let [namespace, role, role_binding, registration, work, lease] = &objects[..] else {
        panic!("{objects:#?}")
    };
    for object in [role, role_binding, registration, work, lease] {
        assert_eq!(object["metadata"]["labels"], labels(&name), "{object}");
    }
    let label = &namespace["metadata"]["labels"]["open-cluster-management.io/cluster-name"];
    assert_eq!(*label, *name);
    assert_eq!(role["rules"].as_array().unwrap().len(), 4);
    let subjects = json!([
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": format!("system:open-cluster-management:{name}")},
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": format!("open-cluster-management:{name}")},
    ]);
    for binding in [role_binding, registration, work] {
        assert_eq!(binding["subjects"], subjects);
    }
    assert_eq!(
        work["metadata"]["finalizers"],
        json!(["cluster.open-cluster-management.io/manifest-work-cleanup"])
    );

    let cluster = hub.get(&cluster_path(&name)).await.body;
    assert_eq!(
        cluster["metadata"]["finalizers"],
        json!([
            "cluster.open-cluster-management.io/resource-cleanup",
            "cluster.open-cluster-management.io/api-resource-cleanup",
        ])
    );
    assert_eq!(
        cluster["spec"]["taints"][0]["key"],
        "cluster.open-cluster-management.io/unreachable"
    );
    assert_eq!(
        condition(&cluster, ACCEPTED).unwrap()["message"],
        "Accepted by hub cluster admin"
    );
    for common in ["registration", "work"] {
        let path = rbac_path(&format!(
            "clusterroles/open-cluster-management:managedcluster:{common}"
        ));
        hub.once(&path, "there", |_| true).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_nobody_accepted_gets_nothing() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("waiting");
    hub.cluster(&name, json!({"hubAcceptsClient": false})).await;
    // It is seen: it has the taint.
    let cluster = hub
        .once(&cluster_path(&name), "tainted", |object| {
            object["spec"]["taints"].is_array()
        })
        .await;
    assert_eq!(condition(&cluster, ACCEPTED), None);
    for path in owned_paths(&name) {
        assert_eq!(hub.get(&path).await.code, 404, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denied_cluster_keeps_the_right_to_see_itself_and_may_come_back() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("denied");
    hub.accepted(&name).await;
    let accept = |accepts: bool| json!({"spec": {"hubAcceptsClient": accepts}});
    hub.patch(&cluster_path(&name), accept(false)).await;
    let cluster = hub
        .condition(&name, ACCEPTED, "False", "HubClusterAdminDenied")
        .await;
    assert_eq!(
        condition(&cluster, ACCEPTED).unwrap()["message"],
        "Denied by hub cluster admin"
    );
    let [namespace, role, role_binding, registration, work, _] = &owned_paths(&name)[..] else {
        unreachable!()
    };
    hub.gone(registration).await;
    hub.gone(work).await;
    let role_now = hub.get(role).await.body;
    assert_eq!(
        role_now["rules"],
        json!([{
            "apiGroups": ["cluster.open-cluster-management.io"],
            "resources": ["managedclusters"],
            "resourceNames": [name],
            "verbs": ["get", "list", "watch"],
        }])
    );
    for path in [namespace, role_binding] {
        assert_eq!(hub.get(path).await.code, 200, "{path}");
    }

    hub.patch(&cluster_path(&name), accept(true)).await;
    hub.condition(&name, ACCEPTED, "True", "HubClusterAdminAccepted")
        .await;
    for path in owned_paths(&name) {
        assert_eq!(hub.get(&path).await.code, 200, "{path}");
    }
    let role_now = hub.get(role).await.body;
    assert_eq!(role_now["rules"].as_array().unwrap().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_edited_or_deleted_by_hand_is_put_right() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("edited");
    hub.accepted(&name).await;
    let paths = owned_paths(&name);
    let role = &paths[1];
    hub.patch(role, json!({"rules": []})).await;
    hub.once(role, "mended", |object| {
        object["rules"]
            .as_array()
            .is_some_and(|rules| rules.len() == 4)
    })
    .await;
    let foreign = json!({"metadata": {"labels": {"open-cluster-management.io/cluster-name": "other", "mine": "yes"}}});
    hub.patch(&paths[2], foreign).await;
    let mended = hub
        .once(&paths[2], "labelled", |object| {
            object["metadata"]["labels"]["open-cluster-management.io/cluster-name"] == *name
        })
        .await;
    assert_eq!(mended["metadata"]["labels"]["mine"], "yes");
    for path in [&paths[1], &paths[2], &paths[3], &paths[5]] {
        let before = hub.get(path).await.body;
        hub.delete(path).await;
        hub.once(path, "made anew", |object| {
            object["metadata"]["uid"] != before["metadata"]["uid"]
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_made_in_advance_is_adopted() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("prepared");
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": "a"}},
    });
    hub.create("/api/v1/namespaces", &namespace).await;
    hub.accepted(&name).await;
    let namespace = hub.get(&namespace_path(&name)).await.body;
    let labels = &namespace["metadata"]["labels"];
    assert_eq!(labels["team"], "a");
    assert_eq!(labels["open-cluster-management.io/cluster-name"], *name);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_cluster_takes_over_a_namespace_of_the_hub_or_of_a_team() {
    let hub = HubWithReconcilers::shared().await;
    let workspace = fresh("workspace");
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": workspace}});
    hub.create("/api/v1/namespaces", &namespace).await;
    let bindings = format!(
        "/apis/cluster.open-cluster-management.io/v1beta2/namespaces/{workspace}/managedclustersetbindings"
    );
    let binding = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": {"name": "prod"},
        "spec": {"clusterSet": "prod"},
    });
    hub.create(&bindings, &binding).await;
    for (name, why) in [
        ("kube-system", "reserved"),
        ("open-cluster-management-hub", "reserved"),
        ("default", "reserved"),
        (&workspace, "prod"),
    ] {
        hub.cluster(name, json!({"hubAcceptsClient": true})).await;
        let cluster = hub.condition(name, ACCEPTED, "False", "Error").await;
        let message = &condition(&cluster, ACCEPTED).unwrap()["message"];
        assert!(message.as_str().unwrap().contains(why), "{name}: {message}");
        let namespace = hub.get(&namespace_path(name)).await.body;
        let label = &namespace["metadata"]["labels"]["open-cluster-management.io/cluster-name"];
        assert!(label.is_null(), "{namespace}");
        for path in &owned_paths(name)[1..] {
            assert_eq!(hub.get(path).await.code, 404, "{path}");
        }
        hub.delete(&cluster_path(name)).await;
        hub.gone(&cluster_path(name)).await;
    }
}

/// As another hub's controller has left it: what is bound to the agents of this cluster is bound to all agents.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_whose_group_is_that_of_all_agents_loses_all_rights() {
    let hub = HubWithReconcilers::shared().await;
    let (name, config) = ("managed-clusters", config());
    let role = roles::cluster_role(&config, name, true);
    let namespace = roles::namespace(&config, name);
    hub.create("/api/v1/namespaces", &namespace).await;
    let bindings = format!("namespaces/{name}/rolebindings");
    for (collection, object) in [
        ("clusterroles", role),
        (
            "clusterrolebindings",
            roles::cluster_role_binding(&config, name),
        ),
        (&*bindings, roles::registration_binding(&config, name)),
        (&*bindings, roles::work_binding(&config, name)),
    ] {
        hub.create(&rbac_path(collection), &object).await;
    }
    hub.cluster(name, json!({"hubAcceptsClient": true})).await;
    let cluster = hub.condition(name, ACCEPTED, "False", "Error").await;
    let message = &condition(&cluster, ACCEPTED).unwrap()["message"];
    let why = "the group of the cluster's agents would be the group of all agents";
    assert!(message.as_str().unwrap().contains(why), "{message}");
    for path in &owned_paths(name)[1..5] {
        hub.gone(path).await;
    }
    hub.delete(&cluster_path(name)).await;
    hub.gone(&cluster_path(name)).await;
}

/// Also what others start with: nothing is written twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_that_is_as_it_should_be_is_left_alone() {
    let mut hub = HubWithReconcilers::private(config()).await;
    let names: Vec<_> = (0..5).map(|_| fresh("steady")).collect();
    for name in &names {
        hub.accepted(name).await;
    }
    let paths: Vec<String> = names
        .iter()
        .flat_map(|name| [owned_paths(name), vec![cluster_path(name)]].concat())
        .collect();
    let before = hub.quiet(&paths).await;
    hub.restart(config()).await;
    // It has seen everything when it does something.
    let witness = fresh("witness");
    hub.accepted(&witness).await;
    let writes = eventually("the writes for the witness", async || {
        when(writes(&hub.reconcilers), |it| it.values().sum::<u64>() >= 8)
    })
    .await;
    let count: u64 = writes.values().sum();
    assert_eq!(count, 8, "those for the witness, and no more: {writes:#?}");
    assert_eq!(hub.quiet(&paths).await, before);
    for name in names.iter().chain([&witness]) {
        hub.delete(&cluster_path(name)).await;
        hub.gone(&cluster_path(name)).await;
    }
    assert_eq!(hub.get(&lease_path(&names[0])).await.code, 200);
}
