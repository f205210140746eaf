//! Tokens of service accounts: their content and their validity.
//!
//! A token is valid while its account (with the same uid) exists, and also the Secret that it is bound to, if any. devhub makes
//! no tokens in Secrets, which would not expire.

use jiff::Timestamp;
use ring::error::Unspecified;
use serde::{Deserialize, Serialize};

use super::jwt::Key as SigningKey;
use super::{AUDIENCE, CREDENTIAL_ID};
use crate::object::Object;
use crate::storage::{Key as ObjectKey, Store};
use crate::user::User;

/// How far clocks may differ, in seconds.
const LEEWAY: i64 = 60;

/// A name and a uid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reference {
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// The claims of a token that expires.
#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    aud: Vec<String>,
    exp: i64,
    iat: i64,
    iss: String,
    jti: String,
    #[serde(rename = "kubernetes.io")]
    kubernetes: Bound,
    nbf: i64,
    sub: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Bound {
    namespace: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<Reference>,
    serviceaccount: Reference,
}

/// A token, as [`issue`] is asked for it.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) account: &'a Object,
    pub(crate) audiences: &'a [String],
    pub(crate) seconds: i64,
    pub(crate) secret: Option<Reference>,
}

/// Makes a token that expires.
pub(super) fn issue(
    key: &SigningKey,
    wanted: &Wanted<'_>,
    now: Timestamp,
) -> Result<String, Unspecified> {
    let (namespace, name) = (wanted.account.namespace(), wanted.account.name());
    let now = now.as_second();
    key.sign(&Claims {
        aud: wanted.audiences.to_vec(),
        exp: now.saturating_add(wanted.seconds),
        iat: now,
        iss: AUDIENCE.to_owned(),
        jti: uuid::Uuid::new_v4().to_string(),
        kubernetes: Bound {
            namespace: namespace.to_owned(),
            secret: wanted.secret.clone(),
            serviceaccount: Reference {
                name: name.to_owned(),
                uid: wanted.account.uid().to_owned(),
            },
        },
        nbf: now,
        sub: format!("system:serviceaccount:{namespace}:{name}"),
    })
}

/// The user of a token, and the wanted audiences that it is for; `None` if this key did not sign it.
///
/// # Errors
/// It is a token of this key, and does not count (any more): why, in kube-apiserver's words.
pub(super) fn user(
    key: &SigningKey,
    store: &Store,
    token: &str,
    audiences: &[String],
    now: Timestamp,
) -> Result<Option<(User, Vec<String>)>, String> {
    let Some(claims) = key.open::<Claims>(token) else {
        return Ok(None);
    };
    check_time(&claims, now.as_second())?;
    let (token_audiences, bound) = (claims.aud, claims.kubernetes);
    let wanted = token_audiences
        .iter()
        .filter(|audience| audiences.contains(audience));
    let wanted: Vec<_> = wanted.cloned().collect();
    if wanted.is_empty() {
        return Err(format!(
            "token audiences {} is invalid for the target audiences {}",
            quoted(&token_audiences),
            quoted(audiences)
        ));
    }
    check_bound(store, &bound)?;
    let Bound {
        namespace,
        serviceaccount: Reference { name, uid },
        ..
    } = bound;
    let groups = [
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
    ];
    let id = (
        CREDENTIAL_ID.to_owned(),
        vec![format!("JTI={}", claims.jti)],
    );
    let user = User {
        name: format!("system:serviceaccount:{namespace}:{name}"),
        uid,
        groups: groups.into(),
        extra: [id].into(),
    };
    Ok(Some((user, wanted)))
}

fn check_time(claims: &Claims, now: i64) -> Result<(), String> {
    let refuse = |words: &str| Err(format!("service account token {words}"));
    if now.saturating_sub(LEEWAY) > claims.exp {
        return refuse("has expired");
    }
    if now.saturating_add(LEEWAY) < claims.nbf {
        return refuse("is not valid yet");
    }
    Ok(())
}

fn check_bound(store: &Store, bound: &Bound) -> Result<(), String> {
    let account = &bound.serviceaccount;
    let stored = store.get(&ObjectKey::new(
        "serviceaccounts",
        &bound.namespace,
        &account.name,
    ));
    let Some(stored) = stored else {
        return Err(format!("serviceaccounts {:?} not found", account.name));
    };
    let uid = stored.object.uid();
    if uid != account.uid {
        return Err(format!(
            "service account UID ({uid}) does not match claim ({})",
            account.uid
        ));
    }
    let Some(secret) = &bound.secret else {
        return Ok(());
    };
    let stored = store.get(&ObjectKey::new("secrets", &bound.namespace, &secret.name));
    let Some(stored) = stored else {
        return Err("service account token has been invalidated".to_owned());
    };
    let uid = stored.object.uid();
    if uid != secret.uid {
        return Err(format!(
            "secret UID ({uid}) does not match service account secret ref claim ({})",
            secret.uid
        ));
    }
    Ok(())
}

