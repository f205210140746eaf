//! CertificateSigningRequests: what is wrong with them, and who may decide and sign.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use berth_certs::issue::Authority;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cluster::rule;
use crate::desk::Desk;
use crate::wire::exchange::exchanges;

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// A request for a client certificate of this group.
fn request(name: &str, group: &str) -> Value {
    let mut params = rcgen::CertificateParams::default();
    params
        .distinguished_name
        .push(rcgen::DnType::OrganizationName, group);
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "agent");
    let pem = params
        .serialize_request(&rcgen::KeyPair::generate().unwrap())
        .unwrap();
    json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": { "name": name },
        "spec": { "request": STANDARD.encode(pem.pem().unwrap()), "signerName": SIGNER, "usages": ["client auth"] },
    })
}

#[tokio::test]
async fn a_spec_is_checked() {
    let desk = Desk::new().await;
    desk.creates(
        REQUESTS,
        &request("x", "agents"),
        r#"
{"spec": {"expirationSeconds": 600}}
= fine
{"spec": {"signerName": "example.com/path.with.dots"}}
= fine
{"spec": {"request": "eAo="}}
= spec.request: Invalid value: "eAo=": PEM block type must be CERTIFICATE REQUEST
{"spec": {"usages": []}}
= spec.usages: Required value
{"spec": {"usages": ["client auth", "client auth"]}}
= spec.usages[1]: Duplicate value: "client auth"
{"spec": {"signerName": ""}}
= spec.signerName: Required value
{"spec": {"signerName": "kubernetes.io/legacy-unknown"}}
= spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version
{"spec": {"signerName": "kub.io/a/b"}}
= spec.signerName: Invalid value: "kub.io/a/b": must be a fully qualified domain and path of the form 'example.com/signer-name'
{"spec": {"signerName": "a/b"}}
= spec.signerName: Invalid value: "a[..]": should be a domain with at least two segments separated by dots
{"spec": {"expirationSeconds": 599}}
= spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)
"#,
    )
    .await;
}

