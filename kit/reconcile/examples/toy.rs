//! A reconciler of one kind: each Namespace gets a label that says how long its name is.

use std::collections::BTreeMap;

use berth_api::plan::{Plan, Write};
use berth_api::{GroupVersionResource, Now};
use berth_hub::{Access, HubApi};
use berth_reconcile::{Ended, Engine, Item, Metrics, Settings, Watched, World};
use berth_reconcile::{Lane, Meta, Report, Wake};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The label of each Namespace, by the Namespace's name: all that decides.
#[derive(Default)]
pub struct Namespaces(BTreeMap<String, Option<String>>);

impl World for Namespaces {
    type Kind = ();
    type Key = String;
    type Fact = Option<String>;

    const LANES: &'static [Lane] = &[Lane::new("name-length", 4)];

    fn apply(&mut self, (): (), it: &Meta, label: Self::Fact, _: Report, wakes: &mut Wake<Self>) {
        self.0.insert(it.name.clone(), label);
        wakes.wake(it.name.clone());
    }

    fn gone(&mut self, (): (), _: &str, name: &str, _: &mut Wake<Self>) {
        self.0.remove(name);
    }

    fn all(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn decide(&self, name: &String, _: Now) -> Plan {
        let wanted = Some(name.len().to_string());
        if self.0.get(name).is_none_or(|label| *label == wanted) {
            return Plan::default();
        }
        let body = json!({"metadata": {"labels": {"name-length": wanted}}});
        Write::patch("name-length", namespaces(), name, body).into()
    }
}

fn namespaces() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "namespaces")
}

/// Reads the fact of an object.
fn label(item: &Item<'_>) -> Result<Option<String>, serde_json::Error> {
    let object: Value = item.parse()?;
    let label = object["metadata"]["labels"]["name-length"].as_str();
    Ok(label.map(str::to_owned))
}

/// Runs the controller until `stop`.
pub async fn run(api: HubApi, metrics: Metrics, stop: CancellationToken) -> Result<(), Ended> {
    let (world, settings) = (Namespaces::default(), Settings::new("toy", "toy-1"));
    let engine = Engine::new(world, vec![(api, None)], settings, metrics);
    let row = Watched::new("namespaces", namespaces(), label);
    engine.handle().watch((), row);
    engine.run(stop).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let api = HubApi::connect(&Access::of_server(None)).await?;
    let metrics = Metrics::new(&prometheus::Registry::new())?;
    Ok(run(api, metrics, CancellationToken::new()).await?)
}
