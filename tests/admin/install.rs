//! `berth init`, `berth upgrade`, `berth uninstall` and `berth version`: a hub on which nothing is installed, and what a node does with
//! the Deployments.

mod addons;
mod console;
mod faults;
mod purge;
mod values;

use serde_json::{Value, json};

use berth_manifests::{Hub, Mode};

use berth_testkit::cluster::{Output, Person, fresh};
use berth_testkit::hub_node::{HUB, HubNode};
use berth_testkit::{eventually, when};

const IMAGE: &str = "--image=registry.example.com/berth:v1";
const NAMESPACE: &str = "/api/v1/namespaces/open-cluster-management-hub";
const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// How many objects `berth init` installs by default.
fn objects() -> usize {
    Hub::of(Mode::default(), "any").objects().count()
}

async fn count(admin: &Person, path: &str) -> usize {
    let list = admin.get(path).await.unwrap();
    list.ok()["items"].as_array().unwrap().len()
}

#[track_caller]
fn lines(output: &Output, word: &str) -> usize {
    output.ok().lines().filter(|it| it.contains(word)).count()
}

/// Three commands: init, and the two that it prints.
#[tokio::test]
async fn a_hub_is_installed_by_one_command_and_removed_by_one() {
    let mut node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    let output = admin.berth(&["init", IMAGE, "--dry-run=server"]).await;
    assert_eq!(lines(&output, " created (server dry run)"), objects());
    assert_eq!(admin.get(NAMESPACE).await.unwrap().code, 404);

    let output = admin.berth(&["version"]).await;
    assert!(
        output
            .ok()
            .contains("Berth is not installed there: berth init"),
        "{output:?}"
    );

    let (output, ()) = tokio::join!(admin.berth(&["init", IMAGE]), node.runs_the_hub());
    assert_eq!(lines(&output, " created"), objects());
    let said = output.ok();
    let at = |words: &str| {
        said.find(words)
            .unwrap_or_else(|| panic!("{words}: {said}"))
    };
    let registration = "validatingwebhookconfiguration/managedclustervalidators";
    assert!(at("deployment/cluster-manager-registration-webhook is available") < at(registration));
    assert!(at(registration) < at("The hub is ready."));
    assert!(said.contains("\n  berth accept <cluster_name>\n"), "{said}");
    let join = said.lines().find(|it| it.contains("berth join ")).unwrap();
    assert!(
        join.contains(" --image registry.example.com/berth:v1 "),
        "{join}"
    );
    // What runs as the rendered Deployments say decides.
    let wrong = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": {"name": "a.b"},
    });
    let answer = admin.post(CLUSTERS, &wrong).await.unwrap();
    let words = answer.refused(400, "BadRequest");
    assert!(words.contains("denied the request"), "{words}");
    // And accepts: the third command.
    let cluster = fresh("first");
    let right = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": {"name": cluster},
    });
    admin.post(CLUSTERS, &right).await.unwrap().ok();
    let space = format!("/api/v1/namespaces/{cluster}");
    let patch = json!({"spec": {"hubAcceptsClient": true}});
    let path = format!("{CLUSTERS}/{cluster}");
    admin.merge(&path, &patch).await.unwrap().ok();
    eventually("a namespace for the cluster", async || {
        when(admin.get(&space).await.unwrap(), |it| it.code == 200)
    })
    .await;

    let output = admin.berth(&["version"]).await;
    assert!(output.ok().contains("gate         "), "{output:?}");
    let output = admin.berth(&["version", "-o", "json"]).await;
    let versions: Value = serde_json::from_str(output.ok()).unwrap();
    assert_eq!(versions["hub"]["components"][0]["version"], "v1");

    // Again: nothing changes.
    let output = admin.berth(&["init", IMAGE, "--no-token"]).await;
    assert_eq!(lines(&output, " unchanged"), objects(), "{output:?}");
    assert!(
        output
            .stderr
            .contains(&format!("0 objects are new, 0 change, {} stay", objects())),
        "{output:?}"
    );

    let output = admin.berth(&["uninstall", "--dry-run"]).await;
    assert!(output.ok().contains("deleted (dry run)"));
    assert_eq!(admin.get(NAMESPACE).await.unwrap().code, 200);
    let output = admin.berth(&["uninstall", "--yes"]).await;
    let said = output.ok();
    let at = |words: &str| {
        said.find(words)
            .unwrap_or_else(|| panic!("{words}: {said}"))
    };
    assert!(at(registration) < at("deployment/cluster-manager-registration-webhook deleted"));
    assert!(said.contains("These stay: 1 ManagedClusters"), "{said}");
    assert_eq!(count(&admin, WEBHOOKS).await, 0);
    // Without a gate, writes are not refused.
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    admin.merge(&path, &patch).await.unwrap().ok();
    let definition = format!("{DEFINITIONS}/managedclusters.cluster.open-cluster-management.io");
    admin.get(&definition).await.unwrap().ok();
    let output = admin.berth(&["uninstall", "--yes"]).await;
    let words = "Berth is not installed: nothing was removed";
    eventually("a namespace that is gone", async || {
        when(admin.get(NAMESPACE).await.unwrap(), |it| it.code == 404)
    })
    .await;
    assert!(output.ok().contains(words), "{output:?}");
}

