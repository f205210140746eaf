//! The suite counts faults: a suite that counts nothing would find nothing.

use std::time::Duration;

use serde_json::{Value, json};

use crate::faults::calls::mix;
use crate::faults::load::{Load, Manner};
use crate::faults::served::Served;
use crate::faults::tally::{CallFailure, CallOutcome, Tally};
use berth_testkit::{eventually, when};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_a_gate_that_is_stopped_or_killed_have_failed() {
    let served = Served::start().await;
    let manner = Manner {
        patience: Duration::from_secs(1),
        ..Manner::default()
    };
    let load = Load::start(served.target(), manner);
    load.go_on(50).await;
    assert_eq!(load.so_far().failed(), 0, "{:?}", load.so_far());
    served.gate.signal("STOP");
    until(&load, CallFailure::Late).await;
    served.gate.signal("KILL");
    until(&load, CallFailure::Connect).await;
    load.stop().await;
}

async fn until(load: &Load, failure: CallFailure) {
    eventually(&format!("a call that is {failure:?}"), async || {
        when(load.so_far(), |it| it.failed.contains_key(&failure))
    })
    .await;
}

#[test]
fn an_answer_is_right_or_undecided_or_has_failed() {
    let undecided = json!({
        "allowed": false,
        "status": {
            "status": "Failure", "code": 500, "reason": "InternalError",
            "message": "cannot decide x: this is not a denial, try again",
            "details": { "retryAfterSeconds": 1 },
        },
        "auditAnnotations": { "outcome": "undecided" },
    });
    let vague = json!({ "allowed": false, "status": { "code": 500, "reason": "InternalError" } });
    let denied = json!({ "allowed": false, "status": { "code": 403, "reason": "Forbidden" } });
    let allowed = json!({ "allowed": true });
    let other_uid = json!({ "allowed": true, "uid": "another" });
    let left_away = json!({ "allowed": true, "warnings": ["not put: cannot find out whether"] });
    // By the mix: the first is allowed without a question, the second with one, the fourth is defaulted, the fifth denied.
    for (sentence, call, response, expected) in [
        ("allowed, as is right", 0, &allowed, "decided"),
        ("allowed, as is right", 1, &allowed, "decided"),
        ("denied, as is right", 4, &denied, "decided"),
        ("denied, who may", 1, &denied, "Wrong"),
        ("allowed, who may not", 4, &allowed, "Wrong"),
        ("not defaulted", 3, &allowed, "Wrong"),
        ("not defaulted, and why", 3, &left_away, "undecided"),
        ("undecided", 1, &undecided, "undecided"),
        ("undecided", 4, &undecided, "undecided"),
        ("undecided without a question", 0, &undecided, "Wrong"),
        ("undecided without a word", 1, &vague, "Wrong"),
        ("an answer to another call", 0, &other_uid, "Invalid"),
    ] {
        let mut response = response.clone();
        if response["uid"] == Value::Null {
            response["uid"] = "uid".into();
        }
        let answer = json!({
            "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response,
        });
        let outcome = mix()[call].judge("uid", answer.to_string().as_bytes());
        let found = match &outcome {
            CallOutcome::Decided => "decided".to_owned(),
            CallOutcome::Undecided => "undecided".to_owned(),
            CallOutcome::Failed(how, _) => format!("{how:?}"),
        };
        assert_eq!(found, expected, "{sentence}: {outcome:?}");
        let mut tally = Tally::default();
        tally.count(outcome, Duration::ZERO);
        let fails = !["decided", "undecided"].contains(&expected);
        assert_eq!(tally.failed(), u64::from(fails), "{sentence}");
    }
    let nonsense = mix()[0].judge("uid", b"<html>");
    assert!(matches!(
        nonsense,
        CallOutcome::Failed(CallFailure::Invalid, _)
    ));
}
