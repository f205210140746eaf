//! The controller is killed, or the hub away, at any step of what add-ons go through: it ends in the same objects.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use berth_addons::Grace;
use berth_certs::issue::Authority;
use berth_testkit::cluster::{AsAdmin, Person};
use berth_testkit::line::{Line, State};
use berth_testkit::{eventually, when};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::deploying::{config_map, hook, reported};
use super::hub::Hub;
use super::permitting::{RBAC, current, single};
use super::requesting::Request;
use super::signing::obey;
use crate::lifecycle::killed::{forget, forget_these};

/// The number of kills.
const KILLS: u64 = 200;

/// The number of times that the hub is away.
const OUTAGES: u64 = 20;

/// The shortest life. No life is long enough to do everything; in most of them something is done.
const SHORTEST: Duration = Duration::from_millis(40);

/// What differs among lives is added, up to this.
const DIFFERENCE: u64 = 160_000;

/// Shorter than a life: otherwise no add-on would ever be removed.
const GRACE: Grace = Grace {
    left: Duration::from_millis(10),
    missing: Duration::from_secs(600),
};

/// An add-on with everything that a hub does for one: works, hooks, permissions, certificates of two signers.
struct Rounds {
    hub: Hub,
    /// The first has the add-on all the time, the second in one half of each round.
    clusters: Vec<String>,
    /// The agent of the second cluster.
    agent: Person,
    signer: String,
    registration: Value,
    authority: Authority,
}

// === impl Rounds ===

impl Rounds {
    /// Installs the add-on on the first cluster, and grants the controller what it says it lacks.
    async fn begin() -> Self {
        let hub = Hub::new().await;
        let clusters = hub.clusters(2).await;
        let signer = format!("example.com/signer-{}", hub.namespace);
        let ca = json!({"namespace": hub.namespace, "name": "ca"});
        let permissions = [
            current(&hub.role("first").await),
            single(&hub.namespace, &hub.role("second").await),
        ];
        let registration = json!([
            {"type": "KubeClient", "kubeClient": {"hubPermissions": permissions}},
            {"type": "CustomSigner", "customSigner": {"signerName": signer, "signingCA": ca}},
        ]);
        let day = Duration::from_secs(24 * 3600);
        let authority = Authority::new("test", 10 * day, Timestamp::now()).unwrap();
        hub.trusts(authority.certificate_pem(), &authority.key_pem())
            .await;
        let agent = hub.agent(&clusters[1]).await;
        let rounds = Self {
            hub,
            clusters,
            agent,
            signer,
            registration,
            authority,
        };
        rounds.hub.place("p", &rounds.clusters).await;
        rounds.say("none").await;
        let hub = &rounds.hub;
        let p = hub.of("p", json!({"type": "All"}), json!([]));
        let defaults = json!([hub.template_reference("t")]);
        hub.define("a", None, defaults, Some(json!([p]))).await;
        rounds
    }

    /// The template gets this text.
    async fn say(&self, text: &str) {
        let manifests = json!([config_map(text), hook()]);
        let registration = self.registration.clone();
        self.hub.registering("t", manifests, registration).await;
    }

    /// An admin grants what the controller says it lacks.
    async fn grant(&self) {
        let hub = &self.hub;
        for role in ["second", "first"] {
            let refused = format!("may not bind ClusterRole {}", hub.named(role));
            hub.lets_bind(&self.clusters[0], &refused).await;
        }
        let csr = self.request().sent_by(hub, &self.agent).await;
        for words in ["may not approve for signer", "may not read Secret"] {
            obey(hub, &hub.left_for(&csr, words).await).await;
        }
        hub.issued(&csr, self.authority.certificate_pem()).await;
    }