#[tokio::test]
async fn what_is_in_the_way_is_named_and_nothing_is_changed() {
    let node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    // A user who may do everything but one thing: each object that lacks a right is named.
    let user = node.cluster.user(&fresh("installer"), &[]).await;
    let everything = berth_testkit::cluster::rule(&["get", "list"], "*", &["*"], &[]);
    node.cluster.grant(&user, &[everything]).await;
    let output = user.berth(&["init", IMAGE]).await;
    let error = output.failed();
    assert!(error.contains("nothing was changed:"), "{error}");
    for words in [
        "\n  customresourcedefinition/managedclusters.cluster.open-cluster-management.io: ",
        "\n  deployment/berth-registration-controller: you may not create deployments in namespace open-cluster-management-hub",
        "\n  clusterrole/open-cluster-management:berth-registration:controller: ",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert_eq!(admin.get(NAMESPACE).await.unwrap().code, 404);

    // A build that is no release has no image.
    let output = admin.berth(&["init"]).await;
    assert!(
        output
            .failed()
            .contains("this build of berth is no release"),
        "{output:?}"
    );
    let output = admin.berth(&["upgrade", "--yes", IMAGE]).await;
    assert!(
        output
            .failed()
            .contains("Berth is not installed on the hub at "),
        "{output:?}"
    );
    // A real server has policies, and this would install them.
    if !node.cluster.is_real() {
        let output = admin.berth(&["init", IMAGE, "--mode", "policies"]).await;
        assert!(
            output
                .failed()
                .contains("--mode policies needs Kubernetes 1.36"),
            "{output:?}"
        );
    }
    let output = admin.berth(&["upgrade", IMAGE]).await;
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("add --yes"), "{output:?}");
}

#[tokio::test]
async fn a_wait_says_what_it_waits_for_and_an_interrupted_installation_goes_on() {
    let mut node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    let output = admin.berth(&["init", IMAGE, "--timeout=1s"]).await;
    let error = output.failed();
    assert!(
        error.contains("deployment/berth-registration-controller: timed out after 1s, waiting: "),
        "{error}"
    );
    // The registrations are not there: nothing would answer them.
    assert_eq!(count(&admin, WEBHOOKS).await, 0);
    let args = ["init", IMAGE, "--no-token"];
    let (output, ()) = tokio::join!(admin.berth(&args), node.runs_the_hub());
    assert!(output.ok().contains("The hub is ready."), "{output:?}");
}

