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
