//! The roles for people (`manifests/people`) are enough for what they are for, and for no more.

use serde_json::{Value, json};

use berth_manifests::files;
use berth_testkit::cluster::{Cluster, Person, fresh, rule};
use berth_testkit::csr::Csr;

use crate::accept::bootstrap;
use crate::house::{CLUSTERS, House};

const PLACEMENTS: &str = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces";
const WORKS: &str = "/apis/work.open-cluster-management.io";

/// A new user with one of the roles on the whole hub.
pub async fn bound(cluster: &Cluster, name: &str) -> Person {
    let person = cluster.user(&fresh(name), &[]).await;
    cluster.grant(&person, &role(name)).await;
    person
}

/// The rules of one of the roles.
pub fn role(name: &str) -> Vec<Value> {
    let name = format!("open-cluster-management:berth:{name}");
    let roles = files::PEOPLE_ROLES.documents();
    let role = roles.iter().find(|it| it["metadata"]["name"] == name);
    role.unwrap()["rules"].as_array().unwrap().clone()
}

#[tokio::test]
async fn accept_accepts_and_denies_and_does_nothing_else() {
    let house = House::shared().await;
    let (cluster, set) = (fresh("cluster"), fresh("set"));
    house.managed_cluster(&cluster, &[]).await;
    house.berth(&format!("create clusterset {set}")).await.ok();
    let person = bound(house.cluster, "accept").await;
    let does = async |line: String| house.berth_as(&person, &line).await;
    let sender = bootstrap(&house).await;
    let csr = Csr::new(&cluster, "agent1").sent_by(&sender).await.name;
    let said = does(format!("accept {cluster}")).await;
    assert!(
        said.ok().contains(&format!("CSR {csr} approved")),
        "{said:?}"
    );
    does(format!("deny {cluster} --yes")).await.ok();
    let joins = does(format!("clusterset set {set} --clusters {cluster}")).await;
    assert_eq!(joins.code, 1, "{joins:?}");
    assert!(joins.stderr.contains("managedclustersets"), "{joins:?}");
}

#[tokio::test]
async fn set_admin_makes_sets_fills_them_and_binds_them_and_does_nothing_else() {
    let house = House::shared().await;
    let (cluster, set, team) = (fresh("cluster"), fresh("set"), fresh("team"));
    house.managed_cluster(&cluster, &[]).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}});
    let made = house.admin.post("/api/v1/namespaces", &namespace).await;
    made.unwrap().ok();
    let person = bound(house.cluster, "set-admin").await;
    let does = async |line: String| house.berth_as(&person, &line).await;
    for line in [
        format!("create clusterset {set}"),
        format!("clusterset set {set} --clusters {cluster}"),
        format!("clusterset bind {set} --namespace {team}"),
        format!("get clustersets {set}"),
        format!("clusterset unbind {set} --namespace {team}"),
        format!("clusterset set default --clusters {cluster}"),
        format!("delete clusterset {set}"),
    ] {
        does(line).await.ok();
    }
    let accepted = json!({"spec": {"hubAcceptsClient": true}});
    let answer = person
        .merge(&format!("{CLUSTERS}/{cluster}"), &accepted)
        .await;
    let answer = answer.unwrap();
    assert_eq!(answer.code, 403, "{answer:?}");
    let message = answer.body["message"].as_str().unwrap();
    assert!(message.contains("managedclusters/accept"), "{message}");
}