#[tokio::test]
async fn an_upgrade_keeps_what_was_set_and_shows_what_changes() {
    let mut node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    let args = ["init", IMAGE, "--no-token"];
    let (output, ()) = tokio::join!(admin.berth(&args), node.runs_the_hub());
    output.ok();
    let gate = format!("{HUB}/deployments/cluster-manager-registration-webhook");
    let stored = admin.get(&gate).await.unwrap().ok().clone();
    let mut args: Value = stored["spec"]["template"]["spec"]["containers"][0]["args"].clone();
    args.as_array_mut()
        .unwrap()
        .push(json!("--feature-gates=DefaultClusterSet=false"));
    let patch = json!([
        {"op": "replace", "path": "/spec/template/spec/containers/0/args", "value": args},
        {"op": "replace", "path": "/spec/replicas", "value": 5},
    ]);
    let patched = admin.send(
        http::Method::PATCH,
        &gate,
        "application/json-patch+json",
        patch.to_string(),
    );
    patched.await.unwrap().ok();
    node.reports().await;
    let new = "--image=registry.example.com/berth:v2";
    let output = admin.berth(&["upgrade", new, "--dry-run=server"]).await;
    let words = "deployment/cluster-manager-registration-webhook configured (spec.template.spec.containers[0].image) (server dry run)";
    assert!(output.ok().contains(words), "{output:?}");
    let note = "Note: deployment/cluster-manager-registration-webhook keeps what was set there: replicas, args";
    assert!(output.stderr.contains(note), "{output:?}");
    assert_eq!(lines(&output, " configured "), 2, "{output:?}");

    let upgrade = ["upgrade", new, "--yes"];
    let (output, ()) = tokio::join!(admin.berth(&upgrade), node.reports_until("v2"));
    assert!(
        output
            .ok()
            .contains("The hub runs registry.example.com/berth:v2."),
        "{output:?}"
    );
    // Once more: what was set is still not taken for ours.
    let again = admin.berth(&["upgrade", new, "--yes"]).await;
    assert!(again.stderr.contains(note), "{again:?}");
    let stored = admin.get(&gate).await.unwrap().ok().clone();
    assert_eq!(stored["spec"]["replicas"], 5);
    assert_eq!(
        stored["spec"]["template"]["spec"]["containers"][0]["args"],
        args
    );
}

#[tokio::test]
async fn a_newer_definition_stays_and_manifests_are_printed_without_a_hub() {
    let node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    let mut newer = berth_manifests::files::CRD_SETS.documents().remove(0);
    let schema = &mut newer["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["status"]["properties"]["phase"] = json!({"type": "string"});
    node.cluster.apply(&[newer]).await;
    let output = admin.berth(&["init", IMAGE, "--dry-run=server"]).await;
    let words = "customresourcedefinition/managedclustersets.cluster.open-cluster-management.io unchanged (it is newer, and also has \
                 status.phase) (server dry run)";
    assert!(output.ok().contains(words), "{output:?}");

    let command = berth_testkit::berth(&["init", IMAGE, "--output-manifests", "--mode", "hub"]);
    let output = berth_testkit::cluster::finish(command, "").await;
    let objects: Vec<Value> = serde_saphyr::from_multiple(output.ok()).unwrap();
    let hub = Hub::of(Mode::Hub, "any");
    assert_eq!(objects.len(), hub.objects().count());
}

#[tokio::test]
async fn a_managed_cluster_is_noticed() {
    let node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "open-cluster-management-agent"},
    });
    node.cluster.apply(&[namespace]).await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "hub-kubeconfig-secret", "namespace": "open-cluster-management-agent"},
        "stringData": {"cluster-name": "c1"},
    });
    let secrets = "/api/v1/namespaces/open-cluster-management-agent/secrets";
    let put = admin.post(secrets, &secret).await.unwrap();
    assert!([201, 409].contains(&put.code), "{put:?}");
    if admin.get(CLUSTERS).await.unwrap().code == 200 {
        // Another test has made it a hub.
        return;
    }
    let output = admin.berth(&["init", IMAGE]).await;
    let words = "an agent runs here: this is a managed cluster (name on its hub: c1), not a hub";
    assert!(output.failed().contains(words), "{output:?}");
    let output = admin
        .berth(&["init", IMAGE, "--on-managed-cluster", "--dry-run=server"])
        .await;
    output.ok();
}
