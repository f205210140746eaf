//! Bodies that cannot be read, or say something else than the path.

use crate::desk::Desk;
use crate::widgets;

#[tokio::test]
async fn what_is_no_json_is_refused() {
    let desk = Desk::new().await;
    desk.exchanges(r#"
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion":
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps


= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps

[]
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps

"text"
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps

null
= 422 Invalid: ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required
  causes=["FieldValueRequired metadata.name"] kind=ConfigMap
POST /api/v1/namespaces/{ns}/configmaps

{}
= 422 Invalid: ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required
  causes=["FieldValueRequired metadata.name"] kind=ConfigMap
POST /api/v1/namespaces/{ns}/configmaps

{"kind":"ConfigMap"}
= 422 Invalid: ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required
  causes=["FieldValueRequired metadata.name"] kind=ConfigMap
POST /api/v1/namespaces/{ns}/configmaps

{"kind": 1}
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}} and more
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps

nonsense
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps

{"metadata":{"name":"untyped"}}
= 201 ConfigMap
"#)
    .await;
}

#[tokio::test]
async fn a_body_of_another_kind_is_refused() {
    let desk = widgets::desk().await;
    desk.exchanges(r#"
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion":"v1","kind":"Secret","metadata":{"name":"one"}}
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion":"v2","kind":"ConfigMap","metadata":{"name":"one"}}
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion":"v1","kind":"Nonsense","metadata":{"name":"one"}}
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion":"example.com/v1","kind":"ConfigMap","metadata":{"name":"one"}}
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion":"a/b/c","kind":"ConfigMap","metadata":{"name":"one"}}
= 400 BadRequest: the object provided is unrecognized (must be of type ConfigMap): unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c","kind":" ...)
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets

{"apiVersion":"clients.berth.test/v1","kind":"Gadget","metadata":{"name":"one"},"spec":{"size":1}}
= 422 Invalid: Gadget.clients.berth.test "one" is invalid: kind: Invalid value: "Gadget": must be Widget
  causes=["FieldValueInvalid kind"] group=clients.berth.test kind=Gadget name=one
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets

{"apiVersion":"clients.berth.test/v2","kind":"Widget","metadata":{"name":"one"}}
= 400 BadRequest: the API version in the data (clients.berth.test/v2) does not match the expected API version (clients.berth.test/v1)
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets

{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"}}
= 400 BadRequest: the API version in the data (v1) does not match the expected API version (clients.berth.test/v1)
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets

{"metadata":{"name":"one"},"spec":{"size":1}}
= 400 BadRequest: the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{"metadata":{"name":"one"},"spec":{"size":1}}' ({"metadata":{"name":"one"},"sp ...)
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets

{"kind":"Widget","metadata":{"name":"one"},"spec":{"size":1}}
= 400 BadRequest: the API version in the data () does not match the expected API version (clients.berth.test/v1)
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets

[]
= 400 BadRequest: [..]
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets

nonsense
= 400 BadRequest: [..]
"#)
    .await;
}

#[tokio::test]
async fn a_value_of_another_type_is_refused() {
    let desk = widgets::desk().await;
    desk.exchanges(r#"
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":5}}
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"a":1}}
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":"text"}
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion":"v1","kind":"ConfigMap","metadata":[]}
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","labels":{"a":true}}}
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"immutable":"yes"}
= 400 BadRequest: [..]
POST /api/v1/namespaces/{ns}/secrets

{"apiVersion":"v1","kind":"Secret","metadata":{"name":"one"},"data":{"a":"not base64!"}}
= 400 BadRequest: [..]
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets

{"apiVersion":"clients.berth.test/v1","kind":"Widget","metadata":{"name":5},"spec":{"size":1}}
= 400 BadRequest: [..]
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets

{"apiVersion":"clients.berth.test/v1","kind":"Widget","metadata":{"name":"one"},"spec":{"size":"1"}}
= 422 Invalid: Widget.clients.berth.test "one" is invalid: spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"
  causes=["FieldValueTypeInvalid spec.size"] group=clients.berth.test kind=Widget name=one
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets

{"apiVersion":"clients.berth.test/v1","kind":"Widget","metadata":{"name":"one"},"spec":[]}
= 422 Invalid: Widget.clients.berth.test "one" is invalid: spec: Invalid value: "array": spec in body must be of type object: "array"
  causes=["FieldValueTypeInvalid spec"] group=clients.berth.test kind=Widget name=one
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets

{"apiVersion":"clients.berth.test/v1","kind":"Widget","metadata":{"name":"one","labels":{"a":5}},"spec":{"size":1}}
= 400 BadRequest: [..]
"#)
    .await;
}

#[tokio::test]
async fn name_and_namespace_are_those_of_the_path() {
    let desk = Desk::new().await;
    desk.exchanges(r#"
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 201 ConfigMap
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two", "namespace": "default"}}
= 400 BadRequest: the namespace of the provided object does not match the namespace sent on the request
PUT /api/v1/namespaces/{ns}/configmaps/one

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}}
= 400 BadRequest: the name of the object (two) does not match the name on the URL (one)
PUT /api/v1/namespaces/{ns}/configmaps/one

{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}
= 400 BadRequest: the name of the object (one based on URL) was undeterminable: name must be provided
PUT /api/v1/namespaces/{ns}/configmaps/one

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "default"}}
= 400 BadRequest: the namespace of the provided object does not match the namespace sent on the request
PUT /api/v1/namespaces/{ns}/configmaps/one

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "uid": "another"}}
= 409 Conflict: Operation cannot be fulfilled on configmaps "one": [..]Precondition failed: UID in precondition: another, UID in object meta: [..]
  kind=configmaps name=one
