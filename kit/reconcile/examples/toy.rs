//! A reconciler of one kind: each Namespace gets a label that says how long its name is.

use std::collections::BTreeMap;

use berth_api::plan::{Action, Plan, Target, Write};
use berth_api::{GroupVersionResource, Now};
use berth_hub::{Access, HubApi};
use berth_reconcile::{Engine, Item, Lane, Meta, Metrics, Settings, Sight, Wakes, Watched, World};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The label of each Namespace, by its name: all that decides.
#[derive(Default)]
pub struct Namespaces(BTreeMap<String, String>);

impl World for Namespaces {
    type Kind = ();
    type Key = String;
    type Fact = String;

    const LANES: &'static [Lane] = &[Lane {
        name: "namespaces",
        at_once: 4,
    }];

    fn reconciler(_: &String) -> &'static str {
        "name-length"
    }

    fn apply(&mut self, (): (), it: &Meta, label: String, _: Sight, wakes: &mut Wakes<Self>) {
        self.0.insert(it.name.clone(), label);
        wakes.wake(it.name.clone());
    }

    fn gone(&mut self, (): (), _: &str, name: &str, _: &mut Wakes<Self>) {
        self.0.remove(name);
    }

    fn all(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn decide(&self, name: &String, _: Now) -> Plan {
        let wanted = name.len().to_string();
        let mut plan = Plan::default();
        if self.0.get(name).is_some_and(|label| *label != wanted) {
            plan.writes.push(Write {
                target: Target {
                    resource: kind(),
                    namespace: None,
                    name: name.clone(),
                },
                action: Action::Patch {
                    subresource: None,
                    body: json!({"metadata": {"labels": {"name-length": wanted}}}),
                },
                reconciler: "name-length",
                events: Vec::new(),
            });
        }
        plan
    }
}

fn kind() -> GroupVersionResource {
    let [version, resource] = ["v1", "namespaces"].map(str::to_owned);
    GroupVersionResource {
        group: String::new(),
        version,
        resource,
    }
}

/// The row of the table of kinds: what is watched, and what is made of an object.
fn label(item: &Item<'_>) -> Result<String, serde_json::Error> {
    let object: Value = item.parse()?;
    Ok(object["metadata"]["labels"]["name-length"]
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

/// Runs it until `stop`.
pub async fn run(
    api: HubApi,
    metrics: Metrics,
    stop: CancellationToken,
) -> Result<(), berth_reconcile::Ended> {
    let settings = Settings {
        controller: "toy",
        instance: "toy-1",
        manager: "toy",
        term: None,
    };
    let engine = Engine::new(Namespaces::default(), vec![(api, None)], settings, metrics);
    engine
        .work()
        .watch((), Watched::new("namespaces", kind(), label));
    engine.run(stop).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let api = HubApi::connect(&Access::of_server(None)).await?;
    let metrics = Metrics::new(&prometheus::Registry::new())?;
    Ok(run(api, metrics, CancellationToken::new()).await?)
}
