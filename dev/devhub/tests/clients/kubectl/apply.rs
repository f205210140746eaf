//! `kubectl apply`, on the client's side and on the server's.

use serde_json::json;

use crate::cluster::kubectl_is_there;
use crate::desk::Desk;
use crate::widgets;

#[tokio::test]
async fn the_second_application_changes_nothing() {
    if !kubectl_is_there() {
        return;
    }
    let desk = widgets::desk().await;
    let objects = [
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "one" }, "data": { "a": "1" } }),
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "one" }, "data": { "a": "YQ==" } }),
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "one" } }),
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "one" },
            "rules": [{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }] }),
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "one" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "one" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane" }] }),
        json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "one" },
            "spec": { "holderIdentity": "me", "renewTime": "2026-01-01T00:00:00.000000Z" } }),
        json!({ "apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": { "name": "one" },
            "spec": { "size": 2, "parts": [{ "name": "x", "count": 2 }], "tags": ["t"], "notes": ["n"], "limit": "5%" } }),
    ];
    for flags in ["", "--server-side "] {
        for object in &objects {
            let mut object = object.clone();
            object["metadata"]["name"] = format!("by{}", flags.trim()).into();
            let apply = async || {
                let line = format!("apply {flags}-f -");
                let output = desk.kubectl_reading(&object.to_string(), &line).await;
                output
                    .ok()
                    .trim_end()
                    .rsplit(' ')
                    .next()
                    .unwrap()
                    .to_owned()
            };
            let line = format!(
                "get {} {} -o json",
                object["kind"], object["metadata"]["name"]
            );
            let first = apply().await;
            let stored = desk.says(&line).await;
            let second = apply().await;
            let said = if flags.is_empty() {
                ["created", "unchanged"]
            } else {
                ["serverside-applied"; 2]
            };
            assert_eq!([first.as_str(), second.as_str()], said, "{object}");
            assert_eq!(desk.says(&line).await, stored, "{object}");
        }
    }
}

#[tokio::test]
async fn what_is_left_out_is_removed() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl apply -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata: {name: one, labels: {a: x, b: x}, annotations: {c: x}}
data: {a: "1", b: "2"}
EOF
configmap/one created
$ kubectl patch configmap one -p '{"data":{"mine":"3"}}'
configmap/one patched
$ kubectl apply -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata: {name: one, labels: {a: x}}
data: {a: "1"}
EOF
configmap/one configured
$ kubectl get configmap one -o jsonpath='{.data}{.metadata.labels}{.metadata.annotations.c}'
{"a":"1","mine":"3"}{"a":"x"}
$ kubectl apply --server-side -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata: {name: two, labels: {a: x, b: x}}
data: {a: "1", b: "2"}
EOF
configmap/two serverside-applied
$ kubectl patch configmap two -p '{"data":{"mine":"3"}}'
configmap/two patched
$ kubectl apply --server-side -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata: {name: two, labels: {a: x}}
data: {a: "1"}
EOF
configmap/two serverside-applied
$ kubectl get configmap two -o jsonpath='{.data}{.metadata.labels}'
{"a":"1","mine":"3"}{"a":"x"}
$ kubectl apply -f - <<EOF
apiVersion: clients.berth.test/v1
kind: Widget
metadata: {name: one}
spec: {size: 1, code: abc, parts: [{name: x}, {name: z, count: 5}], tags: [t, u], notes: [k, m]}
EOF
widget.clients.berth.test/one created
$ kubectl apply -f - <<EOF
apiVersion: clients.berth.test/v1
kind: Widget
metadata: {name: one}
spec: {size: 1, parts: [{name: z}], tags: [u], notes: [m]}
EOF
widget.clients.berth.test/one configured
$ kubectl get widget one -o jsonpath={.spec}
{"color":"red","notes":["m"],"parts":[{"count":1,"name":"z"}],"size":1,"tags":["u"]}
$ kubectl apply --server-side -f - <<EOF
apiVersion: clients.berth.test/v1
kind: Widget
metadata: {name: two}
spec: {size: 1, code: abc, parts: [{name: x}, {name: z, count: 5}], tags: [t, u], notes: [k, m]}
EOF
widget.clients.berth.test/two serverside-applied
$ kubectl patch widget two --type=json -p '[{"op":"add","path":"/spec/parts/-","value":{"name":"z"}},{"op":"add","path":"/spec/tags/-","value":"v"}]'
The Widget "two" is invalid: spec.parts[2]: Duplicate value: {"name":"z"}
? 1
$ kubectl apply --server-side -f - <<EOF
apiVersion: clients.berth.test/v1
kind: Widget
metadata: {name: two}
spec: {size: 1, parts: [{name: z}], tags: [u], notes: [m]}
EOF
widget.clients.berth.test/two serverside-applied
$ kubectl get widget two -o jsonpath={.spec}
{"color":"red","notes":["m"],"parts":[{"count":1,"name":"z"}],"size":1,"tags":["u"]}
"#)
    .await;
}

