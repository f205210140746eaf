//! The hub of the proof: one API server with the policies and a gate.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_policies::{Options, policies};
use berth_testkit::cluster::{Cluster, Person, path_of, wait_until_in_force};
use berth_testkit::guarded::{RunningGate, install, registrations_with};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use crate::compare::WriteOutcome;
use crate::engine::{Engine, restrict_policy, restrict_webhook};
use crate::in_force::{wait_until_clusters_can_be_mutated, wait_until_policies_are_in_force};
use crate::users::grant_writing;
use crate::write::{Write, send};

/// The hub, for one test at a time: the tests measure time, or keep both processors busy.
pub struct Hub {
    pub admin: Person,
    _alone: MutexGuard<'static, ()>,
}

impl Hub {
    /// The hub of all tests of this process; `None`, and the reason is printed, if it is not a real one.
    pub async fn shared() -> Option<Self> {
        static GATE: OnceCell<RunningGate> = OnceCell::const_new();
        static ALONE: Mutex<()> = Mutex::const_new(());
        let cluster = Cluster::shared().await;
        if !cluster.only_real("devhub evaluates no policies") {
            return None;
        }
        let alone = ALONE.lock().await;
        GATE.get_or_init(|| set_up(cluster)).await;
        Some(Self {
            admin: cluster.admin().await,
            _alone: alone,
        })
    }

    /// Stores an object as it is: neither the gate nor a policy sees the write. Returns what is stored. An object
    /// with a deletionTimestamp is deleted, but stays.
    pub async fn store(&self, object: &Value) -> Value {
        let path = path_of(object);
        if let Some(stored) = self.stored(&path).await {
            return stored;
        }
        let collection = path.rsplit_once('/').unwrap().0;
        let mut object = object.clone();
        let metadata = object["metadata"].as_object_mut().unwrap();
        let is_deleted = metadata.remove("deletionTimestamp").is_some();
        if is_deleted {
            metadata.insert("finalizers".to_owned(), json!(["tests.berth/hold"]));
        }
        let answer = self.admin.post(collection, &object).await.unwrap();
        if is_deleted {
            self.admin.delete(&path).await.unwrap().ok();
            return self.stored(&path).await.unwrap();
        }
        answer.ok().clone()
    }

    async fn stored(&self, path: &str) -> Option<Value> {
        let answer = self.admin.get(path).await.unwrap();
        (answer.code == 200).then_some(answer.body)
    }

    /// The outcomes of the same write, decided by the gate and by the policies.
    pub async fn outcomes(&self, write: &Write) -> [WriteOutcome; 2] {
        let write = write.filled_in();
        let gate = self.outcome(&write, &Engine::Gate).await;
        [gate, self.outcome(&write, &Engine::Policies).await]
    }

    /// The outcome of a write, decided by this engine.
    pub async fn outcome(&self, write: &Write, engine: &Engine) -> WriteOutcome {
        WriteOutcome::of(&send(&self.admin, write, engine).await, engine)
    }
}

async fn set_up(cluster: &'static Cluster) -> RunningGate {
    install(cluster).await;
    let admin = cluster.admin().await;
    grant_writing(&admin).await;

    let mut documents = printed(&Options::default());
    for document in &mut documents {
        if document["spec"].get("policyName").is_none() {
            restrict_policy(document);
        }
    }
    cluster.apply(&documents).await;

    let gate = RunningGate::start(cluster, &[]).await;
    let (url, ca_bundle) = (gate.url(), STANDARD.encode(gate.ca_pem()));
    let mut registrations = registrations_with(|client_config| {
        let path = client_config["service"]["path"].as_str().unwrap();
        *client_config = json!({ "url": format!("{url}{path}"), "caBundle": ca_bundle });
    });
    for registration in &mut registrations {
        let webhooks = registration["webhooks"].as_array_mut().unwrap();
        webhooks.iter_mut().for_each(restrict_webhook);
    }
    cluster.apply(&registrations).await;

    wait_until_in_force(cluster).await;
    wait_until_policies_are_in_force(&admin).await;
    wait_until_clusters_can_be_mutated(&admin).await;
    gate
}

/// The policies and their bindings as JSON.
pub fn printed(options: &Options) -> Vec<Value> {
    policies(options)
        .iter()
        .map(|document| serde_json::to_value(document).unwrap())
        .collect()
}
