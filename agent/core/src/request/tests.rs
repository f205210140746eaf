use std::time::Duration;

use berth_certs::csr::{Csr, Usage};
use berth_certs::issue::Authority;

use super::*;
use crate::identity::Identity;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn at(hours: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + hours * 3600).unwrap()
}

/// The PEM of `spec.request`.
pub(crate) fn pem_of(request: &Value) -> String {
    let encoded = request["spec"]["request"].as_str().unwrap();
    String::from_utf8(BASE64_STANDARD.decode(encoded).unwrap()).unwrap()
}

/// Signs a request, as the hub's signer does.
pub(crate) fn sign(authority: &Authority, pem: &str, validity: Duration, now: Timestamp) -> String {
    let csr = Csr::from_pem(pem.as_bytes()).unwrap();
    let usages = [
        Usage::DigitalSignature,
        Usage::KeyEncipherment,
        Usage::ClientAuth,
    ];
    authority.sign(&csr, &usages, validity, now).unwrap()
}

#[test]
fn the_request_is_that_of_ocms_agent_but_for_its_name() {
    let key = ClientKey::generate().unwrap();
    let wanted = |seconds| Asked::of_cluster(&Identity::new("c1", "a1").unwrap(), seconds);
    let made = body("c1-ab", &wanted(None), &key).unwrap();
    assert_eq!(
        made["metadata"],
        json!({
            "name": "c1-ab",
            "labels": {"open-cluster-management.io/cluster-name": "c1"},
        })
    );
    assert_eq!(
        made["spec"]["signerName"],
        "kubernetes.io/kube-apiserver-client"
    );
    assert_eq!(
        made["spec"]["usages"],
        json!(["digital signature", "key encipherment", "client auth"])
    );
    assert_eq!(made["spec"].get("expirationSeconds"), None);
    let made = body("c1-ab", &wanted(Some(3600)), &key).unwrap();
    assert_eq!(made["spec"]["expirationSeconds"], 3600);
}

#[test]
fn each_answer_of_the_hub_is_judged() {
    let (key, other_key) = (
        ClientKey::generate().unwrap(),
        ClientKey::generate().unwrap(),
    );
    let wanted = |agent| Asked::of_cluster(&Identity::new("c1", agent).unwrap(), None);
    let (asked, other) = (wanted("a1"), wanted("a2"));
    let authority = Authority::new("hub", 10 * DAY, at(-48)).unwrap();
    let signed = |asked: &Asked, key: &ClientKey, from: i64| {
        let pem = pem_of(&body("n", asked, key).unwrap());
        BASE64_STANDARD.encode(sign(&authority, &pem, DAY, at(from)))
    };
    let condition = |type_: &str| {
        json!({
            "type": type_, "status": "True", "message": "why", "lastTransitionTime": at(-1).to_string(),
        })
    };
    let approved = |certificate: String| json!({"status": {"conditions": [condition("Approved")], "certificate": certificate}});
    let wrongly = |why| Request::IssuedWrongly { why, at: at(-1) };
    for (sentence, stored, expected) in [
        ("new", json!({}), Request::Pending),
        ("null", json!({"status": {}}), Request::Pending),
        (
            "approved",
            json!({"status": {"conditions": [condition("Approved")]}}),
            Request::Unsigned,
        ),
        ("empty", approved(String::new()), Request::Unsigned),
        ("issued", approved(signed(&asked, &key, 0)), Request::Issued),
        (
            "issued by an early clock",
            approved(signed(&asked, &key, 5)),
            Request::Issued,
        ),
        (
            "expired",
            approved(signed(&asked, &key, -30)),
            wrongly(Fault::Expired),
        ),
        (
            "another key",
            approved(signed(&asked, &other_key, 0)),
            wrongly(Fault::OtherKey),
        ),
        (
            "another name",
            approved(signed(&other, &key, 0)),
            wrongly(Fault::OtherSubject),
        ),
        (
            "a chain without its first certificate",
            approved(BASE64_STANDARD.encode(authority.certificate_pem())),
            wrongly(Fault::OtherKey),
        ),
        (
            "not a certificate",
            approved("?".to_owned()),
            wrongly(Fault::Unreadable),
        ),
        (
            "denied",
            json!({"status": {"conditions": [condition("Denied")]}}),
            Request::Denied {
                message: "why".to_owned(),
                at: at(-1),
            },
        ),
        (
            "failed",
            json!({"status": {"conditions": [condition("Approved"), condition("Failed")]}}),
            Request::Failed {
                message: "why".to_owned(),
                at: at(-1),
            },
        ),
    ] {
        let stored: StoredRequest = serde_json::from_value(stored).unwrap();
        assert_eq!(stored.judge(&asked, &key, at(0)), expected, "{sentence}");
    }
}
