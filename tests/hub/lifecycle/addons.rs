//! Add-ons: their status is Unknown when their cluster's is, and the cluster's labels show them.

use std::ops::Deref;

use serde_json::{Value, json};

use crate::lifecycle::hub::{AVAILABLE, HubWithReconcilers, cluster_path, condition, taints};
use berth_testkit::cluster::{AsAdmin, Cluster, fresh};

const PREFIX: &str = "feature.open-cluster-management.io/addon-";

impl<C: Deref<Target = Cluster>> HubWithReconcilers<C> {
    /// The agent tells whether an add-on works.
    async fn addon_is(&self, addon: &str, status: &str) {
        let since = "2026-01-02T03:04:05Z";
        let mut conditions = json!([
            {"type": "Progressing", "status": "False", "reason": "Completed", "message": ""},
            {"type": "Available", "status": status, "reason": "Told", "message": "by the agent"},
        ]);
        for condition in conditions.as_array_mut().unwrap() {
            condition["lastTransitionTime"] = json!(since);
        }
        let status = json!({"status": {"conditions": conditions}});
        self.patch(&format!("{addon}/status"), status).await;
    }

    /// Returns when these are the labels that tell of add-ons.
    async fn shows(&self, cluster: &str, wanted: &[(&str, &str)]) -> Value {
        let what = format!("showing {wanted:?}");
        self.once(&cluster_path(cluster), &what, |object| {
            let labels = object["metadata"]["labels"].as_object();
            let shown = labels.into_iter().flatten();
            let shown: Vec<_> = shown
                .filter_map(|(key, value)| Some((key.strip_prefix(PREFIX)?, value.as_str()?)))
                .collect();
            shown == wanted
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn add_ons_are_shown_and_unknown_with_their_cluster() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("featured");
    let path = cluster_path(&name);
    hub.accepted(&name).await;
    let search = hub.addon(&name, "search", json!({})).await;
    let held = json!({"finalizers": ["example.com/held"]});
    let leaving = hub.addon(&name, "leaving", held).await;
    // Nobody has heard of its agent: nothing is shown.
    let later = fresh("later");
    hub.accepted(&later).await;
    hub.report_available(&later, "True").await;
    hub.addon(&later, "search", json!({})).await;
    hub.shows(&later, &[("search", "unreachable")]).await;
    hub.shows(&name, &[]).await;
    hub.report_available(&name, "True").await;
    let both = [("leaving", "unreachable"), ("search", "unreachable")];
    hub.shows(&name, &both).await;
    hub.renew(&name).await;
    hub.addon_is(&search, "True").await;
    hub.shows(
        &name,
        &[("leaving", "unreachable"), ("search", "available")],
    )
    .await;
    hub.addon_is(&search, "False").await;
    hub.shows(
        &name,
        &[("leaving", "unreachable"), ("search", "unhealthy")],
    )
    .await;
    hub.renew(&name).await;
    hub.delete(&leaving).await;
    hub.shows(&name, &[("search", "unhealthy")]).await;

    // What nobody has is shown by nobody; labels of others stay.
    let ghost =
        json!({"metadata": {"labels": {format!("{PREFIX}ghost"): "available", "mine": "yes"}}});
    hub.patch(&path, ghost).await;
    let object = hub.shows(&name, &[("search", "unhealthy")]).await;
    assert_eq!(object["metadata"]["labels"]["mine"], "yes");
    hub.addon_is(&search, "True").await;
    hub.shows(&name, &[("search", "available")]).await;

    // Only now: on a busy machine the steps before take longer than such a cluster may be silent.
    let lease_of = |seconds| json!({"spec": {"leaseDurationSeconds": seconds}});
    hub.patch(&path, lease_of(1)).await;
    let cluster = hub
        .condition(
            &name,
            AVAILABLE,
            "Unknown",
            "ManagedClusterLeaseUpdateStopped",
        )
        .await;
    let addon = hub
        .once(&search, "unknown", |addon| {
            condition(addon, "Available").is_some_and(|it| it["status"] == "Unknown")
        })
        .await;
    let (own, of_cluster) = (
        condition(&addon, "Available").unwrap(),
        condition(&cluster, AVAILABLE).unwrap(),
    );
    for key in ["reason", "message"] {
        assert_eq!(own[key], of_cluster[key]);
    }
    assert_eq!(
        condition(&addon, "Progressing").unwrap()["reason"],
        "Completed"
    );
    hub.shows(&name, &[("search", "unreachable")]).await;
    // One that is being deleted is left alone.
    let object = hub.get(&leaving).await.body;
    assert_eq!(condition(&object, "Available"), None);
    hub.release(&leaving).await;

    // Back again, its agent has the last word.
    hub.patch(&path, lease_of(60)).await;
    hub.renew(&name).await;
    hub.report_available(&name, "True").await;
    // Until the controller knows it, it takes the add-on's word back.
    hub.once(&path, "reachable", |it| taints(it).is_empty())
        .await;
    hub.addon_is(&search, "True").await;
    hub.shows(&name, &[("search", "available")]).await;
    hub.delete(&search).await;
    hub.shows(&name, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_add_on_with_any_name_harms_nobody() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("hostile");
    hub.accepted(&name).await;
    let fits = "a".repeat(63 - "addon-".len());
    let longest = [
        "b".repeat(63),
        "c".repeat(63),
        "d".repeat(63),
        "e".repeat(61),
    ]
    .join(".");
    let too_long = format!("{fits}a");
    for addon in [&*fits, &too_long, &longest, "with.dots", "0", "addon-addon"] {
        hub.addon(&name, addon, json!({})).await;
    }
    hub.report_available(&name, "True").await;
    let shown = ["0", &fits, "addon-addon", "with.dots"].map(|addon| (addon, "unreachable"));
    let object = hub.shows(&name, &shown).await;
    assert_eq!(taints(&object), [""; 0]);
    hub.report_available(&name, "Unknown").await;
    for addon in [&too_long, &longest] {
        let path = format!("{}/{addon}", crate::lifecycle::hub::addons_path(&name));
        hub.once(&path, "unknown", |addon| {
            condition(addon, "Available").is_some_and(|it| it["status"] == "Unknown")
        })
        .await;
    }
    hub.delete(&cluster_path(&name)).await;
    hub.gone(&cluster_path(&name)).await;
}
