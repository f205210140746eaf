//! The gate makes, renews and publishes its own certificate, whatever happens to what it stores and publishes.

use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::issue::Authority;
use berth_certs::managed::{Root, verifies};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::balancer::Balancer;
use crate::cluster::{
    Cluster, Person, Private, collection_of, fresh, path_of, wait_until_in_force,
};
use crate::guarded::{
    AS_FROM_AFAR, RunningGate, gates_kubeconfig, install, managed_gate, registrations_with,
};
use crate::load::Load;
use crate::objects::cluster;

const NAMESPACE: &str = "/api/v1/namespaces/open-cluster-management-hub";
const SECRET: &str =
    "/api/v1/namespaces/open-cluster-management-hub/secrets/berth-webhook-certificates";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/open-cluster-management-hub/leases/berth-webhook-certificates";
const ROLE: &str = "manifests/server/certificates-role.yaml";

/// A hub where gates are registered, behind one address.
struct World {
    hub: Private,
    admin: Person,
    balancer: Balancer,
    registrations: Vec<String>,
}

impl World {
    /// Without any certificate.
    async fn new() -> Self {
        let hub = Cluster::private().await;
        let admin = hub.admin().await;
        let mut registrations = registrations_with(|_| {});
        // It may have been used before.
        let paths: Vec<_> = registrations.iter().map(path_of).collect();
        for path in paths.iter().map(String::as_str).chain([SECRET, LEASE]) {
            let deleted = admin.delete(path).await.unwrap();
            assert!([200, 404].contains(&deleted.code), "{deleted:?}");
        }
        install(&hub).await;
        hub.apply_manifests(&[ROLE]).await;
        let balancer = Balancer::start().await;
        for registration in &mut registrations {
            for webhook in registration["webhooks"].as_array_mut().unwrap() {
                let config = &mut webhook["clientConfig"];
                let path = config["service"]["path"].as_str().unwrap();
                let port = balancer.port;
                *config = json!({ "url": format!("https://{AS_FROM_AFAR}:{port}{path}") });
            }
        }
        hub.apply(&registrations).await;
        Self {
            hub,
            admin,
            balancer,
            registrations: paths,
        }
    }

    /// A gate, which serves.
    async fn gate(&self, flags: &[&str]) -> RunningGate {
        let kubeconfig = gates_kubeconfig(&self.hub).await;
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        // It blocks until there is a certificate.
        let gate = tokio::task::spawn_blocking(move || {
            let flags: Vec<_> = flags.iter().map(String::as_str).collect();
            managed_gate(&kubeconfig, &flags)
        });
        let gate = gate.await.unwrap();
        self.balancer.add(&gate);
        gate
    }

    async fn get(&self, path: &str) -> Value {
        self.admin.get(path).await.unwrap().body
    }

    /// The data of the Secret, decoded.
    async fn stored(&self, key: &str) -> String {
        let secret = self.get(SECRET).await;
        let data = secret["data"][key].as_str().unwrap_or_default();
        String::from_utf8(STANDARD.decode(data).unwrap()).unwrap()
    }

    /// What each webhook has.
    async fn bundles(&self) -> Vec<String> {
        let mut bundles = Vec::new();
        for path in &self.registrations {
            let registration = self.get(path).await;
            let bundle = registration["webhooks"][0]["clientConfig"]["caBundle"].as_str();
            let bundle = STANDARD.decode(bundle.unwrap_or_default()).unwrap();
            bundles.push(String::from_utf8(bundle).unwrap());
        }
        bundles
    }

    /// Every registration has the same bundle, and it verifies what is stored.
    async fn is_verified(&self) -> bool {
        let bundles = self.bundles().await;
        let roots = Root::all_in(bundles[0].as_bytes());
        let leaf = self.stored("tls.crt").await;
        let names = [
            AS_FROM_AFAR.to_string(),
            "cluster-manager-registration-webhook.open-cluster-management-hub.svc".to_owned(),
        ];
        let names = names.map(|name| name.try_into().unwrap());
        bundles.iter().all(|bundle| *bundle == bundles[0])
            && verifies(leaf.as_bytes(), &roots, &names, Timestamp::now())
    }

