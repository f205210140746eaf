//! Add-ons in both versions, on a real kube-apiserver that calls the gate to convert them.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_api::crds::{self, CONVERSION_PATH};
use berth_api::labels::ADDON_INSTALL_NAMESPACE;
use berth_certs::issue::Authority;
use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, WebhookClientConfig,
};
use serde_json::{Value, json};

use berth_testkit::cluster::{Cluster, Person, fresh, kubectl_is_there, path_of, say_skipped};
use berth_testkit::guarded::AS_FROM_AFAR;
use berth_testkit::managed::World;
use berth_testkit::{Gate, eventually, when};

use crate::serving::conversion::alone;

const GROUP: &str = "/apis/addon.open-cluster-management.io";
const VERSIONS: [&str; 2] = ["v1alpha1", "v1beta1"];
const SIGNER: &str = "kubernetes.io/kube-apiserver-client";

fn definitions(cluster_name: &str) -> String {
    format!("clustermanagementaddons/{cluster_name}")
}

fn addon(namespace: &str, name: &str) -> String {
    format!("namespaces/{namespace}/managedclusteraddons/{name}")
}

/// The path of an object in a version.
fn at(version: &str, object: &str) -> String {
    format!("{GROUP}/{version}/{object}")
}

/// The path of the collection of an object.
fn collection(version: &str, object: &str) -> String {
    let (collection, _) = object.rsplit_once('/').unwrap();
    at(version, collection)
}

fn object(version: &str, kind: &str, name: &str, parts: &Value) -> Value {
    let mut object = json!({
        "apiVersion": format!("addon.open-cluster-management.io/{version}"),
        "kind": kind,
        "metadata": {"name": name},
        "spec": {},
    });
    for (field, part) in parts.as_object().unwrap() {
        match (object[field].as_object_mut(), part) {
            (Some(fields), Value::Object(part)) => fields.extend(part.clone()),
            _ => object[field] = part.clone(),
        }
    }
    object
}

/// Hubs call the gate by its Service; here by its address.
fn called_at(gate: &Gate, mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let ca = std::fs::read(gate.certs.path().join("ca.crt")).unwrap();
    let conversion = crd.spec.conversion.as_mut().unwrap();
    let webhook = conversion.webhook.as_mut().unwrap();
    webhook.client_config = Some(WebhookClientConfig {
        ca_bundle: Some(k8s_openapi::ByteString(ca)),
        url: Some(format!("https://127.0.0.1:{}{CONVERSION_PATH}", gate.port)),
        service: None,
    });
    crd
}

/// Installs the kinds that are converted, stored in this version, and waits until the API server does so.
async fn install(cluster: &Cluster, gate: &Gate, stored: &str) {
    let kinds = [
        crds::cluster_management_addon(),
        crds::managed_cluster_addon(),
    ];
    let kinds = kinds.map(|crd| {
        let mut crd = called_at(gate, crd);
        for version in &mut crd.spec.versions {
            version.storage = version.name == stored;
        }
        serde_json::to_value(crd).unwrap()
    });
    cluster.apply(&kinds).await;
    let admin = cluster.admin().await;
    for kind in &kinds {
        let name = kind["metadata"]["name"].as_str().unwrap();
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
        eventually(&format!("{name} is stored in {stored}"), async || {
            let crd = admin.get(&path).await.unwrap();
            let versions = crd.body["status"]["storedVersions"].as_array().cloned();
            when((), |()| {
                versions.is_some_and(|it| it.contains(&json!(stored)))
            })
        })
        .await;
    }
}

