//! Measures the memory of a controller that lists large objects. In a process of its own, because it measures resident memory.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use berth_hub::{HubApi, RequestBody};
use berth_lifecycle::{Metrics, controller};
use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::StreamBody;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Frame;
use prometheus::Registry;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The number of objects of each kind. `BERTH_LARGE_OBJECTS` sets another number, for a measurement.
const COUNT: usize = 60;

/// Upper bound in KiB, for the current object and all facts. All objects together have 60 MiB.
const MOST: usize = 24 * 1024;

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// An object of one megabyte, in the list of its kind.
#[derive(Clone, Copy)]
struct Large {
    sentence: &'static str,
    resource: &'static str,
    /// The object without a name.
    object: fn() -> Value,
}

const MIB: usize = 1 << 20;

const CHUNK: usize = 16 * 1024;

fn csr() -> Value {
    json!({
        "metadata": {"labels": {"open-cluster-management.io/cluster-name": "c1"}},
        "spec": {
            "request": "QUJD".repeat(MIB / 4), "signerName": "kubernetes.io/kube-apiserver-client",
            "username": "system:open-cluster-management:c1:a1", "usages": ["client auth"],
        },
    })
}

fn csr_with_annotations() -> Value {
    let mut csr = csr();
    csr["spec"]["request"] = "QUJD".into();
    csr["metadata"]["annotations"] = json!({"much": "x".repeat(MIB)});
    csr
}

fn cluster_with_labels() -> Value {
    let labels: serde_json::Map<_, _> = (0..12_500)
        .map(|number| {
            (
                format!("label{number:05}.example.com/{}", "x".repeat(60)),
                json!("y"),
            )
        })
        .collect();
    json!({"metadata": {"labels": labels}, "spec": {"hubAcceptsClient": false}})
}

fn cluster_with_short_labels() -> Value {
    let labels = (0..100_000).map(|number| (format!("{number:x}"), json!("")));
    let labels: serde_json::Map<_, _> = labels.collect();
    json!({"metadata": {"labels": labels}, "spec": {"hubAcceptsClient": false}})
}

fn cluster_with_taints() -> Value {
    let taint = |number| json!({"key": format!("taint{number}"), "value": "x".repeat(1024), "effect": "NoSelect"});
    let taints: Vec<_> = (0..900).map(taint).collect();
    json!({"metadata": {}, "spec": {"hubAcceptsClient": false, "taints": taints}})
}

fn cluster_with_short_taints() -> Value {
    let taint = |number| json!({"key": format!("{number}"), "effect": "NoSelect"});
    let taints: Vec<_> = (0..25_000).map(taint).collect();
    json!({"metadata": {}, "spec": {"hubAcceptsClient": false, "taints": taints}})
}

fn cluster_with_finalizers() -> Value {
    let finalizers: Vec<_> = (0..50_000).map(|number| format!("a.b/{number}")).collect();
    json!({"metadata": {"finalizers": finalizers}, "spec": {"hubAcceptsClient": false}})
}

