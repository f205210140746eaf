//! `berth uninstall --purge`: the fleet goes, once the user has typed the name of the hub.

use http::Method;
use serde_json::json;

use super::{CLUSTERS, DEFINITIONS, IMAGE, NAMESPACE, WEBHOOKS, count};
use crate::terminal::at_a_terminal;
use berth_testkit::cluster::{Person, fresh};
use berth_testkit::hub_node::{HUB, HubNode};
use berth_testkit::{eventually, when};

/// The name of the hub: the cluster in the kubeconfigs of the tests.
const NAME: &str = "hub";
const WORKS: &str = "/apis/work.open-cluster-management.io/v1/namespaces";
const PLACEMENTS: &str = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces";
/// The finalizer of the work agent.
const FINALIZER: &str = "cluster.open-cluster-management.io/manifest-work-cleanup";
const BOOTSTRAP: &str =
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:bootstrap";
const PURGE: [&str; 4] = ["uninstall", "--purge", "--confirm", NAME];

async fn definitions(admin: &Person) -> usize {
    let list = admin.get(DEFINITIONS).await.unwrap();
    let all = list.ok()["items"].as_array().unwrap();
    let is_ours = |name: &str| name.contains("open-cluster-management.io");
    all.iter()
        .filter(|it| is_ours(it["metadata"]["name"].as_str().unwrap()))
        .count()
}

/// An accepted cluster with a ManifestWork, whose agent is gone.
async fn silent_cluster(admin: &Person) -> String {
    let cluster = fresh("purged");
    let object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": cluster}, "spec": {"hubAcceptsClient": true},
    });
    admin.post(CLUSTERS, &object).await.unwrap().ok();
    let space = format!("/api/v1/namespaces/{cluster}");
    eventually("a namespace for the cluster", async || {
        when(admin.get(&space).await.unwrap(), |it| it.code == 200)
    })
    .await;
    let work = json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {
            "name": "web", "namespace": cluster,
            "finalizers": [FINALIZER],
        },
        "spec": {"workload": {"manifests": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}},
        ]}},
    });
    let works = format!("{WORKS}/{cluster}/manifestworks");
    admin.post(&works, &work).await.unwrap().ok();
    cluster
}

/// A node that runs the hub, and an admin of it.
async fn installed() -> (HubNode, Person) {
    let mut node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    let args = ["init", IMAGE];
    let (output, ()) = tokio::join!(admin.berth(&args), node.runs_the_hub());
    output.ok();
    (node, admin)
}

