//! `kubectl describe` and `events`.

use serde_json::json;

use crate::widgets;

#[tokio::test]
async fn objects_are_described_each_in_its_way() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl create configmap one --from-literal=key=value
configmap/one created
$ kubectl label configmap one a=b
configmap/one labeled
$ kubectl describe configmap one
Name:         one
Namespace:    {ns}
Labels:       a=b
Annotations:  <none>

Data
====
key:
----
value


BinaryData
====

Events:  <none>
$ kubectl create secret generic hidden --from-literal=key=value
secret/hidden created
$ kubectl describe secret hidden
Name:         hidden
Namespace:    {ns}
Labels:       <none>
Annotations:  <none>

Type:  Opaque

Data
====
key:  5 bytes
$ kubectl describe namespace {ns}
Name:         {ns}
Labels:       kubernetes.io/metadata.name={ns}
Annotations:  <none>
Status:       Active

...
$ kubectl create serviceaccount robot
serviceaccount/robot created
$ kubectl describe serviceaccount robot
Name:                robot
Namespace:           {ns}
Labels:              <none>
Annotations:         <none>
Image pull secrets:  <none>
...
Events:              <none>
$ kubectl create role reader --verb=get,list --resource=configmaps
role.rbac.authorization.k8s.io/reader created
$ kubectl describe role reader
Name:         reader
Labels:       <none>
Annotations:  <none>
PolicyRule:
  Resources   Non-Resource URLs  Resource Names  Verbs
  ---------   -----------------  --------------  -----
  configmaps  []                 []              [get list]
$ kubectl create rolebinding reads --role=reader --user=jane --serviceaccount={ns}:robot
rolebinding.rbac.authorization.k8s.io/reads created
$ kubectl describe rolebinding reads
Name:         reads
Labels:       <none>
Annotations:  <none>
Role:
  Kind:  Role
  Name:  reader
Subjects:
  Kind            Name   Namespace
  ----            ----   ---------
  User            jane
  ServiceAccount  robot  {ns}
$ kubectl describe clusterrole system:basic-user
Name:         system:basic-user
Labels:       kubernetes.io/bootstrapping=rbac-defaults
Annotations:  rbac.authorization.kubernetes.io/autoupdate: true
PolicyRule:
  Resources                                      Non-Resource URLs  Resource Names  Verbs
  ---------                                      -----------------  --------------  -----
  selfsubjectreviews.authentication.k8s.io       []                 []              [create]
  selfsubjectaccessreviews.authorization.k8s.io  []                 []              [create]
  selfsubjectrulesreviews.authorization.k8s.io   []                 []              [create]
$ kubectl describe clusterrolebinding system:basic-user
Name:         system:basic-user
Labels:       kubernetes.io/bootstrapping=rbac-defaults
Annotations:  rbac.authorization.kubernetes.io/autoupdate: true
Role:
  Kind:  ClusterRole
  Name:  system:basic-user
Subjects:
  Kind   Name                  Namespace
  ----   ----                  ---------
  Group  system:authenticated
$ kubectl describe configmap nope
Error from server (NotFound): configmaps "nope" not found
? 1
$ kubectl describe configmap on
Name:         one
Namespace:    {ns}
Labels:       a=b
Annotations:  <none>

Data
====
key:
----
value


BinaryData
====
...
$ kubectl apply -f - <<EOF
{"apiVersion": "clients.berth.test/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 7, "parts": [{"name": "x"}]}}
EOF
widget.clients.berth.test/w created
$ kubectl describe widget w
Name:         w
Namespace:    {ns}
Labels:       <none>
Annotations:  <none>
API Version:  clients.berth.test/v1
Kind:         Widget
Metadata:
  Creation Timestamp:  [..]
  Generation:          1
  Resource Version:    [..]
  UID:                 [..]
Spec:
  Color:  red
  Parts:
    Count:  1
    Name:   x
  Size:     7
Events:     <none>
$ kubectl describe crd widgets.clients.berth.test
Name:         widgets.clients.berth.test
Namespace:
Labels:       <none>
Annotations:  <none>
API Version:  apiextensions.k8s.io/v1
Kind:         CustomResourceDefinition
Metadata:
  Creation Timestamp:  [..]
  Generation:          1
  Resource Version:    [..]
  UID:                 [..]
Spec:
  Conversion:
    Strategy:  None
  Group:       clients.berth.test
  Names:
    Categories:
      gadgets
    Kind:       Widget
    List Kind:  WidgetList
    Plural:     widgets
    Short Names:
      wg
    Singular:  widget
  Scope:       Namespaced
  Versions:
    Additional Printer Columns:
      Json Path:  .spec.size
      Name:       Size
      Type:       integer
      Json Path:  .status.phase
      Name:       Phase
      Type:       string
      Json Path:  .spec.color
      Name:       Color
      Priority:   1
      Type:       string
      Json Path:  .metadata.creationTimestamp
      Name:       Age
      Type:       date
    Name:         v1
    Schema:
      openAPIV3Schema:
        Description:  A thing for tests.
        Properties:
          API Version:
            Type:  string
          Kind:
            Type:  string
          Metadata:
            Type:  object
          Spec:
            Description:  What the widget is to be.
            Properties:
              Anything:
                Type:                                          object
                X - Kubernetes - Preserve - Unknown - Fields:  true
              Code:
                Max Length:  5
                Pattern:     ^[a-z]+$
                Type:        string
              Color:
                Default:  red
                Enum:
                  red
                  green
                Type:  string
              Limit:
                X - Kubernetes - Int - Or - String:  true
              Notes:
                Items:
                  Type:                        string
                Type:                          array
                X - Kubernetes - List - Type:  atomic
              Parts:
                Items:
                  Properties:
                    Count:
                      Default:  1
                      Type:     integer
                    Name:
                      Type:  string
                  Required:
                    name
                  Type:  object
                Type:    array
                X - Kubernetes - List - Map - Keys:
                  name
                X - Kubernetes - List - Type:  map
              Size:
                Description:  How big it is.
                Format:       int32
                Maximum:      100
                Minimum:      1
                Type:         integer
              Tags:
                Items:
                  Type:                        string
                Type:                          array
                X - Kubernetes - List - Type:  set
            Required:
              size
            Type:  object
          Status:
            Properties:
              Conditions:
                Items:
                  Properties:
                    Last Transition Time:
                      Format:  date-time
                      Type:    string
                    Message:
                      Type:  string
                    Observed Generation:
                      Format:  int64
                      Type:    integer
                    Reason:
                      Type:  string
                    Status:
                      Enum:
                        True
                        False
                        Unknown
                      Type:  string
                    Type:
                      Type:  string
                  Required:
                    type
                    status
                  Type:  object
                Type:    array
                X - Kubernetes - List - Map - Keys:
                  type
                X - Kubernetes - List - Type:  map
              Phase:
                Type:  string
            Type:      object
        Required:
          spec
        Type:  object
    Served:    true
    Storage:   true
    Subresources:
      Status:
Status:
  Accepted Names:
    Categories:
      gadgets
    Kind:       Widget
    List Kind:  WidgetList
    Plural:     widgets
    Short Names:
      wg
    Singular:  widget
  Conditions:
    Last Transition Time:  [..]
    Message:               no conflicts found
    Reason:                NoConflicts
    Status:                True
    Type:                  NamesAccepted
    Last Transition Time:  [..]
    Message:               the initial names have been accepted
    Reason:                InitialNamesAccepted
    Status:                True
    Type:                  Established
  Stored Versions:
    v1
Events:  <none>
"#)
    .await;
}

