use serde_json::json;

use crate::background::testing::AtWork;
use crate::writes::Propagation;

#[tokio::test]
async fn one_owner_that_stays_is_enough() {
    let hub = AtWork::start().await;
    let a = hub.owned("a", &[]).await;
    let b = hub.owned("b", &[]).await;
    hub.owned("c", &[("ConfigMap", "a", &a), ("ConfigMap", "b", &b)])
        .await;
    hub.delete("configmaps", "ns", "a", Propagation::Background)
        .await
        .expect("deleted");
    let owners = || {
        let c = hub.get("configmaps", "ns", "c")?;
        c.at(&["metadata", "ownerReferences"])?
            .as_array()
            .map(Vec::len)
    };
    hub.until("one owner left", || owners() == Some(1)).await;
    hub.delete("configmaps", "ns", "b", Propagation::Background)
        .await
        .expect("deleted");
    hub.until_gone("configmaps", "ns", "c").await;
    hub.end().await;
}

#[tokio::test]
async fn an_owner_that_never_was_is_one_that_is_gone() {
    let hub = AtWork::start().await;
    let a = hub.owned("a", &[]).await;
    // Another object has the name, a kind is not known, and a namespace is no place for owners of cluster-scoped objects.
    hub.owned("other-uid", &[("ConfigMap", "a", "not-its-uid")])
        .await;
    hub.owned("no-such-kind", &[("Endpoints", "a", "u")]).await;
    let owners = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": a }]);
    hub.create(
        "namespaces",
        "",
        json!({ "metadata": { "name": "misplaced", "ownerReferences": owners } }),
    )
    .await;
    hub.until_gone("configmaps", "ns", "other-uid").await;
    hub.settled().await;
    assert!(hub.get("configmaps", "ns", "no-such-kind").is_some());
    assert!(hub.get("namespaces", "", "misplaced").is_some());
    hub.end().await;
}

#[tokio::test]
async fn a_circle_does_not_hold_itself_up() {
    let hub = AtWork::start().await;
    let a = hub.owned("a", &[]).await;
    let b = hub.owned("b", &[("ConfigMap", "a", &a)]).await;
    let owners = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": b, "blockOwnerDeletion": true }]);
    hub.merge(
        "configmaps",
        "ns",
        "a",
        json!({ "metadata": { "ownerReferences": owners } }),
    )
    .await;
    hub.delete("configmaps", "ns", "a", Propagation::Foreground)
        .await
        .expect("begun");
    hub.until_gone("configmaps", "ns", "a").await;
    hub.until_gone("configmaps", "ns", "b").await;
    hub.end().await;
}

#[tokio::test]
async fn a_thousand_dependents_go() {
    let hub = AtWork::start().await;
    let a = hub.owned("a", &[]).await;
    for index in 0..1000 {
        hub.owned(&format!("b-{index}"), &[("ConfigMap", "a", &a)])
            .await;
    }
    // Deleted right away, so that the collector may not have heard of all of them.
    hub.delete("configmaps", "ns", "a", Propagation::Foreground)
        .await
        .expect("begun");
    hub.until_gone("configmaps", "ns", "a").await;
    for index in 0..1000 {
        assert!(
            hub.get("configmaps", "ns", &format!("b-{index}")).is_none(),
            "{index}"
        );
    }
    hub.end().await;
}
