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

/// Verbs in the order in which they are told, which is another one for custom resources.
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
    use crate::protocol::testing;

    fn resource(group: &str, version: &str, kind: &str, custom: bool) -> Resource {
        let name = format!("{}s", kind.to_lowercase());
        Resource {
            verbs: vec![Verb::Create, Verb::Get],
            custom,
            ..testing::resource(group, version, &name, kind)
        }
    }

    fn part(name: &str, group: &str, version: &str, kind: &str) -> Subresource {
        Subresource {
            name: name.to_owned(),
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            verbs: vec![Verb::Create],
        }
    }

    fn sample() -> Vec<Arc<Resource>> {
        let accounts = Resource {
            short_names: vec!["sa".to_owned()],
            categories: vec!["all".to_owned()],
            subresources: vec![
                part("token", "authentication.k8s.io", "v1", "TokenRequest"),
                part("status", "", "v1", "ServiceAccount"),
            ],
            ..resource("", "v1", "ServiceAccount", false)
        };
        let bars = Resource {
            namespaced: false,
            subresources: vec![part("status", "b.example.com", "v1beta1", "Bar")],
            ..resource("b.example.com", "v1beta1", "Bar", true)
        };
        let all = vec![
            accounts,
            resource("", "v1", "Event", false),
            resource("events.k8s.io", "v1", "Event", false),
            resource("c.example.com", "v1", "Foo", true),
            bars,
            resource("b.example.com", "v1", "Bar", true),
        ];
        all.into_iter().map(Arc::new).collect()
    }

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
    fn groups_of_definitions_come_last_by_name() {
        let list = groups(&sample());
        let names: Vec<&Value> = list["groups"]
            .as_array()
            .unwrap()
            .iter()
            .map(|group| &group["name"])
            .collect();
        assert_eq!(names, ["events.k8s.io", "b.example.com", "c.example.com"]);
        assert_eq!(
            group(&sample(), "b.example.com").unwrap(),
            json!({
                "kind": "APIGroup",
                "apiVersion": "v1",
                "name": "b.example.com",
                "versions": [
                    {"groupVersion": "b.example.com/v1", "version": "v1"},
                    {"groupVersion": "b.example.com/v1beta1", "version": "v1beta1"},
                ],
                "preferredVersion": {"groupVersion": "b.example.com/v1", "version": "v1"},
            })
        );
        assert_eq!(group(&sample(), ""), None);
        assert_eq!(group(&sample(), "nope"), None);
    }

    #[test]
    fn resources_stand_by_name_with_their_parts() {
        assert_eq!(
            resources(&sample(), "", "v1").unwrap(),
            json!({
                "kind": "APIResourceList",
                "groupVersion": "v1",
                "resources": [
                    {
                        "name": "events",
                        "singularName": "event",
                        "namespaced": true,
                        "kind": "Event",
                        "verbs": ["create", "get"],
                    },
                    {
                        "name": "serviceaccounts",
                        "singularName": "serviceaccount",
                        "namespaced": true,
                        "kind": "ServiceAccount",
                        "verbs": ["create", "get"],
                        "shortNames": ["sa"],
                        "categories": ["all"],
                    },
                    {
                        "name": "serviceaccounts/status",
                        "singularName": "",
                        "namespaced": true,
                        "kind": "ServiceAccount",
                        "verbs": ["create"],
                    },
                    {
                        "name": "serviceaccounts/token",
                        "singularName": "",
                        "namespaced": true,
                        "group": "authentication.k8s.io",
                        "version": "v1",
                        "kind": "TokenRequest",
                        "verbs": ["create"],
                    },
                ],
            })
        );
        let custom = resources(&sample(), "b.example.com", "v1").unwrap();
        assert_eq!(custom["apiVersion"], "v1");
        assert_eq!(custom["groupVersion"], "b.example.com/v1");
        assert_eq!(custom["resources"][0]["verbs"], json!(["get", "create"]));
        assert_eq!(resources(&sample(), "b.example.com", "v2"), None);
    }

    #[test]
    fn everything_is_told_at_once() {
        let core = aggregated(&sample(), true, "v2");
        assert_eq!(core["apiVersion"], "apidiscovery.k8s.io/v2");
        assert_eq!(core["items"].as_array().unwrap().len(), 1);
        assert_eq!(core["items"][0]["metadata"], json!({}));
        assert_eq!(
            core["items"][0]["versions"][0]["resources"][1],
            json!({
                "resource": "serviceaccounts",
                "responseKind": {"group": "", "version": "", "kind": "ServiceAccount"},
                "scope": "Namespaced",
                "singularResource": "serviceaccount",
                "verbs": ["create", "get"],
                "shortNames": ["sa"],
                "categories": ["all"],
                "subresources": [
                    {
                        "subresource": "status",
                        "responseKind": {"group": "", "version": "", "kind": "ServiceAccount"},
                        "verbs": ["create"],
                    },
                    {
                        "subresource": "token",
                        "responseKind": {
                            "group": "authentication.k8s.io",
                            "version": "v1",
                            "kind": "TokenRequest",
                        },
                        "verbs": ["create"],
                    },
                ],
            })
        );
        let others = aggregated(&sample(), false, "v2beta1");
        assert_eq!(others["apiVersion"], "apidiscovery.k8s.io/v2beta1");
        assert_eq!(others["items"][1]["metadata"]["name"], "b.example.com");
        assert_eq!(
            others["items"][1]["versions"][1],
            json!({
                "version": "v1beta1",
                "freshness": "Current",
                "resources": [{
                    "resource": "bars",
                    "responseKind": {"group": "b.example.com", "version": "v1beta1", "kind": "Bar"},
                    "scope": "Cluster",
                    "singularResource": "bar",
                    "verbs": ["get", "create"],
                    "subresources": [{
                        "subresource": "status",
                        "responseKind": {"group": "b.example.com", "version": "v1beta1", "kind": "Bar"},
                        "verbs": ["create"],
                    }],
                }],
            })
        );
    }

    #[test]
    fn the_version_says_that_this_is_no_real_hub() {
        assert_eq!(version()["gitVersion"], "v1.36.0+devhub");
        assert_eq!(core_versions("127.0.0.1:1")["versions"], json!(["v1"]));
    }
}
