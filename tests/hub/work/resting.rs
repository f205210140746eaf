//! A settled agent sends nothing but watches, and a restart writes nothing.

use super::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_writes_nothing() {
    let world = World::new().await;
    let agent = world.agent();
    let maps: Vec<_> = (0..10)
        .map(|at| world.map(&format!("m{at}"), "1"))
        .collect();
    world.create("rest", &maps).await;
    world.reports("rest", "TTTTTTTTTT", "TTTTTTTTTT").await;
    world
        .applied("rest", "recorded", |it| {
            it["status"]["appliedResources"]
                .as_array()
                .is_some_and(|it| it.len() == 10)
        })
        .await;
    let versions = async || {
        let mut versions = vec![
            world.hub.get(&world.work("rest")).await.unwrap().ok()["metadata"]["resourceVersion"]
                .clone(),
        ];
        for at in 0..10 {
            let map = world
                .managed
                .get(&world.map_path(&format!("m{at}")))
                .await
                .unwrap();
            versions.push(map.ok()["metadata"]["resourceVersion"].clone());
        }
        versions
    };
    let before = versions().await;
    agent.kill().await;
    let _agent = world.agent();
    // Proves that the new one works.
    world.create("proof", &[world.map("proof", "1")]).await;
    world.reports("proof", "T", "T").await;
    assert_eq!(versions().await, before);
}
