//! What may be wrong with a CustomResourceDefinition, in kube-apiserver's words and order.
//!
//! kube-apiserver looks at another form of it, in which what all versions have in common stands above them. Paths in errors
//! are those of that form.

use std::collections::BTreeSet;

use berth_api::names;
use regex::Regex;
use serde_json::{Map, Value};

use super::{text, texts};
use crate::resources::schema::{Schema, Type};
use crate::status::{FieldError, FieldErrorSort};

const APPROVAL: &str = "api-approved.kubernetes.io";
const IMMUTABLE: &str = "field is immutable";
const DNS1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];
/// How many selectable fields a version can have.
const MOST_SELECTABLE: usize = 8;

pub(super) fn errors(definition: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (metadata, spec) = (&definition["metadata"], &definition["spec"]);
    let plural = text(&spec["names"], "plural");
    let name = text(metadata, "name");
    if old.is_none() && name != format!("{plural}.{}", text(spec, "group")) {
        let words = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", name, words));
    }
    group(spec, &mut errors);
    versions(spec, &mut errors);
    all_names(&spec["names"], &mut errors);
    common(spec, &mut errors);
    conversion(&spec["conversion"], &mut errors);
    if let Some(old) = old {
        immutable(spec, old, &mut errors);
    }
    stored_versions(definition, &mut errors);
    approval(metadata, text(spec, "group"), old, &mut errors);
    if spec["preserveUnknownFields"] == true {
        let words = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid(
            "spec.preserveUnknownFields",
            true,
            words,
        ));
    }
    errors
}

fn not_supported(at: &str, value: &str, supported: &[&str]) -> FieldError {
    let names: Vec<String> = supported.iter().map(|name| format!("{name:?}")).collect();
    let words = format!("supported values: {}", names.join(", "));
    FieldError::new(FieldErrorSort::NotSupported, at, Value::from(value), words)
}

/// What is wrong with a DNS-1035 label.
fn label(text: &str) -> Option<String> {
    let is_label =
        names::is_dns1123_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase());
    if is_label {
        return None;
    }
    let too_long = (text.len() > 63).then_some("must be no more than 63 characters");
    // Only the length is wrong when a label of that sort begins it.
    let start: String = text.chars().take(63).collect();
    let is_long_label = too_long.is_some()
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && label(start.trim_end_matches('-')).is_none();
    let wrong: Vec<&str> = too_long
        .into_iter()
        .chain((!is_long_label).then_some(DNS1035))
        .collect();
    Some(wrong.join(","))
}

fn group(spec: &Value, errors: &mut Vec<FieldError>) {
    let group = text(spec, "group");
    let wrong = names::dns1123_subdomain(group);
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if !wrong.is_empty() {
        errors.push(FieldError::invalid("spec.group", group, wrong.join(",")));
    } else if !group.contains('.') {
        let words = "should be a domain with at least one dot";
        errors.push(FieldError::invalid("spec.group", group, words));
    }
    match text(spec, "scope") {
        "" => errors.push(FieldError::required("spec.scope", "")),
        "Cluster" | "Namespaced" => {}
        other => errors.push(not_supported(
            "spec.scope",
            other,
            &["Cluster", "Namespaced"],
        )),
    }
}

fn list_of<'a>(json: &'a Value, name: &str) -> &'a [Value] {
    json.get(name)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// What every version has, and all have alike.
fn alike<'a>(spec: &'a Value, name: &str) -> Option<&'a Value> {
    let mut values = list_of(spec, "versions")
        .iter()
        .map(|version| version.get(name));
    let first = values.next()??;
    let is_empty = first.as_array().is_some_and(Vec::is_empty);
    (!is_empty && values.all(|value| value == Some(first))).then_some(first)
}

fn versions(spec: &Value, errors: &mut Vec<FieldError>) {
    let versions = list_of(spec, "versions");
    for (index, version) in versions.iter().enumerate() {
        if version["schema"].get("openAPIV3Schema").is_none() {
            let at = format!("spec.versions[{index}].schema.openAPIV3Schema");
            errors.push(FieldError::required(at, ""));
        }
    }
    let mut seen = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        let at = format!("spec.versions[{index}]");
        let name = text(version, "name");
        seen.insert(name);
        if let Some(wrong) = label(name) {
            errors.push(FieldError::invalid(format!("{at}.name"), name, wrong));
        }
        deprecation(version, &at, errors);
        let own = |name: &str| version.get(name).filter(|_| alike(spec, name).is_none());
        let has_status = version["subresources"].get("status").is_some();
        if let Some(schema) = own("schema").and_then(|schema| schema.get("openAPIV3Schema")) {
            schema_errors(
                schema,
                &format!("{at}.schema.openAPIV3Schema"),
                has_status,
                errors,
            );
        }
        if let Some(subresources) = own("subresources") {
            scale(subresources, &format!("{at}.subresources"), errors);
        }
        if let Some(list) = own("additionalPrinterColumns") {
            columns(list, &format!("{at}.additionalPrinterColumns"), errors);
        }
        if let Some(list) = own("selectableFields") {
            let schema = &version["schema"]["openAPIV3Schema"];
            selectable(list, schema, &format!("{at}.selectableFields"), errors);
        }
    }
    let mut about_all = |words: &str| {
        let shown = spec.get("versions").map_or(Value::Null, internal);
        errors.push(FieldError::invalid("spec.versions", shown, words));
    };
    if seen.len() != versions.len() {
        about_all("must contain unique version names");
    }
    let storage = versions.iter().filter(|version| version["storage"] == true);
    if storage.count() != 1 {
        about_all("must have exactly one version marked as storage version");
    }
}

