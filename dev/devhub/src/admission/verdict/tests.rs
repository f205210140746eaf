use bytes::Bytes;
use serde_json::json;

use super::*;

const HOOK: &str = "hook.example.com";

fn answer(code: u16, media_type: &str, body: impl Into<Bytes>) -> Answer {
    Answer {
        code: StatusCode::from_u16(code).expect("a code"),
        media_type: media_type.to_owned(),
        body: body.into(),
    }
}

fn review(response: Value) -> Answer {
    let review = json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response,
    });
    answer(200, "application/json", review.to_string())
}

fn read_v1(answer: &Answer, mutating: bool) -> Result<Verdict, String> {
    read(HOOK, answer, "u", mutating)
}

#[test]
fn an_allowed_write_comes_with_patch_and_warnings() {
    let patch = r#"[{"op":"add","path":"/a","value":1}]"#;
    let answer = review(json!({
        "uid": "u", "allowed": true, "patchType": "JSONPatch", "patch": BASE64_STANDARD.encode(patch),
        "warnings": ["w"], "auditAnnotations": { "a": "b" },
    }));
    let verdict = read_v1(&answer, true).expect("it is fine");
    assert_eq!(verdict.outcome, Ok(()));
    assert_eq!(verdict.warnings, ["w"]);
    assert_eq!(
        (verdict.patch.as_slice(), &*verdict.patch_type),
        (patch.as_bytes(), "JSONPatch")
    );
}

#[test]
fn a_denial_says_who_denied_and_is_an_error() {
    let rows = [
        (
            json!(null),
            400,
            "",
            "admission webhook \"hook.example.com\" denied the request without explanation",
        ),
        (
            json!({}),
            400,
            "",
            "admission webhook \"hook.example.com\" denied the request without explanation",
        ),
        (
            json!({ "code": 403, "reason": "Forbidden", "message": "no" }),
            403,
            "Forbidden",
            "admission webhook \"hook.example.com\" denied the request: no",
        ),
        (
            json!({ "code": 200, "reason": "Because" }),
            400,
            "Because",
            "admission webhook \"hook.example.com\" denied the request: Because",
        ),
        (
            json!({ "code": 1_000_000, "message": "x" }),
            500,
            "",
            "admission webhook \"hook.example.com\" denied the request: x",
        ),
        (
            json!({ "code": -3, "message": "x" }),
            400,
            "",
            "admission webhook \"hook.example.com\" denied the request: x",
        ),
    ];
    for (status, code, reason, message) in rows {
        let answer = review(json!({ "uid": "u", "status": status }));
        let verdict = read_v1(&answer, false).expect("it is a verdict");
        let denial = verdict.outcome.expect_err(message);
        assert_eq!(
            (denial.code.as_u16(), &*denial.reason),
            (code, reason),
            "{status}"
        );
        assert_eq!(denial.message, message);
    }
}

#[test]
fn a_denial_keeps_its_details() {
    let answer = review(json!({ "uid": "u", "status": {
        "code": 500, "reason": "InternalError", "message": "m",
        "details": { "retryAfterSeconds": 3, "causes": [{ "reason": "r", "message": "m", "field": "f" }] },
    }}));
    let verdict = read_v1(&answer, false).expect("it is a verdict");
    let status = verdict.outcome.expect_err("denied").status();
    assert_eq!(
        status["details"],
        json!({ "retryAfterSeconds": 3, "causes": [{ "reason": "r", "message": "m", "field": "f" }] })
    );
}

#[test]
fn what_is_no_proper_answer_is_a_failed_call() {
    let expected = "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview";
    let patch = BASE64_STANDARD.encode("[]");
    let rows = [
        (review(json!(null)), true, "received invalid webhook response: webhook response was absent".to_owned()),
        (
            review(json!({ "allowed": true })),
            true,
            "received invalid webhook response: expected response.uid=\"u\", got \"\"".to_owned(),
        ),
        (
            answer(200, "", r#"{"response":{"uid":"u","allowed":true}}"#),
            true,
            format!("{expected}, got , Kind="),
        ),
        (
            review(json!({ "uid": "u", "allowed": true, "patch": patch })),
            true,
            "received invalid webhook response: webhook returned response.patch but not response.patchType".to_owned(),
        ),
        (
            review(json!({ "uid": "u", "allowed": true, "patchType": "JSONPatch" })),
            true,
            "received invalid webhook response: webhook returned response.patchType but not response.patch".to_owned(),
        ),
        (
            review(json!({ "uid": "u", "allowed": true, "patch": patch, "patchType": "" })),
            true,
            "received invalid webhook response: webhook returned invalid response.patchType of \"\"".to_owned(),
        ),
        (
            review(json!({ "uid": "u", "allowed": true, "patch": patch })),
            false,
            "received invalid webhook response: validating webhook may not return response.patch".to_owned(),
        ),
        (
            review(json!({ "uid": "u", "allowed": true, "patchType": "JSONPatch" })),
            false,
            "received invalid webhook response: validating webhook may not return response.patchType".to_owned(),
        ),
        (
            answer(503, "application/json", r#"{"kind":"Status","status":"Failure","message":"busy"}"#),
            false,
            "failed to call webhook: busy".to_owned(),
        ),
    ];
    for (answer, mutating, expected) in rows {
        assert_eq!(
            read_v1(&answer, mutating).map(drop),
            Err(expected),
            "{answer:?}"
        );
    }
    for answer in [
        answer(200, "application/json", ""),
        answer(200, "text/html", "<html>"),
        answer(
            200,
            "",
            r#"{"kind":"Status","apiVersion":"v1","status":"Failure"}"#,
        ),
        answer(500, "text/plain", "broken\n"),
        answer(302, "text/html", ""),
    ] {
        let error = read_v1(&answer, false).map(drop).expect_err("no review");
        assert!(error.starts_with("failed to call webhook: the "), "{error}");
    }
}

#[test]
fn types_are_checked() {
    for response in [
        json!({ "uid": "u", "allowed": "true" }),
        json!({ "uid": "u", "allowed": true, "warnings": "w" }),
        json!({ "uid": "u", "allowed": true, "auditAnnotations": { "a": 1 } }),
    ] {
        let error = read_v1(&review(response.clone()), true).expect_err("a wrong type");
        assert!(
            error.starts_with("failed to call webhook: "),
            "{response}: {error}"
        );
    }
}
