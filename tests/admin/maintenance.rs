//! `berth taint`, `berth cordon`, `berth uncordon`, `berth drain`.

use std::ops::Deref;

use serde_json::{Value, json};

use crate::house::{CLUSTERS, House, SETS};
use berth_testkit::cluster::{Cluster, Private, fresh, rule};

const GROUP: &str = "cluster.open-cluster-management.io";
const UNREACHABLE: &str = "cluster.open-cluster-management.io/unreachable";
const OURS: &str = "berth.open-cluster-management.io/unschedulable";

impl<C: Deref<Target = Cluster>> House<C> {
    /// The taints of a cluster.
    async fn taints(&self, name: &str) -> Vec<Value> {
        let answer = self.admin.get(&format!("{CLUSTERS}/{name}")).await.unwrap();
        let taints = answer.ok()["spec"]["taints"].as_array();
        taints.cloned().unwrap_or_default()
    }

    /// Makes a cluster that is not accepted, and returns its taint, which the hub has added: no agent reports the cluster.
    async fn silent_cluster(&self, name: &str, labels: &[(&str, &str)]) -> Value {
        self.managed_cluster(name, labels).await;
        let path = format!("{CLUSTERS}/{name}");
        let object = self
            .once(&path, "said to be unreachable", |it| {
                it["spec"]["taints"][0]["key"] == UNREACHABLE
            })
            .await;
        object["spec"]["taints"][0].clone()
    }
}

/// A taint without its time, as `key=value:effect`.
fn short(taint: &Value) -> String {
    let text = |field: &str| taint[field].as_str().unwrap_or_default().to_owned();
    format!("{}={}:{}", text("key"), text("value"), text("effect"))
}

#[tokio::test]
async fn a_taint_is_added_replaced_and_removed_and_others_stay() {
    let house = House::shared().await;
    let (one, two) = (fresh("one"), fresh("two"));
    let labels = [("tainted", one.as_str())];
    let of_hub = house.silent_cluster(&one, &labels).await;
    house.silent_cluster(&two, &labels).await;
    let plays = async |transcript: &str| {
        let stage = house.stage().with("one", &one).with("two", &two);
        stage.plays(transcript).await;
    };
    plays(
        "\
$ berth taint {one} maintenance=disks:NoSelect gpu:PreferNoSelect
managedcluster/{one} tainted
$ berth taint {one} maintenance=disks:NoSelect
managedcluster/{one} not tainted: it already has the taint
",
    )
    .await;
    let before = house.taints(&one).await;
    assert_eq!(before[0], of_hub, "the hub's taint and its time");
    assert_eq!(short(&before[1]), "maintenance=disks:NoSelect");
    assert!(before[1]["timeAdded"].is_string(), "{before:?}");
    plays(
        "\
$ berth taint {one} maintenance=disks:NoSelectIfNew
Error: {one}: managed cluster {one} already has the taint maintenance with another value or effect, and --overwrite is false
? 1
$ berth taint {one} maintenance=disks:NoSelectIfNew --overwrite --dry-run
managedcluster/{one} tainted (dry run)
$ berth taint {one} maintenance=disks:NoSelectIfNew --overwrite --dry-run=server
managedcluster/{one} tainted (server dry run)
$ berth taint {one} other-
Error: {one}: taint \"other\" not found
? 1
$ berth taint {one} maintenance:Never
Error: invalid taint spec: maintenance:Never, the effect is NoSelect, PreferNoSelect or NoSelectIfNew, not \"Never\"
? 2
$ berth taint {one}x maintenance-
Error: {one}x: managedclusters.cluster.open-cluster-management.io \"{one}x\" not found; did you mean \"{one}\"?
? 1
",
    )
    .await;
    assert_eq!(house.taints(&one).await, before, "nothing was written");
    plays(
        "\
$ berth taint {one} maintenance=disks:NoSelectIfNew --overwrite -o yaml
- target: {one}
  succeeded: true
  changed: true
  message: managedcluster/{one} tainted
$ berth taint -l tainted={one} gpu:NoSelect --overwrite
managedcluster/{one} tainted
managedcluster/{two} tainted
$ berth taint -l tainted={one},!tainted gpu-
No clusters found.
$ berth taint {one} {two} gpu:NoSelect-
managedcluster/{one} untainted
managedcluster/{two} untainted
$ berth taint {one} maintenance- a/b=c:NoSelect
managedcluster/{one} modified
",
    )
    .await;
    let after = house.taints(&one).await;
    assert_eq!(after[0], of_hub, "the hub's taint and its time");
    let shown: Vec<String> = after[1..].iter().map(short).collect();
    assert_eq!(shown, ["a/b=c:NoSelect"]);
}

