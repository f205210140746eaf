//! Paths, methods, media types and query parameters that are not served.

use crate::widgets;

#[tokio::test]
async fn what_is_not_served_is_not_found() {
    let desk = widgets::desk().await;
    desk.exchanges(
        r#"
GET /nonsense
= 404 404 page not found
GET /api/v2
= 404 NotFound: the server could not find the requested resource
GET /apis/nonsense.example.com
= 404 404 page not found
GET /apis/nonsense.example.com/v1
= 404 404 page not found
GET /apis/clients.berth.test/v2
= 404 404 page not found
GET /apis/clients.berth.test/v2/namespaces/{ns}/widgets
= 404 404 page not found
GET /api/v1/namespaces/{ns}/nonsense
= 404 NotFound: the server could not find the requested resource
GET /api/v1/nonsense
= 404 NotFound: the server could not find the requested resource
GET /api/v1/namespaces/{ns}/configmaps/one/nonsense
= 404 NotFound: the server could not find the requested resource
GET /api/v1/namespaces/{ns}/configmaps/one/status
= 404 NotFound: the server could not find the requested resource
GET /apis/clients.berth.test/v1/namespaces/{ns}/widgets/one/scale
= 404 NotFound: widgets.clients.berth.test "one" not found
  group=clients.berth.test kind=widgets name=one
GET /apis/clients.berth.test/v1/namespaces/{ns}/widgets/one/nonsense
= 404 NotFound: widgets.clients.berth.test "one" not found
  group=clients.berth.test kind=widgets name=one
POST /api/v1/nonsense

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 404 NotFound: the server could not find the requested resource
GET /api/v1/namespaces/{ns}/nodes
= 404 NotFound: the server could not find the requested resource
GET /api/v1/namespaces/{ns}/namespaces
= 404 NotFound: the server could not find the requested resource
GET /apis/clients.berth.test
= 200 APIGroup
GET /apis/authorization.k8s.io/v1/subjectaccessreviews/x
= 404 NotFound: the server could not find the requested resource
GET /api/v1/watch/nonsense
= 404 NotFound: the server could not find the requested resource
GET /apis/clients.berth.test/v1/nonsense
= 404 404 page not found
GET /api/v1/namespaces/{ns}/configmaps/one/two/three
= 404 NotFound: the server could not find the requested resource
"#,
    )
    .await;
}

#[tokio::test]
async fn methods_that_a_path_has_not_are_refused() {
    let desk = widgets::desk().await;
    desk.exchanges(
        r#"
PUT /api/v1/namespaces/{ns}/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 405 MethodNotAllowed: the server does not allow this method on the requested resource
POST /api/v1/namespaces/{ns}/configmaps/one

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 405 MethodNotAllowed: the server does not allow this method on the requested resource
PATCH /api/v1/namespaces/{ns}/configmaps
Content-Type: application/merge-patch+json

{}
= 405 MethodNotAllowed: the server does not allow this method on the requested resource
POST /api/v1/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 405 MethodNotAllowed: the server does not allow this method on the requested resource
DELETE /api/v1/namespaces
= 405 MethodNotAllowed: the server does not allow this method on the requested resource
DELETE /api/v1/configmaps
= 405 MethodNotAllowed: the server does not allow this method on the requested resource
PUT /version

{}
= 405 MethodNotAllowed: the server does not allow this method on the requested resource
FETCH /api/v1/namespaces/{ns}/configmaps
= 405 MethodNotAllowed: the server does not allow this method on the requested resource
POST /api/v1

{}
= 405 MethodNotAllowed: the server does not allow this method on the requested resource
GET /apis/authorization.k8s.io/v1/subjectaccessreviews
= 405 MethodNotAllowed: the server does not allow this method on the requested resource
PUT /apis/clients.berth.test/v1/namespaces/{ns}/widgets

{}
= 400 BadRequest: name must be provided
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets/one/status

{}
= 405 MethodNotAllowed: create is not supported on resources of kind "widgets.clients.berth.test"
  group=clients.berth.test kind=widgets
DELETE /apis/clients.berth.test/v1/namespaces/{ns}/widgets/one/status
= 405 MethodNotAllowed: delete is not supported on resources of kind "widgets.clients.berth.test"
  group=clients.berth.test kind=widgets
GET /api/v1/namespaces/{ns}/serviceaccounts/x/token
= 405 MethodNotAllowed: the server does not allow this method on the requested resource
POST /apis/clients.berth.test/v1/widgets

{"apiVersion":"clients.berth.test/v1","kind":"Widget","metadata":{"name":"one"},"spec":{"size":1}}
= 404 404 page not found
OPTIONS /api/v1/namespaces/{ns}/configmaps
= 405 MethodNotAllowed: the server does not allow this method on the requested resource
"#,
    )
    .await;
}