/// As Go prints a list of strings.
fn quoted(list: &[String]) -> String {
    let list: Vec<_> = list.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", list.join(" "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use jiff::ToSpan;
    use serde_json::json;

    use super::*;

    fn object(resource: &str, name: &str, uid: &str) -> (ObjectKey, Object) {
        let value = json!({ "metadata": { "namespace": "ci", "name": name, "uid": uid } });
        (
            ObjectKey::new(resource, "ci", name),
            Object::try_from(value).unwrap(),
        )
    }

    #[test]
    fn a_token_counts_while_its_account_and_its_secret_are_there() {
        let now: Timestamp = "2026-07-01T12:00:00Z".parse().unwrap();
        let signing = SigningKey::generate().unwrap();
        let (bot, account) = object("serviceaccounts", "bot", "u1");
        let (bound, secret) = object("secrets", "bound", "s1");
        let wanted = |audience: &str, secret: Option<&str>| {
            let secret = secret.map(|uid| Reference {
                name: "bound".to_owned(),
                uid: uid.to_owned(),
            });
            let audiences = [audience.to_owned()];
            let wanted = Wanted {
                account: &account,
                audiences: &audiences,
                seconds: 600,
                secret,
            };
            issue(&signing, &wanted, now).unwrap()
        };
        let plain = wanted(AUDIENCE, None);
        let ours = [AUDIENCE.to_owned()];
        let full = || {
            let store = Store::new(10);
            store.create(&bot, account.clone()).unwrap();
            store.create(&bound, secret.clone()).unwrap();
            store
        };
        let other = || {
            let store = Store::new(10);
            let (key, object) = object("serviceaccounts", "bot", "u2");
            store.create(&key, object).unwrap();
            let (key, object) = self::object("secrets", "bound", "s2");
            store.create(&key, object).unwrap();
            store
        };
        let without_secret = || {
            let store = Store::new(10);
            store.create(&bot, account.clone()).unwrap();
            store
        };
        let seconds = |seconds: i64| now.checked_add(seconds.seconds()).unwrap();
        let rows = [
            ("at once", full(), &plain, now, Ok(true)),
            (
                "to the last second, and a minute of leeway",
                full(),
                &plain,
                seconds(660),
                Ok(true),
            ),
            (
                "then no more",
                full(),
                &plain,
                seconds(661),
                Err("service account token has expired"),
            ),
            (
                "an hour ago",
                full(),
                &plain,
                seconds(-3600),
                Err("service account token is not valid yet"),
            ),
            (
                "no account",
                Store::new(10),
                &plain,
                now,
                Err(r#"serviceaccounts "bot" not found"#),
            ),
            (
                "an account that was made anew",
                other(),
                &plain,
                now,
                Err("service account UID (u2) does not match claim (u1)"),
            ),
            (
                "for somebody else",
                full(),
                &wanted("vault", None),
                now,
                Err(
                    r#"token audiences ["vault"] is invalid for the target audiences ["https://kubernetes.default.svc"]"#,
                ),
            ),
            (
                "bound",
                full(),
                &wanted(AUDIENCE, Some("s1")),
                now,
                Ok(true),
            ),
            (
                "bound to a secret that is gone",
                without_secret(),
                &wanted(AUDIENCE, Some("s1")),
                now,
                Err("service account token has been invalidated"),
            ),
            (
                "bound to a secret that was made anew",
                full(),
                &wanted(AUDIENCE, Some("s0")),
                now,
                Err("secret UID (s1) does not match service account secret ref claim (s0)"),
            ),
            ("no token", full(), &"abc".to_owned(), now, Ok(false)),
        ];
        for (sentence, store, token, at, expected) in rows {
            let found = user(&signing, &store, token, &ours, at);
            let expected = expected.map_err(str::to_owned);
            assert_eq!(found.map(|user| user.is_some()), expected, "{sentence}");
        }
        let (user, audiences) = user(&signing, &full(), &plain, &ours, now)
            .unwrap()
            .unwrap();
        assert_eq!(user.name, "system:serviceaccount:ci:bot");
        assert_eq!(user.uid, "u1");
        assert_eq!(
            user.groups,
            ["system:serviceaccounts", "system:serviceaccounts:ci"]
        );
        assert!(user.extra[CREDENTIAL_ID][0].starts_with("JTI="));
        assert_eq!(audiences, ours);
    }
}
