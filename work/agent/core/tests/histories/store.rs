//! An API server's objects of one kind, with what watches report of them.

use std::collections::BTreeMap;
use std::rc::Rc;

use berth_api::plan::{Action, Write};
use serde_json::{Value, json};

/// Objects by name, and their changes in order. `None`: the object is gone.
#[derive(Default)]
pub(crate) struct Store {
    objects: BTreeMap<String, Rc<Value>>,
    pub(crate) log: Vec<(String, Option<Rc<Value>>)>,
    uids: u64,
}

impl Store {
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.objects.get(name).map(|it| &**it)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&String, &Rc<Value>)> {
        self.objects.iter()
    }

    pub(crate) fn create(&mut self, name: &str, mut object: Value) {
        self.uids += 1;
        object["metadata"]["uid"] = json!(format!("uid-{}", self.uids));
        object["metadata"]["generation"] = json!(1);
        self.put(name, object);
    }

    /// A change of the spec by a user.
    pub(crate) fn edit(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        if let Some(mut object) = self.get(name).cloned() {
            change(&mut object);
            let generation = object["metadata"]["generation"].as_i64().unwrap() + 1;
            object["metadata"]["generation"] = json!(generation);
            self.put(name, object);
        }
    }

    /// A change of an annotation; `None` removes it.
    pub(crate) fn annotate(&mut self, name: &str, key: &str, value: Option<&str>) {
        if let Some(mut object) = self.get(name).cloned() {
            json_patch::merge(
                &mut object,
                &json!({"metadata": {"annotations": {key: value}}}),
            );
            self.put(name, object);
        }
    }

    pub(crate) fn delete(&mut self, name: &str) {
        if let Some(mut object) = self.get(name).cloned() {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            self.put(name, object);
        }
    }

    /// Carries out a write. Returns false if it is refused: then the object is another one than it was made for.
    pub(crate) fn write(&mut self, write: Write) -> bool {
        let name = write.target.name;
        match write.action {
            Action::Create { body } => {
                if !self.objects.contains_key(&name) {
                    self.create(&name, body);
                }
                true
            }
            Action::Delete { uid, .. } => {
                let is_same = |it: &Value| it["metadata"]["uid"] == uid.as_str();
                let found = self.get(&name).is_some_and(is_same);
                if found {
                    self.delete(&name);
                }
                found
            }
            Action::Patch { body, .. } => {
                let Some(object) = self.get(&name) else {
                    return false;
                };
                let (is, of) = (&object["metadata"], &body["metadata"]);
                let is_same = ["uid", "resourceVersion"]
                    .iter()
                    .all(|it| of[it].is_null() || of[it] == is[it]);
                if is_same {
                    let mut object = object.clone();
                    json_patch::merge(&mut object, &body);
                    self.put(&name, object);
                }
                is_same
            }
            other => panic!("the model does not know {other:?}"),
        }
    }

    fn put(&mut self, name: &str, mut object: Value) {
        object["metadata"]["resourceVersion"] = json!((self.log.len() + 1).to_string());
        let finalizers = object["metadata"]["finalizers"].as_array();
        let is_gone = object["metadata"]["deletionTimestamp"].is_string()
            && finalizers.is_none_or(Vec::is_empty);
        let object = (!is_gone).then(|| Rc::new(object));
        match &object {
            None => drop(self.objects.remove(name)),
            Some(it) => drop(self.objects.insert(name.to_owned(), Rc::clone(it))),
        }
        self.log.push((name.to_owned(), object));
    }
}
