//! A Kubernetes object whose type is not known at compile time.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

/// A JSON object. Its `metadata`, if it has any, is a JSON object, too. Nothing else is guaranteed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Object(Map<String, Value>);

/// The reason why a JSON value is not an [`Object`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotAnObject {
    /// The value itself.
    #[error("not a JSON object")]
    Value,
    /// Its metadata.
    #[error("metadata is not a JSON object")]
    Metadata,
}

impl Object {
    /// The object's fields.
    pub(crate) fn fields(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The object's fields. If the caller replaces `metadata`, it must be a JSON object.
    pub(crate) fn fields_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.0
    }

    /// The object as JSON.
    pub(crate) fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    /// Lets `edit` change the object as JSON. A result that is not a JSON object is discarded, and so is such a `metadata`.
    pub(crate) fn edit<T>(&mut self, edit: impl FnOnce(&mut Value) -> T) -> T {
        let mut value = Value::Object(std::mem::take(&mut self.0));
        let result = edit(&mut value);
        if let Value::Object(fields) = value {
            self.0 = fields;
        }
        if self
            .0
            .get("metadata")
            .is_some_and(|metadata| !metadata.is_object())
        {
            self.0.remove("metadata");
        }
        result
    }

    /// A copy of the object as JSON.
    pub(crate) fn to_value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// The value at a path of field names.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        let mut value = self.0.get(*first)?;
        for name in rest {
            value = value.get(*name)?;
        }
        Some(value)
    }

    /// The string at a path of field names; empty if it is absent.
    pub(crate) fn str_at(&self, path: &[&str]) -> &str {
        self.at(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// The items of the list at a path; empty if it is absent.
    pub(crate) fn items(&self, path: &[&str]) -> &[Value] {
        let list = self.at(path).and_then(Value::as_array);
        list.map(Vec::as_slice).unwrap_or_default()
    }

    /// The strings of the list at a path.
    pub(crate) fn texts(&self, path: &[&str]) -> Vec<&str> {
        self.items(path).iter().filter_map(Value::as_str).collect()
    }

    /// Sets the value at a path. Creates the objects on the way to it, and replaces other values there.
    pub(crate) fn set(&mut self, path: &[&str], value: impl Into<Value>) {
        let Some((last, parents)) = path.split_last() else {
            return;
        };
        let mut fields = &mut self.0;
        for name in parents {
            let child = fields.entry(*name).or_insert(Value::Null);
            if !child.is_object() {
                *child = Value::Object(Map::new());
            }
            fields = match child {
                Value::Object(fields) => fields,
                _ => unreachable!("made an object above"),
            };
        }
        fields.insert((*last).to_owned(), value.into());
    }

    /// Removes the value at a path, and returns it.
    pub(crate) fn remove(&mut self, path: &[&str]) -> Option<Value> {
        let (last, parents) = path.split_last()?;
        let mut fields = &mut self.0;
        for name in parents {
            fields = fields.get_mut(*name)?.as_object_mut()?;
        }
        fields.remove(*last)
    }

    /// Sets what `old` has at a path; removes the value if `old` has none.
    pub(crate) fn put_back(&mut self, old: &Self, path: &[&str]) {
        match old.at(path) {
            Some(value) => self.set(path, value.clone()),
            None => drop(self.remove(path)),
        }
    }

    /// Keeps only some finalizers. The field goes with the last one.
    pub(crate) fn retain_finalizers(&mut self, keep: impl Fn(&str) -> bool) {
        let kept = self.finalizers().into_iter().filter(|name| keep(name));
        let kept: Vec<Value> = kept.map(Value::from).collect();
        if kept.is_empty() {
            self.remove(&["metadata", "finalizers"]);
        } else {
            self.set(&["metadata", "finalizers"], kept);
        }
    }

    /// `apiVersion`, or nothing.
    pub(crate) fn api_version(&self) -> &str {
        self.str_at(&["apiVersion"])
    }

    /// `kind`, or nothing.
    pub(crate) fn kind(&self) -> &str {
        self.str_at(&["kind"])
    }

    /// Sets `apiVersion` and `kind`.
    pub(crate) fn set_type(&mut self, api_version: &str, kind: &str) {
        self.0.insert("apiVersion".into(), api_version.into());
        self.0.insert("kind".into(), kind.into());
    }

    /// `metadata.name`, or nothing.
    pub(crate) fn name(&self) -> &str {
        self.str_at(&["metadata", "name"])
    }

    /// `metadata.namespace`, or nothing.
    pub(crate) fn namespace(&self) -> &str {
        self.str_at(&["metadata", "namespace"])
    }

    /// `metadata.uid`, or nothing.
    pub(crate) fn uid(&self) -> &str {
        self.str_at(&["metadata", "uid"])
    }

    /// `metadata.resourceVersion`, or nothing.
    pub(crate) fn resource_version(&self) -> &str {
        self.str_at(&["metadata", "resourceVersion"])
    }

    /// `metadata.generation`, or 0.
    pub(crate) fn generation(&self) -> i64 {
        self.at(&["metadata", "generation"])
            .and_then(Value::as_i64)
            .unwrap_or_default()
    }

    /// `metadata.labels`, without values that are not strings.
    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        let labels = self
            .at(&["metadata", "labels"])
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        labels
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect()
    }

    /// `metadata.finalizers`, without items that are not strings.
    pub(crate) fn finalizers(&self) -> Vec<&str> {
        self.texts(&["metadata", "finalizers"])
    }

    /// Returns true if `metadata.deletionTimestamp` is set.
    pub(crate) fn is_deleting(&self) -> bool {
        self.at(&["metadata", "deletionTimestamp"])
            .is_some_and(|value| !value.is_null())
    }
}

impl TryFrom<Value> for Object {
    type Error = NotAnObject;

    fn try_from(value: Value) -> Result<Self, NotAnObject> {
        let Value::Object(mut fields) = value else {
            return Err(NotAnObject::Value);
        };
        match fields.get("metadata") {
            None | Some(Value::Object(_)) => {}
            Some(Value::Null) => {
                fields.remove("metadata");
            }
            Some(_) => return Err(NotAnObject::Metadata),
        }
        Ok(Self(fields))
    }
}

/// The string in a field; empty if it is absent.
pub(crate) fn text_at<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The items of the list in a field; empty if it is absent.
pub(crate) fn items_at<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    let list = value.get(field).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// The strings of the list in a field.
pub(crate) fn texts_at<'a>(value: &'a Value, field: &str) -> Vec<&'a str> {
    let items = items_at(value, field).iter();
    items.filter_map(Value::as_str).collect()
}

/// A moment as Kubernetes' `Time` is written: whole seconds, UTC.
pub(crate) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
