//! Which clusters are accepted automatically, and which never are: feature gate `ManagedClusterAutoApproval`.

use std::collections::BTreeSet;

use berth_lifecycle_core::config::{Config, Gates};
use serde_json::{Value, json};

use crate::lifecycle::hub::{
    ACCEPTED, AVAILABLE, CLUSTERS, HubWithReconcilers, cluster_path, config, namespace_path,
    owned_paths,
};
use berth_testkit::cluster::{AsAdmin, Person, Private, fresh};
use berth_testkit::csr::Csr;

const DENIED_ON: &str = "open-cluster-management.io/denied-on";

fn gates(auto_rebootstrap: bool) -> Gates {
    Gates {
        auto_approval: true,
        auto_rebootstrap,
        ..Gates::default()
    }
}

/// A hub on which this user brings clusters.
async fn hub() -> (HubWithReconcilers<Private>, Person, Config) {
    let user = fresh("listed");
    let config = Config {
        gates: gates(false),
        auto_approved_users: BTreeSet::from([user.clone()]),
        ..config()
    };
    let hub = HubWithReconcilers::private(config.clone()).await;
    let listed = hub.cluster.user(&user, &[]).await;
    hub.may_send(&listed).await;
    (hub, listed, config)
}

async fn is_let_in(hub: &HubWithReconcilers<Private>, name: &str) -> Value {
    hub.condition(name, ACCEPTED, "True", "HubClusterAdminAccepted")
        .await
}

/// The request is left to an admin, with an Event that says why; and the cluster is not accepted.
async fn is_left(hub: &HubWithReconcilers<Private>, csr: &Csr, name: &str, why: &str) {
    let (kind, note) = hub.left(csr).await;
    assert_eq!(kind, "Warning", "{note}");
    assert!(note.contains(why), "{note}");
    let cluster = hub.get(&cluster_path(name)).await;
    assert_ne!(cluster.ok()["spec"]["hubAcceptsClient"], true);
}

