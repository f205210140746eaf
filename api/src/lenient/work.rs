//! Reads ManifestWorks. Their manifests stay text.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{At, Fields, Read, Unreadable, conditions, metadata_of};
use crate::wire::null_as_default;
use crate::work::{ManifestCondition, ManifestResourceStatus, ManifestWork, ManifestWorkStatus};

/// The parts of a ManifestWork.
#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(default, deserialize_with = "null_as_default")]
    metadata: Map<String, Value>,
    /// A text, so that manifests are not made trees of values.
    #[serde(borrow)]
    spec: Option<&'a RawValue>,
    #[serde(default)]
    status: Value,
}

/// Reads a ManifestWork from its JSON text: metadata and status field by field, spec by its type.
///
/// # Errors
/// The spec does not match its type, or the text is not a JSON object.
pub fn manifest_work(text: &str) -> Result<Read<ManifestWork>, serde_json::Error> {
    if let Ok(object) = serde_json::from_str(text) {
        return Ok(Read {
            object,
            unreadable: Unreadable::default(),
        });
    }
    let parts: Parts<'_> = serde_json::from_str(text)?;
    let mut unreadable = Unreadable::default();
    let u = &mut unreadable;
    let spec = parts
        .spec
        .map(|spec| serde_json::from_str::<Option<_>>(spec.get()))
        .transpose()?;
    let metadata = Fields {
        of: &parts.metadata,
        at: At::Field(&At::Root, "metadata"),
    };
    let mut object = ManifestWork {
        metadata: metadata_of(metadata, u),
        spec: spec.flatten().unwrap_or_default(),
        status: None,
    };
    let at = At::Field(&At::Root, "status");
    match &parts.status {
        Value::Null => {}
        Value::Object(of) => object.status = Some(status_of(Fields { of, at }, u)),
        _ => u.add(&at),
    }
    Ok(Read { object, unreadable })
}

fn status_of(fields: Fields<'_, '_>, u: &mut Unreadable) -> ManifestWorkStatus {
    ManifestWorkStatus {
        conditions: conditions(fields, u),
        resource_status: fields
            .object("resourceStatus", u)
            .map(|fields| ManifestResourceStatus {
                manifests: fields.each("manifests", u, manifest).unwrap_or_default(),
            })
            .unwrap_or_default(),
    }
}

fn manifest(fields: Fields<'_, '_>, u: &mut Unreadable) -> Option<ManifestCondition> {
    Some(ManifestCondition {
        conditions: conditions(fields, u),
        resource_meta: fields.needed("resourceMeta", u)?,
        status_feedback: fields.read("statusFeedback", u).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::tests::{STRANGE_TIMES, any_json, condition_at};
    use super::*;
    use crate::conditions::NO_TIME;

    fn sound() -> Value {
        let time = json!("2026-01-02T03:04:05Z");
        json!({
            "apiVersion": "work.open-cluster-management.io/v1",
            "kind": "ManifestWork",
            "metadata": {"name": "w", "namespace": "c1", "uid": "u", "resourceVersion": "7", "generation": 3, "finalizers": ["f/g"]},
            "spec": {"workload": {"manifests": [{"apiVersion": "v1", "kind": "ConfigMap", "data": {"n": 1e3}}, 7]}},
            "status": {
                "conditions": [condition_at("Applied", time.clone())],
                "resourceStatus": {"manifests": [{
                    "resourceMeta": {"ordinal": 0, "kind": "ConfigMap", "resource": "configmaps", "version": "v1", "name": "a"},
                    "conditions": [condition_at("Applied", time.clone()), condition_at("Available", time)],
                    "statusFeedback": {"values": [{"name": "n", "fieldValue": {"type": "Integer", "integer": 3}}]},
                }]},
            },
        })
    }

    fn read(object: &Value) -> Read<ManifestWork> {
        manifest_work(&object.to_string()).unwrap()
    }

    #[test]
    fn an_invalid_time_in_a_condition_hides_nothing_else() {
        let strict: ManifestWork = serde_json::from_value(sound()).unwrap();
        for time in STRANGE_TIMES {
            for path in [
                "/status/conditions/0",
                "/status/resourceStatus/manifests/0/conditions/1",
            ] {
                let mut object = sound();
                let condition = object.pointer_mut(path).unwrap();
                condition["lastTransitionTime"] = json!(time);
                let read = read(&object);
                let name = format!(
                    "{}.lastTransitionTime",
                    path[1..]
                        .replace("/0", "[0]")
                        .replace("/1", "[1]")
                        .replace('/', ".")
                );
                assert_eq!(read.unreadable.to_string(), name, "{time}");
                let status = read.object.status.unwrap();
                let mut wanted = strict.status.clone().unwrap();
                if path.contains("resourceStatus") {
                    wanted.resource_status.manifests[0].conditions[1]
                        .last_transition_time
                        .0 = NO_TIME;
                } else {
                    wanted.conditions[0].last_transition_time.0 = NO_TIME;
                }
                assert_eq!(status, wanted);
                assert_eq!(read.object.spec, strict.spec);
                assert_eq!(read.object.metadata, strict.metadata);
            }
        }
    }

    #[test]
    fn manifests_keep_their_text_beside_an_unreadable_status() {
        let text = r#"{"metadata": {"name": "w"}, "spec": {"workload": {"manifests": [{"n": 1e3}]}}, "status": {"conditions": 7}}"#;
        let read = manifest_work(text).unwrap();
        assert_eq!(read.unreadable.to_string(), "status.conditions");
        assert_eq!(
            read.object.spec.workload.manifests[0].text(),
            r#"{"n": 1e3}"#
        );
    }

    #[test]
    fn an_unreadable_spec_is_an_error() {
        let text = r#"{"metadata": {"name": "w"}, "spec": {"workload": 7}}"#;
        let error = manifest_work(text).unwrap_err();
        assert!(
            error.to_string().contains("invalid type: integer `7`"),
            "{error}"
        );
    }

    proptest! {
        /// Whatever the status holds, the spec is read, and what is read can be read again.
        #[test]
        fn any_status_leaves_the_spec_readable(status in any_json()) {
            let mut object = sound();
            object["status"] = status;
            let once = read(&object).object;
            let strict: ManifestWork = serde_json::from_value(sound()).unwrap();
            prop_assert_eq!(&once.spec, &strict.spec);
            let again = read(&serde_json::to_value(&once).unwrap());
            prop_assert!(again.unreadable.is_empty());
            prop_assert_eq!(again.object, once);
        }
    }
}
