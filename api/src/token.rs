//! Tokens of service accounts: when the next one is due.

use std::time::Duration;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

/// Whether a token can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The next one is due.
    Due,
    /// It is good.
    Fresh {
        /// When the next one is due.
        renew_at: Timestamp,
        /// When it ends.
        expires: Timestamp,
    },
}

/// The claims of a token, as far as they are read.
#[derive(Deserialize)]
struct Claims {
    iat: i64,
    exp: i64,
    #[serde(rename = "kubernetes.io")]
    kubernetes: Kubernetes,
}

#[derive(Deserialize)]
struct Kubernetes {
    serviceaccount: Account,
}

#[derive(Deserialize)]
struct Account {
    uid: String,
}

/// Judges a token by its claims. It is due with a fifth of its lifetime left, and if it is of another account with the same name.
///
/// `uid`: of the account; `None` if it is not known now.
#[must_use]
pub fn judge(token: &[u8], uid: Option<&str>, now: Timestamp) -> Standing {
    let Some(claims) = claims(token) else {
        return Standing::Due;
    };
    let time = |seconds| Timestamp::from_second(seconds).ok();
    let (Some(issued), Some(expires)) = (time(claims.iat), time(claims.exp)) else {
        return Standing::Due;
    };
    let is_of_another = uid.is_some_and(|uid| uid != claims.kubernetes.serviceaccount.uid);
    let total = expires.duration_since(issued).max(SignedDuration::ZERO);
    let left = Duration::try_from(total / 5).unwrap_or_default();
    let renew_at = expires.checked_sub(left).unwrap_or(issued);
    if is_of_another || now >= renew_at {
        return Standing::Due;
    }
    Standing::Fresh { renew_at, expires }
}

fn claims(token: &[u8]) -> Option<Claims> {
    let payload = token.split(|byte| *byte == b'.').nth(1)?;
    let json = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
    serde_json::from_slice(&json).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn token(claims: &Value) -> Vec<u8> {
        let payload = BASE64_URL_SAFE_NO_PAD.encode(claims.to_string());
        format!("head.{payload}.signature").into_bytes()
    }

    #[test]
    fn a_token_is_renewed_with_a_fifth_of_its_lifetime_left() {
        let good = token(&json!({
            "iat": 1000, "exp": 2000, "kubernetes.io": {"serviceaccount": {"name": "x", "uid": "1"}},
        }));
        let fresh = Standing::Fresh {
            renew_at: at(1800),
            expires: at(2000),
        };
        for (sentence, token, uid, now, expected) in [
            ("fresh", &good[..], Some("1"), 1799, fresh),
            ("nobody knows the account", &good, None, 1799, fresh),
            ("a fifth is left", &good, Some("1"), 1800, Standing::Due),
            ("expired", &good, None, 3000, Standing::Due),
            ("another account", &good, Some("2"), 1001, Standing::Due),
            ("nothing", b"", None, 1001, Standing::Due),
            ("not a token", b"a.b.c", None, 1001, Standing::Due),
            ("no claims", &token(&json!({})), None, 1001, Standing::Due),
        ] {
            assert_eq!(judge(token, uid, at(now)), expected, "{sentence}");
        }
    }
}
