//! A hub of a former OCM: its sets are stored in a version that the hub is to lose.

use super::*;

const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/managedclustersets.cluster.open-cluster-management.io";

const SETS: &str = "/apis/cluster.open-cluster-management.io/v1beta1/managedclustersets";

/// The definition with one more version, v1beta1, with the name that v1beta2 gives another one.
fn former(stores: &str) -> Value {
    let mut definition = files::CRD_SETS.documents().remove(0);
    let mut today = definition["spec"]["versions"][0].clone();
    let mut before = today.clone();
    before["name"] = json!("v1beta1");
    let spec = &mut before["schema"]["openAPIV3Schema"]["properties"]["spec"];
    spec["default"] = json!({"clusterSelector": {"selectorType": "LegacyClusterSetLabel"}});
    let selector = &mut spec["properties"]["clusterSelector"];
    selector["default"] = json!({"selectorType": "LegacyClusterSetLabel"});
    let type_ = &mut selector["properties"]["selectorType"];
    type_["enum"] = json!(["LegacyClusterSetLabel", "LabelSelector"]);
    type_["default"] = json!("LegacyClusterSetLabel");
    for version in [&mut before, &mut today] {
        version["storage"] = json!(version["name"] == stores);
    }
    definition["spec"]["versions"] = json!([before, today]);
    definition
}

fn stored_in(definition: &Value) -> (Vec<&str>, &Value) {
    let versions = definition["spec"]["versions"].as_array().unwrap().iter();
    let versions = versions.map(|it| it["name"].as_str().unwrap()).collect();
    (versions, &definition["status"]["storedVersions"])
}

/// Creates sets in the former version, on a hub that stores them in today's from now on.
pub(super) async fn before(cluster: &Cluster, admin: &Person, sets: usize) {
    cluster.apply(&[former("v1beta1")]).await;
    for number in 0..sets {
        let set = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClusterSet",
            "metadata": {"name": format!("set-{number}")}, "spec": {"clusterSelector": {}},
        });
        // Not at once after its definition.
        eventually("a set is created", async || {
            when(admin.post(SETS, &set).await.unwrap(), |it| it.code == 201)
        })
        .await;
    }
    cluster.apply(&[former("v1beta2")]).await;
    let today = SETS.replace("v1beta1", "v1beta2");
    once(admin, &today, "today's version is served", |_| true).await;
}

/// Waits until the former version is gone, and looks at the sets.
pub(super) async fn after(admin: &Person, sets: usize) {
    let definition = once(admin, DEFINITION, "the former version is gone", |it| {
        stored_in(it).0 == ["v1beta2"]
    })
    .await;
    assert_eq!(stored_in(&definition).1, &json!(["v1beta2"]));
    let today = SETS.replace("v1beta1", "v1beta2");
    let listed = once(admin, &today, "the sets are listed", |_| true).await;
    let mut count = 0;
    for set in listed["items"].as_array().unwrap() {
        let is_ours = set["metadata"]["name"]
            .as_str()
            .unwrap()
            .starts_with("set-");
        let type_ = &set["spec"]["clusterSelector"]["selectorType"];
        assert!(!is_ours || type_ == "ExclusiveClusterSetLabel", "{set:#}");
        count += usize::from(is_ours);
    }
    assert_eq!(count, sets);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_stored_in_a_former_version_is_written_anew_before_the_version_goes() {
    let mut node = node().await;
    // More than a page.
    before(&node.cluster, &node.admin, 501).await;
    let admin = &node.admin;
    // The API server would not let the version go.
    let today = &files::CRD_SETS.documents()[0]["spec"]["versions"];
    let dropped = json!({"spec": {"versions": today}});
    let refused = admin.merge(DEFINITION, &dropped).await.unwrap();
    assert_eq!(refused.code, 422);
    let message = refused.body["message"].as_str().unwrap();
    assert!(message.contains("storedVersions"), "{message}");

    let operator = Operator::start(&node.cluster).await;
    create(admin, "cluster-manager", json!({})).await.ok();
    let condition = |status, reason| ("MigrationSucceeded", status, reason);
    said(
        admin,
        condition("False", "StorageVersionMigrationProcessing"),
    )
    .await;
    node.runs_the_hub().await;
    let admin = &node.admin;
    said(admin, condition("True", "StorageVersionMigrationSucceed")).await;
    after(admin, 501).await;
    guarded(admin).await;
    drop(operator);
}
