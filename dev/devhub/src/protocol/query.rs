//! Reads and checks the parameters of requests as the API server does: unknown parameters are ignored, malformed ones are a 400,
//! and combinations that are not allowed are a 422 about an object of options.

use std::time::Duration;

use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::Value;

use crate::protocol::path::decode;
use crate::protocol::selectors::{FieldSelector, LabelSelector, Selection};
use crate::resources::Resource;
use crate::resources::builtin::fields::{self, not_supported};
use crate::status::{ApiError, FieldError};
use crate::writes::{DeleteOptions, FieldValidation, Propagation, WriteOptions};

/// How long a request other than a watch may take.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a write may take.
const WRITE_TIMEOUT: Duration = Duration::from_secs(34);

/// The most bytes of `fieldManager`.
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
        let number = text
            .parse::<i64>()
            .map_err(|error| ApiError::bad_request(format!("{key}: parsing {text:?}: {error}")))?;
        Ok(Some(number))
    }

    /// `timeout`: how long the client will wait, at most [`REQUEST_TIMEOUT`].
    ///
    /// # Errors
    /// 400 if the text is not a duration.
    pub(crate) fn timeout(&self) -> Result<Duration, ApiError> {
        let text = self.text("timeout");
        if matches!(text, "" | "0") {
            return Ok(REQUEST_TIMEOUT);
        }
        let asked = text.parse::<SignedDuration>().map_err(|error| {
            let why = format!("invalid timeout specified in the request URL - {error}");
            ApiError::bad_request(why)
        })?;
        // A wish that makes no sense is as good as none.
        let asked = Duration::try_from(asked).ok();
        let asked = asked.filter(|asked| !asked.is_zero());
        Ok(asked.unwrap_or(REQUEST_TIMEOUT).min(REQUEST_TIMEOUT))
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
        let matching = self.text("resourceVersionMatch");
        let (watch, initial) = (
            self.flag("watch").unwrap_or(false),
            options.send_initial_events.is_some(),
        );
        let (given, exact) = (!matching.is_empty(), matching == "Exact");
        let known = ["", "Exact", "NotOlderThan"].contains(&matching);
        let no_version = options.resource_version.is_empty();
        let of_zero = options.resource_version == "0";
        let continued = !options.continues.is_empty();
        let faults = [
            (
                watch && initial && matching != "NotOlderThan",
                "must be NotOlderThan for sendInitialEvents",
            ),
            (
                watch && !initial && given,
                "is forbidden for watch unless sendInitialEvents is provided",
            ),
            (
                !watch && given && no_version,
                "is forbidden unless resourceVersion is provided",
            ),
            (given && continued, "is forbidden when continue is provided"),
            (exact && of_zero, "Exact is forbidden for resourceVersion 0"),
        ];
        let mut errors: Vec<_> = faults
            .iter()
            .filter(|(is_wrong, _)| *is_wrong)
            .map(|(_, why)| FieldError::forbidden("resourceVersionMatch", *why))
            .collect();
        if !watch && initial {
            let why = "is forbidden for list";
            errors.push(FieldError::forbidden("sendInitialEvents", why));
        }
        if !known || watch && exact {
            let known = ["Exact", "NotOlderThan"];
            errors.push(not_supported("resourceVersionMatch", matching, &known));
        }
        options.matching = match matching {
            "Exact" => Some(VersionMatch::Exact),
            "NotOlderThan" => Some(VersionMatch::NotOlderThan),
            _ => None,
        };
        invalid_options("ListOptions", &errors)?;
        // A watch without a version begins with the stored objects, and a bookmark follows them.
        if options.watch && (no_version || of_zero) && !initial {
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
        let dry_run: Vec<&str> = self.all("dryRun").collect();
        let dry_run = check_dry_run(&dry_run, &mut errors);
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

/// `DeleteOptions` as they are sent.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SentOptions {
    #[serde(rename = "gracePeriodSeconds")]
    _grace_period_seconds: Option<i64>,
    orphan_dependents: Option<bool>,
    propagation_policy: Option<String>,
    preconditions: Option<SentPreconditions>,
    dry_run: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SentPreconditions {
    uid: Option<String>,
    resource_version: Option<String>,
}

impl Deletion {
    fn read(options: &Value) -> Result<Self, ApiError> {
        let sent = SentOptions::deserialize(options);
        let sent =
            sent.map_err(|error| ApiError::bad_request(format!("DeleteOptions: {error}")))?;
        let (orphan, policy) = (sent.orphan_dependents, sent.propagation_policy);
        let mut errors = Vec::new();
        if let (Some(_), Some(policy)) = (orphan, &policy) {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            let field = "propagationPolicy";
            errors.push(FieldError::invalid(field, policy.as_str(), why));
        }
        let propagation = match (policy.as_deref(), orphan) {
            (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
            (Some("Foreground"), _) => Some(Propagation::Foreground),
            (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
            (Some(other), _) => {
                let known = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(not_supported("propagationPolicy", other, &known));
                None
            }
            (None, None) => None,
        };
        let dry_run = check_dry_run(&sent.dry_run.unwrap_or_default(), &mut errors);
        invalid_options("DeleteOptions", &errors)?;
        let preconditions = sent.preconditions.unwrap_or_default();
        Ok(Self {
            options: DeleteOptions {
                propagation,
                uid: preconditions.uid,
                resource_version: preconditions.resource_version,
            },
            dry_run,
            accepted_when_waiting: orphan == Some(false),
        })
    }
}

/// Returns true if it is a dry run; the one value is `All`.
fn check_dry_run(values: &[impl AsRef<str>], errors: &mut Vec<FieldError>) -> bool {
    let other = values.iter().find(|value| value.as_ref() != "All");
    errors.extend(other.map(|other| not_supported("dryRun", other.as_ref(), &["All"])));
    !values.is_empty()
}

/// The field manager of a client that names none: the first part of its user agent.
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
        errors.push(fields::too_long("fieldManager", MANAGER_MAX));
    }
    let strange = |c: char| c.is_control() || c != ' ' && c.is_whitespace();
    if manager.contains(strange) {
        let why = "has an invalid character";
        errors.push(FieldError::invalid("fieldManager", manager, why));
    }
}

fn invalid_options(kind: &str, errors: &[FieldError]) -> Result<(), ApiError> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid("meta.k8s.io", kind, "", errors))
}

#[cfg(test)]
mod tests;
