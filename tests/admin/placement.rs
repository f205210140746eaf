//! `berth placement`, `berth get placements`, `berth create placement`: on files, and on a hub without a placement controller.

use std::fs;

use serde_json::json;
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::house::{House, SETS};
use berth_manifests::files;
use berth_testkit::berth;
use berth_testkit::cluster::{Cluster, finish, fresh, rule};
use berth_testkit::transcript::words;

const HUB: &str = r#"
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: prod}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: test}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: prod, namespace: team-a}
spec: {clusterSet: prod}
---
apiVersion: v1
kind: List
items:
- apiVersion: cluster.open-cluster-management.io/v1
  kind: ManagedCluster
  metadata: {name: c1, labels: {region: eu, cluster.open-cluster-management.io/clusterset: prod}}
- apiVersion: cluster.open-cluster-management.io/v1
  kind: ManagedCluster
  metadata: {name: c2, labels: {region: eu, cluster.open-cluster-management.io/clusterset: prod}}
- apiVersion: cluster.open-cluster-management.io/v1
  kind: ManagedCluster
  metadata: {name: c3, labels: {region: us, cluster.open-cluster-management.io/clusterset: prod}}
- apiVersion: cluster.open-cluster-management.io/v1
  kind: ManagedCluster
  metadata: {name: c4, labels: {region: eu, cluster.open-cluster-management.io/clusterset: prod}}
  spec:
    taints: [{key: cluster.open-cluster-management.io/unreachable, effect: NoSelect, timeAdded: "2026-01-01T00:00:00Z"}]
- apiVersion: cluster.open-cluster-management.io/v1
  kind: ManagedCluster
  metadata: {name: c5, labels: {region: eu, cluster.open-cluster-management.io/clusterset: test}}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: app, namespace: team-a}
spec:
  numberOfClusters: 1
  predicates:
  - requiredClusterSelector: {labelSelector: {matchLabels: {region: eu}}}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: unbound, namespace: team-b}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata: {name: app-decision-1, namespace: team-a, labels: {cluster.open-cluster-management.io/placement: app}}
status: {decisions: [{clusterName: c4, reason: ""}]}
"#;

const CHANGED: &str = r#"
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: app, namespace: team-a}
spec:
  predicates:
  - requiredClusterSelector: {labelSelector: {matchLabels: {region: us}}}
"#;

/// Valid for the API server, and spread only by a gate.
const SPREAD: &str = r#"
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: spread, namespace: team-a}
spec:
  numberOfClusters: 2
  spreadPolicy:
    spreadConstraints:
    - {topologyKey: region, topologyKeyType: Label, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}
"#;

/// Valid for the API server, and refused by the gate.
const REFUSED: &str = r#"
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: refused, namespace: team-a}
spec:
  tolerations: [{operator: Equal}, {key: a, operator: Exists, value: b}]
  decisionStrategy: {groupStrategy: {decisionGroups: [{groupName: "not a label", groupClusterSelector: {}}]}}
"#;

/// Installs the kinds of placements, once for all tests.
async fn kinds(house: &House<&'static Cluster>) {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    let crds = files::PLACEMENT_CRDS.map(|file| file.path);
    let install = || house.cluster.apply_manifests(&crds);
    INSTALLED.get_or_init(install).await;
}

/// Runs `berth` without a hub, with `HUB` and `CHANGED` in place of the folder's files.
async fn offline(folder: &TempDir, line: &str) -> (i32, String, String) {
    offline_with(HUB, folder, line).await
}

/// The same with these files of the hub.
async fn offline_with(hub: &str, folder: &TempDir, line: &str) -> (i32, String, String) {
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir_all(folder.path().join("hub")).unwrap();
    fs::write(folder.path().join("hub/hub.yaml"), hub).unwrap();
    fs::write(folder.path().join("changed.yaml"), CHANGED).unwrap();
    fs::write(
        folder.path().join("wrong.yaml"),
        CHANGED.replace("predicates", "predicate"),
    )
    .unwrap();
    fs::write(folder.path().join("spread.yaml"), SPREAD).unwrap();
    fs::write(folder.path().join("refused.yaml"), REFUSED).unwrap();
    let line = line
        .replace("HUB", &path("hub"))
        .replace("SPREAD", &path("spread.yaml"))
        .replace("REFUSED", &path("refused.yaml"))
        .replace("CHANGED", &path("changed.yaml"))
        .replace("WRONG", &path("wrong.yaml"));
    let words = words(&line);
    let args: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = berth(&args);
    command.env("HOME", folder.path()).env_remove("KUBECONFIG");
    let output = finish(command, "").await;
    (output.code, output.stdout, output.stderr)
}

