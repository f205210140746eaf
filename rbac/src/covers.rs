//! The escalation check: a user may write or bind a role only if the user already has all of its permissions.
//!
//! The check compares the text of rules, not their effect on a hub: only `verbs: ["*"]` covers `verbs: ["*"]`; a list of all verbs does
//! not.

use k8s_openapi::api::rbac::v1::PolicyRule;
use std::collections::BTreeMap;

const ALL: &str = "*";

/// Returns the part of `wanted` that no rule of `held` covers; empty if everything is covered.
///
/// `wanted` is split: each returned rule has one verb, one resource (or path), and at most one name. A single rule must cover each part.
#[must_use]
pub fn not_covered(held: &[PolicyRule], wanted: &[PolicyRule]) -> Vec<PolicyRule> {
    let parts = wanted.iter().flat_map(split);
    parts
        .filter(|part| !held.iter().any(|rule| covers(rule, part)))
        .collect()
}

/// Joins rules for the same single resource (and name, if any), so that a message has one line with all verbs.
#[must_use]
pub fn compact(rules: &[PolicyRule]) -> Vec<PolicyRule> {
    let mut joined: BTreeMap<_, PolicyRule> = BTreeMap::new();
    let mut others = Vec::new();
    for rule in rules {
        match single_resource(rule) {
            None => others.push(rule.clone()),
            Some(key) => {
                let entry = joined.entry(key).or_insert_with(|| PolicyRule {
                    verbs: Vec::new(),
                    ..rule.clone()
                });
                entry.verbs.extend(rule.verbs.iter().cloned());
            }
        }
    }
    others.extend(joined.into_values());
    others
}

/// Formats a rule as kube-apiserver does: `{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`.
#[must_use]
pub fn describe(rule: &PolicyRule) -> String {
    let parts = [
        ("APIGroups", list(&rule.api_groups)),
        ("Resources", list(&rule.resources)),
        ("NonResourceURLs", list(&rule.non_resource_urls)),
        ("ResourceNames", list(&rule.resource_names)),
        ("Verbs", &rule.verbs),
    ];
    let parts = parts.iter().filter(|(_, values)| !values.is_empty());
    let parts: Vec<_> = parts
        .map(|(name, values)| {
            let values: Vec<_> = values.iter().map(|value| format!("{value:?}")).collect();
            format!("{name}:[{}]", values.join(" "))
        })
        .collect();
    format!("{{{}}}", parts.join(", "))
}

fn split(rule: &PolicyRule) -> Vec<PolicyRule> {
    let one = |value: &String| Some(vec![value.clone()]);
    let mut parts = Vec::new();
    for group in list(&rule.api_groups) {
        for resource in list(&rule.resources) {
            for verb in &rule.verbs {
                let part = PolicyRule {
                    api_groups: one(group),
                    resources: one(resource),
                    verbs: vec![verb.clone()],
                    ..PolicyRule::default()
                };
                let names = list(&rule.resource_names);
                if names.is_empty() {
                    parts.push(part);
                } else {
                    parts.extend(names.iter().map(|name| PolicyRule {
                        resource_names: one(name),
                        ..part.clone()
                    }));
                }
            }
        }
    }
    for path in list(&rule.non_resource_urls) {
        parts.extend(rule.verbs.iter().map(|verb| PolicyRule {
            non_resource_urls: one(path),
            verbs: vec![verb.clone()],
            ..PolicyRule::default()
        }));
    }
    parts
}

/// `part` must come from [`split`].
fn covers(rule: &PolicyRule, part: &PolicyRule) -> bool {
    let all = |own: &[String], wanted: &[String]| {
        own.iter().any(|value| value == ALL) || wanted.iter().all(|value| own.contains(value))
    };
    let names = list(&rule.resource_names);
    let wanted_names = list(&part.resource_names);
    let name_covered = names.is_empty()
        || (!wanted_names.is_empty() && wanted_names.iter().all(|name| names.contains(name)));
    all(&rule.verbs, &part.verbs)
        && all(list(&rule.api_groups), list(&part.api_groups))
        && list(&part.resources)
            .iter()
            .all(|resource| resource_covered(list(&rule.resources), resource))
        && name_covered
        && list(&part.non_resource_urls).iter().all(|path| {
            let paths = list(&rule.non_resource_urls);
            paths.iter().any(|pattern| path_covered(pattern, path))
        })
}

fn resource_covered(held: &[String], wanted: &str) -> bool {
    held.iter().any(|own| {
        own == ALL
            || own == wanted
            || wanted
                .split_once('/')
                .is_some_and(|(_, subresource)| own.strip_prefix("*/") == Some(subresource))
    })
}

fn path_covered(held: &str, wanted: &str) -> bool {
    held == wanted || (held.ends_with(ALL) && wanted.starts_with(held.trim_end_matches(ALL)))
}

