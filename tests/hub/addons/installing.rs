//! On which clusters an add-on is.

use berth_addons::Grace;
use berth_testkit::cluster::AsAdmin;
use berth_testkit::process::once;
use berth_testkit::{eventually, shipped, when};
use serde_json::json;

use super::hub::{Hub, MARK, SHORT};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_add_on_follows_its_placement() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(3).await;
    hub.place("p", &clusters[..2]).await;
    let hosting = "addon.open-cluster-management.io/hosting-cluster-name";
    let annotations = json!({"metadata": {"annotations": {hosting: clusters[2]}}});
    hub.patch(&hub.managed_cluster(&clusters[0]), annotations)
        .await;
    let _managing = hub.start_with(SHORT).await;
    hub.define("manual", None, json!([]), None).await;
    hub.install("a").await;
    hub.has("a", &clusters[..2]).await;
    let definition = hub.read(&hub.add_on("a")).await;
    let on = hub.read(&hub.on(&clusters[0], "a")).await;
    let metadata = &on["metadata"];
    let uid = definition["metadata"]["uid"].as_str().unwrap();
    assert_eq!(metadata["annotations"][hosting], json!(clusters[2]));
    assert_eq!(
        metadata["annotations"][MARK],
        json!(format!("{uid}/{}", clusters[0]))
    );
    assert_eq!(metadata["ownerReferences"][0]["uid"], uid);
    assert_eq!(metadata["ownerReferences"][0]["controller"], true);
    hub.select("p", &clusters[1..]).await;
    hub.has("a", &clusters[1..]).await;
    let path = hub.placement("p");
    hub.delete(&path).await;
    hub.has("a", &[]).await;
    assert!(hub.installed("manual").await.is_empty());
}