#[tokio::test]
async fn users_without_the_right_are_told_which_one_is_missing() {
    let house = House::shared().await;
    let name = fresh("guarded");
    house.silent_cluster(&name, &[]).await;
    let dev = house.cluster.user(&fresh("dev"), &[]).await;
    let rules = [rule(&["get", "list"], GROUP, &["managedclusters"], &[])];
    house.cluster.grant(&dev, &rules).await;
    for line in ["taint NAME a:NoSelect", "cordon NAME"] {
        let output = house.berth_as(&dev, &line.replace("NAME", &name)).await;
        assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{line}");
        let words = "cannot patch resource \"managedclusters\" in API group \"cluster.open-cluster-management.io\"";
        assert!(output.stderr.contains(words), "{line}: {output:?}");
        assert!(output.stderr.contains("(Forbidden)"), "{line}: {output:?}");
    }
    let taints = house.taints(&name).await;
    assert_eq!(taints.len(), 1, "{taints:?}");
}

#[tokio::test]
async fn clusters_are_cordoned_once_and_uncordoned_once() {
    let house = House::shared().await;
    let (one, two) = (fresh("one"), fresh("two"));
    let labels = [("cordoned", one.as_str())];
    let of_hub = house.silent_cluster(&one, &labels).await;
    house.silent_cluster(&two, &labels).await;
    house
        .stage()
        .with("one", &one)
        .with("two", &two)
        .with("key", OURS)
        .plays(
            "\
$ berth cordon {one} --dry-run=server
managedcluster/{one} cordoned (server dry run)
$ berth cordon {one}
managedcluster/{one} cordoned
$ berth cordon -l cordoned={one}
managedcluster/{one} already cordoned
managedcluster/{two} cordoned
$ berth get clusters {one} -o wide --no-headers
[..]{key}:NoSelectIfNew[..]
$ berth uncordon {one} -o json
[
  {
    \"target\": \"{one}\",
    \"succeeded\": true,
    \"changed\": true,
    \"message\": \"managedcluster/{one} uncordoned\"
  }
]
$ berth uncordon {one} {two}
managedcluster/{one} already uncordoned
managedcluster/{two} uncordoned
$ berth taint {one} {key}:NoSelect
managedcluster/{one} tainted
$ berth cordon {one}
managedcluster/{one} already cordoned, and drained
$ berth uncordon {one}
managedcluster/{one} uncordoned
$ berth cordon
error: the following required arguments were not provided:
...
? 2
$ berth cordon -l ''
error: invalid value '' for '--selector <SELECTOR>': the selector is empty, so it would select all clusters
...
? 2
",
        )
        .await;
    assert_eq!(house.taints(&one).await, [of_hub]);
}

/// A hub on which placements are decided, with a set that is bound to a namespace.
struct Fleet {
    house: House<Private>,
    _berth: crate::house::Berth,
    /// Names of this test's own, since on a real server the tests share one hub: two clusters, in this order, their set, and the
    /// namespace that it is bound to.
    c1: String,
    c2: String,
    set: String,
    team: String,
}