/// Returns group, resource and name of a rule for exactly one resource and at most one name.
fn single_resource(rule: &PolicyRule) -> Option<(String, String, Option<String>)> {
    let ([group], [resource], []) = (
        list(&rule.api_groups),
        list(&rule.resources),
        list(&rule.non_resource_urls),
    ) else {
        return None;
    };
    let name = match list(&rule.resource_names) {
        [] => None,
        [name] => Some(name.clone()),
        _ => return None,
    };
    Some((group.clone(), resource.clone(), name))
}

fn list(field: &Option<Vec<String>>) -> &[String] {
    field.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `get,list core secrets,pods a,b`, or `get /healthz,/version`; `core` is the core group.
    fn rule(line: &str) -> PolicyRule {
        let values = |word: &str| -> Vec<String> { word.split(',').map(str::to_owned).collect() };
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            [verbs, paths] => PolicyRule {
                verbs: values(verbs),
                non_resource_urls: Some(values(paths)),
                ..PolicyRule::default()
            },
            [verbs, groups, resources, ref names @ ..] => PolicyRule {
                verbs: values(verbs),
                api_groups: Some(values(&groups.replace("core", ""))),
                resources: Some(values(resources)),
                resource_names: names.first().map(|names| values(names)),
                ..PolicyRule::default()
            },
            _ => panic!("{line}"),
        }
    }

    #[test]
    fn rights_are_handed_on_only_by_those_who_hold_them() {
        /// Sentence, held, wanted, what is missing.
        type Row = (
            &'static str,
            &'static [&'static str],
            &'static [&'static str],
            &'static [&'static str],
        );
        let table: &[Row] = &[
            ("nothing wanted", &[], &[], &[]),
            ("the same rule", &["get core pods"], &["get core pods"], &[]),
            (
                "nothing held",
                &[],
                &["get core pods"],
                &[r#"{APIGroups:[""], Resources:["pods"], Verbs:["get"]}"#],
            ),
            (
                "parts by several rules",
                &["get core pods", "list core pods,secrets"],
                &["get,list core pods"],
                &[],
            ),
            (
                "only what is missing is named",
                &["get core pods"],
                &["get,list core pods,secrets"],
                &[
                    r#"{APIGroups:[""], Resources:["pods"], Verbs:["list"]}"#,
                    r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}"#,
                ],
            ),
            (
                "a star covers every verb",
                &["* core pods"],
                &["get core pods"],
                &[],
            ),
            (
                "every verb does not cover a star",
                &["get,list,watch,create,update,patch,delete,deletecollection core pods"],
                &["* core pods"],
                &[r#"{APIGroups:[""], Resources:["pods"], Verbs:["*"]}"#],
            ),
            (
                "a star covers every group",
                &["get * pods"],
                &["get apps pods"],
                &[],
            ),
            (
                "a star covers subresources",
                &["get core *"],
                &["get core pods/log"],
                &[],
            ),
            (
                "a star of a subresource",
                &["get core */log"],
                &["get core pods/log"],
                &[],
            ),
            (
                "a star of another subresource",
                &["get core */log"],
                &["get core pods/exec"],
                &[r#"{APIGroups:[""], Resources:["pods/exec"], Verbs:["get"]}"#],
            ),
            (
                "a resource does not cover its subresources",
                &["get core pods"],
                &["get core pods/log"],
                &[r#"{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}"#],
            ),
            (
                "another group",
                &["get apps deployments"],
                &["get extensions deployments"],
                &[r#"{APIGroups:["extensions"], Resources:["deployments"], Verbs:["get"]}"#],
            ),
            (
                "all names cover one",
                &["get core pods"],
                &["get core pods a"],
                &[],
            ),
            (
                "a name does not cover all",
                &["get core pods a"],
                &["get core pods"],
                &[r#"{APIGroups:[""], Resources:["pods"], Verbs:["get"]}"#],
            ),
            (
                "a name does not cover another",
                &["get core pods a"],
                &["get core pods a,b"],
                &[r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}"#],
            ),
            ("a path", &["get /healthz"], &["get /healthz"], &[]),
            (
                "a path by prefix",
                &["get /healthz/*"],
                &["get /healthz/etcd"],
                &[],
            ),
            (
                "a prefix does not cover the path before it",
                &["get /healthz/*"],
                &["get /healthz"],
                &[r#"{NonResourceURLs:["/healthz"], Verbs:["get"]}"#],
            ),
            (
                "resources cover no paths",
                &["* * *"],
                &["get /healthz"],
                &[r#"{NonResourceURLs:["/healthz"], Verbs:["get"]}"#],
            ),
        ];
        for (sentence, held, wanted, missing) in table {
            let rules =
                |lines: &[&str]| -> Vec<_> { lines.iter().map(|line| rule(line)).collect() };
            let uncovered = not_covered(&rules(held), &rules(wanted));
            let found: Vec<_> = compact(&uncovered).iter().map(describe).collect();
            assert_eq!(found, *missing, "{sentence}");
        }
    }
}
