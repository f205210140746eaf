//! Roles and bindings of a ManifestWork with an executor: the executor grants nothing that it has not.

use berth_testkit::cluster::{Cluster, Person, rule};
use berth_testkit::{PATIENCE, eventually_within, when};
use serde_json::{Value, json};

use super::world::{World, of_manifest, said};

const GROUP: &str = "rbac.authorization.k8s.io";
const VERBS: [&str; 5] = ["create", "update", "patch", "get", "delete"];

/// An executor with these verbs on roles and bindings.
async fn executor(world: &World, verbs: &[&str]) -> (Person, Value) {
    let cluster = Cluster::shared().await;
    let account = cluster.service_account(&world.namespace, "writer").await;
    let rules = [rule(verbs, GROUP, &["roles", "rolebindings"], &[])];
    cluster.grant_in(&world.namespace, &account, &rules).await;
    let account_of = json!({"namespace": world.namespace, "name": "writer"});
    let subject = json!({"type": "ServiceAccount", "serviceAccount": account_of});
    (account, json!({"executor": {"subject": subject}}))
}

/// A role that grants the executor ConfigMaps.
fn role(world: &World) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "Role",
        "metadata": {"name": "maps", "namespace": world.namespace},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": VERBS}],
    })
}

fn binding(world: &World) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "RoleBinding",
        "metadata": {"name": "maps", "namespace": world.namespace},
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "maps"},
        "subjects": [{"kind": "ServiceAccount", "name": "writer", "namespace": world.namespace}],
    })
}

/// Paths of the objects of a kind.
fn path(world: &World, resource: &str) -> String {
    let namespace = &world.namespace;
    format!("/apis/{GROUP}/v1/namespaces/{namespace}/{resource}")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_cannot_grant_what_it_has_not() {
    let world = World::new().await;
    let (account, spec) = executor(&world, &VERBS).await;
    let _agent = world.agent();
    let manifests = [world.map("a", "1"), role(&world), binding(&world)];
    world.create_with("grants", &manifests, spec.clone()).await;
    let work = world.reports("grants", "FFF", "FFF").await;
    let refused = |work: &Value, at: usize, resource: &str, name: &str, why: &[&str]| {
        let applied = of_manifest(work, at, "Applied");
        let [_, reason, message] = said(&applied);
        assert_eq!(reason, "AppliedManifestFailed");
        let start = format!(
            "Failed to apply manifest: not allowed to apply the resource {resource}, {} {name}, ",
            world.namespace
        );
        assert!(message.starts_with(&start), "{message}");
        assert!(why.iter().all(|it| message.contains(it)), "{message}");
    };
    let lacks = format!("grant the verb create to {}", account.user);
    refused(&work, 0, " configmaps", "a", &[&lacks]);
    // The API server's words.
    let roles = format!("{GROUP} roles");
    let more = [
        "error: permission escalation",
        "attempting to grant RBAC permissions not currently held",
    ];
    refused(&work, 1, &roles, "maps", &more);
    // Without its role, a binding could grant anything later.
    let bindings = format!("{GROUP} rolebindings");
    let unknown = "error: it is not known whether it is a permission escalation";
    refused(&work, 2, &bindings, "maps", &[unknown, "not found"]);
    for resource in ["roles", "rolebindings"] {
        world
            .lacks(&format!("{}/maps", path(&world, resource)))
            .await;
    }

    // The role exists already.
    let (roles_path, role) = (path(&world, "roles"), role(&world));
    let created = world.managed.post(&roles_path, &role).await.unwrap();
    assert_eq!(created.code, 201, "{created:?}");
    world.create_with("existing", &manifests, spec).await;
    let work = world.reports("existing", "FFF", "FTF").await;
    refused(&work, 0, " configmaps", "a", &[&lacks]);
    refused(&work, 1, &roles, "maps", &more);
    refused(&work, 2, &bindings, "maps", &more);
    world.lacks(&world.map_path("a")).await;
    world
        .lacks(&format!("{}/maps", path(&world, "rolebindings")))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_that_may_escalate_and_bind_grants_itself_what_it_needs() {
    let world = World::new().await;
    let verbs = [&VERBS[..], &["escalate", "bind"]].concat();
    let (_, spec) = executor(&world, &verbs).await;
    let _agent = world.agent();
    let manifests = [world.map("a", "1"), role(&world), binding(&world)];
    world.create_with("grants-itself", &manifests, spec).await;
    // The ConfigMap waits if its permission is not in force yet when the agent asks.
    let asks_again = 2 * PATIENCE;
    eventually_within(asks_again, "the ConfigMap", async || {
        let map = world.managed.get(&world.map_path("a")).await.unwrap();
        when(map, |it| it.code == 200)
    })
    .await;
    world.reports("grants-itself", "TTT", "TTT").await;
}

/// An existing binding to a stronger role keeps its subjects: what is checked is what is written, in its strategy, on the object as it is.
#[tokio::test(flavor = "multi_thread")]
async fn an_executor_does_not_join_a_binding_to_a_stronger_role() {
    let world = World::new().await;
    let (account, spec) = executor(&world, &VERBS).await;
    let maps = rule(&VERBS, "", &["configmaps"], &[]);
    let cluster = Cluster::shared().await;
    cluster.grant_in(&world.namespace, &account, &[maps]).await;
    let strong = json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "Role",
        "metadata": {"name": "strong", "namespace": world.namespace},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": VERBS}],
    });
    let mut existing = binding(&world);
    existing["roleRef"]["name"] = json!("strong");
    existing["subjects"][0]["name"] = json!("another");
    for (resource, object) in [
        ("roles", &role(&world)),
        ("roles", &strong),
        ("rolebindings", &existing),
    ] {
        let created = world.managed.post(&path(&world, resource), object).await;
        assert_eq!(created.unwrap().code, 201, "{object}");
    }
    let _agent = world.agent();
    let identifier = json!({"group": GROUP, "resource": "rolebindings", "name": "maps", "namespace": world.namespace});
    let cut = json!([{"condition": "OnSpokePresent", "jqPathExpressions": [".roleRef"]}]);
    let mut spec = spec.clone();
    spec["manifestConfigs"] = json!([{
        "resourceIdentifier": identifier,
        "updateStrategy": {"type": "ServerSideApply", "serverSideApply": {"force": true, "ignoreFields": cut}},
    }]);
    world.create_with("joins", &[binding(&world)], spec).await;
    let work = world.reports("joins", "F", "T").await;
    let applied = of_manifest(&work, 0, "Applied");
    let [_, reason, message] = said(&applied);
    assert_eq!(reason, "AppliedManifestFailed");
    assert!(
        message.contains("error: permission escalation")
            && message.contains("attempting to grant RBAC permissions not currently held"),
        "{message}"
    );
    let path = format!("{}/maps", path(&world, "rolebindings"));
    let stored = world.managed.get(&path).await.unwrap().body;
    assert_eq!(stored["subjects"], existing["subjects"], "{stored}");
    assert_eq!(stored["roleRef"]["name"], "strong");
}