#[tokio::test]
async fn decisions_stay_and_each_part_of_the_status_has_its_path() {
    let desk = Desk::new().await;
    let name = format!("{}-csr", desk.namespace);
    desk.admin
        .post(REQUESTS, &request(&name, "agents"))
        .await
        .unwrap()
        .ok();
    let path = |part: &str| format!("{REQUESTS}/{name}/{part}");
    desk.changes(&path("approval"), r#"
{"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
= fine
{"status": {"conditions": [{"type": "Other", "status": "Unknown"}]}}
= fine
{"status": {"conditions": [{"type": "Approved", "status": "False"}]}}
= status.conditions[0].status: Unsupported value: "False": supported values: "True"
{"status": {"conditions": [{"type": "Denied"}]}}
= status.conditions[0].status: Required value
{"status": {"conditions": [{"status": "True"}]}}
= status.conditions[0].type: Required value
{"status": {"conditions": [{"type": "Approved", "status": "True"}, {"type": "Denied", "status": "True"}]}}
= status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive
{"status": {"conditions": [{"type": "Approved", "status": "True"}, {"type": "Approved", "status": "True"}]}}
= status.conditions[1].type: Duplicate value: "Approved"
{"status": {"conditions": [{"type": "Foo", "status": "Maybe"}]}}
= status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"
{"status": {"certificate": "eA=="}}
= fine
"#)
    .await;
    desk.changes(
        &path("status"),
        r#"
{"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
= status.conditions: Forbidden: updates may not add a condition of type "Approved"
{"status": {"conditions": [{"type": "Failed", "status": "True"}]}}
= fine
{"status": {"certificate": "eA=="}}
= status.certificate: Invalid value: "<certificate data>": must [..]
"#,
    )
    .await;
    let day = Duration::from_secs(24 * 3600);
    let authority = Authority::new("ca", day, Timestamp::now()).unwrap();
    let row = json!({ "status": { "certificate": STANDARD.encode(authority.certificate_pem()) } });
    desk.changes(&path("status"), &format!("{row}\n= fine"))
        .await;
    let approve = json!({ "status": { "conditions": [{ "type": "Approved", "status": "True", "message": "by me" }, { "type": "Failed", "status": "True" }] } });
    let approved = desk.admin.merge(&path("approval"), &approve).await.unwrap();
    let condition = &approved.ok()["status"]["conditions"][0];
    assert!(condition["lastUpdateTime"].is_string() && condition["lastTransitionTime"].is_string());
    desk.changes(
        &path("approval"),
        r#"
{"status": {"conditions": [{"type": "Denied", "status": "True"}]}}
= [status.conditions: Forbidden: updates may not remove a condition of type "Approved", status.conditions: Forbidden: updates may not remove a condition of type "Failed"]
"#,
    )
    .await;
    desk.changes(
        &path("status"),
        r#"
{"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
= status.conditions: Forbidden: updates may not remove a condition of type "Failed"
"#,
    )
    .await;
    let reworded = json!({ "status": { "conditions": [{ "type": "Approved", "status": "True", "message": "by others" }, { "type": "Failed", "status": "True" }] } });
    let kept = desk.admin.merge(&path("status"), &reworded).await.unwrap();
    assert_eq!(kept.ok()["status"]["conditions"][0]["message"], "by me");
    let spec = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "signerName": "example.com/other" } });
    let kept = desk
        .admin
        .merge(&format!("{REQUESTS}/{name}"), &spec)
        .await
        .unwrap();
    assert_eq!(kept.ok()["spec"]["signerName"], SIGNER);
    assert_eq!(kept.ok()["metadata"]["labels"]["a"], "b");
}

#[tokio::test]
async fn a_signer_decides_and_signs_by_its_own_right() {
    let desk = Desk::new().await;
    let name = format!("{}-csr", desk.namespace);
    let joe = format!("{}-joe", desk.namespace);
    let person = desk.cluster.user(&joe, &[]).await;
    let group = "certificates.k8s.io";
    let verbs = ["create", "get", "update", "patch"];
    let parts = [
        "certificatesigningrequests",
        "certificatesigningrequests/approval",
        "certificatesigningrequests/status",
    ];
    let rules = parts.map(|part| rule(&verbs, group, &[part], &[]));
    desk.cluster.grant(&person, &rules).await;
    let masters = person
        .post(REQUESTS, &request(&name, "system:masters"))
        .await
        .unwrap();
    assert_eq!(
        masters.refused(403, "Forbidden"),
        format!(
            "certificatesigningrequests.certificates.k8s.io \"{name}\" is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"
        )
    );
    let mut stolen = request(&name, "agents");
    stolen["spec"]["username"] = "another".into();
    stolen["status"] = json!({ "certificate": "eA==" });
    let created = person.post(REQUESTS, &stolen).await.unwrap();
    assert_eq!(created.ok()["spec"]["username"], joe.as_str());
    assert_eq!(
        created.ok()["spec"]["groups"],
        json!(["system:authenticated"])
    );
    assert_eq!(created.ok()["status"], json!({}));
    let decide = r#"
PATCH /apis/certificates.k8s.io/v1/certificatesigningrequests/{ns}-csr/approval
Content-Type: application/merge-patch+json

{"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
"#
    .replace("{ns}", &desk.namespace);
    let refused = r#"= 403 Forbidden: certificatesigningrequests.certificates.k8s.io "{ns}-csr" is forbidden: user not permitted to approve requests with signerName "kubernetes.io/kube-apiserver-client"
  group=certificates.k8s.io kind=certificatesigningrequests name={ns}-csr
"#;
    exchanges(
        &person,
        format!("{decide}{}", refused.replace("{ns}", &desk.namespace)),
    )
    .await;
    let approve = rule(&["approve"], group, &["signers"], &["kubernetes.io/*"]);
    desk.cluster.grant(&person, &[approve]).await;
    exchanges(
        &person,
        format!("{decide}= 200 CertificateSigningRequest\n"),
    )
    .await;
    let status = format!("{REQUESTS}/{name}/status?dryRun=All");
    let failed = json!({ "status": { "conditions": [{ "type": "Approved", "status": "True" }, { "type": "Failed", "status": "True" }] } });
    let refused = person.merge(&status, &failed).await.unwrap();
    assert_eq!(
        refused.refused(403, "Forbidden"),
        format!(
            "certificatesigningrequests.certificates.k8s.io \"{name}\" is forbidden: user not permitted to sign requests with signerName \"kubernetes.io/kube-apiserver-client\""
        )
    );
    desk.admin.merge(&status, &failed).await.unwrap().ok();
}
