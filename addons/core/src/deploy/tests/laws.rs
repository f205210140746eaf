//! Whatever happens to an add-on, and wherever the hub is killed, the end is the same, and nothing of it stays behind.

use std::collections::BTreeMap;

use berth_api::plan::Action;
use proptest::prelude::*;

use super::hosted::hosted;
use super::*;
use crate::works::writes::writes;
use crate::works::{Digest, Request, layout};

/// More steps than any event needs.
const MOST_STEPS: usize = 200;

const FIRST: &str = "h";
const SECOND: &str = "other";
const HOSTING: &str = "addon.open-cluster-management.io/hosting-cluster-name";

/// What happens on the hub.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The template is edited, and the rollout reaches the cluster.
    Edit(usize),
    /// The agents report all works as applied, and all hooks as complete.
    Report,
    /// The annotation names a cluster that hosts the agent, or none.
    Host(Option<&'static str>),
    /// A cluster that may host the agent goes, or comes.
    Exists(&'static str, bool),
    /// A user takes a manifest out of each work.
    Drift,
    /// The ManagedClusterAddOn is deleted.
    Delete,
}

/// The objects of a hub, and what one process of it remembers.
#[derive(Clone, Debug)]
struct Hub {
    on: Option<Value>,
    works: BTreeMap<(String, String), Value>,
    template: usize,
    clusters: BTreeMap<&'static str, bool>,
    done: BTreeMap<Part, BTreeMap<String, Digest>>,
    version: usize,
}

/// The templates: with and without hooks and hosted manifests.
fn manifests(template: usize) -> Value {
    match template {
        0 => config_map(),
        1 => with_hook(),
        2 => hosted(),
        _ => json!([]),
    }
}

impl Hub {
    fn new() -> Self {
        Self {
            on: Some(Play::new(&config_map()).on),
            works: BTreeMap::new(),
            template: 0,
            clusters: [(FIRST, true), (SECOND, true)].into(),
            done: BTreeMap::new(),
            version: 1,
        }
    }

    fn hosting(&self) -> Hosting<'static> {
        let on = self.on.as_ref();
        let Some(name) = on.and_then(|it| it["metadata"]["annotations"][HOSTING].as_str()) else {
            return Hosting::Own;
        };
        match self.clusters.get_key_value(name).unwrap() {
            (name, true) => Hosting::By(name),
            (name, false) => Hosting::Missing(name),
        }
    }

    fn happens(&mut self, event: Event) {
        if matches!(event, Event::Edit(_) | Event::Host(_) | Event::Exists(..)) {
            // What is known holds for one source only.
            self.done.clear();
        }
        match event {
            Event::Edit(template) => self.template = template,
            Event::Report => self.works.values_mut().for_each(report),
            Event::Host(name) => {
                if let Some(on) = &mut self.on {
                    let patch = json!({"metadata": {"annotations": {HOSTING: name}}});
                    json_patch::merge(on, &patch);
                }
            }
            Event::Exists(name, exists) => {
                self.clusters.insert(name, exists);
                if !exists {
                    self.works.retain(|(namespace, _), _| namespace != name);
                }
            }
            Event::Drift => {
                for work in self.works.values_mut() {
                    let manifests = work["spec"]["workload"]["manifests"].as_array_mut();
                    manifests.and_then(Vec::pop);
                }
            }
            Event::Delete => {
                if let Some(on) = &mut self.on {
                    on["metadata"]["deletionTimestamp"] = json!("2026-06-01T00:00:00Z");
                }
                self.collect();
            }
        }
    }

    /// Works until nothing is due. `kills`: after how many writes each process is killed. Returns the number of writes.
    fn settle(&mut self, kills: &mut impl Iterator<Item = usize>) -> usize {
        let mut written = 0;
        let mut left = kills.next().unwrap_or(usize::MAX);
        for _ in 0..MOST_STEPS {
            if left == 0 {
                self.done.clear();
                left = kills.next().unwrap_or(usize::MAX);
            }
            let Some(due) = self.due() else {
                return written;
            };
            for write in due {
                self.write(write);
                written += 1;
                left = left.saturating_sub(1);
                if left == 0 {
                    break;
                }
            }
        }
        panic!("it does not settle: {self:?}");
    }

    /// The writes that are due; `None` if nothing is to be done.
    fn due(&mut self) -> Option<Vec<Write>> {
        let mut play = Play::new(&manifests(self.template));
        play.on = self.on.clone()?;
        play.hosting = self.hosting();
        play.works = self.works.values().map(read).collect();
        play.done = (self.done.iter())
            .filter(|(part, digests)| self.digests(**part) == **digests)
            .map(|(part, _)| *part)
            .collect();
        match play.decided() {
            Next::Write(write) => Some(vec![*write]),
            Next::Report(conditions, _) if conditions == play.on().conditions => None,
            Next::Report(conditions, _) => {
                let body = json!({"status": {"conditions": conditions}});
                let (on, at) = (play.on(), ("x", "c1"));
                let write = writes::patch_on_cluster(ON_CLUSTER, at, &on, Some("status"), body);
                Some(vec![write])
            }
            Next::Make(part) => {
                let part = part.unwrap();
                let due = self.works_due(&play, part);
                if due.is_empty() {
                    let digests = self.digests(part);
                    self.done.insert(part, digests);
                }
                Some(due)
            }
        }
    }

    /// The stored works of a part.
    fn of(&self, part: Part) -> impl Iterator<Item = (&String, &Value)> {
        let namespace = part.namespace("c1", self.hosting());
        let works = self.works.iter().filter(move |((of, name), _)| {
            Some(&**of) == namespace && part.place("c1").has("x", name)
        });
        works.map(|((_, name), work)| (name, work))
    }

    fn works_due(&self, play: &Play, part: Part) -> Vec<Write> {
        let hosting = self.hosting();
        let template = play.configs.template("t").unwrap().spec.clone().unwrap();
        let request = template::Request {
            addon: "x",
            cluster: "c1",
            template: &template,
            config: None,
            image_registries: None,
        };
        let (_, objects) = Made::of(&request, hosting.is_other()).unwrap();
        let existing: Vec<ManifestWork> = (self.of(part))
            .map(|(_, it)| serde_json::from_value(it.clone()).unwrap())
            .collect();
        let laid_out = layout(&Request {
            addon: "x",
            place: part.place("c1"),
            objects: objects.of(part),
            manifest_configs: &[],
            configs: &play.on().references,
            existing: &existing,
        });
        let owner = Owner {
            namespace: part.namespace("c1", hosting).unwrap(),
            addon: (!part.is_hosted()).then_some(("x", "u")),
            reconciler: ON_CLUSTER,
        };
        writes(&laid_out.unwrap(), &owner, &existing)
    }

    fn digests(&self, part: Part) -> BTreeMap<String, Digest> {
        let digests = self
            .of(part)
            .map(|(name, it)| (name.clone(), read(it).digest.unwrap()));
        digests.collect()
    }

    /// Carries a write out, as an API server and its garbage collector do.
    fn write(&mut self, write: Write) {
        self.version += 1;
        let version = json!(self.version.to_string());
        let at = (write.target.namespace.unwrap(), write.target.name);
        match write.action {
            Action::Patch { body, .. } => {
                let on = self.on.as_mut().unwrap();
                let decided_from = &body["metadata"]["resourceVersion"];
                assert_eq!(*decided_from, on["metadata"]["resourceVersion"]);
                json_patch::merge(on, &body);
                on["metadata"]["resourceVersion"] = version;
                self.collect();
            }
            Action::CreateText { body } => {
                let mut work: Value = serde_json::from_str(&body).unwrap();
                work["metadata"]["uid"] = json!(format!("{}/{}", at.0, at.1));
                work["metadata"]["creationTimestamp"] = json!("2026-05-31T00:00:00Z");
                work["metadata"]["resourceVersion"] = version;
                assert_eq!(self.works.insert(at, work), None, "it exists");
            }
            Action::PatchText { body } => {
                let patch: Value = serde_json::from_str(&body).unwrap();
                let work = self.works.get_mut(&at).unwrap();
                json_patch::merge(work, &patch);
                work["metadata"]["resourceVersion"] = version;
                work.as_object_mut().unwrap().remove("status");
            }
            Action::Delete { .. } => assert!(self.works.remove(&at).is_some()),
            other => panic!("{other:?}"),
        }
    }

    /// What is deleted and has no finalizer goes, with what it owns.
    fn collect(&mut self) {
        let is_gone = |on: &Value| {
            let finalizers = on["metadata"]["finalizers"].as_array();
            on["metadata"]["deletionTimestamp"].is_string() && finalizers.is_none_or(Vec::is_empty)
        };
        if self.on.as_ref().is_some_and(is_gone) {
            self.on = None;
            let is_owned = |it: &Value| !it["metadata"]["ownerReferences"].is_null();
            self.works.retain(|_, it| !is_owned(it));
        }
    }

    /// The objects without their versions.
    fn seen(&self) -> String {
        let mut all: Vec<_> = self.works.values().chain(&self.on).cloned().collect();
        for object in &mut all {
            object["metadata"]["resourceVersion"] = Value::Null;
        }
        json!(all).to_string()
    }
}

