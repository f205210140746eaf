//! Leases that are seen for the first time.

use super::*;

#[test]
fn an_old_lease_at_first_sight_is_silence_only_by_a_clock_that_is_right() {
    const CLOCK: &str = conditions::cluster::CLOCK_SYNCED;
    let old = |scene: Scene| scene.first_seen(Duration::from_secs(3600));
    let skips = |mut scene: Scene| {
        scene.cluster().skip_clock_check = true;
        scene
    };
    let unknown = || accepted().with(AVAILABLE, "Unknown");
    // The expected write, and the seconds until the next decision.
    let rows = [
        (
            "the clock is right",
            available().with(CLOCK, "True"),
            "unknown",
            None,
        ),
        (
            "the clock is wrong",
            available().with(CLOCK, "False"),
            "nothing",
            Some(300),
        ),
        (
            "the clock was never compared",
            available(),
            "nothing",
            Some(300),
        ),
        (
            "nobody knows about the clock",
            available().with(CLOCK, "Unknown"),
            "nothing",
            Some(300),
        ),
        (
            "the clock is not to be checked",
            skips(available().with(CLOCK, "True")),
            "nothing",
            Some(300),
        ),
        (
            "the cluster does not work",
            accepted().with(AVAILABLE, "False").with(CLOCK, "False"),
            "nothing",
            Some(300),
        ),
        (
            "it is unknown already",
            unknown().with(CLOCK, "False"),
            "nothing",
            None,
        ),
    ];
    for (sentence, scene, expected, left) in rows {
        let mut scene = old(scene);
        let plan = scene.decide(decide);
        assert_eq!(due(&plan), expected, "{sentence}");
        let left = left.map(|left| scene.now.instant + Duration::from_secs(left));
        assert_eq!(plan.again, left, "{sentence}");
        if left.is_some() {
            scene.now.instant += GRACE;
            assert_eq!(
                due(&scene.decide(decide)),
                "unknown",
                "{sentence}: only once"
            );
        }
    }
    // For an Unknown cluster, the agent's clock counts until it renews.
    let mut scene = old(unknown().with(CLOCK, "False"));
    let expired = |scene: &mut Scene| {
        let (lease, now) = (scene.lease.clone().unwrap(), scene.now);
        is_expired(scene.cluster(), &lease, now)
    };
    assert!(expired(&mut scene));
    assert!(!expired(&mut scene.renewed(Duration::ZERO)));
}

#[test]
fn a_renewal_of_before_counts_by_its_time() {
    let now = now();
    let wall = |time: &str| Some(time.parse().unwrap());
    let year = Duration::from_hours(24 * 365);
    for (sentence, renew_time, least, most) in [
        ("no time is now", None, Duration::ZERO, Duration::ZERO),
        ("now is now", Some(now.wall), Duration::ZERO, Duration::ZERO),
        (
            "to the microsecond",
            wall("2026-08-11T11:59:59.499999Z"),
            Duration::from_micros(1_000_001),
            Duration::from_micros(1_000_001),
        ),
        (
            "four minutes ago",
            wall("2026-08-11T11:56:00.5Z"),
            Duration::from_secs(240),
            Duration::from_secs(240),
        ),
        (
            "the future is now",
            wall("2026-08-11T12:00:00.500001Z"),
            Duration::ZERO,
            Duration::ZERO,
        ),
        (
            "the far future is now",
            wall("9999-12-30T00:00:00Z"),
            Duration::ZERO,
            Duration::ZERO,
        ),
        (
            "the last time there is, is now",
            Some(Timestamp::MAX),
            Duration::ZERO,
            Duration::ZERO,
        ),
        // Some systems have no Instant before their start.
        (
            "Go's zero is long ago",
            wall("0001-01-01T00:00:00Z"),
            GRACE,
            year * 2030,
        ),
        (
            "the first time there is, is long ago",
            Some(Timestamp::MIN),
            GRACE,
            year * 20_000,
        ),
    ] {
        let age = now.instant - first_seen(renew_time, now);
        assert!((least..=most).contains(&age), "{sentence}: {age:?}");
    }
}

#[test]
fn a_time_that_cannot_be_told_is_as_long_ago_as_can_be() {
    let instant = now().instant;
    assert!(instant - ago(instant, Duration::MAX) >= GRACE);
    assert_eq!(ago(instant, Duration::ZERO), instant);
}

#[test]
fn clocks_at_the_edge_of_time_stop_nothing() {
    for wall in [Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH] {
        for renew_time in [Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH] {
            for seconds in [i32::MIN, -1, 0, 1, i32::MAX] {
                let mut scene = duration(accepted(), seconds).renewed(GRACE);
                scene.now.wall = wall;
                scene.lease.as_mut().unwrap().renewed = first_seen(Some(renew_time), scene.now);
                let rounds = usize::from(!scene.decide(decide).is_empty());
                scene.settles(decide, rounds);
            }
        }
    }
}
