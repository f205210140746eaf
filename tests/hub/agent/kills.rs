//! An agent that is killed at any moment, again and again: the last one reaches the same end, and the hub has got no CSR more than
//! needed.
//!
//! `BERTH_KILLS` sets the number of kills. That the end is the same after a kill behind each single step is a law of
//! `berth-agent-core`.

use std::time::Duration;

use super::world::{World, text};

/// The number of kills without the variable.
const KILLS: u32 = 60;

/// The shortest and the longest life. The longest is enough for each part of a registration.
const LIVES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(320));

impl World {
    /// Kills agents of different ages.
    async fn killed_often(&self) {
        for life in lives() {
            self.killed_in(life).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whenever_it_is_killed_the_agent_asks_for_no_more_than_it_needs() {
    let world = World::new().await;
    world.killed_often().await;
    let agent = world.agent(&[]);
    let csr = world.pending().await;
    drop(agent);
    world.decide(&csr, "Approved").await;
    world.killed_often().await;
    world.accept(true).await;
    world.killed_often().await;
    let mut agent = world.agent(&[]);
    agent.is_managed().await;
    assert_eq!(world.csrs().await.len(), 1);
    world.forgets().await;
    drop(agent);

    // It renews by itself what it loses, as the same agent.
    let before = world.hub_secret().await;
    let path = world.secret("hub-kubeconfig-secret");
    let mut lost = 0;
    for life in lives() {
        let deleted = world.managed.delete(&path).await.unwrap();
        assert!([200, 404].contains(&deleted.code), "{deleted:?}");
        lost += usize::from(deleted.code == 200);
        world.killed_in(life).await;
    }
    let mut agent = world.agent(&[]);
    agent.is_managed().await;
    world.forgets().await;
    let after = world.hub_secret().await;
    assert_eq!(text(&after, "agent-name"), text(&before, "agent-name"));
    let count = world.csrs().await.len();
    assert!(count <= 1 + lost, "{count} CSRs, {lost} lost Secrets");
}

/// A quarter of the kills: each of the four parts of the test has so many.
fn lives() -> impl Iterator<Item = Duration> {
    let kills = std::env::var("BERTH_KILLS").map_or(KILLS, |it| it.parse().unwrap());
    let count = kills.div_ceil(4).max(2);
    let (shortest, longest) = LIVES;
    (0..count).map(move |it| shortest + (longest - shortest) * it / (count - 1))
}
