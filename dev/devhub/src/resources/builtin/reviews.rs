//! Reviews: their response is computed, and nothing is stored.

use berth_rbac::{MissingRole, Request};
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::{Map, Value, json};

use crate::authentication::AUDIENCE;
use crate::authorization::reason;
use crate::object::{self, Object};
use crate::resources::{Behaviour, WriteTo};
use crate::status::{ApiError, FieldError};
use crate::user::User;

const AUTHORIZATION: &str = "authorization.k8s.io";

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Review {
    /// SubjectAccessReviews.
    Access,
    /// LocalSubjectAccessReviews.
    Local,
    /// SelfSubjectAccessReviews.
    Oneself,
    /// SelfSubjectRulesReviews.
    Rules,
    /// TokenReviews.
    Token,
    /// SelfSubjectReviews.
    WhoAmI,
}

impl Behaviour for Review {
    fn answer(&self, write: &WriteTo<'_>, question: &Object) -> Option<Result<Object, ApiError>> {
        Some(match self {
            Self::Access | Self::Local | Self::Oneself => review(write, question, *self),
            Self::Rules => rules_review(write, question),
            Self::Token => token_review(write, question),
            Self::WhoAmI => {
                let mut answer = Object::default();
                answer.set_type(question.api_version(), question.kind());
                answer.set(&["metadata", "creationTimestamp"], object::time(write.now));
                let user = write.user.cloned().unwrap_or_default();
                answer.set(&["status", "userInfo"], json!(user));
                Ok(answer)
            }
        })
    }
}

fn review(write: &WriteTo<'_>, question: &Object, scope: Review) -> Result<Object, ApiError> {
    let errors = access_errors(question, scope);
    if !errors.is_empty() {
        // kube-apiserver has forgotten the kind by then.
        return Err(ApiError::invalid(AUTHORIZATION, "", "", &errors));
    }
    let user = match scope {
        Review::Oneself => write.user.cloned().unwrap_or_default(),
        _ => subject(question),
    };
    let world = write.world;
    let verdict = world
        .authorizer
        .evaluate(&world.store, &user, &asked(question));
    let mut status = Map::new();
    status.insert("allowed".into(), verdict.is_allowed().into());
    let reason = reason(&verdict);
    if !reason.is_empty() {
        status.insert("reason".into(), reason.into());
    }
    Ok(answered(question, status))
}

/// What is wrong with an access review.
fn access_errors(question: &Object, scope: Review) -> Vec<FieldError> {
    let given = |field: &str| {
        question
            .at(&["spec", field])
            .is_some_and(|value| !value.is_null())
    };
    let (resource, path) = (given("resourceAttributes"), given("nonResourceAttributes"));
    let user = subject(question);
    let namespace = question.str_at(&["spec", "resourceAttributes", "namespace"]);
    let metadata = question.at(&["metadata"]).and_then(Value::as_object);
    let has_metadata = metadata.into_iter().flatten().any(|(name, value)| {
        let own = scope == Review::Local && name == "namespace";
        !own && name != "managedFields" && !value.is_null()
    });
    let is_local = scope == Review::Local;
    let nobody = scope != Review::Oneself && user.name.is_empty() && user.groups.is_empty();
    let faults = [
        (
            resource && path,
            "spec.nonResourceAttributes",
            "cannot be specified in combination with resourceAttributes",
        ),
        (
            !resource && !path,
            "spec.resourceAttributes",
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ),
        (
            nobody,
            "spec.user",
            "at least one of user or group must be specified",
        ),
        (has_metadata, "metadata", "must be empty"),
        (
            is_local && resource && namespace != question.namespace(),
            "spec.resourceAttributes.namespace",
            "must match metadata.namespace",
        ),
        (
            is_local && path,
            "spec.nonResourceAttributes",
            "disallowed on this kind of request",
        ),
    ];
    let faults = faults.iter().filter(|(is_wrong, ..)| *is_wrong);
    faults
        .map(|(_, field, why)| FieldError::invalid(*field, Value::Null, *why))
        .collect()
}

