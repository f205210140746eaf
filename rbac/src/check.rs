//! Validates objects as a hub does, so that evaluation handles only valid objects.
//!
//! The checks are kube-apiserver's for `rbac.authorization.k8s.io/v1`, except those of labels and annotations. A missing `apiGroup` gets
//! the same default as on a hub.

use crate::verdict::{Grantee, ObjectRef, RbacKind};
use berth_api::selector::Selector;
use berth_api::{groups, names};
use k8s_openapi::api::rbac::v1::{AggregationRule, PolicyRule, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The error for an object that a hub would not store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{object}: {field}: {problem}")]
pub struct InvalidObject {
    /// The kind, the name, and the namespace if the object has one.
    pub object: ObjectRef,
    /// The path of the invalid field, such as `subjects[1].apiGroup`.
    pub field: String,
    /// The problem, and what the field should contain.
    pub problem: String,
}

/// Makes the error from field and problem.
type Refuse<'a> = &'a dyn Fn(String, String) -> InvalidObject;

/// Checks the object's name (and its namespace, if its kind has one), and returns the reference to it.
pub(crate) fn object_ref(
    kind: RbacKind,
    metadata: &ObjectMeta,
) -> Result<ObjectRef, InvalidObject> {
    let namespaced = matches!(kind, RbacKind::Role | RbacKind::RoleBinding);
    let namespace = namespaced.then(|| metadata.namespace.clone().unwrap_or_default());
    let object = ObjectRef {
        kind,
        namespace,
        name: metadata.name.clone().unwrap_or_default(),
    };
    let (field, problem) = match (check_name(&object.name), object.namespace.as_deref()) {
        (Err(problem), _) => ("metadata.name", problem),
        (Ok(()), Some("")) => (
            "metadata.namespace",
            format!("a {kind:?} needs a namespace"),
        ),
        (Ok(()), _) => return Ok(object),
    };
    Err(InvalidObject {
        object,
        field: field.to_owned(),
        problem,
    })
}

fn check_name(name: &str) -> Result<(), String> {
    match name {
        "" => Err("must not be empty".to_owned()),
        "." | ".." => Err(format!("{name:?} cannot be a name")),
        _ if name.contains(['/', '%']) => Err(format!("{name:?} must not contain '/' or '%'")),
        _ => Ok(()),
    }
}

/// Checks the rules of a Role or ClusterRole.
pub(crate) fn check_rules(object: &ObjectRef, rules: &[PolicyRule]) -> Result<(), InvalidObject> {
    let empty = |field: &Option<Vec<String>>| field.as_ref().is_none_or(Vec::is_empty);
    for (index, rule) in rules.iter().enumerate() {
        let refuse = |field: &str, problem: &str| {
            let field = format!("rules[{index}].{field}");
            Err(InvalidObject {
                object: object.clone(),
                field,
                problem: problem.to_owned(),
            })
        };
        if rule.verbs.is_empty() {
            return refuse("verbs", "a rule needs at least one verb");
        }
        if !empty(&rule.non_resource_urls) {
            if object.kind == RbacKind::Role {
                return refuse(
                    "nonResourceURLs",
                    "only a ClusterRole can grant paths, through a ClusterRoleBinding",
                );
            }
            if !(empty(&rule.api_groups) && empty(&rule.resources) && empty(&rule.resource_names)) {
                return refuse(
                    "nonResourceURLs",
                    "a rule is for paths or for resources, not for both: split it into two rules",
                );
            }
        } else if empty(&rule.api_groups) {
            return refuse(
                "apiGroups",
                "a rule for resources needs an API group; the core group is \"\"",
            );
        } else if empty(&rule.resources) {
            return refuse("resources", "a rule needs resources or nonResourceURLs");
        }
    }
    Ok(())
}

/// Checks the selectors of an aggregated ClusterRole.
pub(crate) fn check_aggregation(
    object: &ObjectRef,
    rule: &AggregationRule,
) -> Result<(), InvalidObject> {
    let selectors = rule.cluster_role_selectors.as_deref().unwrap_or_default();
    let field = "aggregationRule.clusterRoleSelectors";
    let refuse = |field, problem| InvalidObject {
        object: object.clone(),
        field,
        problem,
    };
    if selectors.is_empty() {
        return Err(refuse(
            field.to_owned(),
            "needs at least one selector; otherwise remove aggregationRule".to_owned(),
        ));
    }
    for (index, selector) in selectors.iter().enumerate() {
        if let Err(errors) = Selector::parse(selector)
            && let Some(error) = errors.first()
        {
            return Err(refuse(
                format!("{field}[{index}].{}", error.field),
                error.reason.clone(),
            ));
        }
    }
    Ok(())
}

/// Reads the role and the subjects of a binding.
pub(crate) fn read_binding(
    object: &ObjectRef,
    role: &RoleRef,
    subjects: &[Subject],
) -> Result<(ObjectRef, Vec<Grantee>), InvalidObject> {
    let refuse = |field, problem| InvalidObject {
        object: object.clone(),
        field,
        problem,
    };
    let role = read_role_ref(object, role, &refuse)?;
    let grantees = subjects.iter().enumerate().map(|(index, subject)| {
        let refuse = |field, problem| refuse(format!("subjects[{index}].{field}"), problem);
        read_subject(object.namespace.as_deref(), subject, &refuse)
    });
    Ok((role, grantees.collect::<Result<_, _>>()?))
}

fn read_role_ref(
    binding: &ObjectRef,
    role: &RoleRef,
    refuse: Refuse<'_>,
) -> Result<ObjectRef, InvalidObject> {
    if !["", groups::RBAC].contains(&role.api_group.as_str()) {
        return Err(refuse(
            "roleRef.apiGroup".to_owned(),
            format!("{:?} must be {:?}", role.api_group, groups::RBAC),
        ));
    }
    let (kind, namespace) = match (role.kind.as_str(), &binding.namespace) {
        ("ClusterRole", _) => (RbacKind::ClusterRole, None),
        ("Role", Some(namespace)) => (RbacKind::Role, Some(namespace.clone())),
        ("Role", None) => {
            let problem = "a ClusterRoleBinding binds a ClusterRole; a Role is bound by a RoleBinding in its namespace";
            return Err(refuse("roleRef.kind".to_owned(), problem.to_owned()));
        }
        (other, _) => {
            return Err(refuse(
                "roleRef.kind".to_owned(),
                format!("{other:?} must be ClusterRole or Role"),
            ));
        }
    };
    check_name(&role.name).map_err(|problem| refuse("roleRef.name".to_owned(), problem))?;
    Ok(ObjectRef {
        kind,
        namespace,
        name: role.name.clone(),
    })
}

fn read_subject(
    binding_namespace: Option<&str>,
    subject: &Subject,
    refuse: Refuse<'_>,
) -> Result<Grantee, InvalidObject> {
    let Subject {
        api_group,
        kind,
        name,
        namespace,
    } = subject;
    let refuse = |field: &str, problem: String| Err(refuse(field.to_owned(), problem));
    if name.is_empty() {
        return refuse("name", "must not be empty".to_owned());
    }
    let group = api_group.as_deref().unwrap_or_default();
    match kind.as_str() {
        "User" | "Group" if !["", groups::RBAC].contains(&group) => refuse(
            "apiGroup",
            format!("{group:?} must be {:?} for a {kind}", groups::RBAC),
        ),
        "User" => Ok(Grantee::User(name.clone())),
        "Group" => Ok(Grantee::Group(name.clone())),
        "ServiceAccount" if !group.is_empty() => refuse(
            "apiGroup",
            format!("{group:?} must be \"\" for a ServiceAccount"),
        ),
        "ServiceAccount" if !names::is_dns1123_subdomain(name) => refuse(
            "name",
            format!(
                "{name:?} cannot be the name of a service account: it is not a lowercase DNS subdomain"
            ),
        ),
        "ServiceAccount" => match namespace
            .as_deref()
            .filter(|given| !given.is_empty())
            .or(binding_namespace)
        {
            Some(namespace) => Ok(Grantee::ServiceAccount {
                namespace: namespace.to_owned(),
                name: name.clone(),
            }),
            None => refuse(
                "namespace",
                "a ClusterRoleBinding must name the service account's namespace".to_owned(),
            ),
        },
        other => refuse(
            "kind",
            format!("{other:?} must be User, Group or ServiceAccount"),
        ),
    }
}
