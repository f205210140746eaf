//! Parameters of requests, read and checked as the API server does: what it does not know it ignores, what it cannot read is
//! a 400, and what does not go together is a 422 for an object of options.

use std::time::Duration;

use serde_json::Value;

use crate::protocol::path::decode;
use crate::protocol::selectors::{FieldSelector, LabelSelector, Selection};
use crate::resources::Resource;
use crate::status::{ApiError, FieldError, FieldErrorSort};
use crate::writes::{DeleteOptions, FieldValidation, Propagation, WriteOptions};

/// How long a request other than a watch may take.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a write may take.
const WRITE_TIMEOUT: Duration = Duration::from_secs(34);

/// `fieldManager` has at most so many bytes.
const MANAGER_MAX: usize = 128;

/// The parameters as they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

/// Parameters of lists and watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) selection: Selection,
    pub(crate) watch: bool,
    pub(crate) allow_bookmarks: bool,
    pub(crate) resource_version: String,
    pub(crate) matching: Option<VersionMatch>,
    pub(crate) timeout: Option<Duration>,
    /// None for no limit.
    pub(crate) limit: Option<usize>,
    pub(crate) continues: String,
    pub(crate) send_initial_events: Option<bool>,
}

/// `resourceVersionMatch`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionMatch {
    Exact,
    NotOlderThan,
}

/// `includeObject` of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    None,
    #[default]
    Metadata,
    Object,
}

/// Which options a write has; they differ in name, and in what is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteParameters {
    Create,
    Update,
    Patch,
    ApplyPatch,
}

