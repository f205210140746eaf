//! `berth pause replicaset` and `berth resume replicaset`.

use berth_manifests::files;
use berth_testkit::cluster::{Cluster, fresh, rule};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::house::House;

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
