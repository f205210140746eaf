//! A hub with faults: refused, lost and unanswered requests delay the final state, and do not change it.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use futures::future::join_all;
use http::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::lifecycle::hub::{
    ACCEPTED, AVAILABLE, CLOCK_SYNCED, HubWithReconcilers, account, cluster_path, condition,
    config, lease_path, namespace_path, owned_paths, rbac_path, reconcile_at, taints,
};
use crate::lifecycle::killed::{forget, states};
use crate::lifecycle::proxy::{Asked, Fault, Line, Proxy};
use berth_testkit::cluster::{AsAdmin, Private, documents_of, fresh};
use berth_testkit::{eventually, when};

const STOPPED: &str = "ManagedClusterLeaseUpdateStopped";

type Own = HubWithReconcilers<Private>;

/// Its agent counts as silent after five seconds.
fn impatient() -> Value {
    json!({"hubAcceptsClient": true, "leaseDurationSeconds": 1})
}

/// Waits until the cluster has all its objects, and its agent counts as silent.
async fn lived(hub: &Own, name: &str) {
    hub.condition(name, ACCEPTED, "True", "HubClusterAdminAccepted")
        .await;
    hub.once(&lease_path(name), "there", |_| true).await;
    hub.condition(name, AVAILABLE, "Unknown", STOPPED).await;
    hub.once(&cluster_path(name), "tainted", |object| {
        !taints(object).is_empty()
    })
    .await;
}

/// Gives the first write of each kind to each object a fault, by cluster; objects of no cluster get `others`.
fn first_of_each(proxy: &Proxy, clusters: &[(String, Fault)], others: Fault) {
    let clusters = clusters.to_vec();
    let mut seen = HashSet::new();
    proxy.rule(move |asked| {
        if !asked.writes() || !seen.insert(asked.key()) {
            return Fault::Pass;
        }
        let of = clusters.iter().find(|(name, _)| asked.concerns(name));
        of.map_or(others, |(_, fault)| *fault)
    });
}

/// One cluster for each fault, and a first one without a fault.
fn troubled(proxy: &Proxy, faults: &[Fault], others: Fault) -> Vec<(String, Fault)> {
    let mut clusters = vec![(fresh("calm"), Fault::Pass)];
    clusters.extend(faults.iter().map(|fault| (fresh("troubled"), *fault)));
    first_of_each(proxy, &clusters, others);
    clusters
}

/// The clusters are accepted and fall silent, and reach the state of the one without a fault. Returns the writes.
async fn end_as_one_without_trouble(
    faults: &[Fault],
    others: Fault,
) -> (Vec<(String, Fault)>, Vec<Asked>) {
    let (hub, proxy) = HubWithReconcilers::behind_a_proxy(config()).await;
    let clusters = troubled(&proxy, faults, others);
    join_all(
        clusters
            .iter()
            .map(|(name, _)| hub.cluster(name, impatient())),
    )
    .await;
    join_all(clusters.iter().map(|(name, _)| lived(&hub, name))).await;
    let names: Vec<_> = clusters.iter().map(|(name, _)| name.as_str()).collect();
    let states = states(&hub, &names).await;
    for ((name, fault), state) in clusters.iter().zip(&states) {
        assert_eq!(*state, states[0], "{name}: {fault:?}");
        let told = hub.events(name, name, "AvailableUnknown").await;
        assert!(told.len() <= 1, "{name}: {fault:?}: {told:#?}");
    }
    // An error that the next attempt resolves is not reported.
    let writes = proxy.writes();
    for write in &writes {
        assert_eq!(reason_told(write).filter(|it| *it == "Error"), None);
    }
    (clusters, writes)
}