impl Query {
    /// Reads the part of a URI after `?`. Pairs that are malformed are left out, as Go does.
    pub(crate) fn parse(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.contains(';'));
        let pairs = pairs.filter(|pair| !pair.is_empty()).filter_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(key, true)?, decode(value, true)?))
        });
        Self(pairs.collect())
    }

    /// The first value of a parameter.
    pub(crate) fn first(&self, key: &str) -> Option<&str> {
        self.all(key).next()
    }

    fn all(&self, key: &str) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter(move |(own, _)| own == key)
            .map(|(_, value)| value.as_str())
    }

    fn text(&self, key: &str) -> &str {
        self.first(key).unwrap_or_default()
    }

    /// A boolean parameter: everything but `0` and `false` is true, even the empty value.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        let value = self.first(key)?;
        Some(!(value == "0" || value.eq_ignore_ascii_case("false")))
    }

    fn integer(&self, key: &str) -> Result<Option<i64>, ApiError> {
        let Some(text) = self.first(key) else {
            return Ok(None);
        };
        let number = text.parse::<i64>().map_err(|error| {
            use std::num::IntErrorKind as Kind;
            let why = match error.kind() {
                Kind::PosOverflow | Kind::NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            ApiError::bad_request(format!("strconv.ParseInt: parsing {text:?}: {why}"))
        })?;
        Ok(Some(number))
    }

    /// `timeout`: how long the client will wait, at most [`REQUEST_TIMEOUT`].
    ///
    /// # Errors
    /// 400 for what is no duration.
    pub(crate) fn timeout(&self) -> Result<Duration, ApiError> {
        let text = self.text("timeout");
        if text.is_empty() {
            return Ok(REQUEST_TIMEOUT);
        }
        match go_duration(text) {
            Some(asked) if asked.is_zero() || asked > REQUEST_TIMEOUT => Ok(REQUEST_TIMEOUT),
            Some(asked) => Ok(asked),
            // The one wish that makes no sense: it is as good as none.
            None if text.starts_with('-') && go_duration(&text[1..]).is_some() => {
                Ok(REQUEST_TIMEOUT)
            }
            None => {
                let why = if text.bytes().all(|byte| byte.is_ascii_digit()) {
                    "missing unit in duration"
                } else {
                    "invalid duration"
                };
                Err(ApiError::bad_request(format!(
                    "invalid timeout specified in the request URL - time: {why} {text:?}"
                )))
            }
        }
    }

    /// Parameters of a list or a watch. `name` is that of the path, for watches of one object.
    ///
    /// # Errors
    /// 400 for what cannot be read, 422 for what does not go together.
    pub(crate) fn list_options(
        &self,
        resource: &Resource,
        name: &str,
        force_watch: bool,
    ) -> Result<ListOptions, ApiError> {
        let timeout = self.integer("timeoutSeconds")?;
        let limit = self.integer("limit")?;
        let labels =
            LabelSelector::parse(self.text("labelSelector")).map_err(ApiError::bad_request)?;
        let mut fields =
            FieldSelector::parse(self.text("fieldSelector")).map_err(ApiError::bad_request)?;
        let watch = self.flag("watch").unwrap_or(false);
        let mut options = ListOptions {
            watch: watch || force_watch,
            allow_bookmarks: self.flag("allowWatchBookmarks").unwrap_or(false),
            resource_version: self.text("resourceVersion").to_owned(),
            timeout: timeout
                .and_then(|seconds| u64::try_from(seconds).ok())
                .filter(|&seconds| seconds > 0)
                .map(Duration::from_secs),
            limit: limit
                .and_then(|limit| usize::try_from(limit).ok())
                .filter(|&limit| limit > 0),
            continues: self.text("continue").to_owned(),
            send_initial_events: self.flag("sendInitialEvents"),
            ..ListOptions::default()
        };
        self.check_versions(&mut options)?;
        fields.check(resource).map_err(ApiError::bad_request)?;
        if !name.is_empty() {
            match fields.required("metadata.name") {
                Some(selected) if selected == name => {}
                None if fields.is_empty() => fields = FieldSelector::name(name),
                _ => {
                    let why = "fieldSelector metadata.name doesn't match requested name";
                    return Err(ApiError::bad_request(why));
                }
            }
        }
        options.selection = Selection { labels, fields };
        Ok(options)
    }

    fn check_versions(&self, options: &mut ListOptions) -> Result<(), ApiError> {
        const EXACT: &str = "Exact";
        const NOT_OLDER: &str = "NotOlderThan";
        let matching = self.text("resourceVersionMatch");
        let forbidden = |field: &str, why: &str| FieldError::forbidden(field, why);
        let mut errors = Vec::new();
        if self.flag("watch").unwrap_or(false) {
            if options.send_initial_events.is_some() && matching != NOT_OLDER {
                let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                errors.push(forbidden("resourceVersionMatch", why));
            }
            if !matching.is_empty() {
                if options.send_initial_events.is_none() {
                    let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                    errors.push(forbidden("resourceVersionMatch", why));
                }
                if matching != NOT_OLDER {
                    errors.push(not_supported(
                        "resourceVersionMatch",
                        matching,
                        &[NOT_OLDER],
                    ));
                }
                if !options.continues.is_empty() {
                    let why = "resourceVersionMatch is forbidden when continue is provided";
                    errors.push(forbidden("resourceVersionMatch", why));
                }
            }
        } else {
            if !matching.is_empty() {
                if options.resource_version.is_empty() {
                    let why =
                        "resourceVersionMatch is forbidden unless resourceVersion is provided";
                    errors.push(forbidden("resourceVersionMatch", why));
                }
                if !options.continues.is_empty() {
                    let why = "resourceVersionMatch is forbidden when continue is provided";
                    errors.push(forbidden("resourceVersionMatch", why));
                }
                if matching != EXACT && matching != NOT_OLDER {
                    let known = [EXACT, NOT_OLDER, ""];
                    errors.push(not_supported("resourceVersionMatch", matching, &known));
                }
                if matching == EXACT && options.resource_version == "0" {
                    let why =
                        "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                    errors.push(forbidden("resourceVersionMatch", why));
                }
            }
            if options.send_initial_events.is_some() {
                let why = "sendInitialEvents is forbidden for list";
                errors.push(forbidden("sendInitialEvents", why));
            }
        }
        options.matching = match matching {
            EXACT => Some(VersionMatch::Exact),
            NOT_OLDER => Some(VersionMatch::NotOlderThan),
            _ => None,
        };
        invalid_options("ListOptions", &errors)?;
        // A watch from anywhere begins with what is there, and says when that has been told.
        let from_anywhere = matches!(options.resource_version.as_str(), "" | "0");
        if options.watch && from_anywhere && options.send_initial_events.is_none() {
            options.send_initial_events = Some(true);
        }
        Ok(())
    }

    /// Parameters of a creation, update or patch. `timeout` is that of the request.
    ///
    /// # Errors
    /// 422 for what cannot be.
    pub(crate) fn write_options(
        &self,
        parameters: WriteParameters,
        user_agent: &str,
        timeout: Duration,
    ) -> Result<WriteOptions, ApiError> {
        use WriteParameters as P;
        let manager = self.text("fieldManager");
        let force = self.flag("force");
        let mut errors = Vec::new();
        match parameters {
            P::ApplyPatch if manager.is_empty() => {
                errors.push(FieldError::required(
                    "fieldManager",
                    "is required for apply patch",
                ));
            }
            P::Patch if force.is_some() => {
                let why = "may not be specified for non-apply patch";
                errors.push(FieldError::forbidden("force", why));
            }
            _ => {}
        }
        check_manager(manager, &mut errors);
        let dry_run = self.dry_run(&mut errors);
        let field_validation = match self.text("fieldValidation") {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let known = ["", "Ignore", "Strict", "Warn"];
                errors.push(not_supported("fieldValidation", other, &known));
                FieldValidation::Warn
            }
        };
        let kind = match parameters {
            P::Create => "CreateOptions",
            P::Update => "UpdateOptions",
            P::Patch | P::ApplyPatch => "PatchOptions",
        };
        invalid_options(kind, &errors)?;
        let field_validation_parameter =
            (!self.text("fieldValidation").is_empty()).then_some(field_validation);
        let field_manager = if manager.is_empty() {
            manager_of(user_agent)
        } else {
            manager.to_owned()
        };
        Ok(WriteOptions {
            dry_run,
            field_manager,
            field_validation,
            field_manager_parameter: (!manager.is_empty()).then(|| manager.to_owned()),
            field_validation_parameter,
            force: force.unwrap_or(false),
            timeout: timeout.min(WRITE_TIMEOUT),
        })
    }

    fn dry_run(&self, errors: &mut Vec<FieldError>) -> bool {
        let values: Vec<&str> = self.all("dryRun").collect();
        if values.iter().any(|&value| value != "All") {
            let values: Value = values.iter().copied().collect();
            errors.push(FieldError::new(
                FieldErrorSort::NotSupported,
                "dryRun",
                values,
                "supported values: \"All\"",
            ));
        }
        !values.is_empty()
    }

    /// `DeleteOptions`: those of the body, or without one those of the query. Also whether it is a dry run, and whether
    /// the deprecated `orphanDependents=false` was given, for which a deletion that waits is answered with 202.
    ///
    /// # Errors
    /// 400 for what cannot be read, 422 for what cannot be.
    pub(crate) fn delete_options(&self, body: Option<&Value>) -> Result<Deletion, ApiError> {
        let from_query;
        let options = match body {
            Some(body) => body,
            None => {
                from_query = self.delete_options_in_query()?;
                &from_query
            }
        };
        Deletion::read(options)
    }

    fn delete_options_in_query(&self) -> Result<Value, ApiError> {
        let mut options = serde_json::Map::new();
        if let Some(seconds) = self.integer("gracePeriodSeconds")? {
            options.insert("gracePeriodSeconds".into(), seconds.into());
        }
        if let Some(orphan) = self.flag("orphanDependents") {
            options.insert("orphanDependents".into(), orphan.into());
        }
        if let Some(policy) = self.first("propagationPolicy") {
            options.insert("propagationPolicy".into(), policy.into());
        }
        let dry_run: Value = self.all("dryRun").collect();
        options.insert("dryRun".into(), dry_run);
        let mut preconditions = serde_json::Map::new();
        for key in ["uid", "resourceVersion"] {
            if !self.text(key).is_empty() {
                preconditions.insert(key.into(), self.text(key).into());
            }
        }
        if !preconditions.is_empty() {
            options.insert("preconditions".into(), preconditions.into());
        }
        Ok(options.into())
    }

    /// `includeObject` of a table.
    ///
    /// # Errors
    /// 400 for an unknown value.
    pub(crate) fn include_object(&self) -> Result<IncludeObject, ApiError> {
        match self.text("includeObject") {
            "" | "Metadata" => Ok(IncludeObject::Metadata),
            "Object" => Ok(IncludeObject::Object),
            "None" => Ok(IncludeObject::None),
            other => {
                let why = "must be 'Metadata', 'Object', 'None', or empty";
                let error = FieldError::invalid("includeObject", other, why);
                Err(ApiError::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: {}",
                    error.body()
                )))
            }
        }
    }
}

