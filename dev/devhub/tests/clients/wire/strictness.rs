//! `fieldValidation`: unknown and duplicate fields.

use crate::widgets;

#[tokio::test]
async fn unknown_and_duplicate_fields_are_refused_warned_of_or_ignored_as_asked() {
    let desk = widgets::desk().await;
    desk.exchanges(r#"
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a0","labls":{}},"dta":{},"data":{"a":"1"},"data":{"b":"1","b":"2"}}
= 201 ConfigMap
  warning: unknown field "metadata.labls"
  warning: unknown field "dta"
  warning: duplicate field "data"
  warning: duplicate field "data.b"
POST /api/v1/namespaces/{ns}/configmaps?fieldValidation=Ignore

{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a1","labls":{}},"dta":{},"data":{"a":"1"},"data":{"b":"1","b":"2"}}
= 201 ConfigMap
POST /api/v1/namespaces/{ns}/configmaps?fieldValidation=Warn

{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a2","labls":{}},"dta":{},"data":{"a":"1"},"data":{"b":"1","b":"2"}}
= 201 ConfigMap
  warning: unknown field "metadata.labls"
  warning: unknown field "dta"
  warning: duplicate field "data"
  warning: duplicate field "data.b"
POST /api/v1/namespaces/{ns}/configmaps?fieldValidation=Strict

{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a3","labls":{}},"dta":{},"data":{"a":"1"},"data":{"b":"1","b":"2"}}
= 400 BadRequest: [..]
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets

{"apiVersion":"clients.berth.test/v1","kind":"Widget","metadata":{"name":"a0","labls":{}},"spec":{"size":1,"size":2,"sise":3,"parts":[{"name":"x","nam":"y"}],"anything":{"goes":1}},"sbec":{}}
= 201 Widget
  warning: duplicate field "spec.size"
  warning: unknown field "metadata.labls"
  warning: unknown field "sbec"
  warning: unknown field "spec.parts[0].nam"
  warning: unknown field "spec.sise"
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets?fieldValidation=Ignore

{"apiVersion":"clients.berth.test/v1","kind":"Widget","metadata":{"name":"a1","labls":{}},"spec":{"size":1,"size":2,"sise":3,"parts":[{"name":"x","nam":"y"}],"anything":{"goes":1}},"sbec":{}}
= 201 Widget
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets?fieldValidation=Warn

{"apiVersion":"clients.berth.test/v1","kind":"Widget","metadata":{"name":"a2","labls":{}},"spec":{"size":1,"size":2,"sise":3,"parts":[{"name":"x","nam":"y"}],"anything":{"goes":1}},"sbec":{}}
= 201 Widget
  warning: duplicate field "spec.size"
  warning: unknown field "metadata.labls"
  warning: unknown field "sbec"
  warning: unknown field "spec.parts[0].nam"
  warning: unknown field "spec.sise"
POST /apis/clients.berth.test/v1/namespaces/{ns}/widgets?fieldValidation=Strict

{"apiVersion":"clients.berth.test/v1","kind":"Widget","metadata":{"name":"a3","labls":{}},"spec":{"size":1,"size":2,"sise":3,"parts":[{"name":"x","nam":"y"}],"anything":{"goes":1}},"sbec":{}}
= 400 BadRequest: Widget in version "v1" cannot be handled as a Widget: strict decoding error: duplicate field "spec.size", unknown field "metadata.labls", unknown field "sbec", unknown field "spec.parts[0].nam", unknown field "spec.sise"
PUT /api/v1/namespaces/{ns}/configmaps/a1?fieldValidation=Strict

{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a1"},"dta":{}}
= 400 BadRequest: ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"
PUT /api/v1/namespaces/{ns}/configmaps/a1?fieldValidation=Warn

{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a1"},"dta":{}}
= 200 ConfigMap
  warning: unknown field "dta"
PUT /apis/clients.berth.test/v1/namespaces/{ns}/widgets/a1?fieldValidation=Strict

{"apiVersion":"clients.berth.test/v1","kind":"Widget","metadata":{"name":"a1"},"spec":{"size":1,"sise":1}}
= 400 BadRequest: Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.sise"
PATCH /api/v1/namespaces/{ns}/configmaps/a1?fieldValidation=Strict
Content-Type: application/merge-patch+json

{"dta":{}}
= 422 Invalid:  "" is invalid: patch: Invalid value: "{[..]}": strict decoding error: unknown field "dta"
  causes=["FieldValueInvalid patch"]
PATCH /api/v1/namespaces/{ns}/configmaps/a1
Content-Type: application/merge-patch+json

{"dta":{}}
= 200 ConfigMap
  warning: unknown field "dta"
PATCH /api/v1/namespaces/{ns}/configmaps/a1?fieldValidation=Strict
Content-Type: application/merge-patch+json

{"data":{"a":"1","a":"2"}}
= 422 Invalid:  "" is invalid: patch: Invalid value: "{[..]}": strict decoding error: duplicate field "data.a"
  causes=["FieldValueInvalid patch"]
PATCH /api/v1/namespaces/{ns}/configmaps/a1?fieldValidation=Strict
Content-Type: application/strategic-merge-patch+json

{"dta":{}}
= 422 Invalid:  "" is invalid: patch: Invalid value: "[..]": strict decoding error: unknown field "dta"
  causes=["FieldValueInvalid patch"]
PATCH /api/v1/namespaces/{ns}/configmaps/a1?fieldValidation=Strict
Content-Type: application/json-patch+json

[{"op":"add","path":"/dta","value":{}}]
= 422 Invalid:  "" is invalid: patch: Invalid value: "{[..]}": strict decoding error: unknown field "dta"
  causes=["FieldValueInvalid patch"]
PATCH /api/v1/namespaces/{ns}/configmaps/a1?fieldValidation=Strict
Content-Type: application/json-patch+json

[{"op":"add","path":"/data","value":{},"foo":1}]
= 422 Invalid:  "" is invalid: patch: Invalid value: "{[..]}": strict decoding error: json patch unknown field "[0].foo"
  causes=["FieldValueInvalid patch"]
PATCH /api/v1/namespaces/{ns}/configmaps/a1?fieldManager=me&fieldValidation=Warn
Content-Type: application/apply-patch+yaml

{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a1"},"dta":{}}
= 500 (no reason): failed to create typed patch object (/a1; /v1, Kind=ConfigMap): .dta: field not declared in schema
PATCH /api/v1/namespaces/{ns}/configmaps/a1?fieldManager=me&fieldValidation=Strict
Content-Type: application/apply-patch+yaml

{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a1"},"data":{"a":"1","a":"2"}}
= 400 BadRequest: [..]
PATCH /apis/clients.berth.test/v1/namespaces/{ns}/widgets/a1?fieldValidation=Strict
Content-Type: application/merge-patch+json

{"spec":{"sise":1}}
= 422 Invalid:  "" is invalid: patch: Invalid value: "{[..]}": strict decoding error: unknown field "spec.sise"
  causes=["FieldValueInvalid patch"]
PATCH /apis/clients.berth.test/v1/namespaces/{ns}/widgets/a1?fieldValidation=Warn
Content-Type: application/merge-patch+json

{"spec":{"sise":1}}
= 200 Widget
  warning: unknown field "spec.sise"
PATCH /apis/clients.berth.test/v1/namespaces/{ns}/widgets/a1?fieldManager=me&fieldValidation=Strict
Content-Type: application/apply-patch+yaml

{"apiVersion":"clients.berth.test/v1","kind":"Widget","metadata":{"name":"a1"},"spec":{"sise":1}}
= 500 (no reason): failed to create typed patch object (/a1; clients.berth.test/v1, Kind=Widget): .spec.sise: field not declared in schema
PATCH /apis/clients.berth.test/v1/namespaces/{ns}/widgets/a1?fieldManager=me&fieldValidation=Ignore
Content-Type: application/apply-patch+yaml

{"apiVersion":"clients.berth.test/v1","kind":"Widget","metadata":{"name":"a1"},"spec":{"sise":1}}
= 500 (no reason): failed to create typed patch object (/a1; clients.berth.test/v1, Kind=Widget): .spec.sise: field not declared in schema
"#)
    .await;
}