#[tokio::test]
async fn who_may_view_or_edit_a_namespace_sees_and_writes_placements_there() {
    let (house, _berth) = House::placing().await;
    house
        .cluster
        .apply(&files::PEOPLE_AGGREGATED.documents())
        .await;
    let team = fresh("team");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}});
    let made = house.admin.post("/api/v1/namespaces", &namespace).await;
    made.unwrap().ok();
    let group = "cluster.open-cluster-management.io";
    let probe = |verb: &str| rule(&[verb], group, &["placements"], &[]);

    let editor = house.cluster.user(&fresh("person"), &[]).await;
    house
        .cluster
        .bind_in(&team, &editor, "edit", &probe("create"))
        .await;
    let placement = format!("create placement mine -n {team}");
    house.berth_as(&editor, &placement).await.ok();
    for (path, kind, version) in [
        (
            format!("{PLACEMENTS}/{team}/placementdecisions"),
            "PlacementDecision",
            format!("{group}/v1beta1"),
        ),
        (
            format!("/apis/{group}/v1beta2/namespaces/{team}/managedclustersetbindings"),
            "ManagedClusterSetBinding",
            format!("{group}/v1beta2"),
        ),
        (
            format!("{WORKS}/v1/namespaces/{team}/manifestworks"),
            "ManifestWork",
            "work.open-cluster-management.io/v1".to_owned(),
        ),
        (
            format!("{WORKS}/v1alpha1/namespaces/{team}/manifestworkreplicasets"),
            "ManifestWorkReplicaSet",
            "work.open-cluster-management.io/v1alpha1".to_owned(),
        ),
    ] {
        let object =
            json!({"apiVersion": version, "kind": kind, "metadata": {"name": "mine"}, "spec": {}});
        let answer = editor.post(&path, &object).await.unwrap();
        assert_eq!(
            (answer.code, &answer.body["reason"]),
            (403, &json!("Forbidden")),
            "{kind}: {answer:?}"
        );
    }

    let viewer = house.cluster.user(&fresh("person"), &[]).await;
    house
        .cluster
        .bind_in(&team, &viewer, "view", &probe("list"))
        .await;
    let seen = house
        .berth_as(&viewer, &format!("get placements -n {team}"))
        .await;
    assert!(seen.ok().contains("mine"));
    let answer = viewer
        .get(&format!(
            "{WORKS}/v1alpha1/namespaces/{team}/manifestworkreplicasets"
        ))
        .await;
    assert_eq!(answer.unwrap().code, 200);
    let writes = house
        .berth_as(&viewer, &format!("create placement theirs -n {team}"))
        .await;
    assert_eq!(writes.code, 1, "{writes:?}");
    assert!(writes.stderr.contains("placements"), "{writes:?}");
}

#[tokio::test]
async fn who_reads_for_a_console_sees_the_fleet_and_writes_nothing() {
    let house = House::shared().await;
    let cluster = fresh("cluster");
    house.managed_cluster(&cluster, &[]).await;
    let person = bound(house.cluster, "console-reader").await;
    for line in [
        "get clusters",
        "get clustersets",
        "get works -A",
        "get replicasets -A",
    ] {
        house.berth_as(&person, line).await.ok();
    }
    let taints = house.berth_as(&person, &format!("cordon {cluster}")).await;
    assert_eq!(taints.code, 1, "{taints:?}");
    assert!(
        taints.stderr.contains("cannot patch") || taints.stderr.contains("cannot update"),
        "{taints:?}"
    );
}

#[tokio::test]
async fn work_edit_in_the_namespace_of_a_cluster_is_for_its_works() {
    let house = House::shared().await;
    house
        .cluster
        .apply(&files::PEOPLE_ROLES.documents()[2..3])
        .await;
    let cluster = fresh("cluster");
    house.managed_cluster(&cluster, &[]).await;
    house.berth(&format!("accept {cluster}")).await.ok();
    let namespace = format!("/api/v1/namespaces/{cluster}");
    house.once(&namespace, "made", |_| true).await;
    let probe = rule(
        &["create"],
        "work.open-cluster-management.io",
        &["manifestworks"],
        &[],
    );
    let role = "open-cluster-management:berth:work-edit";
    let person = house.cluster.user(&fresh("person"), &[]).await;
    house.cluster.bind_in(&cluster, &person, role, &probe).await;
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}});
    let work = json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": {"name": "mine"},
        "spec": {"workload": {"manifests": [config]}},
    });
    let answer = person
        .post(
            &format!("{WORKS}/v1/namespaces/{cluster}/manifestworks"),
            &work,
        )
        .await
        .unwrap();
    assert_eq!(answer.code, 201, "{answer:?}");
    let answer = person
        .get(&format!("{WORKS}/v1/namespaces/default/manifestworks"))
        .await
        .unwrap();
    assert_eq!(
        (answer.code, &answer.body["reason"]),
        (403, &json!("Forbidden")),
        "{answer:?}"
    );
}