/// How to delete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deletion {
    /// For the writer.
    pub(crate) options: DeleteOptions,
    /// Nothing is committed.
    pub(crate) dry_run: bool,
    /// A deletion that waits is answered with 202.
    pub(crate) accepted_when_waiting: bool,
}

impl Deletion {
    fn read(options: &Value) -> Result<Self, ApiError> {
        let unreadable = |field: &str, got: &Value, wanted: &str| {
            let sort = match got {
                Value::Null => "null",
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            };
            ApiError::bad_request(format!(
                "json: cannot unmarshal {sort} into Go struct field DeleteOptions.{field} of type {wanted}"
            ))
        };
        let text = |value: &Value, field: &str| match value {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.clone())),
            other => Err(unreadable(field, other, "string")),
        };
        let at = |pointer: &str| options.pointer(pointer).unwrap_or(&Value::Null);
        match at("/gracePeriodSeconds") {
            Value::Null => {}
            Value::Number(number) if number.is_i64() => {}
            other => return Err(unreadable("gracePeriodSeconds", other, "int64")),
        }
        let orphan = match at("/orphanDependents") {
            Value::Null => None,
            Value::Bool(orphan) => Some(*orphan),
            other => return Err(unreadable("orphanDependents", other, "bool")),
        };
        let policy = text(at("/propagationPolicy"), "propagationPolicy")?;
        let mut errors = Vec::new();
        if orphan.is_some()
            && let Some(policy) = &policy
        {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(FieldError::invalid(
                "propagationPolicy",
                policy.as_str(),
                why,
            ));
        }
        let propagation = match (policy.as_deref(), orphan) {
            (Some("Background"), _) => Some(Propagation::Background),
            (Some("Foreground"), _) => Some(Propagation::Foreground),
            (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
            (Some(other), _) => {
                let known = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(not_supported("propagationPolicy", other, &known));
                None
            }
            (None, Some(false)) => Some(Propagation::Background),
            (None, None) => None,
        };
        let dry_run = match at("/dryRun") {
            Value::Null => false,
            Value::Array(values) => {
                if values.iter().any(|value| value != "All") {
                    let detail = "supported values: \"All\"";
                    let values = Value::Array(values.clone());
                    errors.push(FieldError::new(
                        FieldErrorSort::NotSupported,
                        "dryRun",
                        values,
                        detail,
                    ));
                }
                !values.is_empty()
            }
            other => return Err(unreadable("dryRun", other, "[]string")),
        };
        invalid_options("DeleteOptions", &errors)?;
        Ok(Self {
            options: DeleteOptions {
                propagation,
                uid: text(at("/preconditions/uid"), "preconditions.uid")?,
                resource_version: text(
                    at("/preconditions/resourceVersion"),
                    "preconditions.resourceVersion",
                )?,
            },
            dry_run,
            accepted_when_waiting: orphan == Some(false),
        })
    }
}

