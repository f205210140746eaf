//! A model of an API server with one object: resourceVersions, field ownership, server-side apply, preconditions.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fields::{Set, at, cut, from_json, leaves, put, to_json};
use crate::step::Cause;
use crate::{Refusal, Response, Step};

/// Changes an object while it is written, as defaults, pruning and admission webhooks do.
type Admission = fn(&mut Value);

/// The API server.
pub struct Server {
    /// The object, without managedFields.
    object: Option<Value>,
    owners: BTreeMap<(String, &'static str), Set>,
    version: u64,
    created: u64,
    /// The object is a custom resource.
    pub is_custom: bool,
    /// How UIDs begin.
    pub uids: &'static str,
    /// What is done to each object that is written.
    pub admission: Admission,
    /// PATCH is not granted.
    pub refuse_patch: bool,
    /// PUT is refused as invalid if it returns true for the old and the new object.
    pub immutable: fn(&Value, &Value) -> bool,
    /// A write is refused as invalid if it returns a reason.
    pub invalid: fn(&Value) -> Option<&'static str>,
}

// === impl Server ===

impl Server {
    /// No object.
    pub fn empty() -> Self {
        Self {
            object: None,
            owners: BTreeMap::new(),
            version: 10,
            created: 0,
            is_custom: false,
            uids: "object",
            admission: |_| {},
            refuse_patch: false,
            immutable: |_, _| false,
            invalid: |_| None,
        }
    }

    /// An object that another manager created.
    pub fn with(object: &Value, manager: &str) -> Self {
        let mut server = Self::empty();
        server.create(object.clone(), manager);
        server
    }

    /// The object that the agent sends to create it.
    pub fn created(manifest: &Value) -> Value {
        let owner = super::owner("w");
        let settled = crate::Settled::default();
        let machine = crate::Applying::new(super::mapped(manifest), None, owner, settled, None);
        match machine.unwrap().next(Some(Response::NotFound)) {
            Step::Create(body) | Step::Apply { body, .. } => body,
            step => panic!("{step:?}"),
        }
    }

    /// The object as a client sees it.
    pub fn live(&self) -> Option<Value> {
        let mut object = self.object.clone()?;
        let entries = self.owners.iter().filter(|(_, set)| !set.is_empty());
        let entries = entries.map(|((manager, operation), set)| {
            json!({"manager": manager, "operation": operation, "apiVersion": object["apiVersion"],
                   "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": to_json(set)})
        });
        object["metadata"]["managedFields"] = entries.collect();
        Some(object)
    }

    /// A change by another manager.
    pub fn edit(&mut self, manager: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.object.clone().unwrap();
        change(&mut object);
        self.store(object, manager);
    }

