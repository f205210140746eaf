//! `kubectl edit`, `patch`, `label`, `annotate`, `replace`, `scale`: changes of what is there.

use crate::widgets;

#[tokio::test]
async fn edit_stores_what_the_editor_leaves() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl create configmap one --from-literal=key=value
configmap/one created
$ KUBE_EDITOR='sed -i s/value/other/' kubectl edit configmap one
configmap/one edited
$ kubectl get configmap one -o jsonpath={.data.key}
other
$ KUBE_EDITOR=true kubectl edit configmap one
Edit cancelled, no changes made.
$ KUBE_EDITOR='sed -i s/other/third/' kubectl edit configmap one -o json
{
    "apiVersion": "v1",
    "data": {
        "key": "third"
    },
    "kind": "ConfigMap",
    "metadata": {
        "creationTimestamp": "[..]",
        "name": "one",
        "namespace": "{ns}",
        "resourceVersion": [..],
        "uid": "[..]"
    }
}
$ kubectl get configmap one -o jsonpath={.data.key}
third
$ KUBE_EDITOR=false kubectl edit configmap one
error: there was a problem with the editor "false"
? 1
$ KUBE_EDITOR=true kubectl edit configmap nope
Error from server (NotFound): configmaps "nope" not found
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 7}}
EOF
widget.clients.berth.test/w created
$ KUBE_EDITOR='sed -i s/size:.7/size:\ 8/' kubectl edit widget w
widget.clients.berth.test/w edited
$ kubectl get widget w -o jsonpath='{.spec.size} {.metadata.generation}'
8 2
"#)
    .await;
}

#[tokio::test]
async fn patches_of_every_type_do_their_work() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl create configmap one --from-literal=a=1 --from-literal=b=2
configmap/one created
$ kubectl patch configmap one -p '{"data":{"a":"x"}}'
configmap/one patched
$ kubectl patch configmap one -p '{"data":{"a":"x"}}'
configmap/one patched (no change)
$ kubectl patch configmap one --type=merge -p '{"data":{"b":null,"c":"3"}}'
configmap/one patched
$ kubectl patch configmap one --type=json -p '[{"op":"test","path":"/data/c","value":"3"},{"op":"replace","path":"/data/c","value":"4"},{"op":"copy","from":"/data/c","path":"/data/d"},{"op":"move","from":"/data/d","path":"/data/e"},{"op":"remove","path":"/data/a"}]'
configmap/one patched
$ kubectl get configmap one -o jsonpath={.data}
{"c":"4","e":"4"}
$ kubectl patch configmap one --type=strategic -p 'data: {f: "5"}'
configmap/one patched
$ kubectl create serviceaccount robot
serviceaccount/robot created
$ kubectl patch serviceaccount robot -p '{"secrets":[{"name":"a"}],"imagePullSecrets":[{"name":"x"}]}'
serviceaccount/robot patched
$ kubectl patch serviceaccount robot -p '{"secrets":[{"name":"b"}],"imagePullSecrets":[{"name":"y"}]}'
serviceaccount/robot patched
$ kubectl get serviceaccount robot -o jsonpath='{.secrets}{.imagePullSecrets}'
[{"name":"b"},{"name":"a"}][{"name":"y"}]
$ kubectl patch serviceaccount robot -p '{"secrets":[{"name":"a","$patch":"delete"}]}'
serviceaccount/robot patched
$ kubectl get serviceaccount robot -o jsonpath='{.secrets}'
[{"name":"b"}]
$ kubectl patch serviceaccount robot --type=merge -p '{"secrets":[{"name":"c"}]}'
serviceaccount/robot patched
$ kubectl get serviceaccount robot -o jsonpath='{.secrets}'
[{"name":"c"}]
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 7}}
EOF
widget.clients.berth.test/w created
$ kubectl patch widget w --type=merge -p '{"spec":{"size":8,"tags":["a"]}}'
widget.clients.berth.test/w patched
$ kubectl patch widget w --type=json -p '[{"op":"add","path":"/spec/tags/0","value":"b"}]'
widget.clients.berth.test/w patched
$ kubectl get widget w -o jsonpath={.spec}
{"color":"red","size":8,"tags":["b","a"]}
$ kubectl patch widget w --subresource=status --type=merge -p '{"status":{"phase":"Ready"},"spec":{"size":9}}'
widget.clients.berth.test/w patched
$ kubectl get widget w -o jsonpath='{.spec.size} {.status.phase} {.metadata.generation}'
8 Ready 3
$ kubectl patch widget w --type=merge -p '{"status":{"phase":"Lost"}}'
widget.clients.berth.test/w patched (no change)
$ kubectl get widget w --subresource=status
NAME   SIZE   PHASE   AGE
w      8      Ready   [..]
"#)
    .await;
}

