//! Checks responses, so that a server with wrong responses does not look fast.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::client::Answer;

/// The expected verdict of a response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Expect {
    /// `allowed` must be true.
    Allowed,
    /// `allowed` must be false, as a decision.
    Denied,
    /// Any verdict.
    Any,
}

/// The verdict of a response.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Verdict {
    Allowed,
    Denied,
    /// Not allowed with a code that means undecided: 429, or 500 and above.
    Undecided,
}

/// The fault of a failed call.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    /// The connection or the handshake failed.
    Connect,
    /// The connection broke, or the response was not HTTP.
    Call,
    /// No response in time.
    Timeout,
    /// An HTTP status other than 200; from an API server, a status that is not a webhook's denial.
    Status,
    /// Status 200, but no AdmissionReview with a response.
    Malformed,
    /// The response to another request.
    Uid,
    /// Not the expected verdict.
    Verdict,
    /// The API server got no response from a webhook.
    Webhook,
}

/// Faults by kind, each with the message of the first.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(crate) struct Faults(pub(crate) BTreeMap<Fault, Counted>);

#[derive(Debug, Serialize)]
pub(crate) struct Counted {
    pub(crate) count: u64,
    pub(crate) first: String,
}

/// Checks the responses of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checker {
    /// The last correct response, by the remainder of the request's index. The same request usually gets the same bytes except for the
    /// uid, and comparing is cheaper than parsing.
    right: Vec<Option<Right>>,
}

/// Number of correct responses to keep.
const KEPT: usize = 1024;

#[derive(Clone, Debug)]
struct Right {
    request: usize,
    body: Vec<u8>,
    /// The position of the uid; `None` if any uid is accepted.
    uid_at: Option<usize>,
    verdict: Verdict,
}

#[derive(Deserialize)]
struct Review<'a> {
    #[serde(borrow)]
    response: Response<'a>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
    allowed: bool,
    status: Option<Status>,
}

#[derive(Deserialize)]
struct Status {
    code: Option<i64>,
}

// === impl Expect ===

impl Expect {
    /// Returns whether this verdict is as expected.
    pub(crate) fn permits(self, verdict: Verdict) -> bool {
        match self {
            Self::Any => true,
            Self::Allowed => verdict == Verdict::Allowed,
            Self::Denied => verdict == Verdict::Denied,
        }
    }
}

impl FromStr for Expect {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match text {
            "allowed" => Ok(Self::Allowed),
            "denied" => Ok(Self::Denied),
            "any" => Ok(Self::Any),
            other => anyhow::bail!("{other:?} must be allowed, denied or any"),
        }
    }
}

// === impl Verdict ===

impl Verdict {
    /// Returns the verdict of a webhook's response.
    fn of(allowed: bool, code: Option<i64>) -> Self {
        match code {
            _ if allowed => Self::Allowed,
            Some(429 | 500..) => Self::Undecided,
            _ => Self::Denied,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Undecided => "not decided",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "failed to connect",
            Self::Call => "broke off",
            Self::Timeout => "timed out",
            Self::Status => "with a wrong status",
            Self::Malformed => "malformed",
            Self::Uid => "with another uid",
            Self::Verdict => "with an unexpected verdict",
            Self::Webhook => "failed between API server and webhook",
        })
    }
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
    /// Checks the response to the request with this index and uid; without a uid, any is accepted.
    ///
    /// # Errors
    /// The fault, and a message.
    pub(crate) fn check(
        &mut self,
        request: usize,
        uid: Option<&[u8]>,
        expect: Expect,
        answer: &Answer,
    ) -> Result<Verdict, (Fault, String)> {
        if answer.status != 200 {
            let words = format!("status {}: {}", answer.status, beginning(&answer.body, 200));
            return Err((Fault::Status, words));
        }
        if self.right.is_empty() {
            self.right.resize(KEPT, None);
        }
        let right = &mut self.right[request % KEPT];
        if let Some(right) = right
            && right.request == request
            && right.is(&answer.body, uid)
        {
            return Ok(right.verdict);
        }
        let Review { response } = serde_json::from_slice(&answer.body).map_err(|error| {
            let words = format!("not an AdmissionReview with a response: {error}");
            (Fault::Malformed, words)
        })?;
        if let Some(uid) = uid.filter(|uid| *uid != response.uid.as_bytes()) {
            let asked = String::from_utf8_lossy(uid);
            let words = format!(
                "uid {:?} instead of {asked:?}; --any-uid accepts any",
                response.uid
            );
            return Err((Fault::Uid, words));
        }
        let code = response.status.and_then(|status| status.code);
        let verdict = Verdict::of(response.allowed, code);
        if !expect.permits(verdict) {
            let words = format!("{verdict}, see --expect: {}", beginning(&answer.body, 1000));
            return Err((Fault::Verdict, words));
        }
        let uid_at = match (uid, &response.uid) {
            (None, _) => None,
            // The slice of the body gives the position.
            (Some(_), Cow::Borrowed(text)) => {
                Some((text.as_ptr() as usize).saturating_sub(answer.body.as_ptr() as usize))
            }
            // A uid with escapes: such a response is parsed each time.
            (Some(_), Cow::Owned(_)) => return Ok(verdict),
        };
        *right = Some(Right {
            request,
            body: answer.body.clone(),
            uid_at,
            verdict,
        });
        Ok(verdict)
    }
}