#[tokio::test]
async fn files_explain_a_placement_without_a_hub() {
    let folder = TempDir::new().unwrap();
    let (code, said, _) = offline(&folder, "placement explain app -n team-a --hub-files HUB").await;
    assert_eq!(code, 0, "{said}");
    let rows: Vec<Vec<&str>> = said
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for row in [
        &["c1", "selected", "1", "100", "0", "-"][..],
        &["c2", "ranked", "out", "2", "100", "-", "-"],
        &["c4", "tainted", "-", "-", "-", "app-decision-1"],
        &["c3", "no", "predicate", "matches", "-", "-", "-", "-"],
        &["c5", "in", "no", "set"],
    ] {
        assert!(rows.iter().any(|it| it.starts_with(row)), "{row:?}: {said}");
    }
    for words in [
        "cut after c1 with score 100",
        "cluster.open-cluster-management.io/unreachable is not tolerated (no toleration has its key)",
        "the labels do not match region in (eu) (the cluster has region=us)",
        "selected: 1 of 1 wanted",
        "PlacementDecisions still list these: c4",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[tokio::test]
async fn the_decisions_of_a_paused_placement_wait_for_no_controller() {
    let folder = TempDir::new().unwrap();
    let pause = r#"{name: app, namespace: team-a, annotations: {cluster.open-cluster-management.io/experimental-scheduling-disable: "true"}}"#;
    let paused = HUB.replace("{name: app, namespace: team-a}", pause);
    let line = "placement explain app -n team-a --hub-files HUB";
    let (code, said, _) = offline_with(&paused, &folder, line).await;
    assert_eq!(code, 0, "{said}");
    for words in [
        "its PlacementDecisions count as they are",
        "no PlacementDecision lists these: c1",
        "PlacementDecisions list these, which would not be selected: c4",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    for (cluster, words) in [
        ("c1", "no PlacementDecision lists it\n"),
        ("c4", " app-decision-1 lists it\n"),
    ] {
        let line = format!("{line} --cluster {cluster}");
        let (code, said, _) = offline_with(&paused, &folder, &line).await;
        assert_eq!(code, 0, "{said}");
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[tokio::test]
async fn one_cluster_is_explained_and_a_hint_says_how_to_bind() {
    let folder = TempDir::new().unwrap();
    let (code, said, _) = offline(
        &folder,
        "placement explain app -n team-a --cluster c5 --hub-files HUB",
    )
    .await;
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("sets of the cluster: test; sets bound to namespace team-a: prod"),
        "{said}"
    );
    let (code, said, _) = offline(
        &folder,
        "placement explain unbound -n team-b --hub-files HUB",
    )
    .await;
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("berth clusterset bind prod --namespace team-b"),
        "{said}"
    );
    let (code, _, why) = offline(
        &folder,
        "placement explain app -n team-a --cluster c9 --hub-files HUB",
    )
    .await;
    assert_eq!(code, 1);
    assert_eq!(
        why,
        "Error: managedclusters.cluster.open-cluster-management.io \"c9\" not found\n"
    );
    let (code, _, why) = offline(&folder, "placement explain ap -n team-a --hub-files HUB").await;
    assert_eq!(code, 1);
    assert!(why.contains("did you mean \"app\"?"), "{why}");
    let (code, said, _) = offline(
        &folder,
        "placement explain app -n team-a --hub-files HUB -o json",
    )
    .await;
    assert_eq!(code, 0);
    let value: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(value["clusters"][0]["result"], "Selected", "{said}");
    assert_eq!(value["stored"]["toRemove"], json!(["c4"]), "{said}");
}

#[tokio::test]
async fn what_if_shows_the_difference_and_its_exit_code() {
    let folder = TempDir::new().unwrap();
    let line = "placement what-if -f CHANGED --hub-files HUB";
    let (code, said, _) = offline(&folder, line).await;
    assert_eq!(code, 0, "{said}");
    for words in [
        "Decisions: 1 added, 1 removed, 0 stay",
        "- c4   predicate 0: the labels do not match region in (us) (the cluster has region=eu)",
        "+ c3   ",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let (code, ..) = offline(&folder, &format!("{line} --exit-code")).await;
    assert_eq!(code, 1);
    let (code, _, why) = offline(
        &folder,
        "placement what-if -f WRONG --hub-files HUB --exit-code",
    )
    .await;
    assert_eq!(code, 2);
    assert!(
        why.contains(
            "wrong.yaml, document 1: spec.predicate: unknown field; did you mean \"predicates\"?"
        ),
        "{why}"
    );
    let (code, said, _) = offline(&folder, &format!("{line} -o json")).await;
    assert_eq!(code, 0);
    let value: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(value[0]["removed"][0]["cluster"], "c4", "{said}");
    assert_eq!(value[0]["exists"], true, "{said}");
}

#[tokio::test]
async fn what_if_and_explain_warn_as_the_gate_does_unless_a_feature_gate_gives_the_field_an_effect()
{
    let folder = TempDir::new().unwrap();
    let warning = "Warning:       spec.spreadPolicy: has no effect unless the placement controller runs with \
                   --feature-gates=PlacementSpreadPolicy=true\n";
    let gate = "--feature-gates=PlacementSpreadPolicy=true";
    let line = "placement what-if -f SPREAD --hub-files HUB";
    let (code, said, _) = offline(&folder, line).await;
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(warning), "{said}");
    assert!(said.contains("+ c1 ") && said.contains("+ c2 "), "{said}");
    let (code, said, _) = offline(&folder, &format!("{line} {gate}")).await;
    assert_eq!(code, 0, "{said}");
    assert!(!said.contains("Warning:"), "{said}");
    assert!(said.contains("+ c1 ") && said.contains("+ c3 "), "{said}");

    let line = "placement explain spread -n team-a --hub-files HUB --hub-files SPREAD";
    let (code, said, _) = offline(&folder, line).await;
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(warning), "{said}");
    let (_, said, _) = offline(&folder, &format!("{line} --cluster c3")).await;
    assert!(
        said.contains("not selected") && said.contains("Warning:"),
        "{said}"
    );
    let (_, said, _) = offline(&folder, &format!("{line} --cluster c3 {gate}")).await;
    assert!(
        said.contains("is selected") && !said.contains("Warning:"),
        "{said}"
    );

    let (code, _, why) = offline(&folder, &format!("{line} --feature-gates=Spread=true")).await;
    assert_eq!(code, 1);
    assert!(why.contains("unknown gate \"Spread\""), "{why}");
}

#[tokio::test]
async fn all_faults_of_a_placement_are_said_at_once() {
    let folder = TempDir::new().unwrap();
    let line = "placement what-if -f REFUSED --hub-files HUB";
    let (code, said, _) = offline(&folder, line).await;
    assert_eq!(code, 1, "{said}");
    for words in [
        "\nFault:         spec.tolerations[0]",
        "\nGate refuses:  spec.tolerations[1]",
        "\nGate refuses:  spec.decisionStrategy.groupStrategy.decisionGroups[0].groupName: Invalid value: \"not a label\"",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let (_, said, _) = offline(&folder, &format!("{line} -o json")).await;
    let value: serde_json::Value = serde_json::from_str(&said).unwrap();
    let faults = value[0]["explanation"]["faults"].as_array().unwrap();
    assert_eq!(faults.len(), 3, "{said}");
}

#[tokio::test]
async fn a_placement_is_created_shown_and_explained_on_a_hub() {
    let house = House::shared().await;
    kinds(&house).await;
    let (set, namespace, cluster) = (fresh("set"), fresh("team"), fresh("member"));
    let object = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2",
        "kind": "ManagedClusterSet",
        "metadata": {"name": set},
    });
    house.admin.post(SETS, &object).await.unwrap().ok();
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    house
        .admin
        .post("/api/v1/namespaces", &object)
        .await
        .unwrap()
        .ok();
    let label = "cluster.open-cluster-management.io/clusterset";
    house
        .managed_cluster(&cluster, &[(label, &set), ("region", "eu")])
        .await;
    house
        .stage()
        .with("set", &set)
        .with("n", &namespace)
        .with("c", &cluster)
        .plays(
            "
$ berth get placements -n {n}
No placements found in namespace \"{n}\".
$ berth create placement app -n {n} --count 1 -l region=eu
Placement app in namespace {n} is created
Note: no set is bound to namespace {n}, so no cluster is selected: berth clusterset bind SET --namespace {n}
$ berth create placement app -n {n} --count 2
Error: Placement app in namespace {n} already exists: --overwrite replaces its spec
? 1
$ berth get placements -n {n} -o wide --no-headers
app [..]s[..]<bound>   1
$ berth clusterset bind {set} --namespace {n}
Clusterset {set} is bound to Namespace {n}
$ berth create placement app -n {n} --clustersets {set} --tolerations cluster.open-cluster-management.io/unreachable,cluster.open-cluster-management.io/unavailable --overwrite
Placement app in namespace {n} is replaced
$ berth get placements app -n {n} -o tree
<Placement>
└── <app>
    ├── <Namespace> {n}
    ├── <ClusterSet> {set}
    ├── <NumberOfSelectedClusters> 0
    ├── <Satisfied>
    ├── <Misconfigured>
    └── <PlacementDecision> []
$ berth placement explain app -n {n}
Placement app in namespace {n}

Satisfied:     True (AllDecisionsScheduled): All cluster decisions scheduled
Misconfigured: False (Succeedconfigured): Placement configurations check pass
Sets:          selects from {set}
Clusters:      1 of [..] are in the sets; match no predicate: 0; taint not tolerated: 0; ranked: 1; selected: 1 (all are wanted)
Note:          no controller has written conditions yet
Note:          no PlacementDecision lists these yet: {c}
Note:          the Lease placement-lock in namespace open-cluster-management-hub does not exist: is the placement controller installed? (berth placement controller)

...
",
        )
        .await;
}

#[tokio::test]
async fn a_missing_right_is_named_with_its_remedy() {
    let house = House::shared().await;
    kinds(&house).await;
    let namespace = fresh("team");
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    house
        .admin
        .post("/api/v1/namespaces", &object)
        .await
        .unwrap()
        .ok();
    let line = format!("create placement app -n {namespace}");
    house.berth(&line).await.ok();
    let dev = house.cluster.user(&fresh("dev"), &[]).await;
    let group = "cluster.open-cluster-management.io";
    let rules = [rule(&["get", "list"], group, &["placements"], &[])];
    house.cluster.grant_in(&namespace, &dev, &rules).await;
    let line = format!("placement explain app -n {namespace}");
    let output = house.berth_as(&dev, &line).await;
    assert_eq!(output.code, 1);
    for words in [
        "cannot list resource \"managedclusters\"",
        "this command needs the verb list on managedclusters.cluster.open-cluster-management.io",
        "--hub-files",
    ] {
        assert!(output.stderr.contains(words), "{words}: {output:?}");
    }
}

/// `docs/placement.md` shows the commands and what they print.
#[test]
fn the_page_about_placements_shows_what_the_commands_print() {
    let page = fs::read_to_string(berth_testkit::repository("docs/placement.md")).unwrap();
    let mut shown = 0;
    for block in page.split("```console\n").skip(1) {
        let (block, _) = block.split_once("\n```").unwrap();
        let (line, expected) = block.split_once('\n').unwrap();
        let line = line.strip_prefix("$ berth ").unwrap();
        let mut command = berth(&words(line).iter().map(String::as_str).collect::<Vec<_>>());
        let output = command.current_dir(berth_testkit::repository("")).output();
        let output = output.unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said.trim_end(), expected, "{line}");
        assert_eq!(output.status.code(), Some(0), "{line}");
        shown += 1;
    }
    assert_eq!(shown, 3);
}
