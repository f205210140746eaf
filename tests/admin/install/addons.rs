//! The definitions of add-ons whose objects the gate converts: after it answers, over those of OCM, and without it.

use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_certs::issue::Authority;
use berth_manifests::files::ADDON_CRDS;
use berth_manifests::{Manifest, is_converted};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{DEFINITIONS, IMAGE};
use berth_testkit::cluster::{Person, path_of};
use berth_testkit::hub_node::HubNode;
use berth_testkit::{eventually, when};

const GROUP: &str = "addon.open-cluster-management.io";
const ADDON: &str = "namespaces/default/managedclusteraddons";
const KINDS: [&str; 2] = ["clustermanagementaddons", "managedclusteraddons"];
const INSTALL_NAMESPACE: &str = "addon.open-cluster-management.io/v1alpha1-install-namespace";
/// The field manager of OCM's operator.
const OCM: &str = "registration-operator";

fn converted() -> Vec<Value> {
    let all = ADDON_CRDS.iter().flat_map(Manifest::documents);
    all.filter(is_converted).collect()
}

async fn definition(admin: &Person, plural: &str) -> Value {
    let path = format!("{DEFINITIONS}/{plural}.{GROUP}");
    admin.get(&path).await.unwrap().ok().clone()
}

/// Name, served, stored.
fn versions(definition: &Value) -> Vec<(&str, bool, bool)> {
    let versions = definition["spec"]["versions"].as_array().unwrap();
    let of = |it: &'_ Value| (it["served"] == true, it["storage"] == true);
    versions
        .iter()
        .map(|it| {
            let (served, stored) = of(it);
            (it["name"].as_str().unwrap(), served, stored)
        })
        .collect()
}

fn service(definition: &Value) -> &Value {
    &definition["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["name"]
}

fn addon(version: &str, name: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{version}"), "kind": "ManagedClusterAddOn",
        "metadata": {"name": name, "namespace": "default"}, "spec": {},
    })
}

fn path(version: &str, name: &str) -> String {
    format!("/apis/{GROUP}/{version}/{ADDON}/{name}")
}

async fn create(admin: &Person, version: &str, name: &str) {
    let path = format!("/apis/{GROUP}/{version}/{ADDON}");
    let created = admin.post(&path, &addon(version, name)).await.unwrap();
    created.ok();
}

/// Both versions are read and written, where the hub converts: devhub serves only the stored one.
async fn both_versions_are_served(node: &HubNode, name: &str) {
    let admin = &node.admin;
    if !node.cluster.is_real() {
        let other = admin.get(&path("v1beta1", name)).await.unwrap();
        assert_eq!(other.code, 404, "{other:?}");
        return;
    }
    let new = admin.get(&path("v1beta1", name)).await.unwrap();
    assert_eq!(
        new.ok()["metadata"]["annotations"][INSTALL_NAMESPACE],
        "open-cluster-management-agent-addon"
    );
    let name = format!("{name}-in-v1beta1");
    create(admin, "v1beta1", &name).await;
    let old = admin.get(&path("v1alpha1", &name)).await.unwrap();
    assert_eq!(old.ok()["metadata"]["name"], *name);
}

