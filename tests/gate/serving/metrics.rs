//! Metrics: dashboards and alerts depend on their names and labels; their values are correct.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use berth_api::crds::CONVERSION_PATH;
use berth_manifests::webhooks::MUTATE_CLUSTER;
use berth_webhooks::Limits;
use jiff::Timestamp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use berth_testkit::in_process::{HOUR, Setup, leaf, metric};
use berth_testkit::reviews::{PATH, asking, text, with};
use berth_testkit::{Gate, post};

/// Name, type and labels of every metric. Those of the process are the system's to have.
const METRICS: [(&str, &str, &[&str]); 15] = [
    (
        "berth_admission_decisions_total",
        "counter",
        &["kind", "operation", "outcome", "reason"],
    ),
    ("berth_build_info", "gauge", &["version"]),
    (
        "berth_conversion_reviews_total",
        "counter",
        &["kind", "outcome"],
    ),
    ("berth_draining", "gauge", &[]),
    (
        "berth_requirement_check_duration_seconds",
        "histogram",
        &["requirement"],
    ),
    (
        "berth_requirement_checks_total",
        "counter",
        &["outcome", "requirement"],
    ),
    (
        "berth_serving_certificate_not_after_timestamp_seconds",
        "gauge",
        &[],
    ),
    (
        "berth_serving_certificate_reloads_total",
        "counter",
        &["outcome", "part"],
    ),
    ("berth_tasks", "gauge", &[]),
    ("berth_tls_handshakes_total", "counter", &["outcome"]),
    ("berth_webhook_connections", "gauge", &[]),
    (
        "berth_webhook_connections_closed_total",
        "counter",
        &["reason"],
    ),
    (
        "controller_runtime_webhook_latency_seconds",
        "histogram",
        &["webhook"],
    ),
    (
        "controller_runtime_webhook_requests_in_flight",
        "gauge",
        &["webhook"],
    ),
    (
        "controller_runtime_webhook_requests_total",
        "counter",
        &["code", "webhook"],
    ),
];

/// What a text of metrics holds, in the form of [`METRICS`].
fn families(text: &str) -> Vec<(String, String, Vec<String>)> {
    let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let types: BTreeMap<_, _> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .collect();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (series, _) = line.rsplit_once(' ').unwrap();
        let (name, inside) = series.split_once('{').unwrap_or((series, "}"));
        let base = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix));
        let name = base.filter(|base| types.contains_key(base)).unwrap_or(name);
        let keys = inside
            .trim_end_matches('}')
            .split("\",")
            .filter_map(|label| Some(label.split_once('=')?.0));
        labels
            .entry(name)
            .or_default()
            .extend(keys.filter(|key| *key != "le"));
    }
    let family = |(name, labels): (&str, BTreeSet<&str>)| {
        (
            name.to_owned(),
            types[name].to_owned(),
            labels.into_iter().map(str::to_owned).collect(),
        )
    };
    labels
        .into_iter()
        .map(family)
        .filter(|(name, ..)| !name.starts_with("process_"))
        .collect()
}

#[tokio::test]
async fn names_and_labels_are_pinned() {
    let limits = Limits {
        handshake: Duration::from_millis(500),
        ..Limits::default()
    };
    let server = Setup {
        limits,
        ..Setup::default()
    }
    .start()
    .await;
    // So that there is one of each family: a question, a reload, a connection that was closed.
    server.review(PATH, asking()).await;
    leaf(&server.authority, HOUR)
        .write_folder(server.certs.path())
        .unwrap();
    server.tls.reload_once(Timestamp::now());
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    silent.read_to_end(&mut Vec::new()).await.unwrap();

    let text = String::from_utf8(server.metrics.render()).unwrap();
    let expected = METRICS.map(|(name, kind, labels)| {
        (
            name.to_owned(),
            kind.to_owned(),
            labels.iter().map(ToString::to_string).collect::<Vec<_>>(),
        )
    });
    assert_eq!(families(&text), expected);
    #[cfg(target_os = "linux")]
    for name in [
        "process_cpu_seconds_total",
        "process_open_fds",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
    ] {
        assert!(text.contains(&format!("\n{name} ")), "{name}");
    }
    for (name, ..) in METRICS {
        assert!(
            text.contains(&format!("# HELP {name} ")),
            "{name} is not explained"
        );
    }
}

