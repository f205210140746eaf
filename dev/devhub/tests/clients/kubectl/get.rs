//! `kubectl get`: every way to print, to select, to sort, to page, to watch.

use crate::desk::Desk;
use crate::widgets;

#[tokio::test]
async fn tables_are_made_by_the_server() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl create configmap one --from-literal=a=1 --from-literal=b=2
configmap/one created
$ kubectl create configmap two
configmap/two created
$ kubectl get configmaps one two
NAME   DATA   AGE
one    2      [..]
two    0      [..]
$ kubectl get cm one --no-headers
one   2     [..]
$ kubectl label configmap one app=web tier=front
configmap/one labeled
$ kubectl get cm one two --show-labels
NAME   DATA   AGE   LABELS
one    2      [..] app=web,tier=front
two    0      [..] <none>
$ kubectl get cm one two -L app,tier
NAME   DATA   AGE   APP   TIER
one    2      [..] web   front
two    0      [..]
$ kubectl create secret generic s --from-literal=a=1
secret/s created
$ kubectl get secret s
NAME   TYPE     DATA   AGE
s      Opaque   1      [..]
$ kubectl create serviceaccount robot
serviceaccount/robot created
$ kubectl get sa robot
NAME    AGE
robot   [..]
$ kubectl get namespace {ns}
NAME       STATUS   AGE
{ns}   Active   [..]
$ kubectl get ns {ns} -o wide
NAME       STATUS   AGE
{ns}   Active   [..]
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3, "color": "green"}}
EOF
widget.clients.berth.test/w created
$ kubectl get widget w
NAME   SIZE   PHASE   AGE
w      3              [..]
$ kubectl get wg w -o wide
NAME   SIZE   PHASE   COLOR   AGE
w      3              green   [..]
$ kubectl get widgets.v1.clients.berth.test w
NAME   SIZE   PHASE   AGE
w      3              [..]
$ kubectl get gadgets
NAME   SIZE   PHASE   AGE
w      3              [..]
$ kubectl get widget.clients.berth.test/w configmap/one
NAME                          SIZE   PHASE   AGE
widget.clients.berth.test/w   3              [..]

NAME            DATA   AGE
configmap/one   2      [..]
$ kubectl get roles,secrets,widgets
NAME       TYPE     DATA   AGE
secret/s   Opaque   1      [..]

NAME                          SIZE   PHASE   AGE
widget.clients.berth.test/w   3              [..]
$ kubectl create role reader --verb=get --resource=configmaps
role.rbac.authorization.k8s.io/reader created
$ kubectl create rolebinding reads --role=reader --serviceaccount={ns}:robot --user=u --group=g
rolebinding.rbac.authorization.k8s.io/reads created
$ kubectl get role reader
NAME     CREATED AT
reader   [..]
$ kubectl get rolebinding reads
NAME    ROLE          AGE
reads   Role/reader   [..]
$ kubectl get crd widgets.clients.berth.test
NAME                         CREATED AT
widgets.clients.berth.test   [..]
$ kubectl apply -f - <<EOF
{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
EOF
lease.coordination.k8s.io/l created
$ kubectl get lease l
NAME   HOLDER   AGE
l      me       [..]
$ kubectl get configmap one --output-watch-events --watch=false
error: --output-watch-events option can only be used with --watch or --watch-only
? 1
"#)
    .await;
}

