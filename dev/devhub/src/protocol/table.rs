//! Tables, in which kubectl shows objects (`meta.k8s.io` `Table`).

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::object::Object;
use crate::protocol::json_path::JsonPath;
use crate::protocol::negotiate::MetaVersion;
use crate::protocol::query::IncludeObject;
use crate::resources::builtin::kind;
use crate::resources::{Cell, Column, Columns, Resource, age};

/// How a table is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) version: MetaVersion,
    pub(crate) include: IncludeObject,
    /// True if columns are told; not after a watch's first event.
    pub(crate) headers: bool,
}

/// Objects (as the resource's version presents them) as a table. `metadata` is the list's.
pub(crate) fn table(
    resource: &Resource,
    objects: &[&Object],
    now: Timestamp,
    form: Form,
    metadata: Map<String, Value>,
) -> Value {
    let (columns, cells) = printer(&resource.columns);
    let api_version = form.version.api_version();
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let object_shown = match form.include {
                IncludeObject::None => Value::Null,
                IncludeObject::Object => object.to_value(),
                IncludeObject::Metadata => json!({
                    "kind": "PartialObjectMetadata",
                    "apiVersion": api_version,
                    "metadata": object.at(&["metadata"]),
                }),
            };
            json!({"cells": cells(object, now), "object": object_shown})
        })
        .collect();
    let columns = if form.headers {
        columns.iter().map(column).collect()
    } else {
        Value::Null
    };
    json!({
        "kind": "Table",
        "apiVersion": api_version,
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    })
}

fn column(column: &Column) -> Value {
    json!({
        "name": column.name,
        "type": column.r#type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    })
}

type Printer<'a> = Box<dyn Fn(&Object, Timestamp) -> Vec<Cell> + 'a>;

fn printer(columns: &Columns) -> (Cow<'_, [Column]>, Printer<'_>) {
    match columns {
        Columns::Code { columns, cells } => (columns.into(), Box::new(*cells)),
        Columns::Paths(paths) if paths.is_empty() => {
            let age = Column {
                r#type: "date".to_owned(),
                ..kind::age()
            };
            let cells = |object: &Object, now| {
                let at = object.str_at(&["metadata", "creationTimestamp"]);
                vec![object.name().into(), age::since(at, now).into()]
            };
            (vec![kind::name(), age].into(), Box::new(cells))
        }
        Columns::Paths(paths) => {
            let mut all = vec![kind::name()];
            all.extend(paths.iter().map(|(column, path)| described(column, path)));
            let paths: Vec<(&str, Option<JsonPath>)> = paths
                .iter()
                .map(|(column, path)| (column.r#type.as_str(), JsonPath::parse(path)))
                .collect();
            let cells = move |object: &Object, now| {
                let value = object.to_value();
                let mut cells = vec![object.name().into()];
                cells.extend(paths.iter().map(|(sort, path)| {
                    let found = path.as_ref().and_then(|path| path.first(&value));
                    found.map_or(Value::Null, |found| cell(sort, found, now))
                }));
                cells
            };
            (all.into(), Box::new(cells))
        }
    }
}

/// A column of a CustomResourceDefinition that does not describe itself is described by its path.
fn described(column: &Column, path: &str) -> Column {
    let mut column = column.clone();
    if column.description.is_empty() {
        column.description =
            format!("Custom resource definition column (in JSONPath format): {path}");
    }
    column
}

/// A value as a column of this type shows it; null for one of another type.
fn cell(sort: &str, value: &Value, now: Timestamp) -> Cell {
    match (sort, value) {
        (_, Value::Null) => Value::Null,
        ("string", Value::String(text)) => text.as_str().into(),
        ("string", Value::Number(number)) => in_words(number).into(),
        ("string", other) => other.to_string().into(),
        ("integer", Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => number.into(),
            // Cut off, as Go does; what does not fit ends at the ends.
            #[expect(clippy::cast_possible_truncation, reason = "it is to be cut off")]
            (None, Some(number)) => (number as i64).into(),
            (None, None) => Value::Null,
        },
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(at)) => age::since(at, now).into(),
        _ => Value::Null,
    }
}

/// A number as Go prints it: without a fraction of zero.
fn in_words(number: &serde_json::Number) -> String {
    let text = number.to_string();
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::protocol::testing;

    fn now() -> Timestamp {
        "2026-01-01T00:10:00Z".parse().unwrap()
    }

    fn object() -> Object {
        Object::try_from(json!({
            "kind": "Foo",
            "metadata": {
                "name": "a",
                "resourceVersion": "7",
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {"num": 5, "fl": 2.0, "b": true, "map": {"z": 1, "a": ["x", 2]}, "text": "soon"},
        }))
        .unwrap()
    }

    fn column_of(name: &str, sort: &str, path: &str) -> (Column, String) {
        let column = Column {
            name: name.to_owned(),
            r#type: sort.to_owned(),
            ..Column::default()
        };
        (column, path.to_owned())
    }

    fn cells_of(paths: Vec<(Column, String)>) -> Value {
        let columns = Columns::Paths(paths);
        let (_, cells) = printer(&columns);
        Value::Array(cells(&object(), now()))
    }

    #[test]
    fn a_column_shows_values_of_its_type() {
        let cells = cells_of(vec![
            column_of("Num", "integer", ".spec.num"),
            column_of("Str", "string", ".spec.num"),
            column_of("Fl", "integer", ".spec.fl"),
            column_of("FlStr", "string", ".spec.fl"),
            column_of("Bool", "boolean", ".spec.b"),
            column_of("BoolStr", "string", ".spec.b"),
            column_of("Map", "string", ".spec.map"),
            column_of("Nope", "string", ".spec.nope"),
            column_of("Text", "integer", ".spec.text"),
            column_of("Number", "boolean", ".spec.num"),
            column_of("Age", "date", ".metadata.creationTimestamp"),
            column_of("When", "date", ".spec.text"),
            column_of("Broken", "string", ".spec["),
        ]);
        assert_eq!(
            cells,
            json!([
                "a",
                5,
                "5",
                2,
                "2",
                true,
                "true",
                "{\"a\":[\"x\",2],\"z\":1}",
                null,
                null,
                null,
                "10m",
                "<invalid>",
                null
            ])
        );
    }

    #[test]
    fn a_column_without_words_is_described_by_its_path() {
        let (column, path) = column_of("Num", "integer", ".spec.num");
        assert_eq!(
            described(&column, &path).description,
            "Custom resource definition column (in JSONPath format): .spec.num"
        );
    }

    fn resource(columns: Columns) -> Resource {
        Resource {
            columns,
            ..testing::resource("x.example.com", "v1", "foos", "Foo")
        }
    }

    #[test]
    fn a_table_can_do_without() {
        let foo = resource(Columns::Paths(Vec::new()));
        let mut form = Form {
            version: MetaVersion::V1Beta1,
            include: IncludeObject::None,
            headers: false,
        };
        let object = object();
        let bare = table(&foo, &[&object], now(), form, Map::new());
        assert_eq!(bare["apiVersion"], "meta.k8s.io/v1beta1");
        assert_eq!(bare["columnDefinitions"], Value::Null);
        assert_eq!(bare["rows"][0]["object"], Value::Null);
        form.include = IncludeObject::Object;
        let whole = table(&foo, &[&object], now(), form, Map::new());
        assert_eq!(whole["rows"][0]["object"], object.to_value());
        let empty = table(&foo, &[], now(), form, Map::new());
        assert_eq!(empty["rows"], json!([]));
    }
}
