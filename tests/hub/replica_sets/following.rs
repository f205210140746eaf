//! ManifestWorks follow their placements and their replica set.

use berth_testkit::cluster::AsAdmin;
use berth_testkit::{eventually, when};
use berth_work_hub::Settings;
use serde_json::json;

use super::hub::{Hub, place, template};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn works_follow_the_decisions_and_go_with_the_replica_set() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(4).await;
    hub.place("p", &clusters[..3]).await;
    let _working = hub.start().await;
    hub.replicate("a", json!({"type": "All"})).await;
    hub.makes("a", 1, &clusters[..3]).await;
    for work in hub.works("a").await {
        let labels = &work["metadata"]["labels"];
        assert_eq!(labels["a"], "1");
        assert_eq!(labels["work.open-cluster-management.io/placementname"], "p");
    }
    hub.condition("a", "PlacementVerified", "True AsExpected")
        .await;
    for cluster in &clusters[..3] {
        hub.report(cluster, "a", "A+ V+ P-").await;
    }
    hub.condition("a", "PlacementRolledOut", "True Complete")
        .await;
    hub.condition("a", "ManifestworkApplied", "True AsExpected")
        .await;
    let set = hub.admin.get(&hub.set("a")).await.unwrap();
    let summary = &set.ok()["status"]["placementSummary"][0];
    assert_eq!(
        summary["availableDecisionGroups"],
        "1 (3 / 3 clusters applied)"
    );
    assert_eq!(summary["summary"]["total"], 3);
    hub.select("p", &clusters[1..]).await;
    hub.makes("a", 1, &clusters[1..]).await;
    hub.template("a", 2).await;
    hub.makes("a", 2, &clusters[1..]).await;
    hub.delete(&hub.set("a")).await;
    hub.gone(&hub.set("a")).await;
    assert!(hub.works("a").await.is_empty());
}

/// As disaster recovery does: the placement controller leaves the placement alone, and another client writes its PlacementDecision.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn works_follow_the_decisions_that_another_client_writes_for_a_paused_placement() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(3).await;
    hub.place("p", &clusters[..2]).await;
    let _working = hub.start().await;
    hub.replicate("a", json!({"type": "All"})).await;
    hub.makes("a", 1, &clusters[..2]).await;
    // A PlacementDecision that is shorter than the status says is half-written.
    hub.list("p", &clusters[1..2]).await;
    hub.condition_with("a", "PlacementVerified", "True AsExpected", "list 1 of 2")
        .await;
    hub.makes("a", 1, &clusters[..2]).await;
    let pause = "cluster.open-cluster-management.io/experimental-scheduling-disable";
    let paused = json!({"metadata": {"annotations": {pause: "true"}}});
    hub.patch(&hub.placement("p"), paused).await;
    hub.makes("a", 1, &clusters[1..2]).await;
    hub.list("p", &clusters[2..]).await;
    hub.makes("a", 1, &clusters[2..]).await;
    hub.list("p", &[]).await;
    hub.makes("a", 1, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_reference_deletes_the_works_of_the_former_placement() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(3).await;
    hub.place("p", &clusters[..2]).await;
    hub.place("q", &clusters[1..]).await;
    let _working = hub.start().await;
    hub.replicate("a", json!({"type": "All"})).await;
    hub.makes("a", 1, &clusters[..2]).await;
    let refs = json!({"spec": {"placementRefs": [{"name": "q"}]}});
    hub.patch(&hub.set("a"), refs).await;
    let made = eventually("works of the other placement", async || {
        let works = hub.works("a").await;
        when(works, |works| {
            let label = "work.open-cluster-management.io/placementname";
            works.len() == 2
                && works
                    .iter()
                    .all(|it| it["metadata"]["labels"][label] == "q")
        })
    });
    let made = made.await;
    assert!(
        made.iter()
            .any(|it| place(it) == format!("{}/a", clusters[2]))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_taken_gets_a_hash_and_the_other_work_stays() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    let other = json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {"name": "a"}, "spec": template(7),
    });
    let path = hub.work(&clusters[0], "a");
    let (collection, _) = path.rsplit_once('/').unwrap();
    hub.create(collection, &other).await;
    hub.place("p", &clusters).await;
    let _working = hub.start().await;
    hub.replicate("a", json!({"type": "All"})).await;
    let made = eventually("a work with another name", async || {
        when(hub.made("a", 1).await, |made| made.len() == 1)
    });
    let made = made.await;
    assert!(
        made[0].starts_with(&format!("{}/a-", clusters[0])),
        "{made:?}"
    );
    let other = hub.admin.get(&path).await.unwrap();
    assert_eq!(other.ok()["spec"], template(7));
    assert!(other.ok()["metadata"]["labels"].is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreground_waits_for_the_agents_and_background_does_not() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    hub.place("p", &clusters).await;
    let _working = hub.start().await;
    for (name, policy) in [("front", "Foreground"), ("back", "Background")] {
        let spec = json!({
            "placementRefs": [{"name": "p"}], "manifestWorkTemplate": template(1), "cascadeDeletionPolicy": policy,
        });
        hub.replicate_as(name, json!({}), spec).await;
        hub.makes(name, 1, &clusters).await;
        let finalizer = json!({"metadata": {"finalizers": ["cluster.open-cluster-management.io/manifest-work-cleanup"]}});
        hub.patch(&hub.work(&clusters[0], name), finalizer).await;
        hub.delete(&hub.set(name)).await;
    }
    hub.gone(&hub.set("back")).await;
    let front = hub.admin.get(&hub.set("front")).await.unwrap();
    assert!(front.ok()["metadata"]["deletionTimestamp"].is_string());
    let none = json!({"metadata": {"finalizers": null}});
    hub.patch(&hub.work(&clusters[0], "front"), none).await;
    hub.gone(&hub.set("front")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_done_is_deleted_when_its_time_is_over() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    let _working = hub
        .start_with(Settings {
            replica_sets: true,
            clean_up: true,
        })
        .await;
    let set = "work.open-cluster-management.io/manifestworkreplicaset";
    for (name, ttl, labels) in [
        ("at-once", json!(0), json!({})),
        ("soon", json!(1), json!({})),
        ("later", json!(3600), json!({})),
        ("never", json!(null), json!({})),
        ("unfinished", json!(0), json!({})),
        ("replica", json!(0), json!({set: "no.set"})),
    ] {
        let path = hub.work(&clusters[0], name);
        let (collection, _) = path.rsplit_once('/').unwrap();
        let work = json!({
            "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
            "metadata": {"name": name, "labels": labels},
            "spec": {"deleteOption": {"propagationPolicy": "Foreground", "ttlSecondsAfterFinished": ttl}},
        });
        hub.create(collection, &work).await;
        let conditions = if name == "unfinished" { "C-" } else { "C+" };
        hub.report(&clusters[0], name, conditions).await;
    }
    hub.gone(&hub.work(&clusters[0], "at-once")).await;
    hub.gone(&hub.work(&clusters[0], "soon")).await;
    for name in ["later", "never", "unfinished", "replica"] {
        let work = hub.admin.get(&hub.work(&clusters[0], name)).await.unwrap();
        assert_eq!(work.code, 200, "{name}");
    }
}