    /// The resourceVersion; one more for each write that changed something.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The names of the owners.
    pub fn owner_names(&self) -> Vec<String> {
        let references = self
            .object
            .as_ref()
            .map(|it| it["metadata"]["ownerReferences"].clone());
        let references = references.unwrap_or_default();
        let names = references.as_array().into_iter().flatten();
        names
            .map(|it| it["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Answers a request.
    pub fn answer<R>(&mut self, step: Step<R>) -> Response {
        const AGENT: &str = "work-agent";
        let version = |body: &Value| body["metadata"]["resourceVersion"].clone();
        match step {
            Step::Done(_) => unreachable!("no request"),
            Step::Get => self.live().map_or(Response::NotFound, Response::Found),
            Step::Create(body) => {
                if self.object.is_some() {
                    return refused(409, "AlreadyExists", "it already exists");
                }
                if let Some(why) = (self.invalid)(&body) {
                    return invalid(&[why]);
                }
                self.create(body, AGENT);
                self.written()
            }
            Step::Delete {
                uid,
                resource_version,
            } => {
                let Some(object) = &self.object else {
                    return Response::NotFound;
                };
                let metadata = &object["metadata"];
                let same =
                    resource_version.is_none_or(|it| metadata["resourceVersion"] == it.as_str());
                if metadata["uid"] != uid.as_str() || !same {
                    return refused(409, "Conflict", "the precondition failed");
                }
                let deleted = self.live().unwrap();
                self.object = None;
                self.owners.clear();
                Response::Written(deleted)
            }
            Step::Try(body) => match (self.invalid)(&body) {
                Some(why) => invalid(&[why]),
                None => Response::Written(body),
            },
            Step::Replace(body) => {
                let Some(object) = self.object.clone() else {
                    return Response::NotFound;
                };
                if version(&body) != object["metadata"]["resourceVersion"] {
                    return refused(409, "Conflict", "the object has been modified");
                }
                let immutable = (self.immutable)(&object, &body);
                let immutable = immutable.then_some("Invalid value: field is immutable");
                let reasons = immutable.into_iter().chain((self.invalid)(&body));
                let reasons: Vec<_> = reasons.collect();
                if !reasons.is_empty() {
                    return invalid(&reasons);
                }
                self.store(body, AGENT);
                self.written()
            }
            Step::Merge(_) | Step::Apply { .. } if self.refuse_patch => refused(
                403,
                "Forbidden",
                "User \"agent\" cannot patch resource \"widgets\" in API group \"\"",
            ),
            Step::Merge(patch) => {
                let Some(mut object) = self.object.clone() else {
                    return Response::NotFound;
                };
                if version(&patch) != object["metadata"]["resourceVersion"] {
                    return refused(409, "Conflict", "the object has been modified");
                }
                if let Some(entries) = patch["metadata"]["managedFields"].as_array() {
                    self.owners = entries
                        .iter()
                        .map(|entry| {
                            let operation = if entry["operation"] == "Apply" {
                                "Apply"
                            } else {
                                "Update"
                            };
                            let manager = entry["manager"].as_str().unwrap().to_owned();
                            ((manager, operation), from_json(&entry["fieldsV1"]))
                        })
                        .collect();
                    self.bump();
                }
                for field in ["labels", "annotations"] {
                    let removed = patch["metadata"][field].as_object();
                    for (key, value) in removed.into_iter().flatten() {
                        assert!(value.is_null(), "the model only removes");
                        object["metadata"][field]
                            .as_object_mut()
                            .unwrap()
                            .remove(key);
                        self.store(object.clone(), AGENT);
                    }
                }
                if let Some(owners) = patch["metadata"].get("ownerReferences") {
                    object["metadata"]["ownerReferences"] = owners.clone();
                    self.store(object, AGENT);
                }
                self.written()
            }
            Step::Apply {
                manager,
                force,
                body,
            } => self.apply(&manager, force, &body),
        }
    }

    /// What API servers respond to an apply with a UID when no object is there: another refusal for each of the two sorts of kinds.
    fn has_no_such(&self, uid: &Value) -> Response {
        if !self.is_custom {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return refused(409, "Conflict", &why);
        }
        Response::Refused(Refusal {
            code: 422,
            reason: "Invalid".to_owned(),
            message: "metadata.uid: Invalid value: field is immutable".to_owned(),
            causes: vec![Cause {
                reason: "FieldValueInvalid".to_owned(),
                field: "metadata.uid".to_owned(),
                message: "Invalid value: field is immutable".to_owned(),
            }],
        })
    }

    fn written(&self) -> Response {
        Response::Written(self.live().unwrap())
    }

    fn bump(&mut self) {
        self.version += 1;
        let version = self.version.to_string();
        self.object.as_mut().unwrap()["metadata"]["resourceVersion"] = version.into();
    }

    fn create(&mut self, mut object: Value, manager: &str) {
        self.owners.clear();
        self.owners
            .insert((manager.to_owned(), "Update"), leaves(&object));
        (self.admission)(&mut object);
        self.created += 1;
        object["metadata"]["uid"] = format!("{}-{}", self.uids, self.created).into();
        self.object = Some(object);
        self.bump();
    }

    /// PUT: what has changed belongs to the manager.
    fn store(&mut self, mut object: Value, manager: &str) {
        let old = self.object.clone().unwrap();
        object["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("managedFields");
        let new = leaves(&object);
        let changed: Set = new
            .iter()
            .filter(|path| at(&old, path) != at(&object, path))
            .cloned()
            .collect();
        for set in self.owners.values_mut() {
            set.retain(|path| !changed.contains(path) && new.contains(path));
        }
        self.owners
            .entry((manager.to_owned(), "Update"))
            .or_default()
            .extend(changed);
        (self.admission)(&mut object);
        if object != old {
            self.object = Some(object);
            self.bump();
        }
    }

    fn apply(&mut self, manager: &str, force: bool, body: &Value) -> Response {
        let wanted = leaves(body);
        let mine = (manager.to_owned(), "Apply");
        let uid = &body["metadata"]["uid"];
        let Some(old) = self.object.clone() else {
            if !uid.is_null() {
                return self.has_no_such(uid);
            }
            self.create(body.clone(), manager);
            let set = self.owners.remove(&(manager.to_owned(), "Update")).unwrap();
            self.owners.insert(mine, set);
            return self.written();
        };
        if !uid.is_null() && *uid != old["metadata"]["uid"] {
            return refused(409, "Conflict", "Precondition failed: UID in precondition");
        }
        let version = &body["metadata"]["resourceVersion"];
        if !version.is_null() && *version != old["metadata"]["resourceVersion"] {
            return refused(409, "Conflict", "the object has been modified");
        }
        let differs = |path: &[String]| at(&old, path) != at(body, path);
        let mut causes = Vec::new();
        for ((other, operation), set) in &self.owners {
            let others = *operation != "Apply" || other != manager;
            // The same manager does not conflict with itself.
            for path in set.iter().filter(|path| {
                others && other != manager && wanted.contains(*path) && differs(path)
            }) {
                causes.push(Cause {
                    reason: "FieldManagerConflict".to_owned(),
                    field: path.join("").replace("f:", "."),
                    message: format!("conflict with {other:?} using v1"),
                });
            }
        }
        if !causes.is_empty() && !force {
            return Response::Refused(Refusal {
                code: 409,
                reason: "Conflict".to_owned(),
                message: format!("Apply failed with {} conflict", causes.len()),
                causes,
            });
        }
        let owners = self.owners.clone();
        let before = self.owners.remove(&mine).unwrap_or_default();
        for set in self.owners.values_mut() {
            set.retain(|path| !(wanted.contains(path) && differs(path)));
        }
        let mut object = old.clone();
        let kept = |path: &[String]| {
            wanted.contains(path) || self.owners.values().any(|set| set.contains(path))
        };
        let all = leaves(&old);
        for path in before.iter().filter(|path| !kept(path)) {
            // An item goes as a whole if nothing of it stays.
            let whole = (1..=path.len()).find(|end| {
                let item = &path[..*end];
                let below = |path: &&Vec<String>| path.starts_with(item);
                item[end - 1].starts_with("k:")
                    && all
                        .iter()
                        .filter(below)
                        .all(|path| before.contains(path) && !kept(path))
            });
            cut(&mut object, &path[..whole.unwrap_or(path.len())]);
        }
        for path in &wanted {
            put(&mut object, path, at(body, path).unwrap());
        }
        let same_owners = before == wanted;
        if let Some(why) = (self.invalid)(&object) {
            self.owners = owners;
            return invalid(&[why]);
        }
        self.owners.insert(mine, wanted);
        (self.admission)(&mut object);
        if object != old || !same_owners {
            self.object = Some(object);
            self.bump();
        }
        self.written()
    }
}

fn invalid(reasons: &[&str]) -> Response {
    let cause = |reason: &&str| Cause {
        reason: "FieldValueInvalid".to_owned(),
        field: "spec".to_owned(),
        message: (*reason).to_owned(),
    };
    Response::Refused(Refusal {
        code: 422,
        reason: "Invalid".to_owned(),
        message: format!("spec: {}", reasons.join(", spec: ")),
        causes: reasons.iter().map(cause).collect(),
    })
}

fn refused(code: u16, reason: &str, message: &str) -> Response {
    Response::Refused(Refusal {
        code,
        reason: reason.to_owned(),
        message: message.to_owned(),
        causes: Vec::new(),
    })
}
