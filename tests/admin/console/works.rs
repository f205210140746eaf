//! The screens of works and rollouts, in a browser and by HTTP.

use serde_json::{Value, json};

use super::{Console, blocking};
use crate::house::House;
use berth_testkit::browser::{play, stage};
use berth_testkit::cluster::{Person, fresh, rule};

const CLUSTER_GROUP: &str = "cluster.open-cluster-management.io";
const WORK_GROUP: &str = "work.open-cluster-management.io";
const REPLICAS: &str = "spec.replicas: prescribed 3, found 5 (written by kubectl-edit)";

/// What [`furnish`] has made.
struct Furnished {
    team: String,
    /// Two whose works differ, and one whose work is not applied.
    clusters: [String; 3],
}

fn works(cluster: &str) -> String {
    format!("/apis/{WORK_GROUP}/v1/namespaces/{cluster}/manifestworks")
}

fn sets(team: &str) -> String {
    format!("/apis/{WORK_GROUP}/v1alpha1/namespaces/{team}/manifestworkreplicasets")
}

fn manifest() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 3},
    })
}

fn condition(type_: &str, status: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": "Test", "message": message, "observedGeneration": 1,
        "lastTransitionTime": jiff::Timestamp::now().to_string(),
    })
}

/// The status that an agent reports: the conditions of the work, and those of its Deployment.
fn status(of_work: &[Value], of_object: &[Value]) -> Value {
    json!({"status": {
        "conditions": of_work,
        "resourceStatus": {"manifests": [{
            "resourceMeta": {"ordinal": 0, "group": "apps", "version": "v1", "kind": "Deployment", "resource": "deployments", "namespace": "shop", "name": "web"},
            "conditions": of_object,
            "statusFeedback": {"values": [{"name": "ReadyReplicas", "fieldValue": {"type": "Integer", "integer": 5}}]},
        }]},
    }})
}

async fn reports(admin: &Person, cluster: &str, name: &str, status: &Value) {
    let path = format!("{}/{name}/status", works(cluster));
    admin.merge(&path, status).await.unwrap().ok();
}

/// Makes clusters with works, and the replica set web of a team, which waits for an approval of the first cluster.
async fn furnish(
    house: &House<impl std::ops::Deref<Target = berth_testkit::cluster::Cluster>>,
) -> Furnished {
    let admin = &house.admin;
    let (team, prod, all) = (fresh("team"), fresh("prod"), fresh("worked"));
    let clusters = [1, 2, 3].map(|it| format!("{all}-{it}"));
    let [c1, c2, c3] = &clusters;
    let label = [("cluster.open-cluster-management.io/clusterset", &*prod)];
    house.berth(&format!("create clusterset {prod}")).await.ok();
    let namespace = berth_testkit::objects::namespace(&team);
    let made = admin.post("/api/v1/namespaces", &namespace).await;
    made.unwrap().ok();
    for name in &clusters {
        house.managed_cluster(name, &label).await;
    }
    for line in [
        format!("accept {c1} {c2} {c3}"),
        format!("clusterset bind {prod} -n {team}"),
        format!(
            "create placement app -n {team} --tolerations {CLUSTER_GROUP}/unreachable,{CLUSTER_GROUP}/unavailable"
        ),
    ] {
        house.berth(&line).await.ok();
    }
    let well = [
        condition("Applied", "True", ""),
        condition("Available", "True", ""),
    ];
    let drifted = [&well[..], &[condition("Drifted", "True", REPLICAS)]].concat();
    let refused = "Failed to apply manifest: namespaces \"shop\" not found";
    let refused = [condition("Applied", "False", refused)];
    for (cluster, conditions) in [(c1, &drifted[..]), (c2, &drifted[..]), (c3, &refused[..])] {
        let path = format!("/api/v1/namespaces/{cluster}");
        house.once(&path, "its namespace", |_| true).await;
        let work = json!({
            "apiVersion": format!("{WORK_GROUP}/v1"), "kind": "ManifestWork", "metadata": {"name": "base"},
            "spec": {"workload": {"manifests": [manifest()]}},
        });
        admin.post(&works(cluster), &work).await.unwrap().ok();
        reports(admin, cluster, "base", &status(conditions, conditions)).await;
    }
    let strategy = json!({"type": "Progressive", "progressive": {"maxConcurrency": 1, "minSuccessTime": "1h"}});
    let set = json!({
        "apiVersion": format!("{WORK_GROUP}/v1alpha1"), "kind": "ManifestWorkReplicaSet",
        "metadata": {
            "name": "web",
            "annotations": {"berth.open-cluster-management.io/rollout-approval": "required"},
        },
        "spec": {
            "placementRefs": [{"name": "app", "rolloutStrategy": strategy}],
            "manifestWorkTemplate": {"workload": {"manifests": [manifest()]}},
        },
    });
    let sets = sets(&team);
    admin.post(&sets, &set).await.unwrap().ok();
    let named = format!("{c1}; ");
    let waits = |it: &Value| it["status"]["conditions"].to_string().contains(&named);
    house
        .once(&format!("{sets}/web"), "a step waits", waits)
        .await;
    Furnished { team, clusters }
}