impl Fleet {
    /// With accepted clusters.
    async fn new() -> Self {
        let (house, _berth) = House::placing().await;
        let [c1, c2, set, team] = ["c1", "c2", "prod", "team"].map(fresh);
        let object = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2",
            "kind": "ManagedClusterSet",
            "metadata": {"name": set},
        });
        house.admin.post(SETS, &object).await.unwrap().ok();
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}});
        let made = house.admin.post("/api/v1/namespaces", &namespace).await;
        made.unwrap().ok();
        let bind = format!("clusterset bind {set} --namespace {team}");
        house.berth(&bind).await.ok();
        let label = "cluster.open-cluster-management.io/clusterset";
        for name in [&c1, &c2] {
            house.managed_cluster(name, &[(label, &set)]).await;
            house.berth(&format!("accept {name}")).await.ok();
        }
        Self {
            house,
            _berth,
            c1,
            c2,
            set,
            team,
        }
    }

    async fn plays(&self, transcript: &str) {
        let stage = self.house.stage().with("c1", &self.c1);
        let stage = stage.with("c2", &self.c2).with("team", &self.team);
        stage.plays(transcript).await;
    }

    /// Whether a cluster has the taint of `cordon` and `drain`.
    async fn has_taint(&self, cluster: &str) -> bool {
        let taints = self.house.taints(cluster).await;
        taints.iter().any(|it| it["key"] == OURS)
    }

    /// Makes a placement. It tolerates the taint of clusters without an agent, as all clusters here are.
    async fn place(&self, name: &str, count: u32) {
        let line = format!(
            "create placement {name} -n {} --count {count} --tolerations {UNREACHABLE}",
            self.team
        );
        self.house.berth(&line).await.ok();
    }

    /// Waits until a placement selects these clusters.
    async fn selects(&self, placement: &str, clusters: &[&str]) {
        let path = format!(
            "/apis/{GROUP}/v1beta1/namespaces/{}/placementdecisions?labelSelector={GROUP}/placement={placement}",
            self.team
        );
        let what = format!("{placement} on {clusters:?}");
        self.house
            .once(&path, &what, |list| listed(list) == clusters)
            .await;
    }
}

/// The clusters that a list of PlacementDecisions lists, by name.
fn listed(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().into_iter().flatten();
    let decisions = items.flat_map(|it| it["status"]["decisions"].as_array().into_iter().flatten());
    let mut names: Vec<&str> = decisions
        .filter_map(|it| it["clusterName"].as_str())
        .collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn a_cordoned_cluster_keeps_its_placements_and_gets_no_new_ones() {
    let fleet = Fleet::new().await;
    fleet.place("old", 2).await;
    fleet.selects("old", &[&fleet.c1, &fleet.c2]).await;
    fleet
        .plays("$ berth cordon {c1}\nmanagedcluster/{c1} cordoned\n")
        .await;
    fleet.place("new", 2).await;
    fleet.selects("new", &[&fleet.c2]).await;
    fleet.selects("old", &[&fleet.c1, &fleet.c2]).await;
    fleet
        .plays("$ berth uncordon {c1}\nmanagedcluster/{c1} uncordoned\n")
        .await;
    fleet.selects("new", &[&fleet.c1, &fleet.c2]).await;
}

impl Fleet {
    /// Makes a ManifestWorkReplicaSet for this placement.
    async fn hand_out(&self, name: &str, placement: &str) {
        let object = json!({
            "apiVersion": "work.open-cluster-management.io/v1alpha1",
            "kind": "ManifestWorkReplicaSet",
            "metadata": {"name": name, "namespace": self.team},
            "spec": {
                "placementRefs": [{"name": placement}],
                "manifestWorkTemplate": template(),
            },
        });
        let path = format!(
            "/apis/work.open-cluster-management.io/v1alpha1/namespaces/{}/manifestworkreplicasets",
            self.team
        );
        self.house.admin.post(&path, &object).await.unwrap().ok();
    }

    /// Waits until a cluster has this number of works.
    async fn has_works(&self, cluster: &str, count: usize) {
        let what = format!("{count} works of {cluster}");
        let is = |list: &Value| list["items"].as_array().map(Vec::len) == Some(count);
        self.house.once(&works_of(cluster), &what, is).await;
    }
}

fn works_of(cluster: &str) -> String {
    format!("/apis/work.open-cluster-management.io/v1/namespaces/{cluster}/manifestworks")
}

fn template() -> Value {
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}});
    json!({"workload": {"manifests": [config]}})
}

