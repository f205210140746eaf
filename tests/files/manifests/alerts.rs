//! Alerts and dashboard: alerts fire when they should and only then, all metrics exist, and docs/operations.md has a remedy
//! for every alert.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::process::Command;

use serde_json::Value;

use crate::manifests::files::{in_repository, read};

/// The rules of hubs and of managed clusters, each with its tests.
const RULES: [(&str, &str); 2] = [
    (
        "manifests/monitoring/prometheus-rule.yaml",
        "tests/data/alerts.test.yaml",
    ),
    (
        "manifests/agent-monitoring/prometheus-rule.yaml",
        "tests/data/agent-alerts.test.yaml",
    ),
];

fn text(path: &str) -> String {
    fs::read_to_string(in_repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The alerting rules of all files.
fn alerts() -> Vec<Value> {
    RULES.iter().flat_map(|(rule, _)| alerts_of(rule)).collect()
}

/// The alerting rules of all groups of a file.
fn alerts_of(rule: &str) -> Vec<Value> {
    let rule = read(rule).remove(0);
    let groups = rule["spec"]["groups"].as_array().expect("groups").clone();
    groups
        .iter()
        .flat_map(|group| group["rules"].as_array().expect("rules").clone())
        .collect()
}

fn str_at<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("no {pointer}: {value}"))
}

#[test]
fn every_alert_has_a_remedy_and_every_remedy_an_alert() {
    let operations = text("docs/operations.md");
    let remedies: BTreeSet<&str> = operations
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .collect();
    let alerts = alerts();
    let names: BTreeSet<&str> = alerts.iter().map(|alert| str_at(alert, "/alert")).collect();
    assert_eq!(names, remedies);
    for alert in &alerts {
        let name = str_at(alert, "/alert");
        let url = str_at(alert, "/annotations/runbook_url");
        assert_eq!(url, format!("docs/operations.md#{}", name.to_lowercase()));
        assert!(["critical", "warning"].contains(&str_at(alert, "/labels/severity")));
    }
}

#[test]
fn every_alert_is_tested() {
    for (rule, tests) in RULES {
        let tests = text(tests);
        for alert in alerts_of(rule) {
            let name = str_at(&alert, "/alert");
            assert!(tests.contains(name), "{name}");
        }
    }
}

#[test]
fn alerts_and_dashboard_speak_of_metrics_that_there_are() {
    let documented = text("docs/metrics.md");
    let mut shown = Vec::new();
    for folder in ["monitoring", "agent-monitoring"] {
        let dashboard: Value =
            serde_json::from_str(&text(&format!("manifests/{folder}/dashboard.json")))
                .expect("a dashboard is JSON");
        let panels = dashboard["panels"].as_array().expect("panels");
        let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_i64()).collect();
        assert_eq!(ids.len(), panels.len(), "ids are unique");
        let targets = panels
            .iter()
            .flat_map(|panel| panel["targets"].as_array().expect("targets"));
        shown.extend(targets.map(|target| str_at(target, "/expr").to_owned()));
    }
    // A Prometheus that gets the figures of several clusters tells them apart.
    for expression in &shown {
        let selectors = expression.matches("{cluster=~\"$cluster\"").count();
        assert_eq!(selectors, expression.matches('{').count(), "{expression}");
        assert!(selectors > 0, "{expression}");
    }
    let shown = shown.into_iter();
    let alerted = alerts()
        .iter()
        .map(|alert| str_at(alert, "/expr").to_owned())
        .collect::<Vec<_>>();
    for expression in shown.chain(alerted) {
        let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let metrics: Vec<&str> = words
            .filter(|word| {
                [
                    "berth_",
                    "controller_runtime_",
                    "workqueue_",
                    "leader_election_",
                ]
                .iter()
                .any(|prefix| word.starts_with(prefix))
            })
            .collect();
        let standard = ["up{", "process_"]
            .iter()
            .any(|name| expression.contains(name));
        assert!(standard || !metrics.is_empty(), "{expression}");
        for metric in metrics {
            let name = metric.strip_suffix("_bucket").unwrap_or(metric);
            assert!(
                documented.contains(&format!("`{name}`")),
                "{metric}: {expression}"
            );
        }
    }
}

#[test]
fn alerts_fire_when_they_should_and_only_then() {
    for (rule, tests) in RULES {
        let folder = tempfile::tempdir().expect("a folder");
        let groups = serde_json::json!({"groups": read(rule).remove(0)["spec"]["groups"]});
        let write = |name: &str, text: String| {
            fs::write(folder.path().join(name), text).expect("it can be written");
        };
        // JSON is YAML.
        write("rules.yaml", groups.to_string());
        write("alerts.test.yaml", text(tests));
        let promtool = Command::new("promtool")
            .args(["test", "rules", "alerts.test.yaml"])
            .current_dir(folder.path())
            .output();
        match promtool {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                eprintln!("SKIPPED: no promtool on PATH, the alerts were not tried");
            }
            output => {
                let output = output.expect("promtool can be started");
                assert!(
                    output.status.success(),
                    "{tests}: {}{}",
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr)
                );
            }
        }
    }
}