#[tokio::test]
async fn patches_that_cannot_be_made_are_refused_with_words() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl create configmap one --from-literal=a=1
configmap/one created
$ kubectl patch configmap one --type=json -p '[{"op":"test","path":"/data/a","value":"2"}]'
The request is invalid: the server rejected our request due to an error in our request
? 1
$ kubectl patch configmap one --type=json -p '[{"op":"remove","path":"/data/nope"}]'
The request is invalid: the server rejected our request due to an error in our request
? 1
$ kubectl patch configmap one --type=json -p '[{"op":"replace","path":"/nope/x","value":"2"}]'
The request is invalid: the server rejected our request due to an error in our request
? 1
$ kubectl patch configmap one --type=json -p '[{"op":"nonsense","path":"/data/a"}]'
The request is invalid: the server rejected our request due to an error in our request
? 1
$ kubectl patch configmap one --type=json -p '{"data":{"a":"1"}}'
Error from server (BadRequest): [..]
? 1
$ kubectl patch configmap one --type=json -p '[{"op":"add","path":"/data/a","value":5}]'
The request is invalid: [..]
? 1
$ kubectl patch configmap one --type=merge -p '[]'
Error from server (BadRequest): error decoding patch: [..]
? 1
$ kubectl patch configmap one --type=merge -p '{"data":{"a":5}}'
The request is invalid: [..]
? 1
$ kubectl patch configmap one --type=merge -p '{"metadata":{"name":"two"}}'
Error from server (BadRequest): the name of the object (two) does not match the name on the URL (one)
? 1
$ kubectl patch configmap one --type=merge -p '{"metadata":{"namespace":"default"}}'
Error from server (BadRequest): the namespace of the provided object does not match the namespace sent on the request
? 1
$ kubectl patch configmap one --type=merge -p '{"metadata":{"uid":"x"}}'
The ConfigMap "one" is invalid: metadata.uid: Invalid value: "x": field is immutable
? 1
$ kubectl patch configmap one --type=merge -p '{"metadata":{"resourceVersion":"1"}}'
Error from server (Conflict): Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply your changes to the latest version and try again
? 1
$ kubectl patch configmap one --type=merge -p '{"kind":"Namespace"}'
The request is invalid: [..]
? 1
$ kubectl patch configmap one --type=merge -p '{"data":{"a b":"1"}}'
The ConfigMap "one" is invalid: data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')
? 1
$ kubectl patch configmap one -p '{"data":{"$patch":"nonsense"}}'
Error from server: [..]
? 1
$ kubectl patch configmap one -p 'nonsense'
Error from server (BadRequest): [..]
? 1
$ kubectl patch configmap one --type=merge -p '{"dta":{"a":"1"}}'
configmap/one patched (no change)
Warning: unknown field "dta"
$ kubectl patch configmap nope -p '{}'
Error from server (NotFound): configmaps "nope" not found
? 1
$ kubectl patch configmap one --type=merge -p '{"immutable":true}'
configmap/one patched
$ kubectl patch configmap one --type=merge -p '{"data":{"a":"2"}}'
The ConfigMap "one" is invalid: data: Forbidden: field is immutable when `immutable` is set
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 7}}
EOF
widget.clients.berth.test/w created
$ kubectl patch widget w -p '{"spec":{"size":8}}'
error: application/strategic-merge-patch+json is not supported by clients.berth.test/v1, Kind=Widget: the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml
? 1
$ kubectl patch widget w --type=merge -p '{"spec":{"size":1000}}'
The Widget "w" is invalid: spec.size: Invalid value: 1000: spec.size in body should be less than or equal to 100
? 1
$ kubectl patch widget w --type=merge -p '{"spec":null}'
The Widget "w" is invalid: spec: Required value
? 1
$ kubectl patch widget w --type=json -p '[{"op":"remove","path":"/spec/size"}]'
The Widget "w" is invalid: spec.size: Required value
? 1
$ kubectl patch widget w --subresource=nonsense --type=merge -p '{}'
Error from server (NotFound): widgets.clients.berth.test "w" not found
? 1
"#)
    .await;
}

