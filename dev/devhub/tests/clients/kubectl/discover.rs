//! What the hub says of itself: `api-resources`, `api-versions`, `explain`, `version`, `cluster-info`, raw paths.

use serde_json::{Value, json};

use crate::cluster::kubectl_is_there;
use crate::desk::Desk;
use crate::widgets;

#[tokio::test]
async fn api_resources_are_listed() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl api-resources --api-group=clients.berth.test
NAME      SHORTNAMES   APIVERSION              NAMESPACED   KIND
widgets   wg           clients.berth.test/v1   true         Widget
$ kubectl api-resources --api-group=clients.berth.test -o wide
NAME      SHORTNAMES   APIVERSION              NAMESPACED   KIND     VERBS                                                        CATEGORIES
widgets   wg           clients.berth.test/v1   true         Widget   delete,deletecollection,get,list,patch,create,update,watch   gadgets
$ kubectl api-resources --categories=gadgets -o name
widgets.clients.berth.test
$ kubectl api-resources --api-group=rbac.authorization.k8s.io
NAME                  SHORTNAMES   APIVERSION                     NAMESPACED   KIND
clusterrolebindings                rbac.authorization.k8s.io/v1   false        ClusterRoleBinding
clusterroles                       rbac.authorization.k8s.io/v1   false        ClusterRole
rolebindings                       rbac.authorization.k8s.io/v1   true         RoleBinding
roles                              rbac.authorization.k8s.io/v1   true         Role
$ kubectl api-resources --api-group=coordination.k8s.io -o wide
NAME     SHORTNAMES   APIVERSION               NAMESPACED   KIND    VERBS                                                        CATEGORIES
leases                coordination.k8s.io/v1   true         Lease   create,delete,deletecollection,get,list,patch,update,watch
$ kubectl api-resources --api-group=authorization.k8s.io
NAME                        SHORTNAMES   APIVERSION                NAMESPACED   KIND
localsubjectaccessreviews                authorization.k8s.io/v1   true         LocalSubjectAccessReview
selfsubjectaccessreviews                 authorization.k8s.io/v1   false        SelfSubjectAccessReview
selfsubjectrulesreviews                  authorization.k8s.io/v1   false        SelfSubjectRulesReview
subjectaccessreviews                     authorization.k8s.io/v1   false        SubjectAccessReview
$ kubectl api-resources --api-group=certificates.k8s.io -o wide
NAME                         SHORTNAMES   APIVERSION               NAMESPACED   KIND                        VERBS                                                        CATEGORIES
certificatesigningrequests   csr          certificates.k8s.io/v1   false        CertificateSigningRequest   create,delete,deletecollection,get,list,patch,update,watch
$ kubectl api-resources --api-group=apiextensions.k8s.io -o wide
NAME                        SHORTNAMES   APIVERSION                NAMESPACED   KIND                       VERBS                                                        CATEGORIES
customresourcedefinitions   crd,crds     apiextensions.k8s.io/v1   false        CustomResourceDefinition   create,delete,deletecollection,get,list,patch,update,watch   api-extensions
$ kubectl api-resources --api-group=nonsense
NAME   SHORTNAMES   APIVERSION   NAMESPACED   KIND
"#)
    .await;
    if !kubectl_is_there() {
        return;
    }
    let all = desk.says("api-resources --no-headers -o wide").await;
    for wanted in [
        "configmaps cm v1 true ConfigMap create,delete,deletecollection,get,list,patch,update,watch",
        "events ev v1 true Event create,delete,deletecollection,get,list,patch,update,watch",
        "namespaces ns v1 false Namespace create,delete,get,list,patch,update,watch",
        "nodes no v1 false Node create,delete,deletecollection,get,list,patch,update,watch",
        "secrets v1 true Secret create,delete,deletecollection,get,list,patch,update,watch",
        "serviceaccounts sa v1 true ServiceAccount create,delete,deletecollection,get,list,patch,update,watch",
        "services svc v1 true Service create,delete,deletecollection,get,list,patch,update,watch all",
        "deployments deploy apps/v1 true Deployment create,delete,deletecollection,get,list,patch,update,watch all",
        "poddisruptionbudgets pdb policy/v1 true PodDisruptionBudget create,delete,deletecollection,get,list,patch,update,watch",
        "selfsubjectreviews authentication.k8s.io/v1 false SelfSubjectReview create",
        "validatingwebhookconfigurations admissionregistration.k8s.io/v1 false ValidatingWebhookConfiguration \
         create,delete,deletecollection,get,list,patch,update,watch api-extensions",
        "mutatingwebhookconfigurations admissionregistration.k8s.io/v1 false MutatingWebhookConfiguration \
         create,delete,deletecollection,get,list,patch,update,watch api-extensions",
        "tokenreviews authentication.k8s.io/v1 false TokenReview create",
        "events ev events.k8s.io/v1 true Event create,delete,deletecollection,get,list,patch,update,watch",
    ] {
        let there = all
            .lines()
            .any(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") == wanted);
        assert!(there, "{wanted} is not in\n{all}");
    }
    let versions = desk.says("api-versions").await;
    for wanted in [
        "admissionregistration.k8s.io/v1",
        "apiextensions.k8s.io/v1",
        "authentication.k8s.io/v1",
        "authorization.k8s.io/v1",
        "certificates.k8s.io/v1",
        "clients.berth.test/v1",
        "coordination.k8s.io/v1",
        "events.k8s.io/v1",
        "rbac.authorization.k8s.io/v1",
        "v1",
    ] {
        assert!(
            versions.lines().any(|line| line == wanted),
            "{wanted} is not in\n{versions}"
        );
    }
}

