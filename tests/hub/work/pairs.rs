//! A law: whatever valid object of its kind it was, an object becomes what its manifest says, in at most two writes.
//!
//! `BERTH_PAIRS` and `BERTH_PAIRS_SEED` set the number of pairs and the first seed, such as
//! `BERTH_PAIRS=20000 cargo test --test hub pairs`. A violation prints its seed. `BERTH_PAIRS_HOW=Changed` tries this way only, for an agent
//! that does not watch its objects, such as OCM's.

mod kinds;

use std::time::{Duration, Instant};

use berth_testkit::cluster::{Cluster, fresh};
use fastrand::Rng;
use futures::StreamExt;
use kinds::{KINDS, Kind};
use serde_json::{Value, json};

use super::world::{World, condition};
use crate::lifecycle::proxy::{Asked, Proxy};

const PAIRS: u64 = 500;
/// The pairs that are tried at the same time.
const IN_FLIGHT: usize = 12;
/// How long the agent may take to put an object back, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Violations that are printed.
const SHOWN: usize = 5;

/// How the object comes to be another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Another client writes what was applied.
    Drift,
    /// Another client created the object.
    TakenOver,
    /// The manifest was another one.
    Changed,
}

struct Pair {
    seed: u64,
    how: How,
    /// By server-side apply with force, instead of an update.
    is_forced: bool,
    kind: &'static Kind,
    name: String,
    /// What the work prescribes, and what the object is besides.
    ours: Value,
    theirs: Value,
}

#[tokio::test(flavor = "multi_thread")]
async fn any_valid_object_becomes_any_other() {
    let cluster = Cluster::shared().await;
    if !cluster.only_real("it fills in defaults and validates") {
        return;
    }
    // Agents of one hub help each other to remove objects: on a hub of its own, no other test's agent sees these.
    let cluster = Cluster::private().await;
    let mut world = World::of(&cluster, &cluster).await;
    let proxy = Proxy::of(world.managed.client.clone()).await;
    world.managed.kubeconfig = cluster.person_at(&proxy.url).await.kubeconfig;
    let definition = kinds::definition();
    let created = world
        .managed
        .post(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            &definition,
        )
        .await;
    assert!(matches!(created.unwrap().code, 201 | 409));
    let _agent = world.agent();
    let number = |variable: &str, default: u64| {
        std::env::var(variable).map_or(default, |it| it.parse().unwrap())
    };
    let (first, pairs) = (number("BERTH_PAIRS_SEED", 1), number("BERTH_PAIRS", PAIRS));
    let only = std::env::var("BERTH_PAIRS_HOW").ok();
    let pairs_of = |seed| Pair::new(&world, seed);
    let is_tried = |pair: &Pair| {
        only.as_ref()
            .is_none_or(|it| *it == format!("{:?}", pair.how))
    };
    let tried: Vec<Result<bool, String>> = futures::stream::iter(first..)
        .map(pairs_of)
        .filter(|it| std::future::ready(is_tried(it)))
        .take(usize::try_from(pairs).unwrap())
        .map(|pair| pair.put_back(&world, &proxy))
        .buffer_unordered(IN_FLIGHT)
        .collect()
        .await;
    let violations: Vec<_> = tried.iter().filter_map(|it| it.as_ref().err()).collect();
    let some: Vec<_> = violations
        .iter()
        .take(SHOWN)
        .map(|it| it.as_str())
        .collect();
    let count = violations.len();
    assert!(
        some.is_empty(),
        "{count} of {pairs}:\n{}",
        some.join("\n\n")
    );
    // The law would hold for pairs of equal objects.
    let written = tried.iter().filter(|it| **it == Ok(true)).count();
    assert!(
        written as u64 > pairs / 2,
        "{written} objects were put back"
    );
}

// === impl Pair ===

impl Pair {
    fn new(world: &World, seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let kind = &KINDS[random.usize(..KINDS.len())];
        let name = fresh("pair");
        let mut object = || {
            let mut object = (kind.content)(&mut random);
            object["apiVersion"] = kind.api_version.into();
            object["kind"] = kind.name.into();
            object["metadata"] = json!({"name": name});
            if kind.is_namespaced() {
                object["metadata"]["namespace"] = world.namespace.as_str().into();
            }
            object
        };
        let (ours, theirs) = (object(), object());
        let hows = [How::Drift, How::TakenOver, How::Changed];
        let how = hows[random.usize(..hows.len())];
        Self {
            seed,
            how,
            is_forced: random.bool(),
            kind,
            name,
            ours,
            theirs,
        }
    }

    /// Creates the work with this manifest.
    async fn create(&self, world: &World, manifest: &Value) {
        let mut spec = json!({});
        if self.is_forced {
            let group = self.kind.api_version.rsplit_once('/');
            spec["manifestConfigs"] = json!([{
                "resourceIdentifier": {
                    "group": group.map_or("", |(group, _)| group),
                    "resource": self.kind.resource,
                    "namespace": manifest["metadata"]["namespace"].as_str().unwrap_or_default(),
                    "name": self.name,
                },
                "updateStrategy": {"type": "ServerSideApply", "serverSideApply": {"force": true}},
            }]);
        }
        let manifests = std::slice::from_ref(manifest);
        world.create_with(&self.name, manifests, spec).await;
    }