/// Versions in an error: what tells them apart. kube-apiserver prints pages of its own structures.
fn internal(versions: &Value) -> Value {
    let versions = versions.as_array().into_iter().flatten();
    versions
        .map(|version| {
            let fields = ["name", "served", "storage"];
            let fields = fields.iter().map(|&name| {
                let (first, rest) = name.split_at(1);
                let value = version.get(name).cloned().unwrap_or_default();
                (format!("{}{rest}", first.to_uppercase()), value)
            });
            Value::Object(fields.collect::<Map<_, _>>())
        })
        .collect()
}

fn deprecation(version: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else {
        return;
    };
    let words = if version["deprecated"] != true {
        "can only be set for deprecated versions"
    } else if warning.len() > 256 {
        "must be <= 256 characters long"
    } else if warning.is_empty() {
        "must not be an empty string"
    } else if warning.contains(char::is_control) {
        "must only contain printable UTF-8 characters"
    } else {
        return;
    };
    errors.push(FieldError::invalid(
        format!("{at}.deprecationWarning"),
        warning,
        words,
    ));
}

/// What stands above the versions.
fn common(spec: &Value, errors: &mut Vec<FieldError>) {
    let any_status = list_of(spec, "versions")
        .iter()
        .any(|version| version["subresources"].get("status").is_some());
    let schema = alike(spec, "schema").and_then(|schema| schema.get("openAPIV3Schema"));
    if let Some(schema) = schema {
        schema_errors(
            schema,
            "spec.validation.openAPIV3Schema",
            any_status,
            errors,
        );
    }
    if let Some(subresources) = alike(spec, "subresources") {
        scale(subresources, "spec.subresources", errors);
    }
    if let Some(list) = alike(spec, "additionalPrinterColumns") {
        columns(list, "spec.additionalPrinterColumns", errors);
    }
    if let (Some(list), Some(schema)) = (alike(spec, "selectableFields"), schema) {
        selectable(list, schema, "spec.selectableFields", errors);
    }
}

fn schema_errors(schema: &Value, at: &str, has_status: bool, errors: &mut Vec<FieldError>) {
    if has_status {
        // Status is checked by itself, so that nothing above it may say what it is.
        const ELSEWHERE: [&str; 9] = [
            "default",
            "enum",
            "maxProperties",
            "minProperties",
            "allOf",
            "oneOf",
            "anyOf",
            "not",
            "additionalProperties",
        ];
        let kind = text(schema, "type");
        if kind != "object" && !kind.is_empty() {
            let words = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
            errors.push(FieldError::invalid(format!("{at}.type"), kind, words));
        } else if ELSEWHERE.iter().any(|name| schema.get(name).is_some()) {
            let words = "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource is enabled";
            errors.push(FieldError::invalid(at, schema.clone(), words));
        }
    }
    if schema["nullable"] == true {
        let words = "nullable cannot be true at the root";
        errors.push(FieldError::forbidden(format!("{at}.nullable"), words));
    }
    errors.extend(Schema::read(schema, at).err().into_iter().flatten());
}

/// What is wrong with a path of fields.
fn path(path: &str, at: &str) -> Option<FieldError> {
    if path.starts_with('.') {
        return None;
    }
    let words = "must be a simple json path starting with .";
    Some(FieldError::invalid(at, path, words))
}

