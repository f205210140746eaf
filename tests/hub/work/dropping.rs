//! What a manifest no longer has inside a value that Kubernetes keeps as a whole, such as a list or a selector, leaves the object.

use berth_testkit::cluster::Cluster;
use serde_json::{Value, json};

use super::custom::{self, definition, shelf};
use super::deployments::{deployment, path};
use super::restarting::restart_writes_nothing;
use super::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_a_node_selector_and_a_field_of_a_toleration_are_removed() {
    let (world, recorded) = World::recorded().await;
    let agent = world.agent();
    let manifest = |selector: Value, toleration: Value| {
        let mut app = deployment(&world, "app", 1);
        let pod = &mut app["spec"]["template"]["spec"];
        pod["nodeSelector"] = selector;
        pod["tolerations"] = json!([toleration]);
        app
    };
    let for_a_while = json!({
        "key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30,
    });
    let before = manifest(json!({"disk": "ssd", "zone": "a"}), for_a_while);
    world.create("keys", &[before]).await;
    world.reports("keys", "T", "T").await;
    let for_ever = json!({"key": "a", "operator": "Exists", "effect": "NoExecute"});
    let after = manifest(json!({"disk": "ssd"}), for_ever.clone());
    world.update("keys", std::slice::from_ref(&after)).await;
    world.reports("keys", "T", "T").await;
    let app = world.has(&path(&world, "app"), "there", |_| true).await;
    let pod = &app["spec"]["template"]["spec"];
    assert_eq!(pod["nodeSelector"], json!({"disk": "ssd"}));
    assert_eq!(pod["tolerations"], json!([for_ever]));
    restart_writes_nothing(&world, &recorded, agent, "keys", &[after]).await;
}

