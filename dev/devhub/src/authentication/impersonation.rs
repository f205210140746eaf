//! Impersonation: acting as another user for one request
//! (<https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation>).
//!
//! The real user needs the verb `impersonate` on each of `users` (or `serviceaccounts`), `groups`, `uids` and `userextras` that
//! the headers name. devhub does not implement the constrained impersonation of Kubernetes 1.36 (`impersonate-on:...`).

use std::collections::BTreeMap;

use berth_rbac::{Request, Verdict};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::{AUTHENTICATED, UNAUTHENTICATED};
use crate::authorization::forbidden;
use crate::status::ApiError;
use crate::user::User;

const GROUP: &str = "authentication.k8s.io";
const EXTRA_PREFIX: &str = "impersonate-extra-";

/// The user that the headers name; `None` without Impersonate-User.
///
/// # Errors
/// 400 for groups, a uid or extras without a user.
pub(super) fn wanted(headers: &HeaderMap) -> Result<Option<User>, ApiError> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let first = |name| headers.get(name).map(text).unwrap_or_default();
    let mut user = User {
        name: first("impersonate-user"),
        uid: first("impersonate-uid"),
        groups: headers
            .get_all("impersonate-group")
            .iter()
            .map(text)
            .collect(),
        extra: BTreeMap::new(),
    };
    let extra_keys = headers.keys().map(HeaderName::as_str);
    for name in extra_keys.filter(|name| name.starts_with(EXTRA_PREFIX)) {
        let key = unescaped(&name[EXTRA_PREFIX.len()..]);
        let values = headers.get_all(name).iter().map(text);
        user.extra.entry(key).or_default().extend(values);
    }
    if !user.name.is_empty() {
        return Ok(Some(user));
    }
    if user == User::default() {
        return Ok(None);
    }
    Err(ApiError::bad_request(
        "impersonation of groups, a uid or extras needs a user name",
    ))
}

/// A `%`-encoded key; one that is malformed stays as it is.
fn unescaped(key: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = key.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |at: usize| {
            after
                .get(at)
                .and_then(|&digit| char::from(digit).to_digit(16))
        };
        let (Some(high), Some(low)) = (digit(0), digit(1)) else {
            return key.to_owned();
        };
        bytes.push((high * 16 + low) as u8);
        rest = &after[2..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The user that `wanted` becomes, with the groups that go without saying.
///
/// # Errors
/// 403 if `real` may not.
pub(super) fn impersonate(
    real: &User,
    wanted: &User,
    may: &dyn Fn(&Request<'_>) -> Verdict,
) -> Result<User, ApiError> {
    let ask = |api_group, resource, subresource, name, namespace| {
        let request = Request::Resource {
            verb: "impersonate",
            api_group,
            resource,
            subresource,
            name,
            namespace,
        };
        match may(&request) {
            Verdict::Allowed(_) => Ok(()),
            verdict => Err(forbidden(real, &request, &verdict)),
        }
    };
    let mut user = wanted.clone();
    match berth_rbac::service_account(&wanted.name) {
        None => ask("", "users", "", &wanted.name, "")?,
        Some((namespace, account)) => {
            if wanted.groups.is_empty() {
                user.groups = vec![
                    "system:serviceaccounts".to_owned(),
                    format!("system:serviceaccounts:{namespace}"),
                ];
            }
            ask("", "serviceaccounts", "", account, namespace)?;
        }
    }
    if !wanted.uid.is_empty() {
        ask(GROUP, "uids", "", &wanted.uid, "")?;
    }
    for group in &wanted.groups {
        ask("", "groups", "", group, "")?;
    }
    for (key, values) in &wanted.extra {
        for value in values {
            ask(GROUP, "userextras", key, value, "")?;
        }
    }
    let implied = match wanted.name.as_str() {
        "system:anonymous" => UNAUTHENTICATED,
        _ if wanted.groups.iter().any(|group| group == UNAUTHENTICATED) => return Ok(user),
        _ => AUTHENTICATED,
    };
    if !user.groups.iter().any(|own| own == implied) {
        user.groups.push(implied.to_owned());
    }
    Ok(user)
}