/// Somebody who may read all of it, and change nothing.
async fn reader(
    house: &House<impl std::ops::Deref<Target = berth_testkit::cluster::Cluster>>,
    works: &[&str],
) -> Person {
    let dev = house.cluster.user(&fresh("dev"), &[]).await;
    let reads = &["get", "list", "watch"];
    let rules = [
        rule(
            reads,
            CLUSTER_GROUP,
            &["managedclusters", "placementdecisions"],
            &[],
        ),
        rule(reads, WORK_GROUP, works, &[]),
    ];
    house.cluster.grant(&dev, &rules).await;
    dev
}

#[tokio::test]
async fn a_person_looks_at_works_and_approves_a_step() {
    let Some(web) = stage() else {
        return;
    };
    let (house, _berth) = House::placing().await;
    let made = furnish(&house).await;
    let [c1, c2, c3] = &made.clusters;
    let dev = reader(&house, &["manifestworks", "manifestworkreplicasets"]).await;
    let (of_ada, of_dev) = (Console::start(&house.admin, &[]), Console::start(&dev, &[]));
    let file = web.join("tests/works.mjs");
    let (ada, dev) = (of_ada.address(), of_dev.address());
    let variables = [
        ("CONSOLE", &*ada),
        ("CONSOLE_DEV", &*dev),
        ("BERTH", berth_testkit::program().to_str().unwrap()),
        ("KUBECONFIG", house.admin.kubeconfig.to_str().unwrap()),
        ("TEAM", &*made.team),
        ("C1", &**c1),
        ("C2", &**c2),
        ("C3", &**c3),
    ];
    // The agent of the first cluster applies what was approved.
    let agent = async {
        let path = format!("{}/web", works(c1));
        house.once(&path, "it was approved", |_| true).await;
        let well = [
            condition("Applied", "True", ""),
            condition("Available", "True", ""),
            condition("Progressing", "False", ""),
        ];
        reports(&house.admin, c1, "web", &status(&well, &well)).await;
    };
    let played = play(&file, &variables);
    tokio::pin!(played);
    tokio::select! {
        () = &mut played => panic!("the agent was never asked"),
        () = agent => played.await,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_of_the_step_that_was_shown_and_of_who_may_change_the_set() {
    let (house, _berth) = House::placing().await;
    let Furnished { team, .. } = furnish(&house).await;
    let set = format!("{}/web", sets(&team));
    let console = blocking(|| Console::start(&house.admin, &[]));
    let cookie = blocking(|| console.sign_in());
    let path = |act: &str| format!("/api/replicasets/{team}/web/{act}");
    let write = |console: &Console, cookie: &str, act: &str, body: Value| {
        blocking(|| console.write(cookie, &path(act), &body))
    };
    let tried = write(&console, &cookie, "approve", json!({"dryRun": true}));
    assert_eq!(tried.code, 200, "{}", tried.body);
    let words = "manifestworkreplicaset/web approved (server dry run)";
    assert_eq!(tried.body["done"][0], words);
    let shown = tried.body["shown"].clone();
    assert!(shown.as_str().unwrap().ends_with(":app=1"), "{shown}");
    assert_eq!(
        tried.body["command"],
        format!("berth approve replicaset -n {team} web")
    );
    let annotations = async || {
        let set = house.admin.get(&set).await.unwrap();
        set.ok()["metadata"]["annotations"].to_string()
    };
    // Without what was shown, and with another step.
    for body in [
        json!({"dryRun": false}),
        json!({"dryRun": false, "shown": "0123456789abcdef:app=3"}),
    ] {
        let refused = write(&console, &cookie, "approve", body);
        let error = &refused.body["error"];
        let found = (refused.code, &error["reason"]);
        assert_eq!(found, (409, &json!("Refused")), "{error}");
        assert!(error["message"].to_string().contains("another step waits"));
    }
    assert!(!annotations().await.contains("rollout-approved"));
    let body = json!({"dryRun": false, "shown": shown});
    let done = write(&console, &cookie, "approve", body);
    assert_eq!(done.code, 200, "{}", done.body);
    assert!(annotations().await.contains(shown.as_str().unwrap()));

    let dev = reader(&house, &["manifestworkreplicasets"]).await;
    let of_dev = blocking(|| Console::start(&dev, &[]));
    let cookie = blocking(|| of_dev.sign_in());
    let refused = write(&of_dev, &cookie, "pause", json!({"dryRun": true}));
    let error = &refused.body["error"];
    assert_eq!(
        (refused.code, &error["reason"]),
        (403, &json!("Forbidden")),
        "{error}"
    );
    let missing = &error["missing"];
    let role = "open-cluster-management:berth:work-edit";
    assert_eq!(missing["role"], role, "{missing}");
    let command = missing["command"].as_str().unwrap();
    assert!(command.contains(&format!("-n {team}")), "{command}");
    // What may not be listed is said; the rest is shown.
    let mut screen = blocking(|| of_dev.events(&cookie, &format!("screen=works&q={team}")));
    let answer = blocking(|| screen.until("answer", |_| true));
    let mut shown = answer["sets"].as_array().unwrap().iter();
    assert!(shown.any(|it| it["namespace"] == *team), "{answer}");
    let notes = answer["notes"].to_string();
    assert!(notes.contains("ManifestWorks cannot be shown"), "{notes}");
    let read_only = blocking(|| Console::start(&house.admin, &["--read-only"]));
    let cookie = blocking(|| read_only.sign_in());
    let refused = write(&read_only, &cookie, "resume", json!({"dryRun": true}));
    let found = (refused.code, &refused.body["error"]["reason"]);
    assert_eq!(found, (403, &json!("ReadOnly")));
}
