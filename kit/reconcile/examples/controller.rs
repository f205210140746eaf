//! A whole controller, as a program: each Namespace gets a label that says how many ConfigMaps it has.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use berth_api::plan::{Plan, Write};
use berth_api::{GroupVersionResource, Now};
use berth_hub::{Access, HubApi};
use berth_lease::{LeaseParams, WhenLost, identity, while_leading};
use berth_reconcile::{Controller, Item, Metrics, Names, Progress, RowOf, Watched, World};
use berth_reconcile::{Lane, Meta, Report, Wake};
use berth_serve::metrics::render;
use berth_serve::{Limits, Listener, Stop, Turns, endpoints};
use prometheus::Registry;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

// The decider: a function of facts, in a crate of its own if it is more than this.

/// What decides about a Namespace.
#[derive(Default)]
struct Facts {
    /// Its label, once the Namespace has been seen.
    label: Option<Option<String>>,
    config_maps: BTreeSet<String>,
}

fn decide(name: &str, facts: &Facts) -> Plan {
    let wanted = Some(facts.config_maps.len().to_string());
    if facts.label.as_ref().is_none_or(|label| *label == wanted) {
        return Plan::default();
    }
    let body = json!({"metadata": {"labels": {"config-maps": wanted}}});
    Write::patch("config-maps", resource("namespaces"), name, body).into()
}

// The table of kinds: a variant and a row for each.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Namespace,
    ConfigMap,
}

enum Fact {
    Label(Option<String>),
    Exists,
}

fn rows() -> Vec<RowOf<Counts>> {
    let row = |name, read: fn(&Item<'_>) -> _| Watched::new(name, resource(name), read);
    vec![
        (Kind::Namespace, row("namespaces", label)),
        (Kind::ConfigMap, row("configmaps", |_| Ok(Fact::Exists))),
    ]
}

fn label(item: &Item<'_>) -> Result<Fact, serde_json::Error> {
    let object: Value = item.parse()?;
    let label = object["metadata"]["labels"]["config-maps"].as_str();
    Ok(Fact::Label(label.map(str::to_owned)))
}

fn resource(name: &str) -> GroupVersionResource {
    GroupVersionResource::new("", "v1", name)
}

// The world: what a change means for the facts, and which keys it concerns.

#[derive(Default)]
struct Counts(BTreeMap<String, Facts>);

impl World for Counts {
    type Kind = Kind;
    type Key = String;
    type Fact = Fact;

    const LANES: &'static [Lane] = &[Lane::new("config-maps", 4)];

    fn apply(&mut self, _: Kind, it: &Meta, fact: Fact, _: Report, wakes: &mut Wake<Self>) {
        let namespace = match fact {
            Fact::Label(label) => {
                self.0.entry(it.name.clone()).or_default().label = Some(label);
                &it.name
            }
            Fact::Exists => {
                let facts = self.0.entry(it.namespace.clone()).or_default();
                facts.config_maps.insert(it.name.clone());
                &it.namespace
            }
        };
        wakes.wake(namespace.clone());
    }

    fn gone(&mut self, kind: Kind, namespace: &str, name: &str, wakes: &mut Wake<Self>) {
        match kind {
            Kind::Namespace => {
                self.0.remove(name);
            }
            Kind::ConfigMap => {
                if let Some(facts) = self.0.get_mut(namespace) {
                    facts.config_maps.remove(name);
                }
                wakes.wake(namespace.to_owned());
            }
        }
    }

    fn all(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn decide(&self, name: &String, _: Now) -> Plan {
        let facts = self.0.get(name);
        facts.map_or_else(Plan::default, |facts| decide(name, facts))
    }
}

// The wiring. In `berth`, the second function is `src/controller`'s, for all controllers.

const NAMES: Names = Names {
    name: "config-maps",
    reporter: "config-map-counter",
    manager: "config-map-counter",
    lease: "config-map-counter-lock",
};

/// The controller.
pub fn controller(metrics: Metrics) -> Controller {
    Controller::new(NAMES, metrics, || (Counts::default(), rows()))
}

/// Runs the controller while this process leads, and serves health and metrics, until `stop`.
pub async fn run(
    api: HubApi,
    namespace: &str,
    port: TcpListener,
    stop: CancellationToken,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let registry = Registry::new();
    let controller = controller(Metrics::new(&registry)?);
    let leading = Arc::<Mutex<Option<Progress>>>::default();
    let set = |progress| *leading.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    let of_checks = Arc::clone(&leading);
    let checks = move || {
        let leading = of_checks.lock().unwrap_or_else(PoisonError::into_inner);
        let unprimed = leading.as_ref().map(Progress::unprimed).unwrap_or_default();
        let passes = unprimed.is_empty();
        let caches = passes.then(String::new).ok_or(unprimed.join(", "));
        async { [("caches", caches)] }
    };
    let router = endpoints::health(Turns::default(), checks);
    let router = router.merge(endpoints::metrics(move || render(&registry)));
    let listener = Listener::new(port, None, router, Limits::default().few());
    let serving = tokio::spawn(listener.serve(Stop::at_once(stop.clone())));

    let identity = identity(None);
    let instance = identity.name().to_owned();
    let params = LeaseParams::new(namespace, NAMES.lease, identity);
    // The progress holds the term: the Lease is released when both are dropped.
    let waits = |_| set(None);
    let led = while_leading(&api, params, WhenLost::End, &stop, waits, |term| {
        let running = controller.start(api.clone(), &instance, Some(term), None);
        set(Some(running.progress()));
        running.run(stop.clone())
    });
    let led = led.await;
    stop.cancel();
    serving.await?;
    Ok(led?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let api = HubApi::connect(&Access::of_server(None)).await?;
    let port = TcpListener::bind("127.0.0.1:8080").await?;
    let stop = CancellationToken::new();
    let signal = stop.clone().drop_guard();
    tokio::spawn(async move {
        let _ = tokio::signal::ctrl_c().await;
        drop(signal);
    });
    run(api, "default", port, stop).await
}
