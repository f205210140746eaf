//! The operator is killed at any step.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use tokio::time::sleep;

use super::super::interrupted::contents_of;
use super::*;

/// How often it is killed.
const KILLS: usize = 100;

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
    let mut left = BTreeSet::new();
    for kill in 0..KILLS {
        // Each time another third is missing.
        for (at, path) in all.iter().enumerate() {
            if (at + kill) % 3 == 0 {
                admin.delete(path).await.unwrap();
            }
        }
        let mut command = world.command().await;
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        // From before its first request until it has done all.
        sleep(Duration::from_millis(50 + (kill as u64 * 37) % 500)).await;
        process.kill().unwrap();
        process.wait().unwrap();
        let mut missing = 0;
        for path in &all {
            missing += usize::from(admin.get(path).await.unwrap().code == 404);
        }
        left.insert(missing);
    }
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
