//! Watches, as `kube` keeps them up.

use std::collections::BTreeSet;
use std::time::Duration;

use berth_devhub::Options;
use futures::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{Event, InitialListStrategy};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::soon;
use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::widgets;

/// What a watcher tells, in words.
fn told(event: &Event<ConfigMap>) -> String {
    match event {
        Event::Init => "init".to_owned(),
        Event::InitApply(object) => format!("there is {}", object.name_any()),
        Event::InitDone => "that is all".to_owned(),
        Event::Apply(object) => format!("applied {}", object.name_any()),
        Event::Delete(object) => format!("deleted {}", object.name_any()),
    }
}

async fn next<S>(stream: &mut S) -> String
where
    S: Stream<Item = watcher::Result<Event<ConfigMap>>> + Unpin,
{
    told(&soon(stream.next()).await.unwrap().unwrap())
}

async fn a_watcher_tells_what_is_there_and_what_happens(strategy: InitialListStrategy) {
    let desk = Desk::new().await;
    desk.ours(&["a", "b"]).await;
    let mut config = watcher::Config::default().labels("desk=ours");
    config.initial_list_strategy = strategy;
    let mut stream = std::pin::pin!(watcher(desk.configmaps(), config));
    assert_eq!(next(&mut stream).await, "init");
    // A list that is streamed may be of a moment ago.
    let mut seen = BTreeSet::new();
    let mut all = false;
    while !(all && seen.len() == 2) {
        match next(&mut stream).await.as_str() {
            "that is all" => all = true,
            "there is a" | "applied a" => drop(seen.insert("a")),
            "there is b" | "applied b" => drop(seen.insert("b")),
            other => panic!("{other}"),
        }
    }
    desk.ours(&["c"]).await;
    assert_eq!(next(&mut stream).await, "applied c");
    let out = json!({ "metadata": { "labels": null } });
    // An object that is not selected any more is gone for who watches.
    desk.configmaps()
        .patch("c", &PatchParams::default(), &Patch::Merge(out))
        .await
        .unwrap();
    assert_eq!(next(&mut stream).await, "deleted c");
    desk.configmaps()
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    assert_eq!(next(&mut stream).await, "deleted a");
}

#[tokio::test]
async fn a_watcher_lists_and_then_watches() {
    a_watcher_tells_what_is_there_and_what_happens(InitialListStrategy::ListWatch).await;
}

#[tokio::test]
async fn a_watcher_has_the_list_streamed() {
    a_watcher_tells_what_is_there_and_what_happens(InitialListStrategy::StreamingList).await;
}

#[tokio::test]
async fn a_list_that_is_streamed_ends_with_a_bookmark() {
    let desk = Desk::new().await;
    desk.ours(&["a", "b"]).await;
    let params = WatchParams::default().labels("desk=ours").initial_events();
    let stream = desk.configmaps().watch(&params, "").await.unwrap();
    let events: Vec<_> = soon(stream.take(3).try_collect()).await.unwrap();
    let [
        WatchEvent::Added(a),
        WatchEvent::Added(b),
        WatchEvent::Bookmark(end),
    ] = &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!([a.name_any(), b.name_any()], ["a", "b"]);
    assert_eq!(end.types.kind, "ConfigMap");
    assert_eq!(
        end.metadata.annotations["k8s.io/initial-events-end"],
        "true"
    );
    assert!(end.metadata.resource_version.parse::<u64>().unwrap() > 0);
}

#[tokio::test]
async fn a_watch_goes_on_from_a_version_and_ends_in_time() {
    let desk = Desk::new().await;
    desk.ours(&["a"]).await;
    let from = desk
        .configmaps()
        .get("a")
        .await
        .unwrap()
        .resource_version()
        .unwrap();
    desk.ours(&["b"]).await;
    let change = json!({ "data": { "key": "value" } });
    desk.configmaps()
        .patch("b", &PatchParams::default(), &Patch::Merge(change))
        .await
        .unwrap();
    desk.configmaps()
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    let params = WatchParams::default().labels("desk=ours").timeout(2);
    let stream = desk.configmaps().watch(&params, &from).await.unwrap();
    let events: Vec<_> = soon(stream.try_collect()).await.unwrap();
    let told = |event: &WatchEvent<ConfigMap>| match event {
        WatchEvent::Added(object) => format!("added {}", object.name_any()),
        WatchEvent::Modified(object) => format!("modified {}", object.name_any()),
        WatchEvent::Deleted(object) => {
            // Its version is that of the deletion, from which a watch can go on.
            assert!(object.resource_version() > Some(from.clone()));
            format!("deleted {}", object.name_any())
        }
        WatchEvent::Bookmark(_) => "bookmark".to_owned(),
        WatchEvent::Error(error) => format!("{error:?}"),
    };
    let mut told: Vec<_> = events.iter().map(told).collect();
    told.retain(|told| told != "bookmark");
    assert_eq!(told, ["added b", "modified b", "deleted a"]);
}

