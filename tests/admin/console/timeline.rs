//! The screen Timeline: Events and changes of clusters, live.

use std::ops::Deref;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Console, blocking};
use crate::accept::cluster_path;
use crate::house::House;
use berth_testkit::browser::{play, stage};
use berth_testkit::cluster::{Cluster, fresh, rule};

/// Sends an Event about a ManagedCluster as its agent does, seen twice.
async fn event<C: Deref<Target = Cluster>>(house: &House<C>, name: &str) {
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"name": format!("{name}.1"), "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "series": {"count": 2, "lastObservedTime": format!("{:.6}", Timestamp::now())},
        "reportingController": "klusterlet-agent", "reportingInstance": "agent1", "action": "Unavailable",
        "type": "Warning", "reason": "Unavailable", "note": "its API server does not answer\u{202e}",
        "regarding": {"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "name": name},
    });
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    house.admin.post(path, &event).await.unwrap().ok();
}

/// The entries of an answer.
fn entries(answer: &Value) -> &Vec<Value> {
    answer["entries"].as_array().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_is_told_with_who_did_it() {
    let house = House::shared().await;
    let [name, other] = [fresh("happens"), fresh("happens")];
    house.managed_cluster(&name, &[]).await;
    house.managed_cluster(&other, &[]).await;
    let console = blocking(|| Console::start(&house.admin, &[]));
    let cookie = blocking(|| console.sign_in());
    let query = format!("screen=timeline&cluster={name}&set=&kind=&reason=");
    let mut screen = blocking(|| console.events(&cookie, &query));
    let accepted = json!({"spec": {"hubAcceptsClient": true}});
    let answer = house.admin.merge(&cluster_path(&name), &accepted).await;
    answer.unwrap().ok();
    let find = |it: &Value, source: &str, reason: &str| -> Option<Value> {
        let mut all = entries(it).iter();
        let is = |it: &&Value| it["source"] == *source && it["reason"] == *reason;
        all.find(is).cloned()
    };
    // The controller says so by a condition, the agent something by an Event.
    event(&house, &name).await;
    let is_told = |it: &Value| {
        find(it, "event", "Unavailable").is_some()
            && find(it, "condition", "HubAcceptedManagedCluster").is_some()
    };
    let shown = blocking(|| screen.until("answer", is_told));
    let event = find(&shown, "event", "Unavailable").unwrap();
    for (field, expected) in [
        ("kind", json!("ManagedCluster")),
        ("name", json!(name)),
        ("cluster", json!(name)),
        ("warning", json!(true)),
        ("count", json!(2)),
        ("first", json!("2026-01-01T00:00:00Z")),
        ("by", json!("klusterlet-agent")),
        ("note", json!(r"its API server does not answer\u{202e}")),
    ] {
        assert_eq!(event[field], expected, "{event}");
    }
    let condition = find(&shown, "condition", "HubAcceptedManagedCluster").unwrap();
    let note = condition["note"].as_str().unwrap();
    assert!(
        note.starts_with("is True: HubClusterAdminAccepted"),
        "{note}"
    );
    assert_eq!(condition["by"], "berth-acceptance", "{condition}");
    // Of a person the object says what the person's program is called.
    let tainted = house.berth(&format!("taint {name} a=b:NoSelect")).await;
    assert_eq!(tainted.code, 0, "{tainted:?}");
    let wrote = |it: &Value| {
        let write = find(it, "write", "Written");
        write.filter(|it| it["note"].to_string().contains("spec.taints"))
    };
    let shown = blocking(|| screen.until("answer", |it| wrote(it).is_some()));
    assert_eq!(wrote(&shown).unwrap()["by"], "berth", "{shown}");
    assert!(entries(&shown).iter().all(|it| it["cluster"] == *name));

    // Filters of a bad key are refused in words, as of any screen.
    let mut bad = blocking(|| console.events(&cookie, "screen=timeline&age=1"));
    let failure = blocking(|| bad.until("failure", |_| true));
    assert_eq!(failure["error"]["reason"], "BadRequest", "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_list_clusters_only_sees_their_changes_and_why_there_are_no_events() {
    let house = House::shared().await;
    let name = fresh("partly");
    house.managed_cluster(&name, &[]).await;
    let accepted = json!({"spec": {"hubAcceptsClient": true}});
    let answer = house.admin.merge(&cluster_path(&name), &accepted).await;
    answer.unwrap().ok();
    let person = house.cluster.user(&fresh("partly"), &[]).await;
    let group = "cluster.open-cluster-management.io";
    let rules = [rule(&["list", "watch"], group, &["managedclusters"], &[])];
    house.cluster.grant(&person, &rules).await;
    let console = blocking(|| Console::start(&person, &[]));
    let cookie = blocking(|| console.sign_in());
    let query = format!("screen=timeline&cluster={name}");
    let mut screen = blocking(|| console.events(&cookie, &query));
    let shown = blocking(|| screen.until("answer", |it| !entries(it).is_empty()));
    assert!(entries(&shown).iter().all(|it| it["source"] != "event"));
    let notes = shown["notes"].to_string();
    assert!(
        notes.contains("Events cannot be shown: ") && notes.contains("events.events.k8s.io"),
        "{notes}"
    );
}

#[tokio::test]
async fn a_person_sees_what_is_new_since_the_last_look() {
    let Some(web) = stage() else {
        return;
    };
    let (house, _berth) = House::private().await;
    let [name, other] = [fresh("timeline"), fresh("timeline")];
    house.managed_cluster(&name, &[]).await;
    house.managed_cluster(&other, &[]).await;
    let accepted = json!({"spec": {"hubAcceptsClient": true}});
    let answer = house.admin.merge(&cluster_path(&name), &accepted).await;
    answer.unwrap().ok();
    event(&house, &name).await;
    let person = house.cluster.user(&fresh("nobody"), &[]).await;
    let of_admin = Console::start(&house.admin, &[]);
    let of_nobody = Console::start(&person, &[]);
    play(
        &web.join("tests/timeline.mjs"),
        &[
            ("CONSOLE", &of_admin.address()),
            ("CONSOLE_NOBODY", &of_nobody.address()),
            ("BERTH", berth_testkit::program().to_str().unwrap()),
            ("KUBECONFIG", house.admin.kubeconfig.to_str().unwrap()),
            ("CLUSTER", &name),
            ("OTHER", &other),
        ],
    )
    .await;
}
