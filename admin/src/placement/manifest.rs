//! Placements in files, checked against the schema of their CRD, so that a misspelt field is an error and not ignored.

use anyhow::{Context, ensure};
use berth_api::{Placement, groups, names};
use berth_manifests::files;
use berth_review::drop_nulls;
use serde::Deserialize;
use serde_json::Value;

use crate::files::FilesArgs;

/// Reads the Placements of files, each with its position. `-` is standard input.
///
/// # Errors
/// The message names each mistake, with the file, the document and the field.
pub(super) async fn placements(
    files: &FilesArgs,
    namespace: &str,
) -> anyhow::Result<Vec<(String, Placement)>> {
    let mut placements = Vec::new();
    let mut faults = Vec::new();
    for (at, mut object) in files.objects().await? {
        drop_nulls(&mut object);
        match placement(object, namespace) {
            Ok(placement) => placements.push((at.to_string(), placement)),
            Err(found) => faults.extend(found.iter().map(|fault| format!("{at}: {fault}"))),
        }
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    ensure!(!placements.is_empty(), "-f: the files contain no objects");
    Ok(placements)
}

/// Returns the only document of a YAML or JSON text.
pub(crate) fn document(text: &str) -> Result<Value, Vec<String>> {
    let documents = berth_review::documents(text).map_err(|error| vec![error.to_string()])?;
    let number = documents.len();
    let mut documents = documents.into_iter();
    match (documents.next(), number) {
        (Some(mut only), 1) => {
            drop_nulls(&mut only);
            Ok(only)
        }
        _ => Err(vec![format!(
            "expected one Placement, found {number} documents"
        )]),
    }
}

/// Returns the Placement, or all its mistakes.
pub(crate) fn placement(mut object: Value, namespace: &str) -> Result<Placement, Vec<String>> {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let wanted = format!("{}/v1beta1", groups::CLUSTER);
    if (api_version.as_str(), kind.as_str()) != (&wanted, "Placement") {
        return Err(vec![format!(
            "expected a Placement of {wanted}, found kind {kind:?} of apiVersion {api_version:?}"
        )]);
    }
    let mut faults = Vec::new();
    if let Some(fields) = object.as_object() {
        let known = ["apiVersion", "kind", "metadata", "spec", "status"];
        let unknown = fields.keys().filter(|it| !known.contains(&it.as_str()));
        faults.extend(
            unknown.map(|it| format!("{it}: unknown field; known are {}", known.join(", "))),
        );
    }
    match object["metadata"]["name"].as_str().unwrap_or_default() {
        "" => faults.push("metadata.name: a Placement needs one".to_owned()),
        name => {
            let wrong = names::dns1123_subdomain(name).into_iter();
            faults.extend(wrong.map(|why| format!("metadata.name: {name:?}: {why}")));
        }
    }
    if let Some(spec) = object.get("spec") {
        let schema = schema().map_err(|error| vec![format!("the CRD of Placements: {error}")])?;
        check(spec, &schema["properties"]["spec"], "spec", &mut faults);
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let metadata = &mut object["metadata"];
    match metadata["namespace"].as_str() {
        None | Some("") => metadata["namespace"] = namespace.into(),
        Some(_) => {}
    }
    // What is selected does not depend on the status in a file.
    let status = object.as_object_mut().and_then(|it| it.remove("status"));
    drop(status);
    Placement::deserialize(&object).map_err(|error| vec![error.to_string()])
}

fn schema() -> anyhow::Result<Value> {
    let crd = files::CRD_PLACEMENTS.documents().into_iter().next();
    let mut crd = crd.context("no document")?;
    Ok(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].take())
}

/// Checks a value against a structural schema: its type, unknown and missing fields, enums and bounds.
fn check(value: &Value, schema: &Value, path: &str, faults: &mut Vec<String>) {
    let mut fault = |message: String| faults.push(format!("{path}: {message}"));
    if schema["x-kubernetes-int-or-string"] == true {
        if !(value.is_string() || value.is_i64()) {
            let found = kind_of(value);
            fault(format!("expected an integer or a string, found {found}"));
        }
        return;
    }
    let wanted = schema["type"].as_str().unwrap_or_default();
    let is_of_type = match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        _ => true,
    };
    if !is_of_type {
        return fault(format!("expected {wanted}, found {}", kind_of(value)));
    }
    if let Some(allowed) = schema["enum"].as_array().filter(|it| !it.contains(value)) {
        let allowed: Vec<_> = allowed.iter().map(Value::to_string).collect();
        let allowed = allowed.join(", ");
        fault(format!("{value} is not supported; supported are {allowed}"));
    }
    // The CRD has bounds as numbers with a fraction.
    let bound = |field: &str| schema[field].as_f64().zip(value.as_f64());
    if let Some((least, _)) = bound("minimum").filter(|(least, number)| number < least) {
        fault(format!("{value} is less than {least}"));
    }
    if let Some((most, _)) = bound("maximum").filter(|(most, number)| number > most) {
        fault(format!("{value} is greater than {most}"));
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        check(item, &schema["items"], &format!("{path}[{index}]"), faults);
    }
    let Some(fields) = value.as_object() else {
        return;
    };
    let required = schema["required"].as_array().into_iter().flatten();
    for field in required.filter_map(Value::as_str) {
        // The API server fills in defaults first.
        if !fields.contains_key(field) && schema["properties"][field]["default"].is_null() {
            faults.push(format!("{path}.{field}: required"));
        }
    }
    let properties = schema["properties"].as_object();
    for (name, field) in fields {
        let path = format!("{path}.{name}");
        match (
            properties.and_then(|it| it.get(name)),
            &schema["additionalProperties"],
        ) {
            (Some(schema), _) => check(field, schema, &path, faults),
            (None, Value::Null) => {
                let known = properties.into_iter().flat_map(|it| it.keys());
                let nearest = crate::failure::or_nearest(name, known.map(String::as_str));
                faults.push(format!("{path}: unknown field{nearest}"));
            }
            (None, schema) => check(field, schema, &path, faults),
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(spec: Value) -> Result<Placement, String> {
        let object = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "Placement",
            "metadata": {"name": "app"},
            "spec": spec,
        });
        placement(object, "team-a").map_err(|faults| faults.join("\n"))
    }

    #[test]
    fn a_mistake_is_named_with_its_field() {
        for (spec, expected) in [
            (
                json!({"predicate": []}),
                "spec.predicate: unknown field; did you mean \"predicates\"?",
            ),
            (
                json!({"numberOfClusters": "2"}),
                "spec.numberOfClusters: expected integer, found a string",
            ),
            (
                json!({"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabel": {}}}}]}),
                "spec.predicates[0].requiredClusterSelector.labelSelector.matchLabel: unknown field; did you mean \"matchLabels\"?",
            ),
            (
                json!({"prioritizerPolicy": {"configurations": [{"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": 11}]}}),
                "spec.prioritizerPolicy.configurations[0].weight: 11 is greater than 10",
            ),
            (
                json!({"tolerations": [{"effect": "Never"}]}),
                "spec.tolerations[0].effect: \"Never\" is not supported; supported are \"NoSelect\", \"PreferNoSelect\", \"NoSelectIfNew\"",
            ),
            (json!([]), "spec: expected object, found a list"),
            (
                json!({"predicate": [], "tolerations": [{"effect": "Never"}, {"key": 1}]}),
                "spec.predicate: unknown field; did you mean \"predicates\"?\n\
                 spec.tolerations[0].effect: \"Never\" is not supported; supported are \"NoSelect\", \"PreferNoSelect\", \"NoSelectIfNew\"\n\
                 spec.tolerations[1].key: expected string, found a number",
            ),
        ] {
            assert_eq!(read(spec.clone()).unwrap_err(), expected, "{spec}");
        }
    }

    #[test]
    fn a_text_has_one_document() {
        assert_eq!(document("---\na: 1\nb: null\n"), Ok(json!({"a": 1})));
        for (text, expected) in [
            ("", "expected one Placement, found 0 documents"),
            (
                "a: 1\n---\nb: 1",
                "expected one Placement, found 2 documents",
            ),
            ("a: [", "not YAML: "),
        ] {
            let faults = document(text).unwrap_err();
            assert!(faults[0].starts_with(expected), "{text:?}: {faults:?}");
        }
    }

    #[test]
    fn a_placement_gets_the_namespace_of_the_flags_and_loses_its_status() {
        let spec = json!({
            "numberOfClusters": 2,
            "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"a": "b"}}}}],
            "decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 1}},
        });
        let placement = read(spec).unwrap();
        assert_eq!(placement.metadata.namespace.as_deref(), Some("team-a"));
        assert_eq!(placement.spec.number_of_clusters, Some(2));
    }
}
