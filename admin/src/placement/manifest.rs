//! Placements in files, checked against the schema of their CRD, so that a misspelt field is an error and not ignored.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use berth_api::{Placement, groups, names};
use berth_manifests::files;
use berth_review::drop_nulls;
use serde::Deserialize;
use serde_json::Value;

use crate::files::objects;

/// Reads the Placements of files, each with its position. `-` is standard input.
///
/// # Errors
/// The message names the file, the document, the field and the mistake.
pub(super) fn placements(
    files: &[PathBuf],
    namespace: &str,
) -> anyhow::Result<Vec<(String, Placement)>> {
    let mut placements = Vec::new();
    for (at, mut object) in objects(files)? {
        drop_nulls(&mut object);
        let at = at.to_string();
        let placement = placement(object, namespace).with_context(|| at.clone())?;
        placements.push((at, placement));
    }
    ensure!(!placements.is_empty(), "-f: the files contain no objects");
    Ok(placements)
}

fn placement(mut object: Value, namespace: &str) -> anyhow::Result<Placement> {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let wanted = format!("{}/v1beta1", groups::CLUSTER);
    if (api_version.as_str(), kind.as_str()) != (&wanted, "Placement") {
        bail!(
            "expected a Placement of {wanted}, found kind {kind:?} of apiVersion {api_version:?}"
        );
    }
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    ensure!(!name.is_empty(), "metadata.name: a Placement needs one");
    if let Some(why) = names::dns1123_subdomain(name).first() {
        bail!("metadata.name: {name:?}: {why}");
    }
    let metadata = &mut object["metadata"];
    match metadata["namespace"].as_str() {
        None | Some("") => metadata["namespace"] = namespace.into(),
        Some(_) => {}
    }
    let schema = schema().context("the CRD of Placements")?;
    if let Some(spec) = object.get("spec") {
        check(spec, &schema["properties"]["spec"], "spec")?;
    }
    if let Some(fields) = object.as_object() {
        let known = ["apiVersion", "kind", "metadata", "spec", "status"];
        if let Some(unknown) = fields.keys().find(|it| !known.contains(&it.as_str())) {
            bail!("{unknown}: unknown field; known are {}", known.join(", "));
        }
    }
    // What is selected does not depend on the status in a file.
    let status = object.as_object_mut().and_then(|it| it.remove("status"));
    drop(status);
    Ok(Placement::deserialize(&object)?)
}

fn schema() -> anyhow::Result<Value> {
    let crd = files::CRD_PLACEMENTS.documents().into_iter().next();
    let mut crd = crd.context("no document")?;
    Ok(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].take())
}

/// Checks a value against a structural schema: its type, unknown and missing fields, enums and bounds.
fn check(value: &Value, schema: &Value, path: &str) -> anyhow::Result<()> {
    if schema["x-kubernetes-int-or-string"] == true {
        ensure!(
            value.is_string() || value.is_i64(),
            "{path}: expected an integer or a string, found {}",
            kind_of(value)
        );
        return Ok(());
    }
    let is_of_type = match schema["type"].as_str().unwrap_or_default() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        _ => true,
    };
    ensure!(
        is_of_type,
        "{path}: expected {}, found {}",
        schema["type"].as_str().unwrap_or_default(),
        kind_of(value)
    );
    if let Some(allowed) = schema["enum"].as_array().filter(|it| !it.contains(value)) {
        let allowed: Vec<_> = allowed.iter().map(Value::to_string).collect();
        bail!(
            "{path}: {value} is not supported; supported are {}",
            allowed.join(", ")
        );
    }
    // The CRD has bounds as numbers with a fraction.
    let bound = |field: &str| schema[field].as_f64().zip(value.as_f64());
    if let Some((least, _)) = bound("minimum").filter(|(least, number)| number < least) {
        bail!("{path}: {value} is less than {least}");
    }
    if let Some((most, _)) = bound("maximum").filter(|(most, number)| number > most) {
        bail!("{path}: {value} is greater than {most}");
    }
    if let Some(items) = value.as_array() {
        for (index, item) in items.iter().enumerate() {
            check(item, &schema["items"], &format!("{path}[{index}]"))?;
        }
    }
    let Some(fields) = value.as_object() else {
        return Ok(());
    };
    if let Some(required) = schema["required"].as_array() {
        let mut required = required.iter().filter_map(Value::as_str);
        // The API server fills in defaults first.
        let is_missing =
            |it: &&str| !fields.contains_key(*it) && schema["properties"][*it]["default"].is_null();
        if let Some(missing) = required.find(is_missing) {
            bail!("{path}.{missing}: required");
        }
    }
    let properties = schema["properties"].as_object();
    for (name, field) in fields {
        let path = format!("{path}.{name}");
        match (
            properties.and_then(|it| it.get(name)),
            &schema["additionalProperties"],
        ) {
            (Some(schema), _) => check(field, schema, &path)?,
            (None, Value::Null) => {
                let known = properties.into_iter().flat_map(|it| it.keys());
                let known = known.map(String::as_str);
                bail!(
                    "{path}: unknown field{}",
                    crate::failure::or_nearest(name, known)
                );
            }
            (None, schema) => check(field, schema, &path)?,
        }
    }
    Ok(())
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
        placement(object, "team-a").map_err(|error| error.to_string())
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
        ] {
            assert_eq!(read(spec.clone()).unwrap_err(), expected, "{spec}");
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
