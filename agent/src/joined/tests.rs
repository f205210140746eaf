//! The joined agent on two API servers that are functions: an hour of errors in a moment, and clusters with very many claims.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use berth_agent_core::addons::Driver;
use berth_agent_core::availability::Health;
use berth_agent_core::cluster::Cluster;
use berth_agent_core::identity::Identity;
use berth_agent_core::registered::HubStanding;
use berth_hub::RequestBody;
use berth_reconcile::{Meta, Report, Source, Wake, World, now};
use bytes::Bytes;
use futures::stream;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use prometheus::Registry;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::world::Key;
use super::*;
use crate::addons::AddonManagement;
use crate::{Clusters, Counts};

const HOUR: Duration = Duration::from_secs(3600);

/// A request: when it came, and its method and path.
type Log = Arc<Mutex<Vec<(Instant, String)>>>;

fn settings() -> Settings {
    Settings {
        namespace: "agent".to_owned(),
        addons: Some(Driver::Csr),
        ..Settings::new("/nowhere".into(), "/nowhere".into(), "tests")
    }
}

fn connection() -> Connection {
    Connection {
        identity: Identity::new("c1", "a1").unwrap(),
        kubeconfig: String::new(),
        url: "https://hub".to_owned(),
    }
}

/// An API server that answers so, by method and path with query, and body: code and body. `None`: a body that never ends.
pub(super) fn server<A>(answer: A) -> HubApi
where
    A: Fn(&str, Value) -> Option<(u16, String)> + Clone + Send + Sync + 'static,
{
    HubApi::new(tower::service_fn(move |request: Request<RequestBody>| {
        let answer = answer.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let answer = answer(&format!("{} {}", head.method, head.uri), body);
            let (code, body) = match answer {
                Some((code, body)) => (code, Full::<Bytes>::from(body).boxed_unsync()),
                None => (200, StreamBody::new(stream::pending()).boxed_unsync()),
            };
            let mut response = Response::new(body);
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            if code == 429 {
                let soon = "1".parse().unwrap();
                response.headers_mut().insert("retry-after", soon);
            }
            Ok::<_, Infallible>(response)
        }
    }))
}

fn list(items: &[Value]) -> Option<(u16, String)> {
    let list = json!({"metadata": {"resourceVersion": "7"}, "items": items});
    Some((200, list.to_string()))
}

/// A managed cluster that works, with these ClusterClaims.
fn managed(claims: Vec<Value>) -> HubApi {
    let claims: Arc<[Value]> = claims.into();
    server(move |asked, _| match asked {
        "GET /livez" => Some((200, "ok".to_owned())),
        "GET /version" => Some((200, json!({"gitVersion": "v1.36.0"}).to_string())),
        asked if asked.contains("watch=true") => None,
        asked if asked.contains("/clusterclaims?") => list(&claims),
        _ => list(&[]),
    })
}

/// The ManagedCluster, accepted.
fn accepted() -> Value {
    json!({
        "metadata": {"name": "c1", "uid": "u", "resourceVersion": "5"},
        "spec": {"hubAcceptsClient": true},
        "status": {"conditions": [{
            "type": "HubAcceptedManagedCluster", "status": "True", "reason": "R", "message": "",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        }]},
    })
}

/// A hub that shows its cluster and the add-ons once, and from then on answers everything with this code.
fn hub_in_trouble(code: u16, log: Log) -> HubApi {
    let is_in_trouble = Arc::new(AtomicBool::new(false));
    server(move |asked, _| {
        let path = asked.split('?').next().unwrap_or_default().to_owned();
        log.lock().unwrap().push((Instant::now(), path));
        match asked {
            _ if is_in_trouble.load(Ordering::SeqCst) => Some((code, String::new())),
            asked if asked.contains("watch=true") => Some((200, String::new())),
            asked if asked.contains("/managedclusters?") => list(&[accepted()]),
            asked if asked.contains("/managedclusteraddons?") => {
                is_in_trouble.store(true, Ordering::SeqCst);
                list(&[])
            }
            _ => Some((code, String::new())),
        }
    })
}

