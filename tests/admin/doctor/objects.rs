//! Faults of sets, bindings and clusters.

use serde_json::json;

use super::{Expected, OF_BINDINGS, OF_CLUSTERS, OF_SETS, Ward, binding, bindings_in, cluster};
use crate::house::{CLUSTERS, SETS};
use berth_testkit::csr::Csr;

#[tokio::test]
async fn what_is_wrong_with_sets_bindings_and_clusters_is_found_one_by_one() {
    let ward = Ward::new().await;
    ward.is_sound().await;

    // 1. A default set that does not come back.
    let path = format!("{SETS}/global");
    ward.change(&path, |set| {
        set["metadata"]["finalizers"] = json!(["tests.berth/held"])
    })
    .await;
    ward.admin.delete(&path).await.unwrap().ok();
    let expected = Expected {
        check: "default-sets",
        severity: "fault",
        object: "global",
        says: "it is being deleted, and held by the finalizers \"tests.berth/held\"",
        remedy: "kubectl edit managedclusterset global",
    };
    ward.finds(expected, &[]).await;
    let off = json!({"metadata": {"finalizers": null}});
    ward.admin.merge(&path, &off).await.unwrap().ok();
    ward.is_sound().await;

    // 2. A set from a time without a gate.
    ward.unregister(OF_SETS).await;
    let set = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {"name": "odd"},
        "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {
            "matchExpressions": [{"key": "a", "operator": "Near"}]}}},
    });
    ward.make(SETS, set).await;
    ward.register().await;
    let expected = Expected {
        check: "sets",
        severity: "fault",
        object: "odd",
        says: "it selects no clusters, since its selector is invalid: spec.clusterSelector.labelSelector.matchExpressions[0]",
        remedy: "kubectl edit managedclusterset odd",
    };
    ward.finds(expected, &[]).await;
    let path = format!("{SETS}/odd");
    ward.admin.delete(&path).await.unwrap().ok();
    ward.is_sound().await;

    // 3. A binding of a set that is not there.
    ward.make(&bindings_in("default"), binding("nobody")).await;
    let expected = Expected {
        check: "bindings",
        severity: "warning",
        object: "nobody",
        says: "it is not effective: ManagedClusterSet \"nobody\" does not exist",
        remedy: "berth create clusterset nobody",
    };
    ward.finds(expected, &[]).await;
    let path = format!("{}/nobody", bindings_in("default"));
    ward.admin.delete(&path).await.unwrap().ok();
    ward.is_sound().await;

    // 4. A cluster that waits, and why its request is not approved.
    ward.make(CLUSTERS, cluster("c1", false)).await;
    let csr = Csr::new("c1", "agent").sent_by(&ward.admin).await;
    let says = format!(
        "it waits for acceptance; CertificateSigningRequest {:?}: an admin has to approve the first CSR, of user \"admin\"",
        csr.name
    );
    let expected = Expected {
        check: "pending-clusters",
        severity: "warning",
        object: "c1",
        says: &says,
        remedy: "berth accept c1",
    };
    ward.finds(expected, &[]).await;

    // 5. It is accepted, its request is not approved.
    let accept = json!({"spec": {"hubAcceptsClient": true}});
    let path = format!("{CLUSTERS}/c1");
    ward.admin.merge(&path, &accept).await.unwrap().ok();
    let expected = Expected {
        check: "certificate-requests",
        severity: "warning",
        object: &csr.name,
        says: "the agent of the accepted ManagedCluster \"c1\" waits: an admin has to approve the first CSR",
        remedy: "berth accept c1",
    };
    ward.finds(expected, &[]).await;
    ward.admin.delete(&csr.path()).await.unwrap().ok();
    ward.is_sound().await;

    // 6. A set bound in its namespace, at a time without a gate.
    ward.once("/api/v1/namespaces/c1", "there", |_| true).await;
    ward.unregister(OF_BINDINGS).await;
    ward.make(&bindings_in("c1"), binding("default")).await;
    ward.register().await;
    let expected = Expected {
        check: "cluster-namespaces",
        severity: "fault",
        object: "default",
        says: "the namespace is that of the accepted ManagedCluster \"c1\"",
        remedy: "kubectl -n c1 delete managedclustersetbinding default",
    };
    ward.finds(expected, &[]).await;
    let path = format!("{}/default", bindings_in("c1"));
    ward.admin.delete(&path).await.unwrap().ok();
    ward.is_sound().await;

    // 7. Its agent is silent.
    let short = json!({"spec": {"leaseDurationSeconds": 1}});
    let path = format!("{CLUSTERS}/c1");
    ward.admin.merge(&path, &short).await.unwrap().ok();
    let expected = Expected {
        check: "unknown-clusters",
        severity: "warning",
        object: "",
        says: "the agent of \"c1\" sends no heartbeats",
        remedy: "kubectl get lease -n c1 managed-cluster-lease",
    };
    ward.finds(expected, &[]).await;
    ward.admin.delete(&path).await.unwrap().ok();
    ward.is_sound().await;

    // 8. A cluster whose name is the hub's own, from before the gate was there.
    ward.unregister(OF_CLUSTERS).await;
    ward.make(CLUSTERS, cluster("kube-c", true)).await;
    ward.register().await;
    let expected = Expected {
        check: "accepted-clusters",
        severity: "fault",
        object: "kube-c",
        says: "it is accepted, but its setup failed (Error): Not accepted: the name",
        remedy: "kubectl describe managedcluster kube-c",
    };
    ward.finds(expected, &[]).await;
    let path = format!("{CLUSTERS}/kube-c");
    ward.admin.delete(&path).await.unwrap().ok();
    ward.is_sound().await;
}
