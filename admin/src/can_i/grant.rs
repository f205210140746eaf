//! The smallest RBAC objects that grant a permission to a user.

use std::io;

use berth_rules::Permission;
use serde_json::{Value, json};

use crate::flags::DocumentFormat;

const RBAC: &str = "rbac.authorization.k8s.io";

/// A role with one permission, and a binding that grants it to one user: a Role and a RoleBinding for a permission in a namespace, else a
/// ClusterRole and a ClusterRoleBinding.
#[derive(Debug)]
pub(super) struct Grant {
    role: Value,
    binding: Value,
}

// === impl Grant ===

impl Grant {
    pub(super) fn new(permission: &Permission, user: &str) -> Self {
        let Permission {
            group,
            name,
            namespace,
            ..
        } = permission;
        // No object has the empty name.
        let role_name = format!(
            "berth:{}:{}",
            permission.requirement.as_str(),
            part(name.as_deref().unwrap_or_default())
        );
        let mut rule = json!({
            "apiGroups": [group],
            "resources": [permission.whole_resource()],
            "verbs": [permission.verbs[0]],
        });
        if let Some(name) = name {
            rule["resourceNames"] = json!([name]);
        }
        let binding_name = format!("{role_name}:{}", part(user));
        let prefix = if namespace.is_some() { "" } else { "Cluster" };
        let role_kind = format!("{prefix}Role");
        let mut role = json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": role_kind,
            "metadata": {"name": role_name},
            "rules": [rule],
        });
        let mut binding = json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": format!("{prefix}RoleBinding"),
            "metadata": {"name": binding_name},
            "roleRef": {"apiGroup": RBAC, "kind": role_kind, "name": role_name},
            "subjects": [subject(user)],
        });
        if let Some(namespace) = namespace {
            for object in [&mut role, &mut binding] {
                object["metadata"]["namespace"] = json!(namespace);
            }
        }
        Self { role, binding }
    }

    /// Formats both objects for `kubectl apply`.
    pub(super) fn written(&self, format: DocumentFormat) -> io::Result<String> {
        match format {
            DocumentFormat::Yaml => {
                let yaml = |it: &Value| serde_saphyr::to_string(it).map_err(io::Error::other);
                let end = |text: String| format!("{}\n", text.trim_end());
                let (role, binding) = (end(yaml(&self.role)?), end(yaml(&self.binding)?));
                Ok(format!("---\n{role}---\n{binding}"))
            }
            DocumentFormat::Json => {
                let list = json!({
                    "apiVersion": "v1",
                    "kind": "List",
                    "items": [self.role, self.binding],
                });
                Ok(format!("{}\n", serde_json::to_string_pretty(&list)?))
            }
        }
    }
}

/// Returns the subject. A service account gets kind ServiceAccount, so that other tools recognize it.
fn subject(user: &str) -> Value {
    let account = user.strip_prefix("system:serviceaccount:");
    match account.and_then(|account| account.split_once(':')) {
        Some((namespace, name)) => {
            json!({"kind": "ServiceAccount", "namespace": namespace, "name": name})
        }
        None => json!({"apiGroup": RBAC, "kind": "User", "name": user}),
    }
}

/// A part of an object's name, which has no `/` and no `%` in it. Different texts stay different.
fn part(text: &str) -> String {
    text.replace('_', "__")
        .replace('/', "_s")
        .replace('%', "_p")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_allows_one_thing_and_one_user_has_it() {
        let yaml = Grant::new(&Permission::accept("c1"), "dev")
            .written(DocumentFormat::Yaml)
            .unwrap();
        assert_eq!(
            yaml,
            "\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: berth:accept:c1
rules:
- apiGroups:
  - register.open-cluster-management.io
  resourceNames:
  - c1
  resources:
  - managedclusters/accept
  verbs:
  - update
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: berth:accept:c1:dev
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: berth:accept:c1
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: User
  name: dev
"
        );
    }

    #[test]
    fn a_permission_in_a_namespace_is_granted_there_only() {
        let executor = "system:serviceaccount:shop:deployer";
        let permission = Permission::execute_as(executor).in_namespace("cluster1");
        let Grant { role, binding } = Grant::new(&permission, "dev");
        assert_eq!(
            role,
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": {
                    "name": "berth:execute-as:system:serviceaccount:shop:deployer",
                    "namespace": "cluster1",
                },
                "rules": [{
                    "apiGroups": ["work.open-cluster-management.io"],
                    "resources": ["manifestworks"],
                    "resourceNames": [executor],
                    "verbs": ["execute-as"],
                }],
            })
        );
        assert_eq!(binding["kind"], "RoleBinding");
        assert_eq!(binding["metadata"]["namespace"], "cluster1");
        assert_eq!(binding["roleRef"]["kind"], "Role");
        assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
        let Grant { role, binding } = Grant::new(&Permission::execute_as(executor), "dev");
        assert_eq!(role["kind"], "ClusterRole");
        assert_eq!(binding["kind"], "ClusterRoleBinding");
        assert_eq!(role["metadata"].get("namespace"), None);
    }

    #[test]
    fn what_is_written_says_the_same_whatever_the_names_are() {
        for name in ["123", "true", "null", "1e3", "a: b", "it's \"x\"", "*", "~"] {
            let grant = Grant::new(&Permission::join(name), name);
            let yaml = grant.written(DocumentFormat::Yaml).unwrap();
            let json = grant.written(DocumentFormat::Json).unwrap();
            let read: Value = serde_json::from_str(&json).unwrap();
            assert_eq!(read["items"], json!([grant.role, grant.binding]), "{name}");
            let documents: Vec<Value> = yaml
                .split("---\n")
                .skip(1)
                .map(|document| serde_saphyr::from_str(document).unwrap())
                .collect();
            assert_eq!(documents, [grant.role, grant.binding], "{name}");
        }
    }

    #[test]
    fn users_are_bound_as_what_they_are() {
        for (user, kind, name) in [
            ("dev", "User", "berth:bind:prod:dev"),
            (
                "https://idp/a_b%",
                "User",
                "berth:bind:prod:https:_s_sidp_sa__b_p",
            ),
            (
                "system:serviceaccount:ci:builder",
                "ServiceAccount",
                "berth:bind:prod:system:serviceaccount:ci:builder",
            ),
        ] {
            let Grant { binding, .. } = Grant::new(&Permission::bind("prod"), user);
            assert_eq!(binding["subjects"][0]["kind"], kind, "{user}");
            assert_eq!(binding["metadata"]["name"], name, "{user}");
        }
        let Grant { binding, .. } = Grant::new(
            &Permission::bind("prod"),
            "system:serviceaccount:ci:builder",
        );
        let account = json!({"kind": "ServiceAccount", "namespace": "ci", "name": "builder"});
        assert_eq!(binding["subjects"], json!([account]));
    }
}
