//! The template of a replica set: the spec of its ManifestWorks, as text.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use berth_api::conditions::manifest_work::PROGRESSING;
use berth_api::work::ManifestWorkSpec;
use md5::{Digest as _, Md5};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Identifies a spec: equal specs have equal digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest([u8; 16]);

/// The spec of the ManifestWorks of a replica set. Copies share the text.
#[derive(Clone, Debug)]
pub struct Template(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    fields: Fields,
    digest: Digest,
    expects_progressing: bool,
    size: usize,
}

/// The fields of a JSON object, as text.
type Fields = BTreeMap<String, Box<RawValue>>;

/// A JSON merge patch that makes a stored spec equal to the template: fields that the template lacks are null.
struct Exactly<'a>(&'a Fields);

/// The fields of a spec.
const SPEC: [&str; 4] = ["deleteOption", "executor", "manifestConfigs", "workload"];

/// Objects within the spec, with their fields. Lists are replaced as a whole.
const NESTED: [(&str, &[&str]); 6] = [
    (
        "deleteOption",
        &[
            "propagationPolicy",
            "selectivelyOrphans",
            "ttlSecondsAfterFinished",
        ],
    ),
    ("deleteOption.selectivelyOrphans", &["orphaningRules"]),
    ("executor", &["subject"]),
    ("executor.subject", &["serviceAccount", "type"]),
    ("executor.subject.serviceAccount", &["name", "namespace"]),
    ("workload", &["manifests"]),
];

// === impl Digest ===

impl Digest {
    /// The digest of a spec from its JSON text. The order of fields, and fields that are empty or unknown, do not count.
    pub(super) fn of_spec(text: Option<&RawValue>) -> Self {
        let Some(text) = text else {
            return Self::of(&ManifestWorkSpec::default());
        };
        match serde_json::from_str::<Option<ManifestWorkSpec>>(text.get()) {
            Ok(spec) => Self::of(&spec.unwrap_or_default()),
            // Unlike each template: it will be replaced.
            Err(_) => Self(Md5::digest(text.get()).into()),
        }
    }

    /// The first half, as hexadecimal digits: for annotations and messages.
    #[must_use]
    pub fn short(&self) -> String {
        self.0[..8].iter().map(|it| format!("{it:02x}")).collect()
    }

    fn of(spec: &ManifestWorkSpec) -> Self {
        struct Hashed(Md5);
        impl io::Write for Hashed {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.update(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut hashed = Hashed(Md5::new());
        // A spec is JSON, and the writer does not fail.
        let _ = serde_json::to_writer(&mut hashed, spec);
        Self(hashed.0.finalize().into())
    }
}

// === impl Template ===

impl Template {
    /// Reads a template from its JSON text.
    ///
    /// # Errors
    /// The text is not the spec of a ManifestWork.
    pub fn read(text: Option<&RawValue>) -> Result<Self, serde_json::Error> {
        let json = text.map_or("null", RawValue::get);
        let spec: Option<ManifestWorkSpec> = serde_json::from_str(json)?;
        let spec = spec.unwrap_or_default();
        let fields: Option<Fields> = serde_json::from_str(json)?;
        let mut rules = spec
            .manifest_configs
            .iter()
            .flat_map(|it| &it.condition_rules);
        let expects_progressing = rules.any(|rule| rule.condition == PROGRESSING);
        Ok(Self(Arc::new(Inner {
            digest: Digest::of(&spec),
            expects_progressing,
            fields: fields.unwrap_or_default(),
            size: json.len(),
        })))
    }

    /// Identifies the spec.
    pub fn digest(&self) -> Digest {
        self.0.digest
    }

    /// The number of bytes of the text.
    pub fn size(&self) -> usize {
        self.0.size
    }

    /// Returns whether a condition rule of the template sets the condition Progressing: then a ManifestWork without it is not done.
    pub fn expects_progressing(&self) -> bool {
        self.0.expects_progressing
    }

    /// The spec, as it is written.
    pub(super) fn spec(&self) -> impl Serialize {
        &self.0.fields
    }

    /// The merge patch of a stored spec.
    pub(super) fn patch(&self) -> impl Serialize {
        Exactly(&self.0.fields)
    }
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.0.digest == other.0.digest
    }
}

// === impl Exactly ===

impl Serialize for Exactly<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let absent = SPEC.iter().filter(|name| !self.0.contains_key(**name));
        for name in absent {
            map.serialize_entry(name, &Value::Null)?;
        }
        for (name, text) in self.0 {
            match nested(name, text) {
                Some(Nested::Manifests(fields)) => map.serialize_entry(name, &fields)?,
                Some(Nested::Small(value)) => map.serialize_entry(name, &value)?,
                None => map.serialize_entry(name, text)?,
            }
        }
        map.end()
    }
}

