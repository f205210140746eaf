//! Roles and bindings: what is wrong with them, and who may write them.

use serde_json::{Value, json};

use crate::cluster::rule;
use crate::desk::Desk;
use crate::wire::exchange::exchanges;

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const GROUP: &str = "rbac.authorization.k8s.io";

#[tokio::test]
async fn a_rule_is_about_resources_or_about_paths() {
    let desk = Desk::new().await;
    let role =
        |kind: &str| json!({ "apiVersion": RBAC, "kind": kind, "metadata": { "name": "x" } });
    let roles = desk.in_group(RBAC, "roles");
    desk.creates(
        &roles,
        &role("Role"),
        r#"
{"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}
= fine
{"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}
= rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs
"#,
    )
    .await;
    let roles = format!("/apis/{RBAC}/clusterroles");
    desk.creates(&roles, &role("ClusterRole"), r#"
{"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}
= fine
{"rules": [{"apiGroups": [""], "resources": ["pods"]}]}
= rules[0].verbs: Required value: verbs must contain at least one value
{"rules": [{"verbs": ["get"]}]}
= [rules[0].apiGroups: Required value: resource rules must supply at least one api group, rules[0].resources: Required value: resource rules must supply at least one resource]
{"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"]}]}
= rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs
{"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
= fine
{"aggregationRule": {}}
= aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil
{"aggregationRule": {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Has"}]}]}}
= [..]aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Has": not a valid selector operator[..]
{"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"-": "ok"}, "matchExpressions": [{"key": "a", "operator": "In"}, {"key": "a", "operator": "Exists", "values": ["x"]}]}]}}
= [aggregationRule.clusterRoleSelectors[0].matchLabels: Invalid value: "-": name part must [..], aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn', aggregationRule.clusterRoleSelectors[0].matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'[..]
"#)
    .await;
}

#[tokio::test]
async fn a_binding_names_a_role_and_subjects() {
    let desk = Desk::new().await;
    let binding = |kind: &str, role: &str| {
        json!({
            "apiVersion": RBAC, "kind": kind, "metadata": { "name": "x" },
            "roleRef": { "apiGroup": GROUP, "kind": role, "name": "r" },
            "subjects": [{ "apiGroup": GROUP, "kind": "User", "name": "u" }],
        })
    };
    let bindings = desk.in_group(RBAC, "rolebindings");
    desk.creates(
        &bindings,
        &binding("RoleBinding", "Role"),
        r#"
{"roleRef": {"kind": "ClusterRole"}, "subjects": [{"kind": "ServiceAccount", "name": "bot"}]}
= fine
{"roleRef": {"apiGroup": "x", "kind": "Thing", "name": ""}}
= [roleRef.apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io", roleRef.kind: Unsupported value: "Thing": supported values: "Role", "ClusterRole", roleRef.name: Required value]
{"roleRef": {"name": "a/b"}}
= roleRef.name: Invalid value: "a/b": may not contain '/'
"#,
    )
    .await;
    let all = format!("/apis/{RBAC}/clusterrolebindings");
    desk.creates(
        &all,
        &binding("ClusterRoleBinding", "ClusterRole"),
        r#"
{"roleRef": {"kind": "Role"}}
= roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"
{"subjects": [{"apiGroup": "x", "kind": "ServiceAccount", "name": ""}]}
= [subjects[0].name: Required value, subjects[0].apiGroup: Unsupported value: "x": supported values: "", subjects[0].namespace: Required value]
{"subjects": [{"apiGroup": "x", "kind": "Group", "name": "g"}]}
= subjects[0].apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"
{"subjects": [{"kind": "Robot", "name": "g"}]}
= subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"
"#,
    )
    .await;

    let bare = json!({
        "metadata": { "name": "bare" }, "roleRef": { "kind": "ClusterRole", "name": "r" },
        "subjects": [{ "kind": "User", "name": "u" }, { "kind": "Group", "name": "g" }, { "kind": "ServiceAccount", "name": "s" }],
    });
    let filled = desk.admin.post(&bindings, &bare).await.unwrap();
    assert_eq!(filled.ok()["roleRef"]["apiGroup"], GROUP);
    let group = |index: usize| &filled.ok()["subjects"][index]["apiGroup"];
    assert_eq!([group(0), group(1)], [GROUP, GROUP]);
    assert_eq!(group(2), &Value::Null);
}

#[tokio::test]
async fn rights_are_given_by_those_who_hold_them_or_may_escalate() {
    let desk = Desk::new().await;
    let joe = format!("{}-joe", desk.namespace);
    let joe = desk.cluster.user(&joe, &[]).await;
    let verbs = ["create", "get", "update", "patch"];
    let written = ["roles", "clusterroles", "rolebindings"];
    let grant = async |rules: &[Value]| desk.cluster.grant(&joe, rules).await;
    grant(&[
        rule(&verbs, GROUP, &written, &[]),
        rule(&["get"], "", &["pods"], &[]),
    ])
    .await;
    desk.exchanges(r#"
POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "more"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]}
= 201 Role
"#)
    .await;
    let here = |text: &str| text.replace("{ns}", &desk.namespace);
    // A change that gives no rights needs none; labels may, by aggregation.
    exchanges(&joe, here(r#"
PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles/more
Content-Type: application/merge-patch+json

{"metadata": {"finalizers": ["tests.berth/hold"]}}
= 200 Role
PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles/more
Content-Type: application/merge-patch+json

{"metadata": {"finalizers": null, "labels": {"a": "b"}}}
= 403 Forbidden: roles.rbac.authorization.k8s.io "more" is forbidden: user "{ns}-joe" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["list"]}
  group=rbac.authorization.k8s.io kind=roles name=more
POST /apis/rbac.authorization.k8s.io/v1/clusterroles

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "{ns}-sum"}, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "{ns}"}}]}}
= 403 Forbidden: clusterroles.rbac.authorization.k8s.io "{ns}-sum" is forbidden: must have cluster-admin privileges to use the aggregationRule
  group=rbac.authorization.k8s.io kind=clusterroles name={ns}-sum
POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "auth"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:auth-delegator"}}
= 403 Forbidden: rolebindings.rbac.authorization.k8s.io "auth" is forbidden: user "{ns}-joe" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:["authentication.k8s.io"], Resources:["tokenreviews"], Verbs:["create"]}\n{APIGroups:["authorization.k8s.io"], Resources:["subjectaccessreviews"], Verbs:["create"]}
  group=rbac.authorization.k8s.io kind=rolebindings name=auth
GET /a%3Cb%3E&c
= 403 Forbidden: forbidden: User "{ns}-joe" cannot get path "/a&lt;b&gt;&amp;c"
GET /api/v1/namespaces/{ns}/pods/x/log
= 403 Forbidden: pods "x" is forbidden: User "{ns}-joe" cannot get resource "pods/log" in API group "" in the namespace "{ns}"
  kind=pods name=x
"#)).await;
    let auth = "system:auth-delegator";
    grant(&[
        rule(&["escalate"], GROUP, &["roles"], &["more"]),
        rule(&["bind"], GROUP, &["clusterroles"], &[auth]),
    ])
    .await;
    // The name of a role that is created does not count.
    exchanges(&joe, here(r#"
PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles/more
Content-Type: application/merge-patch+json

{"metadata": {"finalizers": null, "labels": {"a": "b"}}}
= 200 Role
POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles?dryRun=All

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "new"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "get", "watch"]}]}
= 403 Forbidden: roles.rbac.authorization.k8s.io "new" is forbidden: user "{ns}-joe" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}
  group=rbac.authorization.k8s.io kind=roles name=new
POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "auth"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:auth-delegator"}}
= 201 RoleBinding
"#)).await;
    grant(&[rule(&["escalate"], GROUP, &["clusterroles"], &[])]).await;
    exchanges(&joe, here(r#"
POST /apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "{ns}-sum"}, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "{ns}"}}]}}
= 201 ClusterRole
"#)).await;
}