#[tokio::test]
async fn kinds_are_explained() {
    let desk = widgets::desk().await;
    desk.plays(r#"
$ kubectl explain widget
GROUP:      clients.berth.test
KIND:       Widget
VERSION:    v1

DESCRIPTION:
    A thing for tests.

FIELDS:
  apiVersion	<string>
    APIVersion defines the versioned schema of this representation of an object.
    Servers should convert recognized schemas to the latest internal value, and
    may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources

  kind	<string>
    Kind is a string value representing the REST resource this object
    represents. Servers may infer this from the endpoint the client submits
    requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds

  metadata	<ObjectMeta>
...

  spec	<Object> -required-
    What the widget is to be.

  status	<Object>
    <no description>
$ kubectl explain widget.spec.size
GROUP:      clients.berth.test
KIND:       Widget
VERSION:    v1

FIELD: size <integer>


DESCRIPTION:
    How big it is.
$ kubectl explain widget.spec --recursive
GROUP:      clients.berth.test
KIND:       Widget
VERSION:    v1

FIELD: spec <Object>


DESCRIPTION:
    What the widget is to be.

FIELDS:
  anything	<Object>
  code	<string>
  color	<string>
  enum: red, green
  limit	<Object>
  notes	<[]string>
  parts	<[]Object>
    count	<integer>
    name	<string> -required-
  size	<integer> -required-
  tags	<[]string>
$ kubectl explain widget.status.conditions
GROUP:      clients.berth.test
KIND:       Widget
VERSION:    v1

FIELD: conditions <[]Object>


DESCRIPTION:
    <empty>
FIELDS:
  lastTransitionTime	<string>
    <no description>

  message	<string>
    <no description>

  observedGeneration	<integer>
    <no description>

  reason	<string>
    <no description>

  status	<string> -required-
  enum: True, False, Unknown
    <no description>

  type	<string> -required-
    <no description>
$ kubectl explain widget.spec.nonsense
GROUP:      clients.berth.test
KIND:       Widget
VERSION:    v1

error: field "nonsense" does not exist
? 1
$ kubectl explain configmap.data
KIND:       ConfigMap
VERSION:    v1

FIELD: data <map[string]string>


DESCRIPTION:
    Data contains the configuration data. Each key must consist of alphanumeric
    characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use
    the BinaryData field. The keys stored in Data must not overlap with the keys
    in the BinaryData field, this is enforced during validation process.
$ kubectl explain configmap.immutable
KIND:       ConfigMap
VERSION:    v1

FIELD: immutable <boolean>


DESCRIPTION:
    Immutable, if set to true, ensures that data stored in the ConfigMap cannot
    be updated (only object metadata can be modified). If not set to true, the
    field can be modified at any time. Defaulted to nil.
$ kubectl explain secret.type
KIND:       Secret
VERSION:    v1

FIELD: type <string>


DESCRIPTION:
    Used to facilitate programmatic handling of secret data. More info:
    https://kubernetes.io/docs/concepts/configuration/secret/#secret-types
$ kubectl explain clusterrole.rules.verbs
GROUP:      rbac.authorization.k8s.io
KIND:       ClusterRole
VERSION:    v1

FIELD: verbs <[]string>


DESCRIPTION:
...
$ kubectl explain namespace.spec --recursive
KIND:       Namespace
VERSION:    v1

FIELD: spec <NamespaceSpec>


DESCRIPTION:
    Spec defines the behavior of the Namespace. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
    NamespaceSpec describes the attributes on a Namespace.

FIELDS:
  finalizers	<[]string>
$ kubectl explain lease.spec.holderIdentity
GROUP:      coordination.k8s.io
KIND:       Lease
VERSION:    v1

FIELD: holderIdentity <string>


DESCRIPTION:
...
$ kubectl explain crd.spec.names.kind
GROUP:      apiextensions.k8s.io
KIND:       CustomResourceDefinition
VERSION:    v1

FIELD: kind <string>


DESCRIPTION:
...
$ kubectl explain configmap.metadata.name
KIND:       ConfigMap
VERSION:    v1

FIELD: name <string>


DESCRIPTION:
...
$ kubectl explain nonsense
the server doesn't have a resource type "nonsense"
? 1
$ kubectl explain widget --api-version=clients.berth.test/v2
error: couldn't find resource for "clients.berth.test/v2, Resource=widgets"
? 1
"#)
    .await;
}

#[tokio::test]
async fn the_hub_tells_its_version_its_address_and_its_health() {
    let desk = Desk::new().await;
    let url = desk.cluster.url();
    desk.stage()
        .with("url", &url)
        .plays(
            r#"
$ kubectl cluster-info
Kubernetes control plane is running at {url}

To further debug and diagnose cluster problems, use 'kubectl cluster-info dump'.
$ kubectl version
Client Version: v[..]
Kustomize Version: v[..]
Server Version: v[..]
...
$ kubectl get --raw /healthz
ok
$ kubectl get --raw /livez
ok
$ kubectl get --raw /readyz
ok
$ kubectl get --raw /readyz?verbose
[+]ping ok
...
readyz check passed
$ kubectl get --raw /nonsense
Error from server (NotFound): the server could not find the requested resource
? 1
$ kubectl get --raw /apis/nonsense.example.com/v1/things
Error from server (NotFound): the server could not find the requested resource
? 1
$ kubectl get --raw /api/v1/namespaces/{ns}/nonsense
Error from server (NotFound): the server could not find the requested resource
? 1
"#,
        )
        .await;
}

#[tokio::test]
async fn raw_paths_are_passed_on() {
    if !kubectl_is_there() {
        return;
    }
    let desk = Desk::new().await;
    let path = desk.core("configmaps");
    let raw = async |line: String, stdin: Value| -> Value {
        let output = desk.kubectl_reading(&stdin.to_string(), &line).await;
        serde_json::from_str(output.ok()).unwrap()
    };
    let mut object =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "raw" } });
    let created = raw(format!("create --raw {path} -f -"), object.clone()).await;
    assert_eq!(created["metadata"]["name"], "raw");
    object["data"] = json!({ "a": "1" });
    let replaced = raw(format!("replace --raw {path}/raw -f -"), object).await;
    assert_eq!(replaced["data"]["a"], "1");
    let got = raw(format!("get --raw {path}/raw"), Value::Null).await;
    assert_eq!(got, replaced);
    let deleted = raw(format!("delete --raw {path}/raw"), Value::Null).await;
    assert_eq!(deleted["status"], "Success");
    let list = raw(format!("get --raw {}", desk.core("secrets")), Value::Null).await;
    assert_eq!(
        (&list["kind"], &list["items"]),
        (&json!("SecretList"), &json!([]))
    );
    let version = raw("get --raw /version".to_owned(), Value::Null).await;
    assert_eq!(version["major"], "1");
    assert!(version["gitVersion"].as_str().unwrap().starts_with("v1."));
    let versions = raw("get --raw /api".to_owned(), Value::Null).await;
    assert_eq!(versions["versions"], json!(["v1"]));
}
