//! `berth init --values`: a hub with the chart's values, and what becomes of it with others.

use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_certs::issue::Authority;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{DEFINITIONS, IMAGE, lines, objects};
use berth_testkit::cluster::{Output, Person};
use berth_testkit::hub_node::{HUB, HubNode};

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const APPROVES: &str = "open-cluster-management:berth-registration:auto-approval";
const KEPT: &str = "/api/v1/namespaces/open-cluster-management-hub/configmaps/berth-values";

/// Files of values.
pub(super) struct Files(TempDir);

impl Files {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn with(&self, name: &str, values: &Value) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, values.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

async fn init(admin: &Person, more: &[&str]) -> Output {
    let mut args = vec!["init", IMAGE, "--no-token", "--wait=false"];
    args.extend(more);
    admin.berth(&args).await
}

async fn code(admin: &Person, path: &str) -> u16 {
    admin.get(path).await.unwrap().code
}

/// The hub runs with the flags that the values are rendered to.
#[tokio::test]
async fn values_are_installed_and_kept_until_others_are_given() {
    let mut node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    let files = Files::new();
    let values = files.with(
        "values.yaml",
        &json!({
            "autoApproval": {"users": ["alice"]},
            "featureGates": {"PlacementScores": true, "DefaultClusterSet": false},
            "gate": {"replicas": 2, "resources": {"limits": {"memory": "300Mi"}}},
            "commonLabels": {"team": "fleet"},
        }),
    );
    init(&admin, &["--values", &values, "--dry-run=server"])
        .await
        .ok();
    let args = ["init", IMAGE, "--no-token", "--values", &values];
    let (output, ()) = tokio::join!(admin.berth(&args), node.runs_the_hub());
    assert!(output.ok().contains("The hub is ready."), "{output:?}");
    let gate = format!("{HUB}/deployments/cluster-manager-registration-webhook");
    let stored = admin.get(&gate).await.unwrap().ok().clone();
    assert_eq!(stored["spec"]["replicas"], 2);
    let container = &stored["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["resources"]["limits"]["memory"], "300Mi");
    let args = json!([
        "webhook-server",
        "--certificate-source=secret",
        "--feature-gates=DefaultClusterSet=false",
    ]);
    assert_eq!(container["args"], args);
    assert_eq!(stored["metadata"]["labels"]["team"], "fleet");
    let role = format!("{ROLES}/{APPROVES}");
    assert_eq!(code(&admin, &role).await, 200);

    // Without --values, and by an upgrade, they stay.
    for args in [
        &["init", IMAGE, "--no-token", "--dry-run=server"][..],
        &["upgrade", IMAGE, "--yes", "--dry-run=server"],
    ] {
        let output = admin.berth(args).await;
        let changed = output.ok().lines().filter(|it| !it.contains(" unchanged"));
        assert_eq!(changed.collect::<Vec<_>>(), [""; 0], "{output:?}");
        assert!(output.ok().contains("configmap/berth-values unchanged"));
    }

    // With others, what only the former ones installed goes.
    let other = files.with("other.yaml", &json!({"gate": {"replicas": 2}}));
    let output = admin
        .berth(&[
            "upgrade",
            IMAGE,
            "--values",
            &other,
            "--yes",
            "--dry-run=server",
        ])
        .await;
    let gone = format!("clusterrole/{APPROVES} deleted");
    assert!(output.ok().contains(&format!("{gone} (server dry run)")));
    assert!(output.stderr.contains(" are deleted"), "{output:?}");
    assert_eq!(code(&admin, &role).await, 200);
    let output = init(&admin, &["--values", &other]).await;
    let said = output.ok();
    assert!(said.contains(&gone), "{output:?}");
    let at = |words: &str| {
        said.find(words)
            .unwrap_or_else(|| panic!("{words}: {said}"))
    };
    assert!(at(&gone) < at("configmap/berth-values configured"));
    assert_eq!(code(&admin, &role).await, 404);
    let stored = admin.get(&gate).await.unwrap().ok().clone();
    let container = &stored["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(
        container["args"],
        json!(["webhook-server", "--certificate-source=secret"])
    );
    assert_eq!(container["resources"]["limits"]["memory"], "512Mi");
    assert!(stored["metadata"]["labels"]["team"].is_null());

    // An empty file: the hub is that of no values.
    let none = files.with("none.yaml", &Value::Null);
    init(&admin, &["--values", &none]).await.ok();
    assert_eq!(code(&admin, KEPT).await, 404);
    let output = init(&admin, &[]).await;
    assert_eq!(lines(&output, " unchanged"), objects(), "{output:?}");

    // And all of it goes with the hub.
    init(&admin, &["--values", &values]).await.ok();
    let output = admin.berth(&["uninstall", "--yes"]).await;
    assert!(
        output.ok().contains("configmap/berth-values deleted"),
        "{output:?}"
    );
    assert!(output.ok().contains(&gone), "{output:?}");
    assert_eq!(code(&admin, &role).await, 404);
}

/// The last wait of the command shows that the API server trusts the gate: it refuses a wrong write.
#[tokio::test]
async fn the_gate_serves_a_certificate_of_somebody_else() {
    let mut node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    let (day, now) = (Duration::from_secs(86_400), jiff::Timestamp::now());
    let authority = Authority::new("our company", day, now).unwrap();
    let name = "cluster-manager-registration-webhook.open-cluster-management-hub.svc";
    let leaf = authority.leaf(&[name], &[], day, now).unwrap();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": "our-certificate", "namespace": "open-cluster-management-hub"},
        "stringData": {"tls.crt": leaf.certificate_pem, "tls.key": leaf.key_pem},
    });
    let namespace = berth_manifests::files::NAMESPACE.documents().remove(0);
    node.cluster.apply(&[namespace, secret]).await;
    let existing = json!({"secretName": "our-certificate", "caBundle": leaf.ca_pem});
    let bundle = BASE64_STANDARD.encode(&leaf.ca_pem);
    let certificates = json!({"source": "existing", "existing": existing});
    let values = Files::new();
    let values = values.with("values.yaml", &json!({ "certificates": certificates }));
    let args = ["init", IMAGE, "--no-token", "--values", &values];
    let (output, ()) = tokio::join!(admin.berth(&args), node.runs_the_hub());
    assert!(output.ok().contains("The hub is ready."), "{output:?}");
    let path = format!("{DEFINITIONS}/managedclusteraddons.addon.open-cluster-management.io");
    let stored = admin.get(&path).await.unwrap().ok().clone();
    let webhook = &stored["spec"]["conversion"]["webhook"];
    assert_eq!(webhook["clientConfig"]["caBundle"], *bundle);
    // The bundle goes with the conversion.
    let output = admin.berth(&["uninstall", "--yes"]).await;
    output.ok();
    let stored = admin.get(&path).await.unwrap().ok().clone();
    assert_eq!(stored["spec"]["conversion"], json!({"strategy": "None"}));
}

