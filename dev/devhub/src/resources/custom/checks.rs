//! Validates CustomResourceDefinitions. Kubernetes' style checks are left out.

use berth_api::names;
use serde_json::Value;

use super::{items_at, text, texts};
use crate::resources::builtin::fields::{duplicate, each_invalid, not_supported};
use crate::resources::schema::Schema;
use crate::status::FieldError;

pub(super) fn errors(definition: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let spec = &definition["spec"];
    let mut errors = Vec::new();
    naming(definition, old.is_none(), &mut errors);
    let versions = items_at(spec, "versions");
    for (index, version) in versions.iter().enumerate() {
        let at = format!("spec.versions[{index}]");
        let name = text(version, "name");
        label(&format!("{at}.name"), name, &mut errors);
        if versions[..index]
            .iter()
            .any(|other| text(other, "name") == name)
        {
            errors.push(duplicate(format!("{at}.name"), name));
        }
        let at = format!("{at}.schema.openAPIV3Schema");
        match version["schema"].get("openAPIV3Schema") {
            None => errors.push(FieldError::required(at, "")),
            Some(schema) => errors.extend(Schema::read(schema, &at).err().into_iter().flatten()),
        }
    }
    let storage = versions.iter().filter(|version| version["storage"] == true);
    if storage.count() != 1 {
        let words = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid("spec.versions", Value::Null, words));
    }
    for (index, name) in texts(&definition["status"]["storedVersions"])
        .iter()
        .enumerate()
    {
        if !versions.iter().any(|version| text(version, "name") == name) {
            let words = "missing from spec.versions, and objects may be stored in it";
            let at = format!("status.storedVersions[{index}]");
            errors.push(FieldError::invalid(at, name.as_str(), words));
        }
    }
    conversion(&spec["conversion"], &mut errors);
    if spec["preserveUnknownFields"] == true {
        let words = "cannot be true; set x-kubernetes-preserve-unknown-fields in the schema";
        errors.push(FieldError::invalid(
            "spec.preserveUnknownFields",
            true,
            words,
        ));
    }
    if let Some(old) = old {
        immutable(spec, old, &mut errors);
    }
    errors
}

/// A conversion webhook is accepted, and never called: only the stored version is served (see [`super::served`]).
fn conversion(conversion: &Value, errors: &mut Vec<FieldError>) {
    let at = "spec.conversion.strategy";
    let webhook = &conversion["webhook"];
    match text(conversion, "strategy") {
        "" | "None" if webhook.is_null() => {}
        "" | "None" => {
            let words = "should not be set when strategy is not set to Webhook";
            let at = "spec.conversion.webhookClientConfig";
            errors.push(FieldError::forbidden(at, words));
        }
        "Webhook" => {
            if webhook["clientConfig"].is_null() {
                let words = "required when strategy is set to Webhook";
                let at = "spec.conversion.webhookClientConfig";
                errors.push(FieldError::required(at, words));
            }
            if texts(&webhook["conversionReviewVersions"]).is_empty() {
                let at = "spec.conversion.conversionReviewVersions";
                errors.push(FieldError::required(at, ""));
            }
        }
        other => errors.push(not_supported(at, other, &["None", "Webhook"])),
    }
}

/// A DNS-1035 label, which begins with a letter.
fn label(at: &str, name: &str, errors: &mut Vec<FieldError>) {
    let mut wrong = names::dns1123_label(name);
    if wrong.is_empty() && name.starts_with(|c: char| c.is_ascii_digit()) {
        wrong.push("must start with a letter".to_owned());
    }
    errors.extend(each_invalid(at, name, wrong));
}

fn naming(definition: &Value, is_new: bool, errors: &mut Vec<FieldError>) {
    let spec = &definition["spec"];
    let (names, group) = (&spec["names"], text(spec, "group"));
    let name = text(&definition["metadata"], "name");
    if is_new && name != format!("{}.{group}", text(names, "plural")) {
        let words = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", name, words));
    }
    match names::dns1123_subdomain(group) {
        wrong if !wrong.is_empty() => errors.extend(each_invalid("spec.group", group, wrong)),
        _ if !group.contains('.') => {
            let words = "should be a domain with at least one dot";
            errors.push(FieldError::invalid("spec.group", group, words));
        }
        _ => {}
    }
    let scopes = ["Cluster", "Namespaced"];
    if !scopes.contains(&text(spec, "scope")) {
        errors.push(not_supported("spec.scope", text(spec, "scope"), &scopes));
    }
    for field in ["plural", "singular", "kind", "listKind"] {
        let at = format!("spec.names.{field}");
        match text(names, field) {
            "" => errors.push(FieldError::required(at, "")),
            name => label(&at, &name.to_lowercase(), errors),
        }
    }
    for field in ["shortNames", "categories"] {
        for (index, name) in texts(&names[field]).iter().enumerate() {
            label(&format!("spec.names.{field}[{index}]"), name, errors);
        }
    }
    if text(names, "kind") == text(names, "listKind") {
        let words = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(
            "spec.names.listKind",
            text(names, "kind"),
            words,
        ));
    }
}

/// The fields that decide where and how objects are stored do not change.
fn immutable(spec: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let is_established = items_at(&old["status"], "conditions")
        .iter()
        .any(|condition| {
            text(condition, "type") == "Established" && text(condition, "status") == "True"
        });
    for (path, only_established) in [
        ("/group", false),
        ("/names/plural", false),
        ("/scope", true),
        ("/names/kind", true),
    ] {
        let (is, was) = (spec.pointer(path), old["spec"].pointer(path));
        if is != was && (is_established || !only_established) {
            let at = format!("spec{}", path.replace('/', "."));
            let value = is.cloned().unwrap_or_default();
            errors.push(FieldError::invalid(at, value, "field is immutable"));
        }
    }
}
