//! The RBAC objects of a new hub: those of Kubernetes that apply to what devhub serves
//! (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings>).

use berth_rbac::Policy;
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::{Value, from_value, json};

use super::GROUP;
use crate::object::Object;

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "delete", "deletecollection", "patch", "update"];

/// Aggregated roles, and the role whose rules they become a part of.
const AGGREGATED: [(&str, Option<&str>); 3] = [
    ("admin", None),
    ("edit", Some("admin")),
    ("view", Some("edit")),
];

const ROLES: &str = include_str!("roles.txt");

/// ClusterRoles, a Role and ClusterRoleBindings. Aggregated roles have their rules. The caller adds what every stored object
/// has (uid, creationTimestamp, ...).
pub(crate) fn objects() -> Vec<Object> {
    let (mut roles, mut bindings, mut policy) = (Vec::new(), Vec::new(), Policy::new());
    let lines = ROLES.lines().filter(|line| !line.starts_with('#'));
    for role in lines
        .collect::<Vec<_>>()
        .chunk_by(|_, next| next.starts_with("  "))
    {
        let (name, groups) = role[0].split_once(' ').unwrap_or((role[0], ""));
        let rules = role[1..].iter().map(|line| rule(line.trim_start()));
        let role = cluster_role(name, rules.collect());
        let typed = from_value(role.to_value()).expect("a ClusterRole");
        let added = policy.upsert_cluster_role(typed);
        added.expect("the roles are valid; a test says so");
        roles.push(role);
        if !groups.is_empty() {
            bindings.push(binding(name, groups));
        }
    }
    for (name, rules) in super::aggregated(&policy) {
        let aggregated = roles.iter_mut().filter(|role| role.name() == name);
        aggregated.for_each(|role| role.set(&["rules"], json!(rules)));
    }
    roles.push(authentication_reader());
    roles.extend(bindings);
    roles
}

/// For servers that read the CA of their clients' certificates.
fn authentication_reader() -> Object {
    let rule = rule("read core configmaps extension-apiserver-authentication");
    let name = "extension-apiserver-authentication-reader";
    let mut role = object("Role", name, None, json!({"rules": [rule]}));
    role.set(&["metadata", "namespace"], "kube-system");
    role
}

fn cluster_role(name: &str, rules: Vec<PolicyRule>) -> Object {
    match AGGREGATED
        .iter()
        .find(|(aggregated, _)| *aggregated == name)
    {
        None => {
            let part_of = name.strip_prefix("system:aggregate-to-");
            object("ClusterRole", name, part_of, json!({"rules": rules}))
        }
        Some((_, part_of)) => {
            let selector = json!({"matchLabels": {aggregate_to(name): "true"}});
            let rule = json!({"clusterRoleSelectors": [selector]});
            object(
                "ClusterRole",
                name,
                *part_of,
                json!({"aggregationRule": rule}),
            )
        }
    }
}

/// The label that makes a role part of another.
fn aggregate_to(role: &str) -> String {
    format!("{GROUP}/aggregate-to-{role}")
}

fn binding(role: &str, groups: &str) -> Object {
    let subject = |group: &str| json!({"apiGroup": GROUP, "kind": "Group", "name": group});
    let fields = json!({
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": groups.split(',').map(subject).collect::<Value>(),
    });
    object("ClusterRoleBinding", role, None, fields)
}

fn object(kind: &str, name: &str, part_of: Option<&str>, fields: Value) -> Object {
    let mut object = Object::try_from(fields).expect("a JSON object");
    object.set_type(&format!("{GROUP}/v1"), kind);
    let metadata = json!({
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    });
    object.set(&["metadata"], metadata);
    if let Some(role) = part_of {
        object.set(&["metadata", "labels", &aggregate_to(role)], "true");
    }
    object
}

fn rule(line: &str) -> PolicyRule {
    let list = |word: &str| -> Vec<String> { word.split(',').map(str::to_owned).collect() };
    let words: Vec<&str> = line.split(' ').collect();
    let verbs = words[0].split(',').flat_map(|verb| match verb {
        "read" => READ.to_vec(),
        "write" => WRITE.to_vec(),
        other => vec![other],
    });
    let mut verbs: Vec<String> = verbs.map(str::to_owned).collect();
    verbs.sort();
    if let [_, paths] = words[..] {
        return PolicyRule {
            non_resource_urls: Some(list(paths)),
            verbs,
            ..PolicyRule::default()
        };
    }
    let groups = list(words[1]);
    let groups = groups.into_iter().map(|group| match group.as_str() {
        "core" => String::new(),
        _ => group,
    });
    PolicyRule {
        api_groups: Some(groups.collect()),
        resources: Some(list(words[2])),
        resource_names: words.get(3).map(|names| list(names)),
        verbs,
        ..PolicyRule::default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_roles_for_people_hold_one_another() {
        let objects = objects();
        let rules = |name: &str| -> Vec<PolicyRule> {
            let mut named = objects.iter();
            let role = named.find(|role| role.kind() == "ClusterRole" && role.name() == name);
            from_value(role.unwrap().at(&["rules"]).unwrap().clone()).unwrap()
        };
        let lacking = |more: &str, less: &str| berth_rbac::not_covered(&rules(more), &rules(less));
        assert_eq!(lacking("edit", "view"), []);
        assert_eq!(lacking("admin", "edit"), []);
        assert_ne!(lacking("edit", "admin"), []);
        assert_ne!(lacking("view", "edit"), []);
        assert_eq!(lacking("cluster-admin", "admin"), []);
    }
}
