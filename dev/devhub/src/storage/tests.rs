//! What the store promises.

use std::sync::Arc;

use futures::FutureExt;
use serde_json::json;

use super::{CommitError, EventKind, Expired, Key, Listed, Page, StorageId, Store};
use crate::object::Object;

fn storage() -> StorageId {
    StorageId("configmaps".into())
}

fn key(namespace: &str, name: &str) -> Key {
    Key {
        storage: storage(),
        namespace: namespace.into(),
        name: name.into(),
    }
}

fn object(namespace: &str, name: &str, data: i64) -> Object {
    json!({"metadata": {"name": name, "namespace": namespace}, "data": data})
        .try_into()
        .unwrap()
}

fn store(history: usize) -> Arc<Store> {
    Arc::new(Store::new(history))
}

fn put(store: &Store, namespace: &str, name: &str, data: i64) -> u64 {
    let (key, object) = (key(namespace, name), object(namespace, name, data));
    let committed = match store.get(&key) {
        None => store.create(&key, object),
        Some(old) => store.update(&key, old.revision, object),
    };
    committed.unwrap().revision
}

fn remove(store: &Store, namespace: &str, name: &str) -> u64 {
    let key = key(namespace, name);
    let old = store.get(&key).unwrap();
    store
        .delete(&key, old.revision, old.object.clone())
        .unwrap()
        .revision
}

fn shown(listed: &Listed) -> Vec<(String, i64)> {
    let show = |object: &Object| {
        let place = format!("{}/{}", object.namespace(), object.name());
        (place, object.at(&["data"]).unwrap().as_i64().unwrap())
    };
    listed
        .items
        .iter()
        .map(|stored| show(&stored.object))
        .collect()
}

fn list(store: &Store, namespace: Option<&str>, page: &Page) -> Listed {
    store.list(&storage(), namespace, page, &|_| true).unwrap()
}

#[test]
fn every_commit_gets_the_next_revision_and_writes_it_into_the_object() {
    let store = store(10);
    assert_eq!(store.revision(), 1);
    assert_eq!(put(&store, "a", "x", 1), 2);
    assert_eq!(put(&store, "a", "x", 2), 3);
    let stored = store.get(&key("a", "x")).unwrap();
    assert_eq!(stored.object.resource_version(), "3");
    let json: serde_json::Value = serde_json::from_slice(&stored.json()).unwrap();
    assert_eq!(json, stored.object.to_value());
}

#[test]
fn a_commit_on_something_else_than_expected_changes_nothing() {
    let store = store(10);
    let (here, gone) = (key("a", "x"), key("a", "y"));
    put(&store, "a", "x", 1);
    let new = || object("a", "x", 2);
    assert_eq!(store.create(&here, new()).unwrap_err(), CommitError::Exists);
    assert_eq!(
        store.update(&here, 9, new()).unwrap_err(),
        CommitError::Modified(2)
    );
    assert_eq!(
        store.update(&gone, 2, new()).unwrap_err(),
        CommitError::NotFound
    );
    assert_eq!(
        store.delete(&here, 9, new()).unwrap_err(),
        CommitError::Modified(2)
    );
    assert_eq!(
        store.delete(&gone, 2, new()).unwrap_err(),
        CommitError::NotFound
    );
    assert_eq!(store.revision(), 2);
}

#[test]
fn a_page_is_full_of_what_matches() {
    let store = store(10);
    for (name, data) in [("a", 1), ("b", 0), ("c", 1), ("d", 1), ("e", 0)] {
        put(&store, "n", name, data);
    }
    let page = Page {
        limit: Some(2),
        ..Page::default()
    };
    let ones = |object: &Object| object.at(&["data"]) == Some(&json!(1));
    let listed = store.list(&storage(), None, &page, &ones).unwrap();
    assert_eq!(
        shown(&listed),
        [("n/a".to_owned(), 1), ("n/c".to_owned(), 1)]
    );
    assert!(listed.more);
    let after = Some(("n".into(), "d".into()));
    let listed = store
        .list(&storage(), None, &Page { after, ..page }, &ones)
        .unwrap();
    assert!(listed.items.is_empty() && !listed.more);
}

