//! Errors of the API, which clients get as a `Status` object.

use http::StatusCode;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

/// An error of the API (<https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/>).
///
/// Constructors have kube-apiserver's reasons and words.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ApiError {
    /// The HTTP status.
    pub(crate) code: StatusCode,
    /// `Status.reason`; empty for none.
    pub(crate) reason: String,
    /// `Status.message`.
    pub(crate) message: String,
    /// `Status.details`.
    pub(crate) details: Option<Details>,
}

/// What an error is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Details {
    /// The object's name.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "or_default"
    )]
    pub(crate) name: String,
    /// The API group.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "or_default"
    )]
    pub(crate) group: String,
    /// The resource (or the kind, for [`ApiError::invalid`]).
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "or_default"
    )]
    pub(crate) kind: String,
    /// The object's uid.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "or_default"
    )]
    pub(crate) uid: String,
    /// The causes, mostly one for each invalid field.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub(crate) causes: Vec<Cause>,
    /// Seconds to wait before the next try; 0 if unspecified.
    #[serde(skip_serializing_if = "is_zero", deserialize_with = "or_default")]
    pub(crate) retry_after_seconds: i32,
}

/// One cause of an error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Cause {
    /// The reason, such as `FieldValueInvalid`.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "or_default"
    )]
    pub(crate) reason: String,
    /// The message.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "or_default"
    )]
    pub(crate) message: String,
    /// The path of the field, such as `spec.taints[0].key`.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "or_default"
    )]
    pub(crate) field: String,
}

/// An invalid field, as in `k8s.io/apimachinery/pkg/util/validation/field`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldError {
    /// The path, such as `spec.taints[0].key`; `<nil>` for the whole object.
    pub(crate) field: String,
    /// The sort of error.
    pub(crate) sort: FieldErrorSort,
    /// The invalid value, if the message shows it.
    pub(crate) value: Option<Value>,
    /// The message.
    pub(crate) detail: String,
}

/// Sorts of [`FieldError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldErrorSort {
    /// `FieldValueInvalid`
    Invalid,
    /// `FieldValueTypeInvalid`: as Invalid, for a value of another type.
    TypeInvalid,
    /// `FieldValueRequired`
    Required,
    /// `FieldValueDuplicate`
    Duplicate,
    /// `FieldValueNotSupported`
    NotSupported,
    /// `FieldValueForbidden`
    Forbidden,
    /// `FieldValueTooLong`
    TooLong,
    /// `FieldValueTooMany`
    TooMany,
}

impl FieldError {
    /// An error with the value it is about.
    pub(crate) fn new(
        sort: FieldErrorSort,
        field: impl Into<String>,
        value: impl Into<Option<Value>>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            sort,
            value: value.into(),
            detail: detail.into(),
        }
    }

    /// `Invalid value: VALUE: DETAIL`
    pub(crate) fn invalid(
        field: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(FieldErrorSort::Invalid, field, value.into(), detail)
    }

    /// `Required value: DETAIL`
    pub(crate) fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorSort::Required, field, None, detail)
    }

    /// `Forbidden: DETAIL`
    pub(crate) fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorSort::Forbidden, field, None, detail)
    }

    /// The error without the field's name, as in a cause's message.
    pub(crate) fn body(&self) -> String {
        let mut body = self.sort.words().0.to_owned();
        // TooLong and the like never show the value.
        use FieldErrorSort as S;
        if !matches!(self.sort, S::Required | S::Forbidden | S::TooLong)
            && let Some(value) = &self.value
        {
            // Go prints a string quoted and everything else as JSON, near enough.
            body.push_str(&format!(": {value}"));
        }
        if !self.detail.is_empty() {
            body.push_str(&format!(": {}", self.detail));
        }
        body
    }

    fn cause(&self) -> Cause {
        Cause {
            reason: self.sort.words().1.to_owned(),
            message: self.body(),
            field: self.field.clone(),
        }
    }
}

