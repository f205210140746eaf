//! Kills, absent kinds, errors, and rest.

use std::time::Duration;

use berth_testkit::cluster::AsAdmin;
use berth_testkit::{eventually, when};
use serde_json::{Value, json};

use super::hub::{Hub, template};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settled_replica_set_is_not_written_also_by_a_successor() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(3).await;
    hub.place("p", &clusters).await;
    let mut working = hub.start().await;
    hub.replicate("a", json!({"type": "All"})).await;
    hub.makes("a", 1, &clusters).await;
    for cluster in &clusters {
        hub.report(cluster, "a", "A+ V+").await;
    }
    hub.condition("a", "PlacementRolledOut", "True Complete")
        .await;
    let works = hub.works("a").await;
    let set = hub.admin.get(&hub.set("a")).await.unwrap();
    working.kill().await;
    let successor = hub.start().await;
    // A later replica set takes a finalizer, two works, and its status: once or more, as its works are made one after the other.
    hub.place("q", &clusters[..2]).await;
    let spec = json!({"placementRefs": [{"name": "q"}], "manifestWorkTemplate": template(1)});
    hub.replicate_as("later", json!({}), spec).await;
    hub.makes("later", 1, &clusters[..2]).await;
    hub.condition("later", "PlacementVerified", "True AsExpected")
        .await;
    let writes = eventually("the last write", async || {
        when(successor.writes_by_kind(), |it| {
            it.values().sum::<u64>() >= 4
        })
    })
    .await;
    let of_works = writes
        .iter()
        .filter(|(kind, _)| kind.contains(" manifestworks "));
    assert_eq!(of_works.map(|it| it.1).sum::<u64>(), 2, "{writes:?}");
    assert_eq!(hub.works("a").await, works);
    let after = hub.admin.get(&hub.set("a")).await.unwrap();
    assert_eq!(after.ok(), set.ok());
}

/// The controller is killed again and again, while placements and the template change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_make_no_work_twice_and_lose_none() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(8).await;
    hub.place("p", &clusters).await;
    hub.replicate("a", json!({"type": "All"})).await;
    for round in 0..20_u64 {
        let mut working = hub.start().await;
        let from = usize::try_from(round % 4).unwrap();
        hub.select("p", &clusters[from..from + 4]).await;
        hub.template("a", u32::try_from(round).unwrap()).await;
        // Any time is a good time for a kill: there is nothing to wait for.
        tokio::time::sleep(Duration::from_millis(round * 7)).await;
        working.kill().await;
        let works = hub.works("a").await;
        let named = works.iter().filter(|it| it["metadata"]["name"] != "a");
        assert_eq!(named.count(), 0, "{works:?}");
    }
    let _working = hub.start().await;
    hub.template("a", 100).await;
    hub.makes("a", 100, &clusters[3..7]).await;
    assert_eq!(hub.works("a").await.len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_concerns_its_cluster_and_is_in_the_condition() {
    let hub = Hub::new().await;
    let mut clusters = hub.clusters(2).await;
    clusters.insert(0, "a-cluster-without-a-namespace".to_owned());
    hub.place("p", &clusters).await;
    let _working = hub.start().await;
    hub.replicate("a", json!({"type": "All"})).await;
    hub.makes("a", 1, &clusters[1..]).await;
    let (type_, expected) = ("ManifestworkApplied", "False NotAsExpected");
    let said = hub
        .condition_with("a", type_, expected, "cannot be written")
        .await;
    assert!(
        said.starts_with("1 ManifestWorks cannot be written: a-cluster-without-a-namespace/a: ")
            && said.contains("not found"),
        "{said}"
    );
    hub.condition("a", "PlacementVerified", "True AsExpected")
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_placement_that_is_missing_keeps_its_works() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    hub.place("p", &clusters).await;
    let _working = hub.start().await;
    hub.replicate("a", json!({"type": "All"})).await;
    hub.makes("a", 1, &clusters).await;
    hub.delete(&hub.placement("p")).await;
    hub.condition("a", "PlacementVerified", "False PlacementDecisionNotFound")
        .await;
    hub.makes("a", 1, &clusters).await;
    let path = hub.placement("p");
    let decision = path.replace("/placements/p", "/placementdecisions/p-decision-1");
    hub.delete(&decision).await;
    let again = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "p"}, "spec": {},
    });
    let (collection, _) = path.rsplit_once('/').unwrap();
    hub.create(collection, &again).await;
    hub.condition("a", "PlacementVerified", "False PlacementDecisionEmpty")
        .await;
    hub.makes("a", 1, &clusters).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_does_not_fit_the_label_is_refused_with_words() {
    let hub = Hub::new().await;
    hub.place("p", &[]).await;
    let _working = hub.start().await;
    let name = "a".repeat(63);
    hub.replicate(&name, json!({"type": "All"})).await;
    let said = hub
        .condition(
            &name,
            "ManifestworkApplied",
            "False InvalidManifestWorkName",
        )
        .await;
    assert!(
        said.ends_with("create it again with a shorter name"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_without_the_work_api_is_waited_for() {
    let hub = Hub::without_works().await;
    let clusters = hub.clusters(1).await;
    hub.place("p", &clusters).await;
    let working = hub.start().await;
    hub.serve_works().await;
    hub.replicate("a", json!({"type": "All"})).await;
    // It looks for the kinds again, at first within seconds.
    hub.makes("a", 1, &clusters).await;
    eventually("two writes", async || when(working.writes(), |it| *it >= 2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn works_that_ocm_made_are_adopted_and_what_others_change_is_put_back() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    hub.place("p", &clusters).await;
    hub.replicate("a", json!({"type": "All"})).await;
    let work = json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {"name": "ax7k2p", "labels": {
            "a": "1",
            "work.open-cluster-management.io/manifestworkreplicaset": format!("{}.a", hub.namespace),
            "work.open-cluster-management.io/placementname": "p",
        }},
        "spec": template(1),
    });
    let path = hub.work(&clusters[0], "ax7k2p");
    let (collection, _) = path.rsplit_once('/').unwrap();
    hub.create(collection, &work).await;
    let before = hub.admin.get(&path).await.unwrap().ok().clone();
    let _working = hub.start().await;
    hub.condition("a", "PlacementVerified", "True AsExpected")
        .await;
    assert_eq!(*hub.admin.get(&path).await.unwrap().ok(), before);
    let strange = json!({
        "metadata": {"labels": {"theirs": "x", "a": "2"}},
        "spec": {"executor": {"subject": {"type": "ServiceAccount", "serviceAccount": {"name": "a", "namespace": "b"}}}},
    });
    let theirs = format!("{path}?fieldManager=theirs");
    hub.patch(&theirs, strange).await;
    let is_mended = |work: &Value| {
        let labels = &work["metadata"]["labels"];
        work["spec"] == template(1) && labels["a"] == "1" && labels["theirs"] == "x"
    };
    eventually("the work to be mended", async || {
        let work = hub.admin.get(&path).await.unwrap().ok().clone();
        when(work, is_mended)
    })
    .await;
}
