//! Structural schemas: the structure of objects, for checks, defaults, pruning, field ownership and `kubectl explain`.
//!
//! # Promises
//! - The other methods never fail or panic for a schema that [`Schema::read`] accepts.
//! - [`Schema::check`] reports kube-apiserver's errors in its order; where that is undefined (Go's maps), by name.
//! - Patterns and rules are compiled once for each schema. Clone a schema before changing it after a check.

mod cel;
mod check;
mod decode;
mod defaults;
mod embedded;
mod empty;
mod formats;
mod kubernetes;
mod limits;
mod lists;
mod numbers;
mod prune;
mod publish;
mod read;
mod structural;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::status::FieldError;

pub(crate) use kubernetes::{OBJECT_META, object_meta, type_meta};

/// A structural schema (<https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>).
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    /// What Kubernetes calls the type (`io.k8s.api.core.v1.ConfigMap`); empty for types of CustomResourceDefinitions.
    pub(crate) name: String,
    /// The type of the value.
    pub(crate) r#type: Type,
    /// The description that `kubectl explain` shows.
    pub(crate) description: String,
    /// Words about the type, where `description` is about a field of that type.
    pub(crate) type_description: String,
    /// True if null is a value.
    pub(crate) nullable: bool,
    /// `int32`, `date-time`, `byte`, ...
    pub(crate) format: String,
    /// Fields of an object.
    pub(crate) properties: BTreeMap<String, Schema>,
    /// Values of a map.
    pub(crate) additional: Option<Box<Schema>>,
    /// Items of a list.
    pub(crate) items: Option<Box<Schema>>,
    /// Fields that must be there.
    pub(crate) required: Vec<String>,
    /// What an absent value is.
    pub(crate) default: Option<Value>,
    /// How two lists are merged.
    pub(crate) list: ListKind,
    /// True if an object is replaced as a whole (`x-kubernetes-map-type: atomic`).
    pub(crate) atomic: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub(crate) preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`
    pub(crate) embedded: bool,
    /// The key by which strategic merge patches match a list's items; empty when they replace it.
    pub(crate) patch_merge_key: String,
    /// The rest of the JSON schema, as published: limits, patterns, enums, CEL rules, `x-kubernetes-patch-strategy`.
    pub(crate) rest: serde_json::Map<String, Value>,
    /// `rest`, ready for checks.
    pub(crate) limits: limits::Cached,
}

/// Types of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Type {
    /// Anything.
    #[default]
    Any,
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    IntOrString,
}

/// How two lists are merged (`x-kubernetes-list-type`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// One replaces the other.
    #[default]
    Atomic,
    /// Scalars, each once.
    Set,
    /// Objects, told apart by these fields.
    Map(Vec<String>),
}

impl Schema {
    /// Reads a JSON schema (of a CustomResourceDefinition, or one that OpenAPI publishes). `at` is its path, for errors.
    ///
    /// # Errors
    /// It is not structural, or has what devhub cannot check.
    pub(crate) fn read(schema: &Value, at: &str) -> Result<Self, Vec<FieldError>> {
        read::read(schema, at)
    }

    /// As [`Schema::read`], of what has been read and found right before.
    pub(crate) fn as_it_is(schema: &Value) -> Self {
        read::schema(schema)
    }

    /// The JSON schema that [`Schema::read`] reads, for OpenAPI.
    pub(crate) fn publish(&self) -> Value {
        publish::publish(self, &mut |_| None)
    }

    /// As [`Schema::publish`], but a type that has a name and that `reference` knows is published as a reference to it.
    pub(crate) fn publish_with(
        &self,
        reference: &mut dyn FnMut(&Schema) -> Option<String>,
    ) -> Value {
        publish::publish(self, reference)
    }

    /// The schema of a Kubernetes kind or type from k8s-openapi, with references resolved, and with the list types and merge
    /// keys that Kubernetes has for it.
    pub(crate) fn of<T: schemars::JsonSchema>() -> Self {
        kubernetes::of::<T>()
    }

    /// Removes fields that the schema does not know, and names their paths in order. `apiVersion`, `kind` and `metadata` of
    /// the root (and of embedded resources) stay.
    pub(crate) fn prune(&self, value: &mut Value) -> Vec<String> {
        prune::prune(self, value)
    }

    /// Removes empty lists and maps that the type does not have to have: Kubernetes' types do not tell them from nothing.
    pub(crate) fn drop_empty(&self, value: &mut Value) {
        empty::drop_empty(self, value);
    }

    /// Fills in defaults. Null, where it is no value, is removed before.
    pub(crate) fn fill_in(&self, value: &mut Value) {
        defaults::fill_in(self, value);
    }

    /// What is wrong with a value, in the words of kube-apiserver's validation of custom resources. With `old`, transition
    /// rules apply.
    ///
    /// Errors in a part that has not changed are ignored, as with CRDValidationRatcheting.
    pub(crate) fn check(&self, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
        check::check(self, value, old)
    }

    /// Fields that must be there and are not: all that is checked of built-in kinds that nothing of ours works with.
    pub(crate) fn missing(&self, value: &Value) -> Vec<FieldError> {
        check::missing(self, value, "")
    }

    /// What cannot be decoded as a built-in kind, as in `json: cannot unmarshal number into Go struct field
    /// ObjectMeta.metadata.labels of type string`. Of a custom kind only the metadata is decoded.
    pub(crate) fn decode_error(&self, value: &Value) -> Option<String> {
        decode::decode_error(self, value)
    }

    /// The schema of a field, or of a value of a map.
    pub(crate) fn child(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).or(self.additional.as_deref())
    }
}
