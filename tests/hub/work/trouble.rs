//! The managed cluster responds to some requests only. What concerns one kind or one object keeps no other waiting.

use std::sync::Arc;

use berth_testkit::cluster::{Cluster, fresh, rule};
use berth_testkit::{eventually, when};
use http::Method;
use serde_json::{Value, json};

use super::executing::{VERBS, executor};
use super::world::{World, namespace, of_manifest};
use crate::lifecycle::proxy::{Asked, Fault, Line, Proxy};

/// A world whose agent reaches the managed cluster through a proxy. The test does not.
async fn proxied() -> (World, Arc<Proxy>) {
    let mut world = World::new().await;
    let proxy = Proxy::of(world.managed.client.clone()).await;
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": proxy.url}}],
        "users": [{"name": "a", "user": {}}],
    });
    let kubeconfig = world.managed.kubeconfig.with_extension("proxy");
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    world.managed.kubeconfig = kubeconfig;
    (world, Arc::new(proxy))
}

fn secret(world: &World, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": name, "namespace": world.namespace},
        "data": {"key": "MQ=="},
    })
}

fn secret_path(world: &World, name: &str) -> String {
    format!("/api/v1/namespaces/{}/secrets/{name}", world.namespace)
}

/// Returns true if the request lists or watches a kind in the namespace.
fn reads_all(asked: &Asked, namespace: &str, resource: &str) -> bool {
    let path = format!("/namespaces/{namespace}/{resource}");
    asked.method == Method::GET && asked.path.ends_with(&path)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_cannot_be_listed_does_not_stop_the_others() {
    for fault in [Fault::Answer(503), Fault::Answer(429), Fault::CutBefore] {
        let (world, proxy) = proxied().await;
        let namespace = world.namespace.clone();
        proxy.rule(move |asked| match reads_all(asked, &namespace, "secrets") {
            true => fault,
            false => Fault::Pass,
        });
        // Only the watch shows changes in time.
        let _agent = world.agent_with(&["--status-sync-interval=1h"]);
        let name = fresh("unlisted");
        let manifests = [secret(&world, "s"), world.map("a", "1")];
        world.create(&name, &manifests).await;
        world.reports(&name, "TT", "TT").await;

        // The kind is watched as soon as it can be listed.
        proxy.rule(|_| Fault::Pass);
        let namespace = world.namespace.clone();
        eventually("a watch of Secrets", async || {
            let watches = |it: &Asked| it.watches() && reads_all(it, &namespace, "secrets");
            when((), |()| proxy.any(watches))
        })
        .await;
        let path = secret_path(&world, "s");
        let other = json!({"data": {"key": "Mg=="}});
        world.change(&path, other).await;
        world
            .has(&path, "put back", |it| it["data"]["key"] == "MQ==")
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_that_cannot_be_listed_do_not_stop_executors() {
    let (world, proxy) = proxied().await;
    let cluster = Cluster::shared().await;
    let account = cluster.service_account(&world.namespace, "writer").await;
    let rules = [rule(&VERBS, "", &["configmaps"], &["a"])];
    cluster.grant_in(&world.namespace, &account, &rules).await;
    proxy.rule(|asked| match asked.path.ends_with("/roles") {
        true => Fault::Answer(503),
        false => Fault::Pass,
    });
    let _agent = world.agent();
    let manifests = [world.map("a", "1")];
    world
        .create_with("unlisted-roles", &manifests, executor(&world, "writer"))
        .await;
    world.reports("unlisted-roles", "T", "T").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_an_api_that_is_down_keep_no_others_waiting() {
    let (world, proxy) = proxied().await;
    proxy.rule(|asked| match asked.path.contains("/secrets") {
        true => Fault::Answer(503),
        false => Fault::Pass,
    });
    let _agent = world.agent();
    let mut manifests: Vec<_> = (0..4).map(|at| secret(&world, &format!("s{at}"))).collect();
    manifests.push(world.map("a", "1"));
    world.create("api-down", &manifests).await;
    let work = world.reports("api-down", "FFFFT", "UUUUT").await;
    let message = of_manifest(&work, 0, "Applied")["message"].clone();
    let message = message.as_str().unwrap();
    assert!(message.contains("the line says 503"), "{message}");
    proxy.rule(|_| Fault::Pass);
    world.reports("api-down", "TTTTT", "TTTTT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_created_is_listed_though_others_get_no_response() {
    let (world, proxy) = proxied().await;
    proxy.rule(|asked| match asked.path.contains("/secrets") {
        true => Fault::CutBefore,
        false => Fault::Pass,
    });
    let _agent = world.agent();
    let secrets: Vec<_> = (0..3).map(|at| secret(&world, &format!("s{at}"))).collect();
    let with_map = [&[world.map("a", "1")][..], &secrets].concat();
    world.create("cut-off", &with_map).await;
    let lists_it = |it: &Value| it["status"]["appliedResources"][0]["name"] == "a";
    world
        .applied("cut-off", "lists the ConfigMap", lists_it)
        .await;
    world.update("cut-off", &secrets).await;
    world.lacks(&world.map_path("a")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_created_and_never_listed_goes_when_its_manifest_goes() {
    let (world, proxy) = proxied().await;
    proxy.rule(|asked| match lists_objects(asked) {
        true => Fault::Answer(503),
        false => Fault::Pass,
    });
    let _agent = world.agent();
    let maps = ["a", "b"].map(|name| world.map(name, "1"));
    world.create("unrecorded", &maps).await;
    world.reports("unrecorded", "TT", "TT").await;
    world.update("unrecorded", &maps[1..]).await;
    world.lacks(&world.map_path("a")).await;
    proxy.rule(|_| Fault::Pass);
    world.reports("unrecorded", "T", "T").await;
    let lists_it = |it: &Value| it["status"]["appliedResources"][0]["name"] == "b";
    world.applied("unrecorded", "lists b", lists_it).await;
}

/// Returns true if the request writes the list of an AppliedManifestWork.
fn lists_objects(asked: &Asked) -> bool {
    asked.method == Method::PATCH
        && asked.path.contains("/appliedmanifestworks/")
        && asked.path.ends_with("/status")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_refused_is_written_less_and_less_often() {
    let (world, proxy) = proxied().await;
    proxy.rule(|asked| match lists_objects(asked) {
        true => Fault::Answer(403),
        false => Fault::Pass,
    });
    let _agent = world.agent();
    world.create("refused-list", &[world.map("a", "1")]).await;
    let tries = eventually("five tries", async || {
        when(proxy.asked(lists_objects), |it| it.len() >= 5)
    })
    .await;
    let gap = |at: usize| tries[at + 1].at - tries[at].at;
    // The first ones may follow changes.
    assert!(
        gap(3) > gap(1) * 2,
        "{:?}",
        (1..4).map(gap).collect::<Vec<_>>()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn manifests_that_were_replaced_meanwhile_delete_nothing() {
    let (world, proxy) = proxied().await;
    let _agent = world.agent();
    let [a, b, c] = ["a", "b", "c"].map(|name| world.map(name, "1"));
    world.create("replaced", &[a.clone(), b.clone()]).await;
    world.reports("replaced", "TT", "TT").await;
    let path = world.map_path("b");
    let before = world.has(&path, "there", |_| true).await;

    let line = Arc::clone(&proxy);
    let creates_c = |it: &Asked| it.method == Method::POST && it.body["metadata"]["name"] == "c";
    proxy.rule(move |asked| {
        if creates_c(asked) {
            line.line(Line::Hangs);
        }
        Fault::Pass
    });
    world.update("replaced", &[a.clone(), c.clone()]).await;
    eventually("the request for c", async || {
        when((), |()| proxy.any(creates_c))
    })
    .await;
    world.update("replaced", &[a, b, c]).await;
    // The agent has seen the new manifests when it has seen a later ManifestWork.
    world
        .create("seen-later", &[world.map("seen-later", "1")])
        .await;
    world
        .work_has("seen-later", "a finalizer", |it| {
            it["metadata"]["finalizers"].is_array()
        })
        .await;
    proxy.rule(|_| Fault::Pass);
    proxy.line(Line::Up);
    world.reports("replaced", "TTT", "TTT").await;
    let after = world.has(&path, "there", |_| true).await;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_was_refused_once_goes_on() {
    let (world, proxy) = proxied().await;
    let _agent = world.agent_with(&["--status-sync-interval=1h"]);
    world.create("refused-watch", &[world.map("a", "1")]).await;
    world.reports("refused-watch", "T", "T").await;
    let namespace = world.namespace.clone();
    let of_maps = move |it: &Asked| it.watches() && reads_all(it, &namespace, "configmaps");
    refuse_watches(&proxy, of_maps).await;
    let path = world.map_path("a");
    world.change(&path, json!({"data": {"key": "2"}})).await;
    world
        .has(&path, "put back", |it| it["data"]["key"] == "1")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_of_roles_that_was_refused_once_goes_on() {
    let (world, proxy) = proxied().await;
    let cluster = Cluster::shared().await;
    let account = cluster.service_account(&world.namespace, "writer").await;
    let rules = [rule(&VERBS, "", &["configmaps"], &["a"])];
    cluster.grant_in(&world.namespace, &account, &rules).await;
    let _agent = world.agent();
    let manifests = [world.map("a", "1")];
    world
        .create_with("refused-roles", &manifests, executor(&world, "writer"))
        .await;
    world.reports("refused-roles", "T", "T").await;
    refuse_watches(&proxy, |it| {
        it.watches() && it.path.ends_with("/rolebindings")
    })
    .await;
    world.revoke().await;
    world.reports("refused-roles", "F", "T").await;
}

/// Ends all watches, refuses one of these, and returns when another one of these has begun.
async fn refuse_watches(proxy: &Proxy, is: impl Fn(&Asked) -> bool + Clone + Send + 'static) {
    let of = is.clone();
    let mut has_refused = false;
    proxy.rule(
        move |asked| match of(asked) && !std::mem::replace(&mut has_refused, of(asked)) {
            true => Fault::Answer(403),
            false => Fault::Pass,
        },
    );
    proxy.cut_watches();
    eventually("a watch after a refused one", async || {
        let watches = proxy.asked(&is);
        let refused = watches.iter().position(|it| it.fault == Fault::Answer(403));
        let after = refused.map(|at| &watches[at + 1..]);
        when((), |()| {
            after.is_some_and(|it| it.iter().any(|it| it.answered.is_some()))
        })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_deleted_while_its_watch_is_replaced_is_created_anew() {
    let (world, proxy) = proxied().await;
    let _agent = world.agent();
    let mut namespaces = Vec::new();
    for _ in 0..9 {
        let name = fresh("wide");
        namespace(&world.managed, &name).await;
        namespaces.push(name);
    }
    let maps: Vec<_> = (namespaces.iter())
        .map(|namespace| {
            let mut map = world.map("a", "1");
            map["metadata"]["namespace"] = json!(namespace);
            map
        })
        .collect();
    world.create("wide", &maps[..8]).await;
    world.reports("wide", &"T".repeat(8), &"T".repeat(8)).await;
    let path = format!("/api/v1/namespaces/{}/configmaps/a", namespaces[0]);
    let before = world.has(&path, "there", |_| true).await;
    let line = Arc::clone(&proxy);
    let lists_all = |it: &Asked| it.path == "/api/v1/configmaps" && !it.watches();
    proxy.rule(move |asked| {
        if lists_all(asked) {
            line.line(Line::Hangs);
        }
        Fault::Pass
    });
    world.update("wide", &maps).await;
    eventually("a list of all ConfigMaps", async || {
        when((), |()| proxy.any(lists_all))
    })
    .await;
    let deleted = world.managed.delete(&path).await.unwrap();
    assert_eq!(deleted.code, 200);
    proxy.rule(|_| Fault::Pass);
    proxy.line(Line::Up);
    world
        .has(&path, "created anew", |it| {
            it["metadata"]["uid"] != before["metadata"]["uid"]
        })
        .await;
    world.reports("wide", &"T".repeat(9), &"T".repeat(9)).await;
}
