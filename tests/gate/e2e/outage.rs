//! The gate is down: writes that it guards fail, all others succeed. Then the gate is back.

use serde_json::json;

use berth_testkit::by_each_client;
use berth_testkit::cluster::{fresh, path_of};
use berth_testkit::guarded::{Guarded, RunningGate, gates_kubeconfig, may_accept, may_join};
use berth_testkit::objects::{accepted, cluster};
use berth_testkit::writes::By;

by_each_client![without_the_gate_nothing_guarded_is_written_and_with_it_at_once];

async fn without_the_gate_nothing_guarded_is_written_and_with_it_at_once(by: By) {
    let Guarded { cluster: hub, gate } = Guarded::private(&[]).await;
    let (there, new) = (fresh("c"), fresh("c"));
    let rules = [may_join("default"), may_accept(&there), may_accept(&new)];
    let hub = Guarded { cluster: hub, gate };
    let dev = hub.developer(&fresh("dev"), &rules).await;
    let stored = dev.by(by).create(&cluster(&there)).await.ok();
    let Guarded { cluster: hub, gate } = hub;
    let (url, port) = (gate.url(), gate.port.to_string());
    let certs = gate.kill();

    let accept = json!({ "spec": { "hubAcceptsClient": true } });
    for (written, webhook, path) in [
        (
            dev.by(by).create(&accepted(&new)).await,
            "managedclustermutators",
            "mutate-cluster-open-cluster-management-io-v1-managedcluster",
        ),
        (
            dev.by(by).merge(&stored, &accept).await,
            "managedclustervalidators",
            "validate-cluster-open-cluster-management-io-v1-managedcluster",
        ),
    ] {
        written.refused(
            500,
            "InternalError",
            &format!(
                "Internal error occurred: failed calling webhook \
                 \"{webhook}.admission.cluster.open-cluster-management.io\": failed to call webhook: \
                 Post \"{url}/{path}?timeout=5s\": dial tcp 127.0.0.1:{port}: connect: connection refused"
            ),
        );
    }

    // A cluster's agent works on, and what nobody guards is written.
    let label = json!({ "metadata": { "labels": { "env": "test" } } });
    dev.by(by).merge(&stored, &label).await.ok();
    let status = format!("{}/status", path_of(&stored));
    let version = json!({ "status": { "version": { "kubernetes": "v1.36.0" } } });
    dev.merge(&status, &version).await.unwrap().ok();
    let doomed = cluster(&there);
    dev.by(by).delete(&doomed).await.ok();

    let kubeconfig = gates_kubeconfig(&hub).await;
    let _gate = RunningGate::run_on(&port, &kubeconfig, certs, &["--self-signed"]);
    dev.by(by).create(&accepted(&new)).await.ok();
}