#[tokio::test]
async fn who_applies_another_s_field_meets_a_conflict() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl apply --server-side --field-manager=first -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "1", "b": "1"}}
EOF
configmap/one serverside-applied
$ kubectl apply --server-side --field-manager=second -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "2"}}
EOF
error: Apply failed with 1 conflict: conflict with "first": .data.a
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the `--force-conflicts` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
? 1
$ kubectl apply --server-side --field-manager=second -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "2", "b": "2"}}
EOF
error: Apply failed with 2 conflicts: conflicts with "first":
- .data.a
- .data.b
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the `--force-conflicts` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
? 1
$ kubectl apply --server-side --field-manager=second -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "1"}}
EOF
configmap/one serverside-applied
$ kubectl apply --server-side --field-manager=third --force-conflicts -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "3"}}
EOF
configmap/one serverside-applied
$ kubectl get configmap one -o jsonpath='{range .metadata.managedFields[*]}{.manager} {.operation} {.fieldsV1}{"\n"}{end}'
first Apply {"f:data":{"f:b":{}}}
third Apply {"f:data":{"f:a":{}}}
$ kubectl apply --server-side --field-manager=first -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "1"}}
EOF
error: Apply failed with 1 conflict: conflict with "third": .data.a
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the `--force-conflicts` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
? 1
$ kubectl label configmap one mine=yes
configmap/one labeled
$ kubectl apply --server-side --field-manager=first -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "labels": {"mine": "no"}}}
EOF
error: Apply failed with 1 conflict: conflict with "kubectl-label" using v1: .metadata.labels.mine
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the `--force-conflicts` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
? 1
$ kubectl apply --server-side --field-manager=first -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 1, "parts": [{"name": "x", "count": 2}], "tags": ["t"], "notes": ["n"]}}
EOF
widget.clients.berth.test/one serverside-applied
$ kubectl apply --server-side --field-manager=second -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 2, "parts": [{"name": "x", "count": 3}, {"name": "y"}], "tags": ["t", "u"], "notes": ["m"]}}
EOF
error: Apply failed with 3 conflicts: conflicts with "first":
- .spec.notes
- .spec.size
- .spec.parts[name="x"].count
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the `--force-conflicts` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
? 1
$ kubectl apply --server-side --field-manager=second -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 1, "parts": [{"name": "y"}], "tags": ["u"]}}
EOF
widget.clients.berth.test/one serverside-applied
$ kubectl get widget one -o jsonpath={.spec}
{"color":"red","notes":["n"],"parts":[{"count":2,"name":"x"},{"count":1,"name":"y"}],"size":1,"tags":["t","u"]}
$ kubectl apply --server-side --field-manager=second -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "managedFields": []}}
EOF
Error from server (BadRequest): metadata.managedFields must be nil
? 1
$ kubectl apply --server-side -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "dta": {"a": "1"}}
EOF
Error from server: failed to create typed patch object ({ns}/one; /v1, Kind=ConfigMap): .dta: field not declared in schema
? 1
$ kubectl apply --server-side -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "resourceVersion": "1"}, "data": {"z": "1"}}
EOF
error: Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply your changes to the latest version and try again
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the `--force-conflicts` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
? 1
"#)
    .await;
}

#[tokio::test]
async fn an_object_applied_by_the_client_moves_to_the_server() {
    let desk = Desk::new().await;
    desk.plays(r#"
$ kubectl apply -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "1", "b": "1"}}
EOF
configmap/one created
$ kubectl apply --server-side -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "2"}}
EOF
configmap/one serverside-applied
$ kubectl get configmap one -o jsonpath='{.data}{"\n"}{range .metadata.managedFields[*]}{.manager} {.operation} {.fieldsV1}{"\n"}{end}'
{"a":"2"}
kubectl-last-applied Apply {"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}
kubectl Apply {"f:data":{"f:a":{}}}
$ kubectl apply --server-side -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "3"}}
EOF
configmap/one serverside-applied
$ kubectl create configmap plain --from-literal=a=1
configmap/plain created
$ kubectl apply -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain"}, "data": {"a": "2"}}
EOF
configmap/plain configured
Warning: resource configmaps/plain is missing the kubectl.kubernetes.io/last-applied-configuration annotation which is required by kubectl apply. kubectl apply should only be used on resources created declaratively by either kubectl create --save-config or kubectl apply. The missing annotation will be patched automatically.
"#)
    .await;
}