PUT /api/v1/namespaces/{ns}/configmaps/one

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "resourceVersion": "1"}}
= 409 Conflict: Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply your changes to the latest version and try again
  kind=configmaps name=one
PUT /api/v1/namespaces/{ns}/configmaps/one

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "resourceVersion": "x"}}
= 500 (no reason): strconv.ParseUint: parsing "x": invalid syntax
PUT /api/v1/namespaces/{ns}/configmaps/nope

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nope"}}
= 404 NotFound: configmaps "nope" not found
  kind=configmaps name=nope
PUT /api/v1/namespaces/{ns}/configmaps/nope

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nope", "resourceVersion": "1"}}
= 404 NotFound: configmaps "nope" not found
  kind=configmaps name=nope
PUT /api/v1/namespaces/{ns}/configmaps/one

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 200 ConfigMap
POST /api/v1/namespaces

{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"{ns}-x","namespace":"y"}}
= 201 Namespace
PATCH /api/v1/namespaces/{ns}/configmaps/one
Content-Type: application/merge-patch+json

{"metadata":{"name":"two"}}
= 400 BadRequest: the name of the object (two) does not match the name on the URL (one)
PATCH /api/v1/namespaces/{ns}/configmaps/one?fieldManager=me
Content-Type: application/apply-patch+yaml

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}}
= 400 BadRequest: the name of the object (two) does not match the name on the URL (one)
PATCH /api/v1/namespaces/{ns}/configmaps/one?fieldManager=me
Content-Type: application/apply-patch+yaml

{"apiVersion":"v1","kind":"Secret","metadata":{"name":"one"}}
= 400 BadRequest: invalid object type: /v1, Kind=Secret
PATCH /api/v1/namespaces/{ns}/configmaps/one?fieldManager=me
Content-Type: application/apply-patch+yaml

{"kind":"ConfigMap","metadata":{"name":"one"}}
= 400 BadRequest: invalid object type: /, Kind=ConfigMap
PATCH /api/v1/namespaces/{ns}/configmaps/one?fieldManager=me
Content-Type: application/apply-patch+yaml

{"apiVersion": "v1", "kind": "ConfigMap"}
= 200 ConfigMap
PATCH /api/v1/namespaces/{ns}/configmaps/new?fieldManager=me
Content-Type: application/apply-patch+yaml

{"apiVersion": "v1", "kind": "ConfigMap"}
= 400 BadRequest: the name of the object (new based on URL) was undeterminable: name must be provided
PATCH /api/v1/namespaces/{ns}/configmaps/one
Content-Type: application/merge-patch+json

{"metadata":{"resourceVersion":"x"}}
= 500 (no reason): strconv.ParseUint: parsing "x": invalid syntax
PATCH /api/v1/namespaces/{ns}/configmaps/one
Content-Type: application/merge-patch+json

{"metadata":{"name":null}}
= 400 BadRequest: the name of the object (one based on URL) was undeterminable: name must be provided
PATCH /api/v1/namespaces/{ns}/configmaps/one
Content-Type: application/json-patch+json

[{"op":"test","path":"/metadata/finalizers","value":null}]
= 200 ConfigMap
PATCH /api/v1/namespaces/{ns}/configmaps/one
Content-Type: application/json-patch+json

[{"op":"test","path":"/nope/x","value":null}]
= 422 Invalid: the server rejected our request due to an error in our request
PATCH /api/v1/namespaces/{ns}/configmaps/one
Content-Type: application/json-patch+json

[{"op":"replace","path":"/metadata","value":"x"}]
= 422 Invalid: [..]
  causes=["FieldValueInvalid patch"]
PATCH /api/v1/namespaces/{ns}/configmaps/one
Content-Type: application/apply-patch+yaml

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 422 Invalid: PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch
  causes=["FieldValueRequired fieldManager"] group=meta.k8s.io kind=PatchOptions
PATCH /api/v1/namespaces/{ns}/configmaps/one?fieldManager=me
Content-Type: application/apply-patch+yaml

a: [
= 400 BadRequest: error decoding YAML: error converting YAML to JSON: yaml: line 1[..]
PATCH /api/v1/namespaces/{ns}/configmaps/one?fieldManager=me
Content-Type: application/merge-patch+json

{
= 400 BadRequest: [..]
PATCH /api/v1/namespaces/{ns}/configmaps/one?fieldManager=me
Content-Type: application/json-patch+json

{
= 400 BadRequest: [..]
PATCH /api/v1/namespaces/{ns}/configmaps/one?fieldManager=me
Content-Type: application/strategic-merge-patch+json

{
= 400 BadRequest: [..]
PATCH /api/v1/namespaces/{ns}/configmaps/one?force=true
Content-Type: application/merge-patch+json

{}
= 422 Invalid: PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch
  causes=["FieldValueForbidden force"] group=meta.k8s.io kind=PatchOptions
POST /api/v1/namespaces/{ns}/configmaps?fieldManager=mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "long"}}
= 422 Invalid: CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes
  causes=["FieldValueTooLong fieldManager"] group=meta.k8s.io kind=CreateOptions
"#)
    .await;
}

#[tokio::test]
async fn objects_may_be_yaml() {
    let desk = Desk::new().await;
    desk.exchanges(
        r#"
POST /api/v1/namespaces/{ns}/configmaps
Content-Type: application/yaml

apiVersion: v1
kind: ConfigMap
metadata: {name: yaml}
= 201 ConfigMap
POST /api/v1/namespaces/{ns}/configmaps
Content-Type: application/yaml

a: [
= 400 BadRequest: [..]
"#,
    )
    .await;
}
