//! The schema from the view of field ownership: atomic values, lists of items, and maps of fields.

use std::sync::LazyLock;

use serde_json::Value;

use super::element::{PathElement, Scalar};
use crate::resources::schema::{ListKind, Schema, Type, object_meta, type_meta};

/// The type of a place within an object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape<'a> {
    /// What the schema says.
    Known {
        schema: &'a Schema,
        /// Unknown fields are kept here, and everywhere below.
        open: bool,
        /// It is a Kubernetes object: it has `apiVersion`, `kind` and `metadata`, whatever the schema says.
        object: bool,
    },
    /// Unknown: fields of objects are told apart, lists are one value.
    Deduced,
    /// Unknown, and one value.
    Untyped,
}

/// A sort of value that can stand at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sort<'a> {
    Map(MapShape<'a>),
    Scalar(ScalarType),
    List(ListShape<'a>),
}

/// A scalar's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarType {
    Numeric,
    String,
    Boolean,
    Untyped,
}

/// A map, or an object with fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapShape<'a> {
    /// It is one value.
    pub(crate) atomic: bool,
    of: Shape<'a>,
}

/// A list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListShape<'a> {
    kind: &'a ListKind,
    items: Option<&'a Schema>,
    open: bool,
}

impl<'a> Shape<'a> {
    /// The type of whole objects.
    pub(crate) fn root(schema: &'a Schema) -> Self {
        Self::Known {
            schema,
            open: schema.preserve_unknown,
            object: true,
        }
    }

    fn child(schema: &'a Schema, open: bool) -> Self {
        Self::Known {
            schema,
            open: open || schema.preserve_unknown,
            object: schema.embedded,
        }
    }

    /// What the value is here; without one, or with one of the wrong type, what is asked for first.
    pub(crate) fn sort(self, value: Option<&Value>) -> Sort<'a> {
        let map = Sort::Map(MapShape {
            atomic: match self {
                Self::Known { schema, .. } => schema.atomic,
                Self::Deduced => false,
                Self::Untyped => true,
            },
            of: self,
        });
        let list = match self {
            Self::Known { schema, open, .. } => Sort::List(ListShape {
                kind: &schema.list,
                items: schema.items.as_deref(),
                open,
            }),
            Self::Deduced | Self::Untyped => Sort::List(ListShape {
                kind: &ListKind::Atomic,
                items: None,
                open: false,
            }),
        };
        let r#type = match self {
            Self::Known { schema, object, .. } if !object => schema.r#type,
            Self::Known { .. } => Type::Object,
            Self::Deduced | Self::Untyped => Type::Any,
        };
        match (r#type, value) {
            (Type::Object, _) => map,
            (Type::Array, _) => list,
            (Type::String, _) => Sort::Scalar(self.string()),
            (Type::Integer | Type::Number, _) => Sort::Scalar(ScalarType::Numeric),
            (Type::Boolean, _) => Sort::Scalar(ScalarType::Boolean),
            // Whether it is a number or a string is for validation to say.
            (Type::Any | Type::IntOrString, None | Some(Value::Null | Value::Object(_))) => map,
            (Type::Any | Type::IntOrString, Some(Value::Array(_))) => list,
            (Type::Any | Type::IntOrString, Some(_)) => Sort::Scalar(ScalarType::Untyped),
        }
    }

    /// Strings with a format may be written in other ways, such as numbers.
    fn string(self) -> ScalarType {
        match self {
            Self::Known { schema, .. } if !matches!(schema.format.as_str(), "" | "byte") => {
                ScalarType::Untyped
            }
            _ => ScalarType::String,
        }
    }

    /// What is below a step, if something can be known of it without the value.
    pub(crate) fn below(self, element: &PathElement) -> Option<Shape<'a>> {
        match element {
            PathElement::Field(name) => match self.sort(Some(&Value::Object(<_>::default()))) {
                Sort::Map(map) => map.field(name),
                Sort::Scalar(_) | Sort::List(_) => None,
            },
            PathElement::Key(_) => match self.sort(Some(&Value::Array(Vec::new()))) {
                Sort::List(list) => Some(list.item()),
                Sort::Scalar(_) | Sort::Map(_) => None,
            },
            PathElement::Value(_) | PathElement::Index(_) => None,
        }
    }

    /// Returns true if the step is a field that the schema names.
    pub(crate) fn names(self, element: &PathElement) -> bool {
        match (element, self.sort(Some(&Value::Object(<_>::default())))) {
            (PathElement::Field(name), Sort::Map(map)) => map.declares(name),
            _ => false,
        }
    }
}

