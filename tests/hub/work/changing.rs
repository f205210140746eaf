//! A change of a ManifestWork: what becomes of objects, and of conditions.

use serde_json::{Value, json};

use super::deployments::{deployment, path};
use super::world::{World, of_manifest, said};

#[tokio::test(flavor = "multi_thread")]
async fn conditions_follow_their_objects_to_other_positions() {
    let world = World::new().await;
    let _agent = world.agent();
    let account = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": world.namespace},
        })
    };
    let manifests = [account("old"), deployment(&world, "app", 1)];
    world.create("moved", &manifests).await;
    let before = world.reports("moved", "TT", "TT").await;
    let manifests = [deployment(&world, "app", 1), account("new")];
    berth_testkit::next_second().await;
    world.update("moved", &manifests).await;
    let accounts = format!("/api/v1/namespaces/{}/serviceaccounts", world.namespace);
    world.lacks(&format!("{accounts}/old")).await;
    world
        .has(&format!("{accounts}/new"), "created", |_| true)
        .await;
    let after = world.reports("moved", "TT", "TT").await;
    let manifests = &after["status"]["resourceStatus"]["manifests"];
    for (at, kind) in ["Deployment", "ServiceAccount"].into_iter().enumerate() {
        let meta = &manifests[at]["resourceMeta"];
        // An ordinal of 0 is left out, as OCM's agent does.
        let ordinal = meta["ordinal"].as_u64().unwrap_or_default();
        assert_eq!((&meta["kind"], ordinal), (&json!(kind), at as u64));
    }
    let time = |work: &Value, at, type_| of_manifest(work, at, type_)["lastTransitionTime"].clone();
    for type_ in ["Applied", "Available"] {
        assert_eq!(time(&before, 1, type_), time(&after, 0, type_), "{type_}");
        assert_ne!(time(&before, 0, type_), time(&after, 1, type_), "{type_}");
    }
    world
        .has(&path(&world, "app"), "not deleted", |it| {
            it["metadata"]["deletionTimestamp"].is_null()
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_condition_has_the_generation_that_it_was_observed_for() {
    let world = World::new().await;
    let _agent = world.agent();
    world
        .create("grown", &[world.map("a", "1"), world.map("b", "1")])
        .await;
    world.reports("grown", "TT", "TT").await;
    world
        .update("grown", &[world.map("a", "2"), world.map("b", "1")])
        .await;
    // It waits for the conditions of the work.
    let work = world.reports("grown", "TT", "TT").await;
    assert_eq!(work["metadata"]["generation"], 2);
    for at in 0..2 {
        for type_ in ["Applied", "Available", "StatusFeedbackSynced"] {
            let condition = of_manifest(&work, at, type_);
            assert_eq!(condition["observedGeneration"], 2, "{at}: {condition}");
        }
    }
    world
        .has(&world.map_path("a"), "changed", |it| {
            it["data"]["key"] == "2"
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_role_of_a_binding_is_refused_with_the_remedy() {
    let world = World::new().await;
    let _agent = world.agent();
    let binding = |role: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "b", "namespace": world.namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": world.namespace}],
        })
    };
    world.create("bound", &[binding("view")]).await;
    world.reports("bound", "T", "T").await;
    for role in ["edit", "admin"] {
        world.update("bound", &[binding(role)]).await;
        let work = world.reports("bound", "F", "T").await;
        let applied = of_manifest(&work, 0, "Applied");
        let [_, reason, message] = said(&applied);
        assert_eq!(reason, "AppliedManifestFailed");
        assert!(message.contains("cannot change roleRef"), "{message}");
        let remedy = "delete the binding on the cluster, then it is created with the new roleRef";
        assert!(message.ends_with(remedy), "{message}");
        assert_eq!(
            applied["observedGeneration"],
            work["metadata"]["generation"]
        );
    }
    // The remedy is enough: the agent notices the deletion.
    let path = format!(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings/b",
        world.namespace
    );
    let deleted = world.managed.delete(&path).await.unwrap();
    assert_eq!(deleted.code, 200);
    world
        .has(&path, "the new role", |it| it["roleRef"]["name"] == "admin")
        .await;
    world.reports("bound", "T", "T").await;
}