    /// The request of the second cluster's agent for a certificate of the template's signer.
    fn request(&self) -> Request<'_> {
        Request {
            signer: &self.signer,
            ..Request::new(&self.hub, &self.clusters[1])
        }
    }

    /// The second cluster gets the add-on, the template another text; both clusters carry it out, the agent gets its certificates.
    /// Then the add-on leaves the second cluster. Returns what there was in between, once it is as expected.
    async fn round(&self, number: usize, expected: Option<&Value>) -> Value {
        let hub = &self.hub;
        let [first, second] = &self.clusters[..] else {
            panic!()
        };
        hub.select("p", &self.clusters).await;
        let text = ["even", "odd"][number % 2];
        self.say(text).await;
        for cluster in [first, second] {
            hub.has_text(cluster, text).await;
            hub.completes(cluster, "a").await;
            let (registered, applied) = ("RegistrationApplied", "True SetPermissionApplied");
            hub.condition(cluster, "a", registered, applied).await;
        }
        hub.progression("a", 0, "False Completed", "2/2").await;
        let own = self.request().sent_by(hub, &self.agent).await;
        let request = Request::new(hub, second);
        let csr = request.sent_by(hub, &self.agent).await;
        hub.issued(&own, self.authority.certificate_pem()).await;
        hub.approved(&csr).await;
        let what = format!("the same objects as {expected:?}");
        let state = eventually(&what, async || {
            let before = match expected {
                Some(expected) => expected.clone(),
                None => self.state().await,
            };
            when(self.state().await, |it| *it == before)
        })
        .await;

        hub.select("p", &self.clusters[..1]).await;
        let hooks = hub.runs_hooks(second).await;
        let complete =
            json!([{"name": "JobComplete", "fieldValue": {"type": "String", "string": "True"}}]);
        hub.report(&hooks, true, reported("batch", "jobs", "clean", complete))
            .await;
        hub.gone(&hub.on(second, "a")).await;
        // What the garbage collector does.
        for path in [hooks, hub.deployed(second, "a"), self.binding(second)] {
            let _ = hub.admin.delete(&path).await;
            hub.gone(&path).await;
        }
        state
    }

    fn binding(&self, namespace: &str) -> String {
        let name = self.hub.binding();
        format!("{RBAC}/namespaces/{namespace}/rolebindings/{name}")
    }

    /// The add-on's objects, without the fields that differ from round to round.
    async fn state(&self) -> Value {
        let hub = &self.hub;
        let mut paths = vec![hub.add_on("a"), self.binding(&hub.namespace)];
        for cluster in &self.clusters {
            paths.extend([
                hub.on(cluster, "a"),
                hub.deployed(cluster, "a"),
                self.binding(cluster),
            ]);
        }
        let mut objects = Vec::new();
        for path in paths {
            let mut object = hub.admin.get(&path).await.unwrap().body;
            forget(&mut object);
            forget_these(
                &mut object,
                &["lastObservedGeneration", "observedGeneration"],
            );
            // They are in the order in which they were first written. What is not there yet has a text as its status.
            let conditions = object.pointer_mut("/status/conditions");
            if let Some(conditions) = conditions.and_then(Value::as_array_mut) {
                conditions.sort_by_key(|it| it["type"].to_string());
            }
            objects.push(object);
        }
        json!(objects)
    }

    /// The uid of the add-on on the first cluster.
    async fn uid(&self) -> Value {
        self.hub.read(&self.hub.on(&self.clusters[0], "a")).await["metadata"]["uid"].clone()
    }
}

/// Has the add-on go through rounds while `interrupt` interrupts the controller, and through one after that. Each has the objects of `calm`.
async fn interrupted<T>(
    rounds: &Rounds,
    calm: &[Value; 2],
    interrupt: impl Future<Output = T>,
) -> T {
    let stays = rounds.uid().await;
    let over = AtomicBool::new(false);
    let interrupts = async {
        let result = interrupt.await;
        over.store(true, Ordering::Relaxed);
        result
    };
    let lives = async {
        let mut number = 0;
        while !over.load(Ordering::Relaxed) {
            rounds.round(number, Some(&calm[number % 2])).await;
            number += 1;
        }
        rounds.round(number, Some(&calm[number % 2])).await;
    };
    let (result, ()) = tokio::join!(interrupts, lives);
    assert_eq!(rounds.uid().await, stays);
    result
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_two_hundred_times_it_ends_in_the_same_objects() {
    let rounds = Rounds::begin().await;
    let mut managing = rounds.hub.start_with(GRACE).await;
    rounds.grant().await;
    let calm = [rounds.round(0, None).await, rounds.round(1, None).await];
    managing.stop().await;
    let kills = async {
        let mut writes = 0;
        let mut chance = fastrand::Rng::with_seed(1);
        for _ in 0..KILLS {
            let mut managing = rounds.hub.start_with(GRACE).await;
            let more = Duration::from_micros(chance.u64(..DIFFERENCE));
            tokio::time::sleep(SHORTEST + more).await;
            writes += managing.writes();
            managing.kill().await;
        }
        (rounds.hub.start_with(GRACE).await, writes)
    };
    let (_managing, writes) = interrupted(&rounds, &calm, kills).await;
    assert!(writes > 0, "no life did anything");
}

/// The controller's connections are closed and refused again and again. Users and agents go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_hub_comes_and_goes_it_ends_in_the_same_objects() {
    let rounds = Rounds::begin().await;
    let line = Line::to(&rounds.hub.cluster).await;
    let account = line.kubeconfig(&rounds.hub.account().await);
    let managing = rounds.hub.start_as(account, GRACE);
    rounds.grant().await;
    let calm = [rounds.round(0, None).await, rounds.round(1, None).await];
    let outages = async {
        let mut chance = fastrand::Rng::with_seed(2);
        for _ in 0..OUTAGES {
            let up = Duration::from_millis(100 + chance.u64(..400));
            tokio::time::sleep(up).await;
            line.is(State::Down);
            tokio::time::sleep(Duration::from_millis(chance.u64(..200))).await;
            line.is(State::Up);
        }
    };
    interrupted(&rounds, &calm, outages).await;
    assert!(
        managing.watch_errors("manifestworks") > 0,
        "it was never away"
    );
}
