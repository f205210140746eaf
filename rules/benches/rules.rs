//! Measures the rules for a decoded review. `cargo bench -p berth-rules`.

#![allow(missing_docs, reason = "made by divan's macros")]
#![allow(clippy::unwrap_used, reason = "a benchmark")]

use berth_rules::object::Cluster;
use berth_rules::{Answer, Answers, Change, MutateCluster, Rules, Settings, ValidateCluster, url};
use divan::{AllocProfiler, Bencher, black_box};

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

const STORED: &str = r#"{"metadata":{"name":"c1","labels":{"cluster.open-cluster-management.io/clusterset":"a"}},
    "spec":{"hubAcceptsClient":true,"leaseDurationSeconds":60,
        "managedClusterClientConfigs":[{"url":"https://api.c1.example.com:6443"}],
        "taints":[{"key":"gpu","value":"a100","effect":"NoSelect","timeAdded":"2026-11-21T01:09:21Z"}]}}"#;

/// Acceptance, set and taint change in one write, so that many rules apply.
const EVERYTHING: &str = r#"{"metadata":{"name":"c1","labels":{"cluster.open-cluster-management.io/clusterset":"b"}},
    "spec":{"hubAcceptsClient":false,"leaseDurationSeconds":90,
        "managedClusterClientConfigs":[{"url":"https://api.c1.example.com:8443"}],
        "taints":[{"key":"gpu","value":"h100","effect":"NoSelect"}]}}"#;

const WRITES: [&str; 2] = ["nothing guarded", "everything"];

fn change(write: &str) -> Change<'static, Cluster<'static>> {
    let new = if write == "everything" {
        EVERYTHING
    } else {
        STORED
    };
    Change {
        name: "c1",
        namespace: "",
        user: "alice",
        new: serde_json::from_str(new).unwrap(),
        old: Some(serde_json::from_str(STORED).unwrap()),
    }
}

#[divan::bench(args = WRITES)]
fn validate(bencher: Bencher<'_, '_>, write: &str) {
    let (change, settings) = (change(write), Settings::default());
    let now = "2026-11-21T12:00:00Z".parse().unwrap();
    bencher.bench_local(|| {
        let mut case = ValidateCluster::examine(black_box(&change), &settings, now);
        let answers: Vec<_> = case
            .take_questions()
            .into_iter()
            .map(|question| (question, Answer::No))
            .collect();
        case.decide(&change, &settings, Answers::new(&answers))
    });
}

#[divan::bench(args = WRITES)]
fn mutate(bencher: Bencher<'_, '_>, write: &str) {
    let (change, settings) = (change(write), Settings::default());
    let now = "2026-11-21T12:00:00Z".parse().unwrap();
    bencher.bench_local(|| {
        let case = MutateCluster::examine(black_box(&change), &settings, now);
        case.decide(&change, &settings, Answers::default())
    });
}

#[divan::bench]
fn decode_a_cluster(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| serde_json::from_str::<Cluster<'_>>(black_box(STORED)).unwrap());
}

#[divan::bench]
fn read_a_url(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| {
        url::is_https_with_host(black_box("https://api.c1.example.com:6443/path?q=1#f"))
    });
}
