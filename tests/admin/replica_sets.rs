//! `berth pause replicaset`, `berth resume replicaset` and `berth approve replicaset`.

use berth_manifests::files;
use berth_testkit::cluster::{Cluster, fresh, rule};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::house::{House, SETS};

const REQUIRED: &str = "berth.open-cluster-management.io/rollout-approval";
const PAUSED: &str = "berth.open-cluster-management.io/rollout-paused";

/// A namespace with the replica sets `web` and `db`.
async fn sets(house: &House<&'static Cluster>) -> String {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    let crds = files::WORK_CRDS.map(|file| file.path);
    let install = || house.cluster.apply_manifests(&crds);
    INSTALLED.get_or_init(install).await;
    let namespace = fresh("sets");
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let created = house.admin.post("/api/v1/namespaces", &object).await;
    created.unwrap().ok();
    for name in ["web", "db"] {
        let set = json!({
            "apiVersion": "work.open-cluster-management.io/v1alpha1",
            "kind": "ManifestWorkReplicaSet",
            "metadata": {"name": name, "annotations": {"theirs": "stays"}},
            "spec": {"placementRefs": [{"name": "p"}], "manifestWorkTemplate": {"workload": {"manifests": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}]}}},
        });
        let created = house.admin.post(&path(&namespace, ""), &set).await;
        created.unwrap().ok();
    }
    namespace
}

fn path(namespace: &str, name: &str) -> String {
    let collection = format!(
        "/apis/work.open-cluster-management.io/v1alpha1/namespaces/{namespace}/manifestworkreplicasets"
    );
    match name {
        "" => collection,
        name => format!("{collection}/{name}"),
    }
}

async fn annotations(house: &House<&'static Cluster>, namespace: &str, name: &str) -> Value {
    let set = house.admin.get(&path(namespace, name)).await.unwrap();
    set.ok()["metadata"]["annotations"].clone()
}

#[tokio::test]
async fn sets_are_paused_once_and_resumed_once() {
    let house = House::shared().await;
    let space = sets(&house).await;
    let plays = async |transcript: &str| {
        house.stage().with("space", &space).plays(transcript).await;
    };
    plays(
        "\
$ berth pause replicaset web -n {space} --dry-run
manifestworkreplicaset/web paused (dry run)
$ berth pause replicaset web -n {space} --dry-run=server
manifestworkreplicaset/web paused (server dry run)
",
    )
    .await;
    let theirs = json!({"theirs": "stays"});
    assert_eq!(annotations(&house, &space, "web").await, theirs);
    plays(
        "\
$ berth pause replicaset web db web -n {space} --reason 'the disks of rack 7'
manifestworkreplicaset/web paused
manifestworkreplicaset/db paused
$ berth pause replicaset web -n {space}
manifestworkreplicaset/web already paused
$ berth pause mwrs web -n {space} --reason frozen -o yaml
- target: web
  succeeded: true
  changed: true
  message: manifestworkreplicaset/web paused
$ berth pause replicaset wep db -n {space} --reason frozen
manifestworkreplicaset/db paused
Error: wep: manifestworkreplicasets.work.open-cluster-management.io \"wep\" not found; did you mean \"web\"?
? 1
$ berth pause replicaset web -n {space} --reason false
error: invalid value 'false' for '--reason <TEXT>': the reason is a text, not true or false

For more information, try '--help'.
? 2
",
    )
    .await;
    let frozen = json!({"theirs": "stays", PAUSED: "frozen"});
    for name in ["web", "db"] {
        assert_eq!(annotations(&house, &space, name).await, frozen);
    }
    let output = house
        .berth(&format!("get replicasets web -n {space}"))
        .await;
    assert!(output.stdout.contains("Paused"), "{output:?}");
    plays(
        "\
$ berth resume replicaset web -n {space}
manifestworkreplicaset/web resumed
$ berth resume replicaset web db -n {space}
manifestworkreplicaset/web already resumed
manifestworkreplicaset/db resumed
",
    )
    .await;
    assert_eq!(annotations(&house, &space, "web").await, theirs);
}

#[tokio::test]
async fn who_may_not_change_the_set_may_not_pause_it() {
    let house = House::shared().await;
    let space = sets(&house).await;
    let dev = house.cluster.user(&fresh("dev"), &[]).await;
    let group = "work.open-cluster-management.io";
    let rules = [rule(&["get"], group, &["manifestworkreplicasets"], &[])];
    house.cluster.grant(&dev, &rules).await;
    let line = format!("pause replicaset web -n {space}");
    let output = house.berth_as(&dev, &line).await;
    assert_eq!((output.code, output.stdout.as_str()), (1, ""));
    let words = "cannot patch resource \"manifestworkreplicasets\" in API group \"work.open-cluster-management.io\"";
    assert!(output.stderr.contains(words), "{output:?}");
    assert!(output.stderr.contains("(Forbidden)"), "{output:?}");
    let theirs = json!({"theirs": "stays"});
    assert_eq!(annotations(&house, &space, "web").await, theirs);
}

