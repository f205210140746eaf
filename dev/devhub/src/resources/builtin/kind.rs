//! Descriptions of built-in kinds, made from k8s-openapi's types, and their columns.

use std::any::TypeId;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::{NamespaceResourceScope, Resource as Known};
use serde_json::{Map, Value};

use crate::object::Object;
use crate::resources::definition::Plain;
use crate::resources::schema::Schema;
use crate::resources::{Cell, Column, Columns, Resource, Subresource, Verb, age};
use crate::status::qualified;
use crate::storage::StorageId;

/// A kind with everything that goes without saying: all verbs, no subresource, and the two columns of kinds without their own.
pub(super) fn kind<T>() -> Resource
where
    T: Known + schemars::JsonSchema,
    T::Scope: 'static,
{
    let storage = qualified(T::URL_PATH_SEGMENT, T::GROUP);
    Resource {
        group: T::GROUP.to_owned(),
        version: T::VERSION.to_owned(),
        name: T::URL_PATH_SEGMENT.to_owned(),
        singular: T::KIND.to_lowercase(),
        kind: T::KIND.to_owned(),
        list_kind: format!("{}List", T::KIND),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: TypeId::of::<T::Scope>() == TypeId::of::<NamespaceResourceScope>(),
        verbs: Verb::ALL.to_vec(),
        subresources: Vec::new(),
        schema: Arc::new(Schema::of::<T>()),
        columns: created_at(),
        storage: StorageId(storage.into()),
        storage_version: T::API_VERSION.to_owned(),
        custom: false,
        selectable_fields: Vec::new(),
        reading: None,
        name_errors: berth_api::names::dns1123_subdomain,
        needs_version: false,
        creates_on_update: false,
        takes_status_on_create: false,
        has_generation: false,
        behaviour: &Plain,
    }
}

/// A kind that is only asked: nothing of it is stored.
pub(super) fn question<T>() -> Resource
where
    T: Known + schemars::JsonSchema,
    T::Scope: 'static,
{
    Resource {
        verbs: vec![Verb::Create],
        ..kind::<T>()
    }
}

/// Every verb but `deletecollection`.
pub(super) fn verbs_without_deletecollection() -> Vec<Verb> {
    let mut verbs = Verb::ALL.to_vec();
    verbs.retain(|verb| *verb != Verb::DeleteCollection);
    verbs
}

/// A subresource that is read and written as the object itself, such as `status`.
pub(super) fn part<T: Known>(name: &str) -> Subresource {
    subresource::<T>(name, &[Verb::Get, Verb::Patch, Verb::Update])
}

/// A subresource that takes the resource's own kind.
pub(super) fn subresource<T: Known>(name: &str, verbs: &[Verb]) -> Subresource {
    Subresource {
        name: name.to_owned(),
        group: T::GROUP.to_owned(),
        version: T::VERSION.to_owned(),
        kind: T::KIND.to_owned(),
        verbs: verbs.to_vec(),
    }
}

/// Owned names.
pub(super) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

// === Columns ===

/// Columns, with the function that makes a row.
pub(super) fn columns(
    cells: fn(&Object, Timestamp) -> Vec<Cell>,
    columns: impl Into<Vec<Column>>,
) -> Columns {
    Columns::Code {
        columns: columns.into(),
        cells,
    }
}

/// The column of names.
pub(crate) fn name() -> Column {
    Column {
        format: "name".to_owned(),
        ..text("Name", "The object's name, unique in its scope.")
    }
}

/// The column of ages.
pub(crate) fn age() -> Column {
    text("Age", "How long ago the object was created.")
}

/// A column of text.
pub(super) fn text(name: &str, description: &str) -> Column {
    Column {
        name: name.to_owned(),
        r#type: "string".to_owned(),
        description: description.to_owned(),
        ..Column::default()
    }
}

/// A column of numbers.
pub(super) fn integer(name: &str, description: &str) -> Column {
    Column {
        r#type: "integer".to_owned(),
        ..text(name, description)
    }
}

/// A column of text that is only shown by `-o wide`.
pub(super) fn wide(name: &str, description: &str) -> Column {
    Column {
        priority: 1,
        ..text(name, description)
    }
}

/// Name and time of creation, for kinds without columns of their own.
fn created_at() -> Columns {
    let at = Column {
        r#type: "date".to_owned(),
        ..text("Created At", "When the object was created.")
    };
    let cells = |object: &Object, _| {
        vec![
            object.name().into(),
            object.str_at(&["metadata", "creationTimestamp"]).into(),
        ]
    };
    columns(cells, [name(), at])
}

/// The cell under [`age`].
pub(super) fn age_cell(object: &Object, now: Timestamp) -> Cell {
    age::since(object.str_at(&["metadata", "creationTimestamp"]), now).into()
}

/// How many entries the map or list at a path has.
pub(super) fn count(object: &Object, path: &[&str]) -> usize {
    match object.at(path) {
        Some(Value::Object(map)) => map.len(),
        Some(Value::Array(list)) => list.len(),
        _ => 0,
    }
}

// === Values ===

/// The map at a path; `None` if the value is missing or not a map.
pub(super) fn map_at<'a>(object: &'a Object, path: &[&str]) -> Option<&'a Map<String, Value>> {
    object.at(path).and_then(Value::as_object)
}

/// Sets what is absent or null.
pub(super) fn default_at(object: &mut Object, path: &[&str], value: impl Into<Value>) {
    if object.at(path).is_none_or(Value::is_null) {
        object.set(path, value);
    }
}

/// Sets a field of a JSON object if it is absent or null. What is no object is left alone.
pub(super) fn default_in(value: &mut Value, field: &str, default: impl Into<Value>) {
    if let Value::Object(fields) = value
        && fields.get(field).is_none_or(Value::is_null)
    {
        fields.insert(field.to_owned(), default.into());
    }
}

/// The items of a field that is a list, to be changed.
pub(super) fn items_of<'a>(
    value: &'a mut Value,
    field: &str,
) -> impl Iterator<Item = &'a mut Value> {
    let list = value.get_mut(field).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}
