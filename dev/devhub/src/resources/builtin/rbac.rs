//! The behaviour of RBAC's kinds: validation, and the prevention of escalation.

use berth_rbac::{ObjectRef, RbacKind};
use k8s_openapi::api::rbac::v1::{PolicyRule, RoleRef};
use serde_json::{Value, json};

use super::fields::{self, each_invalid, not_supported, path_segment};
use crate::authorization::{GROUP, escalation};
use crate::object::Object;
use crate::resources::{Behaviour, WriteTo};
use crate::status::{ApiError, FieldError};
use crate::user::User;

/// How often a ClusterRole's rules are written when others write it at the same time.
const ATTEMPTS: usize = 10;

/// Roles and ClusterRoles.
#[derive(Debug)]
pub(crate) struct Roles;
/// RoleBindings and ClusterRoleBindings.
#[derive(Debug)]
pub(crate) struct Bindings;

impl Behaviour for Roles {
    fn prepare(&self, _write: &WriteTo<'_>, object: &mut Object) {
        show_rules(object);
    }

    fn validate(&self, write: &WriteTo<'_>, object: &Object) -> Vec<FieldError> {
        let mut errors = rule_errors(object, write.resource.namespaced);
        errors.extend(aggregation_errors(object));
        errors
    }

    fn authorize(&self, write: &WriteTo<'_>, object: &Object) -> Result<(), ApiError> {
        authorize_role(write, object)
    }

    fn committed(&self, write: &WriteTo<'_>, object: Option<&Object>) {
        let can_matter = object
            .is_none_or(|role| aggregates(role) || role.at(&["metadata", "labels"]).is_some());
        if can_matter && !write.resource.namespaced {
            aggregate(write);
        }
    }
}

impl Behaviour for Bindings {
    fn default(&self, object: &mut Object) {
        default_binding(object);
    }

    fn validate(&self, write: &WriteTo<'_>, object: &Object) -> Vec<FieldError> {
        binding_errors(object, write.old, write.resource.namespaced)
    }

    fn authorize(&self, write: &WriteTo<'_>, object: &Object) -> Result<(), ApiError> {
        authorize_binding(write, object)
    }
}

/// The rules of a role that its schema has let through.
fn rules(role: &Object) -> Vec<PolicyRule> {
    let rules = role.at(&["rules"]).cloned().unwrap_or_default();
    serde_json::from_value(rules).unwrap_or_default()
}

/// Roles show that they have no rules.
fn show_rules(role: &mut Object) {
    role.fields_mut().entry("rules").or_insert(Value::Null);
}

fn aggregates(role: &Object) -> bool {
    let selectors = role.items(&["aggregationRule", "clusterRoleSelectors"]);
    !selectors.is_empty()
}

fn rule_errors(role: &Object, namespaced: bool) -> Vec<FieldError> {
    let empty = |field: &Option<Vec<String>>| field.as_ref().is_none_or(Vec::is_empty);
    let mut errors = Vec::new();
    for (index, rule) in rules(role).iter().enumerate() {
        let at = |field: &str| format!("rules[{index}].{field}");
        if rule.verbs.is_empty() {
            let words = "verbs must contain at least one value";
            errors.push(FieldError::required(at("verbs"), words));
        }
        if !empty(&rule.non_resource_urls) {
            let mut refuse = |words| {
                let urls = json!(rule.non_resource_urls);
                errors.push(FieldError::invalid(at("nonResourceURLs"), urls, words));
            };
            if namespaced {
                refuse("namespaced rules cannot apply to non-resource URLs");
            }
            if !(empty(&rule.api_groups) && empty(&rule.resources) && empty(&rule.resource_names)) {
                refuse("rules cannot apply to both regular resources and non-resource URLs");
            }
            continue;
        }
        if empty(&rule.api_groups) {
            let words = "resource rules must supply at least one api group";
            errors.push(FieldError::required(at("apiGroups"), words));
        }
        if empty(&rule.resources) {
            let words = "resource rules must supply at least one resource";
            errors.push(FieldError::required(at("resources"), words));
        }
    }
    errors
}