fn scale(subresources: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let Some(scale) = subresources.get("scale") else {
        return;
    };
    for (name, below) in [
        ("specReplicasPath", ".spec"),
        ("statusReplicasPath", ".status"),
    ] {
        let at = format!("{at}.scale.{name}");
        let value = text(scale, name);
        if value.is_empty() {
            errors.push(FieldError::required(at, ""));
        } else if let Some(wrong) = path(value, &at) {
            errors.push(wrong);
        } else if !value.starts_with(&format!("{below}.")) {
            let words = format!("should be a json path under {below}");
            errors.push(FieldError::invalid(at, value, words));
        }
    }
    let selector = text(scale, "labelSelectorPath");
    if !selector.is_empty() && !selector.starts_with(".spec.") && !selector.starts_with(".status.")
    {
        let at = format!("{at}.scale.labelSelectorPath");
        let words = "should be a json path under either .spec or .status";
        errors
            .push(path(selector, &at).unwrap_or_else(|| FieldError::invalid(&at, selector, words)));
    }
}

fn columns(list: &Value, at: &str, errors: &mut Vec<FieldError>) {
    for (index, column) in list.as_array().into_iter().flatten().enumerate() {
        let at = format!("{at}[{index}]");
        if text(column, "name").is_empty() {
            errors.push(FieldError::required(format!("{at}.name"), ""));
        }
        let kind = text(column, "type");
        let words = format!("must be one of {}", COLUMN_TYPES.join(","));
        if kind.is_empty() {
            errors.push(FieldError::required(format!("{at}.type"), words));
        } else if !COLUMN_TYPES.contains(&kind) {
            errors.push(FieldError::invalid(format!("{at}.type"), kind, words));
        }
        let format = text(column, "format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let words = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.push(FieldError::invalid(format!("{at}.format"), format, words));
        }
        let at = format!("{at}.JSONPath");
        match text(column, "jsonPath") {
            "" => errors.push(FieldError::required(at, "")),
            value => errors.extend(path(value, &at)),
        }
    }
}

fn selectable(list: &Value, schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let schema = Schema::as_it_is(schema);
    let mut seen = BTreeSet::new();
    for (index, field) in list.as_array().into_iter().flatten().enumerate() {
        let at = format!("{at}[{index}].jsonPath");
        let value = text(field, "jsonPath");
        if value.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        let found = match selected(&schema, value) {
            Ok(found) => found,
            Err(why) => {
                let words = format!("is an invalid path: {why}");
                errors.push(FieldError::invalid(at, value, words));
                continue;
            }
        };
        if value == ".metadata" || value.starts_with(".metadata.") {
            let words = "must not point to fields in metadata";
            errors.push(FieldError::invalid(&at, value, words));
        }
        if !matches!(found.r#type, Type::String | Type::Boolean | Type::Integer) {
            let words = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
            errors.push(FieldError::invalid(&at, value, words));
        }
        if !seen.insert(value) {
            errors.push(FieldError::new(
                FieldErrorSort::Duplicate,
                at,
                Value::from(value),
                "",
            ));
        }
    }
    if seen.len() > MOST_SELECTABLE {
        let words = format!("must have at most {MOST_SELECTABLE} items");
        errors.push(FieldError::new(
            FieldErrorSort::TooMany,
            at,
            Value::from(seen.len()),
            words,
        ));
    }
}

/// The schema at a path such as `.spec.name`.
fn selected<'a>(schema: &'a Schema, path: &str) -> Result<&'a Schema, String> {
    if path.contains('[') {
        return Err("array notation is not allowed".to_owned());
    }
    let Some(fields) = path.strip_prefix('.') else {
        let start = path.split('.').next().unwrap_or_default();
        return Err(format!("expected [ or . but got: {start}"));
    };
    fields.split('.').try_fold(schema, |schema, name| {
        schema
            .child(name)
            .ok_or_else(|| "does not refer to a valid field".to_owned())
    })
}

fn all_names(json: &Value, errors: &mut Vec<FieldError>) {
    for name in ["plural", "singular", "kind", "listKind"] {
        if text(json, name).is_empty() {
            errors.push(FieldError::required(format!("spec.names.{name}"), ""));
        }
    }
    let mut check = |at: String, name: &str, is_kind: bool| {
        let lower = if is_kind {
            name.to_lowercase()
        } else {
            name.to_owned()
        };
        if let Some(wrong) = label(&lower).filter(|_| !name.is_empty()) {
            let mixed = "may have mixed case, but should otherwise match: ";
            let words = format!("{}{wrong}", if is_kind { mixed } else { "" });
            errors.push(FieldError::invalid(format!("spec.names.{at}"), name, words));
        }
    };
    for (name, is_kind) in [
        ("plural", false),
        ("singular", false),
        ("kind", true),
        ("listKind", true),
    ] {
        check(name.to_owned(), text(json, name), is_kind);
    }
    for (index, name) in texts(&json["shortNames"]).iter().enumerate() {
        check(format!("shortNames[{index}]"), name, false);
    }
    let (kind, list_kind) = (text(json, "kind"), text(json, "listKind"));
    if !kind.is_empty() && kind == list_kind {
        let words = "kind and listKind may not be the same";
        errors.push(FieldError::invalid("spec.names.listKind", list_kind, words));
    }
    for (index, name) in texts(&json["categories"]).iter().enumerate() {
        if let Some(wrong) = label(name) {
            let at = format!("spec.names.categories[{index}]");
            errors.push(FieldError::invalid(at, name.as_str(), wrong));
        }
    }
}

