//! ManifestWorks with an executor: what its service account may not do is not done.

use berth_testkit::cluster::{Cluster, rule};
use berth_testkit::csr::Csr;
use serde_json::{Value, json};

use super::world::{World, condition, of_manifest, said};

pub const VERBS: [&str; 5] = ["create", "update", "patch", "get", "delete"];

pub fn executor(world: &World, name: &str) -> Value {
    json!({"executor": {"subject": {
        "type": "ServiceAccount",
        "serviceAccount": {"namespace": world.namespace, "name": name},
    }}})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_needs_the_rights_itself() {
    let world = World::new().await;
    let cluster = Cluster::shared().await;
    let account = cluster.service_account(&world.namespace, "writer").await;
    let rules = [rule(&VERBS, "", &["configmaps"], &["a"])];
    cluster.grant_in(&world.namespace, &account, &rules).await;
    let _agent = world.agent();
    let maps = [world.map("a", "1"), world.map("b", "1")];
    world
        .create_with("some-rights", &maps, executor(&world, "writer"))
        .await;
    let work = world.reports("some-rights", "TF", "TF").await;
    let message =
        condition(&work["status"]["resourceStatus"]["manifests"][1], "Applied")["message"].clone();
    let message = message.as_str().unwrap();
    assert!(
        message.contains("not allowed to apply the resource  configmaps"),
        "{message}"
    );
    assert!(message.contains("try again in 1m0s"), "{message}");
    world
        .create_with(
            "no-rights",
            &[world.map("c", "1")],
            executor(&world, "nobody"),
        )
        .await;
    world.reports("no-rights", "F", "F").await;
    world.lacks(&world.map_path("c")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_executor_may_do_follows_its_roles_without_a_restart() {
    let world = World::new().await;
    let cluster = Cluster::shared().await;
    cluster.service_account(&world.namespace, "writer").await;
    let rules = [rule(&VERBS, "", &["configmaps"], &["a"])];
    let path = format!(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{}",
        world.namespace
    );
    let create = async |kind: &str, body: Value| {
        let path = format!("{path}/{kind}");
        let created = world.managed.post(&path, &body).await.unwrap();
        assert_eq!(created.code, 201, "{created:?}");
        format!("{path}/writes")
    };
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "writes"},
        "rules": rules,
    });
    let role = create("roles", role).await;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "writes"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "writes"},
        "subjects": [{"kind": "ServiceAccount", "namespace": world.namespace, "name": "writer"}],
    });
    let binding = create("rolebindings", binding).await;
    let _agent = world.agent();
    world
        .create_with(
            "follows",
            &[world.map("a", "1")],
            executor(&world, "writer"),
        )
        .await;
    world.reports("follows", "T", "T").await;

    // The object is as the manifest says, and nobody changes it.
    let none = json!({"rules": []});
    world.managed.merge(&role, &none).await.unwrap().ok();
    let work = world.reports("follows", "F", "T").await;
    let applied = condition(&work["status"]["resourceStatus"]["manifests"][0], "Applied");
    let message = applied["message"].as_str().unwrap();
    assert!(
        message.contains("not allowed to apply the resource  configmaps"),
        "{message}"
    );

    let all = json!({ "rules": rules });
    world.managed.merge(&role, &all).await.unwrap().ok();
    world.reports("follows", "T", "T").await;

    let deleted = world.managed.delete(&binding).await.unwrap();
    assert_eq!(deleted.code, 200, "{deleted:?}");
    world.reports("follows", "F", "T").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_gate_objects_are_written_as_the_executor() {
    let world = World::new().await;
    let cluster = Cluster::shared().await;
    let account = cluster.service_account(&world.namespace, "writer").await;
    let requests = [rule(
        &VERBS,
        "certificates.k8s.io",
        &["certificatesigningrequests"],
        &[],
    )];
    cluster.grant(&account, &requests).await;
    // The API server notes who creates a CSR.
    let csr = Csr::new(&world.cluster, "any");
    let _agent = world.agent_with(&["--feature-gates=ExecutorImpersonation=true"]);
    world
        .create_with(
            "request",
            std::slice::from_ref(&csr.body),
            executor(&world, "writer"),
        )
        .await;
    world.reports("request", "T", "T").await;
    let created = world.has(&csr.path(), "there", |_| true).await;
    let user = format!("system:serviceaccount:{}:writer", world.namespace);
    assert_eq!(created["spec"]["username"], user);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_executor_may_not_read_is_not_reported() {
    let world = World::new().await;
    let cluster = Cluster::shared().await;
    let account = cluster.service_account(&world.namespace, "reader").await;
    let mine = json!({"metadata": {"name": "mine", "labels": {"key": "known"}}});
    let maps = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
    let created = world.managed.post(&maps, &mine).await.unwrap();
    assert_eq!(created.code, 201, "{created:?}");
    let _agent = world.agent();
    let mut spec = executor(&world, "reader");
    let identifier = json!({
        "group": "", "resource": "configmaps", "namespace": world.namespace, "name": "mine",
    });
    spec["manifestConfigs"] = json!([{
        "resourceIdentifier": identifier,
        "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "key", "path": ".metadata.labels.key"}]}],
        "conditionRules": [{"condition": "Known", "type": "CEL", "celExpressions": ["object.metadata.labels.key == 'known'"]}],
    }]);
    world
        .create_with("reads", &[world.map("mine", "1")], spec)
        .await;
    let is_silent = |work: &Value| {
        let available = of_manifest(work, 0, "Available");
        let [status, reason, message] = said(&available);
        assert_eq!((status, reason), ("True", "ResourceAvailable"));
        assert_eq!(message, "Resource is available");
        let manifest = &work["status"]["resourceStatus"]["manifests"][0];
        assert_eq!(manifest["statusFeedback"]["values"], Value::Null, "{work}");
        for type_ in ["Drifted", "Known", "StatusFeedbackSynced"] {
            assert_eq!(of_manifest(work, 0, type_), Value::Null, "{type_}");
        }
    };
    is_silent(&world.reports("reads", "F", "T").await);

    let rules = [rule(&VERBS, "", &["configmaps"], &["mine"])];
    cluster.grant_in(&world.namespace, &account, &rules).await;
    let work = world.reports("reads", "T", "T").await;
    let manifest = &work["status"]["resourceStatus"]["manifests"][0];
    let value = &manifest["statusFeedback"]["values"][0]["fieldValue"]["string"];
    assert_eq!(value, "known");
    assert_eq!(of_manifest(&work, 0, "Known")["status"], "True");

    // What was reported before goes, too.
    world.revoke().await;
    is_silent(&world.reports("reads", "F", "T").await);
}
