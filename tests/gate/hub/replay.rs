//! The recorded reviews, decided with a hub: the same responses as with files.

use berth_webhooks::shipped;
use serde_json::Value;

use super::{gate, review};
use crate::replay::{cases, patched, webhook, without_stamps};
use berth_fakes::FakeHub;
use berth_testkit::{Gate, recorded};

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
    for case in cases() {
        let body: Value = serde_json::from_slice(&recorded(&format!("{case}.json"))).unwrap();
        let path = shipped(webhook(&case, &body)).path;
        let ours = review(&with_hub, path, &body, "10s").await;
        let theirs = review(&with_files, path, &body, "10s").await;
        // The gates may have decided in different seconds: the objects are compared without the stamps, and all of the
        // response but the patch.
        let object = &body["request"]["object"];
        assert_eq!(
            without_stamps(patched(object, &ours)),
            without_stamps(patched(object, &theirs)),
            "{case}, with a hub and with files"
        );
        assert_eq!(
            without_patch(ours),
            without_patch(theirs),
            "{case}, with a hub and with files"
        );
    }
    for asked in hub.asked() {
        assert!(asked.is_permitted(), "{asked:?}");
    }
}

fn without_patch(mut response: Value) -> Value {
    response.as_object_mut().unwrap().remove("patch");
    response
}