    /// Waits for that, and until the gate is called.
    async fn until_verified(&self) {
        let patience = Instant::now() + Duration::from_secs(60);
        while !self.is_verified().await {
            assert!(Instant::now() < patience, "{:?}", self.bundles().await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let object = cluster(&fresh("probe"));
        let path = format!("{}?dryRun=All", collection_of(&object));
        loop {
            let answer = self.admin.post(&path, &object).await.unwrap();
            if answer.code == 201 {
                return;
            }
            assert!(Instant::now() < patience, "{answer:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until the bundle of a registration is what it was.
    async fn until_mended(&self, path: &str, bundle: &str) {
        let patience = Instant::now() + Duration::from_secs(60);
        loop {
            let registration = self.get(path).await;
            if registration["webhooks"][0]["clientConfig"]["caBundle"] == bundle {
                return;
            }
            assert!(Instant::now() < patience, "{registration}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Gives the first webhook of a registration this bundle.
    async fn edit(&self, path: &str, bundle: &str) {
        let patch =
            json!([{ "op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle }]);
        let patched = self
            .admin
            .send(
                http::Method::PATCH,
                path,
                "application/json-patch+json",
                patch.to_string(),
            )
            .await;
        patched.unwrap().ok();
    }
}

/// The value of a metric of a gate, with its labels.
async fn metric(gate: &RunningGate, name: &str) -> u64 {
    let metrics = gate.metrics().await;
    let line = metrics
        .lines()
        .find(|line| line.starts_with(&format!("{name} ")));
    line.map_or(0, |line| line.rsplit_once(' ').unwrap().1.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_gates_that_start_at_once_on_an_empty_hub_are_believed() {
    let world = World::new().await;
    let start = Instant::now();
    let (one, other) = tokio::join!(world.gate(&[]), world.gate(&[]));
    world.until_verified().await;
    eprintln!(
        "a working gate, and a verified bundle, after {:?}",
        start.elapsed()
    );
    let made = |what| format!("berth_managed_certificate_rotations_total{{what=\"{what}\"}}");
    for what in ["leaf", "ca"] {
        let made = [
            metric(&one, &made(what)).await,
            metric(&other, &made(what)).await,
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
    assert!(metric(&one, verified).await + metric(&other, verified).await > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_and_authorities_change_and_no_call_fails() {
    let world = World::new().await;
    let flags = ["--leaf-validity=12s", "--ca-validity=36s", "--ca-settle=3s"];
    let (one, other) = tokio::join!(world.gate(&flags), world.gate(&flags));
    world.until_verified().await;
    wait_until_in_force(&world.hub).await;
    let mut load = Load::start(&world.hub).await;
    let first = world.stored("ca.crt").await;
    let mut seen = vec![first];
    // Twice, so that the first one has left the bundle.
    let patience = Instant::now() + Duration::from_secs(300);
    while seen.len() < 3 {
        load.go_on(4).await;
        let authority = world.stored("ca.crt").await;
        if seen.last() != Some(&authority) {
            seen.push(authority);
        }
        assert!(
            Instant::now() < patience,
            "{:?} {:?}",
            one.log(),
            other.log()
        );
    }
    while world.bundles().await[0].contains(&seen[0]) {
        load.go_on(4).await;
        assert!(
            Instant::now() < patience,
            "{:?} {:?}",
            one.log(),
            other.log()
        );
    }
    load.stop().await;
    let leaf = "berth_managed_certificate_rotations_total{what=\"leaf\"}";
    let leaves = metric(&one, leaf).await + metric(&other, leaf).await;
    assert!(leaves >= 5, "{leaves}");
    for gate in [&one, &other] {
        let reloads =
            "berth_serving_certificate_reloads_total{outcome=\"reloaded\",part=\"certificate\"}";
        assert!(metric(gate, reloads).await >= 4, "{}", gate.metrics().await);
        let unverified = "berth_ca_bundle_writes_total{reason=\"unverified\"}";
        assert_eq!(metric(gate, unverified).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_is_lost_or_spoilt_is_put_back_and_no_call_fails() {
    let world = World::new().await;
    let (_one, _other) = tokio::join!(world.gate(&[]), world.gate(&[]));
    world.until_verified().await;
    wait_until_in_force(&world.hub).await;
    let mut load = Load::start(&world.hub).await;
    let (data, bundles) = (
        world.get(SECRET).await["data"].clone(),
        world.bundles().await,
    );
    let merge = async |patch: Value| {
        world.admin.merge(SECRET, &patch).await.unwrap().ok();
    };
    for fault in [
        "deleted",
        "emptied",
        "truncated",
        "mixed up",
        "of another type",
        "immutable",
        "another's",
    ] {
        match fault {
            "deleted" => {
                world.admin.delete(SECRET).await.unwrap().ok();
            }
            "emptied" => merge(json!({ "data": null })).await,
            "truncated" => {
                let key = data["tls.key"].as_str().unwrap();
                let half = STANDARD.encode(&STANDARD.decode(key).unwrap()[..100]);
                merge(json!({ "data": { "tls.key": half } })).await;
            }
            "mixed up" => merge(json!({ "data": { "ca.key": data["tls.key"] } })).await,
            "another's" => {
                let now = Timestamp::now();
                let hour = Duration::from_secs(3600);
                let other = Authority::new("another's", hour, now).unwrap();
                let leaf = other.leaf(&[], &[AS_FROM_AFAR.into()], hour, now).unwrap();
                let pair = json!({ "tls.crt": STANDARD.encode(leaf.certificate_pem), "tls.key": STANDARD.encode(leaf.key_pem) });
                merge(json!({ "data": pair })).await;
            }
            "immutable" => merge(json!({ "immutable": true })).await,
            _ => {
                let other = json!({
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": { "name": "berth-webhook-certificates" },
                    "type": "kubernetes.io/tls",
                    "data": { "tls.crt": "", "tls.key": "" },
                });
                // It may be put back faster than another is made.
                for _ in 0..1000 {
                    world.admin.delete(SECRET).await.unwrap();
                    let made = world
                        .admin
                        .post(&format!("{NAMESPACE}/secrets"), &other)
                        .await
                        .unwrap();
                    if made.code == 201 {
                        break;
                    }
                    assert_eq!(made.code, 409, "{made:?}");
                }
            }
        }
        load.go_on(4).await;
        let patience = Instant::now() + Duration::from_secs(60);
        loop {
            let secret = world.get(SECRET).await;
            if secret["data"] == data && secret["type"] == "Opaque" && secret["immutable"] != true {
                break;
            }
            assert!(Instant::now() < patience, "{fault}: {secret}");
            load.go_on(1).await;
        }
        load.go_on(4).await;
        assert_eq!(world.bundles().await, bundles, "{fault}");
    }
    load.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bundle_that_somebody_changes_is_mended_and_counted() {
    let world = World::new().await;
    let gate = world.gate(&[]).await;
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
            counts.push(metric(&gate, &name).await);
        }
        counts
    };
    assert_eq!(counted().await, [4, 0, 0]);
    let until_counted = async |expected: [u64; 3]| {
        let patience = Instant::now() + Duration::from_secs(20);
        while counted().await != expected {
            assert!(Instant::now() < patience, "{:?}", counted().await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let [first, .., last] = &world.registrations[..] else {
        panic!("{:?}", world.registrations)
    };
    world.edit(first, &both).await;
    world.until_mended(first, &right).await;
    until_counted([4, 1, 0]).await;
    world.edit(last, "").await;
    world.until_mended(last, &right).await;
    until_counted([4, 1, 1]).await;
    world.edit(first, &STANDARD.encode(other)).await;
    world.until_mended(first, &right).await;
    until_counted([4, 1, 2]).await;
    let told = gate.log();
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
    let patience = Instant::now() + Duration::from_secs(20);
    while counted().await.iter().sum::<u64>() < 8 {
        assert!(Instant::now() < patience, "{:?}", counted().await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_keeps_the_certificates_is_killed_and_another_goes_on() {
    let world = World::new().await;
    let flags = ["--leaf-validity=20s", "--ca-validity=60s", "--ca-settle=5s"];
    let first = world.gate(&flags).await;
    world.until_verified().await;
    let second = world.gate(&flags).await;
    // In the middle of a rotation.
    let patience = Instant::now() + Duration::from_secs(120);
    while world.stored("next-ca.crt").await.is_empty() {
        assert!(Instant::now() < patience, "{:?}", first.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let next = world.stored("next-ca.crt").await;
    first.kill();
    let right = STANDARD.encode(&world.bundles().await[0]);
    world.edit(&world.registrations[1], "").await;
    while world.stored("ca.crt").await != next {
        assert!(Instant::now() < patience, "{:?}", second.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    world.until_verified().await;
    assert_ne!(STANDARD.encode(&world.bundles().await[1]), "", "{right}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_rights_a_gate_says_what_is_missing_and_goes_on_when_it_has_them() {
    let world = World::new().await;
    for role in crate::cluster::documents_of(ROLE) {
        if role["kind"].as_str().unwrap().ends_with("Binding") {
            world.admin.delete(&path_of(&role)).await.unwrap().ok();
        }
    }
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let health = free.local_addr().unwrap().port();
    drop(free);
    let port = health.to_string();
    let kubeconfig = gates_kubeconfig(&world.hub).await;
    let mut process = crate::guarded::managed_process(&kubeconfig, &["--health-probe-port", &port]);
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
        crate::support::send(tcp, request.body(http_body_util::Full::default()).unwrap()).await
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
    let patience = Instant::now() + Duration::from_secs(20);
    while ask("/readyz").await.status() != 200 {
        assert!(Instant::now() < patience);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    process.signal("TERM");
    assert_eq!(process.ended().await.code(), Some(0));
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
    let gate = world.gate(&["--ca-settle=3s"]).await;
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
