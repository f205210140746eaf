//! The paths, with what kubectl looks for in them: kinds, actions, parameters, and the types of patches.

use serde_json::{Map, Value, json};

use super::{Dialect, components};
use crate::resources::{Resource, Subresource, Verb};

/// Parameters that are written as text, unless they are here.
const BOOLEANS: [&str; 4] = ["allowWatchBookmarks", "force", "sendInitialEvents", "watch"];
const INTEGERS: [&str; 3] = ["gracePeriodSeconds", "limit", "timeoutSeconds"];

const LIST: [&str; 10] = [
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
];
const WRITE: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];
const PATCH: [&str; 4] = ["dryRun", "fieldManager", "fieldValidation", "force"];
const DELETE: [&str; 3] = ["dryRun", "gracePeriodSeconds", "propagationPolicy"];
const DELETE_COLLECTION: [&str; 6] = [
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "labelSelector",
    "limit",
    "propagationPolicy",
];

/// Something that can be done at a path.
struct Operation {
    method: &'static str,
    /// `x-kubernetes-action`
    action: &'static str,
    parameters: &'static [&'static str],
    /// How the operation's name begins, and ends.
    id: (&'static str, String),
    /// Whether the namespace is part of the path.
    namespaced: bool,
}

/// `/api/v1`, `/apis/GROUP/VERSION`
pub(super) fn of_version(resource: &Resource) -> String {
    if resource.group.is_empty() {
        format!("/api/{}", resource.version)
    } else {
        format!("/apis/{}/{}", resource.group, resource.version)
    }
}

/// The paths of a resource.
pub(super) fn of(resource: &Resource, dialect: Dialect) -> Vec<(String, Value)> {
    let base = of_version(resource);
    let plural = &resource.name;
    let namespaced = resource.namespaced;
    let mut paths = Vec::new();
    let below = if namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let has = |verb: Verb| resource.verbs.contains(&verb);
    let operation = |method, action, parameters, (start, end): (_, &str)| Operation {
        method,
        action,
        parameters,
        id: (start, end.to_owned()),
        namespaced,
    };
    let whole = target(resource);
    if namespaced && has(Verb::List) {
        let everywhere = Operation {
            namespaced: false,
            ..operation("get", "list", &LIST, ("list", "ForAllNamespaces"))
        };
        paths.push((
            format!("{base}/{plural}"),
            item(resource, &whole, &[], [everywhere], dialect),
        ));
    }
    let names: &[&str] = if namespaced { &["namespace"] } else { &[] };
    let collection = [
        has(Verb::List).then(|| operation("get", "list", &LIST, ("list", ""))),
        has(Verb::Create).then(|| operation("post", "post", &WRITE, ("create", ""))),
        has(Verb::DeleteCollection).then(|| {
            operation(
                "delete",
                "deletecollection",
                &DELETE_COLLECTION,
                ("deleteCollection", ""),
            )
        }),
    ];
    let collection = item(
        resource,
        &whole,
        names,
        collection.into_iter().flatten(),
        dialect,
    );
    paths.push((format!("{base}{below}/{plural}"), collection));

    let names: &[&str] = if namespaced {
        &["name", "namespace"]
    } else {
        &["name"]
    };
    let single = [
        has(Verb::Get).then(|| operation("get", "get", &[], ("read", ""))),
        has(Verb::Update).then(|| operation("put", "put", &WRITE, ("replace", ""))),
        has(Verb::Patch).then(|| operation("patch", "patch", &PATCH, ("patch", ""))),
        has(Verb::Delete).then(|| operation("delete", "delete", &DELETE, ("delete", ""))),
    ];
    if single.iter().any(Option::is_some) {
        let single = item(
            resource,
            &whole,
            names,
            single.into_iter().flatten(),
            dialect,
        );
        paths.push((format!("{base}{below}/{plural}/{{name}}"), single));
    }
    for part in &resource.subresources {
        let has = |verb: Verb| part.verbs.contains(&verb);
        let suffix = camel(&part.name);
        let suffix = suffix.as_str();
        let operations = [
            has(Verb::Get).then(|| operation("get", "get", &[], ("read", suffix))),
            has(Verb::Create).then(|| operation("post", "post", &WRITE, ("create", suffix))),
            has(Verb::Update).then(|| operation("put", "put", &WRITE, ("replace", suffix))),
            has(Verb::Patch).then(|| operation("patch", "patch", &PATCH, ("patch", suffix))),
        ];
        if operations.iter().any(Option::is_some) {
            let target = target_of(resource, part);
            let part_item = item(
                resource,
                &target,
                names,
                operations.into_iter().flatten(),
                dialect,
            );
            paths.push((
                format!("{base}{below}/{plural}/{{name}}/{}", part.name),
                part_item,
            ));
        }
    }
    paths
}

/// What is read and written at a path.
struct Target {
    group: String,
    version: String,
    kind: String,
    component: String,
}