/// The object in a version.
async fn read(admin: &Person, version: &str, object: &str) -> Value {
    let answer = admin.get(&at(version, object)).await.unwrap();
    answer.ok().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_versions_can_be_read_and_written_whichever_is_stored() {
    let Some(cluster) = Cluster::start_kubernetes(&[]).await else {
        return say_skipped(
            "only on a real hub (KUBEBUILDER_ASSETS): devhub calls no conversion webhook",
        );
    };
    let gate = alone();
    let admin = cluster.admin().await;
    for stored in VERSIONS {
        install(&cluster, &gate, stored).await;
        a_config_without_a_default(&admin).await;
        an_install_namespace(&admin).await;
        a_driver_for_two_registrations(&admin).await;
        parts_are_applied(&admin).await;
    }
    // Those that are stored in one version, and those that are stored in the other.
    for version in VERSIONS {
        for resource in ["clustermanagementaddons", "managedclusteraddons"] {
            let list = admin.get(&at(version, resource)).await.unwrap();
            let items = list.ok()["items"].as_array().unwrap().clone();
            assert!(items.len() > 2, "{list:?}");
            let api_version = format!("addon.open-cluster-management.io/{version}");
            assert!(items.iter().all(|it| it["apiVersion"] == *api_version));
            if kubectl_is_there() {
                let kind = format!("{resource}.{version}.addon.open-cluster-management.io");
                let shown = admin.kubectl(&["get", &kind, "-A", "-o", "name"]).await;
                assert_eq!(shown.ok().lines().count(), items.len());
            }
        }
    }
}

/// A ClusterManagementAddOn that names no default, read in v1beta1 and written back.
async fn a_config_without_a_default(admin: &Person) {
    let name = fresh("proxy");
    let path = definitions(&name);
    let configs = json!([
        {"group": "g", "resource": "r"},
        {"group": "", "resource": "s", "defaultConfig": {"namespace": "n", "name": "d"}},
    ]);
    let old = object(
        "v1alpha1",
        "ClusterManagementAddOn",
        &name,
        &json!({"spec": {"supportedConfigs": configs}}),
    );
    let created = admin.post(&collection("v1alpha1", &path), &old).await;
    created.unwrap().ok();
    let new = read(admin, "v1beta1", &path).await;
    assert_eq!(
        new["spec"]["defaultConfigs"],
        json!([
            {"group": "g", "resource": "r", "name": "__reserved_no_default__"},
            {"group": "", "resource": "s", "namespace": "n", "name": "d"},
        ])
    );
    admin.put(&at("v1beta1", &path), &new).await.unwrap().ok();
    let old = read(admin, "v1alpha1", &path).await;
    assert_eq!(old["spec"]["supportedConfigs"], configs);
}

/// An install namespace, created in either version.
async fn an_install_namespace(admin: &Person) {
    let annotation =
        |object: &Value| object["metadata"]["annotations"][ADDON_INSTALL_NAMESPACE].clone();
    let create = async |version: &str, parts: Value| {
        let name = fresh("addon");
        let path = addon("default", &name);
        let object = object(version, "ManagedClusterAddOn", &name, &parts);
        let created = admin.post(&collection(version, &path), &object).await;
        created.unwrap().ok();
        path
    };
    let of_old = create("v1alpha1", json!({"spec": {"installNamespace": "x"}})).await;
    let annotated = json!({"metadata": {"annotations": {ADDON_INSTALL_NAMESPACE: "x"}}});
    let of_new = create("v1beta1", annotated).await;
    for path in [of_old, of_new] {
        let (old, new) = (
            read(admin, "v1alpha1", &path).await,
            read(admin, "v1beta1", &path).await,
        );
        assert_eq!(
            (&old["spec"]["installNamespace"], annotation(&old)),
            (&json!("x"), Value::Null)
        );
        assert_eq!(
            (&new["spec"]["installNamespace"], annotation(&new)),
            (&Value::Null, json!("x"))
        );
        for field in ["name", "namespace", "uid", "creationTimestamp"] {
            assert_eq!(old["metadata"][field], new["metadata"][field], "{field}");
        }
    }
}

/// Registrations in the status, which an agent writes.
async fn a_driver_for_two_registrations(admin: &Person) {
    let name = fresh("token");
    let path = addon("default", &name);
    let object = object("v1alpha1", "ManagedClusterAddOn", &name, &json!({}));
    let created = admin.post(&collection("v1alpha1", &path), &object).await;
    created.unwrap().ok();
    let registrations = json!([
        {"signerName": "example.com/signer", "subject": {"user": "u", "organizationUnit": ["o"]}},
        {"signerName": SIGNER, "subject": {"user": "u", "groups": ["g"]}},
    ]);
    let status = json!({"status": {"kubeClientDriver": "token", "registrations": registrations}});
    let written = admin
        .merge(&format!("{}/status", at("v1alpha1", &path)), &status)
        .await;
    written.unwrap().ok();
    let new = read(admin, "v1beta1", &path).await;
    assert_eq!(
        new["status"]["registrations"],
        json!([
            {"type": "customSigner", "customSigner": {"signerName": "example.com/signer", "subject": {"user": "u", "organizationUnits": ["o"]}}},
            {"type": "kubeClient", "kubeClient": {"driver": "token", "subject": {"user": "u", "groups": ["g"]}}},
        ])
    );
    // By the other version.
    let condition = json!({"type": "Available", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = json!({"status": {"conditions": [condition]}});
    let written = admin
        .merge(&format!("{}/status", at("v1beta1", &path)), &status)
        .await;
    written.unwrap().ok();
    let old = read(admin, "v1alpha1", &path).await;
    assert_eq!(old["status"]["kubeClientDriver"], "token");
    assert_eq!(old["status"]["registrations"], registrations);
}

/// The API server converts parts of objects, to find out which fields an apply owns.
async fn parts_are_applied(admin: &Person) {
    let name = fresh("applied");
    let path = definitions(&name);
    let of = |version: &str, spec: Value| {
        object(
            version,
            "ClusterManagementAddOn",
            &name,
            &json!({"spec": spec}),
        )
    };
    let old = of(
        "v1alpha1",
        json!({"supportedConfigs": [{"group": "g", "resource": "r"}], "addOnMeta": {"displayName": "P"}}),
    );
    let applied = admin.apply_as("one", &at("v1alpha1", &path), &old).await;
    applied.unwrap().ok();
    let new = of(
        "v1beta1",
        json!({"defaultConfigs": [{"group": "g", "resource": "s", "name": "d"}]}),
    );
    let applied = admin.apply_as("two", &at("v1beta1", &path), &new).await;
    applied.unwrap().ok();
    // One no longer wants its config: what only one owns goes.
    let old = of("v1alpha1", json!({"addOnMeta": {"displayName": "P"}}));
    let applied = admin.apply_as("one", &at("v1alpha1", &path), &old).await;
    applied.unwrap().ok();
    let new = read(admin, "v1beta1", &path).await;
    assert_eq!(
        new["spec"]["defaultConfigs"],
        json!([{"group": "g", "resource": "s", "name": "d"}])
    );
    assert_eq!(new["spec"]["addOnMeta"]["displayName"], "P");
}

/// What a hub of an older OCM has: one version, without a conversion.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addons_of_an_older_hub_are_read_in_the_new_version() {
    let Some(cluster) = Cluster::start_kubernetes(&[]).await else {
        return say_skipped(
            "only on a real hub (KUBEBUILDER_ASSETS): devhub calls no conversion webhook",
        );
    };
    let admin = cluster.admin().await;
    let mut older = crds::managed_cluster_addon();
    older.spec.versions.truncate(1);
    older.spec.conversion = None;
    let older = serde_json::to_value(older).unwrap();
    cluster.apply(std::slice::from_ref(&older)).await;
    let name = fresh("addon");
    let path = addon("default", &name);
    let old = object("v1alpha1", "ManagedClusterAddOn", &name, &json!({}));
    let created = admin.post(&collection("v1alpha1", &path), &old).await;
    created.unwrap().ok();

    let mut gate = alone();
    install(&cluster, &gate, "v1alpha1").await;
    let new = read(&admin, "v1beta1", &path).await;
    assert_eq!(
        new["metadata"]["annotations"][ADDON_INSTALL_NAMESPACE],
        "open-cluster-management-agent-addon"
    );

    // Without the gate, only the other version fails.
    gate.signal("KILL");
    gate.ended().await;
    let failed = eventually("the conversion fails", async || {
        let answer = admin.get(&at("v1beta1", &path)).await.unwrap();
        when(answer, |it| it.code == 500)
    })
    .await;
    let message = failed.body["message"].as_str().unwrap();
    let begin = "conversion webhook for addon.open-cluster-management.io/v1alpha1, Kind=ManagedClusterAddOn failed: Post ";
    assert!(message.starts_with(begin), "{message}");
    read(&admin, "v1alpha1", &path).await;

    let gate = alone();
    install(&cluster, &gate, "v1alpha1").await;
    eventually("another gate converts", async || {
        let answer = admin.get(&at("v1beta1", &path)).await.unwrap();
        when(answer, |it| it.code == 200)
    })
    .await;
}

/// The CA of a managed certificate, in a CustomResourceDefinition that names the gate; another one keeps its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bundle_of_a_managed_certificate_is_published_in_definitions_that_name_the_gate() {
    let world = World::new().await;
    if !world.hub.only_real("devhub calls no conversion webhook") {
        return;
    }
    let _serving = tokio::join!(world.gate(&[]), world.keeper(&[]));
    world.until_verified().await;
    let at_url = |mut crd: CustomResourceDefinition, url: String, bundle: Option<&str>| {
        let conversion = crd.spec.conversion.as_mut().unwrap();
        conversion.webhook.as_mut().unwrap().client_config = Some(WebhookClientConfig {
            ca_bundle: bundle.map(|it| k8s_openapi::ByteString(it.as_bytes().to_vec())),
            url: Some(url),
            service: None,
        });
        serde_json::to_value(crd).unwrap()
    };
    let port = world.balancer.port;
    let ours = format!("https://{AS_FROM_AFAR}:{port}{CONVERSION_PATH}");
    let others = "https://addons.example.com/convert".to_owned();
    let authority = Authority::new("another", Duration::from_secs(3600), Timestamp::now()).unwrap();
    let bundle = Some(authority.certificate_pem());
    let kinds = [
        at_url(crds::managed_cluster_addon(), ours, None),
        at_url(crds::cluster_management_addon(), others, bundle),
    ];
    world.hub.apply(&kinds).await;
    let bundle_of = async |kind: &Value| {
        let crd = world.get(&path_of(kind)).await;
        let bundle = &crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"];
        let bundle = STANDARD
            .decode(bundle.as_str().unwrap_or_default())
            .unwrap();
        String::from_utf8(bundle).unwrap()
    };
    let ca = world.stored("ca.crt").await;
    eventually("the bundle is published", async || {
        when(bundle_of(&kinds[0]).await, |it| *it == ca)
    })
    .await;
    let name = fresh("managed");
    let path = addon("default", &name);
    let old = object("v1alpha1", "ManagedClusterAddOn", &name, &json!({}));
    let created = world.admin.post(&collection("v1alpha1", &path), &old).await;
    created.unwrap().ok();
    eventually("it is converted", async || {
        let answer = world.admin.get(&at("v1beta1", &path)).await.unwrap();
        when(answer, |it| it.code == 200)
    })
    .await;
    // A bundle that somebody spoilt is mended.
    let spoilt = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": null}}}}});
    let patched = world.admin.merge(&path_of(&kinds[0]), &spoilt).await;
    patched.unwrap().ok();
    eventually("the bundle is mended", async || {
        when(bundle_of(&kinds[0]).await, |it| *it == ca)
    })
    .await;
    assert_eq!(Some(&*bundle_of(&kinds[1]).await), bundle);
    // Another test may use the hub.
    for kind in &kinds {
        let path = path_of(kind);
        world.admin.delete(&path).await.unwrap().ok();
        world.admin.gone(&path).await;
    }
}
