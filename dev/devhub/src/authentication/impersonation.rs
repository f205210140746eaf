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

/// Whom the headers name; nobody without a user.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for &(name, value) in lines {
            headers.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_static(value),
            );
        }
        headers
    }

    /// `verb group resource/subresource name -n namespace`, as far as there is one.
    fn line(request: &Request<'_>) -> String {
        match *request {
            Request::NonResource { verb, path } => format!("{verb} {path}"),
            Request::Resource {
                verb,
                api_group,
                resource,
                subresource,
                name,
                namespace,
            } => {
                let mut line = format!("{verb} {api_group}/{resource}");
                for (before, part) in [("/", subresource), (" ", name), (" -n ", namespace)] {
                    if !part.is_empty() {
                        line += before;
                        line += part;
                    }
                }
                line
            }
        }
    }

    /// What `real` becomes, if only what `allowed` lists is allowed.
    fn attempt(lines: &[(&'static str, &'static str)], allowed: &[&str]) -> Result<User, String> {
        let wanted = wanted(&headers(lines)).map_err(|error| error.message)?;
        let wanted = wanted.ok_or("nobody")?;
        let may = |request: &Request<'_>| {
            if allowed.contains(&line(request).as_str()) {
                return Verdict::Allowed(berth_rbac::Grant::Superuser {
                    group: String::new(),
                });
            }
            Verdict::NoOpinion { errors: Vec::new() }
        };
        let real = User::new("real", &["real-group"]);
        impersonate(&real, &wanted, &may).map_err(|error| {
            assert_eq!(
                (error.code.as_u16(), error.reason.as_str()),
                (403, "Forbidden")
            );
            error.message
        })
    }

    #[test]
    fn headers_name_somebody() {
        let user = wanted(&headers(&[
            ("impersonate-user", "dev"),
            ("impersonate-uid", "7"),
            ("impersonate-group", "a"),
            ("impersonate-group", "b"),
            ("impersonate-extra-scopes", "x"),
            ("impersonate-extra-scopes", "y"),
            ("impersonate-extra-example.com%2fkey", "z"),
            ("impersonate-extra-bad%zz", "kept"),
        ]));
        let user = user.unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("dev", "7"));
        assert_eq!(user.groups, ["a", "b"]);
        assert_eq!(user.extra["scopes"], ["x", "y"]);
        assert_eq!(user.extra["example.com/key"], ["z"]);
        assert_eq!(user.extra["bad%zz"], ["kept"]);
        assert_eq!(wanted(&headers(&[("x", "y")])), Ok(None));
    }

    #[test]
    fn groups_and_extras_need_a_user() {
        for line in [
            "impersonate-group",
            "impersonate-extra-k",
            "impersonate-uid",
        ] {
            let error = wanted(&headers(&[(line, "v")])).unwrap_err();
            assert_eq!(
                (error.code.as_u16(), error.reason.as_str()),
                (400, "BadRequest"),
                "{line}"
            );
        }
    }

    #[test]
    fn every_part_of_somebody_has_to_be_allowed() {
        let all: &[(&str, &str)] = &[
            ("impersonate-user", "dev"),
            ("impersonate-uid", "7"),
            ("impersonate-group", "a"),
            ("impersonate-extra-k", "v"),
        ];
        let rights = [
            "impersonate /users dev",
            "impersonate authentication.k8s.io/uids 7",
            "impersonate /groups a",
            "impersonate authentication.k8s.io/userextras/k v",
        ];
        let user = attempt(all, &rights).unwrap();
        assert_eq!(user.groups, ["a", "system:authenticated"]);
        assert_eq!(user.extra["k"], ["v"]);
        let words = [
            r#"users "dev" is forbidden: User "real" cannot impersonate resource "users" in API group "" at the cluster scope"#,
            r#"uids.authentication.k8s.io "7" is forbidden: User "real" cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope"#,
            r#"groups "a" is forbidden: User "real" cannot impersonate resource "groups" in API group "" at the cluster scope"#,
            r#"userextras.authentication.k8s.io "v" is forbidden: User "real" cannot impersonate resource "userextras/k" in API group "authentication.k8s.io" at the cluster scope"#,
        ];
        for (index, words) in words.iter().enumerate() {
            let mut rights = rights.to_vec();
            rights.remove(index);
            assert_eq!(attempt(all, &rights), Err((*words).to_owned()));
        }
    }

    /// A sentence, headers, rights, groups.
    type Row = (
        &'static str,
        &'static [(&'static str, &'static str)],
        &'static [&'static str],
        &'static [&'static str],
    );

    #[test]
    fn groups_that_go_without_saying() {
        const BOT: (&str, &str) = ("impersonate-user", "system:serviceaccount:ci:bot");
        let rows: &[Row] = &[
            (
                "a person",
                &[("impersonate-user", "dev")],
                &["impersonate /users dev"],
                &["system:authenticated"],
            ),
            (
                "a service account",
                &[BOT],
                &["impersonate /serviceaccounts bot -n ci"],
                &[
                    "system:serviceaccounts",
                    "system:serviceaccounts:ci",
                    "system:authenticated",
                ],
            ),
            (
                "a service account in other groups",
                &[BOT, ("impersonate-group", "a")],
                &[
                    "impersonate /serviceaccounts bot -n ci",
                    "impersonate /groups a",
                ],
                &["a", "system:authenticated"],
            ),
            (
                "nobody",
                &[("impersonate-user", "system:anonymous")],
                &["impersonate /users system:anonymous"],
                &["system:unauthenticated"],
            ),
            (
                "somebody unauthenticated",
                &[
                    ("impersonate-user", "dev"),
                    ("impersonate-group", "system:unauthenticated"),
                ],
                &[
                    "impersonate /users dev",
                    "impersonate /groups system:unauthenticated",
                ],
                &["system:unauthenticated"],
            ),
        ];
        for (sentence, lines, rights, groups) in rows {
            let user = attempt(lines, rights).unwrap();
            assert_eq!(user.groups, *groups, "{sentence}");
            assert_eq!(user.name, lines[0].1, "{sentence}");
        }
    }
}