/// A hub that works. The statuses that it is sent go into the log.
fn hub(written: Arc<Mutex<Vec<Value>>>) -> HubApi {
    let stored = Arc::new(Mutex::new(accepted()));
    server(move |asked, body| match asked {
        asked if asked.contains("watch=true") => None,
        asked if asked.contains("/managedclusters?") => list(&[stored.lock().unwrap().clone()]),
        asked if asked.contains("/status") => {
            let mut stored = stored.lock().unwrap();
            for (field, value) in body["status"].as_object().unwrap() {
                stored["status"][field] = value.clone();
            }
            let mut written = written.lock().unwrap();
            written.push(body["status"].clone());
            // Later than the list.
            stored["metadata"]["resourceVersion"] = (7 + written.len()).to_string().into();
            Some((200, stored.to_string()))
        }
        _ => Some((200, json!({"metadata": {}, "spec": {}}).to_string())),
    })
}

/// Runs for an hour, which passes at once.
async fn run(hub: HubApi, managed: HubApi) {
    let (standing, settings, registry) = (Standing::new(), settings(), Registry::new());
    let (_tell, registered) = watch::channel(Registered::default());
    let metrics = Metrics::new(&registry).unwrap();
    let joined = Joined {
        settings: &settings,
        hub: hub.clone(),
        managed: &managed,
        term: None,
        metrics: metrics.clone(),
        counts: Counts::new(&registry, &standing).unwrap(),
        standing: standing.clone(),
        registered,
    };
    let clusters = Clusters {
        management: managed.clone(),
        managed: managed.clone(),
    };
    let addons = AddonManagement {
        settings: &settings,
        hub,
        clusters: &clusters,
        term: None,
        metrics,
        standing,
    };
    let (connection, stop) = (connection(), CancellationToken::new());
    let run = async {
        tokio::select! {
            ended = joined.run(&connection, stop.clone()) => ended,
            ended = addons.run(&connection, stop.clone()) => ended,
        }
    };
    assert!(timeout(HOUR, run).await.is_err(), "it ended");
}

/// The pauses between requests for one path.
fn pauses(asked: &[(Instant, String)], path: &str) -> Vec<Duration> {
    let times: Vec<_> = asked
        .iter()
        .filter(|it| it.1 == path)
        .map(|it| it.0)
        .collect();
    times.windows(2).map(|two| two[1] - two[0]).collect()
}

/// Upper bound on the requests of an hour for one path: a pause is at least five seconds, after the first few.
const MOST: usize = 720;

#[tokio::test(start_paused = true)]
async fn an_hour_of_errors_costs_the_hub_few_requests_at_uneven_times() {
    for code in [429, 500, 503] {
        let log = Log::default();
        run(hub_in_trouble(code, Arc::clone(&log)), managed(Vec::new())).await;
        let asked = log.lock().unwrap().clone();
        let mut paths: Vec<_> = asked.iter().map(|it| it.1.as_str()).collect();
        paths.sort_unstable();
        paths.dedup();
        let cluster = "GET /apis/cluster.open-cluster-management.io/v1/managedclusters";
        let lease = "GET /apis/coordination.k8s.io/v1/namespaces/c1/leases/managed-cluster-lease";
        let status = "PATCH /apis/cluster.open-cluster-management.io/v1/managedclusters/c1/status";
        let addons =
            "GET /apis/addon.open-cluster-management.io/v1beta1/namespaces/c1/managedclusteraddons";
        for path in [cluster, lease, status, addons] {
            let pauses = pauses(&asked, path);
            assert!(
                (30..MOST).contains(&pauses.len()),
                "{code} {path}: {}",
                pauses.len()
            );
            // The same pause again and again would have all agents of a fleet ask at one time.
            let late = &pauses[pauses.len() / 2..];
            let (shortest, longest) = (late.iter().min().unwrap(), late.iter().max().unwrap());
            assert!(*longest > shortest.mul_f64(1.2), "{code} {path}: {late:?}");
        }
        assert!(asked.len() < 2 * MOST, "{code}: {} {paths:?}", asked.len());
    }
}