/// To create an object anew, the executor must be allowed to delete it, also if the object stays when its ManifestWork goes.
#[tokio::test(flavor = "multi_thread")]
async fn an_executor_that_may_not_delete_replaces_no_object() {
    let world = World::new().await;
    let (account, spec) = executor(&world, &VERBS).await;
    let secrets = rule(&VERBS[..4], "", &["secrets"], &[]);
    let cluster = Cluster::shared().await;
    cluster
        .grant_in(&world.namespace, &account, &[secrets])
        .await;
    let secret = |kind: &str| {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "typed", "namespace": world.namespace},
            "type": kind,
        })
    };
    let secrets = format!("/api/v1/namespaces/{}/secrets", world.namespace);
    let created = world.managed.post(&secrets, &secret("one")).await.unwrap();
    assert_eq!(created.code, 201, "{created:?}");
    let uid = created.body["metadata"]["uid"].clone();
    let _agent = world.agent();
    let mut spec = spec.clone();
    spec["deleteOption"] = json!({"propagationPolicy": "Orphan"});
    world.create_with("replaces", &[secret("two")], spec).await;
    let work = world.reports("replaces", "F", "T").await;
    let applied = of_manifest(&work, 0, "Applied");
    let [_, reason, message] = said(&applied);
    assert_eq!(reason, "AppliedManifestFailed");
    let lacks = format!("grant the verb delete to {}", account.user);
    assert!(message.ends_with(&lacks), "{message}");
    let stored = world
        .managed
        .get(&format!("{secrets}/typed"))
        .await
        .unwrap()
        .body;
    assert_eq!(stored["metadata"]["uid"], uid, "{stored}");
}
