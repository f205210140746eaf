//! A soak of half a minute, or of hours: busy and quiet times alternate, while certificates and authorities change. In the
//! end replicas hold no more memory, files and tasks than near the beginning.

use std::time::{Duration, Instant};

use futures::future::join_all;

use crate::faults::calls::mix;
use crate::faults::length;
use crate::faults::load::{Load, Manner};
use crate::faults::replicas::Replicas;
use crate::faults::served::Held;
use crate::faults::tally::{Report, Tally};
use berth_testkit::managed::metric;

const SHORT: Duration = Duration::from_secs(30);

/// The longest pause of calls. In a soak of an hour it is longer than any client keeps an idle connection.
fn longest_rest() -> Duration {
    (length::soak(SHORT) / 15).min(Duration::from_secs(120))
}

/// The growth that is allowed: memory that the allocator keeps, files of connections that are being opened, and threads that
/// the runtime starts for blocking calls and stops when they have been idle.
const MORE_MEMORY: usize = 12 * 1024;
const MORE_FILES: usize = 12;
const MORE_THREADS: usize = 4;
/// A few for each connection that is being opened.
const MORE_TASKS: u64 = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hours_go_by() {
    let report = Report::begin("soak");
    let flags = ["--leaf-validity=12s", "--ca-validity=36s", "--ca-settle=3s"];
    let replicas = Replicas::start(&[], &flags).await;
    // Calls throughout, with pauses longer and shorter than the idle timeouts of connections.
    let now_and_then = Load::start(
        replicas.target(),
        Manner {
            connections: 6,
            pause: || longest_rest().mul_f64(fastrand::f64().powi(3)),
            ..Manner::default()
        },
    );
    let begun = Instant::now();
    let soak = length::soak(SHORT);
    let mut tally = Tally::default();
    let mut near_the_beginning = None;
    while begun.elapsed() < soak {
        let busy = Load::start(replicas.target(), Manner::default());
        let until = Instant::now() + longest_rest();
        while Instant::now() < until {
            busy.go_on(20).await;
        }
        tally.add(&busy.stop().await);
        tokio::time::sleep(longest_rest()).await;
        // By now every operation has happened a few times.
        if near_the_beginning.is_none() && begun.elapsed() > soak / 3 {
            near_the_beginning = Some((held(&replicas), tasks(&replicas).await));
        }
    }
    tally.add(&now_and_then.stop().await);
    let (before, tasks_before) = near_the_beginning.unwrap();
    let (after, tasks_after) = (held(&replicas), tasks(&replicas).await);
    for (before, after) in tasks_before.iter().zip(&tasks_after) {
        assert!(*after < before + MORE_TASKS, "{before} -> {after}");
    }
    let mut leaves = 0;
    for keeper in &replicas.keepers {
        let made = "berth_managed_certificate_rotations_total{what=\"leaf\"}";
        leaves += replicas.world.kept(keeper, made).await;
    }
    for (before, after) in before.iter().zip(&after) {
        let told = format!("{before:?} {after:?}");
        assert!(after.memory < before.memory + MORE_MEMORY, "{told}");
        assert!(after.files < before.files + MORE_FILES, "{told}");
        assert!(after.threads < before.threads + MORE_THREADS, "{told}");
    }
    assert!(leaves >= soak.as_secs() / 12, "{leaves}");
    let mib = |held: &[Held]| held.iter().map(|it| it.memory / 1024).collect::<Vec<_>>();
    let beside = format!(
        "{} s, {leaves} leaves, {:?} -> {:?} MiB, {tasks_before:?} -> {tasks_after:?} tasks",
        soak.as_secs(),
        mib(&before),
        mib(&after)
    );
    assert!(tally.calls() > mix().len() as u64, "{tally:?}");
    report.all_decided(&tally, beside);
}

/// The resources of each replica.
fn held(replicas: &Replicas) -> Vec<Held> {
    let gates = replicas.gates.iter();
    gates.map(|gate| Held::by(gate.child.id())).collect()
}

/// The number of tasks of each replica.
async fn tasks(replicas: &Replicas) -> Vec<u64> {
    let gates = replicas.gates.iter();
    let tasks: Vec<_> = gates.map(|gate| metric(gate, "berth_tasks")).collect();
    let tasks = join_all(tasks).await;
    assert!(tasks.iter().all(|tasks| *tasks > 0), "{tasks:?}");
    tasks
}
