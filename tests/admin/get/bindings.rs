//! `berth get bindings`.

use serde_json::json;

use super::{json_of, name, yaml_of};
use crate::house::House;
use berth_testkit::cluster::{kubectl_is_there, rule};

#[tokio::test]
async fn bindings_are_a_table_and_a_tree() {
    let house = House::shared().await;
    let (label, set, gone, n1, n2) = (name("l"), name("s"), name("t"), name("m"), name("n"));
    let labels = json!({"get": label});
    house.set(&set, &json!({}), &json!({})).await;
    for namespace in [&n1, &n2] {
        house.namespace(namespace).await;
        house.bind(namespace, &set, &labels).await;
    }
    // Of a set that is not there.
    house.bind(&n2, &gone, &labels).await;
    house
        .stage()
        .with("l", &label)
        .with("set", &set)
        .with("gone", &gone)
        .with("n1", &n1)
        .with("n2", &n2)
        .plays(
            "
$ berth get bindings -l get={l}
NAMESPACE   NAME     CLUSTERSET   BOUND   REASON               AGE
{n1}      {set}   {set}       True    ClusterSetBound      [..]s
{n2}      {set}   {set}       True    ClusterSetBound      [..]s
{n2}      {gone}   {gone}       False   ClusterSetNotFound   [..]s
$ berth get binding {gone} --no-headers
{n2}      {gone}   {gone}       False   ClusterSetNotFound   [..]s
$ berth get mclsetbinding -n {n1}
NAME     CLUSTERSET   BOUND   REASON            AGE
{set}   {set}       True    ClusterSetBound   [..]s
$ berth get bindings -n {n2} {gone} -o wide
NAME     CLUSTERSET   BOUND   REASON               AGE   MESSAGE
{gone}   {gone}       False   ClusterSetNotFound   [..]s
$ berth get bindings -A -l get={l} -o tree
<ManagedClusterSetBinding>
├── <{n1}>
│   └── <{set}> Bound
└── <{n2}>
    ├── <{set}> Bound
    └── <{gone}> not bound (ClusterSetNotFound)
$ berth get bindings -l get={l} -o name
managedclustersetbinding.cluster.open-cluster-management.io/{set}
managedclustersetbinding.cluster.open-cluster-management.io/{set}
managedclustersetbinding.cluster.open-cluster-management.io/{gone}
$ berth get bindings -l get=none
No bindings found.
$ berth get bindings -n {n1}x
No bindings found in namespace \"{n1}x\".
$ berth get bindings {gone} -n {n1}
Error: managedclustersetbindings.cluster.open-cluster-management.io \"{gone}\" not found
? 1
$ berth get bindings {set}x {gone} -o name
managedclustersetbinding.cluster.open-cluster-management.io/{gone}
Error: managedclustersetbindings.cluster.open-cluster-management.io \"{set}x\" not found; did you mean \"{set}\"?
? 1
$ berth get bindings -n ../{n1}
error: invalid value '../{n1}' for '--namespace <NAME>': [..]
...
? 2
$ berth get bindings -A -n {n1}
error: the argument '--all-namespaces' cannot be used with '--namespace <NAME>'
...
? 2
",
        )
        .await;
    let list = format!("-A -l get={label}");
    let one = format!("-n {n1} {set}");
    for which in [list, one] {
        let json = json_of(&house.berth(&format!("get bindings {which} -o json")).await);
        let yaml = yaml_of(&house.berth(&format!("get bindings {which} -o yaml")).await);
        assert_eq!(json, yaml, "{which}");
        if kubectl_is_there() {
            let args = format!("get managedclustersetbindings {which} -o json");
            let args: Vec<&str> = args.split(' ').collect();
            assert_eq!(json, json_of(&house.admin.kubectl(&args).await), "{which}");
        }
    }
}

#[tokio::test]
async fn who_may_read_one_namespace_names_it() {
    let house = House::shared().await;
    let (set, namespace) = (name("s"), name("n"));
    house.set(&set, &json!({}), &json!({})).await;
    house.namespace(&namespace).await;
    house.bind(&namespace, &set, &json!({})).await;
    let dev = house.cluster.user(&name("d"), &[]).await;
    let group = "cluster.open-cluster-management.io";
    let bindings = rule(&["list"], group, &["managedclustersetbindings"], &[]);
    house.cluster.grant_in(&namespace, &dev, &[bindings]).await;
    house
        .stage_of(&dev)
        .with("dev", &dev.user)
        .with("set", &set)
        .with("n", &namespace)
        .plays(
            "
$ berth get bindings
Error: managedclustersetbindings.cluster.open-cluster-management.io is forbidden: User \"{dev}\" cannot list resource \"managedclustersetbindings\" in API group \"cluster.open-cluster-management.io\" at the cluster scope (Forbidden)
? 1
$ berth get bindings -n {n} -o name
managedclustersetbinding.cluster.open-cluster-management.io/{set}
",
        )
        .await;
}
