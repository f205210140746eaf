//! Measures a review without the network, from the bytes of a request to the bytes of its response: time and allocations. `cargo bench -p berth-review`.

#![allow(missing_docs, reason = "made by divan's macros")]
#![allow(clippy::unwrap_used, reason = "a benchmark")]

use std::sync::Arc;
use std::time::Duration;

use berth_review::{FilesAnswerer, Gate, HubFiles, Webhook};
use berth_rules::FeatureGates;
use divan::{AllocProfiler, Bencher};
use jiff::Timestamp;
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// The recorded reviews, each with its webhook.
const REVIEWS: [(&str, Webhook); 4] = [
    ("update-unrelated-bob.validate", Webhook::ValidateCluster),
    ("update-unrelated-bob.mutate", Webhook::MutateCluster),
    ("create-taints-carol.mutate", Webhook::MutateCluster),
    (
        "relabel-set-a-to-set-b-alice-denied.validate",
        Webhook::ValidateCluster,
    ),
];

fn gate() -> (Runtime, Gate) {
    let hub =
        HubFiles::read(&[concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hub")]).unwrap();
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    (
        runtime,
        Gate::new(Arc::new(FilesAnswerer::new(hub)), FeatureGates::default()),
    )
}

fn body(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/reviews");
    std::fs::read(format!("{folder}/{name}.json")).unwrap()
}

#[divan::bench(args = REVIEWS.map(|(name, _)| name))]
fn answer(bencher: Bencher<'_, '_>, name: &str) {
    let (runtime, gate) = gate();
    let body = body(name);
    let webhook = REVIEWS
        .into_iter()
        .find(|(review, _)| *review == name)
        .unwrap()
        .1;
    let now = Timestamp::now();
    bencher.bench_local(|| {
        runtime.block_on(async {
            let deadline = Instant::now() + Duration::from_secs(10);
            gate.examine(webhook, divan::black_box(&body), now, deadline)
                .await
                .to_json()
        })
    });
}

/// For comparison: the same body as a tree of JSON values, before anything is decided.
#[divan::bench]
fn decode_into_a_tree_only(bencher: Bencher<'_, '_>) {
    let body = body(REVIEWS[0].0);
    bencher.bench_local(|| {
        serde_json::from_slice::<serde_json::Value>(divan::black_box(&body)).unwrap()
    });
}
