//! Lists by pages, and the versions they can be had at.

use crate::widgets;

#[tokio::test]
async fn list_options_that_make_no_sense_are_refused() {
    let desk = widgets::desk().await;
    desk.exchanges(r#"
POST /api/v1/namespaces/{ns}/configmaps

{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
= 201 ConfigMap
GET /api/v1/namespaces/{ns}/configmaps?limit=-1
= 200 ConfigMapList
GET /api/v1/namespaces/{ns}/configmaps?continue=nonsense
= 400 BadRequest: [..]
GET /api/v1/namespaces/{ns}/configmaps?limit=1&continue=bm9uc2Vuc2U
= 400 BadRequest: [..]
GET /api/v1/namespaces/{ns}/configmaps?limit=1&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi8uLi94In0
= 400 BadRequest: invalid continue token: continue key is not valid: ../../x
GET /api/v1/namespaces/{ns}/configmaps?limit=1&continue=eyJ2IjoieCIsInJ2IjoxLCJzdGFydCI6ImEifQ
= 400 BadRequest: [..]
GET /api/v1/namespaces/{ns}/configmaps?resourceVersion=5&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0
= 400 BadRequest: specifying resource version is not allowed when using continue
GET /api/v1/configmaps?limit=1
= 200 ConfigMapList
GET /api/v1/namespaces?limit=1
= 200 NamespaceList
GET /api/v1/namespaces/{ns}/configmaps?resourceVersion=x
= 400 BadRequest: [..]
GET /api/v1/namespaces/{ns}/configmaps?resourceVersion=99999999
= 504 Timeout: Timeout: Too large resource version: 99999999, current: [..]
  causes=["ResourceVersionTooLarge null"] retryAfterSeconds=1
GET /api/v1/namespaces/{ns}/configmaps?resourceVersion=0
= 200 ConfigMapList
GET /api/v1/namespaces/{ns}/configmaps?resourceVersion=0&limit=1
= 200 ConfigMapList
GET /api/v1/namespaces/{ns}/configmaps?resourceVersion=1&resourceVersionMatch=NotOlderThan
= 200 ConfigMapList
GET /api/v1/namespaces/{ns}/configmaps?resourceVersion=1&resourceVersionMatch=Nonsense
= 422 Invalid: [..]
  causes=["FieldValueNotSupported resourceVersionMatch"] group=meta.k8s.io kind=ListOptions
GET /api/v1/namespaces/{ns}/configmaps?resourceVersionMatch=Exact
= 422 Invalid: [..]
  causes=["FieldValueForbidden resourceVersionMatch"] group=meta.k8s.io kind=ListOptions
GET /api/v1/namespaces/{ns}/configmaps?resourceVersion=0&resourceVersionMatch=Exact
= 422 Invalid: [..]
  causes=["FieldValueForbidden resourceVersionMatch"] group=meta.k8s.io kind=ListOptions
GET /api/v1/namespaces/{ns}/configmaps?resourceVersion=1&resourceVersionMatch=Exact&limit=1
= 200 ConfigMapList
GET /api/v1/namespaces/{ns}/configmaps?resourceVersion=99999999&resourceVersionMatch=Exact
= 504 Timeout: Timeout: Too large resource version: 99999999, current: [..]
  causes=["ResourceVersionTooLarge null"] retryAfterSeconds=1
GET /api/v1/namespaces/{ns}/configmaps?limit=1&resourceVersion=5&continue=abc
= 400 BadRequest: [..]
GET /api/v1/namespaces/{ns}/configmaps?sendInitialEvents=true
= 422 Invalid: [..]
  causes=["FieldValueForbidden sendInitialEvents"] group=meta.k8s.io kind=ListOptions
GET /api/v1/namespaces/{ns}/configmaps?watch=true&sendInitialEvents=true
= 422 Invalid: [..]
  causes=["FieldValueForbidden resourceVersionMatch"] group=meta.k8s.io kind=ListOptions
GET /api/v1/namespaces/{ns}/configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=Exact
= 422 Invalid: [..]
  causes=["FieldValueForbidden resourceVersionMatch", "FieldValueNotSupported resourceVersionMatch"] group=meta.k8s.io kind=ListOptions
GET /api/v1/namespaces/{ns}/configmaps?watch=true&resourceVersionMatch=NotOlderThan
= 422 Invalid: [..]
  causes=["FieldValueForbidden resourceVersionMatch"] group=meta.k8s.io kind=ListOptions
GET /api/v1/namespaces/{ns}/configmaps?watch=true&resourceVersion=x
= 500 (no reason): [..]
GET /api/v1/namespaces/{ns}/configmaps?watch=true&limit=1&timeoutSeconds=1&resourceVersion=x
= 500 (no reason): [..]
GET /api/v1/namespaces/{ns}/configmaps?watch=true&fieldSelector=data.a%3D1
= 400 BadRequest: "data.a" is not a known field selector: only "metadata.name", "metadata.namespace"
GET /api/v1/namespaces/{ns}/configmaps?watch=true&labelSelector=a%20b
= 400 BadRequest: unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt
GET /apis/clients.berth.test/v1/namespaces/{ns}/widgets?limit=-1
= 200 WidgetList
GET /apis/clients.berth.test/v1/namespaces/{ns}/widgets?continue=nonsense
= 400 BadRequest: [..]
GET /apis/clients.berth.test/v1/namespaces/{ns}/widgets?resourceVersion=99999999
= 504 Timeout: Timeout: Too large resource version: 99999999, current: [..]
  causes=["ResourceVersionTooLarge null"] retryAfterSeconds=1
"#)
    .await;
}
