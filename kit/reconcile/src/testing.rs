//! A small world, and API servers made of functions, for the tests of this crate.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use berth_api::plan::{Action, Plan, Target, Write, WriteFailure};
use berth_api::{GroupVersionResource, Now};
use berth_hub::{HubApi, RequestBody};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use prometheus::Registry;
use serde_json::{Value, json};

use crate::engine::{Engine, Settings};
use crate::handle::Handle;
use crate::metrics::Metrics;
use crate::object::Meta;
use crate::watch::WatchError;
use crate::watched::Watched;
use crate::world::{Lane, Report, Wake, World};

/// A write of this object that fails with 404 may succeed later.
pub(crate) const APPEARS_LATER: &str = "appears-later";

/// The values of objects, by kind and name; each is to be `wanted`.
#[derive(Default)]
pub(crate) struct Values {
    pub(crate) values: BTreeMap<(u8, String), String>,
    pub(crate) wanted: String,
    pub(crate) unreadable: usize,
    /// Failed watches by their code, and 0 for one that goes on.
    pub(crate) sights: Vec<u16>,
    /// Versions from and to which the API server went back.
    pub(crate) rewinds: Vec<(u64, u64)>,
}

impl World for Values {
    type Kind = u8;
    type Key = (u8, String);
    type Fact = String;

    const LANES: &'static [Lane] = &[Lane {
        name: "values",
        at_once: 2,
    }];

    fn reconciler(_: &Self::Key) -> &'static str {
        "values"
    }

    fn apply(&mut self, kind: u8, it: &Meta, value: String, _: Report, wakes: &mut Wake<Self>) {
        self.values.insert((kind, it.name.clone()), value);
        wakes.wake((kind, it.name.clone()));
    }

    fn gone(&mut self, kind: u8, _: &str, name: &str, wakes: &mut Wake<Self>) {
        self.values.remove(&(kind, name.to_owned()));
        wakes.wake((kind, name.to_owned()));
    }

    fn all(&self) -> Vec<Self::Key> {
        self.values.keys().cloned().collect()
    }

    fn unreadable(&mut self, _: u8, _: &Meta, _: &serde_json::Error) {
        self.unreadable += 1;
    }

    fn lost_sight(&mut self, _: u8, error: &WatchError, _: Now, _: &mut Wake<Self>) {
        self.sights.push(error.code);
    }

    fn went_back(&mut self, _: u8, from: u64, to: u64) {
        self.rewinds.push((from, to));
    }

    fn regained_sight(&mut self, _: u8, _: Now, _: &mut Wake<Self>) {
        self.sights.push(0);
    }

    fn decide(&self, key: &Self::Key, _: Now) -> Plan {
        let mut plan = Plan::default();
        if self
            .values
            .get(key)
            .is_some_and(|value| *value != self.wanted)
        {
            let body = json!({"metadata": {"name": key.1}, "value": self.wanted});
            plan.writes.push(patch(&key.1, body));
        }
        plan
    }

    fn is_transient(failure: &WriteFailure) -> bool {
        failure.is_transient() || failure.code == 404 && failure.target.name == APPEARS_LATER
    }

    fn server(write: &Write) -> usize {
        usize::from(write.target.resource.group == "second")
    }
}

pub(crate) fn kind(group: &str) -> GroupVersionResource {
    GroupVersionResource {
        group: group.to_owned(),
        version: "v1".to_owned(),
        resource: "values".to_owned(),
    }
}

pub(crate) fn target(name: &str) -> Target {
    Target {
        resource: kind("g"),
        namespace: None,
        name: name.to_owned(),
    }
}

pub(crate) fn patch(name: &str, body: Value) -> Write {
    Write {
        target: target(name),
        action: Action::Patch {
            subresource: None,
            body,
        },
        reconciler: "values",
        events: Vec::new(),
    }
}

/// The row of a kind whose objects have a `value`.
pub(crate) fn values(group: &str) -> Watched<String> {
    Watched::new("values", kind(group), |item| {
        #[derive(serde::Deserialize)]
        struct Object {
            value: String,
        }
        item.parse().map(|it: Object| it.value)
    })
}

pub(crate) fn engine(world: Values, servers: Vec<HubApi>) -> (Engine<Values>, Registry) {
    let registry = Registry::new();
    let settings = Settings {
        controller: "tests",
        instance: "tests-1",
        manager: "tests",
        term: None,
    };
    #[allow(clippy::unwrap_used, reason = "tests")]
    let metrics = Metrics::new(&registry).unwrap();
    let servers = servers.into_iter().map(|api| (api, None)).collect();
    (Engine::new(world, servers, settings, metrics), registry)
}

pub(crate) fn work(api: HubApi) -> Arc<Handle<Values>> {
    engine(Values::default(), vec![api]).0.handle().clone()
}

/// An API server that answers so: method, path and query, body; to code and body.
pub(crate) fn server<A, F>(answer: A) -> HubApi
where
    A: Fn(String, Bytes) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = (u16, String)> + Send + 'static,
{
    HubApi::new(tower::service_fn(move |request: Request<RequestBody>| {
        let answer = answer.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = body
                .collect()
                .await
                .map(http_body_util::Collected::to_bytes);
            let asked = format!("{} {}", head.method, head.uri);
            let (code, body) = answer(asked, body.unwrap_or_default()).await;
            let mut response = Response::new(Full::<Bytes>::from(body));
            *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
            Ok::<_, Infallible>(response)
        }
    }))
}

/// A Status about an object of these tests.
pub(crate) fn status(code: u16, reason: &str, name: &str) -> String {
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": "no",
        "details": {"name": name},
    })
    .to_string()
}
