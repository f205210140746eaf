//! The components of a document: one for each type that has a name.

use std::collections::BTreeSet;

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde_json::{Map, Value, json};

use crate::resources::Resource;
use crate::resources::schema::{OBJECT_META, Schema, object_meta, type_meta};

const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";

/// The components of a document.
pub(super) struct Components {
    made: Map<String, Value>,
    /// Named types that are referred to.
    pending: Vec<Schema>,
    seen: BTreeSet<String>,
}

/// Where a component is.
fn address(name: &str) -> String {
    format!("#/components/schemas/{name}")
}

/// What a resource's kind is called: in Go's packages for Kubernetes' own, by the group turned round for custom ones.
fn name(resource: &Resource) -> String {
    if !resource.schema.name.is_empty() {
        return resource.schema.name.clone();
    }
    let mut parts: Vec<&str> = resource.group.split('.').collect();
    parts.reverse();
    format!("{}.{}.{}", parts.join("."), resource.version, resource.kind)
}

impl Components {
    pub(super) fn new() -> Self {
        Self {
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
        let item = json!({"$ref": address(of)});
        let about = format!("List of {}.", resource.name);
        fields.insert(
            "items".to_owned(),
            json!({"description": about, "type": "array", "items": item}),
        );
        let mut metadata = Schema::of::<ListMeta>();
        LIST_META.clone_into(&mut metadata.name);
        let meta = json!({
            "description": "Standard list metadata.",
            "default": {},
            "allOf": [{"$ref": address(LIST_META)}],
        });
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
        let Self { pending, seen, .. } = self;
        schema.publish_with(&mut |child| {
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
            Some(address(&child.name))
        })
    }

    /// All components, with everything they refer to.
    pub(super) fn finish(mut self) -> Value {
        while let Some(mut schema) = self.pending.pop() {
            if !schema.type_description.is_empty() {
                schema.description = std::mem::take(&mut schema.type_description);
            }
            let name = std::mem::take(&mut schema.name);
            let mut json = self.publish(&schema);
            let one_of = match name.as_str() {
                INT_OR_STRING => ["integer", "string"],
                QUANTITY => ["string", "number"],
                _ => {
                    self.made.insert(name, json);
                    continue;
                }
            };
            json["oneOf"] = one_of
                .map(|kind| json!({"type": kind}))
                .into_iter()
                .collect();
            if let Some(fields) = json.as_object_mut() {
                fields.remove("x-kubernetes-int-or-string");
            }
            if name == INT_OR_STRING {
                json["format"] = "int-or-string".into();
            }
            self.made.insert(name, json);
        }
        Value::Object(self.made)
    }
}
