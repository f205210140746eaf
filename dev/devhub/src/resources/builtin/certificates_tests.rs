#![allow(clippy::unwrap_used, reason = "tests")]

use rcgen::{CertificateParams, KeyPair};

use super::*;

fn pem_request() -> String {
    let request = CertificateParams::default().serialize_request(&KeyPair::generate().unwrap());
    request.unwrap().pem().unwrap()
}

fn csr(spec: Value, status: Value) -> Object {
    Object::try_from(json!({ "metadata": { "name": "c" }, "spec": spec, "status": status }))
        .unwrap()
}

fn good_spec() -> Value {
    json!({
        "request": BASE64_STANDARD.encode(pem_request()),
        "signerName": CLIENT_SIGNER,
        "usages": ["client auth"],
    })
}

/// The message without its beginning, and without the request itself.
fn words(errors: &[FieldError]) -> String {
    if errors.is_empty() {
        return String::new();
    }
    let error = ApiError::invalid(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        "c",
        errors,
    );
    let start = r#"CertificateSigningRequest.certificates.k8s.io "c" is invalid: "#;
    error.message.strip_prefix(start).unwrap().to_owned()
}

#[test]
fn a_spec_is_checked_when_it_is_created() {
    let with = |field: &str, value: Value| {
        let mut spec = good_spec();
        spec[field] = value;
        spec
    };
    let rows = [
        ("good", good_spec(), ""),
        ("ten minutes", with("expirationSeconds", json!(600)), ""),
        (
            "another domain",
            with("signerName", json!("example.com/path.with.dots")),
            "",
        ),
        (
            "no request",
            with("request", json!("eAo=")),
            r#"spec.request: Invalid value: "eAo=": PEM block type must be CERTIFICATE REQUEST"#,
        ),
        (
            "no usages",
            with("usages", json!([])),
            "spec.usages: Required value",
        ),
        (
            "the same usage twice",
            with("usages", json!(["client auth", "client auth"])),
            r#"spec.usages[1]: Duplicate value: "client auth""#,
        ),
        (
            "an unknown usage",
            with("usages", json!(["flying"])),
            r#"spec.usages[0]: Unsupported value: "flying": supported values: "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping""#,
        ),
        (
            "no signer",
            with("signerName", json!("")),
            "spec.signerName: Required value",
        ),
        (
            "the legacy signer",
            with("signerName", json!(LEGACY_SIGNER)),
            r#"spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version"#,
        ),
        (
            "a signer with three parts",
            with("signerName", json!("kub.io/a/b")),
            r#"spec.signerName: Invalid value: "kub.io/a/b": must be a fully qualified domain and path of the form 'example.com/signer-name'"#,
        ),
        (
            "a signer whose domain has no dot",
            with("signerName", json!("a/b")),
            r#"spec.signerName: Invalid value: "a/b": should be a domain with at least two segments separated by dots"#,
        ),
        (
            "a short time",
            with("expirationSeconds", json!(599)),
            "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
        ),
    ];
    for (sentence, spec, expected) in rows {
        assert_eq!(
            words(&spec_errors(&csr(spec, json!({})))),
            expected,
            "{sentence}"
        );
    }
}

#[test]
fn conditions_are_decisions() {
    let rows = [
        (json!([{ "type": "Approved", "status": "True" }]), ""),
        (json!([{ "type": "Other", "status": "Unknown" }]), ""),
        (
            json!([{ "type": "Approved", "status": "False" }]),
            r#"status.conditions[0].status: Unsupported value: "False": supported values: "True""#,
        ),
        (
            json!([{ "type": "Denied" }]),
            "status.conditions[0].status: Required value",
        ),
        (
            json!([{ "status": "True" }]),
            "status.conditions[0].type: Required value",
        ),
        (
            json!([{ "type": "Approved", "status": "True" }, { "type": "Denied", "status": "True" }]),
            r#"status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive"#,
        ),
        (
            json!([{ "type": "Approved", "status": "True" }, { "type": "Approved", "status": "True" }]),
            r#"status.conditions[1].type: Duplicate value: "Approved""#,
        ),
        (
            json!([{ "type": "Foo", "status": "Maybe" }]),
            r#"status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown""#,
        ),
    ];
    for (conditions, expected) in rows {
        let csr = csr(json!({}), json!({ "conditions": conditions }));
        assert_eq!(words(&condition_errors(&csr)), expected);
    }
}

