//! The examples of the charts' pages render, and the alerts of the charts are rules that Prometheus reads.

use std::fs;
use std::io::ErrorKind;
use std::process::Command;

use serde_json::{Value, json};

use super::helm::{AGENT, Chart, HUB, programs};
use crate::manifests::files::{documents, in_repository};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Where the pages have charts and image.
const REGISTRY: &str = "registry.example.com";

fn page() -> String {
    fs::read_to_string(in_repository("charts/README.md")).expect("there is a page")
}

/// The objects in the YAML blocks of the page.
fn examples() -> Vec<Value> {
    let page = page();
    let blocks = page.split("```yaml\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split_once("```"));
    blocks
        .flat_map(|(block, _)| documents("charts/README.md", block))
        .collect()
}

fn example(kind: &str) -> Value {
    let mut examples = examples().into_iter();
    examples
        .find(|it| it["kind"] == kind)
        .unwrap_or_else(|| panic!("no example of {kind}"))
}

/// Fails unless each helm renders the values of the example, with the image of the registry.
fn assert_installs(chart: Chart, values: &Value) {
    for program in programs() {
        let objects = chart.rendered(program, values);
        let deployments = objects.iter().filter(|it| it["kind"] == "Deployment");
        assert!(deployments.clone().count() > 0);
        for deployment in deployments {
            let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
            assert_eq!(*image, format!("{REGISTRY}/berth:v{VERSION}"));
        }
    }
}

#[test]
fn the_application_of_argo_cd_installs_the_hub() {
    let spec = &example("Application")["spec"];
    let source = &spec["source"];
    assert_eq!(source["repoURL"], format!("{REGISTRY}/charts"));
    assert_eq!(source["chart"], HUB.name);
    assert_eq!(source["targetRevision"], VERSION);
    assert_eq!(spec["destination"]["namespace"], HUB.namespace);
    assert_installs(HUB, &source["helm"]["valuesObject"]);
}

#[test]
fn the_release_of_flux_installs_the_agent() {
    let source = example("OCIRepository");
    assert_eq!(
        source["spec"]["url"],
        format!("oci://{REGISTRY}/charts/{}", AGENT.name)
    );
    assert_eq!(source["spec"]["ref"]["tag"], VERSION);
    let release = example("HelmRelease");
    let spec = &release["spec"];
    assert_eq!(spec["chartRef"]["name"], source["metadata"]["name"]);
    assert_eq!(spec["targetNamespace"], AGENT.namespace);
    assert_installs(AGENT, &spec["values"]);
}

#[test]
fn the_commands_name_this_version() {
    let page = page();
    let named: Vec<&str> = page
        .split("--version ")
        .skip(1)
        .filter_map(|rest| rest.split_whitespace().next())
        .collect();
    assert!(!named.is_empty());
    assert!(named.iter().all(|it| *it == VERSION), "{named:?}");
}

/// What they are is tested with the manifests: rendered, they are the same but for the address of the remedies.
#[test]
fn prometheus_reads_the_alerts() {
    let page = "https://docs.example.com/operations";
    let monitoring =
        json!({"enabled": true, "runbookUrl": page, "labels": {"release": "prometheus"}});
    for (chart, values) in [
        (HUB, json!({ "monitoring": monitoring })),
        (HUB, json!({"mode": "policies", "monitoring": monitoring})),
        (
            AGENT,
            json!({"clusterName": "c1", "monitoring": monitoring}),
        ),
    ] {
        for program in programs() {
            let objects = chart.rendered(program, &values);
            let selected = objects.iter().filter(|it| {
                ["PrometheusRule", "ServiceMonitor"]
                    .contains(&it["kind"].as_str().unwrap_or_default())
            });
            assert!(
                selected
                    .clone()
                    .all(|it| it["metadata"]["labels"]["release"] == "prometheus")
            );
            let rule = selected.clone().find(|it| it["kind"] == "PrometheusRule");
            let groups = json!({"groups": rule.expect("there is one")["spec"]["groups"]});
            for rule in groups["groups"].as_array().expect("groups") {
                for alert in rule["rules"].as_array().expect("rules") {
                    let url = alert["annotations"]["runbook_url"]
                        .as_str()
                        .expect("an address");
                    assert!(url.starts_with(&format!("{page}#berth")), "{url}");
                }
            }
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("rules.yaml");
            // JSON is YAML.
            fs::write(&file, groups.to_string()).expect("it can be written");
            match Command::new("promtool")
                .args(["check", "rules"])
                .arg(&file)
                .output()
            {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    eprintln!("SKIPPED: no promtool on PATH, the rules were not read");
                }
                output => {
                    let output = output.expect("promtool can be started");
                    let said = String::from_utf8_lossy(&output.stderr);
                    assert!(output.status.success(), "{}: {values}: {said}", chart.name);
                }
            }
        }
    }
}
