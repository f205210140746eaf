//! What the tool has seen of add-ons on clusters, and what it reports about their works.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::objects::WORKS;
use crate::hub::condition;

/// What was seen, and the writes of this tool.
pub(super) struct Seen {
    on_clusters: Mutex<HashMap<String, OnCluster>>,
    /// The generation of each work that is reported, or being so.
    works: Mutex<HashMap<String, i64>>,
    due: UnboundedSender<(String, Value)>,
    written: AtomicI64,
}

/// An add-on on a cluster.
struct OnCluster {
    /// It is available, and has the configs that it is to have.
    is_done: bool,
    /// The hash of the AddOnDeploymentConfig that it is to have.
    hash: Option<String>,
}

// === impl Seen ===

impl Seen {
    /// Nothing is seen. Reports about works are sent to `due`: path and body.
    pub(super) fn new(due: UnboundedSender<(String, Value)>) -> Self {
        Self {
            on_clusters: Mutex::default(),
            works: Mutex::default(),
            due,
            written: AtomicI64::new(0),
        }
    }

    /// Sees a ManifestWork, and reports it unless that is done.
    pub(super) fn work(&self, work: &Value, is_gone: bool) {
        let at = place(work);
        let mut works = lock(&self.works);
        if is_gone {
            works.remove(&at);
            return;
        }
        let Some((generation, report)) = report(work) else {
            works.entry(at).or_default();
            return;
        };
        if works.insert(at, generation) != Some(generation) {
            // The receiver ends with the measurement.
            let _ = self.due.send(report);
        }
    }

    /// Sees a ManagedClusterAddOn.
    pub(super) fn on_cluster(&self, on: &Value, is_gone: bool) {
        let mut all = lock(&self.on_clusters);
        if is_gone {
            all.remove(&place(on));
        } else {
            all.insert(place(on), read(on));
        }
    }

    /// The add-ons on clusters that are done, with another config than the one with this hash.
    pub(super) fn done_with(&self, before: Option<&str>) -> usize {
        let all = lock(&self.on_clusters);
        let is = |it: &&OnCluster| it.is_done && it.hash.as_deref() != before;
        all.values().filter(is).count()
    }

    /// The hash of the config that the add-ons have.
    pub(super) fn hash(&self) -> Option<String> {
        let all = lock(&self.on_clusters);
        all.values().find_map(|it| it.hash.clone())
    }

    /// There are no add-ons on clusters, and no works of them.
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.on_clusters).is_empty() && lock(&self.works).is_empty()
    }

    /// Counts writes of this tool.
    pub(super) fn wrote(&self, count: usize) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.written.fetch_add(count, Ordering::Relaxed);
    }

    /// The writes of this tool.
    pub(super) fn written(&self) -> i64 {
        self.written.load(Ordering::Relaxed)
    }

    /// How far it is, for an error.
    pub(super) fn said(&self) -> String {
        let all = lock(&self.on_clusters);
        let done = all.values().filter(|it| it.is_done).count();
        let works = lock(&self.works).len();
        format!("{done} of {} add-ons are done; {works} works", all.len())
    }
}

/// What an agent reports about a generation of a work: path and body; `None` if it is reported.
fn report(work: &Value) -> Option<(i64, (String, Value))> {
    let metadata = &work["metadata"];
    let generation = metadata["generation"].as_i64()?;
    let conditions = work["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    if !metadata["deletionTimestamp"].is_null()
        || conditions.any(|it| it["observedGeneration"] == generation)
    {
        return None;
    }
    let conditions = ["Applied", "Available"].map(|type_| {
        json!({
            "type": type_, "status": "True", "reason": "Fleet", "message": "", "observedGeneration": generation,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    });
    let manifests = work["spec"]["workload"]["manifests"].as_array()?;
    let manifests = manifests.iter().enumerate().map(|(ordinal, object)| {
        let (group, version, resource, values) = match object["kind"].as_str() {
            Some("Deployment") => {
                let ready = ["ReadyReplicas", "Replicas", "AvailableReplicas"].map(
                    |it| json!({"name": it, "fieldValue": {"type": "Integer", "integer": 1}}),
                );
                ("apps", "v1", "deployments", ready.to_vec())
            }
            _ => ("", "v1", "configmaps", Vec::new()),
        };
        json!({
            "conditions": conditions, "statusFeedback": {"values": values},
            "resourceMeta": {
                "ordinal": ordinal, "group": group, "version": version, "kind": object["kind"], "resource": resource,
                "namespace": object["metadata"]["namespace"], "name": object["metadata"]["name"],
            },
        })
    });
    let manifests: Vec<_> = manifests.collect();
    let status =
        json!({"status": {"conditions": conditions, "resourceStatus": {"manifests": manifests}}});
    let (group, _) = WORKS.rsplit_once('/')?;
    let (namespace, name) = (metadata["namespace"].as_str()?, metadata["name"].as_str()?);
    let path = format!("{group}/namespaces/{namespace}/manifestworks/{name}/status");
    Some((generation, (path, status)))
}

fn read(on: &Value) -> OnCluster {
    let references = on["status"]["configReferences"].as_array();
    let mut references = references.into_iter().flatten();
    let config = references.find(|it| it["resource"] == "addondeploymentconfigs");
    let hash_in = |which: &str| config.and_then(|it| it[which]["specHash"].as_str());
    let has_config = hash_in("desiredConfig").is_some()
        && hash_in("desiredConfig") == hash_in("lastAppliedConfig");
    OnCluster {
        is_done: has_config
            && condition(on, "Available") == Some("True")
            && condition(on, "Progressing") == Some("False"),
        hash: hash_in("desiredConfig").map(str::to_owned),
    }
}

fn place(object: &Value) -> String {
    let part = |it: &str| {
        object["metadata"][it]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    format!("{}/{}", part("namespace"), part("name"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_add_on_is_done_once_it_has_its_config_and_is_available() {
        let on = |available: &str, progressing: &str, applied: &str| {
            json!({"status": {
                "conditions": [{"type": "Available", "status": available}, {"type": "Progressing", "status": progressing}],
                "configReferences": [
                    {"resource": "addontemplates", "desiredConfig": {"specHash": "t"}},
                    {"resource": "addondeploymentconfigs", "desiredConfig": {"specHash": "b"}, "lastAppliedConfig": {"specHash": applied}},
                ],
            }})
        };
        for (object, expected) in [
            (json!({}), false),
            (on("True", "True", "a"), false),
            (on("True", "False", "a"), false),
            (on("Unknown", "False", "b"), false),
            (on("True", "False", "b"), true),
        ] {
            assert_eq!(read(&object).is_done, expected, "{object}");
        }
        assert_eq!(read(&on("True", "True", "a")).hash.as_deref(), Some("b"));
    }

    #[test]
    fn a_work_is_reported_once_for_each_generation() {
        let manifests =
            json!([{"kind": "Deployment", "metadata": {"namespace": "n", "name": "d"}}]);
        let mut work = json!({
            "metadata": {"namespace": "c", "name": "w", "generation": 1},
            "spec": {"workload": {"manifests": manifests}},
        });
        let (generation, (path, body)) = report(&work).unwrap();
        assert_eq!(generation, 1);
        assert_eq!(
            path,
            "/apis/work.open-cluster-management.io/v1/namespaces/c/manifestworks/w/status"
        );
        work["status"] = body["status"].clone();
        assert_eq!(report(&work), None);
        work["metadata"]["generation"] = json!(2);
        assert!(report(&work).is_some());
        work["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(report(&work), None);
    }
}