#[test]
fn each_part_of_the_status_has_its_entrance() {
    let of = |types: &[&str], certificate: &str| {
        let conditions: Vec<_> = types
            .iter()
            .map(|r#type| json!({ "type": r#type, "status": "True" }))
            .collect();
        csr(
            json!({}),
            json!({ "conditions": conditions, "certificate": certificate }),
        )
    };
    let rows = [
        (
            "approval approves",
            "approval",
            of(&[], ""),
            of(&["Approved"], ""),
            "",
        ),
        (
            "approval signs nothing",
            "approval",
            of(&[], ""),
            of(&[], "eA=="),
            "status.certificate: Forbidden: updates may not set certificate content",
        ),
        (
            "no decision is taken back",
            "approval",
            of(&["Approved"], ""),
            of(&["Denied"], ""),
            r#"status.conditions: Forbidden: updates may not remove a condition of type "Approved""#,
        ),
        (
            "status signs",
            "status",
            of(&["Approved"], ""),
            of(&["Approved"], "eA=="),
            "",
        ),
        (
            "status signs once",
            "status",
            of(&[], "eA=="),
            of(&[], "eB=="),
            "status.certificate: Forbidden: updates may not modify existing certificate content",
        ),
        (
            "status approves nothing",
            "status",
            of(&[], ""),
            of(&["Approved"], ""),
            r#"status.conditions: Forbidden: updates may not add a condition of type "Approved""#,
        ),
        (
            "status fails",
            "status",
            of(&[], ""),
            of(&["Failed"], ""),
            "",
        ),
        (
            "a failure stays",
            "status",
            of(&["Failed"], ""),
            of(&[], ""),
            r#"status.conditions: Forbidden: updates may not remove a condition of type "Failed""#,
        ),
    ];
    for (sentence, subresource, old, new, expected) in rows {
        assert_eq!(
            words(&change_errors(&new, &old, subresource)),
            expected,
            "{sentence}"
        );
    }
}

#[test]
fn a_new_certificate_is_one() {
    let old = csr(json!({}), json!({}));
    let certificate = |pem: &str| {
        csr(
            json!({}),
            json!({ "certificate": BASE64_STANDARD.encode(pem) }),
        )
    };
    let day = std::time::Duration::from_secs(86_400);
    let ca = berth_certs::issue::Authority::new("ca", day, Timestamp::now()).unwrap();
    let rows = [
        (ca.certificate_pem().to_owned(), ""),
        (
            "x".to_owned(),
            r#"status.certificate: Invalid value: "<certificate data>": must be CERTIFICATE PEM blocks, and at least one"#,
        ),
        (
            pem_request(),
            r#"status.certificate: Invalid value: "<certificate data>": must be CERTIFICATE PEM blocks, and at least one"#,
        ),
    ];
    for (pem, expected) in rows {
        let errors: Vec<_> = certificate_error(&certificate(&pem), &old)
            .into_iter()
            .collect();
        assert_eq!(words(&errors), expected);
    }
}

#[test]
fn times_are_filled_in_and_kept() {
    let now: Timestamp = "2026-07-01T12:00:00Z".parse().unwrap();
    let old = csr(
        json!({}),
        json!({ "conditions": [{ "type": "A", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" }] }),
    );
    let mut new = csr(
        json!({}),
        json!({ "conditions": [{ "type": "A", "status": "True" }, { "type": "B", "status": "True" }] }),
    );
    set_times(&mut new, &old, now);
    let time = |index: usize, field: &str| conditions(&new)[index][field].clone();
    assert_eq!(time(0, "lastUpdateTime"), "2026-07-01T12:00:00Z");
    assert_eq!(time(0, "lastTransitionTime"), "2026-01-01T00:00:00Z");
    assert_eq!(time(1, "lastTransitionTime"), "2026-07-01T12:00:00Z");
}

#[test]
fn a_decision_is_not_reworded_through_the_status() {
    let old = csr(
        json!({}),
        json!({ "conditions": [{ "type": "Approved", "status": "True", "message": "by me" }] }),
    );
    let mut new = csr(
        json!({}),
        json!({ "conditions": [{ "type": "Other", "status": "True" }, { "type": "Approved", "status": "True", "message": "by others" }] }),
    );
    keep_decisions(&mut new, &old);
    assert_eq!(conditions(&new)[1]["message"], "by me");
}
