//! Manifests that cannot be applied: their objects stay, and Applied says why.

use berth_testkit::cluster::Cluster;
use serde_json::{Value, json};

use super::world::{World, of_manifest, said};

/// A Secret in the namespace.
fn secret(world: &World, type_: &str, data: Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": world.namespace},
        "type": type_,
        "data": data,
    })
}

/// The Secret on the managed cluster.
async fn stored(world: &World) -> Value {
    let path = format!("/api/v1/namespaces/{}/secrets/s", world.namespace);
    world.has(&path, "there", |_| true).await
}

/// Waits until the only manifest of a work is refused for this field, which the API server requires.
async fn is_refused(world: &World, work: &str, field: &str) {
    let work = world.reports(work, "F", "T").await;
    let applied = of_manifest(&work, 0, "Applied");
    let [_, reason, message] = said(&applied);
    assert_eq!(reason, "AppliedManifestFailed");
    let start = "Failed to apply manifest: ";
    assert!(message.starts_with(start), "{message}");
    let why = format!("{field}: Required value");
    assert!(message.contains(&why), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tls_secret_without_its_key_keeps_what_it_has() {
    let world = World::new().await;
    let _agent = world.agent();
    let tls = |data| secret(&world, "kubernetes.io/tls", data);
    let whole = tls(json!({"tls.crt": "MQ==", "tls.key": "Mg=="}));
    world.create("tls", &[whole]).await;
    world.reports("tls", "T", "T").await;
    let before = stored(&world).await;
    world
        .update("tls", &[tls(json!({"tls.crt": "Mw=="}))])
        .await;
    is_refused(&world, "tls", "data[tls.key]").await;
    assert_eq!(stored(&world).await, before);

    let renewed = json!({"tls.crt": "Mw==", "tls.key": "NA=="});
    world.update("tls", &[tls(renewed.clone())]).await;
    world.reports("tls", "T", "T").await;
    let after = stored(&world).await;
    assert_eq!(after["data"], renewed);
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_another_type_is_created_anew_if_its_data_are_valid() {
    let world = World::new().await;
    let _agent = world.agent();
    let opaque = secret(&world, "Opaque", json!({"tls.crt": "MQ=="}));
    world.create("typed", &[opaque]).await;
    world.reports("typed", "T", "T").await;
    let before = stored(&world).await;
    let tls = |data| secret(&world, "kubernetes.io/tls", data);
    let partial = tls(json!({"tls.crt": "MQ=="}));
    world.update("typed", &[partial]).await;
    is_refused(&world, "typed", "data[tls.key]").await;
    assert_eq!(stored(&world).await, before);

    let whole = tls(json!({"tls.crt": "MQ==", "tls.key": "Mg=="}));
    world.update("typed", &[whole]).await;
    world.reports("typed", "T", "T").await;
    let after = stored(&world).await;
    assert_eq!(after["type"], "kubernetes.io/tls");
    assert_ne!(after["metadata"]["uid"], before["metadata"]["uid"]);
}

/// Services with names and namespaces that would be other paths of the API server, and the field that is wrong.
fn astray(world: &World) -> Vec<(&'static str, String, Value)> {
    let (home, other) = (&world.namespace, format!("{}/web", world.namespace));
    let names = [
        ("name", home, "web:8080/proxy/x"),
        ("namespace", &other, "proxy"),
        ("name", home, "web%2Fproxy"),
        ("name", home, ".."),
    ];
    let rows = names.into_iter().map(|(field, namespace, name)| {
        let metadata = json!({"name": name, "namespace": namespace});
        let value = metadata[field].as_str().unwrap().to_owned();
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": metadata,
            "spec": {"ports": [{"port": 80}]},
        });
        (field, value, service)
    });
    rows.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_would_be_another_path_is_never_sent() {
    let cluster = Cluster::shared().await;
    if !cluster.only_devhub("kube-apiserver refuses such a ManifestWork") {
        return;
    }
    let (world, recorded) = World::recorded().await;
    let _agent = world.agent();
    let rows = astray(&world);
    let mut manifests: Vec<_> = rows.iter().map(|(.., service)| service.clone()).collect();
    manifests.push(world.map("a", "1"));
    world.create("paths", &manifests).await;
    let work = world.reports("paths", "FFFFT", "UUUUT").await;
    for (at, (field, value, _)) in rows.iter().enumerate() {
        let message = format!(
            "Failed to apply manifest: metadata.{field} {value:?} cannot be used in a path: it must not be \".\" or \"..\", and must not contain / or %"
        );
        let applied = of_manifest(&work, at, "Applied");
        let expected = ["False", "AppliedManifestFailed", message.as_str()];
        assert_eq!(said(&applied), expected);
    }
    let parts = ["proxy", "..", "/services"];
    let sent = recorded.asked(|it| parts.iter().any(|part| it.path.contains(part)));
    assert!(sent.is_empty(), "{sent:?}");
}

/// kube-apiserver checks the metadata of objects in a ManifestWork, whatever agent carries it out.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_hub_refuses_names_and_labels_that_no_object_can_have() {
    let cluster = Cluster::shared().await;
    if !cluster.only_real("devhub does not check the metadata of embedded objects") {
        return;
    }
    let world = World::new().await;
    let mut rows = astray(&world);
    for field in ["labels", "annotations"] {
        let mut map = world.map("a", "1");
        map["metadata"][field] = json!({"old-": ""});
        rows.push((field, "old-".to_owned(), map));
    }
    for (field, value, manifest) in rows {
        let refused = world.post("astray", &[manifest], json!({})).await;
        let message = refused.refused(422, "Invalid");
        let cause =
            format!("spec.workload.manifests[0].metadata.{field}: Invalid value: {value:?}");
        assert!(message.contains(&cause), "{message}");
    }
}