#[tokio::test]
async fn a_purge_deletes_the_fleet_before_its_controllers() {
    let (_node, admin) = installed().await;
    let cluster = silent_cluster(&admin).await;
    let path = format!("{CLUSTERS}/{cluster}");
    let untouched = async || {
        let stored = admin.get(&path).await.unwrap();
        assert!(
            stored.ok()["metadata"]["deletionTimestamp"].is_null(),
            "{stored:?}"
        );
        admin.get(BOOTSTRAP).await.unwrap().ok();
        assert!(count(&admin, WEBHOOKS).await > 0);
    };

    // Without the exact name nothing happens, and the error says which name it is.
    for (args, words) in [
        (&["--purge"][..], "add --confirm \"hub\""),
        (&["--purge", "--yes"], "add --confirm \"hub\""),
        (
            &["--purge", "--confirm", "Hub"],
            "--confirm \"Hub\" is not the name of this hub; to delete all of it, use --confirm \"hub\"",
        ),
        (
            &["--yes", "--confirm", "hub"],
            "required arguments were not provided",
        ),
    ] {
        let output = admin.berth(&[&["uninstall"], args].concat()).await;
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains(words), "{output:?}");
        untouched().await;
    }
    for (dry_run, suffix) in [
        ("--dry-run=client", "(dry run)"),
        ("--dry-run=server", "(server dry run)"),
    ] {
        let output = admin.berth(&["uninstall", "--purge", dry_run]).await;
        let said = output.ok();
        for deleted in [
            "clusterrole/open-cluster-management:bootstrap".to_owned(),
            format!("managedcluster/{cluster}"),
            format!("manifestwork/web in namespace {cluster}"),
            "deployment/berth-registration-controller".to_owned(),
            "customresourcedefinition/manifestworks.work.open-cluster-management.io".to_owned(),
        ] {
            let line = format!("{deleted} deleted {suffix}\n");
            assert!(said.contains(&line), "{line}: {said}");
        }
        untouched().await;
    }

    // The agent is gone: its finalizer stays, and so do the controllers.
    let output = admin
        .berth(&[&PURGE[..], &["--timeout", "3s"]].concat())
        .await;
    let error = output.failed();
    for words in [
        "timed out after 3s; these objects are left:".to_owned(),
        format!("managedcluster/{cluster} is being deleted since "),
        format!("manifestwork/web in namespace {cluster} is being deleted since "),
        ", and waits for: cluster.open-cluster-management.io/manifest-work-cleanup\n".to_owned(),
        "run the command again".to_owned(),
    ] {
        assert!(error.contains(&words), "{words}: {error}");
    }
    assert_eq!(admin.get(BOOTSTRAP).await.unwrap().code, 404);
    let controller = format!("{HUB}/deployments/berth-registration-controller");
    admin.get(&controller).await.unwrap().ok();
    assert!(count(&admin, WEBHOOKS).await > 0);

    // An admin removes it while the command waits.
    let work = format!("{WORKS}/{cluster}/manifestworks/web");
    let patch = json!({"metadata": {"finalizers": null}});
    let released = async || admin.merge(&work, &patch).await.unwrap().ok().clone();
    let (output, _) = tokio::join!(admin.berth(&PURGE), released());
    let said = output.ok();
    let at = |words: &str| {
        said.find(words)
            .unwrap_or_else(|| panic!("{words}: {said}"))
    };
    let registration = at("validatingwebhookconfiguration/managedclustervalidators");
    let deployment = at("deployment/berth-registration-controller deleted");
    let definition =
        at("customresourcedefinition/managedclusters.cluster.open-cluster-management.io deleted");
    // While the gate converts add-ons.
    let converted = at(
        "customresourcedefinition/managedclusteraddons.addon.open-cluster-management.io deleted",
    );
    assert!(
        converted < registration && registration < deployment && deployment < definition,
        "{said}"
    );
    assert!(
        said.contains("These stay: the namespaces of the clusters"),
        "{said}"
    );
    assert_eq!(definitions(&admin).await, 0);
    assert_eq!(admin.get(&controller).await.unwrap().code, 404);
    admin
        .get(&format!("/api/v1/namespaces/{cluster}"))
        .await
        .unwrap()
        .ok();
    eventually("a namespace that is gone", async || {
        when(admin.get(NAMESPACE).await.unwrap(), |it| it.code == 404)
    })
    .await;
    let output = admin.berth(&PURGE).await;
    let words = "Neither Berth nor a fleet is there: nothing was removed";
    assert!(output.ok().contains(words), "{output:?}");
}

/// An installation that was interrupted, or an ordinary `uninstall`: what the controller has to end would wait for ever.
#[tokio::test]
async fn a_purge_needs_a_controller_for_what_only_it_can_end() {
    let node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    admin.berth(&["init", IMAGE, "--timeout=1s"]).await.failed();
    let cluster = fresh("held");
    let object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": cluster, "finalizers": ["cluster.open-cluster-management.io/api-resource-cleanup"]},
    });
    admin.post(CLUSTERS, &object).await.unwrap().ok();
    let output = admin.berth(&PURGE).await;
    let error = output.failed();
    assert!(
        error.contains("no controller of Berth is available on this hub, and 1 ManagedClusters"),
        "{error}"
    );
    let path = format!("{CLUSTERS}/{cluster}");
    let stored = admin.get(&path).await.unwrap();
    assert!(
        stored.ok()["metadata"]["deletionTimestamp"].is_null(),
        "{stored:?}"
    );
    let patch = json!([{"op": "remove", "path": "/metadata/finalizers"}]);
    let json_patch = "application/json-patch+json";
    let released = admin.send(Method::PATCH, &path, json_patch, patch.to_string());
    released.await.unwrap().ok();

    // At a terminal the user sees what will be lost, and types the name.
    let command = || admin.berth_command(&["uninstall", "--purge"]);
    for typed in ["y\n", "Hub\n", "hub \n", "\n"] {
        let (seen, code) = at_a_terminal(command(), 120, typed).await;
        assert_eq!(code, 2, "{seen}");
        assert!(seen.contains("  1 ManagedClusters\r\n"), "{seen}");
        assert!(
            seen.contains("Error: that is not \"hub\". Nothing was changed."),
            "{seen}"
        );
        admin.get(&path).await.unwrap().ok();
    }
    let (seen, code) = at_a_terminal(command(), 120, "hub\n").await;
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("Type the name of the hub (hub): "), "{seen}");
    assert_eq!(definitions(&admin).await, 0);
}

