//! The recorded reviews, decided with a hub: the same responses as with files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_review::Webhook;
use berth_webhooks::shipped;
use serde_json::Value;

use super::{gate, review};
use berth_fakes::FakeHub;
use berth_testkit::{Gate, recorded, repository};

#[tokio::test]
async fn the_recorded_reviews_are_decided_as_with_files() {
    let hub = FakeHub::start();
    replay(&hub).await;
    assert!(hub.reviews().len() > 20, "the hub was asked");
}

#[tokio::test]
async fn over_tls_too() {
    let hub = FakeHub::start_tls();
    replay(&hub).await;
    assert!(hub.reviews().len() > 20, "the hub was asked");
}

async fn replay(hub: &FakeHub) {
    let (with_files, with_hub) = (Gate::with_files(&[]), gate(hub));
    let mut replayed = 0;
    for entry in std::fs::read_dir(repository("tests/data/reviews")).unwrap() {
        let case = entry.unwrap().file_name().into_string().unwrap();
        if !case.ends_with(".json") || case.ends_with(".ocm.json") {
            continue;
        }
        let body: Value = serde_json::from_slice(&recorded(&case)).unwrap();
        let path = shipped(webhook(&case, &body)).path;
        let ours = review(&with_hub, path, &body, "10s").await;
        let theirs = review(&with_files, path, &body, "10s").await;
        assert_eq!(
            without_stamps(ours),
            without_stamps(theirs),
            "{case}, with a hub and with files"
        );
        replayed += 1;
    }
    assert_eq!(replayed, 49);
    for asked in hub.asked() {
        assert!(asked.is_permitted(), "{asked:?}");
    }
}

fn webhook(case: &str, review: &Value) -> Webhook {
    let mutates = case.ends_with(".mutate.json");
    let resource = review["request"]["resource"]["resource"].as_str().unwrap();
    let serves = |webhook: &Webhook| webhook.mutates() == mutates && webhook.resource() == resource;
    Webhook::ALL.into_iter().find(serves).unwrap()
}

/// The two gates stamped taints at different times.
fn without_stamps(mut response: Value) -> Value {
    if let Some(patch) = response["patch"].as_str() {
        let mut patch: Value = serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
        for operation in patch.as_array_mut().unwrap() {
            if operation["path"].as_str().unwrap().ends_with("/timeAdded") {
                operation["value"] = "stamped".into();
            }
        }
        response["patch"] = patch;
    }
    response
}
