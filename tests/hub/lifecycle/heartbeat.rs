//! Leases, silent agents, clocks and taints.
//!
//! With a lease duration of one second, an agent counts as silent after five seconds.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::lifecycle::hub::{
    ACCEPTED, AVAILABLE, CLOCK_SYNCED, HubWithReconcilers, UNAVAILABLE, UNREACHABLE, cluster_path,
    condition, config, lease_path, taints,
};
use berth_testkit::cluster::{AsAdmin, fresh};

const STOPPED: &str = "ManagedClusterLeaseUpdateStopped";
const LABEL: &str = "open-cluster-management.io/cluster-name";

fn impatient() -> Value {
    json!({"leaseDurationSeconds": 1})
}

/// Since when a condition has its status.
fn since(cluster: &Value, type_: &str) -> Value {
    condition(cluster, type_).unwrap()["lastTransitionTime"].clone()
}

fn not_tainted(cluster: &Value) -> bool {
    taints(cluster).is_empty()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_renews_is_not_doubted() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("renewing");
    hub.accepted_with(&name, impatient()).await;
    hub.report_available(&name, "True").await;
    let path = cluster_path(&name);
    let before = hub.once(&path, "without taints", not_tainted).await;
    let end = Instant::now() + Duration::from_millis(6300);
    while Instant::now() < end {
        hub.renew(&name).await;
        tokio::time::sleep(Duration::from_millis(900)).await;
        // Renewals themselves are written down by nobody, but for the clock's condition.
        let now = hub.get(&path).await.body;
        assert_eq!(condition(&now, AVAILABLE), condition(&before, AVAILABLE));
        assert!(not_tainted(&now), "{now}");
    }
    let synced = hub.get(&path).await.body;
    assert_eq!(condition(&synced, CLOCK_SYNCED).unwrap()["status"], "True");
    let told = hub.events(&name, &name, "AvailableUnknown").await;
    assert!(told.is_empty(), "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_is_told_once_and_only_the_agent_takes_it_back() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("silent");
    let path = cluster_path(&name);
    let own = json!([
        {"key": "team.example/first", "value": "x", "effect": "NoSelect"},
        {"key": UNREACHABLE, "effect": "PreferNoSelect"},
    ]);
    hub.accepted_with(&name, json!({"leaseDurationSeconds": 1, "taints": own}))
        .await;
    let tainted = hub
        .once(&path, "tainted", |object| taints(object).len() == 3)
        .await;
    // The user's second one comes after ours.
    let mut list = tainted["spec"]["taints"].as_array().unwrap().clone();
    assert_eq!(list[2]["effect"], "NoSelect");
    let last = json!({"key": "team.example/last", "effect": "NoSelectIfNew", "timeAdded": "2026-01-02T03:04:05Z"});
    list.push(last.clone());
    hub.patch(&path, json!({"spec": {"taints": list}})).await;
    hub.renew(&name).await;
    hub.report_available(&name, "True").await;
    let users = ["team.example/first", UNREACHABLE, "team.example/last"];
    let cluster = hub
        .once(&path, "without our taint", |object| taints(object) == users)
        .await;
    assert_eq!(cluster["spec"]["taints"][1]["effect"], "PreferNoSelect");
    assert_eq!(cluster["spec"]["taints"][2], last);

    let cluster = hub.condition(&name, AVAILABLE, "Unknown", STOPPED).await;
    let message = &condition(&cluster, AVAILABLE).unwrap()["message"];
    assert_eq!(message, "Registration agent stopped updating its lease.");
    let lapsed = since(&cluster, AVAILABLE);
    let cluster = hub
        .once(&path, "tainted again", |object| taints(object).len() == 4)
        .await;
    assert_eq!(&taints(&cluster)[..3], users);
    assert_eq!(cluster["spec"]["taints"][2], last);
    let ours = &cluster["spec"]["taints"][3];
    assert_eq!(
        (&ours["key"], &ours["effect"], &ours["value"]),
        (&json!(UNREACHABLE), &json!("NoSelect"), &Value::Null)
    );
    let event = hub.event(&name, &name, "AvailableUnknown").await;
    assert_eq!(event["type"], "Warning");
    assert_eq!(event["regarding"]["kind"], "ManagedCluster");
    assert_eq!(
        event["note"],
        format!(
            "The {name} is successfully imported. However, the connection check from the managed cluster to the hub \
             cluster has failed"
        )
    );

    // A renewal alone proves nothing: the hub never says that a cluster works.
    hub.renew(&name).await;
    hub.quiet(std::slice::from_ref(&path)).await;
    let cluster = hub.get(&path).await.body;
    assert_eq!(condition(&cluster, AVAILABLE).unwrap()["status"], "Unknown");
    assert_eq!(since(&cluster, AVAILABLE), lapsed);
    let told = hub.events(&name, &name, "AvailableUnknown").await;
    assert_eq!(told.len(), 1, "{told:?}");

    hub.renew(&name).await;
    hub.report_available(&name, "True").await;
    hub.once(&path, "without our taint", |object| taints(object) == users)
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_does_not_work_is_tainted_otherwise_than_a_silent_one() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("sick");
    let path = cluster_path(&name);
    hub.accepted_with(&name, impatient()).await;
    hub.once(&path, "unreachable", |it| taints(it) == [UNREACHABLE])
        .await;
    hub.report_available(&name, "False").await;
    hub.once(&path, "unavailable", |it| taints(it) == [UNAVAILABLE])
        .await;
    hub.report_available(&name, "True").await;
    hub.once(&path, "without taints", not_tainted).await;
    hub.report_available(&name, "False").await;
    hub.once(&path, "unavailable", |it| taints(it) == [UNAVAILABLE])
        .await;
    hub.condition(&name, AVAILABLE, "Unknown", STOPPED).await;
    hub.once(&path, "unreachable", |it| taints(it) == [UNREACHABLE])
        .await;
}

/// The lease of both is an hour old by its agent's clock, and the hub knows that one of the clocks is right.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_leader_believes_the_age_of_a_lease_only_where_the_clock_is_right() {
    let mut hub = HubWithReconcilers::private(config()).await;
    let (wrong, right) = (fresh("wrongclock"), fresh("rightclock"));
    let hour_ago = || Timestamp::now() - SignedDuration::from_hours(1);
    for name in [&wrong, &right] {
        hub.accepted(name).await;
        hub.report_available(name, "True").await;
    }
    hub.renew_at(&wrong, hour_ago()).await;
    hub.condition(
        &wrong,
        CLOCK_SYNCED,
        "False",
        "ManagedClusterClockOutOfSync",
    )
    .await;
    hub.renew(&right).await;
    hub.condition(&right, CLOCK_SYNCED, "True", "ManagedClusterClockSynced")
        .await;
    hub.reconcilers.stop().await;
    hub.renew_at(&right, hour_ago()).await;
    hub.restart(config()).await;
    hub.condition(&right, AVAILABLE, "Unknown", STOPPED).await;
    hub.quiet(&[cluster_path(&wrong)]).await;
    let cluster = hub.get(&cluster_path(&wrong)).await.body;
    assert_eq!(condition(&cluster, AVAILABLE).unwrap()["status"], "True");
    for name in [&wrong, &right] {
        hub.delete(&cluster_path(name)).await;
        hub.gone(&cluster_path(name)).await;
    }
    hub.reconcilers.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denied_cluster_is_watched_all_the_same() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("evicted");
    hub.accepted_with(&name, impatient()).await;
    hub.report_available(&name, "True").await;
    let denial = json!({"spec": {"hubAcceptsClient": false}});
    hub.patch(&cluster_path(&name), denial).await;
    hub.condition(&name, ACCEPTED, "False", "HubClusterAdminDenied")
        .await;
    hub.condition(&name, AVAILABLE, "Unknown", STOPPED).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_is_gone_is_made_anew_and_none_for_a_cluster_that_leaves() {
    let hub = HubWithReconcilers::shared().await;
    let name = fresh("leaseless");
    let object = hub.accepted(&name).await;
    hub.report_available(&name, "True").await;
    hub.delete(&lease_path(&name)).await;
    let uid = &object["metadata"]["uid"];
    let anew = hub
        .once(&lease_path(&name), "made anew", |it| {
            it["metadata"]["uid"] != *uid
        })
        .await;
    assert_eq!(anew["metadata"]["labels"], json!({LABEL: name}));
    assert_eq!(anew["spec"]["holderIdentity"], "managed-cluster-lease");
    let renewed: Timestamp = anew["spec"]["renewTime"].as_str().unwrap().parse().unwrap();
    assert!(Timestamp::now().duration_since(renewed) < SignedDuration::from_secs(20));

    // Somebody else holds the cluster, so that it is there while it is being deleted.
    let cluster = hub.get(&cluster_path(&name)).await.body;
    let mut finalizers = cluster["metadata"]["finalizers"].clone();
    finalizers
        .as_array_mut()
        .unwrap()
        .push("example.com/held".into());
    let held = json!({"metadata": {"finalizers": finalizers}});
    hub.patch(&cluster_path(&name), held).await;
    hub.delete(&cluster_path(&name)).await;
    // It is seen to be deleted, or the lease would be made anew.
    hub.once(&cluster_path(&name), "being removed", |object| {
        condition(object, "Deleting").is_some()
    })
    .await;
    hub.delete(&lease_path(&name)).await;
    hub.condition(&name, AVAILABLE, "Unknown", STOPPED).await;
    assert_eq!(hub.get(&lease_path(&name)).await.code, 404);
    hub.patch(
        &cluster_path(&name),
        json!({"metadata": {"finalizers": null}}),
    )
    .await;
    hub.gone(&cluster_path(&name)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_was_there_before_is_adopted_as_it_is() {
    let hub = HubWithReconcilers::shared().await;
    for labels in [
        json!({"mine": "yes"}),
        json!({"mine": "yes", LABEL: "other"}),
        json!({"mine": "yes", LABEL: "other", "open-cluster-management.io/addon-name": "a"}),
    ] {
        let name = fresh("leased");
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        hub.create("/api/v1/namespaces", &namespace).await;
        let then = Timestamp::now() - SignedDuration::from_secs(30);
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "managed-cluster-lease", "namespace": name, "labels": labels},
            "spec": {"holderIdentity": "somebody", "renewTime": format!("{then:.6}")},
        });
        let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{name}/leases");
        let before = hub.create(&leases, &lease).await;
        hub.accepted(&name).await;
        let has_label = labels[LABEL].is_string() && labels.as_object().unwrap().len() == 2;
        let lease = hub
            .once(&lease_path(&name), "adopted", |it| {
                has_label || it["metadata"]["labels"][LABEL] == *name
            })
            .await;
        assert_eq!(lease["metadata"]["uid"], before["metadata"]["uid"]);
        assert_eq!(lease["metadata"]["labels"]["mine"], "yes");
        assert_eq!(lease["spec"], before["spec"]);
        hub.report_available(&name, "True").await;
        hub.once(&cluster_path(&name), "without taints", not_tainted)
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_absurd_lease_duration_makes_nobody_silent() {
    let hub = HubWithReconcilers::shared().await;
    let mut paths = Vec::new();
    for seconds in [-1, i32::MIN, 0, i32::MAX, 429_496_730] {
        let name = fresh("absurd");
        hub.accepted_with(&name, json!({"leaseDurationSeconds": seconds}))
            .await;
        hub.report_available(&name, "True").await;
        hub.once(&cluster_path(&name), "without taints", not_tainted)
            .await;
        hub.renew(&name).await;
        hub.condition(&name, CLOCK_SYNCED, "True", "ManagedClusterClockSynced")
            .await;
        paths.push(cluster_path(&name));
    }
    for cluster in hub.quiet(&paths).await {
        assert_eq!(condition(&cluster, AVAILABLE).unwrap()["status"], "True");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_says_nothing_harms_nobody() {
    let hub = HubWithReconcilers::shared().await;
    for empty in [
        json!({"spec": null}),
        json!({"spec": {"renewTime": null}}),
        json!({"spec": {"renewTime": null, "holderIdentity": null, "leaseDurationSeconds": 1}}),
    ] {
        let name = fresh("empty");
        hub.accepted(&name).await;
        hub.report_available(&name, "True").await;
        hub.patch(&lease_path(&name), empty).await;
        hub.renew(&name).await;
        let cluster = hub
            .condition(&name, CLOCK_SYNCED, "True", "ManagedClusterClockSynced")
            .await;
        assert_eq!(condition(&cluster, AVAILABLE).unwrap()["status"], "True");
    }
    // A lease without a time is no renewal for ever.
    let name = fresh("empty");
    hub.accepted_with(&name, impatient()).await;
    hub.report_available(&name, "True").await;
    hub.patch(&lease_path(&name), json!({"spec": null})).await;
    hub.condition(&name, AVAILABLE, "Unknown", STOPPED).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_off_is_told_and_silences_nobody() {
    let hub = HubWithReconcilers::shared().await;
    let two_hours = SignedDuration::from_hours(2);
    for off in [two_hours, -two_hours] {
        let name = fresh("clock");
        let path = cluster_path(&name);
        hub.accepted(&name).await;
        hub.report_available(&name, "True").await;
        let wrong = || Timestamp::now() + off;
        hub.renew_at(&name, wrong()).await;
        let cluster = hub
            .condition(&name, CLOCK_SYNCED, "False", "ManagedClusterClockOutOfSync")
            .await;
        assert_eq!(
            condition(&cluster, CLOCK_SYNCED).unwrap()["message"],
            "The clock of hub and agent is out of sync. This may cause the Unknown status and affect agent \
             functionalities."
        );
        hub.renew(&name).await;
        let cluster = hub
            .condition(&name, CLOCK_SYNCED, "True", "ManagedClusterClockSynced")
            .await;
        assert_eq!(
            condition(&cluster, CLOCK_SYNCED).unwrap()["message"],
            "The clock of the managed cluster is synced with the hub."
        );

        // Another value of the annotation means nothing.
        let annotate = |value: &str| json!({"metadata": {"annotations": {"registration.open-cluster-management.io/skip-clock-sync-check": value}}});
        hub.patch(&path, annotate("yes")).await;
        hub.renew_at(&name, wrong()).await;
        hub.condition(&name, CLOCK_SYNCED, "False", "ManagedClusterClockOutOfSync")
            .await;
        hub.patch(&path, annotate("true")).await;
        hub.renew_at(&name, wrong()).await;
        let cluster = hub
            .condition(&name, CLOCK_SYNCED, "True", "ManagedClusterClockSynced")
            .await;
        assert_eq!(condition(&cluster, AVAILABLE).unwrap()["status"], "True");
    }
}
