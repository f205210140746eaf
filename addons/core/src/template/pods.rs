//! The kinds of objects that run pods, and their pods.

use serde_json::{Map, Value};

use crate::object::text;

/// A kind of objects that run pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Workload {
    group: &'static str,
    kind: &'static str,
    /// The resource, as the IDs of containers name it.
    pub(super) resource: &'static str,
    /// The path of the pod's spec.
    path: &'static [&'static str],
    /// The API server refuses a change of the pod.
    pub(super) is_immutable: bool,
}

/// OCM decorates Deployments and DaemonSets only, although the IDs of containers name all of these.
const WORKLOADS: [Workload; 7] = [
    workload("apps", "Deployment", "deployments", TEMPLATE),
    workload("apps", "DaemonSet", "daemonsets", TEMPLATE),
    workload("apps", "StatefulSet", "statefulsets", TEMPLATE),
    workload("apps", "ReplicaSet", "replicasets", TEMPLATE),
    workload(
        "batch",
        "CronJob",
        "cronjobs",
        &["spec", "jobTemplate", "spec", "template", "spec"],
    ),
    immutable(workload("batch", "Job", "jobs", TEMPLATE)),
    immutable(workload("", "Pod", "pods", &["spec"])),
];

const TEMPLATE: &[&str] = &["spec", "template", "spec"];

/// The lists of containers in the spec of a pod. OCM knows the first one only.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

const fn workload(
    group: &'static str,
    kind: &'static str,
    resource: &'static str,
    path: &'static [&'static str],
) -> Workload {
    Workload {
        group,
        kind,
        resource,
        path,
        is_immutable: false,
    }
}

const fn immutable(workload: Workload) -> Workload {
    Workload {
        is_immutable: true,
        ..workload
    }
}

// === impl Workload ===

impl Workload {
    /// Returns the kind of an object, if it runs pods.
    pub(super) fn of(object: &Map<String, Value>) -> Option<Self> {
        let (group, _) = berth_api::path::group_version(text(object, &["apiVersion"]));
        let kind = text(object, &["kind"]);
        let mut all = WORKLOADS.into_iter();
        all.find(|workload| (workload.group, workload.kind) == (group, kind))
    }

    /// Returns the spec of the pod of such an object.
    pub(super) fn pod<'a>(
        &self,
        object: &'a mut Map<String, Value>,
    ) -> Option<&'a mut Map<String, Value>> {
        let mut within = object;
        for field in self.path {
            within = within.get_mut(*field)?.as_object_mut()?;
        }
        Some(within)
    }
}

/// Calls a function for each container of a pod. What is not an object is left as it is.
pub(super) fn each_container(
    pod: &mut Map<String, Value>,
    mut call: impl FnMut(&mut Map<String, Value>),
) {
    for field in CONTAINERS {
        let containers = pod.get_mut(field).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            if let Some(container) = container.as_object_mut() {
                call(container);
            }
        }
    }
}

/// Adds an item to a list of an object, unless the list has one with the same value of `key`. The list is made if it is absent; a field
/// that is no list is left as it is.
pub(super) fn add(object: &mut Map<String, Value>, list: &str, key: &str, item: &Value) {
    if let Some(items) = list_of(object, list)
        && !items.iter().any(|it| it.get(key) == item.get(key))
    {
        items.push(item.clone());
    }
}

/// As [`add`], but an item with the same value of `key` is replaced.
pub(super) fn put(object: &mut Map<String, Value>, list: &str, key: &str, item: &Value) {
    let Some(items) = list_of(object, list) else {
        return;
    };
    match items.iter_mut().find(|it| it.get(key) == item.get(key)) {
        Some(found) => *found = item.clone(),
        None => items.push(item.clone()),
    }
}

fn list_of<'a>(object: &'a mut Map<String, Value>, field: &str) -> Option<&'a mut Vec<Value>> {
    let list = object.entry(field).or_insert(Value::Null);
    if list.is_null() {
        *list = Value::Array(Vec::new());
    }
    list.as_array_mut()
}