#[tokio::test]
async fn the_last_applied_object_is_kept_by_the_client() {
    let desk = Desk::new().await;
    desk.plays(r#"
$ kubectl apply -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "1"}}
EOF
configmap/one created
$ kubectl apply view-last-applied configmap one -o json
{
  "apiVersion": "v1",
  "data": {
    "a": "1"
  },
  "kind": "ConfigMap",
  "metadata": {
    "annotations": {},
    "name": "one",
    "namespace": "{ns}"
  }
}
$ kubectl apply set-last-applied -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "2"}}
EOF
configmap/one configured
$ kubectl apply -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "resourceVersion": "1"}, "data": {"a": "3"}}
EOF
Error from server (Conflict): error when applying patch:
{"data":{"a":"3"},"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"v1\",\"data\":{\"a\":\"3\"},\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{},\"name\":\"one\",\"namespace\":\"{ns}\",\"resourceVersion\":\"1\"}}\n"},"resourceVersion":"1"}}
to:
Resource: "/v1, Resource=configmaps", GroupVersionKind: "/v1, Kind=ConfigMap"
Name: "one", Namespace: "{ns}"
for: "STDIN": error when patching "STDIN": Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply your changes to the latest version and try again
? 1
"#)
    .await;
}

#[tokio::test]
async fn what_the_schema_does_not_allow_is_refused_with_words() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {}}
EOF
The Widget "one" is invalid: spec.size: Required value
? 1
$ kubectl apply --server-side -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {}}
EOF
The Widget "one" is invalid: spec.size: Required value
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 101}}
EOF
The Widget "one" is invalid: spec.size: Invalid value: 101: spec.size in body should be less than or equal to 100
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 3, "color": "blue"}}
EOF
The Widget "one" is invalid: spec.color: Unsupported value: "blue": supported values: "red", "green"
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 3, "code": "TOO"}}
EOF
The Widget "one" is invalid: spec.code: Invalid value: "TOO": spec.code in body should match '^[a-z]+$'
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 3, "code": "toolong"}}
EOF
The Widget "one" is invalid: spec.code: Too long: may not be more than 5 bytes
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 3, "parts": [{"count": 1}]}}
EOF
The Widget "one" is invalid: spec.parts[0].name: Required value
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 3, "limit": true}}
EOF
The Widget "one" is invalid: spec.limit: Invalid value: "boolean": spec.limit in body must be of type integer,string: "boolean"
? 1
$ kubectl apply --server-side -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": "3"}}
EOF
Error from server: [..]
? 1
$ kubectl apply --server-side -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 3, "sise": 3}}
EOF
Error from server: failed to create typed patch object ({ns}/one; clients.berth.test/v1, Kind=Widget): .spec.sise: field not declared in schema
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": "3"}}
EOF
The Widget "one" is invalid: spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 1.5}}
EOF
The Widget "one" is invalid:[..]
...
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 3, "parts": [{"name": "x"}, {"name": "x"}]}}
EOF
The Widget "one" is invalid: spec.parts[1]: Duplicate value: {"name":"x"}
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 3, "tags": ["t", "t"]}}
EOF
The Widget "one" is invalid: spec.tags[1]: Duplicate value: "t"
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 3, "sise": 4}}
EOF
Error from server (BadRequest): error when creating "STDIN": Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.sise"
? 1
$ kubectl apply --validate=ignore -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 3, "sise": 4, "anything": {"goes": true}}}
EOF
widget.clients.berth.test/one created
$ kubectl get widget one -o jsonpath={.spec}
{"anything":{"goes":true},"color":"red","size":3}
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v2", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 3}}
EOF
error: resource mapping not found for name: "one" namespace: "" from "STDIN": no matches for kind "Widget" in version "clients.berth.test/v2"
ensure CRDs are installed first
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "data": {}}
EOF
error: error when retrieving current configuration of:
Resource: "/v1, Resource=configmaps", GroupVersionKind: "/v1, Kind=ConfigMap"
Name: "", Namespace: "{ns}"
from server for: "STDIN": resource name may not be empty
? 1
"#)
    .await;
}