fn aggregation_errors(role: &Object) -> Vec<FieldError> {
    if role.at(&["aggregationRule"]).is_none_or(Value::is_null) {
        return Vec::new();
    }
    let path = "aggregationRule.clusterRoleSelectors";
    let selectors = role.items(&["aggregationRule", "clusterRoleSelectors"]);
    if selectors.is_empty() {
        let words = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        return vec![FieldError::required(path, words)];
    }
    let selectors = selectors.iter().enumerate();
    selectors
        .flat_map(|(index, selector)| fields::selector(&format!("{path}[{index}]"), selector))
        .collect()
}

fn default_binding(binding: &mut Object) {
    let set = |group: &mut Value| {
        if group.as_str().unwrap_or_default().is_empty() {
            *group = GROUP.into();
        }
    };
    let role = binding.fields_mut().entry("roleRef").or_insert(json!({}));
    if let Value::Object(role) = role {
        set(role.entry("apiGroup").or_insert(Value::Null));
    }
    let subjects = binding.fields_mut().get_mut("subjects");
    for subject in subjects.and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(subject) = subject.as_object_mut() else {
            continue;
        };
        if matches!(
            subject.get("kind").and_then(Value::as_str),
            Some("User" | "Group")
        ) {
            set(subject.entry("apiGroup").or_insert(Value::Null));
        }
    }
}

fn binding_errors(binding: &Object, old: Option<&Object>, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let role = role_ref(binding);
    if role.api_group != GROUP {
        let field = "roleRef.apiGroup".to_owned();
        errors.push(not_supported(field, role.api_group.as_str(), &[GROUP]));
    }
    let kinds: &[&str] = if namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    if !kinds.contains(&role.kind.as_str()) {
        let field = "roleRef.kind".to_owned();
        errors.push(not_supported(field, role.kind.as_str(), kinds));
    }
    if role.name.is_empty() {
        errors.push(FieldError::required("roleRef.name", ""));
    }
    let problems = path_segment(&role.name);
    errors.extend(each_invalid("roleRef.name", &role.name, problems));
    for (index, subject) in binding.items(&["subjects"]).iter().enumerate() {
        let at = format!("subjects[{index}]");
        errors.extend(subject_errors(subject, namespaced, &at));
    }
    if old.is_some_and(|old| role_ref(old) != role) {
        let value = json!({ "APIGroup": role.api_group, "Kind": role.kind, "Name": role.name });
        errors.push(FieldError::invalid(
            "roleRef",
            value,
            "cannot change roleRef",
        ));
    }
    errors
}

fn subject_errors(subject: &Value, namespaced: bool, at: &str) -> Vec<FieldError> {
    let text = |field: &str| subject[field].as_str().unwrap_or_default();
    let (name, group) = (text("name"), text("apiGroup"));
    let mut errors = Vec::new();
    if name.is_empty() {
        errors.push(FieldError::required(format!("{at}.name"), ""));
    }
    match text("kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                let problems = berth_api::names::dns1123_subdomain(name);
                errors.extend(each_invalid(&format!("{at}.name"), name, problems));
            }
            if !group.is_empty() {
                errors.push(not_supported(format!("{at}.apiGroup"), group, &[""]));
            }
            if !namespaced && text("namespace").is_empty() {
                errors.push(FieldError::required(format!("{at}.namespace"), ""));
            }
        }
        "User" | "Group" if group != GROUP => {
            errors.push(not_supported(format!("{at}.apiGroup"), group, &[GROUP]));
        }
        "User" | "Group" => {}
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(not_supported(format!("{at}.kind"), other, &kinds));
        }
    }
    errors
}

fn role_ref(binding: &Object) -> RoleRef {
    RoleRef {
        api_group: binding.str_at(&["roleRef", "apiGroup"]).to_owned(),
        kind: binding.str_at(&["roleRef", "kind"]).to_owned(),
        name: binding.str_at(&["roleRef", "name"]).to_owned(),
    }
}

