//! The types of the answers in TypeScript, from their JSON schemas.

use std::fmt::Write;

use schemars::SchemaGenerator;
use serde_json::{Map, Value};

use super::{
    ActionAnswer, ActionRequest, ClusterAnswer, Delta, ErrorAnswer, EventsAnswer, FleetAnswer,
    HealthAnswer, HubAnswer, LabelRequest, MoveRequest, PlacementAnswer, PlacementRequest,
    PlacementsAnswer, ReplicaSetAnswer, RequestsAnswer, RightsAnswer, SessionAnswer, SetsAnswer,
    SignInAnswer, SignInRequest, TimelineAnswer, WhatIfAnswer, Window, WorkAnswer, WorksAnswer,
    YamlAnswer,
};

const HEADER: &str = "// Generated. To change it, change console/src/answers and run: BERTH_GENERATE=1 cargo test --test files generated\n";

/// The page's types of all answers and requests.
pub fn typescript() -> String {
    let mut schemas = SchemaGenerator::default();
    schemas.subschema_for::<ActionAnswer>();
    schemas.subschema_for::<ActionRequest>();
    schemas.subschema_for::<ClusterAnswer>();
    schemas.subschema_for::<SignInAnswer>();
    schemas.subschema_for::<SignInRequest>();
    schemas.subschema_for::<Delta>();
    schemas.subschema_for::<ErrorAnswer>();
    schemas.subschema_for::<EventsAnswer>();
    schemas.subschema_for::<FleetAnswer>();
    schemas.subschema_for::<HealthAnswer>();
    schemas.subschema_for::<HubAnswer>();
    schemas.subschema_for::<PlacementAnswer>();
    schemas.subschema_for::<PlacementRequest>();
    schemas.subschema_for::<PlacementsAnswer>();
    schemas.subschema_for::<ReplicaSetAnswer>();
    schemas.subschema_for::<RequestsAnswer>();
    schemas.subschema_for::<RightsAnswer>();
    schemas.subschema_for::<SessionAnswer>();
    schemas.subschema_for::<LabelRequest>();
    schemas.subschema_for::<MoveRequest>();
    schemas.subschema_for::<SetsAnswer>();
    schemas.subschema_for::<WhatIfAnswer>();
    schemas.subschema_for::<TimelineAnswer>();
    schemas.subschema_for::<Window>();
    schemas.subschema_for::<WorkAnswer>();
    schemas.subschema_for::<WorksAnswer>();
    schemas.subschema_for::<YamlAnswer>();
    let mut text = HEADER.to_owned();
    for (name, schema) in schemas.definitions() {
        text.push('\n');
        comment(&mut text, "", schema);
        match schema.get("properties").and_then(Value::as_object) {
            Some(fields) => interface(&mut text, name, schema, fields),
            None => {
                let _ = writeln!(text, "export type {name} = {};", type_of(schema));
            }
        }
    }
    text
}

fn interface(text: &mut String, name: &str, schema: &Value, fields: &Map<String, Value>) {
    let _ = writeln!(text, "export interface {name} {{");
    let required = schema["required"].as_array();
    for (field, schema) in fields {
        comment(text, "  ", schema);
        let is_required = required.is_some_and(|all| all.iter().any(|it| it == field));
        let mark = if is_required { "" } else { "?" };
        let _ = writeln!(text, "  {field}{mark}: {};", type_of(schema));
    }
    text.push_str("}\n");
}

fn comment(text: &mut String, indent: &str, schema: &Value) {
    if let Some(words) = schema["description"].as_str() {
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "{indent}/** {words} */");
    }
}

/// The type of a schema. Fields that may be left out are marked by the caller, so that null is no part of a type.
fn type_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        return name.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if let Some(word) = schema.get("const") {
        return word.to_string();
    }
    for words in [&schema["enum"], &schema["oneOf"], &schema["anyOf"]] {
        if let Some(words) = words.as_array() {
            let types = words.iter().map(|it| match it {
                Value::String(_) => it.to_string(),
                _ => type_of(it),
            });
            return types
                .filter(|it| it != "null")
                .collect::<Vec<_>>()
                .join(" | ");
        }
    }
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect::<Vec<_>>(),
    };
    match kinds.iter().find(|it| **it != "null").copied() {
        Some("string") => "string".to_owned(),
        Some("boolean") => "boolean".to_owned(),
        Some("integer" | "number") => "number".to_owned(),
        Some("array") => format!("{}[]", type_of(&schema["items"])),
        Some("null") | None => "null".to_owned(),
        Some(_) => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_its_fields_and_no_type_is_unknown() {
        let text = typescript();
        for line in [
            "export interface ClusterAnswer {",
            "  groups: string[];",
            "  user?: string;",
            "  handshake: Handshake;",
            "  lease?: LeaseAnswer;",
            "  dryRun: boolean;",
            "  total: number;",
            "  rows: ClusterRow[];",
            "  type: string;",
        ] {
            assert!(text.contains(&format!("\n{line}\n")), "{line}\n{text}");
        }
        assert!(text.contains(r#""pending" | "denied""#), "{text}");
        assert!(
            !text.contains(": unknown") && !text.contains(": null"),
            "{text}"
        );
    }
}
