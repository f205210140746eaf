//! Certificates change, are lost and are corrupted under load. The calls come from a hub on which writers write, and
//! directly from callers that learn of a new bundle as late as an API server may.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::issue::Authority;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::faults::length;
use crate::faults::replicas::Busy;
use crate::faults::tally::Report;
use berth_testkit::guarded::AS_FROM_AFAR;
use berth_testkit::managed::{NAMESPACE, SECRET, metric};
use berth_testkit::{eventually, eventually_within, when};

fn logs(busy: &Busy) -> Vec<Vec<Value>> {
    busy.replicas.keepers.iter().map(|it| it.log()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_and_authorities_change() {
    let report = Report::begin("leaf and authority replaced");
    let flags = ["--leaf-validity=12s", "--ca-validity=36s", "--ca-settle=3s"];
    let mut busy = Busy::start(&[], &flags).await;
    let mut seen = vec![busy.replicas.world.stored("ca.crt").await];
    let changes = length::times(1);
    let patience = Duration::from_secs(90);
    for _ in 0..changes {
        let authority = eventually_within(patience, "another authority", async || {
            busy.go_on(4).await;
            let authority = busy.replicas.world.stored("ca.crt").await;
            when(authority, |it| seen.last() != Some(it)).map_err(|_| logs(&busy))
        });
        let authority = authority.await;
        seen.push(authority);
    }
    eventually_within(
        patience,
        "a bundle without the first authority",
        async || {
            busy.go_on(4).await;
            let bundle = busy.replicas.world.bundles().await.swap_remove(0);
            when(bundle, |it| !it.contains(&seen[0])).map_err(|_| logs(&busy))
        },
    )
    .await;
    busy.go_on(20).await;
    let (tally, written, replicas) = busy.stop().await;
    let mut leaves = 0;
    for keeper in &replicas.keepers {
        let made = "berth_managed_certificate_rotations_total{what=\"leaf\"}";
        leaves += replicas.world.kept(keeper, made).await;
        let unverified = "berth_ca_bundle_writes_total{reason=\"unverified\"}";
        assert_eq!(replicas.world.kept(keeper, unverified).await, 0);
    }
    for gate in &replicas.gates {
        let reloads =
            "berth_serving_certificate_reloads_total{outcome=\"reloaded\",part=\"certificate\"}";
        assert!(metric(gate, reloads).await >= 2, "{}", gate.metrics().await);
    }
    assert!(leaves >= 3, "{leaves}");
    report.all_decided(
        &tally,
        format!("{leaves} leaves, {} authorities, {written}", seen.len()),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_is_lost_or_spoilt_in_every_way() {
    let report = Report::begin("the Secret lost and spoilt");
    let mut busy = Busy::start(&[], &[]).await;
    let admin = busy.replicas.world.hub.admin().await;
    let data = busy.replicas.world.get(SECRET).await["data"].clone();
    let bundles = busy.replicas.world.bundles().await;
    let merge = async |patch: Value| {
        admin.merge(SECRET, &patch).await.unwrap().ok();
    };
    let rounds = length::times(1);
    for _ in 0..rounds {
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
                    admin.delete(SECRET).await.unwrap().ok();
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
                    admin.delete(SECRET).await.unwrap().ok();
                    let secrets = format!("{NAMESPACE}/secrets");
                    admin.post(&secrets, &other).await.unwrap().ok();
                }
            }
            busy.go_on(4).await;
            // Gates keep serving from memory; an admin follows the alert. Corrupt data is repaired without an admin.
            if ["deleted", "of another type", "immutable"].contains(&fault) {
                busy.replicas.world.put_back().await;
            }
            eventually(
                &format!("the Secret as it was, before: {fault}"),
                async || {
                    busy.go_on(1).await;
                    when(busy.replicas.world.get(SECRET).await, |secret| {
                        secret["data"] == data
                            && secret["type"] == "Opaque"
                            && secret["immutable"] != true
                    })
                },
            )
            .await;
            busy.go_on(4).await;
            assert_eq!(busy.replicas.world.bundles().await, bundles, "{fault}");
        }
    }
    let (tally, written, _replicas) = busy.stop().await;
    report.all_decided(&tally, format!("{rounds} x 7 faults, {written}"));
}