#[tokio::test]
async fn a_drained_cluster_loses_placements_and_their_works_and_what_stays_has_a_reason() {
    let fleet = Fleet::new().await;
    fleet.place("app", 1).await;
    fleet.selects("app", &[&fleet.c1]).await;
    fleet.hand_out("app", "app").await;
    fleet.has_works(&fleet.c1, 1).await;
    let by_hand = json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": {"name": "mine", "namespace": fleet.c1},
        "spec": template(),
    });
    let admin = &fleet.house.admin;
    admin
        .post(&works_of(&fleet.c1), &by_hand)
        .await
        .unwrap()
        .ok();

    // Nothing moves before it was shown.
    fleet
        .plays(
            "\
$ berth drain {c1} --dry-run
{c1}: Placement {team}/app moves to {c2}
managedcluster/{c1} drained (dry run)
$ berth drain c9 --dry-run
Error: c9: managedclusters.cluster.open-cluster-management.io \"c9\" not found
? 1
$ berth drain {c1} --dry-run=server
{c1}: Placement {team}/app moves to {c2}
managedcluster/{c1} drained (server dry run)
",
        )
        .await;
    assert!(!fleet.has_taint(&fleet.c1).await);
    fleet
        .plays(
            "\
$ berth drain {c1}
managedcluster/{c1} drained
{c1}: Placement {team}/app moves to {c2}
...
{c1}: these stay, because no ManifestWorkReplicaSet made them: ManifestWorks mine
$ berth drain {c1}
managedcluster/{c1} drained
{c1}: no placement selects it
{c1}: these stay, because no ManifestWorkReplicaSet made them: ManifestWorks mine
",
        )
        .await;
    fleet.selects("app", &[&fleet.c2]).await;
    fleet.has_works(&fleet.c1, 1).await;
    fleet.has_works(&fleet.c2, 1).await;

    // A placement that tolerates every taint keeps the cluster.
    let line = format!(
        "create placement stubborn -n {} --count 1 --clustersets {}",
        fleet.team, fleet.set
    );
    fleet.house.berth(&line).await.ok();
    let path = format!(
        "/apis/{GROUP}/v1beta1/namespaces/{}/placements/stubborn",
        fleet.team
    );
    let tolerant = json!({"spec": {"tolerations": [{"operator": "Exists"}]}});
    admin.merge(&path, &tolerant).await.unwrap().ok();
    fleet.selects("stubborn", &[&fleet.c1]).await;
    fleet.plays(
        "\
$ berth drain {c1} --timeout 2
{c1}: Placement {team}/stubborn stays: spec.tolerations tolerate the taint berth.open-cluster-management.io/unschedulable:NoSelect
{c1}: waiting: PlacementDecisions {team}/stubborn-decision-1
Error: {c1}: not drained after 2s; the taint stays, and 'berth uncordon {c1}' removes it
  PlacementDecision {team}/stubborn-decision-1 lists the cluster: Placement stubborn keeps it: spec.tolerations tolerate the taint berth.open-cluster-management.io/unschedulable:NoSelect
  these stay in any case, because no ManifestWorkReplicaSet made them: ManifestWorks mine
? 1
$ berth drain {c1} --wait=false
managedcluster/{c1} already drained
{c1}: Placement {team}/stubborn stays: spec.tolerations tolerate the taint berth.open-cluster-management.io/unschedulable:NoSelect
$ berth uncordon {c1}
managedcluster/{c1} uncordoned
",
    )
    .await;
    // What moved away does not come back by itself.
    fleet.selects("app", &[&fleet.c2]).await;
}

#[tokio::test]
async fn a_drain_names_the_right_that_is_missing_and_changes_nothing() {
    let fleet = Fleet::new().await;
    let dev = fleet.house.cluster.user(&fresh("dev"), &[]).await;
    let verbs = ["get", "list", "patch", "update"];
    let rules = [rule(&verbs, GROUP, &["managedclusters"], &[])];
    fleet.house.cluster.grant(&dev, &rules).await;
    let output = fleet
        .house
        .berth_as(&dev, &format!("drain {}", fleet.c1))
        .await;
    assert_eq!(output.code, 1);
    let words =
        "this command needs the verb list on placementdecisions.cluster.open-cluster-management.io";
    assert!(output.stderr.contains(words), "{output:?}");
    assert!(!fleet.has_taint(&fleet.c1).await);
}
