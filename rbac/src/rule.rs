//! Matches one rule with one request. The four lists of a rule must all match; each has its own kind of wildcard.

use crate::Request;
use k8s_openapi::api::rbac::v1::PolicyRule;

const ALL: &str = "*";

/// Returns whether the rule allows the request. An empty list matches nothing, except `resourceNames`, where it matches all names.
pub(crate) fn allows(rule: &PolicyRule, request: &Request<'_>) -> bool {
    match *request {
        Request::Resource {
            verb,
            api_group,
            resource,
            subresource,
            name,
            ..
        } => {
            any_or_all(&rule.verbs, verb)
                && any_or_all(list(&rule.api_groups), api_group)
                && list(&rule.resources)
                    .iter()
                    .any(|pattern| resource_matches(pattern, resource, subresource))
                && name_matches(list(&rule.resource_names), name)
        }
        Request::NonResource { verb, path } => {
            any_or_all(&rule.verbs, verb)
                && list(&rule.non_resource_urls)
                    .iter()
                    .any(|pattern| path_matches(pattern, path))
        }
    }
}

fn list(field: &Option<Vec<String>>) -> &[String] {
    field.as_deref().unwrap_or_default()
}

fn any_or_all(patterns: &[String], asked: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| pattern == ALL || pattern == asked)
}

/// `*` matches all resources and their subresources, `*/log` matches this subresource of all resources. `pods/*` is not a wildcard: it
/// names a subresource called `*`.
fn resource_matches(pattern: &str, resource: &str, subresource: &str) -> bool {
    if pattern == ALL {
        return true;
    }
    if subresource.is_empty() {
        return pattern == resource;
    }
    let of = |parent: &str| {
        pattern
            .strip_prefix(parent)
            .and_then(|rest| rest.strip_prefix('/'))
            == Some(subresource)
    };
    of(resource) || of(ALL)
}

/// A rule with names never matches a request without a name, such as `list`.
fn name_matches(names: &[String], asked: &str) -> bool {
    names.is_empty() || names.iter().any(|name| name == asked)
}

/// `*` is a wildcard only at the end; `/healthz/*` does not match `/healthz`.
fn path_matches(pattern: &str, path: &str) -> bool {
    pattern == path || (pattern.ends_with(ALL) && path.starts_with(pattern.trim_end_matches(ALL)))
}
