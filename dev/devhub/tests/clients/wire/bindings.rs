//! Bindings written by somebody who is no admin: the hub looks at the role that they refer to.

use crate::cluster::rule;
use crate::desk::Desk;
use crate::wire::exchange::exchanges;

const RBAC: &str = "rbac.authorization.k8s.io";

#[tokio::test]
async fn a_role_that_is_not_there_is_bound_by_those_who_may_bind_it() {
    let desk = Desk::new().await;
    let joe = format!("{}-joe", desk.namespace);
    let joe = desk.cluster.user(&joe, &[]).await;
    let bindings = ["rolebindings", "clusterrolebindings"];
    let verbs = ["create", "get", "update", "patch"];
    let rules = [
        rule(&verbs, RBAC, &bindings, &[]),
        rule(&["bind"], RBAC, &["roles"], &["later"]),
    ];
    desk.cluster.grant(&joe, &rules).await;
    desk.exchanges(r#"
POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "lost"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "gone"}}
= 201 RoleBinding
"#)
    .await;
    let text = r#"
POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "one"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "gone"}}
= 404 NotFound: rolebindings.rbac.authorization.k8s.io "gone" not found
  group=rbac.authorization.k8s.io kind=rolebindings name=gone
POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings?dryRun=All

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "one"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "gone"}}
= 404 NotFound: rolebindings.rbac.authorization.k8s.io "gone" not found
  group=rbac.authorization.k8s.io kind=rolebindings name=gone
PUT /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings/one

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "one"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "gone"}}
= 404 NotFound: rolebindings.rbac.authorization.k8s.io "gone" not found
  group=rbac.authorization.k8s.io kind=rolebindings name=gone
PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings/one?fieldManager=me
Content-Type: application/apply-patch+yaml

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "one"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "gone"}}
= 404 NotFound: rolebindings.rbac.authorization.k8s.io "gone" not found
  group=rbac.authorization.k8s.io kind=rolebindings name=gone
PATCH /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{ns}-one?fieldManager=me&force=true
Content-Type: application/apply-patch+yaml

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "{ns}-one"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "gone"}}
= 404 NotFound: clusterrolebindings.rbac.authorization.k8s.io "gone" not found
  group=rbac.authorization.k8s.io kind=clusterrolebindings name=gone
PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings/lost?fieldManager=me
Content-Type: application/apply-patch+yaml

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "lost"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "gone"}, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "friend"}]}
= 404 NotFound: rolebindings.rbac.authorization.k8s.io "gone" not found
  group=rbac.authorization.k8s.io kind=rolebindings name=gone
PUT /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings/lost

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "lost", "labels": {"a": "b"}}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "gone"}}
= 404 NotFound: rolebindings.rbac.authorization.k8s.io "gone" not found
  group=rbac.authorization.k8s.io kind=rolebindings name=gone
PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings/lost
Content-Type: application/merge-patch+json

{"metadata": {"labels": {"a": "b"}}}
= 404 NotFound: rolebindings.rbac.authorization.k8s.io "gone" not found
  group=rbac.authorization.k8s.io kind=rolebindings name=gone
PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings/lost
Content-Type: application/merge-patch+json

{"metadata": {"finalizers": ["tests.berth/hold"]}}
= 200 RoleBinding
PATCH /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings/lost
Content-Type: application/merge-patch+json

{"metadata": {"finalizers": null}}
= 200 RoleBinding
POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "lost"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "gone"}}
= 404 NotFound: rolebindings.rbac.authorization.k8s.io "gone" not found
  group=rbac.authorization.k8s.io kind=rolebindings name=gone
POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "later"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "later"}}
= 201 RoleBinding
POST /apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings

{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "other"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "later"}}
= 404 NotFound: rolebindings.rbac.authorization.k8s.io "later" not found
  group=rbac.authorization.k8s.io kind=rolebindings name=later
"#;
    exchanges(&joe, text.replace("{ns}", &desk.namespace)).await;
}
