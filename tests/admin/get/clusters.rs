//! `berth get clusters`.

use std::ops::Deref;

use serde_json::json;

use super::{json_of, name, yaml_of};
use crate::house::{CLUSTERS, House};
use berth_testkit::cluster::{Cluster, kubectl_is_there, rule};

const GROUP: &str = "cluster.open-cluster-management.io";

/// Two clusters with a label that nobody else has.
struct Two {
    label: String,
    /// In service.
    works: String,
    /// Not accepted.
    waits: String,
}

impl<C: Deref<Target = Cluster>> House<C> {
    async fn two_clusters(&self) -> Two {
        let two = Two {
            label: name("l"),
            works: name("a"),
            waits: name("b"),
        };
        let labels = [("get", two.label.as_str())];
        self.managed_cluster(&two.works, &labels).await;
        self.managed_cluster(&two.waits, &labels).await;
        self.accept(&two.works).await;
        let path = format!("{CLUSTERS}/{}", two.works);
        let urls =
            json!({"spec": {"managedClusterClientConfigs": [{"url": "https://c.example:6443"}]}});
        self.admin.merge(&path, &urls).await.unwrap().ok();
        let object = self.admin.get(&path).await.unwrap().body;
        let mut conditions = object["status"]["conditions"].clone();
        for (type_, reason) in [
            ("ManagedClusterJoined", "ManagedClusterJoined"),
            (
                "ManagedClusterConditionAvailable",
                "ManagedClusterAvailable",
            ),
        ] {
            conditions.as_array_mut().unwrap().push(json!({
                "type": type_, "status": "True", "reason": reason, "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }));
        }
        let status = json!({"status": {
            "conditions": conditions,
            "capacity": {"cpu": "7500m", "memory": "16Gi"},
            "version": {"kubernetes": "v1.30.0"},
        }});
        let answer = self.admin.merge(&format!("{path}/status"), &status).await;
        answer.unwrap().ok();
        self.once(&path, "free of taints", |it| {
            it["spec"]["taints"].as_array().is_none_or(Vec::is_empty)
        })
        .await;
        self.once(
            &format!("{CLUSTERS}/{}", two.waits),
            "said to be unreachable",
            |it| it["spec"]["taints"][0]["key"].is_string(),
        )
        .await;
        two
    }
}

#[tokio::test]
async fn clusters_are_a_table_and_a_tree() {
    let house = House::shared().await;
    let two = house.two_clusters().await;
    house
        .stage()
        .with("l", &two.label)
        .with("works", &two.works)
        .with("waits", &two.waits)
        .plays(
            "
$ berth get clusters -l get={l}
NAME     ACCEPTED   AVAILABLE   CLUSTERSET   CPU     MEMORY   KUBERNETES VERSION
{works}   true       True        default      7500m   16Gi     v1.30.0
{waits}   false                  default
$ berth get clusters -l get={l} -o table --no-headers
{works}   true       True        default      7500m   16Gi     v1.30.0
{waits}   false                  default
$ berth get cluster {waits}
NAME     ACCEPTED   AVAILABLE   CLUSTERSET   CPU   MEMORY   KUBERNETES VERSION
{waits}   false                  default
$ berth get mcl -l get={l} -o wide
NAME     ACCEPTED   AVAILABLE   CLUSTERSET   CPU     MEMORY   KUBERNETES VERSION   JOINED   REASON        TAINTS                                                    URL                      AGE
{works}   true       True        default      7500m   16Gi     v1.30.0              True                                                                             https://c.example:6443   [..]s
{waits}   false                  default                                                     NotAccepted   cluster.open-cluster-management.io/unreachable:NoSelect                            [..]s
$ berth get clusters -l get={l} -o tree
<ManagedCluster>
├── <{works}>
│   ├── <Accepted> true
│   ├── <Available> True
│   ├── <ClusterSet> default
│   ├── <KubernetesVersion> v1.30.0
│   └── <Capacity>
│       ├── <Cpu> 7500m
│       └── <Memory> 16Gi
└── <{waits}>
    ├── <Accepted> false
    ├── <Available>
    ├── <ClusterSet> default
    ├── <KubernetesVersion>
    └── <Capacity>
        ├── <Cpu>
        └── <Memory>
$ berth get managedclusters -l get={l} -o name
managedcluster.cluster.open-cluster-management.io/{works}
managedcluster.cluster.open-cluster-management.io/{waits}
",
        )
        .await;
}

#[tokio::test]
async fn clusters_are_objects_as_kubectl_has_them() {
    let house = House::shared().await;
    let two = house.two_clusters().await;
    let list = format!("-l get={}", two.label);
    for which in [
        list.as_str(),
        &two.waits,
        &format!("{} {}", two.waits, two.works),
    ] {
        let json = json_of(&house.berth(&format!("get clusters {which} -o json")).await);
        let yaml = yaml_of(&house.berth(&format!("get clusters {which} -o yaml")).await);
        assert_eq!(json, yaml, "{which}");
        if kubectl_is_there() {
            let args = format!("get managedclusters {which} -o json");
            let args: Vec<&str> = args.split(' ').collect();
            let kubectls = json_of(&house.admin.kubectl(&args).await);
            assert_eq!(json, kubectls, "{which}");
        }
    }
}

#[tokio::test]
async fn clusters_of_a_set_are_found_whichever_way_it_selects_them() {
    let house = House::shared().await;
    let two = house.two_clusters().await;
    let (exclusive, labelled, nobodys, wrong) = (name("e"), name("s"), name("n"), name("w"));
    let by_selector = |selector| json!({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": selector}});
    house.set(&exclusive, &json!({}), &json!({})).await;
    let selector = json!({"matchExpressions": [
        {"key": "get", "operator": "In", "values": [two.label]},
        {"key": "none", "operator": "DoesNotExist"},
    ]});
    house
        .set(&labelled, &json!({}), &by_selector(selector))
        .await;
    let selector = json!({"matchLabels": {"get": nobodys}});
    house
        .set(&nobodys, &json!({}), &by_selector(selector))
        .await;
    let label = json!({"metadata": {"labels": {"cluster.open-cluster-management.io/clusterset": exclusive}}});
    let path = format!("{CLUSTERS}/{}", two.waits);
    house.admin.merge(&path, &label).await.unwrap().ok();
    house
        .stage()
        .with("works", &two.works)
        .with("waits", &two.waits)
        .with("label", &two.label)
        .with("exclusive", &exclusive)
        .with("labelled", &labelled)
        .with("nobodys", &nobodys)
        .with("wrong", &wrong)
        .plays(
            "
$ berth get clusters --clusterset {exclusive} -o name
managedcluster.cluster.open-cluster-management.io/{waits}
$ berth get clusters --clusterset {labelled}
NAME     ACCEPTED   AVAILABLE   CLUSTERSET   CPU     MEMORY   KUBERNETES VERSION
{works}   true       True        default      7500m   16Gi     v1.30.0
{waits}   false                  {exclusive}
$ berth get clusters --clusterset global -l get={label},cluster.open-cluster-management.io/clusterset=default -o name
managedcluster.cluster.open-cluster-management.io/{works}
$ berth get clusters --clusterset default -l get={label} -o name
managedcluster.cluster.open-cluster-management.io/{works}
$ berth get clusters --clusterset {nobodys}
No clusters found in set \"{nobodys}\".
$ berth get clusters --clusterset {exclusive}x
Error: managedclustersets.cluster.open-cluster-management.io \"{exclusive}x\" not found; did you mean \"{exclusive}\"?
? 1
$ berth get clusters --clusterset {exclusive} {works}
error: the argument '--clusterset <NAME>' cannot be used with '[NAME]...'
...
? 2
",
        )
        .await;
}

#[tokio::test]
async fn names_that_are_not_there_do_not_hide_the_others() {
    let house = House::shared().await;
    let two = house.two_clusters().await;
    house
        .stage()
        .with("works", &two.works)
        .with("waits", &two.waits)
        .with("label", &two.label)
        .plays(
            "
$ berth get clusters {waits}x {waits} {works} {waits}
NAME     ACCEPTED   AVAILABLE   CLUSTERSET   CPU     MEMORY   KUBERNETES VERSION
{waits}   false                  default
{works}   true       True        default      7500m   16Gi     v1.30.0
Error: managedclusters.cluster.open-cluster-management.io \"{waits}x\" not found; did you mean \"{waits}\"?
? 1
$ berth get clusters ~
Error: managedclusters.cluster.open-cluster-management.io \"~\" not found
? 1
$ berth get clusters ~ --watch
Error: managedclusters.cluster.open-cluster-management.io \"~\" not found
? 1
$ berth get clusters ../{waits} {waits}/status '' 'a b' '{waits}?x=y' {waits} -o name
managedcluster.cluster.open-cluster-management.io/{waits}
Error: managedclusters.cluster.open-cluster-management.io \"../{waits}\" not found; did you mean \"{waits}\"?
Error: managedclusters.cluster.open-cluster-management.io \"{waits}/status\" not found; did you mean \"{waits}\"?
Error: managedclusters.cluster.open-cluster-management.io \"\" not found
Error: managedclusters.cluster.open-cluster-management.io \"a b\" not found
Error: managedclusters.cluster.open-cluster-management.io \"{waits}?x=y\" not found; did you mean \"{waits}\"?
? 1
$ berth get clusters --clusterset ''
Error: managedclustersets.cluster.open-cluster-management.io \"\" not found
? 1
$ berth get clusters ~ -o json
Error: managedclusters.cluster.open-cluster-management.io \"~\" not found
? 1
$ berth get clusters -l get={label},other
No clusters found.
$ berth get clusters -l get={label},other -o tree
No clusters found.
$ berth get clusters -l 'no=selector=this'
Error: [..] (BadRequest)
? 1
$ berth get clusters {works} -l get={label}
error: the argument '[NAME]...' cannot be used with '--selector <SELECTOR>'
...
? 2
$ berth get clusters --watch -o tree
error: --watch does not work with -o tree: use -o table, wide, name, json or yaml
? 2
",
        )
        .await;
    let none = json_of(&house.berth("get clusters -l get=none -o json").await);
    assert_eq!(none["items"], json!([]));
}

#[tokio::test]
async fn who_may_read_one_cluster_sees_that_one() {
    let house = House::shared().await;
    let two = house.two_clusters().await;
    let dev = house.cluster.user(&name("d"), &[]).await;
    let one = rule(&["get"], GROUP, &["managedclusters"], &[&two.works]);
    house.cluster.grant(&dev, &[one]).await;
    let lister = house.cluster.user(&name("d"), &[]).await;
    let all = rule(&["list"], GROUP, &["managedclusters"], &[]);
    house.cluster.grant(&lister, &[all]).await;
    house
        .stage_of(&lister)
        .with("dev", &lister.user)
        .with("l", &two.label)
        .with("works", &two.works)
        .with("waits", &two.waits)
        .plays(
            "
$ berth get clusters -l get={l} --watch -o name
managedcluster.cluster.open-cluster-management.io/{works}
managedcluster.cluster.open-cluster-management.io/{waits}
Error: managedclusters.cluster.open-cluster-management.io is forbidden: User \"{dev}\" cannot watch resource \"managedclusters\" in API group \"cluster.open-cluster-management.io\" at the cluster scope (Forbidden)
? 1
",
        )
        .await;
    house
        .stage_of(&dev)
        .with("dev", &dev.user)
        .with("works", &two.works)
        .with("waits", &two.waits)
        .plays(
            "
$ berth get clusters
Error: managedclusters.cluster.open-cluster-management.io is forbidden: User \"{dev}\" cannot list resource \"managedclusters\" in API group \"cluster.open-cluster-management.io\" at the cluster scope (Forbidden)
? 1
$ berth get clusters --clusterset default
Error: managedclustersets.cluster.open-cluster-management.io \"default\" is forbidden: User \"{dev}\" cannot get resource \"managedclustersets\" in API group \"cluster.open-cluster-management.io\" at the cluster scope (Forbidden)
? 1
$ berth get clusters {waits} {works}
NAME     ACCEPTED   AVAILABLE   CLUSTERSET   CPU     MEMORY   KUBERNETES VERSION
{works}   true       True        default      7500m   16Gi     v1.30.0
Error: managedclusters.cluster.open-cluster-management.io \"{waits}\" is forbidden: User \"{dev}\" cannot get resource \"managedclusters\" in API group \"cluster.open-cluster-management.io\" at the cluster scope (Forbidden)
? 1
",
        )
        .await;
}
