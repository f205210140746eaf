//! Discovery: the groups, versions and resources that are served.
//!
//! Each function makes the response for one path. Groups keep the order of the resources; those of CustomResourceDefinitions
//! come last, by name. Versions are in Kubernetes' order of preference.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::resources::{Resource, Subresource, Verb};

/// The version of Kubernetes that devhub behaves as.
const MAJOR: &str = "1";
const MINOR: &str = "36";

type Resources = [Arc<Resource>];

/// `/api`. `server` is the address that the client uses, `host:port`.
pub(crate) fn core_versions(server: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server}],
    })
}

/// `/apis`
pub(crate) fn groups(resources: &Resources) -> Value {
    let groups: Vec<Value> = group_names(resources)
        .into_iter()
        .filter(|name| !name.is_empty())
        .map(|name| group_value(resources, name))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`; nothing if there is no such group.
pub(crate) fn group(resources: &Resources, name: &str) -> Option<Value> {
    let exists = !name.is_empty() && resources.iter().any(|resource| resource.group == name);
    exists.then(|| {
        let mut group = json!({"kind": "APIGroup", "apiVersion": "v1"});
        if let (Value::Object(group), Value::Object(value)) =
            (&mut group, group_value(resources, name))
        {
            group.extend(value);
        }
        group
    })
}

/// `/api/v1`, `/apis/GROUP/VERSION`; nothing if there is no such version.
pub(crate) fn resources(resources: &Resources, group: &str, version: &str) -> Option<Value> {
    let of_version = in_version(resources, group, version);
    let first = of_version.first()?;
    let mut list = Vec::new();
    for resource in &of_version {
        list.push(resource_value(resource));
        let parts = sorted_parts(resource);
        list.extend(parts.into_iter().map(|part| part_value(resource, part)));
    }
    let mut answer = json!({
        "kind": "APIResourceList",
        "groupVersion": first.api_version(),
        "resources": list,
    });
    // The core group's list has none, for the sake of the oldest clients.
    if !group.is_empty() {
        answer["apiVersion"] = "v1".into();
    }
    Some(answer)
}

/// `/api` (`core`) and `/apis` for clients that want everything at once; `version` is that of `apidiscovery.k8s.io`.
pub(crate) fn aggregated(resources: &Resources, core: bool, version: &str) -> Value {
    let items: Vec<Value> = group_names(resources)
        .into_iter()
        .filter(|name| name.is_empty() == core)
        .map(|name| {
            let metadata = match name {
                "" => json!({}),
                name => json!({"name": name}),
            };
            let versions: Vec<Value> = versions(resources, name)
                .into_iter()
                .map(|version| {
                    let of_version = in_version(resources, name, version);
                    json!({
                        "version": version,
                        "resources": of_version.iter().map(|resource| aggregated_resource(resource)).collect::<Vec<_>>(),
                        "freshness": "Current",
                    })
                })
                .collect();
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": items,
    })
}

/// `/version`
pub(crate) fn version() -> Value {
    json!({
        "major": MAJOR,
        "minor": MINOR,
        "gitVersion": format!("v{MAJOR}.{MINOR}.0+devhub"),
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, architecture()),
    })
}

/// The architecture as Go calls it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn group_names(resources: &Resources) -> Vec<&str> {
    let (mut builtin, mut custom) = (Vec::new(), Vec::new());
    for resource in resources {
        let name = resource.group.as_str();
        if !builtin.contains(&name) && !custom.contains(&name) {
            if resource.custom {
                &mut custom
            } else {
                &mut builtin
            }
            .push(name);
        }
    }
    custom.sort_unstable();
    builtin.extend(custom);
    builtin
}

fn versions<'a>(resources: &'a Resources, group: &str) -> Vec<&'a str> {
    let of_group = resources.iter().filter(|resource| resource.group == group);
    let mut versions: Vec<&str> = of_group.map(|resource| resource.version.as_str()).collect();
    versions.sort_by(|a, b| preference(a, b));
    versions.dedup();
    versions
}

fn in_version<'a>(resources: &'a Resources, group: &str, version: &str) -> Vec<&'a Arc<Resource>> {
    let mut found: Vec<&Arc<Resource>> = resources
        .iter()
        .filter(|resource| resource.group == group && resource.version == version)
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Which of two versions is preferred: stable ones before beta before alpha, newer before older; what is no version of
/// Kubernetes comes last by name.
pub(crate) fn preference(a: &str, b: &str) -> Ordering {
    match (rank(a), rank(b)) {
        (Some(a), Some(b)) => Reverse(a).cmp(&Reverse(b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// `v1`, `v2beta3`: how stable, which major, which minor.
fn rank(version: &str) -> Option<(u8, u64, u64)> {
    let number = |digits: &str| -> Option<u64> {
        let are_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        are_digits.then(|| digits.parse().ok())?
    };
    let rest = version.strip_prefix('v')?;
    for (word, stability) in [("alpha", 0), ("beta", 1)] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stability, number(major)?, number(minor)?));
        }
    }
    Some((2, number(rest)?, 0))
}

fn group_value(resources: &Resources, name: &str) -> Value {
    let versions: Vec<Value> = versions(resources, name)
        .into_iter()
        .map(|version| json!({"groupVersion": format!("{name}/{version}"), "version": version}))
        .collect();
    let preferred = versions.first().cloned();
    json!({"name": name, "versions": versions, "preferredVersion": preferred})
}

fn sorted_parts(resource: &Resource) -> Vec<&Subresource> {
    let mut parts: Vec<&Subresource> = resource.subresources.iter().collect();
    parts.sort_by(|a, b| a.name.cmp(&b.name));
    parts
}

/// Verbs in the order of kube-apiserver, which differs for custom resources.
fn verbs(verbs: &[Verb], custom: bool) -> Vec<&'static str> {
    const CUSTOM: [Verb; 8] = [
        Verb::Delete,
        Verb::DeleteCollection,
        Verb::Get,
        Verb::List,
        Verb::Patch,
        Verb::Create,
        Verb::Update,
        Verb::Watch,
    ];
    let order = if custom { &CUSTOM } else { &Verb::ALL };
    let told = order.iter().filter(|verb| verbs.contains(verb));
    told.map(|verb| verb.as_str()).collect()
}

/// Adds the short names and categories of a resource that has some.
fn add_names(value: &mut Value, resource: &Resource) {
    for (field, names) in [
        ("shortNames", &resource.short_names),
        ("categories", &resource.categories),
    ] {
        if !names.is_empty() {
            value[field] = json!(names);
        }
    }
}

fn resource_value(resource: &Resource) -> Value {
    let mut value = json!({
        "name": resource.name,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": verbs(&resource.verbs, resource.custom),
    });
    add_names(&mut value, resource);
    value
}

fn part_value(resource: &Resource, part: &Subresource) -> Value {
    let mut value = json!({
        "name": format!("{}/{}", resource.name, part.name),
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": part.kind,
        "verbs": verbs(&part.verbs, false),
    });
    if takes_other_kind(resource, part) {
        value["group"] = part.group.as_str().into();
        value["version"] = part.version.as_str().into();
    }
    value
}

/// Returns true if a subresource takes a kind of another group or version.
fn takes_other_kind(resource: &Resource, part: &Subresource) -> bool {
    !part.kind.is_empty() && (part.group != resource.group || part.version != resource.version)
}

fn aggregated_resource(resource: &Resource) -> Value {
    let scope = if resource.namespaced {
        "Namespaced"
    } else {
        "Cluster"
    };
    let kind_of = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    // Built-in kinds leave out what the list's own group and version say.
    let own_kind = |kind: &str| match resource.custom {
        true => kind_of(&resource.group, &resource.version, kind),
        false => kind_of("", "", kind),
    };
    let mut value = json!({
        "resource": resource.name,
        "responseKind": own_kind(&resource.kind),
        "scope": scope,
        "singularResource": resource.singular,
        "verbs": verbs(&resource.verbs, resource.custom),
    });
    add_names(&mut value, resource);
    let parts = sorted_parts(resource).into_iter().map(|part| {
        let kind = match takes_other_kind(resource, part) {
            true => kind_of(&part.group, &part.version, &part.kind),
            false => own_kind(&part.kind),
        };
        json!({"subresource": part.name, "responseKind": kind, "verbs": verbs(&part.verbs, false)})
    });
    if !resource.subresources.is_empty() {
        value["subresources"] = parts.collect();
    }
    value
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn versions_stand_by_preference() {
        let mut versions = [
            "foo1",
            "v12alpha1",
            "v1",
            "v10beta3",
            "foo10",
            "v11beta2",
            "v10",
            "v3beta1",
            "v2",
            "v11alpha2",
            "v",
            "v1gamma2",
            "v1beta",
        ];
        versions.sort_by(|a, b| preference(a, b));
        assert_eq!(
            versions,
            [
                "v10",
                "v2",
                "v1",
                "v11beta2",
                "v10beta3",
                "v3beta1",
                "v12alpha1",
                "v11alpha2",
                "foo1",
                "foo10",
                "v",
                "v1beta",
                "v1gamma2"
            ]
        );
    }

    #[test]
    fn the_version_says_that_this_is_no_real_hub() {
        assert_eq!(version()["gitVersion"], "v1.36.0+devhub");
        assert_eq!(core_versions("127.0.0.1:1")["versions"], json!(["v1"]));
    }
}
