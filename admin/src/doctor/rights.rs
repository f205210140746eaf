//! The rights that the manifests grant to the gate and to the controller. Each one becomes a SubjectAccessReview.

use berth_manifests::{Manifest, files};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReviewSpec};
use k8s_openapi::api::rbac::v1::PolicyRule;

/// One verb on one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Right {
    pub(crate) group: String,
    /// The resource, with `/subresource` if it has one.
    pub(crate) resource: String,
    pub(crate) name: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) verb: String,
}

/// The role of the gate.
const GATE: Manifest = files::GATE_ROLE;
/// The role of the controller.
const CONTROLLER: Manifest = files::CONTROLLER_ROLE;

/// The additional role of the controller for automatic acceptance.
const AUTO_APPROVAL: Manifest = files::AUTO_APPROVAL_ROLE;

/// Returns the rights that the gate needs.
pub(crate) fn of_the_gate() -> Vec<Right> {
    rights(GATE, "")
}

/// Returns the rights that the controller needs, including those in the namespace of the hub's components.
pub(crate) fn of_the_controller(namespace: &str) -> Vec<Right> {
    rights(CONTROLLER, namespace)
}

/// Returns the additional rights that the controller needs to accept clusters automatically.
pub(crate) fn of_auto_approval() -> Vec<Right> {
    rights(AUTO_APPROVAL, "")
}

/// Returns the rights that the roles of a manifest grant.
fn rights(manifest: Manifest, namespace: &str) -> Vec<Right> {
    let mut rights = Vec::new();
    for document in manifest.documents() {
        let namespace = match document["kind"].as_str() {
            Some("ClusterRole") => None,
            Some("Role") => Some(namespace.to_owned()),
            _ => continue,
        };
        let rules: Vec<PolicyRule> =
            serde_json::from_value(document["rules"].clone()).unwrap_or_default();
        for rule in rules {
            rights.extend(of_rule(&rule, namespace.as_deref()));
        }
    }
    rights.sort();
    rights.dedup();
    rights
}

fn of_rule(rule: &PolicyRule, namespace: Option<&str>) -> Vec<Right> {
    let none = Vec::new();
    let names = rule.resource_names.as_ref().unwrap_or(&none);
    let names: Vec<Option<String>> = match names.as_slice() {
        [] => vec![None],
        names => names.iter().cloned().map(Some).collect(),
    };
    let mut rights = Vec::new();
    for group in rule.api_groups.as_ref().unwrap_or(&none) {
        for resource in rule.resources.as_ref().unwrap_or(&none) {
            for name in &names {
                for verb in &rule.verbs {
                    rights.push(Right {
                        group: group.clone(),
                        resource: resource.clone(),
                        name: name.clone(),
                        namespace: namespace.map(str::to_owned),
                        verb: verb.clone(),
                    });
                }
            }
        }
    }
    rights
}

// === impl Right ===

impl Right {
    /// Returns the question whether this account has the right.
    pub(crate) fn question(&self, account: &str, groups: Vec<String>) -> SubjectAccessReviewSpec {
        let (resource, subresource) = match self.resource.split_once('/') {
            Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
            None => (self.resource.as_str(), None),
        };
        SubjectAccessReviewSpec {
            user: Some(account.to_owned()),
            groups: Some(groups),
            resource_attributes: Some(ResourceAttributes {
                group: Some(self.group.clone()),
                resource: Some(resource.to_owned()),
                subresource,
                name: self.name.clone(),
                namespace: self.namespace.clone(),
                verb: Some(self.verb.clone()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        }
    }
}

/// Formats a permission, such as `verb "get" on secrets in namespace "x"`.
pub(crate) fn needed(verb: &str, resource: &str, group: &str, namespace: Option<&str>) -> String {
    let group = match group {
        "" => String::new(),
        group => format!(".{group}"),
    };
    let namespace = match namespace {
        None => String::new(),
        Some(namespace) => format!(" in namespace {namespace:?}"),
    };
    format!("verb {verb:?} on {resource}{group}{namespace}")
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            verb,
            resource,
            group,
            name,
            namespace,
        } = self;
        f.write_str(&needed(verb, resource, group, namespace.as_deref()))?;
        match name {
            Some(name) => write!(f, ", name {name:?}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verb_of_each_resource_is_a_right() {
        let shown: Vec<String> = of_the_gate().iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                r#"verb "get" on namespaces"#,
                r#"verb "create" on subjectaccessreviews.authorization.k8s.io"#,
                r#"verb "get" on managedclusters.cluster.open-cluster-management.io"#,
                r#"verb "list" on managedclustersetbindings.cluster.open-cluster-management.io"#,
                r#"verb "get" on managedclustersets.cluster.open-cluster-management.io"#,
            ]
        );
    }

    #[test]
    fn roles_of_a_namespace_are_rights_there() {
        let rights = of_the_controller("hub");
        assert!(rights.len() > 60, "{}", rights.len());
        let in_namespace: Vec<String> = rights
            .iter()
            .filter(|right| right.namespace.is_some())
            .map(ToString::to_string)
            .collect();
        let lock = r#"on leases.coordination.k8s.io in namespace "hub""#;
        let name = r#", name "registration-controller-lock""#;
        assert_eq!(
            in_namespace,
            [
                format!("verb \"create\" {lock}"),
                format!("verb \"get\" {lock}{name}"),
                format!("verb \"update\" {lock}{name}"),
            ]
        );
        let signer = rights.iter().find(|right| right.resource == "signers");
        let question = signer.unwrap().question("a", Vec::new());
        let attributes = question.resource_attributes.unwrap();
        assert_eq!(
            attributes.name.as_deref(),
            Some("kubernetes.io/kube-apiserver-client")
        );
        let status = rights.iter().find(|it| it.resource.contains("/status"));
        let attributes = status.unwrap().question("a", Vec::new());
        let attributes = attributes.resource_attributes.unwrap();
        assert_eq!(attributes.subresource.as_deref(), Some("status"));
    }
}
