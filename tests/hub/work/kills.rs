//! An agent that is killed at any moment, again and again: the last one reaches the same end, and nothing is deleted that should stay.
//!
//! `BERTH_KILLS` sets the number of kills.

use std::time::Duration;

use super::world::World;

/// The number of kills without the variable.
const KILLS: u32 = 40;

/// The shortest and the longest life.
const LIVES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(400));

fn lives() -> impl Iterator<Item = Duration> {
    let kills = std::env::var("BERTH_KILLS").map_or(KILLS, |it| it.parse().unwrap());
    let count = kills.div_ceil(4).max(2);
    let (shortest, longest) = LIVES;
    (0..count).map(move |it| shortest + (longest - shortest) * it / (count - 1))
}

#[tokio::test(flavor = "multi_thread")]
async fn whenever_it_is_killed_the_end_is_the_same() {
    let world = World::new().await;
    let maps =
        |names: &[&str]| -> Vec<_> { names.iter().map(|name| world.map(name, "1")).collect() };
    world.create("killed", &maps(&["a", "b", "c", "d"])).await;
    world.create("other", &maps(&["c", "x"])).await;
    for life in lives() {
        world.killed_after(life).await;
    }
    // What leaves one work and stays in another one stays.
    world.update("killed", &maps(&["a", "b", "e"])).await;
    for life in lives() {
        world.killed_after(life).await;
    }
    let agent = world.agent();
    world.reports("killed", "TTT", "TTT").await;
    world.reports("other", "TT", "TT").await;
    world.lacks(&world.map_path("d")).await;
    let path = world.map_path("c");
    let kept = world.has(&path, "one owner", |it| {
        it["metadata"]["ownerReferences"]
            .as_array()
            .is_some_and(|it| it.len() == 1)
    });
    let kept = kept.await;
    drop(agent);
    world.delete("killed").await;
    for life in lives() {
        world.killed_after(life).await;
    }
    let _agent = world.agent();
    world.is_gone("killed").await;
    for name in ["a", "b", "e"] {
        world.lacks(&world.map_path(name)).await;
    }
    let after = world.has(&path, "there", |_| true).await;
    assert_eq!(after["metadata"]["uid"], kept["metadata"]["uid"]);
    assert!(after["metadata"]["deletionTimestamp"].is_null());
}
