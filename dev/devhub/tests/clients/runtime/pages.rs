//! Lists by pages.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use kube::core::Selector;

use crate::desk::Desk;

async fn page(
    api: &Api<ConfigMap>,
    from: Option<&str>,
) -> (Vec<String>, Option<String>, Option<i64>, String) {
    let mut params = ListParams::default().labels("desk=ours").limit(2);
    if let Some(token) = from {
        params = params.continue_token(token);
    }
    let list = api.list(&params).await.unwrap();
    let names = list.items.iter().map(ResourceExt::name_any).collect();
    let metadata = list.metadata;
    let token = metadata.continue_.filter(|token| !token.is_empty());
    (
        names,
        token,
        metadata.remaining_item_count,
        metadata.resource_version.unwrap(),
    )
}

#[tokio::test]
async fn pages_are_of_one_moment() {
    let desk = Desk::new().await;
    desk.ours(&["a", "b", "c", "d", "e"]).await;
    let api = desk.configmaps();
    let (names, token, remaining, version) = page(&api, None).await;
    assert_eq!(names, ["a", "b"]);
    // With a selector nobody knows how many remain.
    assert_eq!(remaining, None);
    api.delete("c", &DeleteParams::default()).await.unwrap();
    desk.ours(&["bb"]).await;
    let (names, token, _, same) = page(&api, token.as_deref()).await;
    assert_eq!(
        (names, same),
        (vec!["c".to_owned(), "d".to_owned()], version.clone())
    );
    let (names, token, _, same) = page(&api, token.as_deref()).await;
    assert_eq!((names, token, same), (vec!["e".to_owned()], None, version));
}

#[tokio::test]
async fn pages_tell_how_many_remain() {
    let desk = Desk::new().await;
    desk.ours(&["a", "b", "c", "d", "e"]).await;
    let all: BTreeSet<_> = desk
        .configmaps()
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .iter()
        .map(ResourceExt::name_any)
        .collect();
    let mut seen = BTreeSet::new();
    let mut params = ListParams::default().limit(1);
    loop {
        let list = desk.configmaps().list(&params).await.unwrap();
        seen.extend(list.items.iter().map(ResourceExt::name_any));
        let Some(token) = list.metadata.continue_.filter(|token| !token.is_empty()) else {
            assert_eq!(list.metadata.remaining_item_count, None);
            break;
        };
        let remain = i64::try_from(all.len() - seen.len()).unwrap();
        assert_eq!(list.metadata.remaining_item_count, Some(remain));
        params = params.continue_token(&token);
    }
    assert_eq!(seen, all);
}

#[tokio::test]
async fn a_collection_is_deleted_by_what_is_selected() {
    let desk = Desk::new().await;
    desk.ours(&["a", "b"]).await;
    desk.configmap("other").await;
    let params = ListParams::default().labels_from(&Selector::from_iter([(
        "desk".to_owned(),
        "ours".to_owned(),
    )]));
    let deleted = desk
        .configmaps()
        .delete_collection(&DeleteParams::default(), &params)
        .await
        .unwrap();
    let mut names: Vec<_> = deleted
        .left()
        .unwrap()
        .items
        .iter()
        .map(ResourceExt::name_any)
        .collect();
    names.sort();
    assert_eq!(names, ["a", "b"]);
    assert!(
        desk.configmaps()
            .list(&params)
            .await
            .unwrap()
            .items
            .is_empty()
    );
    desk.configmaps().get("other").await.unwrap();
}
