//! Permissions of add-ons from templates: which RoleBindings exist.

use berth_testkit::cluster::AsAdmin;
use berth_testkit::process::once;
use berth_testkit::{eventually, when};
use serde_json::{Value, json};

use super::hub::Hub;

/// The path of RBAC's API.
pub const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const GROUP: &str = "rbac.authorization.k8s.io";

/// A permission in the namespaces of all clusters.
pub fn current(role: &str) -> Value {
    json!({"type": "CurrentCluster", "currentCluster": {"clusterRoleName": role}})
}

/// A permission in this namespace.
pub fn single(namespace: &str, role: &str) -> Value {
    let role = json!({"apiGroup": GROUP, "kind": "ClusterRole", "name": role});
    json!({"type": "SingleNamespace", "singleNamespace": {"namespace": namespace, "roleRef": role}})
}

fn registration(permissions: &[Value]) -> Value {
    json!([{"type": "KubeClient", "kubeClient": {"hubPermissions": permissions}}])
}

impl Hub {
    /// Creates a ClusterRole that the controller does not have, and returns its name.
    pub async fn role(&self, name: &str) -> String {
        let name = self.named(name);
        let role = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
        });
        self.create(&format!("{RBAC}/clusterroles"), &role).await;
        name
    }

    /// Lets the controller bind these roles, as an admin does who applies what the hub says.
    pub async fn lets_bind(&self, cluster: &str, expected: &str) {
        let said = |it: &Value| {
            let mut conditions = it["status"]["conditions"].as_array()?.iter();
            let found = conditions.find(|it| it["reason"] == "SetPermissionFailed")?;
            assert_eq!(
                (&found["type"], &found["status"]),
                (&json!("RegistrationApplied"), &json!("False"))
            );
            let message = found["message"].as_str()?;
            let why = message.strip_prefix("Failed to set permission for hub agent: ")?;
            why.contains(expected).then(|| why.to_owned())
        };
        let on = self.on(cluster, "a");
        let on = once(&self.admin, &on, expected, |it| said(it).is_some()).await;
        self.apply_what_it_says(&said(&on).unwrap()).await;
    }

    /// The names of the bindings of add-ons in a namespace with their roles, sorted.
    async fn bindings(&self, namespace: &str) -> Vec<String> {
        let selector = "labelSelector=open-cluster-management.io/addon-template-name";
        let path = format!("{RBAC}/namespaces/{namespace}/rolebindings?{selector}");
        let list = self.read(&path).await;
        let items = list["items"].as_array().unwrap();
        let lines = items.iter().map(|it| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            format!(
                "{} {}",
                text(&it["metadata"]["name"]),
                text(&it["roleRef"]["name"])
            )
        });
        let mut lines: Vec<_> = lines.collect();
        lines.sort_unstable();
        lines
    }

    async fn binds(&self, namespace: &str, expected: &[String]) {
        eventually(&format!("{expected:?} in {namespace}"), async || {
            when(self.bindings(namespace).await, |it| it == expected)
        })
        .await;
    }

    /// The name of the bindings of the add-on `a`.
    pub fn binding(&self) -> String {
        format!(
            "open-cluster-management:{}:clusterrole:agent",
            self.named("a")
        )
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn permissions_follow_the_template_once_an_admin_lets_the_hub_bind_its_roles() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    let [one, two] = &clusters[..] else { panic!() };
    let (first, second) = (hub.role("first").await, hub.role("second").await);
    let mut managing = hub.start().await;
    let (name, shared) = (hub.binding(), hub.namespace.clone());
    hub.register(
        &clusters,
        registration(&[current(&first), single(&shared, &second)]),
    )
    .await;
    // 22: refused as an escalation, until an admin applies what the condition says.
    let refused = |role: &str| format!("the controller may not bind ClusterRole {role},");
    hub.lets_bind(one, &refused(&second)).await;
    hub.binds(&shared, &[format!("{name} {second}")]).await;
    hub.lets_bind(one, &refused(&first)).await;
    for cluster in &clusters {
        hub.binds(cluster, &[format!("{name} {first}")]).await;
    }
    for cluster in &clusters {
        hub.condition(
            cluster,
            "a",
            "RegistrationApplied",
            "True SetPermissionApplied",
        )
        .await;
    }
    let binding = |namespace: &str| format!("{RBAC}/namespaces/{namespace}/rolebindings/{name}");
    // In the namespace of a cluster only its agents, in another one those of all clusters.
    let stored = hub.read(&binding(one)).await;
    let subjects: Vec<_> = stored["subjects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].clone())
        .collect();
    let addon = hub.named("a");
    let group = format!("system:open-cluster-management:cluster:{one}:addon:{addon}");
    assert_eq!(
        subjects,
        [json!(group), json!(format!("{group}:agent:{addon}-agent"))]
    );
    let on = hub.read(&hub.on(one, "a")).await;
    assert_eq!(
        stored["metadata"]["ownerReferences"][0]["uid"],
        on["metadata"]["uid"]
    );
    let stored = hub.read(&binding(&shared)).await;
    assert_eq!(
        stored["subjects"][0]["name"],
        format!("system:open-cluster-management:addon:{addon}")
    );
    assert!(stored["metadata"]["ownerReferences"].is_null(), "{stored}");

    // What others change is put back, what they add stays.
    let foreign = json!({"kind": "User", "apiGroup": GROUP, "name": "eve"});
    let patch = json!({"metadata": {"annotations": {"mine": "yes"}}, "subjects": [foreign]});
    hub.patch(&binding(two), patch).await;
    let mended = once(&hub.admin, &binding(two), "mended", |it| {
        it["subjects"][0]["name"] != "eve"
    })
    .await;
    assert_eq!(mended["metadata"]["annotations"]["mine"], "yes");

    // The template does not ask for the first role any more; the hub is killed meanwhile.
    managing.kill().await;
    hub.registering("t", json!([]), registration(&[single(&shared, &second)]))
        .await;
    let _successor = hub.start().await;
    for cluster in &clusters {
        hub.binds(cluster, &[]).await;
    }
    assert_eq!(hub.bindings(&shared).await, [format!("{name} {second}")]);

    // An add-on that is gone leaves nothing.
    hub.admin.delete(&hub.add_on("a")).await.unwrap().ok();
    for cluster in &clusters {
        hub.admin.delete(&hub.on(cluster, "a")).await.unwrap();
    }
    hub.binds(&shared, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_is_not_accepted_loses_its_permissions() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(2).await;
    let [one, two] = &clusters[..] else { panic!() };
    let role = hub.role("first").await;
    let _managing = hub.start().await;
    hub.register(&clusters, registration(&[current(&role)]))
        .await;
    hub.lets_bind(one, "the controller may not bind").await;
    let bound = [format!("{} {role}", hub.binding())];
    for cluster in &clusters {
        hub.binds(cluster, &bound).await;
    }
    let path = hub.managed_cluster(one);
    hub.patch(&path, json!({"spec": {"hubAcceptsClient": false}}))
        .await;
    hub.binds(one, &[]).await;
    let pending = "False PermissionConfigPending";
    let why = hub
        .condition(one, "a", "RegistrationApplied", pending)
        .await;
    assert!(why.contains("is not accepted"), "{why}");
    hub.patch(&path, json!({"spec": {"hubAcceptsClient": true}}))
        .await;
    hub.binds(one, &bound).await;
    hub.condition(one, "a", "RegistrationApplied", "True SetPermissionApplied")
        .await;
    assert_eq!(hub.bindings(two).await, bound);
}

/// A RoleBinding of a user has the name that the add-on would use.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_binding_of_others_is_left_alone() {
    let hub = Hub::new().await;
    let clusters = hub.clusters(1).await;
    let cluster = &clusters[0];
    let role = hub.role("first").await;
    let foreign = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "RoleBinding", "metadata": {"name": hub.binding()},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "view"}, "subjects": [],
    });
    let path = format!("{RBAC}/namespaces/{cluster}/rolebindings");
    hub.create(&path, &foreign).await;
    let before = hub.read(&format!("{path}/{}", hub.binding())).await;
    let _managing = hub.start().await;
    hub.register(&clusters, registration(&[current(&role)]))
        .await;
    hub.lets_bind(cluster, "the controller may not bind").await;
    let own = format!(
        "open-cluster-management:{}:clusterrole:{role}:agent {role}",
        hub.named("a")
    );
    hub.binds(cluster, &[own]).await;
    assert_eq!(hub.read(&format!("{path}/{}", hub.binding())).await, before);
}
