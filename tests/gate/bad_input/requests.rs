//! HTTP requests that an API server would not send: by size, content type, method and path.

use berth_api::crds::CONVERSION_PATH;
use berth_review::Webhook;
use berth_webhooks::LARGEST_BODY;
use berth_webhooks::shipped;
use http::{HeaderName, Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};

use berth_testkit::reviews::{PATH, UID, text};
use berth_testkit::{Gate, post, response};

#[tokio::test]
async fn bodies_of_seven_mebibytes_are_refused() {
    let gate = Gate::with_files(&[]);
    let of_size = |size: usize| {
        let text = text();
        let (review, end) = text.trim_end().split_at(text.trim_end().len() - 1);
        format!("{review}{}{end}", " ".repeat(size - review.len() - 1))
    };
    for (size, code) in [
        (LARGEST_BODY - 1, 200),
        (LARGEST_BODY, 413),
        (LARGEST_BODY + 1, 413),
        (3 * LARGEST_BODY, 413),
    ] {
        let body = of_size(size);
        assert_eq!(body.len(), size);
        let answer = gate.review(PATH, body).await;
        let response = response(&answer);
        assert_eq!(response["uid"], UID, "{size}");
        assert_eq!(response["status"]["code"], code, "{size}");
        if code == 413 {
            assert_eq!(response["status"]["reason"], "RequestEntityTooLarge");
            assert_eq!(
                response["status"]["message"],
                "request entity is too large; limit is 7340032 bytes"
            );
            assert_eq!(
                response["auditAnnotations"],
                json!({"outcome": "malformed", "reason": "too-large"})
            );
        }
        assert_eq!(
            gate.review(PATH, text()).await["response"]["allowed"],
            true,
            "after {size}"
        );
    }
}

#[tokio::test]
async fn the_content_type_is_json_to_the_letter() {
    let gate = Gate::with_files(&[]);
    for content_type in [
        "text/plain",
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
        "",
    ] {
        let mut request = post(PATH, text());
        request.headers_mut().insert(
            HeaderName::from_static("content-type"),
            content_type.parse().unwrap(),
        );
        let answer = gate.send(request).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let answer: Value = serde_json::from_slice(answer.body()).unwrap();
        assert_eq!(response(&answer)["uid"], UID);
        assert_eq!(response(&answer)["status"]["code"], 400);
        assert_eq!(response(&answer)["status"]["reason"], "BadRequest");
        assert_eq!(
            response(&answer)["status"]["message"],
            format!("contentType={content_type}, expected application/json")
        );
    }
}

#[tokio::test]
async fn other_methods_and_paths_are_told_what_there_is() {
    let gate = Gate::with_files(&[]);
    for method in ["GET", "PUT", "DELETE", "BREW"] {
        let request = Request::builder()
            .method(method)
            .uri(PATH)
            .header("host", "localhost");
        let answer = gate.send(request.body(Full::default()).unwrap()).await;
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
        assert_eq!(answer.headers()["allow"], "POST", "{method}");
        let text = format!("{method} is not served here: POST an AdmissionReview\n");
        assert_eq!(answer.body(), text.as_bytes());
    }
    let request = Request::get(CONVERSION_PATH).header("host", "localhost");
    let answer = gate.send(request.body(Full::default()).unwrap()).await;
    assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
    let expected = "GET is not served here: POST a ConversionReview\n";
    assert_eq!(answer.body(), expected.as_bytes());
    for path in [
        "/",
        "/validate",
        "/validate-cluster-open-cluster-management-io-v1-managedcluster/",
        "/%0a%1b[31m",
    ] {
        let answer = gate.send(post(path, text())).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
        let paths = Webhook::ALL.map(|webhook| shipped(webhook).path).join("\n");
        let text = format!(
            "nothing is served under {path:?}; the webhooks are:\n{paths}\n{CONVERSION_PATH}\n"
        );
        assert_eq!(answer.body(), text.as_bytes());
    }
    assert_eq!(gate.review(PATH, text()).await["response"]["allowed"], true);
}