/// The controllers decide the placement, and report what waits.
#[tokio::test]
async fn each_step_is_approved_by_its_number_and_template() {
    let (house, _berth) = House::placing().await;
    // On a real server, the tests share one hub.
    let [c1, c2, prod, team] = ["c1", "c2", "prod", "team"].map(fresh);
    let group = "cluster.open-cluster-management.io";
    let set = json!({
        "apiVersion": format!("{group}/v1beta2"), "kind": "ManagedClusterSet", "metadata": {"name": prod},
    });
    house.admin.post(SETS, &set).await.unwrap().ok();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": &team}});
    let made = house.admin.post("/api/v1/namespaces", &namespace).await;
    made.unwrap().ok();
    for name in [&c1, &c2] {
        let label = format!("{group}/clusterset");
        house.managed_cluster(name, &[(&label, &prod)]).await;
    }
    for line in [
        format!("clusterset bind {prod} -n {team}"),
        format!("accept {c1} {c2}"),
        format!("create placement app -n {team} --tolerations {group}/unreachable"),
    ] {
        house.berth(&line).await.ok();
    }
    let set = json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": "web", "annotations": {REQUIRED: "required"}},
        "spec": {
            "placementRefs": [{"name": "app", "rolloutStrategy": {"type": "Progressive", "progressive": {"maxConcurrency": 1}}}],
            "manifestWorkTemplate": template("1"),
        },
    });
    let made = house.admin.post(&path(&team, ""), &set).await;
    made.unwrap().ok();
    let set = path(&team, "web");
    let waits = async |words: &str| {
        let is = |it: &Value| {
            let all = it["status"]["conditions"].as_array();
            let mut all = all.into_iter().flatten();
            let found = all.find(|it| it["type"] == "ApprovalPending");
            found.is_some_and(|it| format!("{} {}", it["status"], it["message"]).contains(words))
        };
        house.once(&set, words, is).await
    };
    waits(&format!(
        "1 cluster waits for an approval: {c1}; approve with"
    ))
    .await;
    let works = async || {
        let path = "/apis/work.open-cluster-management.io/v1/manifestworks";
        let list = house.admin.get(path).await.unwrap();
        let all = list.ok()["items"].as_array().cloned().unwrap_or_default();
        let is_ours = |it: &&Value| {
            let namespace = &it["metadata"]["namespace"];
            [&c1, &c2].iter().any(|name| namespace == name.as_str())
        };
        all.iter().filter(is_ours).count()
    };
    let berth = async |line: &str| house.berth(&format!("{line} -n {team}")).await;
    let shown = berth("approve replicaset web --dry-run").await;
    assert_eq!(shown.code, 0, "{shown:?}");
    assert_eq!(
        shown.stdout,
        "manifestworkreplicaset/web approved (dry run)\n"
    );
    assert!(
        shown.stderr.starts_with(&format!(
            "of placement app, 1 cluster waits for an approval: {c1}; "
        )),
        "{shown:?}"
    );
    let unasked = berth("approve replicaset web").await;
    assert_eq!((unasked.code, &*unasked.stdout), (1, ""), "{unasked:?}");
    assert!(unasked.stderr.contains("add --yes"), "{unasked:?}");
    assert_eq!(works().await, 0, "nothing was approved");
    berth("approve replicaset web --yes").await.ok();
    waits("\"False\"").await;
    assert_eq!(works().await, 1);
    let again = berth("approve replicaset web --yes").await;
    assert_eq!((again.code, &*again.stdout), (1, ""), "{again:?}");
    let words = "Error: web: no step of web waits for an approval";
    assert!(again.stderr.contains(words), "{again:?}");
    // A new template is not approved by the old approval.
    let patch = json!({"spec": {"manifestWorkTemplate": template("2")}});
    house.admin.merge(&set, &patch).await.unwrap().ok();
    waits(&format!(
        "1 cluster waits for an approval: {c1}; approve with"
    ))
    .await;
    let path =
        format!("/apis/work.open-cluster-management.io/v1/namespaces/{c1}/manifestworks/web");
    let work = house.admin.get(&path).await.unwrap();
    assert_eq!(work.ok()["spec"]["workload"], template("1")["workload"]);
    berth("approve replicaset web --yes").await.ok();
    house
        .once(&path, "the new template", |it| {
            it["spec"]["workload"] == template("2")["workload"]
        })
        .await;
    let table = berth("get replicasets web").await;
    assert!(table.stdout.contains("Progressing"), "{table:?}");
    let patch = json!({"metadata": {"annotations": {REQUIRED: null}}});
    house.admin.merge(&set, &patch).await.unwrap().ok();
    let unneeded = berth("approve replicaset web --yes").await;
    assert_eq!(unneeded.code, 1, "{unneeded:?}");
    let words = "the rollouts of web need no approval; to require it: kubectl annotate mwrs web";
    assert!(unneeded.stderr.contains(words), "{unneeded:?}");
}

fn template(version: &str) -> Value {
    json!({"workload": {"manifests": [{
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"},
        "data": {"version": version},
    }]}})
}
