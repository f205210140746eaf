//! Is an answer the right one? A server that is fast because it answers something else must not look fast.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::client::Answer;

/// What the answers should say.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum Expect {
    /// `allowed` must be true
    Allowed,
    /// `allowed` must be false
    Denied,
    /// Either will do
    Any,
}

/// How a call can go wrong; each failed call counts as one of these.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    /// No connection, or no handshake.
    Connect,
    /// The connection broke, or what came was not HTTP.
    Call,
    /// No answer in time.
    Timeout,
    /// An HTTP status other than 200.
    Status,
    /// Status 200, but no AdmissionReview with a response.
    Malformed,
    /// The answer to some other request.
    Uid,
    /// Allowed where a denial was expected, or the other way round.
    Allowed,
}

/// Faults by kind, each with the words of its first.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(crate) struct Faults(pub(crate) BTreeMap<Fault, Counted>);

#[derive(Debug, Serialize)]
pub(crate) struct Counted {
    pub(crate) count: u64,
    pub(crate) first: String,
}

/// Checks the answers of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Checker {
    uid: Option<String>,
    expect: Expect,
    /// The last body found right. The same request mostly gets the same bytes, and comparing costs less than parsing.
    right: Vec<u8>,
}

#[derive(Deserialize)]
struct Review {
    response: Response,
}

#[derive(Deserialize)]
struct Response {
    uid: String,
    allowed: bool,
}

// === impl Faults ===

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault, words: String) {
        self.0
            .entry(fault)
            .or_insert(Counted {
                count: 0,
                first: words,
            })
            .count += 1;
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (fault, Counted { count, first }) in other.0 {
            self.0
                .entry(fault)
                .or_insert(Counted { count: 0, first })
                .count += count;
        }
    }
}

// === impl Checker ===

impl Checker {
    /// A checker that wants this uid in each answer, or any when there is none.
    pub(crate) fn new(uid: Option<String>, expect: Expect) -> Self {
        Self {
            uid,
            expect,
            right: Vec::new(),
        }
    }

    /// # Errors
    /// What is wrong with the answer, and in words.
    pub(crate) fn check(&mut self, answer: &Answer) -> Result<(), (Fault, String)> {
        if answer.status != 200 {
            let body = String::from_utf8_lossy(&answer.body);
            let body: String = body.chars().take(200).collect();
            return Err((Fault::Status, format!("status {}: {body}", answer.status)));
        }
        if !self.right.is_empty() && self.right == answer.body {
            return Ok(());
        }
        let Review { response } = serde_json::from_slice(&answer.body).map_err(|error| {
            (
                Fault::Malformed,
                format!("not an answered AdmissionReview: {error}"),
            )
        })?;
        if let Some(uid) = self.uid.as_ref().filter(|uid| **uid != response.uid) {
            return Err((
                Fault::Uid,
                format!(
                    "uid {:?} where {uid:?} was asked; --any-uid takes any",
                    response.uid
                ),
            ));
        }
        if matches!(
            (self.expect, response.allowed),
            (Expect::Allowed, false) | (Expect::Denied, true)
        ) {
            let body = String::from_utf8_lossy(&answer.body);
            let body: String = body.chars().take(1000).collect();
            return Err((
                Fault::Allowed,
                format!("allowed is {}, see --expect: {body}", response.allowed),
            ));
        }
        self.right.clone_from(&answer.body);
        Ok(())
    }
}

/// The uid of the request in a review.
///
/// # Errors
/// When the body is no AdmissionReview, or has none.
pub(crate) fn request_uid(body: &[u8]) -> Result<String> {
    #[derive(Deserialize)]
    struct Asked {
        request: Request,
    }
    #[derive(Deserialize)]
    struct Request {
        uid: String,
    }
    let asked: Asked = serde_json::from_slice(body)
        .context("the body is no AdmissionReview with a request.uid to look for in the answers; --any-uid does without")?;
    Ok(asked.request.uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_answer_counts_as_what_is_wrong_with_it() {
        let allowed = r#"{"kind":"AdmissionReview","response":{"uid":"u1","allowed":true}}"#;
        let denied = r#"{ "response": { "allowed": false, "uid": "u1" } }"#;
        let other =
            r#"{"response":{"uid":"u2","allowed":true,"status":{"message":"\"uid\":\"u1\""}}}"#;
        let rows: [(&str, Option<&str>, Expect, u16, &str, Option<Fault>); 10] = [
            ("as asked", Some("u1"), Expect::Allowed, 200, allowed, None),
            (
                "a denial, spaced and in another order",
                Some("u1"),
                Expect::Denied,
                200,
                denied,
                None,
            ),
            (
                "a denial where any will do",
                Some("u1"),
                Expect::Any,
                200,
                denied,
                None,
            ),
            (
                "another uid where any will do",
                None,
                Expect::Allowed,
                200,
                other,
                None,
            ),
            (
                "another uid, ours in the message only",
                Some("u1"),
                Expect::Any,
                200,
                other,
                Some(Fault::Uid),
            ),
            (
                "denied, not allowed",
                Some("u1"),
                Expect::Allowed,
                200,
                denied,
                Some(Fault::Allowed),
            ),
            (
                "allowed, not denied",
                Some("u1"),
                Expect::Denied,
                200,
                allowed,
                Some(Fault::Allowed),
            ),
            (
                "right, but a 500",
                Some("u1"),
                Expect::Allowed,
                500,
                allowed,
                Some(Fault::Status),
            ),
            (
                "nothing",
                None,
                Expect::Any,
                200,
                "",
                Some(Fault::Malformed),
            ),
            (
                "a review without a response",
                None,
                Expect::Any,
                200,
                "{}",
                Some(Fault::Malformed),
            ),
        ];
        for (case, uid, expect, status, body, fault) in rows {
            let mut checker = Checker::new(uid.map(str::to_owned), expect);
            let answer = Answer {
                status,
                body: body.into(),
                close: false,
            };
            let first = checker.check(&answer).err().map(|(fault, _)| fault);
            let again = checker.check(&answer).err().map(|(fault, _)| fault);
            assert_eq!((first, again), (fault, fault), "{case}");
        }
    }

    #[test]
    fn a_right_answer_does_not_make_the_next_one_right() {
        let answer = |body: &str| Answer {
            status: 200,
            body: body.into(),
            close: false,
        };
        let mut checker = Checker::new(Some("u1".into()), Expect::Allowed);
        checker
            .check(&answer(r#"{"response":{"uid":"u1","allowed":true}}"#))
            .unwrap();
        let (fault, words) = checker
            .check(&answer(r#"{"response":{"uid":"u2","allowed":true}}"#))
            .unwrap_err();
        assert_eq!(
            (fault, words.contains(r#"uid "u2" where "u1" was asked"#)),
            (Fault::Uid, true),
            "{words}"
        );
    }

    #[test]
    fn the_uid_is_the_requests_not_the_objects() {
        let body = br#"{"request":{"object":{"metadata":{"uid":"o"}},"uid":"r"}}"#;
        assert_eq!(request_uid(body).unwrap(), "r");
        assert!(
            request_uid(b"{}")
                .unwrap_err()
                .to_string()
                .contains("--any-uid")
        );
    }
}