#[tokio::test]
async fn events_are_shown_with_the_object_they_are_about() {
    let desk = widgets::desk().await;
    let path = desk.in_group(widgets::GROUP_VERSION, "widgets");
    let widget = desk.admin.post(&path, &widgets::widget("w")).await.unwrap();
    let uid = &widget.ok()["metadata"]["uid"];
    let event = |name: &str, kind: &str, reason: &str| {
        json!({
            "apiVersion": "v1", "kind": "Event", "metadata": { "name": name },
            "involvedObject": {
                "apiVersion": widgets::GROUP_VERSION, "kind": "Widget", "name": "w", "namespace": desk.namespace, "uid": uid,
            },
            "type": kind, "reason": reason, "message": "It did.", "count": 1, "source": { "component": "tests" },
            "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z",
        })
    };
    for event in [
        event("a", "Normal", "Turned"),
        event("b", "Warning", "Squeaked"),
    ] {
        desk.admin
            .post(&desk.core("events"), &event)
            .await
            .unwrap()
            .ok();
    }
    desk.plays(r#"
$ kubectl describe widget w
Name:         w
Namespace:    {ns}
Labels:       <none>
Annotations:  <none>
API Version:  clients.berth.test/v1
Kind:         Widget
Metadata:
  Creation Timestamp:  [..]
  Generation:          1
  Resource Version:    [..]
  UID:                 [..]
Spec:
  Color:  red
  Size:   3
Events:
  Type     Reason    Age   From   Message
  ----     ------    ----  ----   -------
  Normal   Turned    [..] tests  It did.
  Warning  Squeaked  [..] tests  It did.
$ kubectl get events
LAST SEEN   TYPE      REASON     OBJECT     MESSAGE
[..]        Normal    Turned     widget/w   It did.
[..]        Warning   Squeaked   widget/w   It did.
$ kubectl get events -o wide
LAST SEEN   TYPE      REASON     OBJECT     SUBOBJECT   SOURCE   MESSAGE   FIRST SEEN   COUNT   NAME
[..]        Normal    Turned     widget/w               tests    It did.   [..]         1       a
[..]        Warning   Squeaked   widget/w               tests    It did.   [..]         1       b
$ kubectl get events.v1.events.k8s.io
LAST SEEN   TYPE      REASON     OBJECT     MESSAGE
[..]        Normal    Turned     widget/w   It did.
[..]        Warning   Squeaked   widget/w   It did.
$ kubectl get events --field-selector involvedObject.name=w,type=Warning -o name
event/b
$ kubectl get events --field-selector reason=Turned,involvedObject.kind=Widget -o name
event/a
$ kubectl get events --field-selector nonsense=1
Error from server (BadRequest): Unable to find "/v1, Resource=events" that match label selector "", field selector "nonsense=1": field label not supported: nonsense
? 1
$ kubectl events
LAST SEEN   TYPE      REASON     OBJECT     MESSAGE
[..]        Normal    Turned     Widget/w   It did.
[..]        Warning   Squeaked   Widget/w   It did.
$ kubectl events --for widget/w --types=Warning
LAST SEEN   TYPE      REASON     OBJECT     MESSAGE
[..]        Warning   Squeaked   Widget/w   It did.
$ kubectl events --for configmap/w
No events found in {ns} namespace.
"#)
    .await;
}