/// An object within the spec, with null for each field that is absent.
enum Nested {
    /// The workload, with the text of its manifests.
    Manifests(Fields),
    /// Any other.
    Small(Value),
}

fn nested(name: &str, text: &RawValue) -> Option<Nested> {
    if name == "workload" {
        let mut fields: Fields =
            Option::deserialize(&mut serde_json::Deserializer::from_str(text.get())).ok()??;
        for field in fields_of(name) {
            if !fields.contains_key(*field) {
                fields.insert(
                    (*field).to_owned(),
                    serde_json::value::to_raw_value(&Value::Null).ok()?,
                );
            }
        }
        return Some(Nested::Manifests(fields));
    }
    if fields_of(name).is_empty() {
        return None;
    }
    let mut value: Value = serde_json::from_str(text.get()).ok()?;
    fill(name, &mut value);
    Some(Nested::Small(value))
}

/// Adds null for each field that is absent, at each level.
fn fill(path: &str, value: &mut Value) {
    let Value::Object(fields) = value else {
        return;
    };
    for field in fields_of(path) {
        let within = fields.entry(*field).or_insert(Value::Null);
        fill(&format!("{path}.{field}"), within);
    }
}

fn fields_of(path: &str) -> &'static [&'static str] {
    let mut all = NESTED.iter();
    all.find(|(name, _)| *name == path)
        .map_or(&[], |(_, fields)| *fields)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template(value: &Value) -> Template {
        let text = serde_json::value::to_raw_value(value).unwrap();
        Template::read(Some(&text)).unwrap()
    }

    #[test]
    fn a_patch_makes_any_stored_spec_equal_to_the_template() {
        let specs = [
            json!({}),
            json!({"workload": {"manifests": [{"a": 1}]}}),
            json!({"workload": {}, "deleteOption": {"propagationPolicy": "Orphan"}}),
            json!({"deleteOption": {"selectivelyOrphans": {"orphaningRules": [{"name": "a"}]}, "ttlSecondsAfterFinished": 3}}),
            json!({"executor": {"subject": {"type": "ServiceAccount", "serviceAccount": {"name": "a", "namespace": "b"}}}}),
            json!({"executor": {}, "manifestConfigs": [{"resourceIdentifier": {"name": "a", "resource": "b"}}], "unknown": {"x": [1]}}),
        ];
        for wanted in &specs {
            for stored in &specs {
                let mut merged = stored.clone();
                merged.as_object_mut().unwrap().remove("unknown");
                let patch = serde_json::to_value(template(wanted).patch()).unwrap();
                json_patch::merge(&mut merged, &patch);
                assert_eq!(merged, *wanted, "{stored} with {patch}");
            }
        }
    }

    #[test]
    fn what_an_api_server_may_leave_out_makes_no_difference() {
        let raw = |text: &str| serde_json::from_str::<Box<RawValue>>(text).unwrap();
        let digest = |text: &str| Digest::of_spec(Some(&raw(text)));
        let same = [
            r#"{"workload": {"manifests": [{"b":1}]}, "manifestConfigs": []}"#,
            r#"{"manifestConfigs": null, "executor": null, "workload": {"manifests": [{"b":1}]}}"#,
            r#"{"workload":{"manifests":[{"b":1}]}}"#,
        ];
        for text in same {
            assert_eq!(digest(text), digest(same[0]), "{text}");
        }
        for other in [
            r#"{"workload": {"manifests": [{"b":2}]}}"#,
            r#"{"workload": {"manifests": [{"b":1}]}, "executor": {}}"#,
            r#"{"workload": 7}"#,
            "null",
        ] {
            assert_ne!(digest(other), digest(same[0]), "{other}");
        }
        assert_eq!(digest("null"), Digest::of_spec(None));
        assert_eq!(digest("{}"), Digest::of_spec(None));
    }

    #[test]
    fn manifests_are_copied_as_text() {
        let text =
            r#"{"workload": {"manifests": [{"n":1e3,"big":123456789012345678901234567890}]}}"#;
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        let template = Template::read(Some(&raw)).unwrap();
        let manifests = r#"[{"n":1e3,"big":123456789012345678901234567890}]"#;
        for written in [
            serde_json::to_string(&template.spec()).unwrap(),
            serde_json::to_string(&template.patch()).unwrap(),
        ] {
            assert!(written.contains(manifests), "{written}");
        }
    }
}