    /// Returns whether a write of the agent was needed, or the violation of the law.
    async fn put_back(self, world: &World, proxy: &Proxy) -> Result<bool, String> {
        let Self { ours, theirs, .. } = &self;
        let path = self.kind.path(world, &self.name);
        let fails = |what: &str, more: &Value| {
            let (seed, kind, how) = (self.seed, self.kind.name, self.how);
            let force = if self.is_forced { "with" } else { "without" };
            Err(format!(
                "seed {seed}, {kind}, {how:?} {force} force: {what}: {more}\nours: {ours}\ntheirs: {theirs}"
            ))
        };
        let put = async |change: &Value| match self.how {
            How::TakenOver => world.managed.post(&self.kind.path(world, ""), change).await,
            How::Drift | How::Changed => world.managed.put(&path, change).await,
        };
        let first = match self.how {
            How::Drift => Some(ours),
            How::Changed => Some(theirs),
            How::TakenOver => None,
        };
        let mut theirs = theirs.clone();
        if let Some(first) = first {
            self.create(world, first).await;
            let live = match self.settles(world, &path, first, 1).await {
                Ok(live) => live,
                Err(last) => return fails("it is not applied", &last),
            };
            for field in ["resourceVersion", "ownerReferences"] {
                theirs["metadata"][field] = live["metadata"][field].clone();
            }
        }
        let before = proxy.writes().len();
        let mut generation = 1;
        let mut is_same = false;
        if self.how != How::Changed {
            let answer = put(&theirs).await.unwrap();
            if !matches!(answer.code, 200 | 201) {
                return fails("the change is refused", &answer.body);
            }
            is_same = covers(ours, &answer.body);
        }
        match self.how {
            How::Drift => {}
            How::TakenOver => self.create(world, ours).await,
            How::Changed if self.theirs == *ours => is_same = true,
            How::Changed => {
                generation = 2;
                world.update(&self.name, std::slice::from_ref(ours)).await;
            }
        }
        if let Err(last) = self.settles(world, &path, ours, generation).await {
            return fails("it is not as prescribed", &last);
        }
        let writes: Vec<Asked> = proxy.writes().split_off(before);
        let writes = writes
            .into_iter()
            .filter(|it| it.path == path && !it.query.contains("dryRun"));
        let (moves, contents): (Vec<_>, Vec<_>) =
            writes.partition(|it| it.body["metadata"]["managedFields"].is_array());
        // One of the contents may have been refused.
        if moves.len() > 1 || contents.len() > 2 {
            let all = moves
                .iter()
                .chain(&contents)
                .map(|it| json!([it.query, it.body]));
            return fails("too many writes", &all.collect());
        }
        world.delete(&self.name).await;
        Ok(!is_same)
    }

    /// Waits until the object has all that a manifest has. Returns it, or what it is instead.
    async fn settles(
        &self,
        world: &World,
        path: &str,
        manifest: &Value,
        generation: u64,
    ) -> Result<Value, Value> {
        let end = Instant::now() + PATIENCE;
        loop {
            let live = world.managed.get(path).await.unwrap();
            let work = world.hub.get(&world.work(&self.name)).await.unwrap();
            let status = &work.body["status"];
            let applied = condition(status, "Applied");
            let is_applied =
                applied["status"] == "True" && applied["observedGeneration"] == generation;
            if live.code == 200 && covers(manifest, &live.body) && is_applied {
                return Ok(live.body);
            }
            if Instant::now() > end {
                let manifests = &status["resourceStatus"]["manifests"];
                return Err(json!([condition(&manifests[0], "Applied"), live.body]));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

// === impl Kind ===

impl Kind {
    fn is_namespaced(&self) -> bool {
        !self.resource.ends_with("webhookconfigurations")
    }

    /// The path of an object, or of the collection if the name is empty.
    fn path(&self, world: &World, name: &str) -> String {
        let prefix = match self.api_version {
            "v1" => "/api/v1".to_owned(),
            version => format!("/apis/{version}"),
        };
        let namespace = match self.is_namespaced() {
            true => format!("/namespaces/{}", world.namespace),
            false => String::new(),
        };
        let path = format!("{prefix}{namespace}/{}/{name}", self.resource);
        path.trim_end_matches('/').to_owned()
    }
}

/// Has an object all that a manifest has? Lists with names or ports may have more items, in any order.
fn covers(ours: &Value, live: &Value) -> bool {
    match (ours, live) {
        (Value::Object(ours), Value::Object(_)) => ours
            .iter()
            .all(|(name, value)| *value == json!([]) || covers(value, &live[name])),
        (Value::Array(ours), Value::Array(live)) => {
            let mut ours = ours.iter();
            ours.all(|item| live.iter().any(|live| covers(item, live)))
        }
        _ => ours == live,
    }
}
