//! CustomResourceDefinitions: validates them, and turns them into resources.
//!
//! The write of a definition accepts its names and serves its resources; no controller is involved. Only its deletion takes
//! time, because its objects are deleted first (`end`).

mod checks;
mod definitions;
mod end;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use crate::object::{Object, items_at, text_at as text};
use crate::resources::schema::{OBJECT_META, Schema, object_meta, type_meta};
use crate::resources::{Behaviour, Column, Columns, Reading, Resource, Subresource, Verb, WriteTo};
use crate::status::{ApiError, qualified};
use crate::storage::{Key, StorageId};

pub(crate) use definitions::{Definitions, serve_stored};
pub(crate) use end::clean_up;
#[cfg(test)]
pub(crate) use testing::resources;

/// What a kind says of its metadata.
const ABOUT_METADATA: &str = "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// The resources of a definition that has been checked.
///
/// A version into which a webhook has to convert is left out, because devhub calls no conversion webhook: requests for it get 404.
fn served(definition: &Value) -> Vec<Resource> {
    let spec = &definition["spec"];
    let versions = items_at(spec, "versions");
    let storage = versions.iter().find(|version| version["storage"] == true);
    let Some(storage) = storage else {
        return Vec::new();
    };
    let reading = Reading {
        stored: Arc::new(schema(&storage["schema"]["openAPIV3Schema"])),
        since: 0,
    };
    let by_webhook = spec["conversion"]["strategy"] == "Webhook";
    versions
        .iter()
        .filter(|version| version["served"] == true)
        .filter(|version| !by_webhook || version["storage"] == true)
        .map(|version| resource(spec, version, text(storage, "name"), &reading))
        .collect()
}

fn texts(json: &Value) -> Vec<String> {
    let texts = json.as_array().into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A field, or what stands for it when it is absent.
fn or<'a>(text: &'a str, other: &'a str) -> &'a str {
    if text.is_empty() { other } else { text }
}

fn resource(spec: &Value, version: &Value, storage: &str, reading: &Reading) -> Resource {
    let names = &spec["names"];
    let (group, plural, kind) = (
        text(spec, "group"),
        text(names, "plural"),
        text(names, "kind"),
    );
    let has_status = version["subresources"].get("status").is_some();
    let mut subresources = Vec::new();
    if has_status {
        subresources.push(Subresource {
            name: "status".to_owned(),
            group: group.to_owned(),
            version: text(version, "name").to_owned(),
            kind: kind.to_owned(),
            verbs: vec![Verb::Get, Verb::Patch, Verb::Update],
        });
    }
    if version["subresources"].get("scale").is_some() {
        // Without verbs: it is known, and not implemented.
        subresources.push(Subresource {
            name: "scale".to_owned(),
            group: "autoscaling".to_owned(),
            version: "v1".to_owned(),
            kind: "Scale".to_owned(),
            verbs: Vec::new(),
        });
    }
    let columns = items_at(version, "additionalPrinterColumns").iter();
    let selectable = items_at(version, "selectableFields").iter();
    Resource {
        group: group.to_owned(),
        version: text(version, "name").to_owned(),
        name: plural.to_owned(),
        singular: or(text(names, "singular"), &kind.to_lowercase()).to_owned(),
        kind: kind.to_owned(),
        list_kind: or(text(names, "listKind"), &format!("{kind}List")).to_owned(),
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        namespaced: text(spec, "scope") == "Namespaced",
        verbs: Verb::ALL.to_vec(),
        subresources,
        schema: if text(version, "name") == storage {
            Arc::clone(&reading.stored)
        } else {
            Arc::new(schema(&version["schema"]["openAPIV3Schema"]))
        },
        columns: Columns::Paths(columns.map(column).collect()),
        storage: storage_id(group, plural),
        storage_version: format!("{group}/{storage}"),
        custom: true,
        selectable_fields: selectable
            .map(|field| text(field, "jsonPath").trim_start_matches('.').to_owned())
            .collect(),
        reading: Some(reading.clone()),
        name_errors: berth_api::names::dns1123_subdomain,
        needs_version: true,
        creates_on_update: false,
        takes_status_on_create: false,
        has_generation: true,
        behaviour: if has_status {
            &Custom { has_status: true }
        } else {
            &Custom { has_status: false }
        },
    }
}

fn storage_id(group: &str, plural: &str) -> StorageId {
    StorageId(qualified(plural, group).into())
}

fn column(json: &Value) -> (Column, String) {
    let priority = json.get("priority").and_then(Value::as_i64);
    let column = Column {
        name: text(json, "name").to_owned(),
        r#type: text(json, "type").to_owned(),
        format: text(json, "format").to_owned(),
        description: text(json, "description").to_owned(),
        priority: priority
            .and_then(|priority| priority.try_into().ok())
            .unwrap_or_default(),
    };
    (column, text(json, "jsonPath").to_owned())
}

/// A version's schema, with what every object has. What it says of names stays.
fn schema(json: &Value) -> Schema {
    let mut schema = Schema::as_it_is(json);
    let mut metadata = object_meta().as_ref().clone();
    metadata.type_description = std::mem::take(&mut metadata.description);
    ABOUT_METADATA.clone_into(&mut metadata.description);
    if let Some(said) = schema.properties.get("metadata") {
        for (name, limits) in &said.properties {
            if let Some(field) = metadata.properties.get_mut(name) {
                field.rest.extend(limits.rest.clone());
            }
        }
    }
    debug_assert_eq!(metadata.name, OBJECT_META, "the checks know it by its name");
    schema.properties.insert("metadata".to_owned(), metadata);
    for (name, field) in type_meta() {
        schema.properties.insert(name.to_owned(), field.clone());
    }
    schema
}

/// Custom objects.
#[derive(Debug)]
struct Custom {
    /// True if their status is a subresource.
    has_status: bool,
}

impl Behaviour for Custom {
    fn is_new_generation(&self, object: &Object, old: &Object) -> bool {
        let content = |object: &Object| {
            let mut fields = object.fields().clone();
            fields.remove("metadata");
            if self.has_status {
                fields.remove("status");
            }
            fields
        };
        content(object) != content(old)
    }

    fn authorize(&self, write: &WriteTo<'_>, object: &Object) -> Result<(), ApiError> {
        let resource = write.resource;
        let name = qualified(&resource.name, &resource.group);
        let definition = Key::new("customresourcedefinitions.apiextensions.k8s.io", "", &name);
        let ends = || {
            let stored = write.world.store.get(&definition);
            stored.is_some_and(|stored| stored.object.is_deleting())
        };
        if write.old.is_some() || !ends() {
            return Ok(());
        }
        Err(ApiError::forbidden(
            &resource.group,
            &resource.name,
            object.name(),
            "create not allowed while custom resource definition is terminating",
        ))
    }
}
