//! What a ManifestWork prescribes is made, kept and reported.

use serde_json::{Value, json};

use super::world::{World, condition};

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_created_reported_and_recorded() {
    let world = World::new().await;
    let _agent = world.agent();
    world.create("one", &[world.map("a", "1")]).await;
    let map = world.has(&world.map_path("a"), "created", |_| true).await;
    assert_eq!(map["data"], json!({"key": "1"}));
    let managers = map["metadata"]["managedFields"].as_array().unwrap();
    assert!(
        managers.iter().all(|it| it["manager"] == "work-agent"),
        "{managers:?}"
    );
    let work = world.reports("one", "T", "T").await;
    let applied = condition(&work["status"], "Applied");
    assert_eq!(applied["reason"], "AppliedManifestWorkComplete");
    assert_eq!(applied["message"], "Apply manifest work complete");
    let recorded = world
        .applied("one", "recorded", |it| {
            it["status"]["appliedResources"]
                .as_array()
                .is_some_and(|it| it.len() == 1)
        })
        .await;
    let owner = &map["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], recorded["metadata"]["uid"]);
    assert_eq!(owner["kind"], "AppliedManifestWork");
    let resource = &recorded["status"]["appliedResources"][0];
    assert_eq!(resource["uid"], map["metadata"]["uid"]);
    assert_eq!(resource["resource"], "configmaps");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_changed_or_deleted_by_hand_is_put_back() {
    let world = World::new().await;
    let _agent = world.agent();
    world
        .create("drift", &[world.map("a", "1"), world.map("b", "1")])
        .await;
    let before = world.reports("drift", "TT", "TT").await;
    let path = world.map_path("a");
    let changed = json!({"data": {"key": "2", "more": "x"}, "metadata": {"labels": {"mine": "y"}}});
    world.managed.merge(&path, &changed).await.unwrap().ok();
    let map = world
        .has(&path, "put back", |it| it["data"] == json!({"key": "1"}))
        .await;
    assert_eq!(
        map["metadata"]["labels"]["mine"], "y",
        "others may label it"
    );
    let uid = map["metadata"]["uid"].clone();
    world.managed.delete(&path).await.unwrap().ok();
    world
        .has(&path, "created anew", |it| it["metadata"]["uid"] != uid)
        .await;
    world
        .applied("drift", "the new uid", |it| {
            !it["status"]["appliedResources"]
                .to_string()
                .contains(uid.as_str().unwrap())
        })
        .await;
    let after = world.reports("drift", "TT", "TT").await;
    let time = |work: &Value| condition(&work["status"], "Applied")["lastTransitionTime"].clone();
    assert_eq!(time(&before), time(&after), "conditions do not move");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_leaves_the_manifests_is_deleted() {
    let world = World::new().await;
    let _agent = world.agent();
    world.create("swap", &[world.map("a", "1")]).await;
    world.reports("swap", "T", "T").await;
    world.update("swap", &[world.map("b", "1")]).await;
    world.has(&world.map_path("b"), "created", |_| true).await;
    world.lacks(&world.map_path("a")).await;
    world
        .applied("swap", "only b", |it| {
            let resources = it["status"]["appliedResources"].as_array();
            resources.is_some_and(|it| it.len() == 1 && it[0]["name"] == "b")
        })
        .await;
    world.reports("swap", "T", "T").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_manifest_does_not_hold_up_the_others() {
    let world = World::new().await;
    let _agent = world.agent();
    let mut lost = world.map("a", "1");
    lost["metadata"]["namespace"] = json!("no-such-namespace");
    let maps = [lost, world.map("b", "1"), world.map("c", "1")];
    world.create("bad", &maps).await;
    let work = world.reports("bad", "FTT", "FTT").await;
    let manifest = &work["status"]["resourceStatus"]["manifests"][0];
    let applied = condition(manifest, "Applied");
    assert_eq!(applied["reason"], "AppliedManifestFailed");
    let message = applied["message"].as_str().unwrap();
    assert!(
        message.starts_with("Failed to apply manifest: "),
        "{message}"
    );
    assert!(message.contains("no-such-namespace"), "{message}");
    // While one is bad, another leaves the manifests.
    world.update("bad", &maps[..2]).await;
    world.reports("bad", "FT", "FT").await;
    world.lacks(&world.map_path("c")).await;
    world
        .update("bad", &[world.map("a", "1"), maps[1].clone()])
        .await;
    world.reports("bad", "TT", "TT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_and_an_object_of_its_kind_are_applied_in_one_pass() {
    let world = World::new().await;
    let _agent = world.agent();
    let group = format!("{}.example.com", world.namespace);
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("guestbooks.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "guestbooks", "singular": "guestbook", "kind": "Guestbook", "listKind": "GuestbookList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    let object = json!({
        "apiVersion": format!("{group}/v1"),
        "kind": "Guestbook",
        "metadata": {"name": "a", "namespace": world.namespace},
        "spec": {"size": 1},
    });
    world.create("crd", &[object, definition]).await;
    world.reports("crd", "TT", "TT").await;
    let path = format!(
        "/apis/{group}/v1/namespaces/{}/guestbooks/a",
        world.namespace
    );
    // Another client's annotation stays, and ours comes.
    let note =
        json!({"metadata": {"annotations": {"theirs": "1"}, "finalizers": ["example.com/keep"]}});
    world.managed.merge(&path, &note).await.unwrap().ok();
    let with_note = json!({
        "apiVersion": format!("{group}/v1"),
        "kind": "Guestbook",
        "metadata": {"name": "a", "namespace": world.namespace, "annotations": {"ours": "1"}},
        "spec": {"size": 2},
    });
    let work = world.hub.get(&world.work("crd")).await.unwrap();
    let mut manifests = work.ok()["spec"]["workload"]["manifests"]
        .as_array()
        .unwrap()
        .clone();
    manifests[0] = with_note;
    world.update("crd", &manifests).await;
    let object = world
        .has(&path, "both annotations", |it| it["spec"]["size"] == 2)
        .await;
    assert_eq!(
        object["metadata"]["annotations"],
        json!({"ours": "1", "theirs": "1"})
    );
    assert_eq!(
        object["metadata"]["finalizers"],
        json!(["example.com/keep"])
    );
    world
        .managed
        .merge(&path, &json!({"metadata": {"finalizers": null}}))
        .await
        .unwrap()
        .ok();
    world.delete("crd").await;
    world.is_gone("crd").await;
    world.lacks(&path).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_scoped_object_with_a_namespace_is_applied_without_it() {
    let world = World::new().await;
    let _agent = world.agent();
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": world.namespace, "namespace": world.namespace},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
    });
    world.create("role", &[role]).await;
    let work = world.reports("role", "T", "T").await;
    let meta = &work["status"]["resourceStatus"]["manifests"][0]["resourceMeta"];
    assert_eq!(
        (&meta["namespace"], &meta["resource"]),
        (&json!(""), &json!("clusterroles"))
    );
    let recorded = world
        .applied("role", "recorded", |it| !it["status"].is_null())
        .await;
    let resource = &recorded["status"]["appliedResources"][0];
    assert!(
        resource["namespace"]
            .as_str()
            .unwrap_or_default()
            .is_empty(),
        "{resource}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_is_not_served_is_named() {
    let world = World::new().await;
    let _agent = world.agent();
    let kinds = [
        (
            "nothing.example.com/v1",
            "Nothing",
            "nothing.example.com/v1 has no such kind, nor has another version of its group: check kind and apiVersion, or install its API",
        ),
        (
            "policy/v1beta1",
            "PodDisruptionBudget",
            "policy/v1beta1 has no such kind, policy/v1 has: change the apiVersion",
        ),
        (
            "extensions/v1beta1",
            "Deployment",
            "extensions/v1beta1 has no such kind, apps/v1 has: change the apiVersion",
        ),
        (
            "v1",
            "Deployment",
            "v1 has no such kind, apps/v1 has: change the apiVersion",
        ),
    ];
    let mut objects: Vec<_> = kinds
        .iter()
        .map(|(version, kind, _)| {
            json!({
                "apiVersion": version, "kind": kind,
                "metadata": {"name": "a", "namespace": world.namespace},
            })
        })
        .collect();
    objects.push(world.map("b", "1"));
    world.create("unknown", &objects).await;
    let work = world.reports("unknown", "FFFFT", "UUUUT").await;
    for (at, (_, kind, remedy)) in kinds.iter().enumerate() {
        let manifest = &work["status"]["resourceStatus"]["manifests"][at];
        assert_eq!(
            condition(manifest, "Applied")["message"],
            format!(
                "Failed to apply manifest: the server doesn't have a resource type {kind:?}; {remedy}"
            )
        );
    }
}