impl<'a> MapShape<'a> {
    /// Returns true if the schema names this field.
    pub(crate) fn declares(self, name: &str) -> bool {
        self.declared(name).is_some()
    }

    fn declared(self, name: &str) -> Option<Shape<'a>> {
        let Shape::Known {
            schema,
            open,
            object,
        } = self.of
        else {
            return None;
        };
        if object && let Some(field) = OBJECT.properties.get(name) {
            return Some(Shape::child(field, false));
        }
        let field = schema.properties.get(name)?;
        Some(Shape::child(field, open))
    }

    /// The type of a field. None: there is no such field.
    pub(crate) fn field(self, name: &str) -> Option<Shape<'a>> {
        self.declared(name).or(match self.of {
            Shape::Known { schema, open, .. } => match &schema.additional {
                Some(values) => Some(Shape::child(values, open)),
                None => (open || schema.properties.is_empty()).then_some(Shape::Deduced),
            },
            Shape::Deduced => Some(Shape::Deduced),
            Shape::Untyped => Some(Shape::Untyped),
        })
    }

    /// The type of a field, where it has to be there.
    pub(crate) fn field_or_deduced(self, name: &str) -> Shape<'a> {
        self.field(name).unwrap_or(Shape::Deduced)
    }

    /// Returns true if nothing is known of its fields.
    pub(crate) fn is_deduced(self) -> bool {
        match self.of {
            Shape::Known { schema, object, .. } => {
                !object && schema.properties.is_empty() && schema.additional.is_none()
            }
            Shape::Deduced | Shape::Untyped => true,
        }
    }
}

impl<'a> ListShape<'a> {
    /// Returns true if it is one value.
    pub(crate) fn is_atomic(self) -> bool {
        *self.kind == ListKind::Atomic
    }

    /// The type of its items.
    pub(crate) fn item(self) -> Shape<'a> {
        match self.items {
            Some(items) => Shape::child(items, self.open),
            None => Shape::Untyped,
        }
    }

    /// The step to an item of a set or a map.
    ///
    /// # Errors
    /// The item has no place in such a list. In words.
    pub(crate) fn step(self, item: &Value) -> Result<PathElement, String> {
        match self.kind {
            ListKind::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            ListKind::Set => match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".to_owned())
                }
                Value::Array(_) => {
                    Err("not supported: associative list with lists as elements".to_owned())
                }
                Value::Null => Err(
                    "associative list without keys has an element that's an explicit null"
                        .to_owned(),
                ),
                scalar => Ok(PathElement::Value(Scalar(scalar.clone()))),
            },
            ListKind::Map(keys) => self.step_by_keys(keys, item),
        }
    }

    fn step_by_keys(self, keys: &[String], item: &Value) -> Result<PathElement, String> {
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => {
                return Err("associative list with keys may not have a null element".to_owned());
            }
            _ => {
                return Err("associative list with keys may not have non-map elements".to_owned());
            }
        };
        let default = |key| {
            let field = self.items?.properties.get(key)?;
            field.default.as_ref()
        };
        let present = keys.iter().filter_map(|key| {
            let value = fields.get(key).or_else(|| default(key))?;
            Some((key.clone(), Scalar(value.clone())))
        });
        let present: Vec<_> = present.collect();
        if present.is_empty() {
            let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                keys.join(" ")
            ));
        }
        Ok(PathElement::key(present))
    }
}

/// What `metadata` is in every object.
pub(crate) fn metadata() -> &'static Schema {
    object_meta()
}

/// What every Kubernetes object has.
static OBJECT: LazyLock<Schema> = LazyLock::new(|| {
    let fields = type_meta().map(|(name, field)| (name.to_owned(), field.clone()));
    let metadata = ("metadata".to_owned(), object_meta().as_ref().clone());
    Schema {
        r#type: Type::Object,
        properties: fields.into_iter().chain([metadata]).collect(),
        ..Schema::default()
    }
});
