//! `berth init` and `berth uninstall` beside others, and while nothing answers.

use serde_json::{Value, json};

use super::{CLUSTERS, IMAGE, WEBHOOKS, count, lines, objects};
use berth_testkit::cluster::fresh;
use berth_testkit::hub_node::HubNode;

fn cluster() -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": {"name": fresh("lonely")},
    })
}

/// One of them may be told that an object exists already, and to run again: then it ends as one.
#[tokio::test]
async fn two_installations_at_once_end_as_one() {
    let node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    let args = ["init", IMAGE, "--no-token", "--wait=false"];
    let (one, other) = tokio::join!(admin.berth(&args), admin.berth(&args));
    for output in [&one, &other] {
        let is_told = output.stderr.contains("run the command again")
            || output.stderr.contains("nothing was changed");
        assert!(output.code == 0 || is_told, "{output:?}");
    }
    admin.berth(&args).await.ok();
    let output = admin.berth(&args).await;
    assert_eq!(lines(&output, " unchanged"), objects(), "{output:?}");
    admin.berth(&["uninstall", "--yes"]).await.ok();
}

/// Registrations without a gate make the API server refuse writes. Nothing but their removal helps, so it must not need the gate.
#[tokio::test]
async fn a_hub_whose_gate_is_away_can_be_removed() {
    let node = HubNode::start().await;
    let admin = node.cluster.admin().await;
    let args = ["init", IMAGE, "--no-token", "--wait=false"];
    admin.berth(&args).await.ok();
    let words = admin.post(CLUSTERS, &cluster()).await.unwrap();
    let words = words.refused(500, "InternalError");
    assert!(words.contains("failed calling webhook"), "{words}");
    let output = admin.berth(&["uninstall", "--yes"]).await;
    let said = output.ok();
    let last = said.rfind("webhookconfiguration/").unwrap();
    assert!(last < said.find("deployment/").unwrap(), "{said}");
    assert_eq!(count(&admin, WEBHOOKS).await, 0);
    admin.post(CLUSTERS, &cluster()).await.unwrap().ok();
}
