//! Questions that are answered, and not stored.

use berth_rbac::{MissingRole, Request};
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::{Map, Value, json};

use super::fields::each_invalid;
use crate::authentication::AUDIENCE;
use crate::authorization::reason;
use crate::object::{self, Object};
use crate::resources::{Behaviour, WriteTo};
use crate::status::{ApiError, FieldError};
use crate::user::User;

const AUTHORIZATION: &str = "authorization.k8s.io";

/// SubjectAccessReviews.
#[derive(Debug)]
pub struct SubjectAccessReviews;

/// SelfSubjectAccessReviews.
#[derive(Debug)]
pub struct SelfSubjectAccessReviews;

/// LocalSubjectAccessReviews.
#[derive(Debug)]
pub struct LocalSubjectAccessReviews;

/// SelfSubjectRulesReviews.
#[derive(Debug)]
pub struct SelfSubjectRulesReviews;

/// TokenReviews.
#[derive(Debug)]
pub struct TokenReviews;

/// SelfSubjectReviews.
#[derive(Debug)]
pub struct SelfSubjectReviews;

impl Behaviour for SubjectAccessReviews {
    fn answer(
        &self,
        write: &WriteTo<'_>,
        _parent: Option<&Object>,
        question: &Object,
    ) -> Option<Result<Object, ApiError>> {
        Some(review(write, question, Scope::Everywhere))
    }
}

impl Behaviour for LocalSubjectAccessReviews {
    fn answer(
        &self,
        write: &WriteTo<'_>,
        _parent: Option<&Object>,
        question: &Object,
    ) -> Option<Result<Object, ApiError>> {
        Some(review(write, question, Scope::Namespace))
    }
}

impl Behaviour for SelfSubjectAccessReviews {
    fn answer(
        &self,
        write: &WriteTo<'_>,
        _parent: Option<&Object>,
        question: &Object,
    ) -> Option<Result<Object, ApiError>> {
        Some(review(write, question, Scope::Oneself))
    }
}

impl Behaviour for SelfSubjectRulesReviews {
    fn answer(
        &self,
        write: &WriteTo<'_>,
        _parent: Option<&Object>,
        question: &Object,
    ) -> Option<Result<Object, ApiError>> {
        Some(rules_review(write, question))
    }
}

impl Behaviour for TokenReviews {
    fn answer(
        &self,
        write: &WriteTo<'_>,
        _parent: Option<&Object>,
        question: &Object,
    ) -> Option<Result<Object, ApiError>> {
        Some(token_review(write, question))
    }
}

impl Behaviour for SelfSubjectReviews {
    fn answer(
        &self,
        write: &WriteTo<'_>,
        _parent: Option<&Object>,
        question: &Object,
    ) -> Option<Result<Object, ApiError>> {
        let mut answer = Object::default();
        answer.set_type(question.api_version(), question.kind());
        answer.set(&["metadata", "creationTimestamp"], object::time(write.now));
        let user = write.user.cloned().unwrap_or_default();
        answer.set(&["status", "userInfo"], user_info(&user));
        Some(Ok(answer))
    }
}

/// Whom and what an access review may be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Everywhere,
    Namespace,
    Oneself,
}

