use http::StatusCode;

use crate::client::{Client, SECRETS, hub};

#[tokio::test]
async fn pages_show_the_hub_as_it_was_at_the_first() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    for name in ["a", "b", "c", "d", "e"] {
        client.create(name, "x").await;
    }
    let first = client.get(&format!("{SECRETS}?limit=2")).await;
    assert_eq!(first.names(), ["a", "b"]);
    assert_eq!(first.body["metadata"]["remainingItemCount"], 3);
    assert!(
        first.body["items"][0]["kind"].is_null(),
        "items of built-in kinds have no type"
    );

    client.ask("DELETE", &format!("{SECRETS}/c"), None).await;
    client.create("bb", "x").await;
    let token = first.body["metadata"]["continue"].as_str().unwrap();
    let second = client
        .get(&format!("{SECRETS}?limit=2&continue={token}"))
        .await;
    assert_eq!(second.names(), ["c", "d"]);
    assert_eq!(
        second.body["metadata"]["resourceVersion"],
        first.body["metadata"]["resourceVersion"]
    );
    let token = second.body["metadata"]["continue"].as_str().unwrap();
    let third = client
        .get(&format!("{SECRETS}?limit=2&continue={token}"))
        .await;
    assert_eq!(third.names(), ["e"]);
    assert!(third.body["metadata"]["continue"].is_null());
}

#[tokio::test]
async fn a_token_that_is_too_old_comes_with_one_that_goes_on() {
    let hub = hub(3).await;
    let client = Client::admin(&hub);
    for name in ["a", "b", "c"] {
        client.create(name, "x").await;
    }
    let first = client.get(&format!("{SECRETS}?limit=1")).await;
    let token = first.body["metadata"]["continue"].as_str().unwrap();
    for label in ["1", "2", "3", "4", "5"] {
        client.label("c", label).await;
    }
    let expired = client
        .get(&format!("{SECRETS}?limit=1&continue={token}"))
        .await;
    assert_eq!(expired.status, StatusCode::GONE);
    assert_eq!(expired.body["reason"], "Expired");
    assert!(expired.message().starts_with(
        "The provided continue parameter is too old to display a consistent list result."
    ));
    let token = expired.body["metadata"]["continue"].as_str().unwrap();
    let rest = client.get(&format!("{SECRETS}?continue={token}")).await;
    assert_eq!(rest.names(), ["b", "c"]);

    let version = first.body["metadata"]["resourceVersion"].as_str().unwrap();
    let expired = client
        .get(&format!(
            "{SECRETS}?resourceVersion={version}&resourceVersionMatch=Exact"
        ))
        .await;
    assert_eq!(expired.status, StatusCode::GONE);
    assert_eq!(
        expired.message(),
        "The resourceVersion for the provided list is too old."
    );
}

#[tokio::test]
async fn a_list_can_be_exact_or_at_least_as_new() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    let first = client.create("a", "x").await;
    client.create("b", "x").await;
    let version = first["metadata"]["resourceVersion"].as_str().unwrap();
    let exact = client
        .get(&format!(
            "{SECRETS}?resourceVersion={version}&resourceVersionMatch=Exact"
        ))
        .await;
    assert_eq!(exact.names(), ["a"]);
    let newer = client
        .get(&format!("{SECRETS}?resourceVersion={version}"))
        .await;
    assert_eq!(newer.names(), ["a", "b"]);
}
