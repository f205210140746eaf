//! The hub goes away, or stops responding, and comes back: reviews that need it are answered as undecided, in time; all
//! others are decided.

use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{calls, length};
use crate::faults::load::{Load, Manner, Target, trusting};
use crate::faults::tally::Report;
use berth_testkit::balancer::Balancer;
use berth_testkit::cluster::{Cluster, Private};
use berth_testkit::eventually_within;
use berth_testkit::guarded::{RunningGate, gates_kubeconfig, install};
use berth_testkit::line::{Line, State};

/// The timeout of callers.
const PATIENCE: Duration = Duration::from_secs(2);

/// The time after the hub's return until everything is decided again: the timeout of calls that began before, and a
/// connection.
const RECOVERY: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hub_restarts() {
    goes("the hub restarted", State::Down).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hub_accepts_connections_and_never_answers() {
    goes("the hub accepting, and silent", State::Silent).await;
}

async fn goes(what: &'static str, how: State) {
    let report = Report::begin(what);
    let AtWork { line, load, _rest } = at_work().await;
    load.go_on(100).await;
    assert_eq!(load.so_far().undecided, 0, "{:?}", load.so_far());
    let rounds = length::times(1);
    let mut slowest = Duration::ZERO;
    for _ in 0..rounds {
        line.is(how);
        let before = load.so_far();
        until(&load, Duration::from_secs(60), || {
            let now = load.so_far();
            now.undecided >= before.undecided + 24 && now.decided >= before.decided + 24
        })
        .await;
        line.is(State::Up);
        let up = Instant::now();
        // All of a number of calls in a row, over the time that an earlier call may take.
        let mut last = load.so_far();
        let mut since = up;
        until(&load, RECOVERY + 5 * PATIENCE, || {
            let now = load.so_far();
            if now.undecided != last.undecided {
                (last, since) = (now, Instant::now());
                return false;
            }
            since.elapsed() > PATIENCE && now.decided >= last.decided + 60
        })
        .await;
        slowest = slowest.max(since.duration_since(up));
    }
    let tally = load.stop().await;
    assert!(tally.undecided >= 24, "{tally:?}");
    assert!(slowest < RECOVERY, "all is decided again after {slowest:?}");
    let beside = format!("{rounds} times, over within {} ms", slowest.as_millis());
    report.none_failed(&tally, beside);
}

async fn until(load: &Load, patience: Duration, mut is_so: impl FnMut() -> bool) {
    eventually_within(patience, "answers", async || {
        if is_so() {
            return Ok(());
        }
        Err(load.so_far())
    })
    .await;
}

/// Gates whose hub is behind a [`Line`], and their callers.
struct AtWork {
    line: Line,
    load: Load,
    /// What runs until the test ends.
    _rest: (Private, Balancer, [RunningGate; 2]),
}

async fn at_work() -> AtWork {
    let hub = Cluster::private().await;
    install(&hub).await;
    calls::grant(&hub).await;
    let line = Line::to(&hub).await;
    let kubeconfig = line.kubeconfig(&gates_kubeconfig(&hub).await);
    let balancer = Balancer::start().await;
    let certs = TempDir::new().unwrap();
    let first = RunningGate::run(&kubeconfig, certs, &["--self-signed"]);
    let copy = TempDir::new().unwrap();
    for file in ["ca.crt", "tls.crt", "tls.key"] {
        std::fs::copy(first.certs.path().join(file), copy.path().join(file)).unwrap();
    }
    let trust = trusting(&first.ca_pem());
    let second = RunningGate::run(&kubeconfig, copy, &[]);
    for gate in [&first, &second] {
        balancer.add(gate);
    }
    let manner = Manner {
        patience: PATIENCE,
        connections: 8,
        ..Manner::default()
    };
    let load = Load::start(Target::new(balancer.port, "localhost", &trust), manner);
    AtWork {
        line,
        load,
        _rest: (hub, balancer, [first, second]),
    }
}