fn subject(question: &Object) -> User {
    let groups = question.texts(&["spec", "groups"]);
    User::new(question.str_at(&["spec", "user"]), &groups)
}

fn asked(question: &Object) -> Request<'_> {
    let resource = question.at(&["spec", "resourceAttributes"]);
    match resource.filter(|value| !value.is_null()) {
        Some(attributes) => {
            let text = |field: &str| attributes[field].as_str().unwrap_or_default();
            Request::Resource {
                verb: text("verb"),
                api_group: text("group"),
                resource: text("resource"),
                subresource: text("subresource"),
                name: text("name"),
                namespace: text("namespace"),
            }
        }
        None => Request::NonResource {
            verb: question.str_at(&["spec", "nonResourceAttributes", "verb"]),
            path: question.str_at(&["spec", "nonResourceAttributes", "path"]),
        },
    }
}

fn rules_review(write: &WriteTo<'_>, question: &Object) -> Result<Object, ApiError> {
    let namespace = question.str_at(&["spec", "namespace"]);
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let user = write.user.cloned().unwrap_or_default();
    let world = write.world;
    let found = world.authorizer.rules_for(&world.store, &user, namespace);
    let mut answer = Object::default();
    answer.set_type(question.api_version(), question.kind());
    answer.set(&["metadata"], Map::new());
    answer.set(&["spec"], Map::new());
    answer.set(&["status"], rules_status(&found.rules));
    let errors: Vec<_> = found.errors.iter().map(MissingRole::not_found).collect();
    match errors.as_slice() {
        [] => {}
        [one] => answer.set(&["status", "evaluationError"], one.as_str()),
        many => answer.set(
            &["status", "evaluationError"],
            format!("[{}]", many.join(", ")),
        ),
    }
    Ok(answer)
}

fn rules_status(rules: &[PolicyRule]) -> Value {
    let given = |field: &Option<Vec<String>>| field.as_ref().is_some_and(|list| !list.is_empty());
    let mut resources = Vec::new();
    let mut paths = Vec::new();
    for rule in rules {
        if given(&rule.resources) {
            // The fields have the names of a ResourceRule's, and those that are empty are not there.
            resources.push(PolicyRule {
                non_resource_urls: None,
                ..rule.clone()
            });
        }
        if given(&rule.non_resource_urls) {
            paths.push(PolicyRule {
                non_resource_urls: rule.non_resource_urls.clone(),
                verbs: rule.verbs.clone(),
                ..PolicyRule::default()
            });
        }
    }
    json!({ "resourceRules": resources, "nonResourceRules": paths, "incomplete": false })
}

fn token_review(write: &WriteTo<'_>, question: &Object) -> Result<Object, ApiError> {
    let token = question.str_at(&["spec", "token"]);
    if token.is_empty() {
        let words = "token is required for TokenReview in authentication";
        return Err(ApiError::bad_request(words));
    }
    let audiences = question.texts(&["spec", "audiences"]).into_iter();
    let mut audiences: Vec<_> = audiences.map(str::to_owned).collect();
    if audiences.is_empty() {
        audiences.push(AUDIENCE.to_owned());
    }
    let world = write.world;
    let found = world
        .authenticator
        .token_user(&world.store, token, &audiences, write.now);
    let status = match found {
        Ok(Some(found)) => json!({
            "authenticated": true,
            "user": found.user,
            "audiences": found.audiences,
        }),
        Ok(None) => json!({ "user": {}, "error": "invalid bearer token" }),
        Err(why) => json!({ "user": {}, "error": format!("[invalid bearer token, {why}]") }),
    };
    Ok(answered(question, status))
}

/// The question, with its answer.
fn answered(question: &Object, status: impl Into<Value>) -> Object {
    let mut answer = question.clone();
    answer.fields_mut().entry("metadata").or_insert(json!({}));
    answer.set(&["status"], status);
    answer
}
