//! ConversionReviews that are invalid, too large, or made to take memory.

use berth_api::crds::CONVERSION_PATH;
use berth_testkit::in_process::metric;
use berth_testkit::{Gate, post};
use serde_json::{Value, json};

use super::memory::{Peak, limited};
use crate::serving::conversion::{addon, review};

/// The memory for large bodies and what is made of them, in KiB.
const BUDGET: usize = 64 * 1024;

/// What a response may contain of a request.
const ECHOED: usize = 4096;

fn with_status(status: &str) -> String {
    let mut object = addon();
    object["status"] = json!("put it here");
    review(&json!([object])).replace("\"put it here\"", status)
}

#[tokio::test]
async fn what_is_too_large_or_invalid_fails_with_the_uid() {
    let gate = Gate::with_files(&[]);
    let mut invalid = addon();
    invalid["spec"]["installNamespace"] = json!(1);
    for (object, outcome, message) in [
        (
            invalid,
            "failed",
            "ManagedClusterAddOn \"c1/a\": spec.installNamespace: expected a string, found a number",
        ),
        // Each brace may become an object, so that the gate does not begin.
        (
            json!({"x": vec![json!({}); 1_000_000]}),
            "undecided",
            "too many large reviews at once: this is not a denial, try again",
        ),
        (
            json!({"x": "x".repeat(7 << 20)}),
            "failed",
            "request entity is too large; limit is 7340032 bytes",
        ),
    ] {
        let line = format!(r#"berth_conversion_reviews_total{{kind="",outcome="{outcome}"}}"#);
        let before = metric(&gate.metrics().await, &line);
        let answer = gate.review(CONVERSION_PATH, review(&json!([object]))).await;
        let expected = json!({
            "uid": "u1",
            "convertedObjects": [],
            "result": {"status": "Failure", "message": message},
        });
        assert_eq!(answer["response"], expected);
        let after = metric(&gate.metrics().await, &line);
        assert!(after > before, "{message}");
    }
}

/// As for reviews, what a body may take is bounded before it is decoded.
#[tokio::test]
async fn no_conversion_takes_more_than_the_memory_of_large_bodies() {
    let many = |item: &str, bytes: usize| {
        let items = vec![item; bytes / (item.len() + 1)].join(",");
        format!("[{items}]")
    };
    let full = (7 << 20) - 1024;
    for (sentence, body) in [
        (
            "registrations",
            with_status(&format!(r#"{{"registrations":{}}}"#, many("{}", 600_000))),
        ),
        (
            "registrations at the API server",
            with_status(&format!(
                r#"{{"kubeClientDriver":"token","registrations":{}}}"#,
                many(
                    r#"{"signerName":"kubernetes.io/kube-apiserver-client"}"#,
                    3 << 20
                )
            )),
        ),
        (
            "configs",
            with_status(&format!(
                r#"{{"configReferences":{}}}"#,
                many(r#"{"name":""}"#, 1 << 20)
            )),
        ),
        (
            "fields",
            with_status(&format!(
                "{{{}}}",
                (0..80_000)
                    .map(|i| format!(r#""{i}":0"#))
                    .collect::<Vec<_>>()
                    .join(",")
            )),
        ),
        (
            "text",
            with_status(&format!(r#"{{"x":"{}"}}"#, "x".repeat(full))),
        ),
        (
            "deep nesting",
            with_status(&format!(
                r#"{{"x":{}{}}}"#,
                "[".repeat(full / 2),
                "]".repeat(full / 2)
            )),
        ),
    ] {
        let gate = limited();
        let peak = Peak::begin(&gate);
        let answer = gate.send(post(CONVERSION_PATH, body.clone())).await;
        // As a text: the nesting is too deep for a client here.
        let end = br#""result":{"status":"Success"}}}"#;
        assert!(answer.body().ends_with(end), "{sentence}");
        let grown = peak.grown();
        eprintln!("{sentence}: {} KiB become {grown} KiB", body.len() / 1024);
        assert!(grown < BUDGET, "{sentence}: {grown} KiB");
    }
}

#[tokio::test]
async fn a_failed_conversion_repeats_little_of_its_request() {
    let gate = Gate::with_files(&[]);
    let long = "\u{7f}".repeat(1 << 20);
    let with = |change: fn(&mut Value, &str)| {
        let mut object = addon();
        change(&mut object, &long);
        review(&json!([object]))
    };
    for body in [
        with(|object, long| object["kind"] = json!(long)),
        with(|object, long| object["apiVersion"] = json!(long)),
        with(|object, long| {
            object["metadata"] = json!({"name": long, "annotations": 1, "namespace": long})
        }),
        with(|object, long| object["spec"] = json!({long: 1, "installNamespace": {long: 1}})),
        review(&json!([long])),
        long.clone(),
    ] {
        let answer = gate.review(CONVERSION_PATH, body).await;
        assert_eq!(answer["response"]["result"]["status"], "Failure");
        assert!(answer.to_string().len() < ECHOED, "{answer}");
    }
}
