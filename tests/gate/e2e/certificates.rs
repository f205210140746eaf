//! The controller issues, renews and publishes the gate's certificate, whatever happens to the stored and published objects;
//! the gate reads and serves it. `tests/hub/faults` tests that no call fails meanwhile.

use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::issue::Authority;
use berth_certs::managed::Root;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;

use berth_testkit::cluster::{kubectl_is_there, path_of};
use berth_testkit::guarded::{AS_FROM_AFAR, RunningGate, gates_kubeconfig, managed_hub};
use berth_testkit::managed::{LEASE, NAMESPACE, ROLE, SECRET, World, metric};
use berth_testkit::{eventually, shipped, when};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_gates_and_two_keepers_that_start_at_once_on_an_empty_hub_are_believed() {
    let world = World::new().await;
    let start = Instant::now();
    let (one, other, keeper, second) = tokio::join!(
        world.gate(&[]),
        world.gate(&[]),
        world.keeper(&[]),
        world.keeper(&[]),
    );
    world.until_verified().await;
    eprintln!(
        "a working gate, and a verified bundle, after {:?}",
        start.elapsed()
    );
    let made = |what| format!("berth_managed_certificate_rotations_total{{what=\"{what}\"}}");
    for what in ["leaf", "ca"] {
        let made = [
            world.kept(&keeper, &made(what)).await,
            world.kept(&second, &made(what)).await,
        ];
        assert_eq!(made.iter().sum::<u64>(), 1, "{what}: {made:?}");
    }
    let secret = world.get(SECRET).await;
    assert_eq!(secret["type"], "Opaque");
    let keys: Vec<_> = secret["data"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["ca.crt", "ca.key", "tls.crt", "tls.key"]);
    for gate in [&one, &other] {
        let not_after = metric(
            gate,
            "berth_serving_certificate_not_after_timestamp_seconds",
        )
        .await;
        let days = (not_after - u64::try_from(Timestamp::now().as_second()).unwrap()) / 86400;
        assert!((28..=30).contains(&days), "{days}");
    }
    let verified = "berth_ca_bundle_verified_timestamp_seconds";
    assert!(world.kept(&keeper, verified).await + world.kept(&second, verified).await > 0);
    for gate in [&one, &other] {
        assert_eq!(metric(gate, verified).await, 0, "a gate only reads");
        assert_eq!(state(&gate.metrics().await), "filled");
    }
}

/// The state that the Secret was last seen in.
fn state(metrics: &str) -> String {
    let start = "berth_managed_certificate_secret{state=\"";
    let states = metrics.lines().filter_map(|line| line.strip_prefix(start));
    let is = states.filter_map(|rest| rest.strip_suffix("\"} 1"));
    is.collect::<Vec<_>>().join(" ")
}

/// Applied again, the manifest takes nothing away, whichever way it is applied.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn to_apply_the_empty_secret_again_changes_nothing_of_what_it_holds() {
    let world = World::new().await;
    let _serving = tokio::join!(world.gate(&[]), world.keeper(&[]));
    world.until_verified().await;
    let before = world.get(SECRET).await["data"].clone();
    world.put_back().await;
    assert_eq!(world.get(SECRET).await["data"], before);
    if !kubectl_is_there() {
        return;
    }
    let manifest = berth_testkit::repository(berth_testkit::managed::MANIFEST);
    for _ in 0..2 {
        let output = world
            .admin
            .kubectl(&["apply", "-f", manifest.to_str().unwrap()])
            .await;
        output.ok();
        assert_eq!(world.get(SECRET).await["data"], before);
    }
}

