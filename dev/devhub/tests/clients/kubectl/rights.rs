//! `kubectl auth`, `certificate`, `create token`: who somebody is, and what they may.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::issue::Issued;
use jiff::Timestamp;

use crate::cluster::{Credentials, kubectl_is_there, rule};
use crate::desk::Desk;
use crate::transcript::Stage;
use crate::widgets;

#[tokio::test]
async fn can_i_answers_yes_and_no() {
    let desk = widgets::desk().await;
    let jane = desk
        .cluster
        .user(&format!("{}-jane", desk.namespace), &["readers"])
        .await;
    let rules = [
        rule(&["get", "list"], "", &["configmaps"], &[]),
        rule(
            &["update"],
            "clients.berth.test",
            &["widgets/status"],
            &["mine"],
        ),
    ];
    desk.cluster.grant_in(&desk.namespace, &jane, &rules).await;
    Stage::new(&jane, &desk.namespace).plays(r#"
$ kubectl auth can-i get configmaps
yes
$ kubectl auth can-i list cm
yes
$ kubectl auth can-i delete configmaps
no
? 1
$ kubectl auth can-i get configmaps -n default
no
? 1
$ kubectl auth can-i get configmaps -A
no
? 1
$ kubectl auth can-i get secrets
no
? 1
$ kubectl auth can-i update widgets/mine --subresource=status
yes
$ kubectl auth can-i update widgets/other --subresource=status
no
? 1
$ kubectl auth can-i update widgets.clients.berth.test/mine --subresource=status -q
$ kubectl auth can-i get nonsense
no
Warning: the server doesn't have a resource type 'nonsense'
? 1
$ kubectl auth can-i get /healthz
yes
$ kubectl auth can-i get /metrics
no
? 1
$ kubectl auth can-i get namespaces
no
Warning: resource 'namespaces' is not namespace scoped
? 1
$ kubectl auth can-i '*' '*'
no
? 1
$ kubectl auth can-i --list
Resources                                       Non-Resource URLs   Resource Names   Verbs
selfsubjectreviews.authentication.k8s.io        []                  []               [create]
selfsubjectaccessreviews.authorization.k8s.io   []                  []               [create]
selfsubjectrulesreviews.authorization.k8s.io    []                  []               [create]
configmaps                                      []                  []               [get list]
...
                                                [/api/*]            []               [get]
                                                [/api]              []               [get]
                                                [/apis/*]           []               [get]
                                                [/apis]             []               [get]
                                                [/healthz]          []               [get]
                                                [/healthz]          []               [get]
                                                [/livez]            []               [get]
                                                [/livez]            []               [get]
                                                [/openapi/*]        []               [get]
                                                [/openapi]          []               [get]
                                                [/readyz]           []               [get]
                                                [/readyz]           []               [get]
                                                [/version/]         []               [get]
                                                [/version/]         []               [get]
                                                [/version]          []               [get]
                                                [/version]          []               [get]
widgets.clients.berth.test/status               []                  [mine]           [update]
$ kubectl auth can-i get configmaps --as=somebody
Error from server (Forbidden): [..] is forbidden: User "{ns}-jane" cannot impersonate[..] resource "[..]" in API group "[..]" [..]
? 1
$ kubectl auth whoami
ATTRIBUTE                                           VALUE
Username                                            {ns}-jane
Groups                                              [readers system:authenticated]
Extra: authentication.kubernetes.io/credential-id   [X509SHA256=[..]]
$ kubectl get configmaps -o name
configmap/kube-root-ca.crt
$ kubectl get configmaps -A
Error from server (Forbidden): configmaps is forbidden: User "{ns}-jane" cannot list resource "configmaps" in API group "" at the cluster scope
? 1
$ kubectl get secrets
Error from server (Forbidden): secrets is forbidden: User "{ns}-jane" cannot list resource "secrets" in API group "" in the namespace "{ns}"
? 1
$ kubectl get secret x
Error from server (Forbidden): secrets "x" is forbidden: User "{ns}-jane" cannot get resource "secrets" in API group "" in the namespace "{ns}"
? 1
$ kubectl create configmap mine
error: failed to create configmap: configmaps is forbidden: User "{ns}-jane" cannot create resource "configmaps" in API group "" in the namespace "{ns}"
? 1
$ kubectl delete configmap kube-root-ca.crt
Error from server (Forbidden): configmaps "kube-root-ca.crt" is forbidden: User "{ns}-jane" cannot delete resource "configmaps" in API group "" in the namespace "{ns}"
? 1
$ kubectl get namespaces
Error from server (Forbidden): namespaces is forbidden: User "{ns}-jane" cannot list resource "namespaces" in API group "" at the cluster scope
? 1
$ kubectl get widgets
Error from server (Forbidden): widgets.clients.berth.test is forbidden: User "{ns}-jane" cannot list resource "widgets" in API group "clients.berth.test" in the namespace "{ns}"
? 1
$ kubectl patch widget mine --subresource=status --type=merge -p '{}'
Error from server (Forbidden): widgets.clients.berth.test "mine" is forbidden: User "{ns}-jane" cannot get resource "widgets/status" in API group "clients.berth.test" in the namespace "{ns}"
? 1
$ kubectl get configmaps --as=admin
Error from server (Forbidden): [..] is forbidden: User "{ns}-jane" cannot impersonate[..] resource "[..]" in API group "[..]" [..]
? 1
$ kubectl get configmaps --as=admin --as-group=system:masters
Error from server (Forbidden): [..] is forbidden: User "{ns}-jane" cannot impersonate[..] resource "[..]" in API group "[..]" [..]
? 1
"#)
    .await;
    desk.plays(
        r#"
$ kubectl auth can-i '*' '*'
yes
$ kubectl auth can-i get configmaps --as={ns}-jane
yes
$ kubectl auth can-i get secrets --as={ns}-jane
no
? 1
$ kubectl auth can-i get secrets --as=nobody --as-group=system:masters
yes
$ kubectl auth can-i get configmaps --as=system:serviceaccount:{ns}:default
no
? 1
$ kubectl auth whoami --as=joe --as-group=a --as-group=b --as-uid=7
ATTRIBUTE   VALUE
Username    joe
UID         7
Groups      [a b system:authenticated]
$ kubectl auth whoami -o jsonpath='{.status.userInfo.username} {.status.userInfo.groups}'
admin ["system:masters","system:authenticated"]
$ kubectl get secrets --as={ns}-jane
Error from server (Forbidden): secrets is forbidden: User "{ns}-jane" cannot list resource "secrets" in API group "" in the namespace "{ns}"
? 1
"#,
    )
    .await;
}

#[tokio::test]
async fn roles_are_reconciled_and_do_not_escalate() {
    let desk = Desk::new().await;
    let joe = desk
        .cluster
        .user(&format!("{}-joe", desk.namespace), &[])
        .await;
    let rules = [
        rule(
            &["create", "get", "update", "patch"],
            "rbac.authorization.k8s.io",
            &["roles", "rolebindings"],
            &[],
        ),
        rule(&["get"], "", &["configmaps"], &[]),
    ];
    desk.cluster.grant_in(&desk.namespace, &joe, &rules).await;
    Stage::new(&joe, &desk.namespace).plays(r#"
$ kubectl create role mine --verb=get --resource=configmaps
role.rbac.authorization.k8s.io/mine created
$ kubectl create role more --verb=get,delete --resource=secrets
Error from server (Forbidden): roles.rbac.authorization.k8s.io "more" is forbidden: user "{ns}-joe" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}
? 1
$ kubectl create rolebinding mine --role=mine --user=friend
rolebinding.rbac.authorization.k8s.io/mine created
$ kubectl create rolebinding more --clusterrole=view --user=friend
error: failed to create rolebinding: rolebindings.rbac.authorization.k8s.io "more" is forbidden: user "{ns}-joe" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:
...
? 1
$ kubectl create rolebinding lost --role=nope --user=friend
error: failed to create rolebinding: rolebindings.rbac.authorization.k8s.io "nope" not found
? 1
$ kubectl auth reconcile -f - <<EOF
{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "mine", "namespace": "{ns}"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["x"], "verbs": ["get"]}]}
EOF
role.rbac.authorization.k8s.io/mine reconciled
"#)
    .await;
}

#[tokio::test]
async fn an_aggregated_role_has_the_rules_it_selects() {
    let desk = Desk::new().await;
    if !desk.cluster.has_background_work() {
        return;
    }
    desk.plays(r#"
$ kubectl create clusterrole {ns}-sum --aggregation-rule=sum={ns}
clusterrole.rbac.authorization.k8s.io/{ns}-sum created
$ kubectl create clusterrole {ns}-part --verb=get --resource=configmaps
clusterrole.rbac.authorization.k8s.io/{ns}-part created
$ kubectl create clusterrole {ns}-other --verb=get --resource=secrets
clusterrole.rbac.authorization.k8s.io/{ns}-other created
$ kubectl label clusterrole {ns}-part sum={ns}
clusterrole.rbac.authorization.k8s.io/{ns}-part labeled
$ kubectl wait --for=jsonpath={.rules[*].resources[0]}=configmaps clusterrole/{ns}-sum --timeout=30s
clusterrole.rbac.authorization.k8s.io/{ns}-sum condition met
$ kubectl patch clusterrole {ns}-sum --type=merge -p '{"rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}]}'
clusterrole.rbac.authorization.k8s.io/{ns}-sum patched[..]
$ kubectl wait --for=jsonpath={.rules[*].resources[0]}=configmaps clusterrole/{ns}-sum --timeout=30s
clusterrole.rbac.authorization.k8s.io/{ns}-sum condition met
$ kubectl label clusterrole {ns}-part sum-
clusterrole.rbac.authorization.k8s.io/{ns}-part unlabeled
$ kubectl label clusterrole {ns}-other sum={ns}
clusterrole.rbac.authorization.k8s.io/{ns}-other labeled
$ kubectl wait --for=jsonpath={.rules[*].resources[0]}=secrets clusterrole/{ns}-sum --timeout=30s
clusterrole.rbac.authorization.k8s.io/{ns}-sum condition met
$ kubectl delete clusterrole {ns}-part {ns}-other {ns}-sum
...
"#)
    .await;
}

#[tokio::test]
async fn the_token_of_a_service_account_logs_in() {
    if !kubectl_is_there() {
        return;
    }
    let desk = Desk::new().await;
    desk.plays(r#"
$ kubectl create serviceaccount robot
serviceaccount/robot created
$ kubectl create token nope
error: failed to create token: serviceaccounts "nope" not found
? 1
$ kubectl create token robot --duration=1s
error: failed to create token: TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes
? 1
$ kubectl create token robot --duration=10m --bound-object-kind=Secret --bound-object-name=nope
error: failed to create token: secrets "nope" not found
? 1
"#)
    .await;
    let token = desk.says("create token robot --duration=20m").await;
    let credentials = Credentials::Token(token.trim().to_owned());
    let robot = desk.cluster.person("robot", &credentials).await;
    Stage::new(&robot, &desk.namespace).plays(r#"
$ kubectl auth whoami
ATTRIBUTE                                           VALUE
Username                                            system:serviceaccount:{ns}:robot
UID                                                 [..]
Groups                                              [system:serviceaccounts system:serviceaccounts:{ns} system:authenticated]
Extra: authentication.kubernetes.io/credential-id   [JTI=[..]]
$ kubectl auth can-i get configmaps
no
? 1
$ kubectl get configmaps
Error from server (Forbidden): configmaps is forbidden: User "system:serviceaccount:{ns}:robot" cannot list resource "configmaps" in API group "" in the namespace "{ns}"
? 1
"#)
    .await;
    desk.says("delete serviceaccount robot").await;
    let patience = Instant::now() + Duration::from_secs(30);
    // A real hub remembers a token for some seconds.
    while robot.kubectl(&["auth", "whoami"]).await.code == 0 {
        assert!(
            Instant::now() < patience,
            "the token of a deleted account still logs in"
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Stage::new(&robot, &desk.namespace)
        .plays(
            r#"
$ kubectl get configmaps
error: You must be logged in to the server (Unauthorized)
? 1
"#,
        )
        .await;
}

/// A request for a certificate, PEM in base64, and its key.
fn signing_request(user: &str, group: &str) -> (String, rcgen::KeyPair) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::default();
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, user);
    params
        .distinguished_name
        .push(rcgen::DnType::OrganizationName, group);
    let request = params.serialize_request(&key).unwrap();
    (STANDARD.encode(request.pem().unwrap()), key)
}

#[tokio::test]
async fn an_approved_certificate_logs_in() {
    let desk = Desk::new().await;
    let user = format!("{}-new", desk.namespace);
    let (request, key) = signing_request(&user, "newcomers");
    let stage = || desk.stage().with("request", &request);
    stage().plays(r#"
$ kubectl create -f - <<EOF
{"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "{ns}-csr"}, "spec": {"request": "{request}", "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}}
EOF
certificatesigningrequest.certificates.k8s.io/{ns}-csr created
$ kubectl get csr {ns}-csr
NAME           AGE   SIGNERNAME                            REQUESTOR   REQUESTEDDURATION   CONDITION
{ns}-csr   [..] kubernetes.io/kube-apiserver-client   admin       <none>              Pending
$ kubectl describe csr {ns}-csr
Name:               {ns}-csr
Labels:             <none>
Annotations:        <none>
CreationTimestamp:  [..]
Requesting User:    admin
Signer:             kubernetes.io/kube-apiserver-client
Status:             Pending
Subject:
         Common Name:    {ns}-new
         Serial Number:
         Organization:   newcomers
Events:  <none>
$ kubectl get csr --field-selector spec.signerName=kubernetes.io/kube-apiserver-client,metadata.name={ns}-csr -o name
certificatesigningrequest.certificates.k8s.io/{ns}-csr
$ kubectl certificate approve {ns}-csr
certificatesigningrequest.certificates.k8s.io/{ns}-csr approved
$ kubectl certificate approve {ns}-csr
certificatesigningrequest.certificates.k8s.io/{ns}-csr approved
$ kubectl certificate deny {ns}-csr
error: certificate signing request "{ns}-csr" is already Approved
? 1
$ kubectl get csr {ns}-csr -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{end}'
Approved=True KubectlApprove: This CSR was approved by kubectl certificate approve.
"#)
    .await;
    if !kubectl_is_there() || !desk.cluster.has_background_work() {
        return;
    }
    stage().plays(r#"
$ kubectl wait --for=jsonpath={.status.certificate} csr/{ns}-csr --timeout=30s
certificatesigningrequest.certificates.k8s.io/{ns}-csr condition met
$ kubectl get csr {ns}-csr
NAME           AGE   SIGNERNAME                            REQUESTOR   REQUESTEDDURATION   CONDITION
{ns}-csr   [..] kubernetes.io/kube-apiserver-client   admin       <none>              Approved,Issued
$ kubectl patch csr {ns}-csr --subresource=status --type=merge -p '{"status":{"certificate":"eA=="}}'
...
* status.certificate: Forbidden: updates may not modify existing certificate content
? 1
"#)
    .await;
    let csr = format!(
        "get csr {}-csr -o jsonpath={{.status.certificate}}",
        desk.namespace
    );
    let certificate = desk.says(&csr).await;
    let issued = Issued {
        certificate_pem: String::from_utf8(STANDARD.decode(certificate).unwrap()).unwrap(),
        key_pem: key.serialize_pem(),
        ca_pem: String::new(),
        not_before: Timestamp::now(),
        not_after: Timestamp::now(),
    };
    let newcomer = desk
        .cluster
        .person(&user, &Credentials::Certificate(issued))
        .await;
    Stage::new(&newcomer, &desk.namespace)
        .plays(
            r#"
$ kubectl auth whoami -o jsonpath='{.status.userInfo.username} {.status.userInfo.groups}'
{ns}-new ["newcomers","system:authenticated"]
"#,
        )
        .await;
}

#[tokio::test]
async fn a_denied_certificate_is_not_signed() {
    let desk = Desk::new().await;
    let (request, _) = signing_request("intruder", "intruders");
    desk.stage().with("request", &request).plays(r#"
$ kubectl create -f - <<EOF
{"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "{ns}-csr"}, "spec": {"request": "{request}", "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"], "expirationSeconds": 86400}}
EOF
certificatesigningrequest.certificates.k8s.io/{ns}-csr created
$ kubectl certificate deny {ns}-csr
certificatesigningrequest.certificates.k8s.io/{ns}-csr denied
$ kubectl get csr {ns}-csr
NAME           AGE   SIGNERNAME                            REQUESTOR   REQUESTEDDURATION   CONDITION
{ns}-csr   [..] kubernetes.io/kube-apiserver-client   admin       24h                 Denied
$ kubectl certificate approve {ns}-csr
error: certificate signing request "{ns}-csr" is already Denied
? 1
$ kubectl certificate approve nope
Error from server (NotFound): certificatesigningrequests.certificates.k8s.io "nope" not found
? 1
$ kubectl get csr {ns}-csr -o jsonpath={.status.certificate}
$ kubectl create -f - <<EOF
{"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "{ns}-csr-bad"}, "spec": {"request": "bm9uc2Vuc2U=", "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}}
EOF
The CertificateSigningRequest "{ns}-csr-bad" is invalid: spec.request: Invalid value: "bm9uc2Vuc2U=": PEM block type must be CERTIFICATE REQUEST
? 1
$ kubectl create -f - <<EOF
{"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "{ns}-csr-bad"}, "spec": {"request": "{request}", "signerName": "nonsense", "usages": ["client auth"]}}
EOF
The CertificateSigningRequest "{ns}-csr-bad" is invalid: spec.signerName: Invalid value: "nonsense": must be a fully qualified domain and path of the form 'example.com/signer-name'
? 1
$ kubectl create -f - <<EOF
{"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "{ns}-csr-bad"}, "spec": {"request": "{request}", "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["nonsense"]}}
EOF
The CertificateSigningRequest "{ns}-csr-bad" is invalid: spec.usages[0]: Unsupported value: "nonsense": supported values: "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"
? 1
$ kubectl create -f - <<EOF
{"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "{ns}-csr-bad"}, "spec": {"request": "{request}", "signerName": "kubernetes.io/kube-apiserver-client"}}
EOF
The CertificateSigningRequest "{ns}-csr-bad" is invalid: spec.usages: Required value
? 1
"#)
    .await;
}
