//! What one write of an attacker costs the thread of the controllers, on a hub with 10,000 clusters. To see the figures:
//! `cargo test --release -p berth-placement --lib costs -- --ignored --nocapture`

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Change, Hub, Known};
use crate::kinds::{Kind, read};
use crate::needs::Needs;
use crate::view::{Apart, Key};

const CLUSTERS: usize = 10_000;

fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let result = run();
    (result, begun.elapsed())
}

fn in_tier(values: usize) -> Value {
    let values: Vec<_> = (0..values).map(|it| format!("none-{it:05}")).collect();
    json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": values}]})
}

fn predicates(number: usize, values: usize, cel: Option<&str>) -> Value {
    let mut selector = json!({"labelSelector": in_tier(values)});
    if let Some(cel) = cel {
        selector["celSelector"] = json!({"celExpressions": [cel]});
    }
    json!(vec![json!({"requiredClusterSelector": selector}); number])
}

fn taints(number: usize) -> Value {
    let taint = |it| json!({"key": format!("example.com/taint-{it}"), "value": "v", "effect": "PreferNoSelect"});
    (0..number).map(taint).collect()
}

fn cluster(number: usize, is_hostile: bool) -> Value {
    let many = if is_hostile { 500 } else { 3 };
    let labels = (0..many).map(|it| (format!("example.com/label-{it}"), json!("v")));
    let mut labels: serde_json::Map<_, _> = labels.collect();
    labels.insert("tier".to_owned(), json!((number % 7).to_string()));
    let claim = |it| json!({"name": format!("claim-{it}"), "value": "v"});
    let claims: Value = (0..many).map(claim).collect();
    json!({
        "metadata": {"name": format!("cluster-{number:05}"), "labels": labels},
        "spec": {"hubAcceptsClient": true, "taints": taints(if is_hostile { 900 } else { 3 })},
        "status": {"clusterClaims": claims},
    })
}

fn placement(spec: Value) -> Value {
    json!({"metadata": {"namespace": "ns", "name": "p", "uid": "u"}, "spec": spec})
}

