//! ManifestWorks under the permissions that `berth join` installed, and no others.

use std::path::Path;

use berth_manifests::{Manifest, files};
use berth_testkit::cluster::Person;
use berth_testkit::cluster::janitor::Watched;
use berth_testkit::process::get_with;
use berth_testkit::shipped::token_in;
use berth_testkit::{Logged, berth, eventually, port, when};
use serde_json::{Value, json};

use crate::house::House;
use crate::join::{Managed, NAMESPACE};

const NAME: &str = "of-all-kinds";

/// An object of each kind that the shipped roles allow, written in each way: replaced, applied, and created by the API server's rules.
fn objects(cluster: &str) -> Vec<Value> {
    let labels = json!({"app": cluster});
    let container = json!({"name": "a", "image": "registry.example.com/a"});
    let group = format!("{cluster}.example.com");
    let rules = json!([{"apiGroups": [group], "resources": ["widgets"], "verbs": ["get"]}]);
    vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cluster}}),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "settings", "namespace": cluster}, "data": {"a": "b"},
        }),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "namespace": cluster},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        }),
        // Permissions that the agent does not have itself.
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": format!("{cluster}:widgets")}, "rules": rules,
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": format!("{cluster}:widgets")},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                "name": format!("{cluster}:widgets"),
            },
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": cluster}],
        }),
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("widgets.{group}")},
            "spec": {
                "group": group, "scope": "Cluster",
                "names": {"kind": "Widget", "plural": "widgets"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }],
            },
        }),
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": {"name": "w"},
        }),
    ]
}

/// A user's role for the kind of their own.
fn role(cluster: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {
            "name": format!("works-with-widgets-{cluster}"),
            "labels": {"open-cluster-management.io/aggregate-to-work": "true"},
        },
        "rules": [{
            "apiGroups": [format!("{cluster}.example.com")],
            "resources": ["widgets"],
            "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
        }],
    })
}

/// Carries out a ManifestWork of a cluster that has joined, and its deletion. `account`: that of the agent.
pub(super) async fn are_carried_out(
    house: &House<&'static berth_testkit::cluster::Cluster>,
    managed: &Managed,
    account: &Person,
    hub_files: &Path,
    cluster: &str,
) {
    let definitions = files::WORK_CRDS.map(|it: Manifest| it.path);
    house.cluster.apply_manifests(&definitions).await;
    let mut command = berth(&["work", "agent", "--log-format", "json"]);
    // With the Lease, which takes a permission, too.
    command
        .args(["--kubeconfig", account.kubeconfig.to_str().unwrap()])
        .args(["--hub-kubeconfig-dir", hub_files.to_str().unwrap()])
        .args(["--spoke-cluster-name", cluster])
        .args(["--namespace", "open-cluster-management-agent"])
        .args(["--listen", "127.0.0.1:auto"]);
    let mut agent = Logged::start(command);
    let _watched = Watched::new(&agent.child);
    let serving = agent.logged(|line| line["message"] == "serving");
    let port = port(&serving["agent"]);

    managed.put(&role(cluster)).await;
    let works =
        format!("/apis/work.open-cluster-management.io/v1/namespaces/{cluster}/manifestworks");
    let work = json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {"name": NAME},
        "spec": {"workload": {"manifests": objects(cluster)}},
    });
    house.admin.post(&works, &work).await.unwrap().ok();
    let path = format!("{works}/{NAME}");
    eventually("a ManifestWork that is applied", async || {
        let work = house.admin.get(&path).await.unwrap().ok().clone();
        let conditions = work["status"]["conditions"].as_array();
        let is = |type_: &str| {
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|it| it["type"] == type_ && it["status"] == "True")
        };
        let is_there = is("Applied") && is("Available");
        when(work.clone(), |_| is_there)
    })
    .await;
    let lease = format!(
        "{}/leases/work-agent-lock",
        NAMESPACE.replace("/api/v1", "/apis/coordination.k8s.io/v1")
    );
    managed.admin.get(&lease).await.unwrap().ok();
    // What is changed by hand is put back: with the right to replace, and with the right to apply.
    let map = format!("/api/v1/namespaces/{cluster}/configmaps/settings");
    let changed = json!({"data": {"a": "c"}});
    managed.admin.merge(&map, &changed).await.unwrap().ok();
    eventually("a ConfigMap that was put back", async || {
        let map = managed.admin.get(&map).await.unwrap();
        when(map, |it| it.body["data"]["a"] == "b")
    })
    .await;
    is_held_back(house, managed, &path, &map, port).await;
    house.admin.delete(&path).await.unwrap().ok();
    eventually("a ManifestWork that is gone", async || {
        when(house.admin.get(&path).await.unwrap(), |it| it.code == 404)
    })
    .await;
    for line in agent.log() {
        let line = line.to_string();
        let lacks = line.contains("forbidden") && line.contains(&account.user);
        // Before Kubernetes has added the user's role.
        assert!(
            !lacks || line.contains("widgets"),
            "the agent lacks a permission: {line}"
        );
    }
}

