//! The operator is killed at any step.

use super::super::interrupted::{contents_of, interrupted};
use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_a_hundred_times_it_ends_in_the_same_agent() {
    let world = World::new().await;
    let operator = world.operator().await;
    let admin = &world.admin;
    world
        .create("klusterlet", json!({"clusterName": "c1"}))
        .await;
    world.reports(DEPLOYMENT).await;
    world
        .said(("Available", "True", "KlusterletAvailable"))
        .await;
    drop(operator);
    let paths = related_to(admin, KLUSTERLET).await;
    let calm = contents_of(admin, paths.clone()).await;
    // With definitions and namespaces more would go.
    let may_go = |path: &&String| {
        let is_namespace = path.matches('/').count() == 4;
        !is_namespace
            && !path.contains("customresourcedefinitions")
            && !path.contains("serviceaccounts")
    };
    let all: Vec<_> = paths.iter().filter(may_go).collect();
    let left = interrupted(admin, &all, async || world.command().await).await;
    assert!(left.len() > 3, "it was killed at different steps: {left:?}");
    let _operator = world.operator().await;
    world.reports(DEPLOYMENT).await;
    for path in &all {
        once(admin, path, "it is there", |_| true).await;
    }
    world
        .said(("Available", "True", "KlusterletAvailable"))
        .await;
    world.said(("Applied", "True", "KlusterletApplied")).await;
    for (after, before) in contents_of(admin, paths.clone())
        .await
        .into_iter()
        .zip(calm)
    {
        assert_eq!(after, before);
    }
}
