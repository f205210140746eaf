//! `kubectl create`: its generators, and what it sends as it is.

use crate::desk::Desk;

#[tokio::test]
async fn every_generator_makes_its_kind() {
    let desk = Desk::new().await;
    desk.plays(r#"
$ kubectl create namespace {ns}-x
namespace/{ns}-x created
$ kubectl create configmap one --from-literal=key=value
configmap/one created
$ kubectl create configmap from-stdin --from-file=key=/dev/stdin <<EOF
some text
EOF
configmap/from-stdin created
$ kubectl get configmap from-stdin -o jsonpath={.data.key}
some text
$ kubectl create secret generic one --from-literal=user=me --from-literal=word=x
secret/one created
$ kubectl get secret one -o jsonpath='{.type} {.data}'
Opaque {"user":"bWU=","word":"eA=="}
$ kubectl create secret generic typed --type=example.com/mine --from-literal=a=b
secret/typed created
$ kubectl get secret typed -o jsonpath='{.type}'
example.com/mine
$ kubectl create secret docker-registry pull --docker-server=r.io --docker-username=u --docker-password=p
secret/pull created
$ kubectl get secret pull -o jsonpath='{.type}'
kubernetes.io/dockerconfigjson
$ kubectl create serviceaccount robot
serviceaccount/robot created
$ kubectl create role reader --verb=get,list --resource=configmaps,secrets --resource-name=one
role.rbac.authorization.k8s.io/reader created
$ kubectl get role reader -o jsonpath='{.rules}'
[{"apiGroups":[""],"resourceNames":["one"],"resources":["configmaps","secrets"],"verbs":["get","list"]}]
$ kubectl create rolebinding reads --role=reader --user=jane
rolebinding.rbac.authorization.k8s.io/reads created
$ kubectl get rolebinding reads -o jsonpath='{.roleRef} {.subjects}'
{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"reader"} [{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"jane"}]
$ kubectl create rolebinding views --clusterrole=view --serviceaccount={ns}:robot
rolebinding.rbac.authorization.k8s.io/views created
$ kubectl create clusterrole {ns}-x --verb=get --resource=namespaces --non-resource-url=/metrics
clusterrole.rbac.authorization.k8s.io/{ns}-x created
$ kubectl get clusterrole {ns}-x -o jsonpath='{.rules}'
[{"apiGroups":[""],"resources":["namespaces"],"verbs":["get"]},{"nonResourceURLs":["/metrics"],"verbs":["get"]}]
$ kubectl create clusterrole {ns}-x-sum --aggregation-rule=sum={ns}-x
clusterrole.rbac.authorization.k8s.io/{ns}-x-sum created
$ kubectl get clusterrole {ns}-x-sum -o jsonpath='{.aggregationRule}'
{"clusterRoleSelectors":[{"matchLabels":{"sum":"{ns}-x"}}]}
$ kubectl create clusterrolebinding {ns}-x --clusterrole={ns}-x --group=readers
clusterrolebinding.rbac.authorization.k8s.io/{ns}-x created
$ kubectl get clusterrolebinding {ns}-x -o jsonpath='{.roleRef} {.subjects}'
{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"{ns}-x"} [{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"readers"}]
$ kubectl create role nothing --verb=get --resource=nonsense
the server doesn't have a resource type "nonsense"
? 1
$ kubectl create namespace {ns}-x
Error from server (AlreadyExists): namespaces "{ns}-x" already exists
? 1
$ kubectl create configmap one
error: failed to create configmap: configmaps "one" already exists
? 1
$ kubectl create configmap One
error: failed to create configmap: ConfigMap "One" is invalid: metadata.name: Invalid value: "One": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
? 1
$ kubectl create configmap elsewhere -n {ns}-missing
error: failed to create configmap: namespaces "{ns}-missing" not found
? 1
$ kubectl delete namespace {ns}-x --wait=false
namespace "{ns}-x" deleted[..]
Warning: deleting cluster-scoped resources, not scoped to the provided namespace
$ kubectl delete clusterrole {ns}-x {ns}-x-sum
clusterrole.rbac.authorization.k8s.io "{ns}-x" deleted[..]
clusterrole.rbac.authorization.k8s.io "{ns}-x-sum" deleted[..]
Warning: deleting cluster-scoped resources, not scoped to the provided namespace
$ kubectl delete clusterrolebinding {ns}-x
clusterrolebinding.rbac.authorization.k8s.io "{ns}-x" deleted[..]
Warning: deleting cluster-scoped resources, not scoped to the provided namespace
"#)
    .await;
}

#[tokio::test]
async fn a_tls_secret_takes_a_pair_that_fits() {
    let desk = Desk::new().await;
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let (certificate, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    std::fs::write(&certificate, pair.cert.pem()).unwrap();
    std::fs::write(&key, pair.signing_key.serialize_pem()).unwrap();
    let stage = desk.stage().with("crt", certificate.to_str().unwrap());
    stage.with("key", key.to_str().unwrap()).plays(r#"
$ kubectl create secret tls pair --cert={crt} --key={key}
secret/pair created
$ kubectl get secret pair
NAME   TYPE                DATA   AGE
pair   kubernetes.io/tls   2      [..]
$ kubectl apply -f - <<EOF
{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "half"}, "type": "kubernetes.io/tls", "data": {"tls.crt": ""}}
EOF
The Secret "half" is invalid: data[tls.key]: Required value
? 1
"#)
    .await;
}

#[tokio::test]
async fn a_dry_run_stores_nothing() {
    let desk = Desk::new().await;
    desk.plays(
        r#"
$ kubectl create configmap one --from-literal=key=value --dry-run=server -o yaml
apiVersion: v1
data:
  key: value
kind: ConfigMap
metadata:
  creationTimestamp: "[..]"
  name: one
  namespace: {ns}
  uid: [..]
$ kubectl create configmap one --dry-run=server
configmap/one created (server dry run)
$ kubectl get configmap one
Error from server (NotFound): configmaps "one" not found
? 1
$ kubectl create configmap one
configmap/one created
$ kubectl create configmap one --dry-run=server
error: failed to create configmap: configmaps "one" already exists
? 1
$ kubectl apply --dry-run=server -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}}
EOF
configmap/two created (server dry run)
$ kubectl apply --server-side --dry-run=server -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}}
EOF
configmap/two serverside-applied (server dry run)
$ kubectl patch configmap one --dry-run=server -p '{"data":{"a":"1"}}' -o jsonpath={.data}
{"a":"1"}
$ kubectl label configmap one --dry-run=server a=b
configmap/one labeled (server dry run)
$ kubectl delete configmap one --dry-run=server
configmap "one" deleted[..](server dry run)
$ kubectl get configmap one -o jsonpath='{.data}{.metadata.labels}'
"#,
    )
    .await;
}

