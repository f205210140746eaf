use std::time::Duration;

use http::StatusCode;
use serde_json::json;

use crate::client::{Client, PATIENCE, SECRETS, event, hub};

#[tokio::test]
async fn objects_come_into_a_selection_and_leave_it() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    client.create("a", "yes").await;
    client.create("b", "no").await;
    let mut watch = client.watch("labelSelector=l%3Dyes").await;
    assert_eq!(watch.next_name().await, event("ADDED", "a"));
    client.label("b", "yes").await;
    assert_eq!(watch.next_name().await, event("ADDED", "b"));
    client
        .ask(
            "PATCH",
            &format!("{SECRETS}/a"),
            Some(json!({"data": {"k": "dg=="}})),
        )
        .await;
    assert_eq!(watch.next_name().await, event("MODIFIED", "a"));
    client.label("a", "no").await;
    let (sort, left) = watch.next().await.unwrap();
    let now = client.get(&format!("{SECRETS}/a")).await.body;
    assert_eq!(
        (sort.as_str(), &left["metadata"]["labels"]["l"]),
        ("DELETED", &json!("yes"))
    );
    assert_eq!(
        left["metadata"]["resourceVersion"],
        now["metadata"]["resourceVersion"]
    );
    client.ask("DELETE", &format!("{SECRETS}/a"), None).await;
    client.ask("DELETE", &format!("{SECRETS}/b"), None).await;
    assert_eq!(watch.next_name().await, event("DELETED", "b"));
}

#[tokio::test]
async fn the_end_of_what_there_was_is_told() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    client.create("a", "x").await;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = client.watch(query).await;
    assert_eq!(watch.next_name().await, event("ADDED", "a"));
    let (sort, bookmark) = watch.next().await.unwrap();
    assert_eq!(sort, "BOOKMARK");
    assert_eq!(
        bookmark["metadata"]["annotations"],
        json!({"k8s.io/initial-events-end": "true"})
    );
    assert_eq!(bookmark["kind"], "Secret");
    // From the bookmark on there is nothing that has been told.
    let version = bookmark["metadata"]["resourceVersion"].as_str().unwrap();
    let mut next = client.watch(&format!("resourceVersion={version}")).await;
    client.create("b", "x").await;
    assert_eq!(next.next_name().await, event("ADDED", "b"));
    assert_eq!(watch.next_name().await, event("ADDED", "b"));
}

#[tokio::test]
async fn without_initial_events_a_watch_begins_now() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    client.create("a", "x").await;
    let query = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    let mut watch = client.watch(query).await;
    client.create("b", "x").await;
    assert_eq!(watch.next_name().await, event("ADDED", "b"));
}

#[tokio::test]
async fn a_watch_ends_when_its_time_is_over_and_says_before_how_far_it_came() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    let mut watch = client
        .watch("timeoutSeconds=3&allowWatchBookmarks=1&resourceVersion=1")
        .await;
    client.create("a", "x").await;
    assert_eq!(watch.next_name().await, event("ADDED", "a"));
    // Of another kind: the bookmark is ahead of all Secrets.
    client
        .ask(
            "POST",
            "/api/v1/namespaces",
            Some(json!({"metadata": {"name": "n"}})),
        )
        .await;
    let now = client.get(SECRETS).await.body;
    let (sort, bookmark) = watch.next().await.unwrap();
    assert_eq!(sort, "BOOKMARK");
    let revision = |value: &serde_json::Value| -> u64 {
        value["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap()
    };
    assert!(revision(&bookmark) >= revision(&now));
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn a_watch_from_long_ago_is_told_so() {
    let hub = hub(3).await;
    let client = Client::admin(&hub);
    for name in ["a", "b", "c", "d", "e"] {
        client.create(name, "x").await;
    }
    let mut watch = client.watch("resourceVersion=2").await;
    let (sort, status) = watch.next().await.unwrap();
    assert_eq!(sort, "ERROR");
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&json!(410), &json!("Expired"))
    );
    let message = status["message"].as_str().unwrap();
    assert!(
        message.starts_with("too old resource version: 2 ("),
        "{message}"
    );
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn a_client_that_does_not_read_falls_behind_and_costs_nothing() {
    let hub = hub(50).await;
    let client = Client::admin(&hub);
    let large = "x".repeat(100_000);
    client.create("a", "x").await;
    let mut watch = client.watch("resourceVersion=1").await;
    // More than fits into the buffers between us and the hub.
    for i in 0..200 {
        let patch = json!({"data": {"large": large}, "metadata": {"labels": {"i": i.to_string()}}});
        let patched = client
            .ask("PATCH", &format!("{SECRETS}/a"), Some(patch))
            .await;
        assert_eq!(patched.status, StatusCode::OK);
    }
    let mut events = 0;
    let last = loop {
        match watch.next().await {
            Some((sort, _)) if sort != "ERROR" => events += 1,
            last => break last,
        }
    };
    let (_, status) = last.unwrap();
    assert_eq!(status["reason"], "Expired");
    assert!(events < 200, "it did not get everything");
}

#[tokio::test]
async fn the_deprecated_path_watches_one_object() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    client.create("a", "x").await;
    client.create("b", "x").await;
    let path = "/api/v1/watch/namespaces/default/secrets/b?timeoutSeconds=1";
    let watched = client.get(path).await;
    assert_eq!(watched.body["object"]["metadata"]["name"], "b");
}

#[tokio::test]
async fn a_table_is_watched_with_its_columns_first() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    client.create("a", "x").await;
    client.create("b", "x").await;
    let path = format!("{SECRETS}?watch=1&timeoutSeconds=1");
    let accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let request = client.request("GET", &path).header("accept", accept);
    let answer = crate::client::Answer::read(client.send(request, "").await).await;
    let text = answer.body.as_str().unwrap();
    let tables: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(tables.len(), 2);
    assert_eq!(tables[0]["object"]["columnDefinitions"][0]["name"], "Name");
    assert!(tables[1]["object"]["columnDefinitions"].is_null());
    assert_eq!(tables[1]["object"]["rows"][0]["cells"][0], "b");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_watch_at_the_same_time() {
    let hub = hub(100).await;
    let admin = Client::admin(&hub);
    // So that a thousand watches need no thousand sockets.
    let client = Client::new(&hub, Some(("root", &["system:masters"])), true);
    let mut watches = Vec::new();
    for _ in 0..1000 {
        watches.push(client.watch("").await);
    }
    admin.create("a", "x").await;
    for watch in &mut watches {
        assert_eq!(watch.next_name().await, event("ADDED", "a"));
    }
    let ended = tokio::time::timeout(PATIENCE, hub.shutdown()).await;
    ended.expect("watches do not hold a hub up");
    for watch in &mut watches {
        assert!(watch.next().await.is_none());
    }
}

#[tokio::test]
async fn who_has_gone_leaves_nothing_behind() {
    let hub = hub(100).await;
    let client = Client::admin(&hub);
    client.create("a", "x").await;
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    for http2 in [false, true] {
        let other = Client::new(&hub, Some(("root", &["system:masters"])), http2);
        let mut watches = Vec::new();
        for _ in 0..20 {
            let mut watch = other.watch("").await;
            assert_eq!(watch.next_name().await, event("ADDED", "a"));
            watches.push(watch);
        }
        assert!(metrics.num_alive_tasks() > before);
    }
    let until = tokio::time::Instant::now() + PATIENCE;
    while metrics.num_alive_tasks() > before {
        assert!(tokio::time::Instant::now() < until, "tasks are left");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
