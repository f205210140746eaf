//! `kubectl wait`, `diff`, and watches: what is to come, and what would.

use std::time::Duration;

use crate::cluster::kubectl_is_there;
use crate::widgets;

#[tokio::test]
async fn wait_returns_when_it_is_so() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 7}}
EOF
widget.clients.berth.test/w created
$ kubectl wait --for=condition=Ready widget/w --timeout=1s
error: timed out waiting for the condition on widgets/w
? 1
$ kubectl patch widget w --subresource=status --type=merge -p '{"status":{"phase":"Fine","conditions":[{"type":"Ready","status":"True"}]}}'
widget.clients.berth.test/w patched
$ kubectl wait --for=condition=Ready widget/w --timeout=30s
widget.clients.berth.test/w condition met
$ kubectl wait --for=condition=Ready=False widget/w --timeout=1s
error: timed out waiting for the condition on widgets/w
? 1
$ kubectl wait --for=jsonpath={.status.phase}=Fine widget/w --timeout=30s
widget.clients.berth.test/w condition met
$ kubectl wait --for=jsonpath={.spec.size}=8 widget/w --timeout=1s
error: timed out waiting for the condition on widgets/w
? 1
$ kubectl wait --for=condition=Established crd/widgets.clients.berth.test --timeout=30s
customresourcedefinition.apiextensions.k8s.io/widgets.clients.berth.test condition met
$ kubectl wait --for=delete widget/nope --timeout=30s
$ kubectl wait --for=delete widget/w --timeout=1s
error: timed out waiting for the condition on widgets/w
? 1
$ kubectl wait --for=create widget/w --timeout=30s
widget.clients.berth.test/w condition met
$ kubectl wait --for=condition=Ready widget --all --timeout=30s
widget.clients.berth.test/w condition met
$ kubectl wait --for=condition=Ready widget/nope --timeout=1s
Error from server (NotFound): widgets.clients.berth.test "nope" not found
? 1
"#)
    .await;
}

#[tokio::test]
async fn wait_sees_what_happens_while_it_waits() {
    if !kubectl_is_there() {
        return;
    }
    let desk = widgets::desk().await;
    let pause = || tokio::time::sleep(Duration::from_millis(1500));
    let (waited, ()) = tokio::join!(
        desk.says("wait --for=create configmap/one --timeout=60s"),
        async {
            pause().await;
            desk.configmap("one").await;
        }
    );
    assert_eq!(waited, "configmap/one condition met\n");
    let (waited, ()) = tokio::join!(
        desk.says("wait --for=jsonpath={.data.key}=other configmap/one --timeout=60s"),
        async {
            pause().await;
            desk.says(r#"patch configmap one -p '{"data":{"key":"other"}}'"#)
                .await;
        }
    );
    assert_eq!(waited, "configmap/one condition met\n");
    let (waited, ()) = tokio::join!(
        desk.says("wait --for=delete configmap/one --timeout=60s"),
        async {
            pause().await;
            desk.says("delete configmap one --wait=false").await;
        }
    );
    assert_eq!(waited, "configmap/one condition met\n");
}

#[tokio::test]
async fn diff_shows_what_an_apply_would_change() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl diff -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "1"}}
EOF
diff -u -N [..]/LIVE-[..]/v1.ConfigMap.{ns}.one [..]/MERGED-[..]/v1.ConfigMap.{ns}.one
--- [..]/LIVE-[..]/v1.ConfigMap.{ns}.one	[..]
+++ [..]/MERGED-[..]/v1.ConfigMap.{ns}.one	[..]
@@ -0,0 +1,9 @@
+apiVersion: v1
+data:
+  a: "1"
+kind: ConfigMap
+metadata:
+  creationTimestamp: "[..]"
+  name: one
+  namespace: {ns}
+  uid: [..]
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "1"}}
EOF
configmap/one created
$ kubectl diff -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "1"}}
EOF
$ kubectl diff -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "2"}}
EOF
diff -u -N [..]/LIVE-[..]/v1.ConfigMap.{ns}.one [..]/MERGED-[..]/v1.ConfigMap.{ns}.one
--- [..]/LIVE-[..]/v1.ConfigMap.{ns}.one	[..]
+++ [..]/MERGED-[..]/v1.ConfigMap.{ns}.one	[..]
@@ -1,6 +1,6 @@
 apiVersion: v1
 data:
-  a: "1"
+  a: "2"
 kind: ConfigMap
 metadata:
   annotations:
? 1
$ kubectl diff --server-side --field-manager=other -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "2"}}
EOF
W[..] diff.go:723] Object (/v1, Kind=ConfigMap: one) keeps changing, diffing without lock
Error from server (Conflict): Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.a
? 2
$ kubectl diff --server-side --force-conflicts -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "2"}}
EOF
diff -u -N [..]/LIVE-[..]/v1.ConfigMap.{ns}.one [..]/MERGED-[..]/v1.ConfigMap.{ns}.one
--- [..]/LIVE-[..]/v1.ConfigMap.{ns}.one	[..]
+++ [..]/MERGED-[..]/v1.ConfigMap.{ns}.one	[..]
@@ -1,11 +1,11 @@
 apiVersion: v1
 data:
-  a: "1"
+  a: "2"
 kind: ConfigMap
 metadata:
   annotations:
     kubectl.kubernetes.io/last-applied-configuration: |
-      {"apiVersion":"v1","data":{"a":"1"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"one","namespace":"{ns}"}}
+      {"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"one","namespace":"{ns}"}}
   creationTimestamp: "[..]"
   name: one
   namespace: {ns}
? 1
$ kubectl get configmap one -o jsonpath={.data.a}
1
$ kubectl apply --server-side -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 7}}
EOF
widget.clients.berth.test/w serverside-applied
$ kubectl diff --server-side -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 7}}
EOF
$ kubectl diff --server-side -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 8}}
EOF
diff -u -N [..]/LIVE-[..]/clients.berth.test.v1.Widget.{ns}.w [..]/MERGED-[..]/clients.berth.test.v1.Widget.{ns}.w
--- [..]/LIVE-[..]/clients.berth.test.v1.Widget.{ns}.w	[..]
+++ [..]/MERGED-[..]/clients.berth.test.v1.Widget.{ns}.w	[..]
@@ -2,11 +2,11 @@
 kind: Widget
 metadata:
   creationTimestamp: "[..]"
-  generation: 1
+  generation: 2
   name: w
   namespace: {ns}
   resourceVersion: [..]
   uid: [..]
 spec:
   color: red
-  size: 7
+  size: 8
? 1
$ kubectl diff -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "One"}}
EOF
The ConfigMap "One" is invalid: metadata.name: Invalid value: "One": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
? 2
"#)
    .await;
}
