#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

const SETTLED: Next = Next::SETTLED;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn queue() -> Queue<&'static str> {
    Queue::new(adds())
}

fn adds() -> IntCounter {
    IntCounter::new("adds", "Adds").unwrap()
}

/// The keys that come out at once.
async fn due(queue: &Queue<&'static str>) -> Vec<&'static str> {
    let mut due = Vec::new();
    while let Ok((key, _)) = tokio::time::timeout(Duration::ZERO, queue.next()).await {
        due.push(key);
    }
    due
}

#[tokio::test(start_paused = true)]
async fn keys_come_out_once_and_in_their_order() {
    let queue = queue();
    for key in ["b", "a", "b", "c", "a"] {
        queue.wake(key, now());
    }
    assert_eq!(queue.counts(now()).waiting, 3);
    assert_eq!(due(&queue).await, ["b", "a", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_woken_while_it_is_worked_on_is_worked_on_once_more() {
    let queue = queue();
    queue.wake("a", now());
    assert_eq!(due(&queue).await, ["a"]);
    queue.wake("a", now());
    queue.wake("a", now());
    assert_eq!(
        due(&queue).await,
        [] as [&str; 0],
        "never twice at the same time"
    );
    queue.done(&"a", SETTLED, now());
    assert_eq!(due(&queue).await, ["a"]);
    queue.done(&"a", SETTLED, now());
    assert_eq!(due(&queue).await, [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn how_long_a_key_has_failed_counts_from_the_first_failure_since_it_was_settled() {
    let queue = queue();
    let failing = || queue.failing_for(&"a", now());
    let failed = Next::Failed {
        wait: Some(seconds(2)),
    };
    queue.wake("a", now());
    for round in 0..2 {
        assert_eq!(failing(), Duration::ZERO, "{round}");
        queue.next().await;
        tokio::time::advance(seconds(5)).await;
        assert_eq!(failing(), Duration::ZERO, "its first round is under way");
        queue.done(&"a", failed, now());
        queue.next().await;
        queue.done(&"a", failed, now());
        queue.next().await;
        let range = seconds(4)..seconds(5);
        assert!(range.contains(&failing()), "{:?}", failing());
        queue.wake("a", now());
        queue.done(&"a", SETTLED, now());
    }
    queue.next().await;
    queue.done(&"a", SETTLED, now());
    assert_eq!(failing(), Duration::ZERO, "nobody remembers it");
}

#[tokio::test(start_paused = true)]
async fn a_key_comes_back_at_its_time_or_when_it_is_woken_before() {
    let queue = queue();
    queue.wake("a", now());
    let begun = now();
    queue.next().await;
    let again = Next::Settled {
        again: Some(begun + seconds(300)),
        pause: None,
    };
    queue.done(&"a", again, now());
    assert_eq!(queue.next().await.0, "a");
    assert_eq!(now() - begun, seconds(300));

    queue.done(&"a", again_in(600), now());
    tokio::time::advance(seconds(10)).await;
    queue.wake("a", now());
    assert_eq!(due(&queue).await, ["a"]);
    queue.done(&"a", SETTLED, now());
    tokio::time::advance(seconds(900)).await;
    assert_eq!(
        due(&queue).await,
        [] as [&str; 0],
        "an old timer is no reason"
    );
}

fn again_in(after: u64) -> Next {
    Next::Settled {
        again: Some(now() + seconds(after)),
        pause: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_failed_waits_longer_each_time_whoever_wakes_it() {
    let queue = queue();
    queue.wake("a", now());
    queue.next().await;
    let mut waits = Vec::new();
    for _ in 0..14 {
        let failed = now();
        queue.done(&"a", Next::Failed { wait: None }, now());
        queue.wake("a", now());
        queue.next().await;
        waits.push((now() - failed).as_secs_f64());
    }
    for (number, wait) in waits.iter().enumerate() {
        let expected = (0.05 * f64::powi(2.0, i32::try_from(number).unwrap())).min(60.0);
        assert!(
            (expected * 0.49..expected * 1.01).contains(wait),
            "{number}: {wait}"
        );
    }
    queue.done(&"a", SETTLED, now());
    queue.wake("a", now());
    assert_eq!(due(&queue).await, ["a"], "success makes it forgotten");
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_names_a_time_is_given_it() {
    let queue = queue();
    queue.wake("a", now());
    queue.next().await;
    let failed = now();
    let wait = Some(seconds(7));
    queue.done(&"a", Next::Failed { wait }, now());
    queue.next().await;
    assert_eq!(now() - failed, seconds(7));
    // An absurd one is not.
    let failed = now();
    let wait = Some(Duration::MAX);
    queue.done(&"a", Next::Failed { wait }, now());
    queue.next().await;
    assert!(now() - failed <= LONGEST_WAIT);
}

#[tokio::test(start_paused = true)]
async fn a_pause_holds_a_key_back_once() {
    let queue = queue();
    queue.wake("a", now());
    queue.next().await;
    let written = now();
    let pause = Some(now() + seconds(1));
    queue.done(&"a", Next::Settled { again: None, pause }, now());
    queue.wake("a", now());
    assert_eq!(due(&queue).await, [] as [&str; 0]);
    queue.next().await;
    assert_eq!(now() - written, seconds(1));
    queue.done(&"a", SETTLED, now());
    assert_eq!(
        queue.lock().keys.len(),
        0,
        "what nobody asks for is forgotten"
    );
    assert_eq!(queue.lock().later.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_rests_comes_back_if_it_was_woken_or_at_its_time() {
    let rests = |again: Option<u64>| Next::Rests {
        again: again.map(|it| now() + seconds(it)),
        until: now() + seconds(10),
    };
    let nothing = [] as [&str; 0];
    let queue = queue();
    let begin = async || {
        queue.wake("a", now());
        assert_eq!(due(&queue).await, ["a"]);
    };
    begin().await;
    queue.done(&"a", rests(None), now());
    tokio::time::advance(seconds(60)).await;
    assert_eq!(due(&queue).await, nothing, "nothing has changed");
    assert_eq!(queue.lock().keys.len(), 0);

    for is_working in [true, false] {
        begin().await;
        if is_working {
            queue.wake("a", now());
        }
        queue.done(&"a", rests(None), now());
        if !is_working {
            queue.wake("a", now());
        }
        let begun = now();
        assert_eq!(due(&queue).await, nothing);
        queue.next().await;
        assert_eq!(now() - begun, seconds(10), "{is_working}");
        queue.done(&"a", SETTLED, now());
    }

    for (again, after) in [(3, 10), (30, 30)] {
        begin().await;
        queue.done(&"a", rests(Some(again)), now());
        let begun = now();
        queue.next().await;
        assert_eq!(now() - begun, seconds(after), "{again}");
        queue.done(&"a", SETTLED, now());
    }
}

#[tokio::test(start_paused = true)]
async fn keys_are_counted_while_they_wait_and_while_they_are_worked_on() {
    let queue = queue();
    let counts = |waiting, longest_waiting, unfinished, longest_running| Counts {
        waiting,
        longest_waiting: seconds(longest_waiting),
        unfinished: seconds(unfinished),
        longest_running: seconds(longest_running),
    };
    assert_eq!(queue.counts(now()), Counts::default());
    queue.wake("a", now());
    tokio::time::advance(seconds(3)).await;
    queue.wake("b", now());
    assert_eq!(queue.counts(now()), counts(2, 3, 0, 0));
    queue.next().await;
    tokio::time::advance(seconds(4)).await;
    assert_eq!(queue.counts(now()), counts(1, 4, 4, 4));
    queue.next().await;
    tokio::time::advance(seconds(2)).await;
    assert_eq!(queue.counts(now()), counts(0, 0, 8, 6));
    queue.done(&"a", SETTLED, now());
    assert_eq!(queue.counts(now()), counts(0, 0, 2, 2));
    let failed = Next::Failed { wait: None };
    queue.done(&"b", failed, now());
    assert_eq!(
        queue.counts(now()),
        Counts::default(),
        "it waits for its time"
    );
}

/// As client-go counts: a key that is due already, or woken again while it is worked on, is added once.
#[tokio::test(start_paused = true)]
async fn a_key_counts_as_added_each_time_it_becomes_due() {
    let at = |after| Next::Settled {
        again: Some(now() + seconds(after)),
        pause: None,
    };
    let added = adds();
    let queue = Queue::new(added.clone());
    queue.wake("a", now());
    queue.wake("a", now());
    assert_eq!(added.get(), 1, "it is due already");
    queue.next().await;
    queue.wake("a", now());
    queue.wake("a", now());
    queue.done(&"a", SETTLED, now());
    queue.next().await;
    assert_eq!(added.get(), 2, "it was woken while it was worked on");
    queue.done(&"a", at(5), now());
    assert_eq!(added.get(), 2, "it is due later");
    queue.next().await;
    assert_eq!(added.get(), 3);
    queue.done(&"a", Next::Failed { wait: None }, now());
    queue.wake("a", now());
    assert_eq!(added.get(), 3, "it waits after a failure");
    queue.next().await;
    assert_eq!(added.get(), 4);
    let rests = Next::Rests {
        again: None,
        until: now() + seconds(5),
    };
    queue.done(&"a", rests, now());
    tokio::time::advance(seconds(6)).await;
    assert_eq!(due(&queue).await, [] as [&str; 0]);
    assert_eq!(added.get(), 4, "it only rested");
}
