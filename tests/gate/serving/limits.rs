//! More reviews at once than the gate accepts: the gate asks the excess callers to retry.

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_webhooks::Limits;
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use berth_testkit::in_process::{Client, Held, Setup, connect};
use berth_testkit::reviews::{PATH, UID, asking};
use berth_testkit::{post, response};

#[tokio::test]
async fn a_thousand_reviews_too_many_are_told_to_come_again() {
    const LIMIT: usize = 50;
    const TOO_MANY: usize = 1006;
    // No connection may have more requests at the same time.
    const EACH: usize = 16;
    let held = Held::new();
    let limits = Limits {
        reviews: LIMIT,
        ..Limits::default()
    };
    let server = Setup {
        limits,
        answerer: Arc::clone(&held) as _,
        ..Setup::default()
    }
    .start()
    .await;
    let client = Client {
        alpn: &["h2"],
        ..Client::trusting(server.authority.certificate_pem())
    };
    let mut answers = JoinSet::new();
    for connection in 0..(LIMIT + TOO_MANY) / EACH {
        let io = TokioIo::new(connect(server.address, client.config()).await.unwrap());
        let (sender, driver) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
            .await
            .unwrap();
        tokio::spawn(driver);
        for i in 0..EACH {
            let mut sender = sender.clone();
            answers.spawn(async move {
                let uid = format!("{connection}-{i}");
                let mut request = post(
                    &format!("https://localhost{PATH}"),
                    asking().replace(UID, &uid),
                );
                request.headers_mut().remove("host");
                let answer = sender.send_request(request).await.unwrap();
                assert_eq!(answer.status(), 200);
                let answer = answer.into_body().collect().await.unwrap().to_bytes();
                let answer: Value = serde_json::from_slice(&answer).unwrap();
                assert_eq!(response(&answer)["uid"], uid);
                answer
            });
        }
    }
    for _ in 0..TOO_MANY {
        let answer = answers.join_next().await.unwrap().unwrap();
        let response = response(&answer);
        assert_eq!(
            response["status"],
            json!({
                "status": "Failure",
                "code": 429,
                "reason": "TooManyRequests",
                "message": "more than 50 reviews are being decided: this is not a denial, try again",
                "details": {"retryAfterSeconds": 1},
            })
        );
        assert_eq!(
            response["auditAnnotations"],
            json!({"outcome": "undecided", "reason": "too-busy"})
        );
    }
    // The others wait for their answer, and get it.
    let in_flight = format!("controller_runtime_webhook_requests_in_flight{{webhook=\"{PATH}\"}}");
    assert_eq!(server.metric(&in_flight), LIMIT as f64);
    held.let_go();
    while let Some(answer) = answers.join_next().await {
        assert_eq!(response(&answer.unwrap())["allowed"], true);
    }
    assert_eq!(server.metric(&in_flight), 0.0);
    assert_eq!(
        response(&server.review(PATH, asking()).await)["allowed"],
        true
    );
}

#[tokio::test]
async fn a_question_that_is_not_answered_in_time_is_no_denial() {
    let server = Setup {
        answerer: Held::new(),
        ..Setup::default()
    }
    .start()
    .await;
    let begun = Instant::now();
    let answer = server.review(&format!("{PATH}?timeout=1s"), asking()).await;
    let took = begun.elapsed();
    assert!(
        took > Duration::from_millis(850) && took < Duration::from_secs(2),
        "{took:?}"
    );
    let status = &response(&answer)["status"];
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&500.into(), &"InternalError".into())
    );
    assert_eq!(status["details"], json!({"retryAfterSeconds": 1}));
    let message = "cannot decide whether user \"bob\" may update or create managedclusters/accept.register.open-cluster-management.io \
                   \"c1\": no answer from the hub within 0.9s: this is not a denial, try again";
    assert_eq!(status["message"], message);
}