/// A namespace with a placement of `cluster`, and a ManifestWorkReplicaSet of it, which has deployed to this cluster.
async fn replica_set(admin: &Person, cluster: &str) -> String {
    let space = fresh("team");
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}});
    admin
        .post("/api/v1/namespaces", &object)
        .await
        .unwrap()
        .ok();
    let clusters = "/apis/cluster.open-cluster-management.io/v1beta2/namespaces";
    let binding = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
        "metadata": {"name": "default"}, "spec": {"clusterSet": "default"},
    });
    let bindings = format!("{clusters}/{space}/managedclustersetbindings");
    admin.post(&bindings, &binding).await.unwrap().ok();
    // The cluster has no agent, and so a taint.
    let placement = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "app"}, "spec": {"tolerations": [{"operator": "Exists"}]},
    });
    let placements = format!("{PLACEMENTS}/{space}/placements");
    admin.post(&placements, &placement).await.unwrap().ok();
    let set = json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": "spread"},
        "spec": {"placementRefs": [{"name": "app"}], "manifestWorkTemplate": {"workload": {"manifests": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "default"}},
        ]}}},
    });
    admin.post(&sets(&space), &set).await.unwrap().ok();
    let work = format!("{WORKS}/{cluster}/manifestworks/spread");
    eventually("a ManifestWork of the replica set", async || {
        when(admin.get(&work).await.unwrap(), |it| it.code == 200)
    })
    .await;
    // The agent had taken it over, and is gone.
    let patch = json!({"metadata": {"finalizers": [FINALIZER]}});
    admin.merge(&work, &patch).await.unwrap().ok();
    space
}

fn sets(space: &str) -> String {
    format!(
        "/apis/work.open-cluster-management.io/v1alpha1/namespaces/{space}/manifestworkreplicasets"
    )
}

#[tokio::test]
async fn a_purge_ends_replica_sets_with_their_works_before_their_controller() {
    let (_node, admin) = installed().await;
    let cluster = silent_cluster(&admin).await;
    let space = replica_set(&admin, &cluster).await;
    let line = format!("manifestworkreplicaset/spread in namespace {space} deleted");

    let output = admin
        .berth(&[&PURGE[..], &["--timeout", "3s"]].concat())
        .await;
    assert!(output.stdout.contains(&line), "{output:?}");
    let error = output.failed();
    // The set has ended. The ManifestWork that it made waits for the agent, and is not made anew.
    let words = format!("manifestwork/spread in namespace {cluster} is being deleted since ");
    assert!(error.contains(&words), "{words}: {error}");
    let set = format!("{}/spread", sets(&space));
    assert_eq!(admin.get(&set).await.unwrap().code, 404);

    for work in ["web", "spread"] {
        let path = format!("{WORKS}/{cluster}/manifestworks/{work}");
        let patch = json!({"metadata": {"finalizers": null}});
        admin.merge(&path, &patch).await.unwrap().ok();
    }
    admin.berth(&PURGE).await.ok();
    assert_eq!(definitions(&admin).await, 0);
    assert_eq!(admin.get(&set).await.unwrap().code, 404);
}

/// The finalizer of a backup tool, at the step of the definitions: Berth is removed by then.
#[tokio::test]
async fn a_purge_names_foreign_finalizers_and_removes_none() {
    let node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    admin.berth(&["init", IMAGE, "--timeout=1s"]).await.failed();
    let path = format!("{PLACEMENTS}/default/placements");
    let placement = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "kept", "finalizers": ["example.com/backup"]}, "spec": {},
    });
    admin.post(&path, &placement).await.unwrap().ok();
    let path = format!("{path}/kept");
    let output = admin
        .berth(&[&PURGE[..], &["--timeout", "3s"]].concat())
        .await;
    let error = output.failed();
    for words in [
        "timed out after 3s; these objects are left:\n  placement/kept in namespace default is being deleted since ",
        ", and waits for: example.com/backup\n",
        "customresourcedefinition/placements.cluster.open-cluster-management.io waits for them. Berth is removed from this hub.",
        "then run the command again",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
    let stored = admin.get(&path).await.unwrap();
    let metadata = &stored.ok()["metadata"];
    assert_eq!(metadata["finalizers"], json!(["example.com/backup"]));
    assert!(metadata["deletionTimestamp"].is_string(), "{metadata}");

    let patch = json!({"metadata": {"finalizers": null}});
    admin.merge(&path, &patch).await.unwrap().ok();
    admin.berth(&PURGE).await.ok();
    assert_eq!(definitions(&admin).await, 0);
}