/// The registrations go before anything that they need, and come back last.
#[tokio::test]
async fn registrations_can_be_left_out_and_added_later() {
    let node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    let files = Files::new();
    let values = files.with("off.yaml", &json!({"registrations": {"enabled": false}}));
    let output = init(&admin, &["--values", &values]).await;
    assert_eq!(lines(&output, "webhookconfiguration/"), 0, "{output:?}");
    let on = files.with("on.yaml", &json!({"registrations": {"enabled": true}}));
    let output = init(
        &admin,
        &["--values", &values, "--values", &on, "--dry-run=server"],
    )
    .await;
    assert_eq!(lines(&output, "webhookconfiguration/"), 12, "{output:?}");
    init(&admin, &["--values", &on]).await.ok();
    let output = init(&admin, &["--values", &values]).await;
    let said = output.ok();
    assert_eq!(lines(&output, "webhookconfiguration/"), 12, "{output:?}");
    let last_guard = said.rfind("webhookconfiguration/").unwrap();
    let first_deployment = said.find("deployment/").unwrap();
    assert!(last_guard < first_deployment, "{said}");
}

#[tokio::test]
async fn wrong_values_are_named_and_nothing_is_changed() {
    let node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    let files = Files::new();
    for (values, more, words) in [
        (
            json!({"gate": {"replica": 3}}),
            "--wait=false",
            "gate.replica: unknown field `replica`",
        ),
        (
            json!({"mode": "hub"}),
            "--mode=webhooks",
            "mode webhooks contradicts the values, which have mode: hub",
        ),
        (
            json!({"placementApart": true}),
            "--wait=false",
            "placementApart: only with Helm, or kubectl apply -k manifests/overlays/placement-apart",
        ),
        (
            json!({"featureGates": {"ClusterProfile": true}}),
            "--wait=false",
            "featureGates.ClusterProfile lacks the permissions that the gate needs: set clusterProfiles.enabled instead",
        ),
        (
            json!({"console": {"tokens": false}}),
            "--console",
            "console.tokens is false, and there is no other way to sign in",
        ),
        (
            json!({"image": {"tag": "v2"}}),
            "--image=r/berth:v1",
            "--image contradicts the values",
        ),
    ] {
        let file = files.with("values.yaml", &values);
        let mut args = vec!["init", "--values", &file, more];
        args.extend((!more.starts_with("--image")).then_some(IMAGE));
        let output = admin.berth(&args).await;
        assert!(output.failed().contains(words), "{output:?}");
        assert_eq!(code(&admin, super::NAMESPACE).await, 404);
    }
    let output = admin
        .berth(&["init", IMAGE, "--values", "/nowhere.yaml"])
        .await;
    let words = "--values /nowhere.yaml: No such file or directory";
    assert!(output.failed().contains(words), "{output:?}");
}