/// OCM deletes them: the first for an instant, the others for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_moves_is_in_doubt_or_was_made_by_hand_stays() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(3).await;
    hub.place("p", &clusters[..1]).await;
    hub.decide("p", 2, &clusters[1..2]).await;
    hub.evaluated("p", 2).await;
    // Of another placement: shows that the controller has seen the PlacementDecisions that were written before.
    hub.place("q", &[]).await;
    let witness = hub.of("q", json!({"type": "All"}), json!([]));
    hub.define("witness", None, json!([]), Some(json!([witness])))
        .await;
    let _managing = hub.start_with(SHORT).await;
    hub.install("a").await;
    hub.has("a", &clusters[..2]).await;
    let moves = hub.on(&clusters[0], "a");
    let before = hub.read(&moves).await;
    hub.enable(&clusters[2], "a", json!({}), json!({})).await;
    // It moves to the other PlacementDecision, and is in none for an instant: the status still counts it.
    hub.list("p", 1, &[]).await;
    hub.select("q", &clusters[1..2]).await;
    hub.has("witness", &clusters[1..2]).await;
    hub.list("p", 2, &clusters[..2]).await;
    hub.select("q", &clusters[..2]).await;
    hub.has("witness", &clusters[..2]).await;
    // It has an owner, as those that the hub made, and still is the user's.
    once(&hub.admin, &hub.on(&clusters[2], "a"), "an owner", |it| {
        it["metadata"]["ownerReferences"][0]["kind"] == "ClusterManagementAddOn"
    })
    .await;
    hub.select("p", &[]).await;
    hub.list("p", 2, &clusters[..1]).await;
    hub.evaluated("p", 1).await;
    let expected = [clusters[0].clone(), clusters[2].clone()];
    hub.has("a", &expected).await;
    let after = hub.read(&moves).await;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_placement_that_is_created_again_loses_no_add_on() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(4).await;
    let before = &clusters[..2];
    hub.place("p", before).await;
    let grace = Grace {
        left: std::time::Duration::from_millis(1),
        missing: std::time::Duration::from_secs(600),
    };
    let _managing = hub.start_with(grace).await;
    hub.install("a").await;
    hub.has("a", before).await;
    hub.delete(&hub.placement("p")).await;
    hub.gone(&hub.placement("p")).await;
    let placement = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "p", "namespace": hub.namespace}, "spec": {},
    });
    hub.cluster.apply(&[placement]).await;
    // Without a status nothing is decided: the add-on comes to clusters, and leaves none.
    for placed in 3..=4 {
        hub.list("p", 1, &clusters[1..placed]).await;
        hub.has("a", &clusters[..placed]).await;
    }
    hub.evaluated("p", 3).await;
    hub.has("a", &clusters[1..]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn annotations_of_a_cluster_are_added_and_those_of_users_stay() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    hub.place("p", &clusters).await;
    let _managing = hub.start().await;
    hub.install("a").await;
    hub.has("a", &clusters).await;
    let (own, new) = (
        "addon.open-cluster-management.io/own",
        "addon.open-cluster-management.io/x",
    );
    let path = hub.on(&clusters[0], "a");
    hub.patch(&path, json!({"metadata": {"annotations": {own: "1"}}}))
        .await;
    let annotations = json!({"metadata": {"annotations": {new: "2", "other": "3"}}});
    hub.patch(&hub.managed_cluster(&clusters[0]), annotations)
        .await;
    let on = once(&hub.admin, &path, "the annotation", |it| {
        it["metadata"]["annotations"][new] == "2"
    });
    let on = on.await;
    assert_eq!(on["metadata"]["annotations"][own], "1");
    assert_eq!(on["metadata"]["annotations"].get("other"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hands_off_an_add_on_of_another_life_cycle() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    hub.place("p", &clusters[..1]).await;
    let managing = hub.start_with(SHORT).await;
    let placements = || Some(json!([hub.of("p", json!({"type": "All"}), json!([]))]));
    for (name, life_cycle) in [("self", "self"), ("empty", "")] {
        hub.define(
            name,
            Some(life_cycle),
            json!([hub.reference("d")]),
            placements(),
        )
        .await;
        hub.enable(&clusters[1], name, json!({}), json!({})).await;
    }
    hub.define("ours", Some("addon-manager"), json!([]), placements())
        .await;
    hub.has("ours", &clusters[..1]).await;
    hub.condition(
        &clusters[0],
        "ours",
        "Progressing",
        "False WaitingForManifestApplied",
    )
    .await;
    for name in ["self", "empty"] {
        assert_eq!(hub.installed(name).await, clusters[1..]);
        let on = hub.read(&hub.on(&clusters[1], name)).await;
        assert_eq!(on.get("status"), None, "{on}");
        assert_eq!(on["metadata"].get("ownerReferences"), None, "{on}");
        let definition = hub.read(&hub.add_on(name)).await;
        assert_eq!(definition.get("status"), None, "{definition}");
    }
    // It is handed over while the controller runs.
    let annotation = json!({"metadata": {"annotations": {"addon.open-cluster-management.io/lifecycle": "addon-manager"}}});
    hub.patch(&hub.add_on("self"), annotation).await;
    hub.has("self", &clusters).await;
    let refused = managing.writes_by_kind();
    let refused = refused.keys().filter(|it| it.ends_with(" 403"));
    assert_eq!(refused.count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_without_add_ons_is_waited_for() {
    let hub = Hub::without_add_ons().await;
    let clusters = hub.clusters(1).await;
    hub.place("p", &clusters).await;
    let path = "/apis/addon.open-cluster-management.io/v1beta1/clustermanagementaddons";
    // A real server keeps the CRDs that another test installed.
    let is_missing = hub.admin.get(path).await.unwrap().code == 404;
    let managing = hub.start().await;
    if is_missing {
        let resource = "clustermanagementaddons";
        let errors = async || when(managing.watch_errors(resource), |it| *it > 0);
        eventually("the kind is missing", errors).await;
        assert_eq!(managing.writes(), 0);
    }
    hub.serve_add_ons().await;
    hub.install("a").await;
    hub.has("a", &clusters).await;
}

/// As the role of OCM's add-on manager.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_grants_update_and_not_patch_suffices() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:berth-addon:controller";
    let mut rules = hub.read(role).await["rules"].clone();
    let of_add_ons = rules.as_array_mut().unwrap().iter_mut();
    let mut of_add_ons = of_add_ons.filter(|it| it["resources"] == json!(["managedclusteraddons"]));
    of_add_ons.next().unwrap()["verbs"] =
        json!(["get", "list", "watch", "create", "update", "delete"]);
    hub.patch(role, json!({ "rules": rules })).await;
    let account = format!(
        "system:serviceaccount:{}:{}",
        shipped::NAMESPACE,
        shipped::CONTROLLER
    );
    let of = json!({"verb": "patch", "group": "addon.open-cluster-management.io", "resource": "managedclusteraddons"});
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": account, "resourceAttributes": of},
    });
    eventually("it may not patch", async || {
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        when(hub.create(path, &review).await, |it| {
            it["status"]["allowed"] == false
        })
    })
    .await;
    let _managing = hub.start().await;
    hub.define("a", None, json!([]), None).await;
    hub.enable(
        &clusters[0],
        "a",
        json!({"labels": {"mine": "yes"}}),
        json!({}),
    )
    .await;
    let owned = once(&hub.admin, &hub.on(&clusters[0], "a"), "an owner", |it| {
        it["metadata"]["ownerReferences"].is_array()
    })
    .await;
    assert_eq!(owned["metadata"]["labels"]["mine"], "yes");
}
