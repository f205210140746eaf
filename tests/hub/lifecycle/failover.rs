//! Several `berth controller` processes on a hub whose clusters keep changing. The leader is killed, stopped or paused:
//! another process takes over, all clusters reach the same final state, and two processes never write at the same time.
//!
//! Each process has its own proxy to the hub, which records its writes by one clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::lifecycle::hub::{
    AVAILABLE, HubWithReconcilers, cluster_path, condition, owned_paths, taints,
};
use crate::lifecycle::killed::{KINDS, live, states};
use crate::lifecycle::proxy::{Asked, Line, Proxy};
use berth_testkit::cluster::http::Answer;
use berth_testkit::cluster::{AsAdmin, Private, fresh};
use berth_testkit::process::{Controller, holder};
use berth_testkit::{eventually, when};

type Own = HubWithReconcilers<Private>;

/// Short, and long enough for a busy machine.
const ELECTION: [&str; 3] = [
    "--leader-election-lease-duration=5s",
    "--leader-election-renew-deadline=4s",
    "--leader-election-retry-period=400ms",
];

/// The number of clusters that change at the same time. Each step begins when the previous one has its effect.
const LANES: usize = 5;

/// In addition, a cluster is accepted at this interval, up to this number, whichever process leads.
const PACE: Duration = Duration::from_millis(120);
const MOST: usize = 30;

/// The number of writes after which a leader counts as busy.
const WRITES: usize = 60;

/// The number of clusters whose agents renew their leases, and of clusters whose agents fall silent.
const AGENTS: usize = 4;

const STOPPED: &str = "ManagedClusterLeaseUpdateStopped";

/// One of several controllers of the hub.
struct Replica {
    controller: Controller,
    proxy: Proxy,
}

/// The time from a replica's first write to the response of its last one.
struct Reign {
    who: usize,
    from: Instant,
    until: Instant,
    writes: usize,
}

// === impl Replica ===

impl Replica {
    async fn start(hub: &Own) -> Self {
        let proxy = Proxy::start(&hub.cluster).await;
        let kubeconfig = hub.cluster.person_at(&proxy.url).await.kubeconfig;
        let start = move || {
            // The tests are about the lifecycle, and its Lease.
            let flags = [&ELECTION[..], &["--controllers=registration"]].concat();
            Controller::with_kubeconfig(&kubeconfig, &flags)
        };
        Self {
            controller: tokio::task::spawn_blocking(start).await.unwrap(),
            proxy,
        }
    }

    /// Its writes for clusters.
    fn writes(&self) -> Vec<Asked> {
        let mut writes = self.proxy.writes();
        writes.retain(is_for_clusters);
        writes
    }

    fn has_written(&self) -> bool {
        self.proxy.any(is_for_clusters)
    }

    fn written(&self) -> usize {
        self.proxy.count(is_for_clusters)
    }

    /// The number of these without a response.
    fn waits_for(&self) -> usize {
        self.proxy
            .count(|it| is_for_clusters(it) && it.answered.is_none())
    }

    /// Its identity in the Lease.
    fn identity(&self) -> String {
        let log = self.controller.log();
        let identity = log.iter().find_map(|line| line["identity"].as_str());
        identity.unwrap().to_owned()
    }

    fn has_said(&self, message: &str) -> bool {
        let log = self.controller.log();
        log.iter().any(|line| line["message"] == message)
    }

    /// Returns true if it has ended because it could not renew the Lease in time.
    fn gave_up(&mut self) -> bool {
        let Some(ended) = self.controller.child.try_wait().unwrap() else {
            return false;
        };
        assert!(ended.success(), "{:?}", self.controller.log());
        true
    }

    fn reign(&self, who: usize) -> Option<Reign> {
        let writes = self.writes();
        Some(Reign {
            who,
            from: writes.first()?.at,
            until: writes.iter().map(|it| it.answered.unwrap_or(it.at)).max()?,
            writes: writes.len(),
        })
    }
}

/// Returns true for a write that only the leader may make: all except those to the Lease of the election.
fn is_for_clusters(asked: &Asked) -> bool {
    asked.writes()
        && !asked.path.contains("registration-controller-lock")
        && !asked.path.ends_with("/open-cluster-management-hub/leases")
}

