//! Feature gates reach the processes that they have an effect on. Their help says which these are.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Map, Value, json};

use super::helm::{AGENT, Chart, HUB, programs};
use crate::manifests::files::in_repository;
use crate::manifests::overlays::{CONTROLLER, GATE, args};

const PLACEMENT: &str = "berth-placement-controller";
/// Those that have a value of their own, because they need permissions.
const OWN: [&str; 3] = [
    "ClusterProfile",
    "ManagedClusterAutoApproval",
    "SIGPlacementDecision",
];

/// The gates that the page of commands names for the command.
fn documented(command: &str) -> BTreeSet<String> {
    let page = fs::read_to_string(in_repository("docs/commands.md")).expect("there is a page");
    let (_, section) = page
        .split_once(&format!("\n## {command}\n"))
        .expect("it has the command");
    let (_, text) = section
        .split_once("--feature-gates <GATES>")
        .expect("it has the flag");
    let (text, _) = text.split_once("\n\n").expect("the paragraph ends");
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_state = |word: &str| ["(on", "(off"].iter().any(|it| word.starts_with(it));
    let gates = words.windows(2).filter(|pair| is_state(pair[1]));
    let gates: BTreeSet<String> = gates.map(|pair| pair[0].to_owned()).collect();
    assert!(gates.len() > 3, "{command}: {text}");
    gates
}

/// Those of the schema.
fn allowed(chart: Chart) -> BTreeSet<String> {
    let path = format!("charts/{}/values.schema.json", chart.name);
    let schema = fs::read_to_string(in_repository(&path)).expect("there is a schema");
    let schema: Value = serde_json::from_str(&schema).expect("it is JSON");
    let names = &schema["properties"]["featureGates"]["propertyNames"]["enum"];
    let names = names.as_array().expect("names").iter();
    names
        .map(|it| it.as_str().expect("a name").to_owned())
        .collect()
}

/// The gates in the arguments of a Deployment.
fn passed(objects: &[Value], deployment: &str) -> BTreeSet<String> {
    let args = args(objects, deployment);
    let args = args
        .as_array()
        .expect("arguments")
        .iter()
        .filter_map(Value::as_str);
    let gates = args.filter_map(|it| it.strip_prefix("--feature-gates="));
    gates
        .map(|it| it.split('=').next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn the_schemas_have_the_gates_of_the_commands() {
    assert_eq!(allowed(HUB), documented("berth hub"));
    assert_eq!(allowed(AGENT), documented("berth agent"));
}

#[test]
fn each_process_gets_its_own() {
    let without_own = |command: &str| {
        let mut gates = documented(command);
        gates.retain(|it| !OWN.contains(&it.as_str()));
        gates
    };
    let [gate, controller, placement] = [
        "berth webhook-server",
        "berth controller",
        "berth placement controller",
    ]
    .map(without_own);
    let all: Map<String, Value> = without_own("berth hub")
        .into_iter()
        .map(|it| (it, json!(true)))
        .collect();
    for program in programs() {
        let mut values = json!({ "featureGates": all });
        let objects = HUB.rendered(program, &values);
        assert_eq!(passed(&objects, GATE), gate);
        assert_eq!(passed(&objects, CONTROLLER), controller);
        values["placementApart"] = json!(true);
        let objects = HUB.rendered(program, &values);
        assert_eq!(passed(&objects, GATE), gate);
        let rest: BTreeSet<String> = controller.difference(&placement).cloned().collect();
        assert_eq!(passed(&objects, CONTROLLER), rest);
        assert_eq!(passed(&objects, PLACEMENT), placement);
        values["mode"] = json!("hub");
        values["placementApart"] = json!(false);
        let objects = HUB.rendered(program, &values);
        assert_eq!(passed(&objects, GATE), all.keys().cloned().collect());
    }
}