/// The fields of the manager show that the agent applied the selector, though not what was in it.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_a_node_selector_is_removed_although_the_agent_was_away() {
    let (world, recorded) = World::recorded().await;
    let agent = world.agent();
    let manifest = |selector: Value| {
        let mut app = deployment(&world, "app", 1);
        app["spec"]["template"]["spec"]["nodeSelector"] = selector;
        app
    };
    let before = manifest(json!({"disk": "ssd", "zone": "a"}));
    world.create("keys-away", &[before]).await;
    world.reports("keys-away", "T", "T").await;
    agent.kill().await;
    let after = manifest(json!({"disk": "ssd"}));
    world
        .update("keys-away", std::slice::from_ref(&after))
        .await;
    let agent = world.agent();
    world.reports("keys-away", "T", "T").await;
    let app = world.has(&path(&world, "app"), "there", |_| true).await;
    let selector = &app["spec"]["template"]["spec"]["nodeSelector"];
    assert_eq!(*selector, json!({"disk": "ssd"}));
    restart_writes_nothing(&world, &recorded, agent, "keys-away", &[after]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_in_a_list_of_a_custom_resource_is_removed() {
    let (world, recorded) = World::recorded().await;
    let agent = world.agent();
    let books = json!([{"title": "Emma", "author": "Austen", "lang": "de"}]);
    let manifests = [definition(&world), shelf(&world, "a", books)];
    world.create("shelves", &manifests).await;
    world.reports("shelves", "TT", "TT").await;
    let [definition, _] = manifests;
    let manifests = [definition, shelf(&world, "a", json!([{"title": "Emma"}]))];
    world.update("shelves", &manifests).await;
    world.reports("shelves", "TT", "TT").await;
    let shelf = world
        .has(&custom::path(&world, "a"), "there", |_| true)
        .await;
    let with_default = json!([{"title": "Emma", "lang": "en"}]);
    assert_eq!(shelf["spec"]["books"], with_default);
    restart_writes_nothing(&world, &recorded, agent, "shelves", &manifests).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_of_a_rule_of_an_ingress_is_removed() {
    let cluster = Cluster::shared().await;
    if !cluster.only_real("devhub has no Ingresses") {
        return;
    }
    let (world, recorded) = World::recorded().await;
    let agent = world.agent();
    let service = json!({"name": "web", "port": {"number": 80}});
    let http =
        json!({"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": service}}]});
    let ingress = |rule: Value| {
        json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {"name": "web", "namespace": world.namespace},
            "spec": {"rules": [rule]},
        })
    };
    let before = ingress(json!({"host": "web.example.com", "http": http}));
    world.create("hosts", &[before]).await;
    world.reports("hosts", "T", "T").await;
    let after = ingress(json!({"http": http}));
    world.update("hosts", std::slice::from_ref(&after)).await;
    world.reports("hosts", "T", "T").await;
    let path = format!(
        "/apis/networking.k8s.io/v1/namespaces/{}/ingresses/web",
        world.namespace
    );
    let ingress = world.has(&path, "there", |_| true).await;
    assert_eq!(ingress["spec"]["rules"], json!([{"http": http}]));
    restart_writes_nothing(&world, &recorded, agent, "hosts", &[after]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_selector_of_a_network_policy_counts_and_its_types_are_put_back() {
    let cluster = Cluster::shared().await;
    if !cluster.only_real("devhub has no NetworkPolicies") {
        return;
    }
    let (world, recorded) = World::recorded().await;
    let agent = world.agent();
    let policy = |peer: Value| {
        json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "web", "namespace": world.namespace},
            "spec": {"podSelector": {}, "ingress": [{"from": [peer]}]},
        })
    };
    let path = format!(
        "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies/web",
        world.namespace
    );
    let all_namespaces = policy(json!({"namespaceSelector": {}}));
    world.create("peers", &[all_namespaces]).await;
    world.reports("peers", "T", "T").await;
    let own_namespace = policy(json!({"podSelector": {}}));
    world
        .update("peers", std::slice::from_ref(&own_namespace))
        .await;
    world.reports("peers", "T", "T").await;
    let object = world.has(&path, "there", |_| true).await;
    let peers = &object["spec"]["ingress"][0]["from"];
    assert_eq!(*peers, json!([{"podSelector": {}}]));

    let theirs = json!({"spec": {"policyTypes": ["Ingress", "Egress"]}});
    world.change(&path, theirs).await;
    world
        .has(&path, "the types put back", |it| {
            it["spec"]["policyTypes"] == json!(["Ingress"])
        })
        .await;
    restart_writes_nothing(&world, &recorded, agent, "peers", &[own_namespace]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_whose_key_ends_in_a_hyphen_is_removed_from_the_object() {
    let cluster = Cluster::shared().await;
    if !cluster.only_devhub("kube-apiserver refuses such a ManifestWork") {
        return;
    }
    let (world, recorded) = World::recorded().await;
    let objects = [world.map("a", "1"), deployment(&world, "app", 1)];
    let paths = [world.map_path("a"), path(&world, "app")];
    for (object, path) in objects.iter().zip(&paths) {
        let mut theirs = object.clone();
        theirs["metadata"]["labels"] = json!({"old": "1", "theirs": "1"});
        let (collection, _) = path.rsplit_once('/').unwrap();
        let created = world.managed.post(collection, &theirs).await.unwrap();
        assert_eq!(created.code, 201, "{created:?}");
    }
    let agent = world.agent();
    let manifests = objects.map(|mut it| {
        it["metadata"]["labels"] = json!({"old-": "", "new": "1"});
        it
    });
    world.create("hyphens", &manifests).await;
    world.reports("hyphens", "TT", "TT").await;
    for path in &paths {
        let object = world.has(path, "there", |_| true).await;
        let labels = json!({"new": "1", "theirs": "1"});
        assert_eq!(object["metadata"]["labels"], labels, "{path}");
    }
    restart_writes_nothing(&world, &recorded, agent, "hyphens", &manifests).await;
}