fn review(write: &WriteTo<'_>, question: &Object, scope: Scope) -> Result<Object, ApiError> {
    let errors = access_errors(question, scope);
    if !errors.is_empty() {
        // kube-apiserver has forgotten the kind by then.
        return Err(ApiError::invalid(AUTHORIZATION, "", "", &errors));
    }
    let user = match scope {
        Scope::Oneself => write.user.cloned().unwrap_or_default(),
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

/// What is wrong with an access review, in kube-apiserver's order.
fn access_errors(question: &Object, scope: Scope) -> Vec<FieldError> {
    let given = |field: &str| {
        let value = question.at(&["spec", field]);
        value.filter(|value| !value.is_null())
    };
    let (resource, path) = (given("resourceAttributes"), given("nonResourceAttributes"));
    let path_in_go = path.map(|path| {
        let text = |field: &str| path[field].as_str().unwrap_or_default();
        json!({ "Path": text("path"), "Verb": text("verb") })
    });
    let mut errors = Vec::new();
    if let (Some(_), Some(path)) = (resource, &path_in_go) {
        let words = "cannot be specified in combination with resourceAttributes";
        errors.push(FieldError::invalid(
            "spec.nonResourceAttributes",
            path.clone(),
            words,
        ));
    }
    if resource.is_none() && path.is_none() {
        let words = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.push(FieldError::invalid(
            "spec.resourceAttributes",
            Value::Null,
            words,
        ));
    }
    if scope != Scope::Oneself {
        let user = subject(question);
        if user.name.is_empty() && user.groups.is_empty() {
            let words = "at least one of user or group must be specified";
            errors.push(FieldError::invalid("spec.user", "", words));
        }
    }
    for selector in ["fieldSelector", "labelSelector"] {
        let value = resource.and_then(|attributes| attributes.get(selector));
        let value = value.filter(|value| !value.is_null());
        let at = format!("spec.resourceAttributes.{selector}");
        errors.extend(value.and_then(|value| selector_error(value, &at)));
        if selector == "labelSelector" {
            errors.extend(value.map_or(Vec::new(), |value| key_errors(value, &at)));
        }
    }
    let mut metadata = question.at(&["metadata"]).cloned().unwrap_or(json!({}));
    if let Some(fields) = metadata.as_object_mut() {
        fields.retain(|name, value| name != "managedFields" && !value.is_null());
        if scope == Scope::Namespace {
            fields.remove("namespace");
        }
        if !fields.is_empty() {
            let words = match scope {
                Scope::Namespace => "must be empty except for namespace",
                _ => "must be empty",
            };
            errors.push(FieldError::invalid("metadata", metadata, words));
        }
    }
    if scope == Scope::Namespace {
        let namespace = question.str_at(&["spec", "resourceAttributes", "namespace"]);
        if resource.is_some() && namespace != question.namespace() {
            let field = "spec.resourceAttributes.namespace";
            errors.push(FieldError::invalid(
                field,
                namespace,
                "must match metadata.namespace",
            ));
        }
        if let Some(path) = path_in_go {
            let words = "disallowed on this kind of request";
            errors.push(FieldError::invalid(
                "spec.nonResourceAttributes",
                path,
                words,
            ));
        }
    }
    errors
}

/// Selectors change nothing about an answer by RBAC; but they have to be some.
fn selector_error(selector: &Value, at: &str) -> Option<FieldError> {
    let raw = selector["rawSelector"].as_str().unwrap_or_default();
    let requirements = selector["requirements"].as_array();
    let has_requirements = requirements.is_some_and(|list| !list.is_empty());
    match (raw.is_empty(), has_requirements) {
        (false, true) => {
            let words = "may not specified at the same time as requirements";
            Some(FieldError::invalid(format!("{at}.rawSelector"), raw, words))
        }
        (true, false) => {
            let words = format!("when {at} is specified, requirements or rawSelector is required");
            Some(FieldError::required(format!("{at}.requirements"), words))
        }
        _ => None,
    }
}

fn key_errors(selector: &Value, at: &str) -> Vec<FieldError> {
    let requirements = selector["requirements"].as_array().into_iter().flatten();
    let errors = requirements.enumerate().flat_map(|(index, requirement)| {
        let key = requirement["key"].as_str().unwrap_or_default();
        let field = format!("{at}.requirements[{index}].key");
        each_invalid(&field, key, berth_api::names::qualified_name(key))
    });
    errors.collect()
}

fn subject(question: &Object) -> User {
    let groups = question.at(&["spec", "groups"]).and_then(Value::as_array);
    let groups: Vec<_> = groups
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
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
    let audiences = question
        .at(&["spec", "audiences"])
        .and_then(Value::as_array);
    let audiences = audiences.into_iter().flatten().filter_map(Value::as_str);
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
            "user": user_info(&found.user),
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

/// A `UserInfo`.
fn user_info(user: &User) -> Value {
    let mut info = Map::new();
    for (field, text) in [("username", &user.name), ("uid", &user.uid)] {
        if !text.is_empty() {
            info.insert(field.into(), text.as_str().into());
        }
    }
    if !user.groups.is_empty() {
        info.insert("groups".into(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        info.insert("extra".into(), json!(user.extra));
    }
    Value::Object(info)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn message(question: Value, scope: Scope) -> String {
        let errors = access_errors(&Object::try_from(question).unwrap(), scope);
        match errors.as_slice() {
            [] => String::new(),
            errors => ApiError::invalid(AUTHORIZATION, "", "", errors).message,
        }
    }

    #[test]
    fn a_question_is_about_somebody_and_something() {
        let pods = json!({ "verb": "get", "resource": "pods" });
        let path = json!({ "verb": "get", "path": "/x" });
        let rows = [
            (
                json!({ "user": "u", "resourceAttributes": pods }),
                Scope::Everywhere,
                "",
            ),
            (
                json!({ "groups": ["g"], "nonResourceAttributes": path }),
                Scope::Everywhere,
                "",
            ),
            (json!({ "nonResourceAttributes": path }), Scope::Oneself, ""),
            (
                json!({}),
                Scope::Everywhere,
                r#".authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: "": at least one of user or group must be specified]"#,
            ),
            (
                json!({ "user": "u", "resourceAttributes": pods, "nonResourceAttributes": path }),
                Scope::Everywhere,
                r#".authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes"#,
            ),
            (
                json!({ "user": "u", "resourceAttributes": { "labelSelector": {} } }),
                Scope::Everywhere,
                r#".authorization.k8s.io "" is invalid: spec.resourceAttributes.labelSelector.requirements: Required value: when spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required"#,
            ),
            (
                json!({ "user": "u", "resourceAttributes": { "fieldSelector": { "rawSelector": "a=b", "requirements": [{}] } } }),
                Scope::Everywhere,
                r#".authorization.k8s.io "" is invalid: spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements"#,
            ),
            (
                json!({ "user": "u", "resourceAttributes": pods }),
                Scope::Namespace,
                r#".authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace"#,
            ),
            (
                json!({ "user": "u", "nonResourceAttributes": path }),
                Scope::Namespace,
                r#".authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request"#,
            ),
        ];
        for (spec, scope, words) in rows {
            let metadata = match scope {
                Scope::Namespace => json!({ "namespace": "app" }),
                _ => json!({}),
            };
            let question = json!({ "metadata": metadata, "spec": spec });
            assert_eq!(message(question, scope), words);
        }
        let named = json!({
            "metadata": { "name": "x", "managedFields": [] },
            "spec": { "resourceAttributes": pods },
        });
        let words = r#".authorization.k8s.io "" is invalid: metadata: Invalid value: {"name":"x"}: must be empty"#;
        assert_eq!(message(named, Scope::Oneself), words);
    }

    #[test]
    fn rules_are_told_apart_by_what_they_are_for() {
        let rules: Vec<PolicyRule> = serde_json::from_value(json!([
            { "verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"] },
            { "verbs": ["get"], "nonResourceURLs": ["/x"] },
        ]))
        .unwrap();
        let expected = json!({
            "resourceRules": [
                { "verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"] },
            ],
            "nonResourceRules": [{ "verbs": ["get"], "nonResourceURLs": ["/x"] }],
            "incomplete": false,
        });
        assert_eq!(rules_status(&rules), expected);
    }
}