fn read(work: &Value) -> Work {
    Work::read(&work.to_string()).unwrap().unwrap()
}

/// An agent reports a work as applied, and its hooks as complete.
fn report(work: &mut Value) {
    let manifests = work["spec"]["workload"]["manifests"].as_array().cloned();
    let jobs = (manifests.into_iter().flatten()).filter(|it| it["kind"] == "Job");
    let jobs = jobs.map(|it| {
        json!({
            "conditions": [],
            "resourceMeta": {
                "group": "batch", "resource": "jobs", "namespace": "n", "name": it["metadata"]["name"], "ordinal": 0,
            },
            "statusFeedback": {"values": [
                {"name": "JobComplete", "fieldValue": {"type": "String", "string": "True"}},
            ]},
        })
    });
    let conditions = [said("Applied", "True", "R"), said("Available", "True", "R")];
    work["status"] = json!({"conditions": conditions, "resourceStatus": {"manifests": jobs.collect::<Vec<_>>()}});
}

fn event() -> impl Strategy<Value = Event> {
    let cluster = prop_oneof![Just(FIRST), Just(SECOND)];
    let exists = (cluster.clone(), any::<bool>());
    prop_oneof![
        (0..4_usize).prop_map(Event::Edit),
        Just(Event::Report),
        prop::option::of(cluster).prop_map(Event::Host),
        exists.prop_map(|(name, exists)| Event::Exists(name, exists)),
        Just(Event::Drift),
        Just(Event::Delete),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_end_is_the_same_wherever_the_hub_is_killed(
        events in prop::collection::vec(event(), 1..10),
        kills in prop::collection::vec(1..4_usize, 1..40),
    ) {
        let (mut calm, mut killed) = (Hub::new(), Hub::new());
        let mut kills = kills.into_iter();
        let never = &mut std::iter::empty();
        for event in events {
            calm.happens(event);
            killed.happens(event);
            calm.settle(never);
            killed.settle(&mut kills);
            prop_assert_eq!(killed.seen(), calm.seen(), "after {:?}", event);
            // A settled hub is not written by a successor.
            let mut successor = calm.clone();
            successor.done.clear();
            prop_assert_eq!(successor.settle(never), 0, "after {:?}", event);
        }
    }

    #[test]
    fn nothing_of_a_deleted_add_on_stays(events in prop::collection::vec(event(), 0..10)) {
        let mut hub = Hub::new();
        let never = &mut std::iter::empty();
        for event in events {
            hub.happens(event);
            hub.settle(never);
        }
        hub.happens(Event::Delete);
        for _ in 0..4 {
            hub.settle(never);
            hub.happens(Event::Report);
        }
        prop_assert_eq!(hub.on, None);
        prop_assert_eq!(hub.works, BTreeMap::new());
    }
}