#[test]
#[ignore = "a measurement: takes minutes without optimization"]
#[allow(clippy::print_stdout, reason = "the figures")]
fn writes_of_an_attacker() {
    let needs = Needs::default();
    let mut hub = Hub::new();
    let everything = json!({"selectorType": "LabelSelector", "labelSelector": {}});
    hub.apply(&Change::Set("all".to_owned(), Some(everything)));
    hub.apply(&Change::Binding("ns".to_owned(), "all".to_owned(), true));
    for number in 0..CLUSTERS {
        let name = format!("cluster-{number:05}");
        hub.apply(&Change::Cluster(name, Some(cluster(number, false))));
    }
    for number in 0..CLUSTERS {
        let name = format!("cluster-{number:05}");
        hub.apply(&Change::Scores(name, Some((3, None))));
    }
    hub.view.most_steps.0 = super::super::apart::LARGE;

    let tolerations: Value = (0..1000)
        .map(|it| json!({"key": format!("none-{it}"), "operator": "Exists"}))
        .collect();
    let configurations: Value = (0..1000)
        .map(|it| json!({"weight": 1, "scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": format!("r{}", if it > 500 { String::new() } else { it.to_string() }), "scoreName": "s"}}}))
        .collect();
    let groups: Value = (0..1000)
        .map(|it| json!({"groupName": format!("g{it}"), "groupClusterSelector": {"labelSelector": in_tier(1)}}))
        .collect();
    for (what, spec) in [
        (
            "usual",
            json!({"numberOfClusters": 10, "predicates": predicates(1, 1, None)}),
        ),
        ("everything", json!({})),
        (
            "a group for each cluster",
            json!({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 1}}}),
        ),
        (
            "40 predicates",
            json!({"predicates": predicates(40, 1, None)}),
        ),
        (
            "24 predicates of 416 values",
            json!({"predicates": predicates(24, 416, None)}),
        ),
        (
            "a predicate of 10,000 values",
            json!({"predicates": predicates(1, 10_000, None)}),
        ),
        (
            "1,000 predicates",
            json!({"predicates": predicates(1000, 1, None)}),
        ),
        (
            "1,000 predicates of 10 values",
            json!({"predicates": predicates(1000, 10, None)}),
        ),
        ("1,000 tolerations", json!({"tolerations": tolerations})),
        (
            "1,000 prioritizers",
            json!({"prioritizerPolicy": {"configurations": configurations}}),
        ),
        (
            "1,000 groups",
            json!({"decisionStrategy": {"groupStrategy": {"decisionGroups": groups}}}),
        ),
    ] {
        let text = placement(spec.clone()).to_string();
        let (_, read) = timed(|| read(Kind::Placement, &text, &needs));
        let key = Key::new("ns", "p");
        let (_, applied) = timed(|| hub.apply(&Change::Placement(key.clone(), Some(spec))));
        if hub.view.is_large(&key) {
            let (apart, begun) = timed(|| hub.view.apart(&key, Known::default(), hub.now));
            let (evaluated, took) = timed(|| apart.map(Apart::run));
            let Some(evaluated) = evaluated else { continue };
            println!(
                "Placement, {what}: read {read:?}, applied {applied:?}, begun {begun:?}; apart {took:?}, {} steps, {} ns each",
                evaluated.steps,
                took.as_nanos() / u128::from(evaluated.steps)
            );
            let (_, waits) = timed(|| hub.view.postpone(&key, hub.now, hub.now));
            println!("  it waits: {waits:?}");
        } else {
            let (_, took) = timed(|| hub.view.evaluate(&key, hub.now));
            let (_, asked) = timed(|| hub.view.is_large(&key));
            println!(
                "Placement, {what}: read {read:?}, applied {applied:?}, evaluated {took:?}; is it large: {asked:?}"
            );
        }
    }

    let expression = |text: &str| json!({"predicates": predicates(1, 1, Some(text))});
    let sum = vec!["1"; 32 * 1024 / 2].join("+");
    let nested = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let list = format!("[{}].size() > 0", vec!["1"; 32 * 1024].join(","));
    for (what, text) in [
        ("a sum of 32 KiB", sum),
        ("a list of 64 KiB", list),
        ("200 nested lists", nested),
        (
            "a pattern of 60 KiB",
            format!("'a'.matches('{}')", "(a|b)*".repeat(10_000)),
        ),
    ] {
        let text = placement(expression(&text)).to_string();
        let (_, took) = timed(|| read(Kind::Placement, &text, &needs));
        println!("Placement with CEL, {what}: read {took:?}");
    }
    let many: Vec<_> = (0..1000)
        .map(|it| format!("managedCluster.metadata.labels['a'] == '{it}'"))
        .collect();
    let spec = json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": many}}}]});
    let text = placement(spec).to_string();
    let (_, took) = timed(|| read(Kind::Placement, &text, &needs));
    println!("Placement with 1,000 CEL expressions: read {took:?}");
    for (what, bytes) in [("64 KiB", 64 << 10), ("1.4 MiB", 1400 << 10)] {
        let item = json!({"key": "tier", "operator": "Exists"});
        let items = vec![item; bytes / 36];
        let spec = json!({"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchExpressions": items}}}]});
        let text = placement(spec).to_string();
        let (_, took) = timed(|| read(Kind::Placement, &text, &needs));
        println!("Placement of {what}, without the gate: read {took:?}");
        let small = json!({"requiredClusterSelector": {}});
        let text = placement(json!({"predicates": vec![small; bytes / 32]})).to_string();
        let (_, took) = timed(|| read(Kind::Placement, &text, &needs));
        println!("Placement of {what} of predicates, without the gate: read {took:?}");
    }

    for values in [1, 1_000, 10_000] {
        let selector = json!({"selectorType": "LabelSelector", "labelSelector": in_tier(values)});
        let set = json!({"metadata": {"name": "s"}, "spec": {"clusterSelector": selector}});
        let (_, read) = timed(|| read(Kind::Set, &set.to_string(), &needs));
        let (_, applied) = timed(|| hub.apply(&Change::Set("s".to_owned(), Some(selector))));
        println!("ManagedClusterSet of {values} values: read {read:?}, applied {applied:?}");
    }
    let items: Value = (0..1000)
        .map(|it| json!({"key": format!("none-{it}"), "operator": "DoesNotExist"}))
        .collect();
    let selector =
        json!({"selectorType": "LabelSelector", "labelSelector": {"matchExpressions": items}});
    let (_, applied) = timed(|| hub.apply(&Change::Set("s".to_owned(), Some(selector))));
    println!("ManagedClusterSet of 1,000 requirements: applied {applied:?}");

    for number in 0..1000 {
        let key = Key::new("ns", &format!("p{number}"));
        hub.apply(&Change::Placement(
            key,
            Some(json!({"predicates": predicates(100, 1, None)})),
        ));
    }
    for is_bound in [false, true] {
        let binding = Change::Binding("ns".to_owned(), "s".to_owned(), is_bound);
        let (woken, took) = timed(|| hub.apply(&binding).len());
        println!("Binding, {is_bound}: {took:?}, {woken} placements woken");
    }
    for bytes in [64 << 10, 256 << 10, 1400 << 10] {
        let many = |form: &dyn Fn(usize) -> Value, each: usize| -> Value {
            (0..bytes / each).map(form).collect()
        };
        let labels = (0..bytes / 32).map(|it| (format!("example.com/label-{it:06}"), json!("v")));
        let labels: serde_json::Map<_, _> = labels.collect();
        let taint = |it| json!({"key": format!("k{it}"), "effect": "NoSelect"});
        let claim = |it| json!({"name": format!("claim-{it:06}"), "value": "v"});
        for (what, object) in [
            (
                "labels",
                json!({"metadata": {"name": "c", "labels": labels}}),
            ),
            (
                "taints",
                json!({"metadata": {"name": "c"}, "spec": {"taints": many(&taint, 36)}}),
            ),
            (
                "claims",
                json!({"metadata": {"name": "c"}, "status": {"clusterClaims": many(&claim, 38)}}),
            ),
        ] {
            let text = object.to_string();
            let (_, took) = timed(|| read(Kind::Cluster, &text, &needs));
            println!(
                "ManagedCluster, {} KiB of {what}: read {took:?}",
                text.len() >> 10
            );
        }
    }
    let mut hostile = cluster(5, true);
    let text = hostile.to_string();
    let (_, took) = timed(|| read(Kind::Cluster, &text, &needs));
    println!("ManagedCluster of {} KiB: read {took:?}", text.len() >> 10);
    hostile["metadata"]["labels"] = json!({"tier": "9"});
    let change = Change::Cluster("cluster-00005".to_owned(), Some(hostile));
    let (woken, took) = timed(|| hub.apply(&change).len());
    println!(
        "ManagedCluster, applied: {took:?}, {woken} placements of 1,000 with 100 predicates woken"
    );

    for scores in [1_000, 20_000] {
        let items: Value = (0..scores)
            .map(|it| json!({"name": format!("score-{it:06}"), "value": 1}))
            .collect();
        let text = json!({"metadata": {"name": "r"}, "status": {"scores": items}}).to_string();
        let (_, took) = timed(|| read(Kind::Scores, &text, &needs));
        println!(
            "AddOnPlacementScore of {} KiB: read {took:?}",
            text.len() >> 10
        );
    }
    let scores = Change::Scores("cluster-00005".to_owned(), Some((3, None)));
    let (_, took) = timed(|| hub.apply(&scores));
    println!("AddOnPlacementScore, applied: {took:?}");
}