/// The reason of the condition that a write sets, if it sets one.
fn reason_told(write: &Asked) -> Option<&str> {
    write.body["status"]["conditions"][0]["reason"].as_str()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_each_write_is_refused_once_delays_the_end_and_does_not_change_it() {
    let faults = [409, 500, 503, 429].map(Fault::Answer);
    let (clusters, writes) = end_as_one_without_trouble(&faults, Fault::Answer(500)).await;
    for (name, fault) in &clusters {
        let of: Vec<_> = writes
            .iter()
            .filter(|it| it.concerns(name) && !it.tells_event())
            .collect();
        let refused: Vec<_> = of.iter().filter(|it| it.fault != Fault::Pass).collect();
        assert_eq!(refused.is_empty(), *fault == Fault::Pass, "{name}: {of:#?}");
        if *fault != Fault::Answer(429) {
            continue;
        }
        for refused in refused {
            // Writes that were already in flight do not count.
            let after = of
                .iter()
                .map(|it| it.at.saturating_duration_since(refused.at));
            let early = Duration::from_millis(300)..Duration::from_secs(1);
            assert!(
                !after.clone().any(|after| early.contains(&after)),
                "{refused:#?}: {of:#?}"
            );
            let mut same = of
                .iter()
                .filter(|it| it.key() == refused.key() && it.at > refused.at);
            assert!(
                same.all(|it| it.at - refused.at >= early.end),
                "{refused:#?}: {of:#?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_whose_answer_is_lost_is_not_written_otherwise_again() {
    let faults = [Fault::CutAfter, Fault::CutBefore, Fault::CutAfter];
    let (_, writes) = end_as_one_without_trouble(&faults, Fault::CutAfter).await;
    assert!(writes.iter().any(|it| it.fault == Fault::CutAfter));
    let mut written: BTreeMap<String, Value> = BTreeMap::new();
    for write in writes {
        // A merge patch contains only changes, which differ each time.
        if write.tells_event()
            || (write.method == Method::PATCH && write.query == "fieldManager=berth")
        {
            continue;
        }
        let mut body = write.body.clone();
        forget(&mut body);
        let before = written.entry(write.key()).or_insert_with(|| body.clone());
        assert_eq!(*before, body, "{}", write.key());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clusters_are_removed_though_each_write_fails_once() {
    let (hub, proxy) = HubWithReconcilers::behind_a_proxy(config()).await;
    let faults = [409, 500, 503, 429].map(Fault::Answer);
    let faults = [&faults[..], &[Fault::CutAfter, Fault::CutBefore]].concat();
    let names: Vec<_> = faults.iter().map(|_| fresh("troubled")).collect();
    join_all(names.iter().map(|name| hub.accepted(name))).await;
    let clusters: Vec<_> = names.iter().cloned().zip(faults).collect();
    first_of_each(&proxy, &clusters, Fault::Pass);
    join_all(names.iter().map(async |name| {
        hub.delete(&cluster_path(name)).await;
        hub.gone(&cluster_path(name)).await;
        // Its namespace stays, and all rights of its agent are removed.
        for path in &owned_paths(name)[1..5] {
            hub.gone(path).await;
        }
        assert_eq!(hub.get(&namespace_path(name)).await.code, 200, "{name}");
    }))
    .await;
    for (name, fault) in clusters {
        let writes = proxy.writes();
        let hit = |it: &&Asked| it.concerns(&name) && it.fault == fault;
        assert!(writes.iter().filter(hit).count() > 2, "{name}: {writes:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_while_watches_are_cut_all_the_time_is_seen() {
    let (hub, proxy) = HubWithReconcilers::behind_a_proxy(config()).await;
    let calm = fresh("calm");
    hub.accepted(&calm).await;
    let denied = fresh("denied");
    hub.accepted(&denied).await;
    let left = fresh("left");
    hub.accepted(&left).await;
    let mut count = 0;
    proxy.rule(move |asked| {
        if !asked.watches() {
            return Fault::Pass;
        }
        count += 1;
        match count % 5 {
            0 => Fault::Gone,
            1 => Fault::CutInEvent,
            2 => Fault::Answer(410),
            3 => Fault::CutBefore,
            _ => Fault::Pass,
        }
    });
    let end = Instant::now() + Duration::from_secs(3);
    let mut names = Vec::new();
    while Instant::now() < end {
        proxy.cut_watches();
        sleep(Duration::from_millis(100)).await;
        if names.len() < 10 {
            let name = fresh("unseen");
            hub.cluster(&name, json!({"hubAcceptsClient": true})).await;
            names.push(name);
        }
        if names.len() == 5 {
            let denial = json!({"spec": {"hubAcceptsClient": false}});
            hub.patch(&cluster_path(&denied), denial).await;
            hub.delete(&cluster_path(&left)).await;
            hub.delete(&rbac_path(&format!(
                "clusterroles/open-cluster-management:managedcluster:{calm}"
            )))
            .await;
        }
    }
    proxy.rule(|_| Fault::Pass);
    hub.condition(&denied, ACCEPTED, "False", "HubClusterAdminDenied")
        .await;
    hub.gone(&cluster_path(&left)).await;
    for name in &names {
        hub.condition(name, ACCEPTED, "True", "HubClusterAdminAccepted")
            .await;
        hub.once(&lease_path(name), "there", |_| true).await;
    }
    for path in owned_paths(&calm) {
        hub.once(&path, "there", |_| true).await;
    }
    let all: Vec<_> = [&calm]
        .into_iter()
        .chain(&names)
        .map(String::as_str)
        .collect();
    let states = states(&hub, &all).await;
    for (name, state) in all.iter().zip(&states) {
        assert_eq!(*state, states[0], "{name}");
    }
}

/// The hub is unreachable for longer than an agent may be silent.
async fn gone_for_long(line: Line) {
    let (hub, proxy) = HubWithReconcilers::behind_a_proxy(config()).await;
    let (lively, silent) = (fresh("lively"), fresh("silent"));
    for name in [&lively, &silent] {
        hub.accepted_with(name, json!({"leaseDurationSeconds": 1}))
            .await;
        hub.report_available(name, "True").await;
        hub.once(&cluster_path(name), "without taints", |object| {
            taints(object).is_empty()
        })
        .await;
        hub.renew(name).await;
    }
    let paths = [&lively, &silent].map(|name| cluster_path(name));
    // Both have been silent for a while, but not for too long, when the hub goes away.
    sleep(Duration::from_millis(1500)).await;
    let before = hub.read(&paths).await;
    proxy.line(line);
    // Longer than a lease of a second may go without renewal: this time is what the test is about.
    sleep(Duration::from_millis(5500)).await;
    proxy.line(Line::Up);
    let back = Instant::now();
    let unknown = async {
        hub.condition(&silent, AVAILABLE, "Unknown", STOPPED).await;
        Instant::now()
    };
    let mut unknown = std::pin::pin!(unknown);
    let at = loop {
        hub.renew(&lively).await;
        tokio::select! {
            at = &mut unknown => break at,
            () = sleep(Duration::from_millis(700)) => {}
        }
    };
    // It had been silent for at most two seconds when the hub went away.
    assert!(at - back > Duration::from_secs(2), "{:?}", at - back);
    let now = hub.get(&paths[0]).await.body;
    assert_eq!(condition(&now, AVAILABLE), condition(&before[0], AVAILABLE));
    assert_eq!(now["spec"], before[0]["spec"]);
    let told = hub.events(&lively, &lively, "AvailableUnknown").await;
    assert!(told.is_empty(), "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_silent_because_the_hub_could_not_be_reached() {
    gone_for_long(Line::Cut).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_silent_because_the_hub_answered_nobody() {
    gone_for_long(Line::Hangs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_silent_because_the_watch_of_leases_is() {
    leases_are_not_told(Fault::Silent).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_silent_because_the_watch_of_leases_has_bookmarks_only() {
    leases_are_not_told(Fault::Bookmarks).await;
}

/// The watch of leases is open, and reports no renewal.
async fn leases_are_not_told(fault: Fault) {
    let (mut hub, proxy) = HubWithReconcilers::behind_a_proxy(config()).await;
    let (lively, silent) = (fresh("lively"), fresh("silent"));
    for name in [&lively, &silent] {
        hub.accepted_with(name, json!({"leaseDurationSeconds": 1}))
            .await;
        hub.report_available(name, "True").await;
        hub.renew(name).await;
    }
    proxy.rule(move |asked| {
        if asked.watches() && asked.path.ends_with("/leases") {
            fault
        } else {
            Fault::Pass
        }
    });
    hub.reconcilers.stop().await;
    hub.reconcilers = reconcile_at(&hub.cluster, config(), &proxy).await;
    let end = Instant::now() + Duration::from_millis(6300);
    while Instant::now() < end {
        hub.renew(&lively).await;
        sleep(Duration::from_millis(700)).await;
        let now = hub.get(&cluster_path(&lively)).await.body;
        assert_eq!(condition(&now, AVAILABLE).unwrap()["status"], "True");
        // A renewal that is found late does not mean that clocks differ.
        let clock = condition(&now, CLOCK_SYNCED);
        assert!(clock.is_none_or(|clock| clock["status"] == "True"), "{now}");
    }
    hub.condition(&silent, AVAILABLE, "Unknown", STOPPED).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_is_never_answered_keeps_nobody_else_waiting() {
    let (hub, proxy) = HubWithReconcilers::behind_a_proxy(config()).await;
    hub.accepted(&fresh("first")).await;
    let stuck: Vec<_> = (0..6).map(|_| fresh("stuck")).collect();
    let held = stuck.clone();
    proxy.rule(move |asked| {
        let held = asked.writes() && held.iter().any(|name| asked.concerns(name));
        if held { Fault::Hang } else { Fault::Pass }
    });
    for name in &stuck {
        hub.cluster(name, json!({"hubAcceptsClient": true})).await;
    }
    eventually("a write for each of them", async || {
        let writes = proxy.writes();
        let unwritten: Vec<_> = stuck
            .iter()
            .filter(|name| !writes.iter().any(|it| it.concerns(name)))
            .collect();
        when(unwritten, Vec::is_empty).map_err(|it| format!("{it:?}"))
    })
    .await;
    let began = Instant::now();
    for _ in 0..3 {
        hub.accepted(&fresh("free")).await;
    }
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    // The test ends the connections, which would otherwise end at their deadline.
    proxy.rule(|_| Fault::Pass);
    proxy.end_connections().await;
    for name in &stuck {
        hub.condition(name, ACCEPTED, "True", "HubClusterAdminAccepted")
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_is_refused_for_good_is_told_and_keeps_nobody_else_waiting() {
    let (hub, proxy) = HubWithReconcilers::behind_a_proxy(config()).await;
    let (refused, free) = (fresh("refused"), fresh("free"));
    let name = refused.clone();
    proxy.rule(move |asked| {
        let refused =
            asked.writes() && asked.path.contains("/rolebindings") && asked.concerns(&name);
        if refused {
            Fault::Answer(403)
        } else {
            Fault::Pass
        }
    });
    hub.cluster(&refused, json!({"hubAcceptsClient": true}))
        .await;
    let cluster = hub.condition(&refused, ACCEPTED, "False", "Error").await;
    let message = condition(&cluster, ACCEPTED).unwrap()["message"].clone();
    let binding = format!("open-cluster-management:managedcluster:{refused}:registration");
    assert!(message.as_str().unwrap().contains(&binding), "{message}");
    assert!(
        message.as_str().unwrap().contains("the line says 403"),
        "{message}"
    );
    let began = Instant::now();
    for _ in 0..3 {
        hub.accepted(&fresh("free")).await;
    }
    hub.accepted(&free).await;
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    // It is retried at growing intervals, and reported once.
    let tries = proxy
        .writes()
        .iter()
        .filter(|it| it.fault == Fault::Answer(403))
        .count();
    assert!((2..40).contains(&tries), "{tries}");
    let said = proxy
        .writes()
        .iter()
        .filter(|it| it.concerns(&refused) && it.path.ends_with("/status"))
        .count();
    assert_eq!(said, 1);

    proxy.rule(|_| Fault::Pass);
    hub.condition(&refused, ACCEPTED, "True", "HubClusterAdminAccepted")
        .await;
    let states = states(&hub, &[&refused, &free]).await;
    assert_eq!(states[0], states[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_pass_by_itself_is_told_when_it_lasts() {
    let (hub, proxy) = HubWithReconcilers::behind_a_proxy(config()).await;
    let faults = [Fault::Answer(503), Fault::Answer(409), Fault::CutBefore];
    let troubled = faults.map(|fault| (fresh("lasting"), fault));
    let of = troubled.clone();
    proxy.rule(move |asked| {
        let refused = asked.writes() && asked.path.contains("/rolebindings");
        let of = of.iter().find(|(name, _)| asked.concerns(name));
        of.filter(|_| refused).map_or(Fault::Pass, |it| it.1)
    });
    let began = Instant::now();
    join_all(troubled.iter().map(async |(name, fault)| {
        hub.cluster(name, json!({"hubAcceptsClient": true})).await;
        let cluster = hub.condition(name, ACCEPTED, "False", "Error").await;
        assert!(began.elapsed() > Duration::from_secs(10), "{fault:?}");
        let message = condition(&cluster, ACCEPTED).unwrap()["message"].clone();
        let says = match fault {
            Fault::Answer(code) => format!("cannot be written: the line says {code}"),
            _ => "cannot be written: ".to_owned(),
        };
        assert!(message.as_str().unwrap().contains(&says), "{message}");
    }))
    .await;
    proxy.rule(|_| Fault::Pass);
    join_all(troubled.iter().map(async |(name, _)| {
        hub.condition(name, ACCEPTED, "True", "HubClusterAdminAccepted")
            .await;
    }))
    .await;
}

/// Berth's own account may bind them, but not create or update them. OCM's account may do both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_the_roles_of_all_agents_are_missing_is_told_of_each_cluster_that_waits() {
    let hub = HubWithReconcilers::private(config()).await;
    let common = ["work", "registration"].map(|role| {
        rbac_path(&format!(
            "clusterroles/open-cluster-management:managedcluster:{role}"
        ))
    });
    for role in &common {
        hub.delete(role).await;
    }
    let names = ["first", "second"].map(fresh);
    for name in &names {
        hub.cluster(name, json!({"hubAcceptsClient": true})).await;
        hub.condition(name, ACCEPTED, "False", "Error").await;
        // The controller may see the end of one role before that of the other.
        let says = [
            "Waits for the ClusterRoles that all agents share: ",
            "managedcluster:registration\" is forbidden: user \"system:serviceaccount:",
            "if they cannot be granted here: kubectl apply -f manifests/server/agent-roles.yaml",
        ];
        hub.once(&cluster_path(name), "the message", |it| {
            let message = condition(it, ACCEPTED).map(|it| &it["message"]);
            let message = message.and_then(|it| it.as_str()).unwrap_or_default();
            says.iter().all(|says| message.contains(says))
        })
        .await;
    }
    let manifest = "manifests/server/agent-roles.yaml";
    hub.cluster.apply_manifests(&[manifest]).await;
    for name in &names {
        hub.condition(name, ACCEPTED, "True", "HubClusterAdminAccepted")
            .await;
    }
    // They stay when the last cluster is deleted.
    for name in &names {
        hub.delete(&cluster_path(name)).await;
        hub.gone(&cluster_path(name)).await;
    }
    for role in &common {
        assert_eq!(hub.get(role).await.code, 200);
    }

    // With the rights that they contain, as OCM's account has them.
    let rules: Vec<_> = documents_of(manifest)
        .iter()
        .flat_map(|role| role["rules"].as_array().unwrap().clone())
        .collect();
    hub.cluster
        .grant(&account(&hub.cluster).await, &rules)
        .await;
    for role in &common {
        hub.delete(role).await;
    }
    let name = fresh("granted");
    hub.cluster(&name, json!({"hubAcceptsClient": true})).await;
    for role in &common {
        hub.once(role, "made", |_| true).await;
    }
    hub.condition(&name, ACCEPTED, "True", "HubClusterAdminAccepted")
        .await;
}