/// The keeper may not make the Secret. So it says what an admin has to do, gates serve on, and it is filled when it is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_is_deleted_or_of_another_type_is_reported_and_filled_when_it_is_back() {
    let world = World::new().await;
    let (gate, mut keeper) = tokio::join!(world.gate(&[]), world.keeper(&[]));
    world.until_verified().await;
    let data = world.get(SECRET).await["data"].clone();
    for (fault, remedy) in [
        (
            "missing",
            "does not exist: kubectl apply -f manifests/server/certificates.yaml",
        ),
        (
            "misshapen",
            "is not of type Opaque, or is immutable: kubectl -n open-cluster-management-hub delete secret \
             berth-webhook-certificates, then kubectl apply -f manifests/server/certificates.yaml",
        ),
    ] {
        world.admin.delete(SECRET).await.unwrap().ok();
        if fault == "misshapen" {
            let other = json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": { "name": "berth-webhook-certificates" },
                "type": "kubernetes.io/tls",
                "data": { "tls.crt": "", "tls.key": "" },
            });
            let secrets = format!("{NAMESPACE}/secrets");
            world.admin.post(&secrets, &other).await.unwrap().ok();
        }
        keeper.logged(|line| {
            let error = line["error"].as_str().unwrap_or_default();
            line["message"] == "certificates cannot be kept; trying again"
                && error.ends_with(remedy)
        });
        eventually(&format!("{fault} in the metrics"), async || {
            let seen = [gate.metrics().await, world.metrics(&keeper).await];
            when(seen, |it| it.iter().all(|metrics| state(metrics) == fault))
        })
        .await;
        // What is served goes on, and a caBundle is mended all the while.
        let first = &world.registrations[0];
        let right = world.get(first).await["webhooks"][0]["clientConfig"]["caBundle"].clone();
        world.edit(first, "").await;
        world.until_mended(first, right.as_str().unwrap()).await;
        world.put_back().await;
        eventually("the Secret as it was", async || {
            when(world.get(SECRET).await, |it| it["data"] == data).map_err(|_| keeper.log())
        })
        .await;
        world.until_verified().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bundle_that_somebody_changes_is_mended_and_counted() {
    let world = World::new().await;
    let (_gate, keeper) = tokio::join!(world.gate(&[]), world.keeper(&[]));
    world.until_verified().await;
    let right = STANDARD.encode(&world.bundles().await[0]);
    let hour = Duration::from_secs(3600);
    let other = Authority::new("another's", hour, Timestamp::now()).unwrap();
    let other = other.certificate_pem();
    let both = STANDARD.encode(format!("{}{other}", world.bundles().await[0]));
    let counted = async || {
        let mut counts = Vec::new();
        for reason in ["published", "differs", "unverified"] {
            let name = format!("berth_ca_bundle_writes_total{{reason=\"{reason}\"}}");
            counts.push(world.kept(&keeper, &name).await);
        }
        counts
    };
    let all = u64::try_from(world.registrations.len()).unwrap();
    assert_eq!(counted().await, [all, 0, 0]);
    let until_counted = async |expected: [u64; 3]| {
        eventually(&format!("{expected:?} writes"), async || {
            when(counted().await, |it| *it == expected)
        })
        .await;
    };
    let [first, .., last] = &world.registrations[..] else {
        panic!("{:?}", world.registrations)
    };
    world.edit(first, &both).await;
    world.until_mended(first, &right).await;
    until_counted([all, 1, 0]).await;
    world.edit(last, "").await;
    world.until_mended(last, &right).await;
    until_counted([all, 1, 1]).await;
    world.edit(first, &STANDARD.encode(other)).await;
    world.until_mended(first, &right).await;
    until_counted([all, 1, 2]).await;
    let told = keeper.log();
    assert!(told.iter().any(|line| line["level"] == "WARN"
        && line["message"]
            == "the caBundle did not verify our certificate, so calls failed: mended"));

    // One that comes anew gets its bundle, and is no fault of anybody's.
    let mut registration = world.get(last).await;
    world.admin.delete(last).await.unwrap().ok();
    let name = registration["metadata"]["name"].clone();
    registration["metadata"] = json!({ "name": name });
    registration["webhooks"][0]["clientConfig"]["caBundle"] = Value::Null;
    let (collection, _) = last.rsplit_once('/').unwrap();
    world
        .admin
        .post(collection, &registration)
        .await
        .unwrap()
        .ok();
    world.until_mended(last, &right).await;
    // It was known with that bundle before: an emptied one and a new one look the same.
    eventually("another write", async || {
        when(counted().await, |it| it.iter().sum::<u64>() >= all + 4)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_keeper_is_killed_and_another_goes_on() {
    let world = World::new().await;
    let flags = ["--leaf-validity=8s", "--ca-validity=24s", "--ca-settle=2s"];
    let (_gate, first) = tokio::join!(world.gate(&[]), world.keeper(&flags));
    world.until_verified().await;
    let second = world.keeper(&flags).await;
    // In the middle of a rotation.
    let next = eventually("an authority that is published", async || {
        let next = world.stored("next-ca.crt").await;
        when(next, |it| !it.is_empty()).map_err(|_| first.log())
    })
    .await;
    drop(first);
    let right = STANDARD.encode(&world.bundles().await[0]);
    world.edit(&world.registrations[1], "").await;
    eventually("its rotation by the second keeper", async || {
        when(world.stored("ca.crt").await, |it| *it == next).map_err(|_| second.log())
    })
    .await;
    world.until_verified().await;
    assert_ne!(STANDARD.encode(&world.bundles().await[1]), "", "{right}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_rights_a_gate_says_what_is_missing_and_goes_on_when_it_has_them() {
    let world = World::new().await;
    let mut keeper = world.keeper(&[]).await;
    keeper.logged(|line| line["message"] == "certificates stored");
    for role in berth_testkit::cluster::documents_of(ROLE) {
        if role["kind"].as_str().unwrap().ends_with("Binding") {
            world.admin.delete(&path_of(&role)).await.unwrap().ok();
        }
    }
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let health = free.local_addr().unwrap().port();
    drop(free);
    let port = health.to_string();
    let kubeconfig = gates_kubeconfig(&world.hub).await;
    let mut process =
        berth_testkit::guarded::managed_process(&kubeconfig, &["--health-probe-port", &port]);
    let line = process.logged(|line| line["message"] == "no certificate to serve yet: not ready");
    let waiting = line["waiting"].as_str().unwrap();
    assert!(waiting.contains("forbidden"), "{waiting}");
    assert!(
        waiting.contains("grant what manifests/server/certificates-role.yaml does"),
        "{waiting}"
    );
    let ask = async |path: &str| {
        let tcp = tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, health))
            .await
            .unwrap();
        let request = http::Request::get(path).header("host", "localhost");
        berth_testkit::send(tcp, request.body(http_body_util::Full::default()).unwrap()).await
    };
    assert_eq!(ask("/healthz").await.status(), 200);
    let ready = ask("/readyz").await;
    assert_eq!(ready.status(), 503);
    let body = String::from_utf8(ready.into_body().to_vec()).unwrap();
    assert!(
        body.contains("[-]certificate failed") && body.contains("[-]listener failed"),
        "{body}"
    );
    world.hub.apply_manifests(&[ROLE]).await;
    process.logged(|line| line["message"] == "serving");
    eventually("readiness", async || {
        when(ask("/readyz").await.status(), |it| *it == 200)
    })
    .await;
    process.signal("TERM");
    assert_eq!(process.ended().await.code(), Some(0));
    keeper.signal("TERM");
    assert_eq!(keeper.ended().await.code(), Some(0));
    // Handed on at once.
    assert_eq!(
        world.get(LEASE).await["spec"]["holderIdentity"]
            .as_str()
            .unwrap_or_default(),
        ""
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_authoritys_gate_is_believed_until_ours_has_settled() {
    let world = World::new().await;
    let day = Duration::from_secs(24 * 3600);
    let other = Authority::new("cert-manager", day, Timestamp::now()).unwrap();
    let theirs = STANDARD.encode(other.certificate_pem());
    for path in &world.registrations {
        world.edit(path, &theirs).await;
    }
    // Theirs is called, and believed.
    let certs = TempDir::new().unwrap();
    let leaf = other.leaf(&[], &[AS_FROM_AFAR.into()], day, Timestamp::now());
    leaf.unwrap().write_folder(certs.path()).unwrap();
    let kubeconfig = gates_kubeconfig(&world.hub).await;
    let their_gate = RunningGate::run(&kubeconfig, certs, &[]);
    world.balancer.add(&their_gate);
    let (gate, _keeper) = tokio::join!(world.gate(&[]), world.keeper(&["--ca-settle=3s"]));
    world.until_verified().await;
    for bundle in world.bundles().await {
        let roots = Root::all_in(bundle.as_bytes());
        assert_eq!(roots.len(), 2);
        assert!(bundle.contains(other.certificate_pem()), "{bundle}");
    }
    let secret = world.get(SECRET).await;
    let since =
        &secret["metadata"]["annotations"]["berth.open-cluster-management.io/published-since"];
    let log = gate.log();
    let serving = log.iter().find(|line| line["message"] == "serving");
    let [since, served] = [since, &serving.unwrap()["timestamp"]]
        .map(|time| time.as_str().unwrap().parse::<Timestamp>().unwrap());
    assert!(
        served.duration_since(since).as_secs() >= 3,
        "{since} {served} {log:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_secret_is_lost_and_all_restart_and_they_serve_at_once() {
    let world = World::new().await;
    // With the time to settle as it is by default: a minute, in which each call would fail.
    let running = tokio::join!(world.gate(&[]), world.keeper(&[]));
    world.until_verified().await;
    let lost = world.stored("ca.crt").await;
    drop(running);
    world.admin.delete(SECRET).await.unwrap().ok();
    world.put_back().await;
    // As they have it who were told to stop; who was killed has it until it runs out.
    world.admin.delete(LEASE).await.unwrap().ok();
    let begun = Instant::now();
    let _running = tokio::join!(world.gate(&[]), world.keeper(&[]));
    world.until_verified().await;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    for bundle in world.bundles().await {
        // Nobody is known to serve by it, and nobody is known not to.
        assert!(bundle.contains(&lost), "{bundle}");
        assert_eq!(Root::all_in(bundle.as_bytes()).len(), 2);
    }
}

/// With the rights of `overlays/hub`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn berth_hub_keeps_the_certificate_that_it_serves() {
    let world = World::new().await;
    shipped::install_hub(&world.hub).await;
    let kubeconfig = gates_kubeconfig(&world.hub).await;
    let hub = tokio::task::spawn_blocking(move || managed_hub(&kubeconfig));
    let hub = hub.await.unwrap();
    world.balancer.add(&hub);
    world.until_verified().await;
    assert_eq!(state(&hub.metrics().await), "filled");
    shipped::install(&world.hub).await;
}
