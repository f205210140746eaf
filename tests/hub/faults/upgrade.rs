//! A hub is upgraded by `berth upgrade`, and goes back, while it is called.
//!
//! `BERTH_BEFORE` names a checkout of the release before, with `berth` built there (`cargo build --bin berth`): its manifests
//! and its program are what the hub is upgraded from. Otherwise this build is upgraded to itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::faults::calls;
use crate::faults::load::{Load, Manner, Target, trusting};
use crate::faults::tally::Report;
use berth_testkit::cluster::{Output, Person, fresh, wait_until_in_force};
use berth_testkit::hub_node::HubNode;
use berth_testkit::managed::SERVICE;
use berth_testkit::process::{CLUSTERS, once};
use berth_testkit::writers::Writers;
use berth_testkit::{eventually, when};

/// The delay with which the Service learns of readiness.
const LATE: Duration = Duration::from_millis(1500);

const REGISTRATIONS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

const BEFORE: &str = "--image=registry.example.com/berth:before";
const AFTER: &str = "--image=registry.example.com/berth:after";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_is_upgraded_and_goes_back() {
    let report = Report::begin("a hub upgraded, and back");
    let before = std::env::var_os("BERTH_BEFORE").map(PathBuf::from);
    let program = before.as_ref().map(|it| it.join("target/debug/berth"));
    let programs = program.map(|it| (":before".to_owned(), it));
    let mut node = HubNode::with_replicas(LATE, programs.into_iter().collect()).await;
    let admin = node.cluster.admin().await;

    let install = async {
        match &before {
            Some(checkout) => apply(&admin, checkout).await,
            None => {
                admin.berth(&["init", BEFORE, "--no-token"]).await.ok();
            }
        }
    };
    tokio::join!(install, node.runs_the_hub());
    calls::grant(&node.cluster).await;
    wait_until_in_force(&node.cluster).await;
    let trust = trusting(&bundle(&admin).await);
    let target = Target::new(node.port(), SERVICE, &trust);
    let manner = Manner {
        connections: 4,
        ..Manner::default()
    };
    let load = Load::start(target, manner);
    let mut writers = Writers::start(&node.cluster).await;
    let joined = works(&admin).await;
    load.go_on(100).await;

    let upgrade = admin.berth(&["upgrade", AFTER, "--yes"]);
    let upgraded = node.rolls_while(upgrade).await;
    let words = "The hub runs registry.example.com/berth:after.";
    assert!(upgraded.ok().contains(words), "{upgraded:?}");
    writers.go_on(40).await;
    load.go_on(100).await;
    works(&admin).await;

    let back = async {
        match &before {
            Some(checkout) => apply(&admin, checkout).await,
            None => {
                admin.berth(&["upgrade", BEFORE, "--yes"]).await.ok();
            }
        }
    };
    node.rolls_while(back).await;
    node.replaced_have_ended().await;
    writers.go_on(40).await;
    load.go_on(100).await;
    works(&admin).await;
    let kept = admin.get(&joined.0).await.unwrap();
    assert_eq!(kept.ok()["metadata"]["uid"], joined.1);

    let written = writers.stop().await;
    let tally = load.stop().await;
    report.all_decided(&tally, format!("{written} writes"));
}

/// Applies the manifests of a checkout, as its documents say, with an image that is named.
async fn apply(admin: &Person, checkout: &Path) {
    let manifests = checkout.join("manifests");
    let rendered = admin
        .kubectl(&["kustomize", manifests.to_str().unwrap()])
        .await;
    let named = "image: registry.example.com/berth:before";
    let text = rendered.ok().lines().map(|line| {
        let (indent, word) = line.split_at(line.len() - line.trim_start().len());
        match word.strip_prefix("image: ") {
            Some(_) => format!("{indent}{named}\n"),
            None => format!("{line}\n"),
        }
    });
    let text: String = text.collect();
    let args = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    // At first it does not know the kinds that it just defined.
    eventually("the manifests are applied", async || {
        let applied: Output = admin.kubectl_reading(&text, &args).await;
        when(applied, |it| it.code == 0)
    })
    .await;
}

/// The authority of the gate, PEM, once it is published.
async fn bundle(admin: &Person) -> String {
    let bundle = eventually("a bundle", async || {
        let list = admin.get(REGISTRATIONS).await.unwrap();
        let bundle = &list.ok()["items"][0]["webhooks"][0]["clientConfig"]["caBundle"];
        let bundle = STANDARD
            .decode(bundle.as_str().unwrap_or_default())
            .unwrap();
        when(bundle, |it| !it.is_empty())
    });
    String::from_utf8(bundle.await).unwrap()
}

/// An admin creates a cluster, and it is accepted. Returns its path and uid.
async fn works(admin: &Person) -> (String, serde_json::Value) {
    let name = fresh("upgraded");
    let cluster = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name},
        "spec": {"hubAcceptsClient": true},
    });
    admin.post(CLUSTERS, &cluster).await.unwrap().ok();
    let path = format!("{CLUSTERS}/{name}");
    let accepted = once(admin, &path, "accepted", |it| {
        let conditions = it["status"]["conditions"].as_array();
        conditions
            .into_iter()
            .flatten()
            .any(|it| it["type"] == "HubAcceptedManagedCluster" && it["status"] == "True")
    });
    let uid = accepted.await["metadata"]["uid"].clone();
    (path, uid)
}
