//! A hub goes from webhooks to policies and back, under a load of writes: at no moment is a forbidden write admitted or an allowed
//! one refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use berth_policies::Options;
use berth_testkit::cluster::{
    Cluster, Person, collection_of, path_of, say_skipped, wait_until_in_force,
};
use berth_testkit::guarded::{RunningGate, developer, install, register};
use berth_testkit::objects::{accepted, binding, cluster, member, set};
use berth_testkit::writers::Writers;
use berth_testkit::{eventually, when};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::hub::printed;
use crate::in_force::wait_until_policies_are_in_force;

/// The calls of each kind of writers before the next step.
const CALLS: usize = 150;

/// Sends writes that the rules forbid until it is stopped.
struct Forbidden {
    stopped: Arc<AtomicBool>,
    refused: Arc<AtomicUsize>,
    writer: JoinHandle<Result<(), String>>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_goes_to_policies_and_back_under_load() {
    let Some(hub) = Cluster::start_kubernetes(&[]).await else {
        say_skipped("devhub evaluates no policies");
        return;
    };
    install(&hub).await;
    let admin = hub.admin().await;
    let gate = RunningGate::start(&hub, &[]).await;
    register(&hub, &gate.url(), &gate.ca_pem()).await;
    // Before the load, so that no write finds a role that is not in force.
    let mut allowed = Writers::start(&hub).await;
    let mut forbidden = Forbidden::start(&hub).await;
    let mut load = async || {
        allowed.go_on(CALLS).await;
        forbidden.go_on(CALLS).await;
    };
    let policies = printed(&Options::default());

    load().await;
    let by_webhooks = gate.answered().await;
    assert!(by_webhooks > 0);

    hub.apply(&policies).await;
    wait_until_policies_are_in_force(&admin).await;
    load().await;

    remove(&admin, "webhookconfigurations").await;
    wait_until_in_force(&hub).await;
    let at_the_end = gate.answered().await;
    load().await;
    // A call that was under way may still have been answered.
    assert!(gate.answered().await <= at_the_end + 8);

    register(&hub, &gate.url(), &gate.ca_pem()).await;
    load().await;
    assert!(gate.answered().await > at_the_end);

    for policy in policies.iter().rev() {
        admin.delete(&path_of(policy)).await.unwrap().ok();
    }
    wait_until_policies_are_in_force(&admin).await;
    load().await;

    println!(
        "{} allowed writes, {} forbidden ones",
        allowed.stop().await,
        forbidden.stop().await
    );
}

/// Deletes the registrations.
async fn remove(admin: &Person, resource: &str) {
    for kind in ["mutating", "validating"] {
        let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}{resource}");
        admin.delete(&path).await.unwrap().ok();
    }
}

// === impl Forbidden ===

impl Forbidden {
    async fn start(hub: &Cluster) -> Self {
        let nobody = developer(hub, "nobody", &[]).await;
        let (stopped, refused) = (Arc::default(), Arc::default());
        let writer = tokio::spawn(write(nobody, Arc::clone(&stopped), Arc::clone(&refused)));
        Self {
            stopped,
            refused,
            writer,
        }
    }

    /// Waits until this number of further writes was refused.
    async fn go_on(&mut self, calls: usize) {
        let enough = self.refused.load(Ordering::Relaxed) + calls;
        eventually("more refusals", async || {
            assert!(
                !self.writer.is_finished(),
                "a forbidden write was not refused"
            );
            when(self.refused.load(Ordering::Relaxed), |it| *it >= enough)
        })
        .await;
    }

    async fn stop(self) -> usize {
        self.stopped.store(true, Ordering::Relaxed);
        self.writer.await.unwrap().unwrap();
        self.refused.load(Ordering::Relaxed)
    }
}

async fn write(
    nobody: Person,
    stopped: Arc<AtomicBool>,
    refused: Arc<AtomicUsize>,
) -> Result<(), String> {
    let mut bad_url = cluster("bad-url");
    bad_url["spec"]["managedClusterClientConfigs"] = json!([{ "url": "http://127.0.0.1" }]);
    let mut wide = set("wide");
    wide["spec"]["clusterSelector"] =
        json!({ "selectorType": "LabelSelector", "labelSelector": {} });
    let writes: [(Value, &[u16]); 5] = [
        (accepted("stranger"), &[403]),
        (member("intruder", "prod"), &[403]),
        (bad_url, &[400, 422]),
        (binding("prod", "default"), &[403]),
        (wide, &[403]),
    ];
    while !stopped.load(Ordering::Relaxed) {
        for (object, codes) in &writes {
            let path = format!("{}?dryRun=All", collection_of(object));
            match nobody.post(&path, object).await {
                Ok(answer) if codes.contains(&answer.code) => {
                    refused.fetch_add(1, Ordering::Relaxed)
                }
                other => return Err(format!("{object}: {other:?}")),
            };
        }
    }
    Ok(())
}
