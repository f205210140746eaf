//! Users, by the permissions that they have.

use std::collections::BTreeSet;

use berth_testkit::cluster::{Person, path_of, rule};
use berth_testkit::objects::{CLUSTER_GROUP, REGISTER_GROUP};
use berth_testkit::{eventually, when};
use serde_json::{Value, json};

use crate::engine::GROUPS;

const RBAC: &str = "rbac.authorization.k8s.io";

/// A user who may write everything, with these of the permissions that the gate checks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct User {
    pub name: String,
    /// The groups besides that of the engine.
    pub groups: Vec<&'static str>,
    /// `accept`, `accept:CLUSTER`, `join:SET`, `join:*`, `bind:SET`.
    permissions: Vec<&'static str>,
}

impl User {
    /// A user with these permissions.
    pub fn new(permissions: &[&'static str]) -> Self {
        let words: Vec<_> = ["dev"]
            .iter()
            .chain(permissions)
            .map(|word| word.replace([':', '*'], "."))
            .collect();
        Self {
            name: words.join("-"),
            groups: Vec::new(),
            permissions: permissions.to_vec(),
        }
    }

    /// The same permissions under another name.
    pub fn called(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }

    /// A member of this group.
    pub fn in_group(mut self, group: &'static str) -> Self {
        self.groups.push(group);
        self
    }
}

/// Grants these users their permissions, and returns when they are in force.
pub async fn grant(admin: &Person, users: impl IntoIterator<Item = &User>) {
    let users: BTreeSet<_> = users.into_iter().collect();
    let permissions: BTreeSet<_> = users.iter().flat_map(|user| &user.permissions).collect();
    for permission in &permissions {
        let name = role_name(permission);
        let role = json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": "ClusterRole",
            "metadata": { "name": name },
            "rules": [permitted(permission)],
        });
        let subjects: Vec<_> = users
            .iter()
            .filter(|user| user.permissions.contains(permission))
            .map(|user| subject("User", &user.name))
            .collect();
        apply(admin, &role).await;
        apply(admin, &bound(&name, &subjects)).await;
    }
    for permission in permissions {
        let user = users
            .iter()
            .find(|user| user.permissions.contains(permission));
        let rule = permitted(permission);
        let (resource, subresource) = rule["resources"][0]
            .as_str()
            .unwrap()
            .split_once('/')
            .unwrap();
        let attributes = json!({
            "verb": rule["verbs"][0],
            "group": rule["apiGroups"][0],
            "resource": resource,
            "subresource": subresource,
            "name": rule["resourceNames"][0].as_str().unwrap_or("any"),
        });
        wait_until_allowed(admin, &user.unwrap().name, &attributes).await;
    }
}

/// Lets the groups of the engines write everything.
pub async fn grant_writing(admin: &Person) {
    let name = "proof-writers";
    let resources = [
        "managedclusters",
        "managedclustersets",
        "managedclustersetbindings",
    ];
    let role = json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "ClusterRole",
        "metadata": { "name": name },
        "rules": [
            rule(&["*"], CLUSTER_GROUP, &resources, &[]),
            rule(&["*"], "certificates.k8s.io", &["certificatesigningrequests"], &[]),
        ],
    });
    apply(admin, &role).await;
    let subjects = GROUPS.map(|group| subject("Group", group));
    apply(admin, &bound(name, &subjects)).await;
}

fn role_name(permission: &str) -> String {
    format!("proof-{}", permission.replace([':', '*'], "."))
}

fn permitted(permission: &str) -> Value {
    let (verb, name) = permission.split_once(':').unwrap_or((permission, "*"));
    let names: &[&str] = if name == "*" { &[] } else { &[name] };
    match verb {
        "accept" => rule(
            &["update"],
            REGISTER_GROUP,
            &["managedclusters/accept"],
            names,
        ),
        "join" => rule(
            &["create"],
            CLUSTER_GROUP,
            &["managedclustersets/join"],
            names,
        ),
        "bind" => rule(
            &["create"],
            CLUSTER_GROUP,
            &["managedclustersets/bind"],
            names,
        ),
        _ => panic!("no permission {permission}"),
    }
}

fn subject(kind: &str, name: &str) -> Value {
    json!({ "apiGroup": RBAC, "kind": kind, "name": name })
}

fn bound(role: &str, subjects: &[Value]) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "ClusterRoleBinding",
        "metadata": { "name": role },
        "roleRef": { "apiGroup": RBAC, "kind": "ClusterRole", "name": role },
        "subjects": subjects,
    })
}

async fn apply(admin: &Person, object: &Value) {
    let path = path_of(object);
    let manager = "proof";
    admin.apply_as(manager, &path, object).await.unwrap().ok();
}

async fn wait_until_allowed(admin: &Person, user: &str, attributes: &Value) {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": { "user": user, "resourceAttributes": attributes },
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    eventually(&format!("the grant: {review}"), async || {
        let answer = admin.post(path, &review).await.unwrap();
        when(answer, |it| it.ok()["status"]["allowed"] == true)
    })
    .await;
}
