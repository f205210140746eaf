//! The objects that the controller owns: those with a cluster's names and label, and no others.

use serde_json::{Value, json};

use crate::lifecycle::hub::{ACCEPTED, CLUSTERS, HubWithReconcilers, cluster_path, rbac_path};
use berth_testkit::cluster::{AsAdmin, fresh};

const RBAC: &str = "rbac.authorization.k8s.io";

fn role_of(rest: &str) -> String {
    format!("open-cluster-management:managedcluster:{rest}")
}

/// An RBAC object that grants nobody anything, with the label of this cluster: its collection, and the object.
fn foreign(kind: &str, namespace: Option<&str>, name: &str, label: &str) -> (String, Value) {
    let plural = format!("{}s", kind.to_lowercase());
    let collection = match namespace {
        None => rbac_path(&plural),
        Some(namespace) => rbac_path(&format!("namespaces/{namespace}/{plural}")),
    };
    let mut object = json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": kind,
        "metadata": {"name": name, "labels": {"open-cluster-management.io/cluster-name": label}},
    });
    if kind == "ClusterRole" {
        object["rules"] = json!([]);
    } else {
        object["roleRef"] = json!({"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"});
        object["subjects"] = json!([{"apiGroup": RBAC, "kind": "User", "name": fresh("nobody")}]);
    }
    (collection, object)
}

/// The same, with content that is about the agent of the cluster.
fn of_agent(kind: &str, namespace: Option<&str>, name: &str, cluster: &str) -> (String, Value) {
    let (collection, mut object) = foreign(kind, namespace, name, cluster);
    if kind == "ClusterRole" {
        let of_cluster = json!({
            "apiGroups": ["cluster.open-cluster-management.io"], "resources": ["managedclusters"], "resourceNames": [cluster],
            "verbs": ["get"],
        });
        object["rules"] = json!([of_cluster]);
    } else {
        let group = format!("system:open-cluster-management:{cluster}");
        object["subjects"] = json!([{"apiGroup": RBAC, "kind": "Group", "name": group}]);
    }
    (collection, object)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_of_others_stay_whatever_label_they_bear() {
    let hub = HubWithReconcilers::shared().await;
    let [name, absent, never, orphan] = ["owned", "absent", "never", "orphan"].map(fresh);
    hub.accepted(&name).await;
    let [viewer, lost] = [role_of(&format!("{name}:viewer")), role_of(&absent)];
    let elsewhere = role_of("default:work");
    let others = [
        foreign("ClusterRole", None, &viewer, &name),
        foreign("ClusterRoleBinding", None, &viewer, &name),
        foreign("RoleBinding", Some(&name), &viewer, &name),
        // Of a cluster that is not there, by their names; the label is another's.
        foreign("ClusterRole", None, &lost, &name),
        foreign("ClusterRoleBinding", None, &lost, &name),
        foreign("RoleBinding", Some("default"), &elsewhere, &name),
        // Of a cluster that is not there, by their names and by their label, and about something else.
        foreign("ClusterRole", None, &role_of(&never), &never),
        foreign("ClusterRoleBinding", None, &role_of(&never), &never),
    ];
    let mut kept = Vec::new();
    for (collection, object) in &others {
        let made = hub.create(collection, object).await;
        let path = format!(
            "{collection}/{}",
            made["metadata"]["name"].as_str().unwrap()
        );
        kept.push((path, made));
    }
    // It would be too early to look before what comes after them is done: these are a cluster's that is gone.
    let rest = [
        of_agent("ClusterRole", None, &role_of(&orphan), &orphan),
        of_agent("ClusterRoleBinding", None, &role_of(&orphan), &orphan),
        of_agent(
            "RoleBinding",
            Some(&orphan),
            &role_of(&format!("{orphan}:work")),
            &orphan,
        ),
    ];
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": orphan}});
    hub.create("/api/v1/namespaces", &namespace).await;
    for (collection, object) in &rest {
        hub.create(collection, object).await;
        let name = object["metadata"]["name"].as_str().unwrap();
        hub.gone(&format!("{collection}/{name}")).await;
    }
    let paths: Vec<String> = kept.iter().map(|(path, _)| path.clone()).collect();
    let found = hub.quiet(&paths).await;
    for ((path, made), found) in kept.iter().zip(&found) {
        assert_eq!(found["metadata"]["uid"], made["metadata"]["uid"], "{path}");
        assert_eq!(
            found["metadata"]["deletionTimestamp"],
            Value::Null,
            "{path}"
        );
    }

    // Nor do they go with the cluster.
    hub.delete(&cluster_path(&name)).await;
    hub.gone(&cluster_path(&name)).await;
    for (path, made) in &kept {
        let found = hub.get(path).await;
        assert_eq!(
            found.ok()["metadata"]["uid"],
            made["metadata"]["uid"],
            "{path}"
        );
        hub.delete(path).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_role_of_all_agents_outlives_the_denial_of_a_cluster_with_its_name() {
    let hub = HubWithReconcilers::shared().await;
    let witness = fresh("witness");
    hub.accepted(&witness).await;
    let path = rbac_path(&format!("clusterroles/{}", role_of("registration")));
    let before = hub.quiet(std::slice::from_ref(&path)).await;
    let name = "registration";
    let cluster = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name},
        "spec": {"hubAcceptsClient": true},
    });
    hub.create(CLUSTERS, &cluster).await;
    hub.condition(name, ACCEPTED, "False", "Error").await;
    // As OCM has it, which accepts such a name: what is provisioned is kept.
    let (bindings, mut binding) = foreign("ClusterRoleBinding", None, &role_of(name), name);
    binding["roleRef"]["name"] = json!(role_of(name));
    hub.create(&bindings, &binding).await;
    hub.condition(name, ACCEPTED, "True", "HubClusterAdminAccepted")
        .await;
    let denial = json!({"spec": {"hubAcceptsClient": false}});
    hub.patch(&cluster_path(name), denial).await;
    hub.condition(name, ACCEPTED, "False", "HubClusterAdminDenied")
        .await;
    hub.gone(&format!("{bindings}/{}", role_of(name))).await;
    assert_eq!(hub.quiet(&[path]).await, before);
    hub.delete(&cluster_path(name)).await;
    hub.gone(&cluster_path(name)).await;
}
