//! The types: one component for each that has a name.

use std::collections::BTreeSet;

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde_json::{Map, Value, json};

use super::Dialect;
use crate::resources::Resource;
use crate::resources::schema::{OBJECT_META, Schema, object_meta, type_meta};

const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";

/// What version 2 cannot say.
const ONLY_V3: [&str; 6] = ["anyOf", "allOf", "oneOf", "not", "nullable", "default"];

/// The components of a document.
pub(super) struct Components {
    dialect: Dialect,
    made: Map<String, Value>,
    /// Named types that are referred to.
    pending: Vec<Schema>,
    seen: BTreeSet<String>,
}

/// Where a component is.
pub(super) fn address(dialect: Dialect, name: &str) -> String {
    match dialect {
        Dialect::V2 => format!("#/definitions/{name}"),
        Dialect::V3 => format!("#/components/schemas/{name}"),
    }
}

/// What a resource's kind is called: in Go's packages for Kubernetes' own, by the group turned round for custom ones.
pub(super) fn name(resource: &Resource) -> String {
    if !resource.schema.name.is_empty() {
        return resource.schema.name.clone();
    }
    let mut parts: Vec<&str> = resource.group.split('.').collect();
    parts.reverse();
    format!("{}.{}.{}", parts.join("."), resource.version, resource.kind)
}

impl Components {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            made: Map::new(),
            pending: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    /// Adds a resource's kind, and the kind of its lists.
    pub(super) fn add(&mut self, resource: &Resource) {
        let name = name(resource);
        self.seen.insert(name.clone());
        let mut json = self.publish(&resource.schema);
        let kind = |kind: &str| json!([{"group": resource.group, "kind": kind, "version": resource.version}]);
        json["x-kubernetes-group-version-kind"] = kind(&resource.kind);
        self.made.insert(name.clone(), json);
        if resource.has_objects() {
            let list = format!(
                "{}List",
                name.strip_suffix(&resource.kind).map_or_else(
                    || name.clone(),
                    |package| format!("{package}{}", resource.kind),
                )
            );
            let mut json = self.list(resource, &name);
            json["x-kubernetes-group-version-kind"] = kind(&resource.list_kind);
            self.made.insert(list, json);
        }
        if resource.subresource("token").is_some() {
            self.pending.push(Schema::of::<TokenRequest>());
        }
    }

    fn list(&mut self, resource: &Resource, of: &str) -> Value {
        let mut fields: Map<String, Value> = type_meta()
            .map(|(name, field)| (name.to_owned(), field.publish()))
            .collect();
        let item = json!({"$ref": address(self.dialect, of)});
        let about = format!("List of {}.", resource.name);
        fields.insert(
            "items".to_owned(),
            json!({"description": about, "type": "array", "items": item}),
        );
        let mut metadata = Schema::of::<ListMeta>();
        LIST_META.clone_into(&mut metadata.name);
        let meta = match self.dialect {
            Dialect::V2 => json!({"$ref": address(self.dialect, LIST_META)}),
            Dialect::V3 => json!({
                "description": "Standard list metadata.",
                "default": {},
                "allOf": [{"$ref": address(self.dialect, LIST_META)}],
            }),
        };
        fields.insert("metadata".to_owned(), meta);
        if self.seen.insert(LIST_META.to_owned()) {
            self.pending.push(metadata);
        }
        json!({
            "description": format!("{} is a list of {}", resource.list_kind, resource.kind),
            "type": "object",
            "required": ["items"],
            "properties": fields,
        })
    }

    fn publish(&mut self, schema: &Schema) -> Value {
        let Self {
            dialect,
            pending,
            seen,
            ..
        } = self;
        let mut json = schema.publish_with(&mut |child| {
            if child.name.is_empty() {
                return None;
            }
            if seen.insert(child.name.clone()) {
                // A custom kind's may be narrower than the type.
                let is_metadata = child.name == OBJECT_META;
                pending.push(if is_metadata {
                    object_meta().as_ref().clone()
                } else {
                    child.clone()
                });
            }
            Some(address(*dialect, &child.name))
        });
        if *dialect == Dialect::V2 {
            in_v2(&mut json);
        }
        json
    }

    /// All components, with everything they refer to.
    pub(super) fn finish(mut self) -> Value {
        while let Some(mut schema) = self.pending.pop() {
            if !schema.type_description.is_empty() {
                schema.description = std::mem::take(&mut schema.type_description);
            }
            let name = std::mem::take(&mut schema.name);
            let mut json = self.publish(&schema);
            let one_of = match (name.as_str(), self.dialect) {
                (INT_OR_STRING, Dialect::V3) => {
                    Some(json!([{"type": "integer"}, {"type": "string"}]))
                }
                (QUANTITY, Dialect::V3) => Some(json!([{"type": "string"}, {"type": "number"}])),
                (INT_OR_STRING | QUANTITY, Dialect::V2) => {
                    json["type"] = "string".into();
                    None
                }
                _ => None,
            };
            if let Some(one_of) = one_of {
                json["oneOf"] = one_of;
            }
            if let Some(fields) = json
                .as_object_mut()
                .filter(|_| [INT_OR_STRING, QUANTITY].contains(&name.as_str()))
            {
                fields.remove("x-kubernetes-int-or-string");
                if name == INT_OR_STRING {
                    fields.insert("format".to_owned(), "int-or-string".into());
                }
            }
            self.made.insert(name, json);
        }
        Value::Object(self.made)
    }
}

/// Turns a schema of version 3 into one of version 2: references stand beside descriptions, and what it has no words for goes.
fn in_v2(json: &mut Value) {
    let Value::Object(fields) = json else {
        return;
    };
    let reference = fields
        .get("allOf")
        .and_then(|all| all.get(0))
        .and_then(|first| first.get("$ref"))
        .cloned();
    // What may be null or have any field would be refused by clients that check it.
    let is = |name: &str| fields.get(name) == Some(&Value::Bool(true));
    if is("nullable") || is("x-kubernetes-preserve-unknown-fields") {
        for name in [
            "type",
            "format",
            "items",
            "properties",
            "additionalProperties",
        ] {
            fields.remove(name);
        }
    }
    for name in ONLY_V3 {
        fields.remove(name);
    }
    if let Some(reference) = reference {
        fields.insert("$ref".to_owned(), reference);
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(in_v2);
    }
    for name in ["items", "additionalProperties"] {
        if let Some(below) = fields.get_mut(name) {
            in_v2(below);
        }
    }
}
