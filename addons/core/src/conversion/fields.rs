//! A JSON object whose fields are moved and changed, while all others stay as they are, undecoded.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A JSON object: the names of its fields, and the JSON of each. A field that is `null` counts as absent, as in Go.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(BTreeMap<Cow<'a, str>, Cow<'a, str>>);

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The path of the field, such as `status.registrations[2]`.
    path: String,
    what: String,
}

/// The name of a field.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

// === impl Fields ===

impl<'a> Fields<'a> {
    /// Reads an object.
    pub(super) fn parse(json: &'a str) -> Result<Self, Problem> {
        serde_json::from_str(json).map_err(|_| Problem::expected("an object", json))
    }

    /// The JSON of a field.
    fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(|json| &**json)
            .filter(|json| *json != "null")
    }

    /// Takes a field away, and returns its JSON.
    pub(super) fn take(&mut self, name: &str) -> Option<Cow<'a, str>> {
        self.0.remove(name).filter(|json| json != "null")
    }

    /// Sets a field to a value in JSON.
    pub(super) fn set(&mut self, name: &'static str, json: impl Into<Cow<'a, str>>) {
        self.0.insert(name.into(), json.into());
    }

    /// Sets a field to a text.
    pub(super) fn set_text(&mut self, name: &'static str, text: &str) {
        self.set(name, serde_json::Value::from(text).to_string());
    }

    /// Renames a field. What had the new name goes, even if the field is absent.
    pub(super) fn rename(&mut self, from: &str, to: &'static str) {
        self.0.remove(to);
        if let Some(json) = self.0.remove(from) {
            self.0.insert(to.into(), json);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text of a field; `None` if it is absent.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Problem> {
        let text = self.get(name).map(|json| {
            serde_json::from_str(json).map_err(|_| Problem::expected("a string", json).under(name))
        });
        text.transpose()
    }

    /// Takes the text of a field away. `None`: it is absent or empty.
    pub(super) fn take_text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        let text = self.text(name)?;
        self.0.remove(name);
        Ok(text.filter(|text| !text.is_empty()))
    }

    /// The object of a field; `None` if it is absent.
    pub(super) fn object(&self, name: &str) -> Result<Option<Fields<'_>>, Problem> {
        let object = self.get(name).map(Fields::parse).transpose();
        object.map_err(|problem| problem.under(name))
    }

    /// Changes the object of a field, if it is there.
    pub(super) fn edit(
        &mut self,
        name: &'static str,
        edit: impl FnOnce(&mut Fields<'_>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let Some(mut object) = self.object(name)? else {
            return Ok(());
        };
        edit(&mut object).map_err(|problem| problem.under(name))?;
        let json = object.to_json();
        self.set(name, json);
        Ok(())
    }

    /// Changes each object in the list of a field, if it is there.
    pub(super) fn edit_items(
        &mut self,
        name: &'static str,
        mut edit: impl FnMut(&mut Fields<'_>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let Some(json) = self.get(name) else {
            return Ok(());
        };
        let items: Vec<&RawValue> = serde_json::from_str(json)
            .map_err(|_| Problem::expected("a list", json).under(name))?;
        let mut edited = String::with_capacity(json.len());
        edited.push('[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                edited.push(',');
            }
            let at = |problem: Problem| problem.at(index).under(name);
            let mut item = Fields::parse(item.get()).map_err(at)?;
            edit(&mut item).map_err(at)?;
            item.write(&mut edited);
        }
        edited.push(']');
        self.set(name, edited);
        Ok(())
    }

    pub(super) fn to_json(&self) -> String {
        let mut json = String::new();
        self.write(&mut json);
        json
    }

    fn write(&self, json: &mut String) {
        json.push('{');
        for (index, (name, value)) in self.0.iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str(&serde_json::Value::from(&**name).to_string());
            json.push(':');
            json.push_str(value);
        }
        json.push('}');
    }
}

impl<'a, 'de: 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Fields::default();
                while let Some((Name(name), json)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
                    fields.0.insert(name, json.get().into());
                }
                Ok(fields)
            }
        }

        deserializer.deserialize_map(Object)
    }
}

// === impl Problem ===

impl Problem {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self {
            path: String::new(),
            what: what.into(),
        }
    }

    /// The JSON is of another type.
    fn expected(expected: &str, json: &str) -> Self {
        let found = match json.bytes().next() {
            Some(b'{') => "an object",
            Some(b'[') => "a list",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        };
        Self::new(format!("expected {expected}, found {found}"))
    }

    /// The problem is in a field with this name.
    pub(super) fn under(mut self, name: &str) -> Self {
        if !self.path.is_empty() && !self.path.starts_with('[') {
            self.path.insert(0, '.');
        }
        self.path.insert_str(0, name);
        self
    }

    /// The problem is in this item of a list.
    fn at(mut self, index: usize) -> Self {
        if !self.path.is_empty() {
            self.path.insert(0, '.');
        }
        self.path.insert_str(0, &format!("[{index}]"));
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.what)
    }
}
