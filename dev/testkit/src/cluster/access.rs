//! Rights of users: creates RBAC objects, and waits until they are in force.

use berth_api::path::SUBJECT_ACCESS_REVIEWS;
use serde_json::{Value, json};

use super::{Cluster, Person, fresh};
use crate::{eventually, when};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A rule of a role. Without names it applies to all objects.
pub fn rule(verbs: &[&str], group: &str, resources: &[&str], names: &[&str]) -> Value {
    let mut rule = json!({ "verbs": verbs, "apiGroups": [group], "resources": resources });
    if !names.is_empty() {
        rule["resourceNames"] = json!(names);
    }
    rule
}

impl Cluster {
    /// Grants a user these rules in the whole hub, and returns when they are in force. Returns the name of the role and of the binding.
    pub async fn grant(&self, who: &Person, rules: &[Value]) -> String {
        let name = fresh("granted");
        let admin = self.admin().await;
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": { "name": name },
            "rules": rules,
        });
        let path = format!("{RBAC}/clusterroles");
        admin.post(&path, &role).await.unwrap().ok();
        let binding = binding("ClusterRoleBinding", &name, &who.user);
        let path = format!("{RBAC}/clusterrolebindings");
        admin.post(&path, &binding).await.unwrap().ok();
        for rule in rules {
            self.wait_until_allowed(&admin, &who.user, "", rule).await;
        }
        name
    }

    /// Grants a user these rules in a namespace, and returns when they are in force.
    pub async fn grant_in(&self, namespace: &str, who: &Person, rules: &[Value]) {
        let name = fresh("granted");
        let admin = self.admin().await;
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": { "name": name },
            "rules": rules,
        });
        let path = format!("{RBAC}/namespaces/{namespace}");
        let roles = format!("{path}/roles");
        admin.post(&roles, &role).await.unwrap().ok();
        let bindings = format!("{path}/rolebindings");
        let binding = binding("RoleBinding", &name, &who.user);
        admin.post(&bindings, &binding).await.unwrap().ok();
        for rule in rules {
            self.wait_until_allowed(&admin, &who.user, namespace, rule)
                .await;
        }
    }

    /// Binds a ClusterRole to a user in a namespace, and returns when this rule, which is part of it, is in force.
    pub async fn bind_in(&self, namespace: &str, who: &Person, role: &str, rule: &Value) {
        let admin = self.admin().await;
        let mut binding = binding("RoleBinding", role, &who.user);
        binding["metadata"]["name"] = json!(fresh("bound"));
        binding["roleRef"]["kind"] = json!("ClusterRole");
        let bindings = format!("{RBAC}/namespaces/{namespace}/rolebindings");
        admin.post(&bindings, &binding).await.unwrap().ok();
        self.wait_until_allowed(&admin, &who.user, namespace, rule)
            .await;
    }

    async fn wait_until_allowed(&self, admin: &Person, user: &str, namespace: &str, rule: &Value) {
        let (resource, subresource) = match rule["resources"][0].as_str().unwrap().split_once('/') {
            Some((resource, subresource)) => (resource, subresource),
            None => (rule["resources"][0].as_str().unwrap(), ""),
        };
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": user,
                "resourceAttributes": {
                    "namespace": namespace,
                    "verb": rule["verbs"][0],
                    "group": rule["apiGroups"][0],
                    "resource": resource,
                    "subresource": subresource,
                    "name": rule["resourceNames"][0].as_str().unwrap_or_default(),
                },
            },
        });
        eventually(&format!("the grant: {review}"), async || {
            let answer = admin.post(SUBJECT_ACCESS_REVIEWS, &review).await.unwrap();
            when(answer, |it| it.ok()["status"]["allowed"] == true)
        })
        .await;
    }
}

/// A binding and its role have the same name.
fn binding(kind: &str, name: &str, user: &str) -> Value {
    let role = kind.strip_suffix("Binding").unwrap();
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    })
}
