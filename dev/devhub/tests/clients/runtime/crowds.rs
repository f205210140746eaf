//! Many at once: watches that all see an event, writers of which none's write is lost.

use futures::future::{join_all, try_join_all};
use futures::{StreamExt, TryStreamExt, stream};
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use serde_json::json;

use super::soon;
use crate::desk::Desk;

const WATCHES: usize = 1000;
const WRITERS: usize = 100;
const APPLIERS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_watches_all_see_it() {
    let desk = Desk::new().await;
    desk.ours(&["start"]).await;
    let start = desk
        .configmaps()
        .get("start")
        .await
        .unwrap()
        .resource_version()
        .unwrap();
    let params = WatchParams::default().labels("desk=ours");
    let api = desk.configmaps();
    let watches: Vec<_> = stream::iter(0..WATCHES)
        .map(|_| soon(api.watch(&params, &start)))
        .buffer_unordered(20)
        .map_ok(Box::pin)
        .try_collect()
        .await
        .unwrap();
    desk.ours(&["news"]).await;
    let seen = join_all(watches.into_iter().map(async |mut watch| {
        loop {
            match watch.next().await {
                Some(Ok(WatchEvent::Bookmark(_))) => {}
                Some(Ok(WatchEvent::Added(object))) => break object.name_any(),
                other => panic!("{other:?}"),
            }
        }
    }));
    assert_eq!(soon(seen).await, vec!["news"; WATCHES]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_writers_who_replace_lose_nothing() {
    let desk = Desk::new().await;
    desk.ours(&["one"]).await;
    let api = desk.configmaps();
    let write = async |number: usize| {
        loop {
            let mut object = api.get("one").await.unwrap();
            let data = object.data.get_or_insert_default();
            data.insert(format!("writer-{number}"), "was here".to_owned());
            let count = data
                .get("count")
                .map_or(0, |count| count.parse::<usize>().unwrap());
            data.insert("count".to_owned(), (count + 1).to_string());
            match api.replace("one", &PostParams::default(), &object).await {
                Ok(_) => return,
                Err(kube::Error::Api(error)) if error.code == 409 => {
                    assert_eq!(error.reason, "Conflict");
                }
                Err(error) => panic!("{error}"),
            }
        }
    };
    tokio::time::timeout(super::PATIENCE * 2, join_all((0..WRITERS).map(write)))
        .await
        .unwrap();
    let data = api.get("one").await.unwrap().data.unwrap();
    assert_eq!(data.len(), WRITERS + 1);
    assert_eq!(data["count"], WRITERS.to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_writers_who_patch_lose_nothing() {
    let desk = Desk::new().await;
    desk.configmap("one").await;
    let api = desk.configmaps();
    let add = async |number: usize| {
        let path = format!("/data/json-{number}");
        let add = json!([{ "op": "add", "path": path, "value": "was here" }]);
        let add = Patch::<()>::Json(serde_json::from_value(add).unwrap());
        api.patch("one", &PatchParams::default(), &add).await
    };
    // Each with a manager of its own, which costs more than it seems: all are in every version of the object.
    let apply = async |number: usize| {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "one" },
            "data": { (format!("apply-{number}")): "was here" },
        });
        let manager = PatchParams::apply(&format!("writer-{number}"));
        api.patch("one", &manager, &Patch::Apply(object)).await
    };
    // A real hub tries five times.
    let writes = async {
        for start in (0..WRITERS).step_by(5) {
            try_join_all((start..start + 5).map(add)).await?;
        }
        for start in (0..APPLIERS).step_by(5) {
            try_join_all((start..start + 5).map(apply)).await?;
        }
        Ok::<_, kube::Error>(())
    };
    let done = tokio::time::timeout(super::PATIENCE * 2, writes).await;
    done.unwrap().unwrap();
    let data = api.get("one").await.unwrap().data.unwrap();
    assert_eq!(data.len(), WRITERS + APPLIERS + 1);
}
