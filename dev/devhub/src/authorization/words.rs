//! Verdicts in kube-apiserver's words.

use berth_rbac::{Grant, Grantee, ObjectRef, Request, Verdict};
use http::StatusCode;

use crate::status::{ApiError, Details, qualified};
use crate::user::User;

/// Why, as in the `reason` of a SubjectAccessReview; often nothing.
pub(crate) fn reason(verdict: &Verdict) -> String {
    match verdict {
        // A superuser is allowed before RBAC is asked.
        Verdict::Allowed(Grant::Superuser { .. }) => String::new(),
        Verdict::Allowed(Grant::Binding {
            binding,
            role,
            subject,
        }) => {
            let subject = match subject {
                Grantee::User(name) => format!("User {name:?}"),
                Grantee::Group(name) => format!("Group {name:?}"),
                Grantee::ServiceAccount { namespace, name } => {
                    format!("ServiceAccount {:?}", format!("{name}/{namespace}"))
                }
            };
            let name = name_then_namespace(binding);
            format!(
                "RBAC: allowed by {:?} {name:?} of {:?} {:?} to {subject}",
                binding.kind, role.kind, role.name
            )
        }
        Verdict::NoOpinion { errors } => {
            // Go's aggregate of errors says each thing once.
            let mut words: Vec<String> = Vec::new();
            for error in errors {
                let not_found = error.not_found();
                if !words.contains(&not_found) {
                    words.push(not_found);
                }
            }
            match words.as_slice() {
                [] => String::new(),
                [one] => format!("RBAC: {one}"),
                many => format!("RBAC: [{}]", many.join(", ")),
            }
        }
    }
}

fn name_then_namespace(object: &ObjectRef) -> String {
    match &object.namespace {
        Some(namespace) => format!("{}/{namespace}", object.name),
        None => object.name.clone(),
    }
}

/// 403: the user may not, by this verdict.
pub(crate) fn forbidden(user: &User, request: &Request<'_>, verdict: &Verdict) -> ApiError {
    forbidden_because(user, request, &reason(verdict))
}

/// 403: the user may not, for a reason (or, with nothing, without).
fn forbidden_because(user: &User, request: &Request<'_>, reason: &str) -> ApiError {
    let mut why = sanitized(&cannot(&user.name, request));
    if !reason.is_empty() {
        why = format!("{why}: {reason}");
    }
    match *request {
        Request::Resource {
            api_group,
            resource,
            name,
            ..
        } if !qualified(resource, api_group).is_empty() => {
            ApiError::forbidden(api_group, resource, name, &why)
        }
        _ => {
            let message = format!("forbidden: {why}");
            ApiError {
                details: Some(Details::default()),
                ..ApiError::new(StatusCode::FORBIDDEN, "Forbidden", message)
            }
        }
    }
}

fn cannot(user: &str, request: &Request<'_>) -> String {
    match *request {
        Request::NonResource { verb, path } => format!("User {user:?} cannot {verb} path {path:?}"),
        Request::Resource {
            verb,
            api_group,
            resource,
            subresource,
            namespace,
            ..
        } => {
            let resource = if subresource.is_empty() {
                resource.to_owned()
            } else {
                format!("{resource}/{subresource}")
            };
            let scope = if namespace.is_empty() {
                "at the cluster scope".to_owned()
            } else {
                format!("in the namespace {namespace:?}")
            };
            format!(
                "User {user:?} cannot {verb} resource {resource:?} in API group {api_group:?} {scope}"
            )
        }
    }
}

/// As kube-apiserver, for browsers that take the answer for a page.
fn sanitized(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use berth_rbac::{MissingRole, RbacKind};
    use serde_json::json;

    use super::*;

    fn object(kind: RbacKind, namespace: Option<&str>, name: &str) -> ObjectRef {
        ObjectRef {
            kind,
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    #[test]
    fn a_reason_names_the_binding_the_role_and_the_subject() {
        let by = |binding, role, subject| {
            Verdict::Allowed(Grant::Binding {
                binding,
                role,
                subject,
            })
        };
        let cluster_role = || object(RbacKind::ClusterRole, None, "r");
        let missing = |name: &str| MissingRole {
            binding: object(RbacKind::ClusterRoleBinding, None, "b"),
            role: object(RbacKind::ClusterRole, None, name),
        };
        let rows = [
            (
                by(
                    object(RbacKind::ClusterRoleBinding, None, "b"),
                    cluster_role(),
                    Grantee::User("u".into()),
                ),
                r#"RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "u""#,
            ),
            (
                by(
                    object(RbacKind::RoleBinding, Some("ns"), "b"),
                    object(RbacKind::Role, Some("ns"), "r"),
                    Grantee::Group("g".into()),
                ),
                r#"RBAC: allowed by RoleBinding "b/ns" of Role "r" to Group "g""#,
            ),
            (
                by(
                    object(RbacKind::RoleBinding, Some("ns"), "b"),
                    cluster_role(),
                    Grantee::ServiceAccount {
                        namespace: "ci".into(),
                        name: "bot".into(),
                    },
                ),
                r#"RBAC: allowed by RoleBinding "b/ns" of ClusterRole "r" to ServiceAccount "bot/ci""#,
            ),
            (
                Verdict::Allowed(Grant::Superuser {
                    group: "system:masters".into(),
                }),
                "",
            ),
            (Verdict::NoOpinion { errors: Vec::new() }, ""),
            (
                Verdict::NoOpinion {
                    errors: vec![missing("x"), missing("x")],
                },
                r#"RBAC: clusterrole.rbac.authorization.k8s.io "x" not found"#,
            ),
            (
                Verdict::NoOpinion {
                    errors: vec![missing("x"), missing("y")],
                },
                r#"RBAC: [clusterrole.rbac.authorization.k8s.io "x" not found, clusterrole.rbac.authorization.k8s.io "y" not found]"#,
            ),
        ];
        for (verdict, words) in rows {
            assert_eq!(reason(&verdict), words);
        }
    }

    #[test]
    fn a_refusal_says_who_cannot_do_what_where() {
        let resource = |api_group, resource, subresource, name, namespace| Request::Resource {
            verb: "get",
            api_group,
            resource,
            subresource,
            name,
            namespace,
        };
        let rows = [
            (
                resource("", "configmaps", "", "", "default"),
                "",
                r#"configmaps is forbidden: User "u" cannot get resource "configmaps" in API group "" in the namespace "default""#,
            ),
            (
                resource("apps", "deployments", "scale", "web", "default"),
                "",
                r#"deployments.apps "web" is forbidden: User "u" cannot get resource "deployments/scale" in API group "apps" in the namespace "default""#,
            ),
            (
                resource("", "nodes", "", "n", ""),
                "RBAC: gone",
                r#"nodes "n" is forbidden: User "u" cannot get resource "nodes" in API group "" at the cluster scope: RBAC: gone"#,
            ),
            (
                Request::NonResource {
                    verb: "get",
                    path: "/a<b>&c",
                },
                "",
                r#"forbidden: User "u" cannot get path "/a&lt;b&gt;&amp;c""#,
            ),
        ];
        for (request, reason, words) in rows {
            let error = forbidden_because(&User::new("u", &[]), &request, reason);
            assert_eq!(error.code, StatusCode::FORBIDDEN);
            assert_eq!(error.reason, "Forbidden");
            assert_eq!(error.message, words);
        }
        let path = Request::NonResource {
            verb: "get",
            path: "/x",
        };
        let status = forbidden_because(&User::new("u", &[]), &path, "").status();
        assert_eq!(status["details"], json!({}));
    }
}