fn target(resource: &Resource) -> Target {
    Target {
        group: resource.group.clone(),
        version: resource.version.clone(),
        kind: resource.kind.clone(),
        component: components::name(resource),
    }
}

fn target_of(resource: &Resource, part: &Subresource) -> Target {
    if part.kind.is_empty() || part.kind == resource.kind {
        return target(resource);
    }
    let package = part.group.split('.').next().unwrap_or_default();
    Target {
        group: part.group.clone(),
        version: part.version.clone(),
        kind: part.kind.clone(),
        component: format!("io.k8s.api.{package}.{}.{}", part.version, part.kind),
    }
}

fn item(
    resource: &Resource,
    target: &Target,
    names: &[&str],
    operations: impl IntoIterator<Item = Operation>,
    dialect: Dialect,
) -> Value {
    let mut item: Map<String, Value> = operations
        .into_iter()
        .map(|of| {
            (
                of.method.to_owned(),
                operation(resource, target, &of, dialect),
            )
        })
        .collect();
    let names = names.iter().map(|name| parameter(name, "path", dialect));
    let pretty = parameter("pretty", "query", dialect);
    item.insert("parameters".to_owned(), names.chain([pretty]).collect());
    Value::Object(item)
}

fn operation(resource: &Resource, target: &Target, of: &Operation, dialect: Dialect) -> Value {
    let is_list = of.action == "list";
    let component = if is_list {
        format!("{}List", target.component)
    } else {
        target.component.clone()
    };
    let schema = |name: &str| json!({"$ref": components::address(dialect, name)});
    let group = resource
        .group
        .strip_suffix(".k8s.io")
        .unwrap_or(&resource.group);
    let group: String = group.split(['.', '-']).map(camel).collect();
    let group = if group.is_empty() {
        "Core".to_owned()
    } else {
        group
    };
    let (start, end) = &of.id;
    let within = if of.namespaced { "Namespaced" } else { "" };
    let id = format!(
        "{start}{group}{}{within}{}{end}",
        camel(&resource.version),
        resource.kind
    );
    let is_read = of.method == "get";
    let mut parameters: Vec<Value> = of
        .parameters
        .iter()
        .map(|name| parameter(name, "query", dialect))
        .collect();
    let types: &[&str] = match (of.method, resource.custom) {
        ("patch", true) => &[
            "application/apply-patch+yaml",
            "application/json-patch+json",
            "application/merge-patch+json",
        ],
        ("patch", false) => &[
            "application/apply-patch+yaml",
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
        ],
        ("post" | "put", true) => &["application/json", "application/yaml"],
        ("post" | "put", false) => &["*/*"],
        _ => &[],
    };
    let mut json = json!({
        "operationId": id,
        "x-kubernetes-action": of.action,
        "x-kubernetes-group-version-kind": {"group": target.group, "version": target.version, "kind": target.kind},
    });
    match dialect {
        Dialect::V2 => {
            json["responses"] = json!({"200": {"description": "OK", "schema": schema(&component)}});
            json["produces"] = json!(["application/json", "application/yaml"]);
            json["consumes"] = if types.is_empty() {
                json!(["*/*"])
            } else {
                json!(types)
            };
            if !types.is_empty() {
                parameters.push(json!({"name": "body", "in": "body", "required": true, "schema": body(of, schema(&component))}));
            }
        }
        Dialect::V3 => {
            let content = json!({
                "application/json": {"schema": schema(&component)},
                "application/yaml": {"schema": schema(&component)},
            });
            json["responses"] = json!({"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}});
            if !types.is_empty() {
                let types = types.iter().map(|name| {
                    (
                        (*name).to_owned(),
                        json!({"schema": body(of, schema(&component))}),
                    )
                });
                let content: Map<String, Value> = types.collect();
                json["requestBody"] = json!({"required": true, "content": content});
            }
        }
    }
    if !parameters.is_empty() || !is_read {
        json["parameters"] = parameters.into();
    }
    json
}

/// What is sent. A patch is a part of the object, or a list of changes.
fn body(of: &Operation, schema: Value) -> Value {
    if of.method == "patch" {
        json!({"description": "A patch in the format of the content type.", "type": "object"})
    } else {
        schema
    }
}

fn parameter(name: &str, place: &str, dialect: Dialect) -> Value {
    let kind = if BOOLEANS.contains(&name) {
        "boolean"
    } else if INTEGERS.contains(&name) {
        "integer"
    } else {
        "string"
    };
    let mut json = json!({"name": name, "in": place});
    if place == "path" {
        json["required"] = true.into();
    }
    match dialect {
        Dialect::V2 => {
            json["type"] = kind.into();
            json["uniqueItems"] = true.into();
        }
        Dialect::V3 => json["schema"] = json!({"type": kind, "uniqueItems": true}),
    }
    json
}

/// With a capital letter first.
fn camel(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