#[tokio::test]
async fn files_hold_several_objects_of_several_kinds() {
    let desk = Desk::new().await;
    desk.plays(r#"
$ kubectl create -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata:
  name: one
data:
  key: |
    two
    lines
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: two}
  stringData: {key: value}
- apiVersion: v1
  kind: ServiceAccount
  metadata: {name: three}
EOF
configmap/one created
secret/two created
serviceaccount/three created
$ kubectl get secret two -o jsonpath={.data}{.stringData}
{"key":"dmFsdWU="}
$ kubectl create -f - <<EOF
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: four}
EOF
configmap/four created
Error from server (AlreadyExists): error when creating "STDIN": configmaps "one" already exists
? 1
$ kubectl create -o name -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "made-"}}
EOF
configmap/made-[..]
$ kubectl create -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "five"}, "dta": {"a": "b"}}
EOF
Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"
? 1
$ kubectl create --validate=warn -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "five"}, "dta": {"a": "b"}}
EOF
configmap/five created
Warning: unknown field "dta"
$ kubectl create --validate=false -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "six"}, "dta": {"a": "b"}}
EOF
configmap/six created
$ kubectl create -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "seven"}, "data": {"a": 1}}
EOF
Error from server (BadRequest): [..]
? 1
$ kubectl create -f - <<EOF
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "seven", "namespace": "default"}}
EOF
error: the namespace from the provided object "default" does not match the namespace "{ns}". You must pass '--namespace=default' to perform this operation.
? 1
"#)
    .await;
}