fn authorize_role(write: &WriteTo<'_>, role: &Object) -> Result<(), ApiError> {
    let Some(user) = user_who_grants(write, role) else {
        return Ok(());
    };
    let namespace = write.key.namespace.as_str();
    let kind = match write.resource.namespaced {
        true => RbacKind::Role,
        false => RbacKind::ClusterRole,
    };
    // A creation names no object yet.
    let name = write.old.map_or("", |_| write.key.name.as_str());
    if escalation::is_exempt(write.world, user, "escalate", (kind, namespace, name)) {
        return Ok(());
    }
    escalation::check(write.world, user, namespace, &rules(role))
        .map_err(|why| forbidden(write, &why))?;
    if aggregates(role) || write.old.is_some_and(aggregates) {
        let everything = [
            rule(json!({ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] })),
            rule(json!({ "nonResourceURLs": ["*"], "verbs": ["*"] })),
        ];
        let why = "must have cluster-admin privileges to use the aggregationRule";
        escalation::check(write.world, user, namespace, &everything)
            .map_err(|_| forbidden(write, why))?;
    }
    Ok(())
}

fn authorize_binding(write: &WriteTo<'_>, binding: &Object) -> Result<(), ApiError> {
    let Some(user) = user_who_grants(write, binding) else {
        return Ok(());
    };
    let namespace = write.key.namespace.as_str();
    let RoleRef { kind, name, .. } = role_ref(binding);
    let role = match kind.as_str() {
        "Role" => ObjectRef {
            kind: RbacKind::Role,
            namespace: Some(namespace.to_owned()),
            name,
        },
        _ => ObjectRef {
            kind: RbacKind::ClusterRole,
            namespace: None,
            name,
        },
    };
    let asked = (role.kind, namespace, role.name.as_str());
    if escalation::is_exempt(write.world, user, "bind", asked) {
        return Ok(());
    }
    let Some(rules) = escalation::rules_of(write.world, &role) else {
        // As kube-apiserver, which takes the name for one of these.
        return Err(ApiError::not_found(GROUP, &write.resource.name, &role.name));
    };
    escalation::check(write.world, user, namespace, &rules).map_err(|why| forbidden(write, &why))
}

/// The user of the write, if it is not devhub itself and the write can change rights.
fn user_who_grants<'a>(write: &WriteTo<'a>, object: &Object) -> Option<&'a User> {
    let bare = |object: &Object| {
        let mut object = object.clone();
        for field in [
            "ownerReferences",
            "finalizers",
            "managedFields",
            "resourceVersion",
        ] {
            object.remove(&["metadata", field]);
        }
        object
    };
    let grants = write.old.is_none_or(|old| bare(old) != bare(object));
    write.user.filter(|_| grants)
}

fn forbidden(write: &WriteTo<'_>, why: &str) -> ApiError {
    write.resource.forbidden(&write.key.name, why)
}

fn rule(value: Value) -> PolicyRule {
    serde_json::from_value(value).expect("a rule as written above")
}

/// Writes the rules of aggregated ClusterRoles, where they are not what they ought to be.
fn aggregate(write: &WriteTo<'_>) {
    let (store, authorizer) = (&write.world.store, &write.world.authorizer);
    for (name, _) in authorizer.aggregated(store) {
        let key = write.resource.key("", &name);
        for _ in 0..ATTEMPTS {
            let all = authorizer.aggregated(store);
            let Some((_, wanted)) = all.into_iter().find(|(role, _)| *role == name) else {
                break;
            };
            let Some(stored) = store.get(&key) else {
                break;
            };
            if rules(&stored.object) == wanted {
                break;
            }
            let mut role = stored.object.clone();
            role.set(&["rules"], json!(wanted));
            if store.update(&key, stored.revision, role).is_ok() {
                break;
            }
        }
    }
}
