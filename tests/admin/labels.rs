//! `berth label`.

use serde_json::{Value, json};

use crate::house::{CLUSTERS, House};
use berth_testkit::cluster::{Cluster, fresh, rule};

const GROUP: &str = "cluster.open-cluster-management.io";
const SET: &str = "cluster.open-cluster-management.io/clusterset";

impl House<&'static Cluster> {
    /// The labels of a cluster, without that of its set.
    async fn labels(&self, name: &str) -> Value {
        let answer = self.admin.get(&format!("{CLUSTERS}/{name}")).await.unwrap();
        let mut labels = answer.ok()["metadata"]["labels"].clone();
        labels.as_object_mut().unwrap().remove(SET);
        labels
    }
}

#[tokio::test]
async fn labels_are_set_replaced_and_removed_and_others_stay() {
    let house = House::shared().await;
    let (one, two) = (fresh("one"), fresh("two"));
    let of = [("of", one.as_str()), ("stays", "1")];
    house.managed_cluster(&one, &of).await;
    house.managed_cluster(&two, &of).await;
    let plays = async |transcript: &str| {
        let stage = house.stage().with("one", &one).with("two", &two);
        stage.plays(transcript).await;
    };
    plays(
        "\
$ berth label {one} env=prod owner=ops
managedcluster/{one} labeled
$ berth label {one} env=prod
managedcluster/{one} not labeled
",
    )
    .await;
    let before = json!({"of": one, "stays": "1", "env": "prod", "owner": "ops"});
    assert_eq!(house.labels(&one).await, before);
    plays(
        "\
$ berth label {one} env=dev owner-
Error: {one}: 'env' already has a value (prod), and --overwrite is false
? 1
$ berth label {one} env=dev owner- --overwrite --dry-run
managedcluster/{one} labeled (dry run)
$ berth label {one} env=dev owner- --overwrite --dry-run=server
managedcluster/{one} labeled (server dry run)
$ berth label {one} nothing-
managedcluster/{one} not labeled; label \"nothing\" not found
$ berth label {one}
Error: at least one label update is required, such as KEY=VALUE or KEY-
? 2
$ berth label {one} env=a/b
Error: invalid label value: \"env=a/b\": a valid label must be [..]
? 2
$ berth label {one} cluster.open-cluster-management.io/clusterset=prod
Error: label cluster.open-cluster-management.io/clusterset is not written by users: use berth clusterset set prod --clusters CLUSTER
? 2
$ berth label {one}x env-
Error: {one}x: managedclusters.cluster.open-cluster-management.io \"{one}x\" not found; did you mean \"{one}\"?
? 1
",
    )
    .await;
    assert_eq!(house.labels(&one).await, before, "nothing was written");
    plays(
        "\
$ berth label {one} env=dev owner- --overwrite -o yaml
- target: {one}
  succeeded: true
  changed: true
  message: managedcluster/{one} labeled
$ berth label -l of={one} tier=gold -o name
managedcluster.cluster.open-cluster-management.io/{one}
managedcluster.cluster.open-cluster-management.io/{two}
$ berth label {two} {one} tier=silver env=dev
Error: {two}: 'tier' already has a value (gold), and --overwrite is false
Error: {one}: 'tier' already has a value (gold), and --overwrite is false
? 1
$ berth label {two} nobody-{one} {one} env=dev -o name
managedcluster.cluster.open-cluster-management.io/{two}
managedcluster.cluster.open-cluster-management.io/{one}
Error: nobody-{one}: managedclusters.cluster.open-cluster-management.io \"nobody-{one}\" not found
? 1
$ berth label -l of={one},!of tier-
No clusters found.
$ berth label {one} {two} tier- none-
managedcluster/{one} unlabeled; label \"none\" not found
managedcluster/{two} unlabeled; label \"none\" not found
",
    )
    .await;
    let after = json!({"of": one, "stays": "1", "env": "dev"});
    assert_eq!(house.labels(&one).await, after);
    assert_eq!(house.labels(&two).await, after);
}

#[tokio::test]
async fn labels_that_several_write_at_once_are_all_there() {
    let house = House::shared().await;
    let name = fresh("busy");
    house.managed_cluster(&name, &[]).await;
    let add = async |label: &str| {
        let output = house.berth(&format!("label {name} {label}=1")).await;
        assert_eq!(output.ok(), format!("managedcluster/{name} labeled\n"));
    };
    tokio::join!(add("a"), add("b"), add("c"), add("d"));
    let labels = json!({"a": "1", "b": "1", "c": "1", "d": "1"});
    assert_eq!(house.labels(&name).await, labels);
}

#[tokio::test]
async fn a_cluster_leaves_its_set_only_with_the_permission() {
    let house = House::shared().await;
    let (set, name) = (fresh("set"), fresh("moved"));
    house.berth(&format!("create clusterset {set}")).await.ok();
    house.managed_cluster(&name, &[(SET, &set)]).await;
    let dev = house.developer(&fresh("dev"), &[]).await;
    let leaves = async || house.berth_as(&dev, &format!("label {name} {SET}-")).await;
    let output = leaves().await;
    assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
    let words = format!(
        "managedclustersets/join.cluster.open-cluster-management.io \"{set}\" is forbidden: user \"{}\" cannot add/remove a \
         ManagedCluster to/from ManagedClusterSet \"{set}\"",
        dev.user
    );
    assert!(output.stderr.contains(&words), "{output:?}");
    let join = |set: &str| rule(&["create"], GROUP, &["managedclustersets/join"], &[set]);
    house
        .cluster
        .grant(&dev, &[join(&set), join("default")])
        .await;
    let output = leaves().await;
    assert_eq!(
        output.ok(),
        format!("managedcluster/{name} unlabeled\n"),
        "{output:?}"
    );

    // One who may not patch clusters at all.
    let reader = house.cluster.user(&fresh("reader"), &[]).await;
    let rules = [rule(&["get", "list"], GROUP, &["managedclusters"], &[])];
    house.cluster.grant(&reader, &rules).await;
    let output = house.berth_as(&reader, &format!("label {name} a=b")).await;
    assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
    let words = "cannot patch resource \"managedclusters\" in API group \"cluster.open-cluster-management.io\"";
    assert!(output.stderr.contains(words), "{output:?}");
    assert_eq!(house.labels(&name).await, json!({}));
}