fn cluster_with_conditions() -> Value {
    let condition = |type_: String| {
        json!({
            "type": type_, "status": "True", "reason": "A", "message": "x".repeat(32 * 1024),
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let others = (0..30).map(|number| condition(format!("C{number}")));
    let known =
        ["HubAcceptedManagedCluster", "ManagedClusterJoined"].map(|it| condition(it.to_owned()));
    let conditions: Vec<_> = others.chain(known).collect();
    json!({"metadata": {}, "spec": {"hubAcceptsClient": false}, "status": {"conditions": conditions}})
}

fn cluster_with_bundle() -> Value {
    let config = json!({"url": "https://a", "caBundle": "QUJD".repeat(MIB / 4)});
    json!({"metadata": {}, "spec": {"hubAcceptsClient": false, "managedClusterClientConfigs": [config]}})
}

fn cluster_with_claims() -> Value {
    let claims: Vec<_> = (0..10_000)
        .map(|number| json!({"name": format!("claim{number}"), "value": "x".repeat(80)}))
        .collect();
    json!({"metadata": {}, "spec": {"hubAcceptsClient": false}, "status": {"clusterClaims": claims}})
}

fn role() -> Value {
    json!({"metadata": {"annotations": {"much": "x".repeat(MIB)}}, "rules": []})
}

const ALL: [Large; 11] = [
    Large {
        sentence: "CSRs with large requests",
        resource: "certificatesigningrequests",
        object: csr,
    },
    Large {
        sentence: "CSRs with large annotations",
        resource: "certificatesigningrequests",
        object: csr_with_annotations,
    },
    Large {
        sentence: "clusters with 12,500 labels",
        resource: "managedclusters",
        object: cluster_with_labels,
    },
    Large {
        sentence: "clusters with 100,000 short labels",
        resource: "managedclusters",
        object: cluster_with_short_labels,
    },
    Large {
        sentence: "clusters with 900 taints",
        resource: "managedclusters",
        object: cluster_with_taints,
    },
    Large {
        sentence: "clusters with 25,000 short taints",
        resource: "managedclusters",
        object: cluster_with_short_taints,
    },
    Large {
        sentence: "clusters with 50,000 finalizers",
        resource: "managedclusters",
        object: cluster_with_finalizers,
    },
    Large {
        sentence: "clusters with large conditions",
        resource: "managedclusters",
        object: cluster_with_conditions,
    },
    Large {
        sentence: "clusters with a large caBundle",
        resource: "managedclusters",
        object: cluster_with_bundle,
    },
    Large {
        sentence: "clusters with 10,000 claims",
        resource: "managedclusters",
        object: cluster_with_claims,
    },
    Large {
        sentence: "roles with large annotations",
        resource: "clusterroles",
        object: role,
    },
];

/// A hub with `count` of these objects, and no others.
fn hub(large: Large, count: usize) -> HubApi {
    let mut object = (large.object)();
    object["metadata"]["name"] = "NUMBER".into();
    object["metadata"]["resourceVersion"] = "5".into();
    let text: Arc<str> = object.to_string().into();
    HubApi::new(tower::service_fn(move |request: Request<RequestBody>| {
        let text = text.clone();
        async move {
            let (path, query) = (request.uri().path(), request.uri().query());
            if query.is_some_and(|query| query.contains("watch=true")) {
                std::future::pending::<()>().await;
            }
            let is_large = path.ends_with(large.resource);
            let count = if is_large { count } else { 0 };
            let items = stream::iter(0..count).flat_map(move |number| {
                let comma = if number == 0 { "" } else { "," };
                let item = text.replacen("NUMBER", &format!("object{number}"), 1);
                let item = Bytes::from(format!("{comma}{item}"));
                // As they come from a socket.
                let starts = (0..item.len()).step_by(CHUNK);
                let chunks = starts.map(|at| item.slice(at..item.len().min(at + CHUNK)));
                stream::iter(chunks.collect::<Vec<_>>())
            });
            let head = Bytes::from_static(br#"{"metadata":{"resourceVersion":"7"},"items":["#);
            let end = Bytes::from_static(b"]}");
            let list = stream::iter([head]).chain(items).chain(stream::iter([end]));
            let body = StreamBody::new(list.map(|chunk| Ok::<_, Infallible>(Frame::data(chunk))));
            Ok::<Response<Body>, Infallible>(Response::new(body.boxed_unsync()))
        }
    }))
}

fn status(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let value = line.unwrap().trim_start_matches(':').trim();
    value.split(' ').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_objects_cost_the_controller_what_it_needs_of_them() {
    let count = std::env::var("BERTH_LARGE_OBJECTS").ok();
    let count = count.and_then(|count| count.parse().ok()).unwrap_or(COUNT);
    let mut table = String::new();
    for large in ALL {
        let metrics = Metrics::new(&Registry::new()).unwrap();
        let controller = controller(Default::default(), metrics);
        let engine = controller.start(hub(large, count), "tests", None, None);
        let progress = engine.progress();
        // Resets the maximum of resident memory.
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        let before = status("VmRSS");
        let stop = CancellationToken::new();
        let running = tokio::spawn(engine.run(stop.clone()));
        while !progress.unprimed().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let grown = status("VmHWM").saturating_sub(before);
        stop.cancel();
        running.await.unwrap().unwrap();
        table.push_str(&format!("{count} {}: {grown} KiB\n", large.sentence));
        // 1,000 objects of any kind must stay below 100 MiB.
        assert!(
            grown < if count == COUNT { MOST } else { 100 * 1024 },
            "{table}"
        );
    }
    println!("{table}");
}