/// An admin of the cluster holds the work back, and releases it.
async fn is_held_back(
    house: &House<&'static berth_testkit::cluster::Cluster>,
    managed: &Managed,
    path: &str,
    map: &str,
    port: u16,
) {
    let list = "/apis/work.open-cluster-management.io/v1/appliedmanifestworks";
    let list = managed.admin.get(list).await.unwrap().ok().clone();
    let mut applied = list["items"].as_array().unwrap().iter();
    let applied = applied.find(|it| it["spec"]["manifestWorkName"] == NAME);
    let applied = applied.unwrap()["metadata"]["name"].as_str().unwrap();
    let title = format!("appliedmanifestwork.work.open-cluster-management.io/{applied}");

    let output = managed.types("berth work hold nothing").await;
    let words = "Error: nothing: this cluster has applied no ManifestWork of this name; for the names: kubectl get appliedmanifestworks\n";
    assert_eq!(output.failed(), words);
    for dry_run in ["client", "server"] {
        let line = format!("berth work hold {NAME} --dry-run={dry_run} -o name");
        assert_eq!(managed.types(&line).await.ok(), format!("{title}\n"));
    }
    let output = managed.types("berth work release --all").await;
    let free = format!("{title} not held\n");
    assert!(output.ok().contains(&free), "no dry run holds: {output:?}");
    let line = format!("berth work hold {NAME} {applied}");
    let held = format!("{title} held (changes)\n");
    assert_eq!(managed.types(&line).await.ok(), held, "each once");
    let output = managed.types(&format!("berth work hold {applied}")).await;
    assert_eq!(output.ok(), format!("{title} already held (changes)\n"));
    let says = async |words: &str| {
        let is = |work: &Value| {
            let conditions = work["status"]["conditions"].as_array();
            let held = conditions.into_iter().flatten();
            let mut held = held.filter(|it| it["type"] == "Held" && it["reason"] == "ChangesHeld");
            held.any(|it| it["message"].to_string().contains(words))
        };
        eventually(words, async || {
            let work = house.admin.get(path).await.unwrap().ok().clone();
            when(work, is)
        })
        .await;
    };
    says("objects are put back to these manifests").await;
    assert_eq!(held_works(managed, port).await, "1");
    let status = managed.types("berth agent status").await;
    let row = status
        .stdout
        .lines()
        .find(|it| it.starts_with("Held works:"));
    let row = row.unwrap_or_default();
    let words = [
        format!("{NAME} (changes, "),
        format!(" ago, by field manager berth), appliedmanifestwork/{applied}"),
    ];
    assert!(words.iter().all(|it| row.contains(it)), "{status:?}");

    let mut work = house.admin.get(path).await.unwrap().ok().clone();
    let manifests = work["spec"]["workload"]["manifests"]
        .as_array_mut()
        .unwrap();
    let settings = manifests.iter_mut();
    let mut settings = settings.filter(|it| it["metadata"]["name"] == "settings");
    settings.next().unwrap()["data"]["a"] = json!("changed");
    let changed = json!({"spec": {"workload": {"manifests": manifests}}});
    house.admin.merge(path, &changed).await.unwrap().ok();
    says("the ManifestWork has changed since").await;
    let stored = managed.admin.get(map).await.unwrap().ok().clone();
    assert_eq!(stored["data"]["a"], "b", "the change waits");
    let line = format!("berth work release {NAME} -o json");
    let output = managed.types(&line).await;
    let results: Value = serde_json::from_str(output.ok()).unwrap();
    assert_eq!(results[0]["target"], applied);
    assert_eq!(results[0]["changed"], true);
    eventually("a ConfigMap with the change", async || {
        let map = managed.admin.get(map).await.unwrap();
        when(map, |it| it.body["data"]["a"] == "changed")
    })
    .await;
    assert_eq!(held_works(managed, port).await, "0");
    let status = managed.types("berth agent status").await;
    assert!(!status.stdout.contains("Held works"), "{status:?}");
}

/// The metric of the agent about held works.
async fn held_works(managed: &Managed, port: u16) -> String {
    let account = managed
        .cluster
        .service_account("open-cluster-management-agent", "berth-scraper")
        .await;
    let token = token_in(&account.kubeconfig);
    let (code, metrics) = get_with(port, "/metrics", Some(&token)).await;
    assert_eq!(code, 200, "{metrics}");
    let value = |line: &str| line.strip_prefix("berth_work_held ").map(str::to_owned);
    metrics.lines().find_map(value).unwrap()
}
