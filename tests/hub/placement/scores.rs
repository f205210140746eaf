//! Scores, reasons and counts, behind the gate `PlacementScores`.

use berth_placement::{Gates, Settings};
use berth_testkit::cluster::fresh;
use berth_testkit::process::once;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::placement::hub::{Hub, clusters_of};

fn gated() -> Settings {
    Settings {
        gates: Gates {
            scores: true,
            ..Gates::default()
        },
        ..Settings::default()
    }
}

/// A placement whose only prioritizer is the score `s` of the AddOnPlacementScores `r`.
fn spec(limit: &str) -> Value {
    let add_on = json!({"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}});
    json!({
        "scoreRateLimit": limit,
        "prioritizerPolicy": {"mode": "Exact", "configurations": [{"scoreCoordinate": add_on, "weight": 2}]},
    })
}

/// The scores in a PlacementDecision.
fn scores_of(decision: &Value) -> Vec<Option<i64>> {
    let decisions = decision["status"]["decisions"].as_array();
    let decisions = decisions.into_iter().flatten();
    decisions.map(|it| it["score"].as_i64()).collect()
}

/// Waits for these scores in the first PlacementDecision of `p`, and returns it.
async fn scores(hub: &Hub, expected: &[i64]) -> Value {
    let expected: Vec<_> = expected.iter().copied().map(Some).collect();
    let path = format!("{}/p-decision-1", hub.decisions());
    let what = format!("the scores {expected:?}");
    once(&hub.admin, &path, &what, |it| scores_of(it) == expected).await
}

/// The first PlacementDecision of `p` after the controller has seen all earlier changes: it has set up a later placement.
async fn decision_later(hub: &Hub) -> Value {
    let name = fresh("later");
    hub.place_as(&name, json!({"numberOfClusters": 0})).await;
    hub.settled(&name).await;
    let path = format!("{}/p-decision-1", hub.decisions());
    hub.admin.get(&path).await.unwrap().ok().clone()
}

/// Waits until `p` says when scores were written last, later than `before`.
async fn written_after(hub: &Hub, before: Option<Timestamp>) -> Timestamp {
    let time = |it: &Value| {
        let time = it["status"]["lastScoreUpdateTime"].as_str()?;
        Some(time.parse::<Timestamp>().unwrap())
    };
    let is_later = |it: &Value| time(it).is_some_and(|time| Some(time) > before);
    let placement = once(&hub.admin, &hub.placement("p"), "a later time", is_later).await;
    time(&placement).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scores_wait_for_the_limit_and_clusters_do_not() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    for (name, value) in clusters.iter().zip([7, 0]) {
        hub.score(name, "r", "s", value).await;
    }
    let mut placing = hub.start_with(gated()).await;
    hub.place(spec("1h")).await;
    let decision = scores(&hub, &[14, 0]).await;
    let listed = &decision["status"]["decisions"];
    assert_eq!(
        *listed,
        json!([
            {"clusterName": clusters[0], "reason": "AddOn/r/s 7 x 2", "score": 14},
            {"clusterName": clusters[1], "reason": "AddOn/r/s 0 x 2", "score": 0},
        ])
    );
    written_after(&hub, None).await;
    let message = hub
        .condition("PlacementSatisfied", "AllDecisionsScheduled")
        .await;
    assert_eq!(
        message,
        "All cluster decisions scheduled; clusters in the sets: 2; match no predicate: 0; taint not tolerated: 0; ranked: 2; selected: 2"
    );
    hub.score(&clusters[0], "r", "s", 20).await;
    let same = decision_later(&hub).await;
    assert_eq!(same, decision, "a score alone waits");
    // A successor has nothing else to write.
    placing.kill().await;
    let _successor = hub.start_with(gated()).await;
    assert_eq!(decision_later(&hub).await, decision);
    let third = hub.cluster(&hub.set, json!({})).await;
    let mut all = [(&clusters[0], 40), (&clusters[1], 0), (&third, 0)];
    all.sort_unstable();
    let expected: Vec<_> = all.iter().map(|(_, score)| *score).collect();
    let decision = scores(&hub, &expected).await;
    assert_eq!(clusters_of(&decision).len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_score_is_written_when_the_limit_is_over() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    hub.score(&clusters[0], "r", "s", 1).await;
    let _placing = hub.start_with(gated()).await;
    hub.place(spec("3s")).await;
    scores(&hub, &[2]).await;
    let mut last = written_after(&hub, None).await;
    for value in 2..4 {
        hub.score(&clusters[0], "r", "s", value).await;
        scores(&hub, &[2 * i64::from(value)]).await;
        let next = written_after(&hub, Some(last)).await;
        let since = next.duration_since(last).as_secs();
        assert!(since >= 3, "after {since} s");
        last = next;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_gate_no_score_is_written_and_stored_ones_stay() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    hub.score(&clusters[0], "r", "s", 1).await;
    let mut placing = hub.start_with(gated()).await;
    hub.place(spec("1s")).await;
    let decision = scores(&hub, &[2]).await;
    let last = written_after(&hub, None).await;
    placing.kill().await;
    let _without = hub.start().await;
    hub.score(&clusters[0], "r", "s", 5).await;
    let sentence = "All cluster decisions scheduled";
    let is_plain = |it: &Value| it["status"]["conditions"][0]["message"] == sentence;
    once(&hub.admin, &hub.placement("p"), sentence, is_plain).await;
    assert_eq!(decision_later(&hub).await, decision);
    hub.place_as("q", spec("1s")).await;
    let path = format!("{}/q-decision-1", hub.decisions());
    let is_listed = |it: &Value| clusters_of(it).len() == 1;
    let plain = once(&hub.admin, &path, "a cluster", is_listed).await;
    let listed = json!([{"clusterName": clusters[0], "reason": ""}]);
    assert_eq!(plain["status"]["decisions"], listed);
    hub.settled("q").await;
    let q = hub.admin.get(&hub.placement("q")).await.unwrap();
    assert_eq!(q.ok()["status"]["lastScoreUpdateTime"], Value::Null);
    assert_eq!(written_after(&hub, None).await, last);
}
