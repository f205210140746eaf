//! Routes the path of a resource to its handler.
//!
//! Responses to unknown paths are those of kube-apiserver: a Status in the groups of built-in kinds; elsewhere, where
//! CustomResourceDefinitions could be, a line of text.

use std::sync::Arc;

use http::{Response, StatusCode};

use crate::protocol::answer::{self, Body};
use crate::protocol::body::RequestBody;
use crate::protocol::call::Call;
use crate::protocol::write::{self, Method, Warnings};
use crate::protocol::{read, watch};
use crate::resources::{Resource, Verb};
use crate::status::{ApiError, Details};

/// Answers a request for a resource.
pub(crate) async fn resource(
    call: &Call<'_>,
    body: impl RequestBody,
    warnings: &mut Warnings,
) -> Result<Response<Body>, ApiError> {
    let info = call.info;
    let (resource, verb) = match route(call) {
        Route::To(resource, verb) => (resource, verb),
        Route::Nowhere { built_in: true } => return Err(ApiError::no_such_path()),
        Route::Nowhere { built_in: false } => return Ok(not_found()),
        Route::Refused(error) => return Err(*error),
    };
    check_name(&info.name)?;
    match verb {
        Verb::Get => read::get(call, &resource).await,
        Verb::List => read::list(call, &resource).await,
        Verb::Watch => watch::watch(call, &resource).await,
        Verb::Create => write::write(call, &resource, Method::Create, body, warnings).await,
        Verb::Update => write::write(call, &resource, Method::Update, body, warnings).await,
        Verb::Patch => write::write(call, &resource, Method::Patch, body, warnings).await,
        Verb::Delete if info.subresource.is_empty() => {
            write::delete(call, &resource, body, warnings).await
        }
        Verb::Delete => Err(ApiError::not_implemented("deletions of subresources")),
        Verb::DeleteCollection => write::delete_collection(call, &resource, body, warnings).await,
    }
}

/// Any name can be asked for, if it could be part of a path.
fn check_name(name: &str) -> Result<(), ApiError> {
    let why = match name {
        "." | ".." => format!("may not be '{name}'"),
        name if name.contains('%') => "may not contain '%'".to_owned(),
        _ => return Ok(()),
    };
    Err(ApiError::bad_request(format!(
        "Name parameter invalid: {name:?}: {why}"
    )))
}

/// The answer of a path that nothing serves.
pub(crate) fn not_found() -> Response<Body> {
    answer::text(StatusCode::NOT_FOUND, "404 page not found\n")
}

enum Route {
    To(Arc<Resource>, Verb),
    /// No such path. Whether it would lead to Kubernetes' own kinds.
    Nowhere {
        built_in: bool,
    },
    Refused(Box<ApiError>),
}

fn route(call: &Call<'_>) -> Route {
    let info = call.info;
    let registry = &call.world.registry;
    let Some(resource) = registry.find(&info.group, &info.version, &info.resource) else {
        let all = registry.all();
        let built_in = info.group.is_empty()
            || all
                .iter()
                .any(|resource| !resource.custom && resource.group == info.group);
        return Route::Nowhere { built_in };
    };
    let nowhere = Route::Nowhere {
        built_in: !resource.custom,
    };
    let refused = |error| Route::Refused(Box::new(error));
    let verb = Verb::ALL
        .into_iter()
        .find(|verb| verb.as_str() == info.verb);

    let of_collection = info.parts == 1;
    let is_namespace =
        info.group.is_empty() && info.resource == "namespaces" && info.name == info.namespace;
    let misplaced = if resource.namespaced {
        info.namespace.is_empty() && !matches!(verb, Some(Verb::List | Verb::Watch))
    } else {
        !info.namespace.is_empty() && !is_namespace
    };
    if misplaced {
        // Only lists and watches go across namespaces.
        if resource.namespaced && !resource.custom && of_collection {
            return refused(method_not_allowed());
        }
        return nowhere;
    }
    if (info.parts > 3 && !resource.custom) || (info.watch_prefix && !info.subresource.is_empty()) {
        return nowhere;
    }

    let not_supported = || {
        if resource.custom {
            ApiError::method_not_supported(&info.group, &info.resource, &info.verb)
        } else {
            method_not_allowed()
        }
    };
    let verbs = if info.subresource.is_empty() {
        if !of_collection && !resource.has_objects() {
            return nowhere;
        }
        &resource.verbs
    } else {
        match resource.subresource(&info.subresource) {
            // Known without verbs, it is what Kubernetes has and devhub has not.
            Some(subresource) if subresource.verbs.is_empty() => {
                let what = format!("the subresource {:?}", subresource.name);
                return refused(ApiError::not_implemented(&what));
            }
            Some(subresource) => &subresource.verbs,
            None if resource.custom => {
                return refused(ApiError::not_found(&info.group, &info.resource, &info.name));
            }
            None => return nowhere,
        }
    };
    if call.method == http::Method::HEAD && !resource.custom {
        return refused(method_not_allowed());
    }
    // A name turns a creation into nothing that there is; of a custom resource it is not looked at.
    let is_of_object = !of_collection && info.subresource.is_empty();
    match verb {
        Some(Verb::Create) if is_of_object && !resource.custom => refused(not_supported()),
        Some(Verb::Update | Verb::Patch) if of_collection && resource.custom => {
            refused(ApiError::bad_request("name must be provided"))
        }
        Some(Verb::Update | Verb::Patch) if of_collection => refused(not_supported()),
        Some(verb) if verbs.contains(&verb) => Route::To(resource, verb),
        _ => refused(not_supported()),
    }
}

/// 405, where the kind is Kubernetes' own.
pub(crate) fn method_not_allowed() -> ApiError {
    let message = "the server does not allow this method on the requested resource";
    ApiError {
        details: Some(Details::default()),
        ..ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }
}
