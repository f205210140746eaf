//! The debug endpoint: who may use it, and what it says.

use berth_manifests::files;
use berth_testkit::cluster::janitor::Watched;
use berth_testkit::cluster::{Person, fresh, rule};
use berth_testkit::process::{ready, request};
use berth_testkit::{Logged, berth, eventually, port, shipped, when};
use serde_json::{Value, json};

use crate::placement::hub::Hub;

/// The account of the manifests.
const ACCOUNT: &str = "berth-placement-debug-sa";

/// A running `berth placement debug`.
struct Process {
    process: Logged,
    port: u16,
    _watched: Watched,
}

impl Process {
    async fn start(hub: &Hub) -> Self {
        let role = files::PLACEMENT_DEBUG_ROLE.path;
        let reader = files::PLACEMENT_DEBUGGER.path;
        hub.cluster.apply_manifests(&[role, reader]).await;
        let account = hub.cluster.service_account(shipped::NAMESPACE, ACCOUNT);
        let mut command = berth(&["placement", "debug", "--log-format", "json"]);
        command
            .args(["--disable-leader-election", "--listen", "127.0.0.1:auto"])
            .arg("--kubeconfig")
            .arg(account.await.kubeconfig);
        let mut process = Logged::start(command);
        let _watched = Watched::new(&process.child);
        let serving = process.logged(|line| line["message"] == "serving");
        let port = port(&serving["debug"]);
        ready(port).await;
        Self {
            process,
            port,
            _watched,
        }
    }

    /// The code and the body of a response.
    async fn ask(&self, token: Option<&str>, method: &str, path: &str, body: &str) -> (u16, Value) {
        let path = format!("/debug/placements/{path}");
        let (code, said) = request(self.port, method, &path, token, body.to_owned()).await;
        (code, serde_json::from_str(&said).unwrap_or(Value::Null))
    }
}

/// A service account, and its token.
async fn caller(hub: &Hub) -> (Person, String) {
    let person = hub
        .cluster
        .service_account(&hub.namespace, &fresh("caller"))
        .await;
    let kubeconfig = std::fs::read_to_string(&person.kubeconfig).unwrap();
    let kubeconfig: Value = serde_saphyr::from_str(&kubeconfig).unwrap();
    let token = kubeconfig["users"][0]["user"]["token"].as_str().unwrap();
    (person, token.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_with_permissions_get_ocms_answer_and_the_reasons() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    let elsewhere = hub.cluster("default", json!({})).await;
    hub.taint(&clusters[1], true).await;
    hub.place(json!({})).await;
    let mut debug = Process::start(&hub).await;
    let stored = format!("{}/p", hub.namespace);
    let placement = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": "new", "namespace": hub.namespace},
        "spec": {"tolerations": [{"key": "test", "operator": "Exists"}]},
    });
    let posted = placement.to_string();

    // Nobody, and a user without permissions, learn nothing about what exists.
    assert_eq!(debug.ask(None, "GET", &stored, "").await.0, 401);
    assert_eq!(debug.ask(Some("wrong"), "GET", &stored, "").await.0, 401);
    let (person, token) = caller(&hub).await;
    let token = Some(token.as_str());
    for path in [stored.as_str(), "x/y"] {
        let (code, body) = debug.ask(token, "GET", path, "").await;
        assert_eq!(code, 403);
        let why = body["error"].as_str().unwrap();
        assert!(
            why.contains("needs verb \"get\" on the non-resource URL"),
            "{why}"
        );
    }
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": fresh("debugger")},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "open-cluster-management:berth-placement:debugger",
        },
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": person.user}],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    hub.admin.post(bindings, &binding).await.unwrap().ok();
    eventually("the right to the path", async || {
        let answer = debug.ask(token, "GET", &stored, "").await;
        when(answer, |(_, body)| {
            !body.to_string().contains("non-resource")
        })
    })
    .await;
    let missing = format!("{}/missing", hub.namespace);
    for path in [&stored, &missing] {
        let (code, body) = debug.ask(token, "GET", path, "").await;
        assert_eq!(code, 403, "{body}");
        let why = body["error"].as_str().unwrap();
        assert!(
            why.contains("needs verb \"get\" on placements in namespace"),
            "{why}"
        );
    }
    let (code, body) = debug.ask(token, "POST", "", &posted).await;
    assert_eq!(code, 403);
    assert!(
        body["error"]
            .as_str()
            .unwrap()
            .contains("needs verb \"create\" on placements"),
        "{body}"
    );

    let group = "cluster.open-cluster-management.io";
    let rules = [rule(&["get", "create"], group, &["placements"], &[])];
    hub.cluster.grant_in(&hub.namespace, &person, &rules).await;
    let (code, body) = debug.ask(token, "GET", &stored, "").await;
    assert_eq!(code, 200, "{body}");
    assert_eq!(body["placement"]["metadata"]["name"], "p");
    assert_eq!(
        body["filteredPipelineResults"],
        json!([
            {"name": "Predicate", "filteredClusters": clusters},
            {"name": "Predicate,TaintToleration", "filteredClusters": [clusters[0]]},
        ])
    );
    assert_eq!(
        body["aggregatedScores"],
        json!([{"clusterName": clusters[0], "score": 100}])
    );
    assert_eq!(body["prioritizeResults"][0]["name"], "Balance");
    let reasons = body["explanation"]["clusters"].as_array().unwrap();
    // The hub has clusters of other sets, which this caller may not list.
    let named: Vec<_> = reasons.iter().map(|it| &it["name"]).collect();
    assert_eq!(named.len(), 2, "{named:?}");
    assert_eq!(body["explanation"]["counts"]["hub"], 2);
    let tainted = reasons.iter().find(|it| it["name"] == clusters[1].as_str());
    assert_eq!(tainted.unwrap()["result"], "Tainted", "{body}");
    let (code, body) = debug.ask(token, "POST", "", &posted).await;
    assert_eq!(code, 200, "{body}");
    assert_eq!(body["aggregatedScores"].as_array().unwrap().len(), 2);

    let rules = [rule(&["list"], group, &["managedclusters"], &[])];
    hub.cluster.grant(&person, &rules).await;
    let (_, body) = debug.ask(token, "GET", &stored, "").await;
    let reasons = body["explanation"]["clusters"].as_array().unwrap();
    let other = reasons.iter().find(|it| it["name"] == elsewhere.as_str());
    assert_eq!(other.unwrap()["result"], "NotInSets", "{body}");

    let large = format!("\"{}\"", "x".repeat(1 << 20));
    for (method, path, body, expected) in [
        ("GET", missing.as_str(), "", 404),
        ("GET", "one-segment", "", 400),
        ("GET", "a/b/c", "", 400),
        ("POST", "", "{", 400),
        ("POST", "", "{}", 400),
        ("POST", "", large.as_str(), 413),
        ("PUT", stored.as_str(), "", 403),
    ] {
        let (code, said) = debug.ask(token, method, path, body).await;
        assert_eq!(code, expected, "{method} {path}: {said}");
        assert!(said["error"].is_string(), "{said}");
    }
    debug.process.signal("TERM");
    assert_eq!(debug.process.ended().await.code(), Some(0));
}
