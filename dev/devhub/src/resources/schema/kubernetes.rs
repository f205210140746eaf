//! Schemas of Kubernetes' own types: from k8s-openapi, with what its schemas leave out (`types.txt`).

use std::sync::{Arc, LazyLock};

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::{ListKind, Schema, Type, read};

/// What Kubernetes calls the metadata of objects.
pub(crate) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

const JSON_SCHEMA: &str =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

/// Types that are anything at all, or one of several things, and whose schemas do not say so.
const ANYTHING: &[&str] = &[
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
];

/// Types that are objects with whatever fields.
const FREE: &[&str] = &[
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "io.k8s.apimachinery.pkg.runtime.RawExtension",
];

/// What these schemas leave out, a line for a type or a field.
const TYPES: &str = include_str!("types.txt");

/// The metadata of every object.
pub(crate) fn object_meta() -> &'static Arc<Schema> {
    static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(of::<ObjectMeta>()));
    &SCHEMA
}

/// `apiVersion` and `kind`, as every object has them.
pub(crate) fn type_meta() -> impl Iterator<Item = (&'static str, &'static Schema)> {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(of::<ConfigMap>);
    let fields = ["apiVersion", "kind"].into_iter();
    fields.filter_map(|name| Some((name, SCHEMA.properties.get(name)?)))
}

/// A schema, or (where a type contains itself, and its schema ends) the schema of that type.
pub(super) fn unfolded<'a>(schema: &'a Schema, value: &Value) -> &'a Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(of::<JSONSchemaProps>);
    let holds_schemas = schema.name == JSON_SCHEMA
        || value.is_object()
            && schema.name.starts_with(JSON_SCHEMA)
            && schema.name.len() > JSON_SCHEMA.len();
    if holds_schemas && schema.properties.is_empty() {
        &SCHEMA
    } else {
        schema
    }
}

pub(super) fn of<T: schemars::JsonSchema>() -> Schema {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let root = generator.subschema_for::<T>();
    let definitions = generator.take_definitions(false);
    let resolver = Resolver {
        definitions: &definitions,
    };
    resolver.resolve(root.as_value(), &mut Vec::new())
}

/// References, followed.
struct Resolver<'a> {
    definitions: &'a Map<String, Value>,
}

impl<'a> Resolver<'a> {
    /// `within` is the chain of types that are being resolved.
    fn resolve(&self, json: &'a Value, within: &mut Vec<&'a str>) -> Schema {
        let reference = json.get("$ref").and_then(Value::as_str);
        let Some(name) = reference.and_then(|reference| reference.strip_prefix("#/$defs/")) else {
            return self.structure(json, within);
        };
        let mut schema = if ANYTHING.contains(&name) || within.contains(&name) {
            Schema {
                r#type: if within.contains(&name) {
                    Type::Object
                } else {
                    Type::Any
                },
                preserve_unknown: true,
                ..Schema::default()
            }
        } else {
            within.push(name);
            let schema = self
                .definitions
                .get(name)
                .map(|json| self.structure(json, within));
            within.pop();
            schema.unwrap_or_default()
        };
        name.clone_into(&mut schema.name);
        schema.preserve_unknown |= FREE.contains(&name);
        complete(&mut schema);
        if let Some(description) = json.get("description").and_then(Value::as_str) {
            schema.type_description = std::mem::take(&mut schema.description);
            description.clone_into(&mut schema.description);
        }
        schema
    }

    fn structure(&self, json: &'a Value, within: &mut Vec<&'a str>) -> Schema {
        let mut shallow = Map::new();
        let mut schema = Schema::default();
        for (name, value) in json.as_object().into_iter().flatten() {
            match name.as_str() {
                "properties" => {
                    let fields = value.as_object().into_iter().flatten();
                    schema.properties = fields
                        .map(|(name, json)| (name.clone(), self.resolve(json, within)))
                        .collect();
                }
                "additionalProperties" if value.is_object() => {
                    schema.additional = Some(Box::new(self.resolve(value, within)));
                }
                "items" => schema.items = Some(Box::new(self.resolve(value, within))),
                // Drafts and titles are no part of it.
                "$schema" | "title" => {}
                _ => {
                    shallow.insert(name.clone(), value.clone());
                }
            }
        }
        let read = read::schema(&Value::Object(shallow));
        Schema {
            properties: schema.properties,
            additional: schema.additional,
            items: schema.items,
            ..read
        }
    }
}

/// Adds what [`TYPES`] says about a type and its fields.
fn complete(schema: &mut Schema) {
    let metadata = schema.properties.get("metadata");
    if metadata.is_some_and(|metadata| metadata.name == OBJECT_META) {
        // Kubernetes accepts objects without it.
        schema.required.retain(|field| field != "metadata");
    }
    let name = schema.name.strip_prefix("io.k8s.").map(str::to_owned);
    for line in TYPES.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        if words.next() != name.as_deref() {
            continue;
        }
        let mut word = || words.next().filter(|word| *word != "-").unwrap_or_default();
        let (field, what, patch_key, strategy) = (word(), word(), word(), word());
        if what == "optional" {
            schema.required.retain(|required| required != field);
            continue;
        }
        let part = match field {
            "" => Some(&mut *schema),
            field => schema.properties.get_mut(field),
        };
        let Some(part) = part else { continue };
        match what.split_once(':') {
            Some(("default", value)) => part.default = Some(value.into()),
            Some((_, keys)) => {
                part.list = ListKind::Map(keys.split(',').map(str::to_owned).collect());
            }
            None if what == "set" => part.list = ListKind::Set,
            None => part.atomic |= what == "atomic",
        }
        patch_key.clone_into(&mut part.patch_merge_key);
        if !strategy.is_empty() {
            let name = "x-kubernetes-patch-strategy".to_owned();
            part.rest.insert(name, strategy.into());
        }
    }
}
