//! Decodes a body into an object of the type that a path accepts. Errors are kube-apiserver's.

use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;

use crate::object::Object;
use crate::protocol::body::{self, summary};
use crate::protocol::strict;
use crate::resources::Resource;
use crate::resources::schema::Schema;
use crate::status::{ApiError, FieldError};
use crate::writes::FieldValidation;

/// The document, and its warnings.
#[derive(Debug, PartialEq)]
pub(crate) struct Read {
    pub(crate) content: Object,
    pub(crate) warnings: Vec<String>,
}

/// The type that a path takes: the resource's, or a subresource's.
pub(crate) struct Expected<'a> {
    /// `apiVersion`
    pub(crate) api_version: String,
    /// `kind`
    pub(crate) kind: &'a str,
    /// What it looks like, unless the subresource's type is one of its own.
    pub(crate) schema: Option<&'a Schema>,
    /// True if it comes from a CustomResourceDefinition: those must say their type.
    pub(crate) custom: bool,
    /// Returns true for an `apiVersion` and `kind` that are served.
    pub(crate) exists: &'a (dyn Fn(&str, &str) -> bool + Sync),
}

impl<'a> Expected<'a> {
    /// The type that a resource's path takes, or that of its subresource.
    pub(crate) fn of(
        resource: &'a Resource,
        subresource: &str,
        exists: &'a (dyn Fn(&str, &str) -> bool + Sync),
    ) -> Self {
        let (api_version, kind) = match resource.subresource(subresource) {
            Some(subresource) => (subresource.api_version(), &subresource.kind),
            None => (resource.api_version(), &resource.kind),
        };
        let is_own = *kind == resource.kind;
        Self {
            api_version,
            kind,
            schema: is_own.then_some(&resource.schema),
            custom: resource.custom,
            exists,
        }
    }

    /// Reads an object of this type, without the fields that it has not.
    ///
    /// # Errors
    /// 400 if the body is not an object, and for fields that are unknown or there twice if validation is strict; 422 for a custom object
    /// of another kind.
    pub(crate) fn read(
        &self,
        headers: &HeaderMap,
        bytes: &Bytes,
        validation: FieldValidation,
    ) -> Result<Read, ApiError> {
        let kind = self.kind;
        let unrecognized = |why: &str| {
            ApiError::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): {why} ({})",
                summary(bytes)
            ))
        };
        let document = body::document(headers, bytes)?.map_err(|why| unrecognized(&why))?;
        // Nothing at all is an object without fields to Go.
        let mut value = match document.value {
            Value::Null => Value::Object(serde_json::Map::new()),
            value => value,
        };
        let said = self.said(&value).map_err(|why| unrecognized(&why))?;
        if said.kind.is_empty() {
            let sent = String::from_utf8_lossy(bytes);
            return Err(unrecognized(&format!(
                "Object 'Kind' is missing in '{sent}'"
            )));
        }
        let cannot_be_handled = |why: &str| {
            let version = said.api_version.rsplit('/').next().unwrap_or_default();
            ApiError::bad_request(format!(
                "{} in version {version:?} cannot be handled as a {kind}: {why}",
                said.kind
            ))
        };
        if !self.custom {
            self.check_built_in(&said)
                .map_err(|why| cannot_be_handled(&why))?;
        }
        if let Some(why) = self.schema.and_then(|schema| schema.decode_error(&value)) {
            return Err(cannot_be_handled(&why));
        }
        let unknown = match self.schema {
            Some(schema) if said.api_version == self.api_version => schema.prune(&mut value),
            _ => Vec::new(),
        };
        let object = Object::try_from(value).map_err(|error| unrecognized(&error.to_string()))?;
        let noticed = match validation {
            FieldValidation::Ignore => Vec::new(),
            _ => strict::noticed(&unknown, &document.duplicates, self.custom),
        };
        if validation == FieldValidation::Strict && !noticed.is_empty() {
            let why = format!("strict decoding error: {}", noticed.join(", "));
            return Err(cannot_be_handled(&why));
        }
        if said.api_version != self.api_version {
            return Err(ApiError::bad_request(format!(
                "the API version in the data ({}) does not match the expected API version ({})",
                said.api_version, self.api_version
            )));
        }
        if said.kind != kind {
            let (group, _) = said.api_version.split_once('/').unwrap_or_default();
            let why = format!("must be {kind}");
            let error = FieldError::invalid("kind", said.kind.as_str(), why);
            return Err(ApiError::invalid(
                group,
                &said.kind,
                object.name(),
                &[error],
            ));
        }
        Ok(Read {
            content: object,
            warnings: strict::warned(noticed, validation),
        })
    }

    /// The type that an object names. Objects of built-in kinds may leave it out.
    fn said(&self, value: &Value) -> Result<Said, String> {
        let Value::Object(fields) = value else {
            return Err("the body is not an object".to_owned());
        };
        let read = |field: &str, own: &str| match fields.get(field) {
            None | Some(Value::Null) if self.custom => Ok(String::new()),
            None | Some(Value::Null) => Ok(own.to_owned()),
            Some(Value::String(text)) if text.is_empty() && !self.custom => Ok(own.to_owned()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(format!("{field} is not a string")),
        };
        let said = Said {
            api_version: read("apiVersion", &self.api_version)?,
            kind: read("kind", self.kind)?,
        };
        match said.api_version.matches('/').count() {
            0 | 1 => Ok(said),
            _ => Err(format!(
                "unexpected GroupVersion string: {}",
                said.api_version
            )),
        }
    }

    /// A built-in path takes its own kind, also in another version, which is refused for its version.
    fn check_built_in(&self, said: &Said) -> Result<(), String> {
        let Said { api_version, kind } = said;
        if kind == self.kind
            && (*api_version == self.api_version || (self.exists)(api_version, kind))
        {
            return Ok(());
        }
        Err(format!(
            "no kind {kind:?} of {api_version:?} can be taken for it"
        ))
    }
}

/// What an object says of itself.
struct Said {
    api_version: String,
    kind: String,
}