#[tokio::test]
async fn labels_and_annotations_are_not_overwritten_unasked() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl create configmap one
configmap/one created
$ kubectl create configmap two
configmap/two created
$ kubectl label configmap one a=1
configmap/one labeled
$ kubectl label configmap one a=1
configmap/one not labeled
$ kubectl label configmap one a=2
error: 'a' already has a value (1), and --overwrite is false
? 1
$ kubectl label --overwrite configmap one a=2
configmap/one labeled
$ kubectl label configmap one --list
a=2
$ kubectl label configmap one a-
configmap/one unlabeled
$ kubectl label configmap one a-
label "a" not found.
configmap/one [..]labeled
$ kubectl label configmap one two b=1
configmap/one labeled
configmap/two labeled
$ kubectl label configmap -l b=1 d=1
configmap/one labeled
configmap/two labeled
$ kubectl label configmap one 'bad key=1'
The ConfigMap "one" is invalid: metadata.labels: Invalid value: "bad key": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
? 1
$ kubectl label configmap one a=not/good
error: invalid label value: "a=not/good": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
? 1
$ kubectl label configmap one a=1 --resource-version=1
Error from server (Conflict): Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply your changes to the latest version and try again
? 1
$ kubectl label configmap nope a=1
Error from server (NotFound): configmaps "nope" not found
? 1
$ kubectl annotate configmap one a='some text'
configmap/one annotated
$ kubectl annotate configmap one a=other
error: --overwrite is false but found the following declared annotation(s): 'a' already has a value (some text)
? 1
$ kubectl annotate --overwrite configmap one a=other
configmap/one annotated
$ kubectl annotate configmap one a-
configmap/one annotated
$ kubectl annotate configmap one --list
$ kubectl annotate configmap one x_/bad=1
The ConfigMap "one" is invalid: metadata.annotations: Invalid value: "x_/bad": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 7}}
EOF
widget.clients.berth.test/w created
$ kubectl label widget w a=1
widget.clients.berth.test/w labeled
$ kubectl annotate widget w a=1
widget.clients.berth.test/w annotated
$ kubectl get widget w --show-labels
NAME   SIZE   PHASE   AGE   LABELS
w      7              [..] a=1
$ kubectl label ns {ns} team=x
namespace/{ns} labeled
"#)
    .await;
}

#[tokio::test]
async fn replace_takes_the_whole_object() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl create configmap one --from-literal=a=1 --from-literal=b=1
configmap/one created
$ kubectl replace -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "2"}}
EOF
configmap/one replaced
$ kubectl get configmap one -o jsonpath={.data}
{"a":"2"}
$ kubectl replace -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "resourceVersion": "1"}, "data": {"a": "2"}}
EOF
Error from server (Conflict): error when replacing "STDIN": Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply your changes to the latest version and try again
? 1
$ kubectl replace -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nope"}}
EOF
Error from server (NotFound): error when replacing "STDIN": configmaps "nope" not found
? 1
$ kubectl replace --force -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "3"}}
EOF
configmap "one" deleted[..]
configmap/one replaced
$ kubectl get configmap one -o jsonpath={.data}
{"a":"3"}
$ kubectl replace --force -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}
EOF
configmap/new replaced
$ kubectl create -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 7}}
EOF
widget.clients.berth.test/w created
$ kubectl replace -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 8}}
EOF
widget.clients.berth.test/w replaced
$ kubectl create secret generic fixed --type=a.b/c --from-literal=a=1
secret/fixed created
$ kubectl replace -f - <<EOF
{"apiVersion": "v1", "kind": "Secret", "type": "other", "metadata": {"name": "fixed"}}
EOF
The Secret "fixed" is invalid: type: Invalid value: "other": field is immutable
? 1
$ kubectl create role r --verb=get --resource=secrets
role.rbac.authorization.k8s.io/r created
$ kubectl create rolebinding b --role=r --user=u
rolebinding.rbac.authorization.k8s.io/b created
$ kubectl replace -f - <<EOF
{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "b"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "other"}}
EOF
The RoleBinding "b" is invalid: roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"other"}: cannot change roleRef
? 1
"#)
    .await;
}

#[tokio::test]
async fn what_cannot_be_scaled_says_so() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl create configmap one
configmap/one created
$ kubectl scale configmap one --replicas=2
Error from server (NotFound): the server could not find the requested resource
? 1
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 7}}
EOF
widget.clients.berth.test/w created
$ kubectl scale widget w --replicas=2
Error from server (NotFound): widgets.clients.berth.test "w" not found
? 1
$ kubectl scale nonsense w --replicas=2
error: the server doesn't have a resource type "nonsense"
? 1
$ kubectl get configmap one --subresource=scale
Error from server (NotFound): the server could not find the requested resource
? 1
"#)
    .await;
}
