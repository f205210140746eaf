//! Matches a webhook's rules with a write: operation, group, version, resource and scope.

use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;

use super::Operation;

/// What rules look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target<'a> {
    pub(super) operation: Operation,
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) resource: &'a str,
    /// Empty for the object itself.
    pub(super) subresource: &'a str,
    /// True if the write is in a namespace. The Namespace objects themselves are not.
    pub(super) namespaced: bool,
}

/// Returns true if the rule is about the target.
pub(super) fn matches(rule: &RuleWithOperations, target: &Target<'_>) -> bool {
    let scope = match rule.scope.as_deref() {
        None | Some("*") => true,
        Some("Namespaced") => target.namespaced,
        Some("Cluster") => !target.namespaced,
        Some(_) => false,
    };
    scope
        && has(rule.operations.as_deref(), target.operation.as_str())
        && has(rule.api_groups.as_deref(), target.group)
        && has(rule.api_versions.as_deref(), target.version)
        && rule
            .resources
            .iter()
            .flatten()
            .any(|resource| is_resource(resource, target))
}

/// Returns true if a list contains the wanted word, or `*`.
fn has(list: Option<&[String]>, wanted: &str) -> bool {
    list.unwrap_or_default()
        .iter()
        .any(|item| item == "*" || item == wanted)
}

/// `pods`, `pods/log`, `pods/*`, `*/scale`, `*`, `*/*`
fn is_resource(pattern: &str, target: &Target<'_>) -> bool {
    let (resource, subresource) = pattern.split_once('/').unwrap_or((pattern, ""));
    (resource == "*" || resource == target.resource)
        && (subresource == "*" || subresource == target.subresource)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: Target<'_> = Target {
        operation: Operation::Update,
        group: "cluster.open-cluster-management.io",
        version: "v1",
        resource: "managedclusters",
        subresource: "",
        namespaced: false,
    };
    const POD_LOG: Target<'_> = Target {
        operation: Operation::Create,
        group: "",
        version: "v1",
        resource: "pods",
        subresource: "log",
        namespaced: true,
    };

    fn rule(
        operation: &str,
        group: &str,
        version: &str,
        resource: &str,
        scope: Option<&str>,
    ) -> RuleWithOperations {
        let list = |item: &str| Some(vec!["other".to_owned(), item.to_owned()]);
        RuleWithOperations {
            operations: list(operation),
            api_groups: list(group),
            api_versions: list(version),
            resources: list(resource),
            scope: scope.map(str::to_owned),
        }
    }

    #[test]
    fn a_rule_matches_when_all_its_parts_do() {
        let group = CLUSTER.group;
        let rows = [
            ("UPDATE", group, "v1", "managedclusters", None, true),
            ("*", "*", "*", "*", Some("*"), true),
            ("*", "*", "*", "*/*", Some("Cluster"), true),
            ("*", "*", "*", "managedclusters/*", Some("Cluster"), true),
            ("CREATE", group, "v1", "managedclusters", None, false),
            ("CONNECT", group, "v1", "managedclusters", None, false),
            ("UPDATE", "", "v1", "managedclusters", None, false),
            ("UPDATE", group, "v1beta1", "managedclusters", None, false),
            ("UPDATE", group, "v1", "managedclustersets", None, false),
            ("UPDATE", group, "v1", "managedclusters/status", None, false),
            ("UPDATE", group, "v1", "*/status", None, false),
            ("*", "*", "*", "*", Some("Namespaced"), false),
            ("*", "*", "*", "*", Some("Elsewhere"), false),
        ];
        for (operation, group, version, resource, scope, expected) in rows {
            let rule = rule(operation, group, version, resource, scope);
            assert_eq!(matches(&rule, &CLUSTER), expected, "{rule:?}");
        }
    }

    #[test]
    fn subresources_are_named_or_starred() {
        let rows = [
            ("pods/log", true),
            ("pods/*", true),
            ("*/log", true),
            ("*/*", true),
            ("pods", false),
            ("*", false),
            ("pods/exec", false),
            ("nodes/*", false),
        ];
        for (resource, expected) in rows {
            let rule = rule("*", "*", "*", resource, Some("Namespaced"));
            assert_eq!(matches(&rule, &POD_LOG), expected, "{resource}");
        }
    }

    #[test]
    fn a_rule_without_parts_matches_nothing() {
        assert!(!matches(&RuleWithOperations::default(), &CLUSTER));
    }
}