#[tokio::test]
async fn objects_are_printed_in_every_format() {
    let desk = Desk::new().await;
    desk.plays(r#"
$ kubectl create configmap one --from-literal=a=1
configmap/one created
$ kubectl label cm one app=web
configmap/one labeled
$ kubectl get cm one -o name
configmap/one
$ kubectl get cm one -o yaml
apiVersion: v1
data:
  a: "1"
kind: ConfigMap
metadata:
  creationTimestamp: "[..]"
  labels:
    app: web
  name: one
  namespace: {ns}
  resourceVersion: [..]
  uid: [..]
$ kubectl get cm one -o json
{
    "apiVersion": "v1",
    "data": {
        "a": "1"
    },
    "kind": "ConfigMap",
    "metadata": {
        "creationTimestamp": "[..]",
        "labels": {
            "app": "web"
        },
        "name": "one",
        "namespace": "{ns}",
        "resourceVersion": [..],
        "uid": "[..]"
    }
}
$ kubectl get cm one -o yaml --show-managed-fields
apiVersion: v1
data:
  a: "1"
kind: ConfigMap
metadata:
  creationTimestamp: "[..]"
  labels:
    app: web
  managedFields:
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:data:
        .: {}
        f:a: {}
    manager: kubectl-create
    operation: Update
    time: "[..]"
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata:
        f:labels:
          .: {}
          f:app: {}
    manager: kubectl-label
    operation: Update
    time: "[..]"
  name: one
  namespace: {ns}
  resourceVersion: [..]
  uid: [..]
$ kubectl get cm one -o jsonpath={.data.a}
1
$ kubectl get cm one -o jsonpath='{.metadata.labels.app}{"\t"}{.kind}{"\n"}'
web	ConfigMap
$ kubectl get cm -l app=web -o jsonpath='{range .items[*]}{.metadata.name}={.data}{end}'
one={"a":"1"}
$ kubectl get cm one -o custom-columns=NAME:.metadata.name,A:.data.a,NONE:.data.z
NAME   A     NONE
one    1     <none>
$ kubectl get cm -l app=web -o custom-columns=KIND:.kind --no-headers
ConfigMap
$ kubectl get cm one -o go-template='{{.data.a}}'
1
$ kubectl get cm -l app=web -o name
configmap/one
$ kubectl get cm -l app=none -o json
{
    "apiVersion": "v1",
    "items": [],
    "kind": "List",
    "metadata": {
        "resourceVersion": ""
    }
}
$ kubectl get cm one -o jsonpath={.nothing}
$ kubectl get cm one -o nonsense
error: unable to match a printer suitable for the output format "nonsense", allowed formats are: custom-columns,[..],wide,yaml
? 1
"#)
    .await;
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let desk = Desk::new().await;
    desk.plays(r#"
$ kubectl create configmap one
configmap/one created
$ kubectl get configmap nope
Error from server (NotFound): configmaps "nope" not found
? 1
$ kubectl get configmap nope --ignore-not-found
$ kubectl get configmap one nope -o name
configmap/one
Error from server (NotFound): configmaps "nope" not found
? 1
$ kubectl get configmap/nope secret/nope
Error from server (NotFound): configmaps "nope" not found
Error from server (NotFound): secrets "nope" not found
? 1
$ kubectl get secrets
No resources found in {ns} namespace.
$ kubectl get secrets -o name
$ kubectl get secrets -n {ns}-missing
No resources found in {ns}-missing namespace.
$ kubectl get clusterroles -l no=such
No resources found
$ kubectl get nonsense
error: the server doesn't have a resource type "nonsense"
? 1
$ kubectl get nonsense.example.com
error: the server doesn't have a resource type "nonsense"
? 1
$ kubectl get configmap One
Error from server (NotFound): configmaps "One" not found
? 1
$ kubectl get namespace nope
Error from server (NotFound): namespaces "nope" not found
? 1
$ kubectl get clusterrole nope
Error from server (NotFound): clusterroles.rbac.authorization.k8s.io "nope" not found
? 1
$ kubectl get -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
EOF
NAME   DATA   AGE
one    0      [..]
$ kubectl get -f - <<EOF
{"apiVersion": "v1", "kind": "Nonsense", "metadata": {"name": "one"}}
EOF
resource mapping not found for name: "one" namespace: "" from "STDIN": no matches for kind "Nonsense" in version "v1"
ensure CRDs are installed first
? 1
"#)
    .await;
}

#[tokio::test]
async fn selectors_choose() {
    let desk = Desk::new().await;
    desk.plays(r#"
$ kubectl create configmap a
configmap/a created
$ kubectl create configmap b
configmap/b created
$ kubectl create configmap c
configmap/c created
$ kubectl label cm a app=web tier=front
configmap/a labeled
$ kubectl label cm b app=db
configmap/b labeled
$ kubectl get cm -l app -o name
configmap/a
configmap/b
$ kubectl get cm -l app=web -o name
configmap/a
$ kubectl get cm -l app==db -o name
configmap/b
$ kubectl get cm -l app!=web,app -o name
configmap/b
$ kubectl get cm -l '!app,!none' --field-selector metadata.name=c -o name
configmap/c
$ kubectl get cm -l 'app in (web,db)' -o name
configmap/a
configmap/b
$ kubectl get cm -l 'app notin (web),app' -o name
configmap/b
$ kubectl get cm -l 'app in (web,db),tier=front' -o name
configmap/a
$ kubectl get cm --field-selector metadata.name=b -o name
configmap/b
$ kubectl get cm --field-selector metadata.name!=b,metadata.namespace={ns},metadata.name!=kube-root-ca.crt -o name
configmap/a
configmap/c
$ kubectl get cm --field-selector data.a=1
Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label selector "", field selector "data.a=1": "data.a" is not a known field selector: only "metadata.name", "metadata.namespace"
? 1
$ kubectl get cm -l 'a b'
Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label selector "a b", field selector "": unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt
? 1
$ kubectl get cm -l 'app in web'
Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label selector "app in web", field selector "": unable to parse requirement: found 'web' expected: '('
? 1
$ kubectl get cm -l app=-x
Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label selector "app=-x", field selector "": unable to parse requirement: values[0][app]: Invalid value: "-x": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
? 1
$ kubectl get secrets --field-selector type=Opaque
No resources found in {ns} namespace.
$ kubectl create secret generic s
secret/s created
$ kubectl get secrets --field-selector type=Opaque -o name
secret/s
$ kubectl get secrets --field-selector type!=Opaque -o name
$ kubectl get ns --field-selector metadata.name={ns},status.phase=Active -o name
namespace/{ns}
$ kubectl get ns -l kubernetes.io/metadata.name={ns} -o name
namespace/{ns}
$ kubectl get configmaps -A -l app=web --field-selector metadata.namespace={ns}
NAMESPACE   NAME   DATA   AGE
{ns}    a      0      [..]
$ kubectl get configmaps,secrets -A --field-selector metadata.namespace={ns},metadata.name=s -o name
secret/s
$ kubectl get cm a -l app=web
error: name cannot be provided when a selector is specified
? 1
$ kubectl get cm -l app --sort-by=.metadata.name -o name
configmap/a
configmap/b
$ kubectl get cm -l app --sort-by=.metadata.labels.app
NAME   DATA   AGE
b      0      [..]
a      0      [..]
"#)
    .await;
}
