//! The objects of the managed cluster, what watches report of them, and what its API server does about a CustomResourceDefinition.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use berth_work_core::testing::Server;
use berth_work_core::{Refusal, Response, Step};
use fastrand::Rng;
use serde_json::{Value, json};

use crate::things::{DEFINITION, Kind, WIDGET};

/// A model of an API server for each object, and what watches report, in order.
pub(crate) struct Cluster {
    objects: BTreeMap<&'static str, Object>,
    logs: [Vec<Change>; Kind::ALL.len()],
    /// Objects of the custom kind are served.
    pub(crate) is_served: bool,
    /// When the API server goes on with a CustomResourceDefinition.
    pub(crate) goes_on: Option<Duration>,
}

struct Object {
    server: Server,
    live: Option<Rc<Shown>>,
}

/// An object after a change; `None`: it is gone.
pub(crate) type Change = (&'static str, Option<Rc<Shown>>);

/// An object as a client sees it.
pub(crate) struct Shown {
    pub(crate) value: Value,
    json: OnceCell<String>,
}

/// What the API server does next about a CustomResourceDefinition.
#[derive(Clone, Copy, Debug)]
enum Background {
    Establish,
    Serve,
    /// It is deleted, with the objects of its kind.
    Collect,
}

impl Shown {
    fn new(value: Value) -> Rc<Self> {
        let json = OnceCell::new();
        Rc::new(Self { value, json })
    }

    pub(crate) fn json(&self) -> &str {
        self.json.get_or_init(|| self.value.to_string())
    }
}

impl Cluster {
    pub(crate) fn new(names: impl Iterator<Item = &'static str>) -> Self {
        let object = |name: &'static str| {
            let mut server = Server::empty();
            // The UIDs of an object are not those of another one.
            server.uids = name;
            server.immutable = |old, new| old["type"] != new["type"];
            (name, Object { server, live: None })
        };
        Self {
            objects: names.map(object).collect(),
            logs: Default::default(),
            is_served: false,
            goes_on: None,
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.objects.keys().copied()
    }

    pub(crate) fn live(&self, name: &str) -> Option<&Value> {
        self.shown(name).map(|it| &it.value)
    }

    pub(crate) fn shown(&self, name: &str) -> Option<&Rc<Shown>> {
        self.objects[name].live.as_ref()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, &Rc<Shown>)> {
        let all = self.objects.iter();
        all.filter_map(|(name, it)| Some((*name, it.live.as_ref()?)))
    }

    /// The changes of the objects of a kind.
    pub(crate) fn log(&self, kind: Kind) -> &[Change] {
        &self.logs[kind as usize]
    }

    pub(crate) fn changes(&self) -> usize {
        self.logs.iter().map(Vec::len).sum()
    }

    /// Returns true if the API server knows the kind of the object.
    pub(crate) fn serves(&self, name: &str) -> bool {
        name != WIDGET || self.is_served
    }

    pub(crate) fn answer<R>(&mut self, name: &str, step: Step<R>) -> Response {
        if !self.serves(name) {
            return Response::Refused(Refusal {
                code: 404,
                message: "the server could not find the requested resource".to_owned(),
                ..Refusal::default()
            });
        }
        if let Step::Get = step {
            let live = self.live(name).cloned();
            return live.map_or(Response::NotFound, Response::Found);
        }
        let is_deletion = matches!(step, Step::Delete { .. });
        if is_deletion && name == DEFINITION {
            return self.delete_definition(step);
        }
        let object = self.object(name);
        let before = object.server.version();
        let response = object.server.answer(step);
        match &response {
            Response::Written(_) if is_deletion => self.note(name, None),
            Response::Written(it) if self.objects[name].server.version() != before => {
                self.note(name, Some(it.clone()));
            }
            _ => {}
        }
        response
    }

    /// It is deleted once the objects of its kind are.
    fn delete_definition<R>(&mut self, step: Step<R>) -> Response {
        let Step::Delete {
            uid,
            resource_version,
        } = &step
        else {
            return Response::NotFound;
        };
        let Some(live) = self.live(DEFINITION).cloned() else {
            return Response::NotFound;
        };
        let metadata = &live["metadata"];
        let is_same = metadata["uid"] == **uid
            && (resource_version.as_ref()).is_none_or(|it| metadata["resourceVersion"] == **it);
        if !is_same {
            return self.object(DEFINITION).server.answer(step);
        }
        if metadata["deletionTimestamp"].is_null() {
            self.change(DEFINITION, |it| {
                it["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
                it["metadata"]["finalizers"] =
                    json!(["customresourcecleanup.apiextensions.k8s.io"]);
            });
        }
        let live = self.live(DEFINITION).cloned();
        live.map_or(Response::NotFound, Response::Written)
    }

    /// A change by another client.
    pub(crate) fn change(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        let object = self.object(name);
        if object.live.is_none() {
            return;
        }
        let before = object.server.version();
        object.server.edit("other", change);
        if object.server.version() != before {
            let live = object.server.live();
            self.note(name, live);
        }
    }

    /// A deletion by another client.
    pub(crate) fn delete(&mut self, name: &str) {
        if let Some(live) = self.live(name) {
            let uid = live["metadata"]["uid"].as_str().unwrap().to_owned();
            let step = Step::<()>::Delete {
                uid,
                resource_version: None,
            };
            self.answer(name, step);
        }
    }

    fn object(&mut self, name: &str) -> &mut Object {
        self.objects.get_mut(name).unwrap()
    }

    fn note(&mut self, name: &str, live: Option<Value>) {
        let live = live.map(Shown::new);
        let mut objects = self.objects.iter_mut();
        let (name, object) = objects.find(|(of, _)| **of == name).unwrap();
        object.live.clone_from(&live);
        self.logs[Kind::of(name) as usize].push((name, live));
    }

    fn background(&self) -> Option<Background> {
        let definition = self.objects.get(DEFINITION)?.live.as_ref()?;
        let definition = &definition.value;
        if !definition["metadata"]["deletionTimestamp"].is_null() {
            return Some(Background::Collect);
        }
        if definition["status"].is_null() {
            return Some(Background::Establish);
        }
        (!self.is_served).then_some(Background::Serve)
    }

    /// If the API server has something to do about a CustomResourceDefinition: it does it some time after.
    pub(crate) fn plans(&mut self, now: Duration, rng: &mut Rng) {
        if self.goes_on.is_none() && self.background().is_some() {
            let millis = [0, 50, 400, 3000, 20_000];
            let wait = Duration::from_millis(millis[rng.usize(..millis.len())]);
            self.goes_on = Some(now + wait);
        }
    }

    /// The API server goes on with a CustomResourceDefinition.
    pub(crate) fn go_on(&mut self) {
        self.goes_on = None;
        match self.background() {
            Some(Background::Establish) => self.change(DEFINITION, |it| {
                it["status"]["conditions"] = json!([{"type": "Established", "status": "True"}]);
            }),
            Some(Background::Serve) => self.is_served = true,
            Some(Background::Collect) => {
                self.delete(WIDGET);
                self.is_served = false;
                let uid = self.live(DEFINITION).unwrap()["metadata"]["uid"].clone();
                let step = Step::<()>::Delete {
                    uid: uid.as_str().unwrap().to_owned(),
                    resource_version: None,
                };
                self.object(DEFINITION).server.answer(step);
                self.note(DEFINITION, None);
            }
            None => {}
        }
    }
}
