//! The objects that are printed.

use berth_api::groups;
use serde::Serialize;

use crate::options::{Action, Options};
use crate::snippets::Snippet;
use crate::template::Template;

/// The group and version of policies. ValidatingAdmissionPolicies have this version from 1.30, MutatingAdmissionPolicies from
/// 1.36.
const API_VERSION: &str = "admissionregistration.k8s.io/v1";

/// A policy, or its binding.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Document {
    /// A policy.
    Policy(Policy),
    /// Its binding: without one, a policy has no effect.
    Binding(Binding),
}

/// A ValidatingAdmissionPolicy or a MutatingAdmissionPolicy.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    spec: PolicySpec,
    #[serde(skip)]
    parameters: Option<&'static str>,
    #[serde(skip)]
    warns: bool,
}

/// A ValidatingAdmissionPolicyBinding or a MutatingAdmissionPolicyBinding.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Binding {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    spec: BindingSpec,
}

#[derive(Clone, Debug, Serialize)]
struct Metadata {
    name: String,
    annotations: Annotations,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Annotations {
    /// The flags that print this object, so that `berth doctor` can compare the two.
    #[serde(rename = "berth.open-cluster-management.io/policies")]
    policies: String,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PolicySpec {
    failure_policy: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reinvocation_policy: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    param_kind: Option<ParamKind>,
    match_constraints: MatchConstraints,
    match_conditions: Vec<Named>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    variables: Vec<Named>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    validations: Vec<Validation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mutations: Vec<Mutation>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ParamKind {
    api_version: &'static str,
    kind: &'static str,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct MatchConstraints {
    resource_rules: [ResourceRule; 1],
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceRule {
    api_groups: [&'static str; 1],
    api_versions: [&'static str; 1],
    resources: [&'static str; 1],
    operations: [&'static str; 2],
    scope: &'static str,
}

#[derive(Clone, Debug, Serialize)]
struct Named {
    name: String,
    expression: String,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Validation {
    expression: String,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_expression: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "patchType")]
enum Mutation {
    #[serde(rename_all = "camelCase")]
    ApplyConfiguration { apply_configuration: Expression },
    #[serde(rename_all = "camelCase", rename = "JSONPatch")]
    JsonPatch { json_patch: Expression },
}

#[derive(Clone, Debug, Serialize)]
struct Expression {
    expression: String,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BindingSpec {
    policy_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    validation_actions: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    param_ref: Option<ParamRef>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ParamRef {
    selector: Selector,
    parameter_not_found_action: &'static str,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Selector {
    match_expressions: [Requirement; 1],
}

#[derive(Clone, Debug, Serialize)]
struct Requirement {
    key: &'static str,
    operator: &'static str,
}

/// The kind of objects that a policy is about.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) resource: &'static str,
    pub(crate) is_namespaced: bool,
}

/// The code of a refusal.
#[derive(Clone, Copy)]
pub(crate) enum Code {
    /// 422.
    Invalid,
    /// 403.
    Forbidden,
}

// === impl Target ===

impl Target {
    pub(crate) const CLUSTERS: Self = Self {
        group: groups::CLUSTER,
        version: "v1",
        resource: groups::MANAGED_CLUSTERS,
        is_namespaced: false,
    };
    pub(crate) const SETS: Self = Self {
        version: "v1beta2",
        resource: groups::MANAGED_CLUSTER_SETS,
        ..Self::CLUSTERS
    };
    pub(crate) const BINDINGS: Self = Self {
        resource: groups::MANAGED_CLUSTER_SET_BINDINGS,
        is_namespaced: true,
        ..Self::SETS
    };
    pub(crate) const REQUESTS: Self = Self {
        group: groups::CERTIFICATES,
        resource: "certificatesigningrequests",
        ..Self::CLUSTERS
    };
}

// === impl Policy ===

impl Policy {
    /// A ValidatingAdmissionPolicy. `about` distinguishes several policies of one kind of objects.
    pub(crate) fn validating(about: &str, target: Target) -> Self {
        Self::new("ValidatingAdmissionPolicy", about, target)
    }

    /// A MutatingAdmissionPolicy.
    pub(crate) fn mutating(about: &str, target: Target) -> Self {
        let mut policy = Self::new("MutatingAdmissionPolicy", about, target);
        policy.spec.reinvocation_policy = Some("IfNeeded");
        policy
    }

    fn new(kind: &'static str, about: &str, target: Target) -> Self {
        let separator = if about.is_empty() { "" } else { "." };
        let name = format!(
            "{about}{separator}{}.berth.open-cluster-management.io",
            target.resource
        );
        let rule = ResourceRule {
            api_groups: [target.group],
            api_versions: [target.version],
            resources: [target.resource],
            operations: ["CREATE", "UPDATE"],
            scope: if target.is_namespaced {
                "Namespaced"
            } else {
                "Cluster"
            },
        };
        Self {
            api_version: API_VERSION,
            kind,
            metadata: Metadata {
                name,
                annotations: Annotations::default(),
            },
            spec: PolicySpec {
                failure_policy: "Fail",
                reinvocation_policy: None,
                param_kind: None,
                match_constraints: MatchConstraints {
                    resource_rules: [rule],
                },
                match_conditions: Vec::new(),
                variables: Vec::new(),
                validations: Vec::new(),
                mutations: Vec::new(),
            },
            parameters: None,
            warns: false,
        }
    }

    /// Its name, and that of its binding.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// A failing expression admits the write.
    pub(crate) fn ignoring_failures(mut self) -> Self {
        self.spec.failure_policy = "Ignore";
        self
    }

    /// Refusals are warnings.
    pub(crate) fn warning(mut self) -> Self {
        self.warns = true;
        self
    }

    /// It is evaluated once for each RoleBinding with this label in the namespace of the request, and not at all without one.
    pub(crate) fn for_role_bindings(mut self, label: &'static str) -> Self {
        self.spec.param_kind = Some(ParamKind {
            api_version: "rbac.authorization.k8s.io/v1",
            kind: "RoleBinding",
        });
        self.parameters = Some(label);
        self
    }

    /// The condition under which it is evaluated.
    pub(crate) fn when(mut self, name: &str, expression: String) -> Self {
        self.spec.match_conditions.push(Named {
            name: name.to_owned(),
            expression,
        });
        self
    }

    /// Variables, each the snippet of this path and named after it. A variable may use those before it.
    pub(crate) fn variables(mut self, template: &Template, folder: &str, names: &[&str]) -> Self {
        for name in names {
            let snippet = Snippet::at(&format!("{folder}/{name}"));
            self = self.variable(snippet.name(), template.render(snippet));
        }
        self
    }

    /// A variable.
    pub(crate) fn variable(mut self, name: &str, expression: String) -> Self {
        self.spec.variables.push(Named {
            name: name.to_owned(),
            expression,
        });
        self
    }

    /// Refuses if the expression is false. The message is an expression.
    pub(crate) fn require(mut self, code: Code, expression: String, message: String) -> Self {
        self.spec.validations.push(Validation {
            expression,
            reason: code.reason(),
            message: None,
            message_expression: Some(message),
        });
        self
    }

    /// Refuses with this message if the expression is false.
    pub(crate) fn require_or_say(mut self, code: Code, expression: String, message: &str) -> Self {
        self.spec.validations.push(Validation {
            expression,
            reason: code.reason(),
            message: Some(message.to_owned()),
            message_expression: None,
        });
        self
    }

    /// Merges an object into the written one.
    pub(crate) fn merge(mut self, expression: String) -> Self {
        self.spec.mutations.push(Mutation::ApplyConfiguration {
            apply_configuration: Expression { expression },
        });
        self
    }

    /// Patches the written object.
    pub(crate) fn patch(mut self, expression: String) -> Self {
        self.spec.mutations.push(Mutation::JsonPatch {
            json_patch: Expression { expression },
        });
        self
    }

    /// The policy and its binding.
    pub(crate) fn documents(mut self, options: &Options) -> [Document; 2] {
        self.metadata.annotations.policies = options.flags();
        let is_mutating = self.spec.reinvocation_policy.is_some();
        let actions = match options.action {
            _ if is_mutating => None,
            Action::Deny if self.warns => Some(["Warn"]),
            action => Some([action.as_str()]),
        };
        let binding = Binding {
            api_version: API_VERSION,
            kind: if is_mutating {
                "MutatingAdmissionPolicyBinding"
            } else {
                "ValidatingAdmissionPolicyBinding"
            },
            metadata: self.metadata.clone(),
            spec: BindingSpec {
                policy_name: self.metadata.name.clone(),
                validation_actions: actions,
                param_ref: self.parameters.map(|key| ParamRef {
                    selector: Selector {
                        match_expressions: [Requirement {
                            key,
                            operator: "Exists",
                        }],
                    },
                    parameter_not_found_action: "Allow",
                }),
            },
        };
        [Document::Policy(self), Document::Binding(binding)]
    }
}

// === impl Code ===

impl Code {
    fn reason(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid",
            Self::Forbidden => "Forbidden",
        }
    }
}