impl FieldErrorSort {
    /// The words in messages, and the reason in causes.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Invalid => ("Invalid value", "FieldValueInvalid"),
            Self::TypeInvalid => ("Invalid value", "FieldValueTypeInvalid"),
            Self::Required => ("Required value", "FieldValueRequired"),
            Self::Duplicate => ("Duplicate value", "FieldValueDuplicate"),
            Self::NotSupported => ("Unsupported value", "FieldValueNotSupported"),
            Self::Forbidden => ("Forbidden", "FieldValueForbidden"),
            Self::TooLong => ("Too long", "FieldValueTooLong"),
            Self::TooMany => ("Too many", "FieldValueTooMany"),
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &i32) -> bool {
    *number == 0
}

/// Reads null as a field that is absent, as Go does.
pub(crate) fn or_default<'de, T, D>(field: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(field).map(Option::unwrap_or_default)
}

/// `resource.group`, or `resource` in the core group.
pub(crate) fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    }
}

impl ApiError {
    /// An error with these parts and no details.
    pub(crate) fn new(
        code: StatusCode,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
        }
    }

    fn about(self, group: &str, kind: &str, name: &str) -> Self {
        let details = Details {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            ..Details::default()
        };
        Self {
            details: Some(details),
            ..self
        }
    }

    /// 404 `NotFound` for an object.
    pub(crate) fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {name:?} not found", qualified(resource, group));
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(group, resource, name)
    }

    /// 404 for a path that serves nothing.
    pub(crate) fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about("", "", "")
    }

    /// 409 `AlreadyExists`.
    pub(crate) fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", qualified(resource, group));
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(group, resource, name)
    }

    /// 409 `Conflict`.
    pub(crate) fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let resource_in_words = qualified(resource, group);
        let message =
            format!("Operation cannot be fulfilled on {resource_in_words} {name:?}: {why}");
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(group, resource, name)
    }

    /// 409 `Conflict` because of the resourceVersion.
    pub(crate) fn modified(group: &str, resource: &str, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(group, resource, name, why)
    }

    /// 403 `Forbidden` for an object or (without a name) a resource.
    pub(crate) fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let resource_in_words = qualified(resource, group);
        let message = if name.is_empty() {
            format!("{resource_in_words} is forbidden: {why}")
        } else {
            format!("{resource_in_words} {name:?} is forbidden: {why}")
        };
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(group, resource, name)
    }

    /// 422 `Invalid`, with a cause for every error.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let mut lines: Vec<String> = Vec::new();
        for error in errors {
            let line = format!("{}: {}", error.field, error.body());
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        let list = match lines.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{} {name:?} is invalid: {list}", qualified(kind, group));
        let details = Details {
            causes: errors.iter().map(FieldError::cause).collect(),
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            ..Details::default()
        };
        Self {
            details: Some(details),
            ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
        }
    }

    /// 400 `BadRequest`.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// 401 `Unauthorized`.
    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// 405 `MethodNotAllowed`, for the verb of a resource.
    pub(crate) fn method_not_supported(group: &str, resource: &str, verb: &str) -> Self {
        let message = format!(
            "{verb} is not supported on resources of kind {:?}",
            qualified(resource, group)
        );
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
            .about(group, resource, "")
    }

    /// 422 `Invalid` for a patch that does not apply. The message does not say why.
    pub(crate) fn rejected() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).about("", "", "")
    }

    /// 410 `Expired`.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// 500 `InternalError`.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        let message = message.into();
        let details = Details {
            causes: vec![Cause {
                message: message.clone(),
                ..Cause::default()
            }],
            ..Details::default()
        };
        let text = format!("Internal error occurred: {message}");
        Self {
            details: Some(details),
            ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", text)
        }
    }

    /// 500 without a reason, with an error message of etcd.
    pub(crate) fn of_storage(error: &dyn std::error::Error) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", error.to_string())
    }

    /// 501 for a feature of Kubernetes that devhub does not implement. The message names it.
    pub(crate) fn not_implemented(what: &str) -> Self {
        let message = format!(
            "devhub does not implement {what}; it is a hub for development, use a real one for this"
        );
        Self::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
    }

    /// The `Status` object.
    pub(crate) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code.as_u16(),
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.clone().into();
        }
        if let Some(details) = &self.details {
            status["details"] = json!(details);
        }
        status
    }
}