fn conversion(json: &Value, errors: &mut Vec<FieldError>) {
    let at = "spec.conversion.strategy";
    match text(json, "strategy") {
        "" if json.is_null() => {}
        "" => errors.push(FieldError::required(at, "")),
        "None" => {
            let webhook = &json["webhook"];
            let words = "should not be set when strategy is not set to Webhook";
            if webhook.get("clientConfig").is_some() {
                errors.push(FieldError::forbidden(
                    "spec.conversion.webhookClientConfig",
                    words,
                ));
            }
            if !list_of(webhook, "conversionReviewVersions").is_empty() {
                errors.push(FieldError::forbidden(
                    "spec.conversion.conversionReviewVersions",
                    words,
                ));
            }
        }
        // Kubernetes has it; devhub says that it has not.
        "Webhook" => {
            let words = "devhub does not implement conversion by webhooks; versions of one kind must look alike (\"None\")";
            errors.push(FieldError::forbidden(at, words));
        }
        other => errors.push(not_supported(at, other, &["None", "Webhook"])),
    }
}

/// What is part of where objects are stored does not change.
fn immutable(spec: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let was = &old["spec"];
    let conditions = list_of(&old["status"], "conditions");
    let is_established = conditions.iter().any(|condition| {
        text(condition, "type") == "Established" && text(condition, "status") == "True"
    });
    let mut same = |at: &str, is: &str, was: &str| {
        if is != was {
            errors.push(FieldError::invalid(format!("spec.{at}"), is, IMMUTABLE));
        }
    };
    let (names, old_names) = (&spec["names"], &was["names"]);
    if is_established {
        same("scope", text(spec, "scope"), text(was, "scope"));
        same("names.kind", text(names, "kind"), text(old_names, "kind"));
    }
    same("group", text(spec, "group"), text(was, "group"));
    same(
        "names.plural",
        text(names, "plural"),
        text(old_names, "plural"),
    );
}

fn stored_versions(definition: &Value, errors: &mut Vec<FieldError>) {
    let versions = list_of(&definition["spec"], "versions");
    let stored = &definition["status"]["storedVersions"];
    let at = "status.storedVersions";
    let names = texts(stored);
    if names.is_empty() {
        // Set from the version that is stored; without one there is an error already, and another one.
        let any = versions.iter().any(|version| version["storage"] == true);
        if !any {
            let words = "must have at least one stored version";
            errors.push(FieldError::invalid(at, Value::Null, words));
        }
        return;
    }
    for (index, name) in names.iter().enumerate() {
        if !versions.iter().any(|version| text(version, "name") == name) {
            let words = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            );
            errors.push(FieldError::invalid(
                format!("{at}[{index}]"),
                name.as_str(),
                words,
            ));
        }
    }
}

/// Groups of the Kubernetes community are not for everybody.
fn approval(metadata: &Value, group: &str, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.ends_with(&format!(".{domain}")));
    let of = |metadata: &Value| metadata["annotations"].get(APPROVAL).cloned();
    let annotation = of(metadata);
    if !is_protected || old.is_some_and(|old| of(&old["metadata"]) == annotation) {
        return;
    }
    let at = format!("metadata.annotations[{APPROVAL}]");
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let start = format!("protected groups must have approval annotation {APPROVAL:?}");
    let is_url = |text: &str| Regex::new("^https?://[^/]+").is_ok_and(|url| url.is_match(text));
    match annotation.as_ref().and_then(Value::as_str) {
        None | Some("") => errors.push(FieldError::required(at, format!("{start}, {see}"))),
        Some(text) if text.starts_with("unapproved") || is_url(text) => {}
        Some(text) => {
            let words = format!(
                "{start} with either a URL or a reason starting with \"unapproved\", {see}"
            );
            errors.push(FieldError::invalid(at, text, words));
        }
    }
}

/// Formats in a definition's schemas that nobody checks, each once.
pub(super) fn unknown_formats(definition: &Value) -> BTreeSet<String> {
    let mut unknown = BTreeSet::new();
    for version in list_of(&definition["spec"], "versions") {
        let schema = Schema::as_it_is(&version["schema"]["openAPIV3Schema"]);
        schema.each(&mut |schema| {
            if !schema.format.is_empty() && !schema.checks_format() {
                unknown.insert(schema.format.clone());
            }
        });
    }
    unknown
}
