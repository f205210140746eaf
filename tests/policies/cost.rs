//! The cost of a write is about linear in the size of the object: a requester chooses the size, and the API server evaluates
//! policies on its own processors, within a limit of cost.
//!
//! What counts is the processor time of the API server, so that other programs on the machine do not matter.

use std::fs;

use serde_json::{Value, json};

use crate::compare::WriteOutcome;
use crate::engine::Engine;
use crate::hub::Hub;
use crate::tables::lists::{with_configs, with_taints};
use crate::tables::selectors::large;
use crate::tables::{called, changed, deleting};
use crate::users::{User, grant};
use crate::write::{Verb, Write};

/// How often a write is sent.
const TIMES: usize = 4;

/// The processor time, in ticks, below which differences are noise.
const AT_LEAST: u64 = 12;

/// How much more than in proportion a larger object may take.
const TOLERANCE: f64 = 2.5;

const USER: &[&str] = &["join:*", "accept"];

/// A write that was measured.
struct Measured {
    what: &'static str,
    size: u32,
    /// The processor time in ticks.
    took: u64,
}

struct Stopwatch<'h> {
    hub: &'h Hub,
    user: User,
    failures: Vec<String>,
    measured: Vec<Measured>,
}

impl Stopwatch<'_> {
    /// Measures the creation of an object of this size.
    async fn create(&mut self, what: &'static str, size: u32, object: Value) {
        let write = Write {
            user: self.user.clone(),
            verb: Verb::Create,
            object: called(object, "measured"),
        };
        self.measure(what, size, &write).await;
    }

    /// Measures a change of a stored object of this size.
    async fn update(&mut self, what: &'static str, size: u32, old: &Value, new: &Value) {
        let name = format!(
            "{}-{size}",
            what.replace([' ', ',', ':'], "-").to_lowercase()
        );
        let stored = self.hub.store(&called(old.clone(), &name)).await;
        let write = Write {
            user: self.user.clone(),
            verb: Verb::Replace,
            object: changed(stored, new),
        };
        self.measure(what, size, &write).await;
    }

    async fn measure(&mut self, what: &'static str, size: u32, write: &Write) {
        let before = ticks_of_api_servers();
        for _ in 0..TIMES {
            let outcome = self.hub.outcome(write, &Engine::Policies).await;
            if outcome.code >= 300 {
                let WriteOutcome { code, message, .. } = outcome;
                self.failures
                    .push(format!("{what}, {size}: {code}: {message}"));
                return;
            }
        }
        let took = (ticks_of_api_servers() - before).max(AT_LEAST);
        println!("{what}, {size}: {took} ticks");
        self.measured.push(Measured { what, size, took });
    }

    /// Compares each size with the smallest one of the same kind of write.
    fn compare(&mut self) {
        for larger in &self.measured {
            let smallest = self
                .measured
                .iter()
                .filter(|it| it.what == larger.what)
                .min_by_key(|it| it.size);
            let smallest = smallest.unwrap();
            let sizes = f64::from(larger.size) / f64::from(smallest.size);
            #[allow(clippy::cast_precision_loss, reason = "small numbers")]
            let times = larger.took as f64 / smallest.took as f64;
            if times > sizes * TOLERANCE {
                self.failures.push(format!(
                    "{}: {} takes {times:.1} times as long as {}",
                    larger.what, larger.size, smallest.size
                ));
            }
        }
    }
}

/// The processor time, in ticks, of the API servers that this process has started.
fn ticks_of_api_servers() -> u64 {
    let own = std::process::id().to_string();
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let ticks = processes.filter_map(|process| {
        let stat = fs::read_to_string(process.path().join("stat")).ok()?;
        let (command, fields) = stat.rsplit_once(')')?;
        let fields: Vec<_> = fields.split_whitespace().collect();
        let is_own = command.ends_with("(kube-apiserver") && fields[1] == own;
        is_own.then(|| {
            fields[11..13]
                .iter()
                .map(|ticks| ticks.parse::<u64>().unwrap())
                .sum::<u64>()
        })
    });
    ticks.sum()
}

/// The taints with a time each.
fn timed(mut object: Value) -> Value {
    for taint in object["spec"]["taints"].as_array_mut().unwrap() {
        taint["timeAdded"] = "2020-02-02T02:02:02Z".into();
    }
    object
}

fn with_lease(mut object: Value) -> Value {
    object["spec"]["leaseDurationSeconds"] = json!(30);
    object
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cost_is_linear() {
    let Some(hub) = Hub::shared().await else {
        return;
    };
    let user = User::new(USER);
    grant(&hub.admin, [&user]).await;
    let mut watch = Stopwatch {
        hub: &hub,
        user,
        failures: Vec::new(),
        measured: Vec::new(),
    };
    for size in [100, 400, 1_000] {
        watch
            .create("taints come", size, with_taints(0..size as usize))
            .await;
        watch
            .create("client configs come", size, with_configs(0..size as usize))
            .await;
        let (old, new) = (
            timed(with_taints(0..size as usize)),
            with_taints(0..size as usize),
        );
        watch.update("taints without times", size, &old, &new).await;
        let half = with_taints(size as usize / 2..size as usize * 3 / 2);
        watch.update("half of the taints", size, &old, &half).await;
    }
    for size in [100, 1_000] {
        let requirements = size as usize;
        watch
            .create("a set, requirements", size, large(requirements, 1))
            .await;
        let (old, new) = (large(requirements, 1), large(requirements - 1, 1));
        watch.update("wider, requirements", size, &old, &new).await;
        watch
            .update("narrower, requirements", size, &new, &old)
            .await;
        watch
            .create("a set, values", size, large(10, requirements))
            .await;
        let (old, new) = (large(10, requirements), large(10, requirements - 1));
        watch.update("narrower, values", size, &old, &new).await;
        watch.update("wider, values", size, &new, &old).await;
    }
    for size in [1_500, 2_000, 3_000] {
        let stored = timed(with_taints(0..size as usize));
        let few = timed(with_taints(1..1_000));
        watch
            .update(
                "too many taints stay",
                size,
                &stored,
                &with_lease(stored.clone()),
            )
            .await;
        let fewest = with_taints(0..0);
        watch
            .update("too many taints are removed", size, &stored, &fewest)
            .await;
        if size <= 2_000 {
            watch
                .update("too many taints become few", size, &stored, &few)
                .await;
        }
        watch
            .update("too many taints go", size, &deleting(stored.clone()), &few)
            .await;
    }
    watch.compare();
    assert!(watch.failures.is_empty(), "{:#?}", watch.failures);
}