#[tokio::test]
async fn media_types_that_are_not_spoken_are_refused() {
    let desk = widgets::desk().await;
    desk.exchanges(
        r#"
POST /api/v1/namespaces/{ns}/configmaps
Content-Type: text/plain

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf
POST /api/v1/namespaces/{ns}/configmaps
Content-Type: nonsense

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf
PUT /api/v1/namespaces/{ns}/configmaps/one
Content-Type: application/xml

<a/>
= 415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets
Content-Type: text/plain

{}
= 415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf
PATCH /api/v1/namespaces/{ns}/configmaps/one
Content-Type: application/json

{}
= 415 UnsupportedMediaType: 415: Unsupported Media Type
PATCH /api/v1/namespaces/{ns}/configmaps/one
Content-Type: text/plain

{}
= 415 UnsupportedMediaType: 415: Unsupported Media Type
PATCH /apis/clients.berth.test/v1/namespaces/{ns}/widgets/one
Content-Type: application/strategic-merge-patch+json

{}
= 415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml
PATCH /apis/clients.berth.test/v1/namespaces/{ns}/widgets/one
Content-Type: application/json

{}
= 415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml
GET /api/v1/namespaces/{ns}/configmaps
Accept: text/html
= 406 NotAcceptable: [..]
GET /api/v1/namespaces/{ns}/configmaps
Accept: application/xml
= 406 NotAcceptable: [..]
GET /api/v1/namespaces/{ns}/configmaps
Accept: nonsense
= 406 NotAcceptable: [..]
GET /apis/clients.berth.test/v1/namespaces/{ns}/widgets
Accept: text/html
= 406 NotAcceptable: only the following media types are accepted: application/json, application/yaml[..]
GET /api/v1/namespaces/{ns}/configmaps
Accept: application/json;as=Nonsense;g=meta.k8s.io;v=v1
= 406 NotAcceptable: only the following media types are accepted: application/json, application/yaml[..]
GET /api/v1/namespaces/{ns}/configmaps
Accept: application/json;as=Table;g=meta.k8s.io;v=v9
= 406 NotAcceptable: only the following media types are accepted: application/json, application/yaml[..]
GET /api/v1/namespaces/{ns}/configmaps
Accept: text/html, application/json
= 200 ConfigMapList
GET /api/v1/namespaces/{ns}/configmaps
Accept: */*
= 200 ConfigMapList
GET /api/v1/namespaces/{ns}/configmaps
Accept: application/json;as=Table;g=meta.k8s.io;v=v1
= 200 Table
GET /api/v1/namespaces/{ns}/configmaps
Accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1
= 200 PartialObjectMetadataList
GET /api/v1/namespaces/{ns}/configmaps
Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1
= 406 NotAcceptable: you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)
GET /api/v1/namespaces/{ns}/configmaps
Accept: application/json;as=Nonsense;g=meta.k8s.io;v=v1, application/json
= 200 ConfigMapList
GET /api/v1/namespaces/{ns}
Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1
= 200 PartialObjectMetadata
GET /api/v1/namespaces/{ns}
Accept: application/json;as=Table;g=meta.k8s.io;v=v1
= 200 Table
GET /apis/clients.berth.test/v1/namespaces/{ns}/widgets
Accept: application/json;as=Table;g=meta.k8s.io;v=v1
= 200 Table
"#,
    )
    .await;
}

#[tokio::test]
async fn query_parameters_that_make_no_sense_are_refused_and_unknown_ones_are_not_read() {
    let desk = widgets::desk().await;
    desk.exchanges(r#"
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 201 ConfigMap
GET /api/v1/namespaces/{ns}/configmaps?nonsense=1
= 200 ConfigMapList
GET /api/v1/namespaces/{ns}/configmaps?limit=x
= 400 BadRequest: [..]
GET /api/v1/namespaces/{ns}/configmaps?watch=nonsense&timeoutSeconds=1&fieldSelector=metadata.name%3Done
= 200 {"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"creationTimestamp":"[..]","name":"one","namespace":"{ns}","resourceVersion":"[..]","uid":"[..]"}},"type":"ADDED"}
GET /api/v1/namespaces/{ns}/configmaps?timeoutSeconds=x
= 400 BadRequest: [..]
GET /api/v1/namespaces/{ns}/configmaps?labelSelector=a%20b
= 400 BadRequest: unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt
GET /api/v1/namespaces/{ns}/configmaps?fieldSelector=a
= 400 BadRequest: invalid selector: 'a'; can't understand 'a'
GET /api/v1/namespaces/{ns}/configmaps?fieldSelector=data.a%3D1
= 400 BadRequest: "data.a" is not a known field selector: only "metadata.name", "metadata.namespace"
GET /api/v1/namespaces/{ns}/configmaps/one?nonsense=1
= 200 ConfigMap
GET /api/v1/namespaces/{ns}/configmaps/one?resourceVersion=x
= 500 (no reason): [..]
GET /api/v1/namespaces/{ns}/configmaps/one?resourceVersion=99999999
= 504 Timeout: Timeout: Too large resource version: 99999999, current: [..]
  causes=["ResourceVersionTooLarge null"] retryAfterSeconds=1
GET /api/v1/namespaces/{ns}/configmaps/one?resourceVersion=0
= 200 ConfigMap
GET /api/v1/namespaces/{ns}/configmaps?pretty=true&limit=1
= 200 ConfigMapList
POST /api/v1/namespaces/{ns}/configmaps?dryRun=Nonsense

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}}
= 422 Invalid: [..]
  causes=["FieldValueNotSupported dryRun"] group=meta.k8s.io kind=CreateOptions
POST /api/v1/namespaces/{ns}/configmaps?dryRun=All&dryRun=All

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}}
= 201 ConfigMap
POST /api/v1/namespaces/{ns}/configmaps?fieldValidation=Nonsense

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}}
= 422 Invalid: CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Nonsense": supported values: "", "Ignore", "Strict", "Warn"
  causes=["FieldValueNotSupported fieldValidation"] group=meta.k8s.io kind=CreateOptions
POST /api/v1/namespaces/{ns}/configmaps?fieldManager=%00

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}}
= 422 Invalid: [..]
  causes=["FieldValueInvalid fieldManager"] group=meta.k8s.io kind=CreateOptions
PUT /api/v1/namespaces/{ns}/configmaps/one?dryRun=Some

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 422 Invalid: [..]
  causes=["FieldValueNotSupported dryRun"] group=meta.k8s.io kind=UpdateOptions
PATCH /api/v1/namespaces/{ns}/configmaps/one?dryRun=Some
Content-Type: application/merge-patch+json

{}
= 422 Invalid: [..]
  causes=["FieldValueNotSupported dryRun"] group=meta.k8s.io kind=PatchOptions
PATCH /api/v1/namespaces/{ns}/configmaps/one?fieldValidation=x
Content-Type: application/merge-patch+json

{}
= 422 Invalid: PatchOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"
  causes=["FieldValueNotSupported fieldValidation"] group=meta.k8s.io kind=PatchOptions
PATCH /api/v1/namespaces/{ns}/configmaps/one?fieldManager=me&force=maybe
Content-Type: application/apply-patch+yaml

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 200 ConfigMap
DELETE /api/v1/namespaces/{ns}/configmaps/one?dryRun=Some
= 422 Invalid: [..]
  causes=["FieldValueNotSupported dryRun"] group=meta.k8s.io kind=DeleteOptions
DELETE /api/v1/namespaces/{ns}/configmaps/one?gracePeriodSeconds=x
= 400 BadRequest: [..]
DELETE /api/v1/namespaces/{ns}/configmaps/one?propagationPolicy=Nonsense
= 422 Invalid: DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Nonsense": supported values: "Foreground", "Background", "Orphan", "nil"
  causes=["FieldValueNotSupported propagationPolicy"] group=meta.k8s.io kind=DeleteOptions
DELETE /api/v1/namespaces/{ns}/configmaps/one?propagationPolicy=Orphan&orphanDependents=true
= 422 Invalid: DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set
  causes=["FieldValueInvalid propagationPolicy"] group=meta.k8s.io kind=DeleteOptions
GET /apis/clients.berth.test/v1/namespaces/{ns}/widgets?fieldSelector=spec.size%3D1
= 400 BadRequest: field label not supported: spec.size
GET /apis/clients.berth.test/v1/namespaces/{ns}/widgets?limit=x
= 400 BadRequest: [..]
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets?dryRun=x

{}
= 422 Invalid: [..]
  causes=["FieldValueNotSupported dryRun"] group=meta.k8s.io kind=CreateOptions
"#)
    .await;
}