/// Waits until another replica writes, and returns it. `old` are the earlier leaders.
async fn successor(hub: &Own, replicas: &mut Vec<Replica>, old: &[usize]) -> usize {
    eventually("writes of another leader", async || {
        let mut running = false;
        for who in (0..replicas.len()).filter(|who| !old.contains(who)) {
            if replicas[who].has_written() {
                return Ok(who);
            }
            running |= !replicas[who].gave_up();
        }
        if !running {
            replicas.push(Replica::start(hub).await);
        }
        Err("nobody else writes")
    })
    .await
}

/// Checks that each leader's first write came after the last response of its predecessor.
fn one_at_a_time(replicas: &[Replica]) {
    let reigns = replicas.iter().enumerate();
    let mut reigns: Vec<_> = reigns.filter_map(|(who, it)| it.reign(who)).collect();
    reigns.sort_by_key(|reign| reign.from);
    for pair in reigns.windows(2) {
        let [before, after] = pair else { continue };
        let both = before.until.saturating_duration_since(after.from);
        let late: Vec<_> = replicas[before.who]
            .writes()
            .into_iter()
            .filter(|it| it.at > after.from)
            .map(|it| format!("{} {}", it.method, it.path))
            .collect();
        assert!(
            before.until < after.from,
            "{both:?} both {} and {} wrote ({} and {} writes): {late:#?}",
            before.who,
            after.who,
            before.writes,
            after.writes,
        );
    }
}

/// Creates and deletes clusters until `stop`, and returns their names and kinds.
async fn come_and_go(hub: &Own, stop: &AtomicBool) -> Vec<(String, &'static str)> {
    let goes_on = || !stop.load(Ordering::Relaxed);
    let lanes = join_all((0..LANES).map(async |lane| {
        let mut lived = Vec::new();
        for kind in KINDS.into_iter().cycle().skip(lane) {
            if !goes_on() {
                break;
            }
            let name = fresh(&format!("led-{kind}"));
            live(hub, &name, kind).await;
            lived.push((name, kind));
        }
        lived
    }));
    let flood = async {
        let mut came = Vec::new();
        while goes_on() && came.len() < MOST {
            let name = fresh("led-flood");
            hub.cluster(&name, json!({"hubAcceptsClient": true})).await;
            came.push((name, "in"));
            sleep(PACE).await;
        }
        came
    };
    let (lanes, flood) = tokio::join!(lanes, flood);
    lanes.into_iter().flatten().chain(flood).collect()
}

/// Renews the leases of these clusters, forever.
async fn renewed(hub: &Own, names: &[String]) {
    loop {
        join_all(names.iter().map(|name| hub.renew(name))).await;
        sleep(Duration::from_millis(700)).await;
    }
}

/// Clusters with a working agent, whose lease must not be older than ten seconds.
async fn with_agents(hub: &Own, prefix: &str) -> Vec<String> {
    let names: Vec<_> = (0..AGENTS).map(|_| fresh(prefix)).collect();
    join_all(names.iter().map(async |name| {
        hub.accepted_with(name, json!({"leaseDurationSeconds": 2}))
            .await;
        hub.renew(name).await;
        hub.report_available(name, "True").await;
        hub.once(&cluster_path(name), "without taints", |object| {
            taints(object).is_empty()
        })
        .await;
        hub.renew(name).await;
    }))
    .await;
    names
}

/// Starts `count` replicas at the same time on a hub. Clusters come and go, while `disturb` stops or kills leaders and adds
/// each leader to the list.
async fn led(count: usize, disturb: impl AsyncFnOnce(&Own, &mut Vec<Replica>, &mut Vec<usize>)) {
    // These tests measure time: they run one at a time.
    static ONE: Mutex<()> = Mutex::const_new(());
    let _alone = ONE.lock().await;
    let hub = HubWithReconcilers::private_without_reconcilers().await;
    // All at once: the election decides which one leads.
    let mut replicas = join_all((0..count).map(|_| Replica::start(&hub))).await;
    let calm = KINDS.map(|kind| (fresh(&format!("calm-{kind}")), kind));
    join_all(calm.iter().map(|(name, kind)| live(&hub, name, kind))).await;
    let (lively, silent) = tokio::join!(with_agents(&hub, "lively"), with_agents(&hub, "silent"));
    let before = join_all(
        lively
            .iter()
            .map(async |name| hub.get(&cluster_path(name)).await),
    )
    .await;

    let stop = AtomicBool::new(false);
    let disturbed = async {
        let mut order = vec![successor(&hub, &mut replicas, &[]).await];
        disturb(&hub, &mut replicas, &mut order).await;
        stop.store(true, Ordering::Relaxed);
        kept_up(&hub, &mut replicas).await;
    };
    let clusters = tokio::select! {
        clusters = come_and_go(&hub, &stop) => clusters,
        () = disturbed => unreachable!("it keeps them up for ever"),
        () = renewed(&hub, &lively) => unreachable!("for ever"),
    };
    assert!(clusters.len() >= 20, "hardly a load: {}", clusters.len());

    tokio::select! {
        () = end_as_in_the_calm(&hub, calm, clusters, [lively, silent], before) => {}
        () = kept_up(&hub, &mut replicas) => unreachable!("for ever"),
    }
    one_at_a_time(&replicas);
}