/// Who owns the fields that a client writes without saying who it is: the first part of its user agent.
fn manager_of(user_agent: &str) -> String {
    let first = user_agent.split('/').next().unwrap_or_default();
    let printable = first.chars().filter(|character| !character.is_control());
    let mut manager = String::new();
    for character in printable {
        if manager.len() + character.len_utf8() > MANAGER_MAX {
            break;
        }
        manager.push(character);
    }
    if manager.is_empty() {
        return "unknown".to_owned();
    }
    manager
}

fn check_manager(manager: &str, errors: &mut Vec<FieldError>) {
    if manager.len() > MANAGER_MAX {
        let why = format!("may not be more than {MANAGER_MAX} bytes");
        errors.push(FieldError::new(
            FieldErrorSort::TooLong,
            "fieldManager",
            None,
            why,
        ));
    }
    for (at, character) in manager.char_indices() {
        let is_printable =
            !character.is_control() && (character == ' ' || !character.is_whitespace());
        if !is_printable {
            let why = format!(
                "invalid character U+{:04X} (at position {at})",
                u32::from(character)
            );
            errors.push(FieldError::invalid("fieldManager", manager, why));
        }
    }
}

fn not_supported(field: &str, value: &str, known: &[&str]) -> FieldError {
    let known: Vec<String> = known.iter().map(|value| format!("{value:?}")).collect();
    let detail = format!("supported values: {}", known.join(", "));
    FieldError::new(
        FieldErrorSort::NotSupported,
        field,
        Value::from(value),
        detail,
    )
}

fn invalid_options(kind: &str, errors: &[FieldError]) -> Result<(), ApiError> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid("meta.k8s.io", kind, "", errors))
}

/// A duration as Go writes it: `1h2m3.5s`. None for what is none, and for negative ones.
fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|character: char| !(character.is_ascii_digit() || character == '.'))
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let number: f64 = number.parse().ok()?;
        let length = tail
            .find(|character: char| character.is_ascii_digit() || character == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(length);
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        rest = tail;
    }
    Some(total)
}

#[cfg(test)]
mod tests;