#[tokio::test]
async fn what_happens_is_counted_once() {
    let gate = Gate::with_files(&[]);
    let foreign = || with(|request| request["operation"] = "PATCH".into());
    for body in [text(), text(), text(), asking(), foreign(), "{}".to_owned()] {
        gate.review(PATH, body).await;
    }
    let mutate = MUTATE_CLUSTER.path;
    gate.review(mutate, text()).await;
    gate.review(CONVERSION_PATH, "{}").await;
    gate.send(post("/elsewhere", text())).await;
    let mut plain = TcpStream::connect(("127.0.0.1", gate.port)).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    plain.shutdown().await.unwrap();
    plain.read_to_end(&mut Vec::new()).await.unwrap();

    let answer = gate.get(gate.metrics_port, "/metrics").await;
    assert_eq!(
        answer.headers()["content-type"],
        "text/plain; version=0.0.4; charset=utf-8"
    );
    let found = String::from_utf8(answer.into_body().to_vec()).unwrap();
    let expiry = metric(
        &found,
        "berth_serving_certificate_not_after_timestamp_seconds",
    );
    assert!(expiry > Timestamp::now().as_second() as f64);
    for (line, value) in [
        (
            format!(r#"controller_runtime_webhook_requests_total{{code="200",webhook="{PATH}"}}"#),
            6.0,
        ),
        (
            format!(
                r#"controller_runtime_webhook_requests_total{{code="200",webhook="{mutate}"}}"#
            ),
            1.0,
        ),
        (
            format!(r#"controller_runtime_webhook_latency_seconds_count{{webhook="{PATH}"}}"#),
            6.0,
        ),
        (
            format!(
                r#"controller_runtime_webhook_latency_seconds_bucket{{webhook="{PATH}",le="+Inf"}}"#
            ),
            6.0,
        ),
        (
            format!(r#"controller_runtime_webhook_requests_in_flight{{webhook="{PATH}"}}"#),
            0.0,
        ),
        (
            format!(
                r#"controller_runtime_webhook_requests_total{{code="200",webhook="{CONVERSION_PATH}"}}"#
            ),
            1.0,
        ),
        (
            r#"berth_conversion_reviews_total{kind="",outcome="failed"}"#.to_owned(),
            1.0,
        ),
        (decision("UPDATE", "allowed", ""), 4.0),
        (decision("UPDATE", "denied", "accept"), 1.0),
        (decision("", "malformed", "undecodable"), 2.0),
        (
            r#"berth_requirement_checks_total{outcome="no",requirement="accept"}"#.to_owned(),
            1.0,
        ),
        (
            r#"berth_requirement_checks_total{outcome="yes",requirement="accept"}"#.to_owned(),
            0.0,
        ),
        (
            r#"berth_requirement_check_duration_seconds_count{requirement="accept"}"#.to_owned(),
            1.0,
        ),
        (
            r#"berth_tls_handshakes_total{outcome="completed"}"#.to_owned(),
            9.0,
        ),
        (
            r#"berth_tls_handshakes_total{outcome="plain-http"}"#.to_owned(),
            1.0,
        ),
        ("berth_draining".to_owned(), 0.0),
    ] {
        assert_eq!(metric(&found, &line), value, "{line}");
    }
}

fn decision(operation: &str, outcome: &str, reason: &str) -> String {
    format!(
        r#"berth_admission_decisions_total{{kind="ManagedCluster",operation="{operation}",outcome="{outcome}",reason="{reason}"}}"#
    )
}
