//! The paths of a document, with what kubectl reads in them: kinds, actions, parameters, and the types of patches.

use serde_json::{Map, Value, json};

use crate::resources::{Resource, Verb};

const PATCHES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// `/api/v1`, `/apis/GROUP/VERSION`
pub(super) fn of_version(resource: &Resource) -> String {
    if resource.group.is_empty() {
        format!("/api/{}", resource.version)
    } else {
        format!("/apis/{}/{}", resource.group, resource.version)
    }
}

/// The paths of a resource.
pub(super) fn of(resource: &Resource) -> Vec<(String, Value)> {
    let base = of_version(resource);
    let plural = &resource.name;
    let below = match resource.namespaced {
        true => "/namespaces/{namespace}",
        false => "",
    };
    let collection = format!("{base}{below}/{plural}");
    let single = format!("{collection}/{{name}}");
    let own = [&resource.group, &resource.version, &resource.kind];
    let item = |verbs: &[Verb], of: &[Verb], target: [&String; 3]| {
        let verbs = of.iter().filter(|verb| verbs.contains(verb));
        let item: Map<_, _> = verbs
            .map(|&verb| operation(verb, resource.custom, target))
            .collect();
        Value::Object(item)
    };
    let many = [Verb::List, Verb::Create, Verb::DeleteCollection];
    let one = [Verb::Get, Verb::Update, Verb::Patch, Verb::Delete];
    let mut paths = vec![(collection, item(&resource.verbs, &many, own))];
    if resource.namespaced && resource.has_objects() {
        let everywhere = item(&resource.verbs, &[Verb::List], own);
        paths.push((format!("{base}/{plural}"), everywhere));
    }
    if resource.has_objects() {
        paths.push((single.clone(), item(&resource.verbs, &one, own)));
    }
    for part in &resource.subresources {
        let of_part = [Verb::Get, Verb::Create, Verb::Update, Verb::Patch];
        let target = match part.kind == resource.kind {
            true => own,
            false => [&part.group, &part.version, &part.kind],
        };
        let item = item(&part.verbs, &of_part, target);
        paths.push((format!("{single}/{}", part.name), item));
    }
    paths
}

/// What can be done at a path, under the method it is done by.
fn operation(verb: Verb, custom: bool, target: [&String; 3]) -> (String, Value) {
    let (method, action, parameters): (_, _, &[&str]) = match verb {
        Verb::Create => (
            "post",
            "post",
            &["dryRun", "fieldManager", "fieldValidation"],
        ),
        Verb::Update => ("put", "put", &["dryRun", "fieldManager", "fieldValidation"]),
        Verb::Patch => (
            "patch",
            "patch",
            &["dryRun", "fieldManager", "fieldValidation", "force"],
        ),
        Verb::Delete => ("delete", "delete", &["dryRun", "propagationPolicy"]),
        Verb::DeleteCollection => ("delete", "deletecollection", &["dryRun", "labelSelector"]),
        Verb::Get => ("get", "get", &[]),
        Verb::List | Verb::Watch => ("get", "list", &["fieldSelector", "labelSelector", "watch"]),
    };
    let parameters: Vec<_> = parameters
        .iter()
        .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string"}}))
        .collect();
    let [group, version, kind] = target;
    let mut json = json!({
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
    });
    if verb == Verb::Patch {
        let types = &PATCHES[..if custom { 3 } else { 4 }];
        let content: Map<_, _> = types
            .iter()
            .map(|&name| (name.to_owned(), json!({"schema": {"type": "object"}})))
            .collect();
        json["requestBody"] = json!({"content": content});
    }
    (method.to_owned(), json)
}