async fn end(mut hub: HubWithReconcilers<Private>, names: &[&String]) {
    for name in names {
        hub.delete(&cluster_path(name)).await;
        hub.gone(&cluster_path(name)).await;
    }
    hub.reconcilers.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_was_denied_once_is_let_in_by_a_person_only() {
    let (mut hub, listed, config) = hub().await;
    let name = fresh("denied");
    hub.cluster(&name, json!({})).await;
    let first = Csr::new(&name, "agent1").sent_by(&listed).await;
    is_let_in(&hub, &name).await;
    hub.approved(&first).await;

    // At the moment of the denial the agent, which can still write, removes whatever says that somebody decided.
    hub.reconcilers.stop().await;
    let path = cluster_path(&name);
    let strip = json!({
        "metadata": {"annotations": null, "finalizers": null},
        "spec": {"hubAcceptsClient": false},
    });
    hub.patch(&path, strip).await;
    hub.patch(&format!("{path}/status"), json!({"status": null}))
        .await;
    hub.restart(config.clone()).await;
    hub.gone(&owned_paths(&name)[3]).await;
    let noted = |object: &Value| object["metadata"]["annotations"][DENIED_ON].is_string();
    hub.once(&path, "noted", noted).await;
    let again = Csr::new(&name, "agent1").sent_by(&listed).await;
    is_left(&hub, &again, &name, "an admin denied the cluster").await;

    // A person accepts it again, which approves no request.
    hub.patch(&path, json!({"spec": {"hubAcceptsClient": true}}))
        .await;
    is_let_in(&hub, &name).await;
    let third = Csr::new(&name, "agent2").sent_by(&listed).await;
    let (_, note) = hub.left(&third).await;
    assert!(note.contains("an admin denied the cluster"), "{note}");

    // Who deletes the ManagedCluster has it forgotten.
    hub.delete(&path).await;
    hub.gone(&path).await;
    hub.cluster(&name, json!({})).await;
    is_let_in(&hub, &name).await;
    hub.approved(&third).await;
    end(hub, &[&name]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_was_denied_is_not_made_good_by_another() {
    let (mut hub, listed, config) = hub().await;
    let name = fresh("refused");
    let first = Csr::new(&name, "agent1").sent_by(&listed).await;
    hub.decide(&first, "Denied").await;
    hub.cluster(&name, json!({})).await;
    let noted = |object: &Value| object["metadata"]["annotations"][DENIED_ON].is_string();
    hub.once(&cluster_path(&name), "noted", noted).await;
    // The hub deletes denied requests after an hour.
    hub.delete(&first.path()).await;
    hub.restart(config).await;
    let second = Csr::new(&name, "agent1").sent_by(&listed).await;
    is_left(&hub, &second, &name, "or a request of its agent").await;
    end(hub, &[&name]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_namespace_is_taken_over_without_a_person() {
    let (hub, listed, _) = hub().await;
    let name = fresh("argocd");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    hub.create("/api/v1/namespaces", &namespace).await;
    hub.cluster(&name, json!({})).await;
    let csr = Csr::new(&name, "agent1").sent_by(&listed).await;
    let why = format!("the namespace \"{name}\" exists without the label");
    is_left(&hub, &csr, &name, &why).await;
    for path in &owned_paths(&name)[1..] {
        assert_eq!(hub.get(path).await.code, 404, "{path}");
    }
    let labels = hub.get(&namespace_path(&name)).await.body["metadata"]["labels"].clone();
    let label = "open-cluster-management.io/cluster-name";
    assert_eq!(labels[label], Value::Null);

    // An admin gives it to the cluster.
    let given = json!({"metadata": {"labels": {(label): name}}});
    hub.patch(&namespace_path(&name), given).await;
    is_let_in(&hub, &name).await;
    hub.approved(&csr).await;
    end(hub, &[&name]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_registers_a_cluster_chooses_no_set_for_it() {
    let (hub, listed, _) = hub().await;
    let [labelled, selected, plain, set] = ["labelled", "selected", "plain", "set"].map(fresh);
    let object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {"name": set},
        "spec": {"clusterSelector": {
            "selectorType": "LabelSelector",
            "labelSelector": {"matchLabels": {"env": set}},
        }},
    });
    let sets = "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets";
    hub.create(sets, &object).await;
    let selects = |object: &Value| object["status"]["conditions"].is_array();
    hub.once(&format!("{sets}/{set}"), "seen", selects).await;
    let label = "cluster.open-cluster-management.io/clusterset";
    for (name, labels, why) in [
        (&labelled, json!({(label): "prod"}), Some("set \"prod\"")),
        (
            &selected,
            json!({"env": set}),
            Some(&*format!("set {set:?}")),
        ),
        (&plain, json!({(label): "default", "env": "other"}), None),
    ] {
        let cluster = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1",
            "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": labels},
            "spec": {"hubAcceptsClient": false},
        });
        hub.create(CLUSTERS, &cluster).await;
        let csr = Csr::new(name, "agent1").sent_by(&listed).await;
        if let Some(why) = why {
            is_left(&hub, &csr, name, why).await;
            assert_eq!(hub.get(&namespace_path(name)).await.code, 404);
            // A person lets it in, and approves the request, too, or not.
            hub.patch(
                &cluster_path(name),
                json!({"spec": {"hubAcceptsClient": true}}),
            )
            .await;
            is_let_in(&hub, name).await;
            let later = Csr::new(name, "agent1").sent_by(&listed).await;
            let (_, note) = hub.left(&later).await;
            assert!(note.contains(why), "{note}");
        } else {
            is_let_in(&hub, name).await;
            hub.approved(&csr).await;
        }
    }
    hub.delete(&format!("{sets}/{set}")).await;
    end(hub, &[&labelled, &selected, &plain]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_identity_of_a_cluster_that_has_joined_takes_a_gate_of_its_own() {
    let (mut hub, listed, config) = hub().await;
    let name = fresh("joined");
    hub.cluster(&name, json!({"leaseDurationSeconds": 1})).await;
    let first = Csr::new(&name, "agent1").sent_by(&listed).await;
    is_let_in(&hub, &name).await;
    hub.approved(&first).await;
    hub.report(
        &name,
        "ManagedClusterJoined",
        "True",
        "ManagedClusterJoined",
    )
    .await;
    hub.report_available(&name, "True").await;
    hub.renew(&name).await;
    let reason = "ManagedClusterLeaseUpdateStopped";
    hub.condition(&name, AVAILABLE, "Unknown", reason).await;
    let again = Csr::new(&name, "agent1").sent_by(&listed).await;
    let (kind, note) = hub.left(&again).await;
    assert_eq!(kind, "Warning");
    assert!(note.contains("ManagedClusterAutoRebootstrap"), "{note}");

    hub.restart(Config {
        gates: gates(true),
        ..config
    })
    .await;
    hub.approved(&again).await;
    end(hub, &[&name]).await;
}