#[tokio::test]
async fn a_watch_from_a_version_that_is_forgotten_gets_410() {
    let shared = widgets::desk().await;
    if shared.cluster.is_real() {
        // It forgets slowly. But what was before the kind was is no more to it.
        return expired(shared.widgets(), "1").await;
    }
    let cluster = Cluster::start_devhub(Options {
        history: 10,
        ..Options::default()
    });
    let cluster = cluster.await;
    let api = Api::<ConfigMap>::default_namespaced(cluster.admin().await.client);
    let mut versions = Vec::new();
    for number in 0..30 {
        let name = format!("old-{number}");
        let object = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
        let stored = api.create(&PostParams::default(), &object).await.unwrap();
        versions.push(stored.resource_version().unwrap());
    }
    expired(api, &versions[0]).await;
}

/// What a watch of objects from a version ends with, be it at once or as the first event.
async fn expired<K>(api: Api<K>, version: &str)
where
    K: Clone + std::fmt::Debug + DeserializeOwned,
{
    let error = match api.watch(&WatchParams::default(), version).await {
        Err(kube::Error::Api(error)) => *error,
        Err(error) => panic!("{error}"),
        Ok(stream) => match soon(std::pin::pin!(stream).next()).await {
            Some(Ok(WatchEvent::Error(error))) => *error,
            other => panic!("{other:?}"),
        },
    };
    assert_eq!((error.code, error.reason.as_str()), (410, "Expired"));
    assert!(
        error.message.starts_with("too old resource version: "),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_watcher_that_falls_behind_starts_over() {
    let shared = Cluster::shared().await;
    if !shared.only_devhub("a real one remembers for minutes") {
        return;
    }
    let cluster = Cluster::start_devhub(Options {
        history: 10,
        ..Options::default()
    })
    .await;
    let admin = cluster.admin().await;
    let api = Api::<ConfigMap>::default_namespaced(admin.client);
    let config = watcher::Config::default()
        .labels("desk=ours")
        .any_semantic();
    let mut stream = std::pin::pin!(watcher(api.clone(), config).default_backoff());
    let make = async |name: &str| {
        let metadata = json!({ "name": name, "labels": { "desk": "ours" }, "annotations": { "long": "x".repeat(200_000) } });
        let object = serde_json::from_value(json!({ "metadata": metadata })).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    };
    assert_eq!(next(&mut stream).await, "init");
    assert_eq!(next(&mut stream).await, "that is all");
    // More than the connection holds and the hub remembers.
    for number in 0..200 {
        make(&format!("many-{number:03}")).await;
    }
    make("last").await;
    let mut restarted = false;
    loop {
        match soon(stream.next()).await.unwrap() {
            Ok(event) => {
                let told = told(&event);
                restarted |= told == "init";
                if told.ends_with(" last") {
                    break;
                }
            }
            Err(watcher::Error::WatchError(error)) => assert_eq!(error.code, 410, "{error:?}"),
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(restarted, "it kept up, so that nothing was tested");
}

#[tokio::test]
async fn a_watcher_of_metadata_gets_no_more() {
    let desk = Desk::new().await;
    desk.configmap("one").await;
    let only = watcher::Config::default().fields("metadata.name=one");
    let metadata: Api<PartialObjectMeta<ConfigMap>> =
        Api::namespaced(desk.admin.client.clone(), &desk.namespace);
    let stream = watcher(metadata, only).applied_objects();
    let object = soon(std::pin::pin!(stream).next()).await.unwrap().unwrap();
    assert_eq!(object.types.unwrap().kind, "PartialObjectMetadata");
    assert_eq!(object.metadata.name.as_deref(), Some("one"));
    let list = desk
        .configmaps()
        .list_metadata(&kube::api::ListParams::default())
        .await
        .unwrap();
    assert_eq!(list.types.kind, "PartialObjectMetadataList");
    assert!(list.iter().any(|object| object.name_any() == "one"));
    let one = desk.configmaps().get_metadata("one").await.unwrap();
    assert_eq!(one.types.unwrap().api_version, "meta.k8s.io/v1");
}

#[tokio::test]
async fn a_reflector_holds_what_the_hub_holds() {
    let desk = Desk::new().await;
    desk.ours(&["a", "b"]).await;
    let (reader, writer) = reflector::store();
    let config = watcher::Config::default().labels("desk=ours");
    let stream = reflector(writer, watcher(desk.configmaps(), config)).default_backoff();
    let run = tokio::spawn(stream.touched_objects().for_each(|_| async {}));
    let until = async |wanted: &[&str]| {
        soon(async {
            loop {
                let state = reader.state();
                let mut names: Vec<_> = state.iter().map(|object| object.name_any()).collect();
                names.sort();
                if names == wanted {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    };
    until(&["a", "b"]).await;
    desk.ours(&["c"]).await;
    desk.configmaps()
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    until(&["b", "c"]).await;
    run.abort();
}