#[test]
fn of_two_agents_of_one_name_neither_reports() {
    let standing = Standing::new();
    let (mut report, _period) = ClusterReport::new(&settings(), &connection(), standing.clone());
    let cluster = Fact::Cluster(Box::new(Cluster::read(&accepted())));
    let sight = Report {
        source: Source::Watch,
        is_listing: false,
        now: now(),
    };
    let wakes = &mut Wake::default();
    report.apply(Kind::Cluster, &Meta::default(), cluster, sight, wakes);
    report.probed(Health::Ok, None, now(), wakes);
    for (is_one_of_two, writes, expected) in [
        (false, 1, HubStanding::Managed),
        (true, 0, HubStanding::TwoAgents),
        (false, 1, HubStanding::Managed),
    ] {
        report.renewed(is_one_of_two, wakes);
        let plan = report.decide(&Key::Status, now());
        assert_eq!(plan.writes.len(), writes, "{is_one_of_two}");
        assert_eq!(standing.state().hub, expected);
    }
}

#[test]
fn a_cluster_that_the_hub_missed_renews_its_lease_before_it_reports() {
    let (mut report, mut pace) = ClusterReport::new(&settings(), &connection(), Standing::new());
    let sight = Report {
        source: Source::Watch,
        is_listing: false,
        now: now(),
    };
    let sees = |report: &mut ClusterReport, available: &str| {
        let mut cluster = accepted();
        let condition = json!({"type": "ManagedClusterConditionAvailable", "status": available});
        let conditions = cluster["status"]["conditions"].as_array_mut();
        conditions.unwrap().push(condition);
        let fact = Fact::Cluster(Box::new(Cluster::read(&cluster)));
        let wakes = &mut Wake::default();
        report.apply(Kind::Cluster, &Meta::default(), fact, sight, wakes);
    };
    let writes = |report: &mut ClusterReport| report.decide(&Key::Status, now()).writes.len();
    sees(&mut report, "True");
    assert!(pace.has_changed().unwrap());
    report.probed(Health::Ok, None, now(), &mut Wake::default());
    for _ in 0..2 {
        pace.mark_unchanged();
        sees(&mut report, "Unknown");
        assert!(pace.has_changed().unwrap(), "the Lease is renewed now");
        assert_eq!(writes(&mut report), 0);
        pace.mark_unchanged();
        // Something else of the cluster changes.
        sees(&mut report, "Unknown");
        assert_eq!(writes(&mut report), 0);
        report.renewed(false, &mut Wake::default());
        assert_eq!(writes(&mut report), 1);
        sees(&mut report, "True");
        assert!(!pace.has_changed().unwrap(), "once is enough");
    }
}

#[tokio::test(start_paused = true)]
async fn of_very_many_and_very_large_claims_the_first_that_the_hub_allows_are_reported() {
    let claim = |name: String, value: &str| {
        let metadata = json!({"name": name, "resourceVersion": "3"});
        json!({"metadata": metadata, "spec": {"value": value}})
    };
    let large = "x".repeat(1 << 20);
    let mut claims: Vec<_> = (0..20_000)
        .map(|number| claim(format!("claim-{number:05}"), "v"))
        .collect();
    // Larger than the watch reads, large, and a little too large.
    claims[2]["spec"]["value"] = large.repeat(5).into();
    claims[3]["spec"]["value"] = large.into();
    claims[4]["spec"]["value"] = "x".repeat(1025).into();
    claims.push(claim("id.k8s.io".to_owned(), "1"));
    let written = Arc::default();
    run(hub(Arc::clone(&written)), managed(claims)).await;
    let written = written.lock().unwrap();
    let [status] = &written[..] else {
        panic!("{} writes: {:?}", written.len(), written.get(1))
    };
    let reported = status["clusterClaims"].as_array().unwrap();
    let names: Vec<_> = reported.iter().map(|it| it["name"].clone()).collect();
    let kept = (0..23).filter(|it| ![2, 3, 4].contains(it));
    let kept = kept.map(|number| format!("claim-{number:05}"));
    let reserved = [
        "agent-version.berth.open-cluster-management.io",
        "id.k8s.io",
    ];
    let reserved = reserved.into_iter().map(str::to_owned);
    let expected: Vec<_> = reserved.chain(kept).collect();
    assert_eq!(names, expected);
}
