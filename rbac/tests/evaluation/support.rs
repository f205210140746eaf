//! Policies from YAML, requests in one line, tables of sentences.

use berth_rbac::{InvalidObject, Policy, Request, Subject, Verdict};
use serde_json::{Value, from_value};

/// Adds every document of a YAML text.
pub(crate) fn load(policy: &mut Policy, yaml: &str) -> Result<(), InvalidObject> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).unwrap();
    for mut document in documents {
        document["apiVersion"] = "rbac.authorization.k8s.io/v1".into();
        match document["kind"].as_str().unwrap() {
            "ClusterRole" => policy.upsert_cluster_role(from_value(document).unwrap()),
            "Role" => policy.upsert_role(from_value(document).unwrap()),
            "ClusterRoleBinding" => {
                policy.upsert_cluster_role_binding(from_value(document).unwrap())
            }
            "RoleBinding" => policy.upsert_role_binding(from_value(document).unwrap()),
            other => panic!("{other} is no RBAC kind"),
        }?;
    }
    Ok(())
}

pub(crate) fn policy(yaml: &str) -> Policy {
    let mut policy = Policy::new();
    load(&mut policy, yaml).unwrap();
    policy
}

/// A policy of one ClusterRole with these rules (YAML flow), bound to user `u`.
pub(crate) fn rules_of_u(rules: &str) -> Policy {
    policy(&format!(
        "
kind: ClusterRole
metadata: {{name: r}}
rules: [{rules}]
---
kind: ClusterRoleBinding
metadata: {{name: b}}
roleRef: {{kind: ClusterRole, name: r}}
subjects: [{{kind: User, name: u}}]
"
    ))
}

/// Reads `get apps deployments/scale web -n app` (verb, group or `core`, resource, name if any) or `get /healthz`.
pub(crate) fn request(line: &str) -> Request<'_> {
    let (what, namespace) = line.split_once(" -n ").unwrap_or((line, ""));
    let words: Vec<&str> = what.split(' ').collect();
    match words[..] {
        [verb, path] => Request::NonResource { verb, path },
        [verb, group, resource, ref name @ ..] => {
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            Request::Resource {
                verb,
                api_group: if group == "core" { "" } else { group },
                resource,
                subresource,
                name: name.first().copied().unwrap_or_default(),
                namespace,
            }
        }
        _ => panic!("{line:?} is no request"),
    }
}

pub(crate) fn ask(policy: &Policy, user: &str, groups: &[&str], line: &str) -> Verdict {
    policy.evaluate(&Subject { user, groups }, &request(line))
}

/// The grant as text, or `no`.
pub(crate) fn answer(policy: &Policy, user: &str, groups: &[&str], line: &str) -> String {
    match ask(policy, user, groups, line) {
        Verdict::Allowed(grant) => grant.to_string(),
        Verdict::NoOpinion { .. } => "no".to_owned(),
    }
}