impl Right {
    /// Returns whether a body is the same except for the uid, which must be this one.
    fn is(&self, body: &[u8], uid: Option<&[u8]>) -> bool {
        match (self.uid_at, uid) {
            (Some(at), Some(uid)) => {
                let end = at + uid.len();
                body.len() == self.body.len()
                    && body.get(at..end) == Some(uid)
                    && body[..at] == self.body[..at]
                    && body[end..] == self.body[end..]
            }
            _ => body == self.body,
        }
    }
}

/// Returns the beginning of a body, for messages.
fn beginning(body: &[u8], characters: usize) -> String {
    let body = String::from_utf8_lossy(body);
    body.chars().take(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer {
            status,
            body: body.into(),
            close: false,
        }
    }

    #[test]
    fn each_answer_counts_as_what_it_is() {
        let allowed = r#"{"kind":"AdmissionReview","response":{"uid":"u1","allowed":true}}"#;
        let denied = r#"{ "response": { "allowed": false, "uid": "u1" } }"#;
        let busy = r#"{"response":{"uid":"u1","allowed":false,"status":{"code":429}}}"#;
        let other =
            r#"{"response":{"uid":"u2","allowed":true,"status":{"message":"\"uid\":\"u1\""}}}"#;
        let escaped = r#"{"response":{"uid":"\u0075\u0031","allowed":true}}"#;
        let (u1, any) = (Some(&b"u1"[..]), None);
        use Expect::{Allowed, Any, Denied};
        let right = |verdict| Ok::<_, Fault>(verdict);
        let rows = [
            (
                "as asked",
                u1,
                Allowed,
                200,
                allowed,
                right(Verdict::Allowed),
            ),
            (
                "a denial, in another order",
                u1,
                Denied,
                200,
                denied,
                right(Verdict::Denied),
            ),
            (
                "a denial where any will do",
                u1,
                Any,
                200,
                denied,
                right(Verdict::Denied),
            ),
            (
                "what is undecided is counted apart",
                u1,
                Any,
                200,
                busy,
                right(Verdict::Undecided),
            ),
            (
                "a uid with escapes",
                u1,
                Any,
                200,
                escaped,
                right(Verdict::Allowed),
            ),
            (
                "another uid where any will do",
                any,
                Allowed,
                200,
                other,
                right(Verdict::Allowed),
            ),
            (
                "another uid, ours in the message only",
                u1,
                Any,
                200,
                other,
                Err(Fault::Uid),
            ),
            (
                "denied, not allowed",
                u1,
                Allowed,
                200,
                denied,
                Err(Fault::Verdict),
            ),
            (
                "allowed, not denied",
                u1,
                Denied,
                200,
                allowed,
                Err(Fault::Verdict),
            ),
            (
                "undecided is no denial",
                u1,
                Denied,
                200,
                busy,
                Err(Fault::Verdict),
            ),
            (
                "right, but a 500",
                u1,
                Allowed,
                500,
                allowed,
                Err(Fault::Status),
            ),
            ("nothing", any, Any, 200, "", Err(Fault::Malformed)),
            (
                "a review without a response",
                any,
                Any,
                200,
                "{}",
                Err(Fault::Malformed),
            ),
        ];
        for (case, uid, expect, status, body, verdict) in rows {
            let mut checker = Checker::default();
            let answer = answer(status, body);
            for _ in 0..2 {
                let found = checker.check(7, uid, expect, &answer);
                assert_eq!(found.map_err(|(fault, _)| fault), verdict, "{case}");
            }
        }
    }

    #[test]
    fn a_right_answer_does_not_make_the_next_one_right() {
        let first = r#"{"response":{"uid":"u1","allowed":true,"auditAnnotations":{"a":"u1"}}}"#;
        let mut checker = Checker::default();
        let mut check = |request: usize, uid: &str, body: &str| {
            let found = checker.check(
                request,
                Some(uid.as_bytes()),
                Expect::Allowed,
                &answer(200, body),
            );
            found.map_err(|(fault, _)| fault)
        };
        assert_eq!(check(1, "u1", first), Ok(Verdict::Allowed));
        let fresh = first.replace(r#""uid":"u1""#, r#""uid":"u2""#);
        assert_eq!(
            check(1, "u2", &fresh),
            Ok(Verdict::Allowed),
            "the uid alone is another"
        );
        assert_eq!(check(1, "u3", &fresh), Err(Fault::Uid), "an old response");
        let elsewhere = first.replace(r#":"u1"}"#, r#":"u3"}"#);
        assert_eq!(
            check(1, "u3", &elsewhere),
            Err(Fault::Uid),
            "the uid elsewhere"
        );
        let denied = fresh.replace("true", "false");
        assert_eq!(check(1, "u2", &denied), Err(Fault::Verdict));
        assert_eq!(
            check(1 + KEPT, "u2", &fresh),
            Ok(Verdict::Allowed),
            "its place is taken"
        );
        assert_eq!(check(1, "u1", first), Ok(Verdict::Allowed));
    }
}