#[test]
fn a_watch_sees_each_commit_of_its_kind_once_and_in_order() {
    let store = store(10);
    let from = put(&store, "a", "x", 1);
    let mut watch = store.watch(&storage(), from).unwrap();
    assert!(watch.next().now_or_never().is_none());
    put(&store, "a", "x", 2);
    put(&store, "b", "y", 1);
    remove(&store, "a", "x");
    let events = watch.next().now_or_never().unwrap().unwrap();
    let seen = events.iter().map(|event| {
        (
            event.kind,
            event.revision,
            event.before.as_ref().map(|stored| stored.revision),
        )
    });
    assert_eq!(
        seen.collect::<Vec<_>>(),
        [
            (EventKind::Modified, 3, Some(2)),
            (EventKind::Added, 4, None),
            (EventKind::Deleted, 5, Some(3)),
        ]
    );
    assert_eq!(events[2].object.object.resource_version(), "5");
    assert!(watch.next().now_or_never().is_none());
}

#[test]
fn what_a_watch_has_seen_moves_with_commits_of_other_kinds_only_when_nothing_waits() {
    let store = store(10);
    let watch = store.watch(&storage(), store.revision()).unwrap();
    let other = Key {
        storage: StorageId("secrets".into()),
        ..key("a", "s")
    };
    store.create(&other, object("a", "s", 1)).unwrap();
    assert_eq!(watch.seen(), Some(2));
    let watch = store.watch(&storage(), 2).unwrap();
    put(&store, "a", "x", 1);
    assert_eq!(watch.seen(), Some(2));
}

#[test]
fn who_falls_behind_the_history_is_told_so() {
    let store = store(3);
    let first = put(&store, "a", "x", 0);
    let mut slow = store.watch(&storage(), first).unwrap();
    for data in 1..=3 {
        put(&store, "a", "x", data);
    }
    assert!(
        store.watch(&storage(), first).is_ok(),
        "the history reaches back"
    );
    put(&store, "a", "x", 4);
    let expired = Expired {
        asked: 2,
        oldest: 3,
    };
    assert_eq!(slow.next().now_or_never().unwrap().unwrap_err(), expired);
    assert_eq!(store.watch(&storage(), first).unwrap_err(), expired);
    let page = Page {
        at: Some(first),
        ..Page::default()
    };
    assert_eq!(
        store.list(&storage(), None, &page, &|_| true).unwrap_err(),
        expired
    );
    assert_eq!(expired.to_string(), "too old resource version: 2 (3)");
}

#[tokio::test]
async fn a_watcher_of_one_name_is_woken_by_that_name_and_misses_nothing_meanwhile() {
    let store = store(3);
    let first = put(&store, "a", "x", 0);
    let mut watch = store.watch_name(&storage(), first, Some("x")).unwrap();
    assert!(watch.next().now_or_never().is_none());
    // The history of the kind reaches back no longer, that of the name does.
    for data in 0..9 {
        put(&store, "a", "y", data);
    }
    assert!(watch.next().now_or_never().is_none());
    assert_eq!(watch.seen(), Some(store.revision()));
    let waiting = tokio::spawn(async move {
        let events = watch.next().await.unwrap();
        (
            events.len(),
            events[0].object.object.name().to_owned(),
            watch,
        )
    });
    tokio::task::yield_now().await;
    let revision = put(&store, "a", "x", 1);
    let (count, name, mut watch) = waiting.await.unwrap();
    assert_eq!((count, name.as_str()), (1, "x"));
    assert_eq!(watch.seen(), Some(revision));
    // It falls behind.
    for data in 2..=5 {
        put(&store, "a", "x", data);
    }
    let expired = watch.next().now_or_never().unwrap().unwrap_err();
    assert_eq!((expired.asked, expired.oldest), (revision, revision + 1));
}

#[test]
fn a_restored_store_goes_on_from_the_snapshot_and_has_no_history() {
    let store = store(10);
    put(&store, "a", "x", 1);
    let (then, snapshot) = (store.revision(), store.snapshot());
    put(&store, "a", "y", 2);
    put(&store, "a", "z", 3);
    let future = store.revision();
    let restored = Arc::new(Store::restored(10, snapshot));
    assert_eq!(restored.revision(), then);
    assert_eq!(shown(&list(&restored, None, &Page::default())).len(), 1);
    let too_old = restored.watch(&storage(), then - 1).unwrap_err();
    assert_eq!(too_old.oldest, then);
    // A watch from the future is silent: it has seen nothing, and gets no event that it should have seen.
    let mut watch = restored.watch(&storage(), future).unwrap();
    put(&restored, "a", "y", 4);
    assert_eq!(watch.seen(), None);
    assert!(watch.next().now_or_never().is_none());
    put(&restored, "a", "z", 5);
    put(&restored, "a", "v", 6);
    let events = watch.next().now_or_never().unwrap().unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(watch.seen(), Some(future + 1));
}