/// Starts another replica when all have ended, as a kubelet does: on a busy machine they may not renew the Lease in time.
async fn kept_up(hub: &Own, replicas: &mut Vec<Replica>) {
    loop {
        let mut ended = replicas.iter_mut().map(|it| it.controller.child.try_wait());
        if ended.all(|ended| ended.unwrap().is_some()) {
            replicas.push(Replica::start(hub).await);
        }
        sleep(Duration::from_millis(200)).await;
    }
}

/// Checks that all clusters reach the state of the calm cluster of their kind, and cleans up the hub.
async fn end_as_in_the_calm(
    hub: &Own,
    calm: [(String, &'static str); KINDS.len()],
    clusters: Vec<(String, &'static str)>,
    [lively, silent]: [Vec<String>; 2],
    before: Vec<Answer>,
) {
    // No lively agent was reported as silent, and each silent one was reported once.
    let now = join_all(lively.iter().map(async |name| {
        let told = hub.events(name, name, "AvailableUnknown");
        (hub.get(&cluster_path(name)).await, told.await)
    }));
    for (before, (now, told)) in before.iter().zip(now.await) {
        let available = |answer: &Answer| condition(&answer.body, AVAILABLE).cloned();
        assert_eq!(available(&now), available(before));
        assert_eq!(now.body["spec"], before.body["spec"]);
        assert!(told.is_empty(), "{told:?}");
    }
    join_all(silent.iter().map(async |name| {
        hub.condition(name, AVAILABLE, "Unknown", STOPPED).await;
        hub.once(&cluster_path(name), "tainted", |it| taints(it).len() == 1)
            .await;
        let told = hub.events(name, name, "AvailableUnknown").await;
        assert!(told.len() <= 1, "{told:?}");
    }))
    .await;

    // All reach the state of the calm clusters.
    // (One after the other: all requests at once would keep the hub from answering others.)
    for (name, kind) in &clusters {
        if !["left", "never"].contains(kind) {
            live_on(hub, name, kind).await;
        }
    }
    let all: Vec<_> = calm.iter().chain(&clusters).collect();
    let names: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
    let states = states(hub, &names).await;
    for ((name, kind), state) in all.iter().zip(&states) {
        let calm = calm.iter().position(|(_, of)| of == kind).unwrap();
        assert_eq!(*state, states[calm], "{name}");
    }

    // Other tests use the hub after this one.
    let names = calm.iter().chain(&clusters).map(|(name, _)| name);
    let paths = names.chain(&lively).chain(&silent);
    let paths: Vec<_> = paths.map(|name| cluster_path(name)).collect();
    for path in &paths {
        let answer = hub.admin.delete(path).await.unwrap();
        assert!([200, 202, 404].contains(&answer.code), "{answer:?}");
    }
    for path in &paths {
        hub.gone(path).await;
    }
}

/// Waits until the cluster has reached its final state.
async fn live_on(hub: &Own, name: &str, kind: &str) {
    let (status, reason) = match kind {
        "out" => ("False", "HubClusterAdminDenied"),
        _ => ("True", "HubClusterAdminAccepted"),
    };
    hub.condition(name, crate::lifecycle::hub::ACCEPTED, status, reason)
        .await;
    if kind != "out" {
        for path in owned_paths(name) {
            hub.once(&path, "there", |_| true).await;
        }
    }
}

/// Waits until the leader has been busy, and returns it.
///
/// On a busy machine a leader may not renew in time and end; another one leads then, which is correct.
async fn busy(hub: &Own, replicas: &mut Vec<Replica>, order: &mut Vec<usize>) -> usize {
    let mut leader = *order.last().unwrap();
    let mut enough = replicas[leader].written() + WRITES;
    eventually("writes of the leader", async || {
        if replicas[leader].gave_up() {
            leader = successor(hub, replicas, order).await;
            order.push(leader);
            enough = replicas[leader].written() + WRITES;
        }
        when(replicas[leader].written(), |it| *it >= enough)
    })
    .await;
    leader
}

/// Waits until the leader has sent all its requests, and waits for responses.
///
/// Bytes that a paused process has handed to a stopped connection are sent when it continues, however late.
async fn waits_for_answers(leader: &Replica) {
    eventually("a leader that waits for answers", async || {
        leader.proxy.line(Line::Hangs);
        let mut before = 0;
        while leader.written() > before {
            before = leader.written();
            sleep(Duration::from_millis(200)).await;
        }
        if leader.waits_for() > 0 {
            return Ok(());
        }
        leader.proxy.line(Line::Up);
        Err("it waits for nothing")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_that_are_killed_are_followed_by_another() {
    led(3, async |hub, replicas, order| {
        for _ in 0..2 {
            let leader = busy(hub, replicas, order).await;
            replicas[leader].controller.signal("KILL");
            order.push(successor(hub, replicas, order).await);
            assert_ne!(holder(&hub.admin).await, replicas[leader].identity());
        }
        busy(hub, replicas, order).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_that_was_killed_is_followed_by_the_next_one_of_its_pod_at_once() {
    let hub = HubWithReconcilers::private_without_reconcilers().await;
    // OCM's agents use these. The Lease ends long after the test has lost its patience.
    let flags = [
        "--leader-election-lease-duration=137s",
        "--leader-election-renew-deadline=107s",
        "--leader-election-retry-period=26s",
    ];
    let mut first = Controller::in_pod(&hub.cluster, "u1", &flags).await;
    first.leads();
    first.signal("KILL");
    first.ended().await;
    let mut second = Controller::in_pod(&hub.cluster, "u1", &flags).await;
    second.leads();
    assert!(holder(&hub.admin).await.ends_with("_u1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaders_that_are_told_to_stop_hand_over_at_once() {
    led(2, async |hub, replicas, order| {
        for _ in 0..2 {
            let leader = busy(hub, replicas, order).await;
            replicas[leader].controller.signal("TERM");
            let ended = replicas[leader].controller.ended().await;
            assert_eq!(ended.code(), Some(0));
            // No process has to wait until the Lease expires.
            assert!(replicas[leader].has_said("released"));
            order.push(successor(hub, replicas, order).await);
            assert_ne!(holder(&hub.admin).await, replicas[leader].identity());
            // As in a rollout.
            replicas.push(Replica::start(hub).await);
        }
        busy(hub, replicas, order).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_sleeps_past_its_lease_writes_nothing_when_it_wakes() {
    led(2, async |hub, replicas, order| {
        let asleep = busy(hub, replicas, order).await;
        let identity = replicas[asleep].identity();
        waits_for_answers(&replicas[asleep]).await;
        replicas[asleep].controller.signal("STOP");
        // Responses and events of watches are waiting for it when it wakes.
        replicas[asleep].proxy.line(Line::Up);
        order.push(successor(hub, replicas, order).await);
        assert_ne!(holder(&hub.admin).await, identity);
        busy(hub, replicas, order).await;

        let sleeper = &mut replicas[asleep];
        let written = sleeper.written();
        sleeper.controller.signal("CONT");
        let ended = sleeper.controller.ended().await;
        let log = sleeper.controller.log();
        assert_eq!(ended.code(), Some(0), "{log:?}");
        let says = "the leadership is lost: ending";
        assert!(sleeper.has_said(says), "{log:?}");
        assert!(!sleeper.has_said("released"), "{log:?}");
        let late: Vec<_> = sleeper.writes().into_iter().skip(written).collect();
        assert!(late.is_empty(), "{late:#?}");
        assert_ne!(holder(&hub.admin).await, identity);
    })
    .await;
}
