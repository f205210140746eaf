//! Plays: an object, and a store that carries out what is decided for it.

use std::collections::BTreeMap;

use berth_api::plan::{Action, Write};
use serde_json::{Value, json};

use crate::objects::{Id, Kind, MANAGER};

/// An object that is reconciled, and what is stored.
pub(crate) struct Played {
    pub(crate) object: Value,
    pub(crate) store: BTreeMap<Id, Value>,
    /// When a Deployment is deleted, if its pods take time to end: then it stays until they have ended.
    pub(crate) ends_from: Option<&'static str>,
    resource: &'static str,
    version: u64,
}

// === impl Played ===

impl Played {
    pub(crate) fn new(object: Value, resource: &'static str) -> Self {
        Self {
            object,
            store: BTreeMap::new(),
            ends_from: None,
            resource,
            version: 1,
        }
    }

    pub(crate) fn carry_out(&mut self, write: Write) {
        self.version += 1;
        let version = json!(self.version.to_string());
        let target = &write.target;
        if target.resource.resource == self.resource {
            let Action::Patch { body, .. } = write.action else {
                panic!("{write:?}");
            };
            json_patch::merge(&mut self.object, &body);
            self.object["metadata"]["resourceVersion"] = version;
            return;
        }
        let id = Id {
            kind: Kind::ALL
                .into_iter()
                .find(|it| it.resource() == target.resource)
                .unwrap(),
            namespace: target.namespace.clone().unwrap_or_default(),
            name: target.name.clone(),
        };
        let is_applied = matches!(write.action, Action::Apply { .. });
        match write.action {
            // As a merge, which removes nothing.
            Action::Apply { body, .. }
            | Action::Patch { body, .. }
            | Action::CreateOrUpdate { body } => match self.store.get_mut(&id) {
                Some(stored) => {
                    json_patch::merge(stored, &body);
                    if !body["spec"].is_null() {
                        let generation = &mut stored["metadata"]["generation"];
                        *generation = json!(generation.as_i64().unwrap_or_default() + 1);
                    }
                }
                None => self.put(id.clone(), body),
            },
            Action::DeleteInForeground { .. } if self.ends_from.is_some() => {
                let deployment = self.store.get_mut(&id).unwrap();
                deployment["metadata"]["deletionTimestamp"] = json!(self.ends_from);
            }
            Action::Delete { .. } | Action::DeleteInForeground { .. } => {
                self.store.remove(&id);
            }
            other => panic!("{other:?}"),
        }
        if let Some(stored) = self.store.get_mut(&id) {
            if is_applied {
                stored["metadata"]["managedFields"] = json!([{
                    "manager": MANAGER, "operation": "Apply", "fieldsV1": {"f:metadata": {}},
                }]);
            }
            stored["metadata"]["resourceVersion"] = version;
        }
    }

    pub(crate) fn put(&mut self, id: Id, mut object: Value) {
        object["metadata"]["uid"] = json!(id.shown());
        object["metadata"]["resourceVersion"] = json!("1");
        object["metadata"]["generation"] = json!(1);
        if id.kind == Kind::Definition {
            let versions = object["spec"]["versions"].as_array();
            let mut versions = versions.into_iter().flatten();
            let version = versions.find(|it| it["storage"] == true);
            let version = version.map_or(json!("v1"), |it| it["name"].clone());
            object["status"] = json!({"storedVersions": [version]});
        }
        self.store.insert(id, object);
    }

    /// All Deployments run.
    pub(crate) fn roll_out(&mut self) {
        for (_, object) in self
            .store
            .iter_mut()
            .filter(|(id, _)| id.kind == Kind::Deployment)
        {
            let replicas = &object["spec"]["replicas"];
            object["status"] = json!({
                "observedGeneration": object["metadata"]["generation"], "replicas": replicas,
                "availableReplicas": replicas, "updatedReplicas": replicas,
            });
        }
    }

    /// The pods of Deployments that are deleted have ended.
    pub(crate) fn pods_end(&mut self) {
        self.store
            .retain(|_, it| it["metadata"]["deletionTimestamp"].is_null());
    }

    pub(crate) fn stored(&self, kind: Kind, name: &str) -> Option<&Value> {
        self.store
            .iter()
            .find(|(id, _)| id.kind == kind && id.name == name)
            .map(|(_, it)| it)
    }

    /// A condition: status, reason, message.
    pub(crate) fn condition(&self, type_: &str) -> (String, String, String) {
        let conditions = self.object["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let found = conditions
            .iter()
            .find(|it| it["type"] == type_)
            .cloned()
            .unwrap_or_default();
        let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"), text("message"))
    }

    pub(crate) fn said(&self, type_: &str) -> (String, String) {
        let (status, reason, _) = self.condition(type_);
        (status, reason)
    }

    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.store.keys().filter(|it| it.kind == kind).count()
    }
}

pub(crate) fn shown(write: &Write) -> String {
    let what = match &write.action {
        Action::Apply { .. } => "apply",
        Action::CreateOrUpdate { .. } => "create or update",
        Action::Patch { .. } => "patch",
        Action::Delete { .. } => "delete",
        Action::DeleteInForeground { .. } => "end",
        other => panic!("{other:?}"),
    };
    format!(
        "{what} {} {}",
        write.target.resource.resource, write.target.name
    )
}

pub(crate) fn pair(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}
