//! `berth get clustersets`.

use serde_json::{Value, json};

use super::{bindings_path, json_of, name, yaml_of};
use crate::house::{CLUSTERS, House, SETS};
use berth_testkit::cluster::{
    documents_of, kubectl_is_there, path_of, rule, shipped_registrations,
};
use berth_testkit::{eventually, when};

const GROUP: &str = "cluster.open-cluster-management.io";
const SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";

#[tokio::test]
async fn sets_are_a_tree_and_a_table() {
    let house = House::shared().await;
    let (label, one, two) = (name("l"), name("s"), name("t"));
    let (c1, c2, n1, n2) = (name("c"), name("d"), name("m"), name("n"));
    let labels = json!({"get": label});
    let spec = json!({"managedNamespaces": [{"name": "apps"}, {"name": "more"}]});
    house.set(&one, &labels, &spec).await;
    let selector = json!({"matchLabels": {"get": label}});
    let spec =
        json!({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": selector}});
    house.set(&two, &labels, &spec).await;
    house
        .managed_cluster(&c1, &[("get", &label), (SET_LABEL, &one)])
        .await;
    house.managed_cluster(&c2, &[("get", &label)]).await;
    for namespace in [&n2, &n1] {
        house.namespace(namespace).await;
        house.bind(namespace, &one, &json!({})).await;
    }
    house.set_says(&one, "1 ManagedClusters selected").await;
    house.set_says(&two, "2 ManagedClusters selected").await;
    house
        .stage()
        .with("l", &label)
        .with("one", &one)
        .with("two", &two)
        .with("c1", &c1)
        .with("c2", &c2)
        .with("n1", &n1)
        .with("n2", &n2)
        .plays(
            "
$ berth get clustersets -l get={l}
<ManagedClusterSet>
├── <{one}>
│   ├── <BoundNamespace> {n1},{n2}
│   ├── <Status> 1 ManagedClusters selected
│   ├── <Clusters> [{c1}]
│   └── <ManagedNamespaces> [apps more]
└── <{two}>
    ├── <BoundNamespace>
    ├── <Status> 2 ManagedClusters selected
    ├── <Clusters> [{c1} {c2}]
    └── <ManagedNamespaces> []
$ berth get clusterset {two} -o tree
<ManagedClusterSet>
└── <{two}>
    ├── <BoundNamespace>
    ├── <Status> 2 ManagedClusters selected
    ├── <Clusters> [{c1} {c2}]
    └── <ManagedNamespaces> []
$ berth get mclsets {two} {one} -o table
NAME     BOUND NAMESPACES   STATUS                       MANAGED NAMESPACES
{two}                      2 ManagedClusters selected
{one}   {n1},{n2}      1 ManagedClusters selected   apps,more
$ berth get managedclustersets -l get={l} -o wide
NAME     BOUND NAMESPACES   STATUS                       MANAGED NAMESPACES   SELECTOR                                               CLUSTERS        AGE
{one}   {n1},{n2}      1 ManagedClusters selected   apps,more            cluster.open-cluster-management.io/clusterset={one}   {c1}          [..]s
{two}                      2 ManagedClusters selected                        get={l}                                             {c1},{c2}   [..]s
$ berth get clustersets -l get={l} -o name --no-headers
managedclusterset.cluster.open-cluster-management.io/{one}
managedclusterset.cluster.open-cluster-management.io/{two}
$ berth get clustersets -l get=none
No clustersets found.
$ berth get clustersets {one}x {two} -o name
managedclusterset.cluster.open-cluster-management.io/{two}
Error: managedclustersets.cluster.open-cluster-management.io \"{one}x\" not found; did you mean \"{one}\"?
? 1
",
        )
        .await;
    let list = format!("-l get={label}");
    for which in [list.as_str(), &one] {
        let json = json_of(
            &house
                .berth(&format!("get clustersets {which} -o json"))
                .await,
        );
        let yaml = yaml_of(
            &house
                .berth(&format!("get clustersets {which} -o yaml"))
                .await,
        );
        assert_eq!(json, yaml, "{which}");
        if kubectl_is_there() {
            let args = format!("get managedclustersets {which} -o json");
            let args: Vec<&str> = args.split(' ').collect();
            assert_eq!(json, json_of(&house.admin.kubectl(&args).await), "{which}");
        }
    }
}

#[tokio::test]
async fn what_came_past_the_gate_is_told_for_what_it_is() {
    let (house, _berth) = House::private().await;
    if !house.cluster.is_real() {
        // There nobody was before.
        house
            .set_says("default", "No ManagedCluster selected")
            .await;
        house.set_says("global", "No ManagedCluster selected").await;
        house
            .stage()
            .plays(
                "
$ berth get clusters
No clusters found.
$ berth get bindings
No bindings found.
$ berth get clustersets
<ManagedClusterSet>
├── <default>
│   ├── <BoundNamespace>
│   ├── <Status> No ManagedCluster selected
│   ├── <Clusters> []
│   └── <ManagedNamespaces> []
└── <global>
    ├── <BoundNamespace>
    ├── <Status> No ManagedCluster selected
    ├── <Clusters> []
    └── <ManagedNamespaces> []
",
            )
            .await;
    }
    let (label, bad, good, cluster) = (name("l"), name("a"), name("b"), name("c"));
    let labels = json!({"get": label});
    house.set(&good, &labels, &json!({})).await;
    house.managed_cluster(&cluster, &[(SET_LABEL, &good)]).await;
    house.accept(&cluster).await;
    for registration in shipped_registrations().flat_map(documents_of) {
        house
            .admin
            .delete(&path_of(&registration))
            .await
            .unwrap()
            .ok();
    }
    let object = |kind: &str, name: &str, spec: Value| {
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": kind,
            "metadata": {"name": name, "labels": labels},
            "spec": spec,
        })
    };
    let selector = json!({"matchExpressions": [{"key": "env", "operator": "Like"}]});
    let spec =
        json!({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": selector}});
    let set = object("ManagedClusterSet", &bad, spec);
    let binding = object(
        "ManagedClusterSetBinding",
        &good,
        json!({"clusterSet": good}),
    );
    for (path, object) in [(SETS.to_owned(), set), (bindings_path(&cluster), binding)] {
        // The registrations are in force for a moment yet.
        eventually(&format!("the creation of {object}"), async || {
            let answer = house.admin.post(&path, &object).await.unwrap();
            when(answer, |it| it.code == 201)
        })
        .await;
    }
    let path = format!("{}/{good}", bindings_path(&cluster));
    house
        .once(&path, "refused", |it| {
            it["status"]["conditions"][0]["status"] == "False"
        })
        .await;
    house.set_says(&good, "1 ManagedClusters selected").await;
    house
        .once(&format!("{SETS}/{bad}"), "looked at", |it| {
            it["status"]["conditions"].is_array()
        })
        .await;
    house
        .stage()
        .with("l", &label)
        .with("bad", &bad)
        .with("good", &good)
        .with("c", &cluster)
        .plays(
            "
$ berth get clustersets -l get={l}
<ManagedClusterSet>
├── <{bad}>
│   ├── <BoundNamespace>
│   ├── <Status> spec.clusterSelector.labelSelector.matchExpressions[0].operator: Invalid value: \"Like\": not a valid selector operator
│   ├── <Clusters> <invalid selector>
│   └── <ManagedNamespaces> []
└── <{good}>
    ├── <BoundNamespace> {c} (not bound)
    ├── <Status> 1 ManagedClusters selected
    ├── <Clusters> [{c}]
    └── <ManagedNamespaces> []
$ berth get bindings -n {c} --no-headers
{good}   {good}       False   NamespaceBelongsToCluster   [..]s
$ berth get clusters --clusterset {bad}
Error: the members of set \"{bad}\" are unknown: spec.clusterSelector.labelSelector.matchExpressions[0].operator: Invalid value: \"Like\": not a valid selector operator
? 1
",
        )
        .await;
    // A real hub is lent to others, who expect one in order.
    for path in [
        path,
        format!("{SETS}/{bad}"),
        format!("{SETS}/{good}"),
        format!("{CLUSTERS}/{cluster}"),
    ] {
        house.admin.delete(&path).await.unwrap().ok();
    }
}

#[tokio::test]
async fn what_may_not_be_read_besides_is_said_and_the_rest_is_shown() {
    let house = House::shared().await;
    let set = name("s");
    house.set(&set, &json!({}), &json!({})).await;
    house.set_says(&set, "No ManagedCluster selected").await;
    let dev = house.cluster.user(&name("d"), &[]).await;
    let sets = rule(&["get"], GROUP, &["managedclustersets"], &[]);
    house.cluster.grant(&dev, &[sets]).await;
    house
        .stage_of(&dev)
        .with("dev", &dev.user)
        .with("set", &set)
        .plays(
            "
$ berth get clustersets {set}
<ManagedClusterSet>
└── <{set}>
    ├── <BoundNamespace> <unreadable>
    ├── <Status> No ManagedCluster selected
    ├── <Clusters> <unreadable>
    └── <ManagedNamespaces> []
Warning: bound namespaces cannot be shown: managedclustersetbindings.cluster.open-cluster-management.io is forbidden: User \"{dev}\" cannot list resource \"managedclustersetbindings\" in API group \"cluster.open-cluster-management.io\" at the cluster scope (Forbidden)
Warning: clusters of sets cannot be shown: managedclusters.cluster.open-cluster-management.io is forbidden: User \"{dev}\" cannot list resource \"managedclusters\" in API group \"cluster.open-cluster-management.io\" at the cluster scope (Forbidden)
$ berth get clustersets {set} -o name
managedclusterset.cluster.open-cluster-management.io/{set}
$ berth get clustersets -o name
Error: managedclustersets.cluster.open-cluster-management.io is forbidden: User \"{dev}\" cannot list resource \"managedclustersets\" in API group \"cluster.open-cluster-management.io\" at the cluster scope (Forbidden)
? 1
",
        )
        .await;
}