#[tokio::test]
async fn the_gate_converts_add_ons_while_it_runs() {
    let mut node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    let (output, ()) = tokio::join!(
        admin.berth(&["init", IMAGE, "--no-token"]),
        node.runs_the_hub()
    );
    let said = output.ok();
    let at = |words: &str| {
        said.find(words)
            .unwrap_or_else(|| panic!("{words}: {said}"))
    };
    let gate = at("deployment/cluster-manager-registration-webhook is available");
    for plural in KINDS {
        let line = format!("customresourcedefinition/{plural}.{GROUP} created");
        assert!(gate < at(&line) && at(&line) < at("The hub is ready."));
        let stored = definition(&admin, plural).await;
        let bundle = &stored["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"];
        assert!(!bundle.as_str().unwrap_or_default().is_empty(), "{plural}");
    }
    assert!(
        at("customresourcedefinition/addontemplates.") < gate,
        "nothing is converted there: {said}"
    );
    create(&admin, "v1alpha1", "proxy").await;
    both_versions_are_served(&node, "proxy").await;

    // Without the gate, the API server could not read v1beta1.
    let output = admin.berth(&["uninstall", "--dry-run=server"]).await;
    let line = format!(
        "customresourcedefinition/managedclusteraddons.{GROUP} configured (without the gate, only v1alpha1 is served)"
    );
    assert!(
        output.ok().contains(&format!("{line} (server dry run)\n")),
        "{output:?}"
    );
    let stored = definition(&admin, KINDS[1]).await;
    assert_eq!(service(&stored), "cluster-manager-registration-webhook");
    let output = admin.berth(&["uninstall", "--yes"]).await;
    let said = output.ok();
    let deleted = said.find("deployment/").unwrap();
    assert!(said.find(&format!("{line}\n")).unwrap() < deleted, "{said}");
    for plural in KINDS {
        let stored = definition(&admin, plural).await;
        assert_eq!(stored["spec"]["conversion"], json!({"strategy": "None"}));
        assert_eq!(
            versions(&stored),
            [("v1alpha1", true, true), ("v1beta1", false, false)]
        );
    }
    eventually("the other version is not served", async || {
        let answer = admin.get(&path("v1beta1", "proxy")).await.unwrap();
        when((), |()| answer.code == 404)
    })
    .await;
    admin.get(&path("v1alpha1", "proxy")).await.unwrap().ok();

    // Again: the definitions get their conversion back, although a patch of this program has changed them since.
    eventually("the namespace is gone", async || {
        when(admin.get(super::NAMESPACE).await.unwrap(), |it| {
            it.code == 404
        })
    })
    .await;
    let again = ["init", IMAGE, "--no-token", "--wait=false"];
    let output = admin.berth(&again).await;
    assert!(
        output.ok().contains(&format!(
            "customresourcedefinition/managedclusteraddons.{GROUP} configured ("
        )),
        "{output:?}"
    );
    let stored = definition(&admin, KINDS[1]).await;
    assert_eq!(service(&stored), "cluster-manager-registration-webhook");
    assert_eq!(
        versions(&stored),
        [("v1alpha1", true, true), ("v1beta1", true, false)]
    );
}

/// As OCM's operator installs them: other fields of the conversion, and a CA that has not signed the gate's certificate. One is stored in
/// the newer version.
#[tokio::test]
async fn definitions_of_ocm_are_taken_over_with_their_stored_version() {
    let mut node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    let other = Authority::new("OCM", Duration::from_secs(3600), Timestamp::now()).unwrap();
    let bundle = json!(BASE64_STANDARD.encode(other.certificate_pem()));
    for mut of_ocm in converted() {
        let config = &mut of_ocm["spec"]["conversion"]["webhook"]["clientConfig"];
        config["service"]["name"] = json!("cluster-manager-addon-webhook");
        config["caBundle"] = bundle.clone();
        let newer = of_ocm["spec"]["names"]["kind"] == "ClusterManagementAddOn";
        if newer {
            for version in of_ocm["spec"]["versions"].as_array_mut().unwrap() {
                version["storage"] = json!(version["name"] == "v1beta1");
            }
        }
        let path = path_of(&of_ocm);
        admin.apply_as(OCM, &path, &of_ocm).await.unwrap().ok();
    }
    eventually("the kind is served", async || {
        let list = format!("/apis/{GROUP}/v1alpha1/{ADDON}");
        when(admin.get(&list).await.unwrap(), |it| it.code == 200)
    })
    .await;
    create(&admin, "v1alpha1", "proxy").await;

    let output = admin.berth(&["init", IMAGE, "--dry-run=server"]).await;
    let error = output.failed();
    let words = format!("customresourcedefinition/managedclusteraddons.{GROUP}: ");
    assert!(
        error.contains(&words)
            && error.contains(OCM)
            && error.contains("--force-conflicts takes these fields over"),
        "{error}"
    );
    let force = ["init", IMAGE, "--no-token", "--force-conflicts"];
    let (output, ()) = tokio::join!(admin.berth(&force), node.runs_the_hub());
    let line = format!(
        "customresourcedefinition/managedclusteraddons.{GROUP} configured (spec.conversion.webhook.clientConfig.service.name)"
    );
    assert!(output.ok().contains(&line), "{output:?}");
    let newer = definition(&admin, KINDS[0]).await;
    assert_eq!(
        versions(&newer),
        [("v1alpha1", true, false), ("v1beta1", true, true)]
    );
    assert_eq!(newer["status"]["storedVersions"], json!(["v1beta1"]));
    for plural in KINDS {
        let stored = definition(&admin, plural).await;
        assert_eq!(service(&stored), "cluster-manager-registration-webhook");
    }
    // The controller replaces OCM's CA, or adds its own.
    let trusted = |stored: &Value| {
        stored["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] != bundle
    };
    eventually("the CA of the gate", async || {
        when(definition(&admin, KINDS[1]).await, trusted)
    })
    .await;
    both_versions_are_served(&node, "proxy").await;
    // Again: nothing changes.
    let output = admin.berth(&["init", IMAGE, "--no-token"]).await;
    assert!(
        output.stderr.contains("0 objects are new, 0 change"),
        "{output:?}"
    );
}
