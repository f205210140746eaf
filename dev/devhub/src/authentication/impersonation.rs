//! Impersonation: to be somebody else for one request
//! (<https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation>).
//!
//! There are several ways to be allowed to, tried one after the other as kube-apiserver does. The oldest is the verb
//! `impersonate` on `users`, `groups`, and so on, for any purpose. The others, since Kubernetes 1.36, are for a purpose: the
//! verb `impersonate:MODE` on the identity and `impersonate-on:MODE:VERB` on what the request is about, and they never lead
//! to `system:masters`. Of these, devhub has no use for `associated-node`: no token here belongs to a node.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use berth_rbac::{Request, Verdict};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::{AUTHENTICATED, UNAUTHENTICATED};
use crate::authorization::{forbidden, forbidden_because};
use crate::status::ApiError;
use crate::user::User;

const GROUP: &str = "authentication.k8s.io";
const EXTRA_PREFIX: &str = "impersonate-extra-";
const MASTERS: &str = "system:masters";
/// So many names are asked about at once, if that is allowed, before each by itself.
const MANY: usize = 4;
/// How many users' modes are remembered; beyond that all are forgotten.
const REMEMBERED: usize = 10_000;

/// A way to be allowed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
}

/// By which mode a user impersonated last: it is tried first, so that it is the one whose refusal is told.
#[derive(Debug, Default)]
pub(super) struct Modes(Mutex<HashMap<String, Mode>>);

/// Asks whether the real user may.
type May<'a> = &'a dyn Fn(&Request<'_>) -> Verdict;

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
    let message = format!(
        "requested {} without impersonating a user name",
        in_go(&user)
    );
    Err(ApiError::bad_request(message))
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

/// As Go prints such a user with `%#v`.
fn in_go(user: &User) -> String {
    let strings = |list: &[String]| {
        let list: Vec<_> = list.iter().map(|text| format!("{text:?}")).collect();
        format!("[]string{{{}}}", list.join(", "))
    };
    let groups = match user.groups.as_slice() {
        [] => "[]string(nil)".to_owned(),
        groups => strings(groups),
    };
    let extra = if user.extra.is_empty() {
        "map[string][]string(nil)".to_owned()
    } else {
        let extra = user.extra.iter();
        let extra: Vec<_> = extra
            .map(|(key, values)| format!("{key:?}:{}", strings(values)))
            .collect();
        format!("map[string][]string{{{}}}", extra.join(", "))
    };
    format!(
        "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:{groups}, Extra:{extra}}}",
        user.name, user.uid
    )
}

/// The user that `wanted` becomes, with the groups that go without saying.
///
/// # Errors
/// 403 if `real` may not, by the words of the first mode that was tried.
pub(super) fn impersonate(
    modes: &Modes,
    real: &User,
    wanted: &User,
    request: &Request<'_>,
    may: May<'_>,
) -> Result<User, ApiError> {
    let last = modes.of(&real.name);
    let others = [
        Mode::ArbitraryNode,
        Mode::ServiceAccount,
        Mode::UserInfo,
        Mode::Legacy,
    ];
    let others = others.into_iter().filter(|mode| Some(*mode) != last);
    let mut first_refusal = None;
    for mode in last.into_iter().chain(others) {
        if !mode.is_for(wanted) {
            continue;
        }
        match (Attempt { mode, real, may }).check(wanted, request) {
            Ok(user) => {
                modes.remember(&real.name, mode);
                return Ok(user);
            }
            Err(refusal) => first_refusal = first_refusal.or(Some(refusal)),
        }
    }
    Err(first_refusal.unwrap_or_else(|| ApiError::internal("all impersonation modes failed")))
}

impl Modes {
    fn of(&self, user: &str) -> Option<Mode> {
        let modes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        modes.get(user).copied()
    }

    fn remember(&self, user: &str, mode: Mode) {
        let mut modes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if modes.get(user) == Some(&mode) {
            return;
        }
        if modes.len() >= REMEMBERED {
            modes.clear();
        }
        modes.insert(user.to_owned(), mode);
    }
}

impl Mode {
    /// Its part of the verbs; none for the mode that is for any purpose.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::ArbitraryNode => Some("arbitrary-node"),
            Self::ServiceAccount => Some("serviceaccount"),
            Self::UserInfo => Some("user-info"),
            Self::Legacy => None,
        }
    }

    fn is_for(self, wanted: &User) -> bool {
        let is_bare = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let is_node = node(&wanted.name).is_some();
        let is_account = berth_rbac::service_account(&wanted.name).is_some();
        match self {
            Self::ArbitraryNode => is_bare && is_node,
            Self::ServiceAccount => is_bare && is_account,
            Self::UserInfo => !is_node && !is_account,
            Self::Legacy => true,
        }
    }
}

/// The node that a user name stands for.
fn node(user: &str) -> Option<&str> {
    let name = user.strip_prefix("system:node:")?;
    berth_api::names::is_dns1123_subdomain(name).then_some(name)
}

/// One user, one mode.
struct Attempt<'a> {
    mode: Mode,
    real: &'a User,
    may: May<'a>,
}

impl Attempt<'_> {
    fn check(&self, wanted: &User, request: &Request<'_>) -> Result<User, ApiError> {
        if let Some(mode) = self.mode.name() {
            let verb = match request {
                Request::Resource { verb, .. } | Request::NonResource { verb, .. } => verb,
            };
            let verb = format!("impersonate-on:{mode}:{verb}");
            self.ask(&with_verb(request, &verb))?;
        }
        let mut user = wanted.clone();
        self.check_name(wanted, &mut user)?;
        if !wanted.uid.is_empty() {
            self.ask_identity(GROUP, "uids", "", &wanted.uid)?;
        }
        self.check_groups(&wanted.groups)?;
        self.check_extra(&wanted.extra)?;
        let mut add = |group: &str| {
            if !user.groups.iter().any(|own| own == group) {
                user.groups.push(group.to_owned());
            }
        };
        if wanted.name == "system:anonymous" {
            add(UNAUTHENTICATED);
        } else if !wanted.groups.iter().any(|group| group == UNAUTHENTICATED) {
            add(AUTHENTICATED);
        }
        Ok(user)
    }

    fn check_name(&self, wanted: &User, user: &mut User) -> Result<(), ApiError> {
        let name = &wanted.name;
        if self.mode != Mode::Legacy
            && let Some(node) = node(name)
        {
            user.groups = vec!["system:nodes".to_owned()];
            return self.ask_identity(GROUP, "nodes", "", node);
        }
        let Some((namespace, account)) = berth_rbac::service_account(name) else {
            return self.ask_identity(self.group(), "users", "", name);
        };
        if wanted.groups.is_empty() {
            user.groups = vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
            ];
        }
        self.ask(&Request::Resource {
            verb: &self.verb(),
            api_group: self.group(),
            resource: "serviceaccounts",
            subresource: "",
            name: account,
            namespace,
        })
    }

    fn check_groups(&self, groups: &[String]) -> Result<(), ApiError> {
        if groups.is_empty() {
            return Ok(());
        }
        if self.mode != Mode::Legacy {
            let refuse = |name: &str, why| {
                let verb = self.verb();
                let request = identity(&verb, GROUP, "groups", "", name);
                Err(forbidden_because(self.real, &request, why))
            };
            if groups.iter().any(String::is_empty) {
                return refuse("", "impersonating the empty string group is not allowed");
            }
            if groups.iter().any(|group| group == MASTERS) {
                let why = "impersonating the system:masters group is not allowed";
                return refuse(MASTERS, why);
            }
            if groups.len() >= MANY && self.ask_identity(GROUP, "groups", "", "*").is_ok() {
                return Ok(());
            }
        }
        groups
            .iter()
            .try_for_each(|group| self.ask_identity(self.group(), "groups", "", group))
    }

    fn check_extra(&self, extra: &BTreeMap<String, Vec<String>>) -> Result<(), ApiError> {
        let pairs = extra
            .iter()
            .flat_map(|(key, values)| values.iter().map(move |value| (key, value)));
        if self.mode != Mode::Legacy {
            if let Some(why) = extra.iter().find_map(extra_problem) {
                let verb = self.verb();
                let request = identity(&verb, GROUP, "userextras", "", "");
                return Err(forbidden_because(self.real, &request, &why));
            }
            if pairs.clone().count() >= MANY
                && self.ask_identity(GROUP, "userextras", "*", "*").is_ok()
            {
                return Ok(());
            }
        }
        let mut pairs = pairs;
        pairs.try_for_each(|(key, value)| self.ask_identity(GROUP, "userextras", key, value))
    }

    fn verb(&self) -> String {
        match self.mode.name() {
            Some(mode) => format!("impersonate:{mode}"),
            None => "impersonate".to_owned(),
        }
    }

    /// The group of users, groups and service accounts.
    fn group(&self) -> &'static str {
        if self.mode == Mode::Legacy { "" } else { GROUP }
    }

    fn ask_identity(
        &self,
        group: &str,
        resource: &str,
        subresource: &str,
        name: &str,
    ) -> Result<(), ApiError> {
        self.ask(&identity(&self.verb(), group, resource, subresource, name))
    }

    fn ask(&self, request: &Request<'_>) -> Result<(), ApiError> {
        match (self.may)(request) {
            Verdict::Allowed(_) => Ok(()),
            verdict => Err(forbidden(self.real, request, &verdict)),
        }
    }
}

/// Why an extra cannot be had for a purpose.
fn extra_problem((key, values): (&String, &Vec<String>)) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    let invalid = |why: &str| {
        Some(format!(
            "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: {key:?}: {why}"
        ))
    };
    let prefixed = key.split_once('/');
    let Some((domain, _)) =
        prefixed.filter(|(domain, path)| !domain.is_empty() && !path.is_empty())
    else {
        return invalid("must be a domain-prefixed path (such as \"acme.io/foo\")");
    };
    if let Some(why) = berth_api::names::dns1123_subdomain(domain).first() {
        return invalid(why);
    }
    values
        .iter()
        .any(String::is_empty)
        .then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}

fn identity<'a>(
    verb: &'a str,
    api_group: &'a str,
    resource: &'a str,
    subresource: &'a str,
    name: &'a str,
) -> Request<'a> {
    Request::Resource {
        verb,
        api_group,
        resource,
        subresource,
        name,
        namespace: "",
    }
}

fn with_verb<'a>(request: &Request<'a>, verb: &'a str) -> Request<'a> {
    let mut request = *request;
    match &mut request {
        Request::Resource { verb: old, .. } | Request::NonResource { verb: old, .. } => *old = verb,
    }
    request
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::cell::RefCell;

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

    const LIST: Request<'_> = Request::Resource {
        verb: "list",
        api_group: "",
        resource: "configmaps",
        subresource: "",
        name: "",
        namespace: "app",
    };

    /// What `real` becomes, if only what `allowed` lists is allowed.
    fn attempt(
        modes: &Modes,
        lines: &[(&'static str, &'static str)],
        allowed: &[&str],
    ) -> Result<User, String> {
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
        impersonate(modes, &real, &wanted, &LIST, &may).map_err(|error| {
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
        let rows = [
            (
                ("impersonate-group", "g"),
                r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)} without impersonating a user name"#,
            ),
            (
                ("impersonate-extra-k", "v"),
                r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string(nil), Extra:map[string][]string{"k":[]string{"v"}}} without impersonating a user name"#,
            ),
            (
                ("impersonate-uid", "1"),
                r#"requested &user.DefaultInfo{Name:"", UID:"1", Groups:[]string(nil), Extra:map[string][]string(nil)} without impersonating a user name"#,
            ),
        ];
        for (line, message) in rows {
            let error = wanted(&headers(&[line])).unwrap_err();
            assert_eq!(
                (error.code.as_u16(), error.message.as_str()),
                (400, message)
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
        let user = attempt(&Modes::default(), all, &rights).unwrap();
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
            // Somebody who impersonated before is told of the same mode.
            let modes = Modes::default();
            modes.remember("real", Mode::Legacy);
            assert_eq!(attempt(&modes, all, &rights), Err((*words).to_owned()));
        }
    }

    #[test]
    fn without_any_right_the_first_mode_refuses() {
        let modes = Modes::default();
        let rows = [
            (
                "dev",
                r#"configmaps is forbidden: User "real" cannot impersonate-on:user-info:list resource "configmaps" in API group "" in the namespace "app""#,
            ),
            (
                "system:serviceaccount:ci:bot",
                r#"configmaps is forbidden: User "real" cannot impersonate-on:serviceaccount:list resource "configmaps" in API group "" in the namespace "app""#,
            ),
            (
                "system:node:n1",
                r#"configmaps is forbidden: User "real" cannot impersonate-on:arbitrary-node:list resource "configmaps" in API group "" in the namespace "app""#,
            ),
        ];
        for (name, words) in rows {
            let found = attempt(&modes, &[("impersonate-user", name)], &[]);
            assert_eq!(found, Err(words.to_owned()));
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
            (
                "a node, for a purpose",
                &[("impersonate-user", "system:node:n1")],
                &[
                    "impersonate-on:arbitrary-node:list /configmaps -n app",
                    "impersonate:arbitrary-node authentication.k8s.io/nodes n1",
                ],
                &["system:nodes", "system:authenticated"],
            ),
            (
                "a person, for a purpose",
                &[("impersonate-user", "dev"), ("impersonate-group", "a")],
                &[
                    "impersonate-on:user-info:list /configmaps -n app",
                    "impersonate:user-info authentication.k8s.io/users dev",
                    "impersonate:user-info authentication.k8s.io/groups a",
                ],
                &["a", "system:authenticated"],
            ),
        ];
        for (sentence, lines, rights, groups) in rows {
            let user = attempt(&Modes::default(), lines, rights).unwrap();
            assert_eq!(user.groups, *groups, "{sentence}");
            assert_eq!(user.name, lines[0].1, "{sentence}");
        }
    }

    #[test]
    fn a_purpose_never_leads_to_the_masters() {
        let modes = Modes::default();
        modes.remember("real", Mode::UserInfo);
        let lines = [("impersonate-user", "dev"), ("impersonate-group", MASTERS)];
        let rights = [
            "impersonate-on:user-info:list /configmaps -n app",
            "impersonate:user-info authentication.k8s.io/users dev",
            "impersonate:user-info authentication.k8s.io/groups system:masters",
        ];
        let words = r#"groups.authentication.k8s.io "system:masters" is forbidden: User "real" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed"#;
        assert_eq!(attempt(&modes, &lines, &rights), Err(words.to_owned()));
    }

    #[test]
    fn extras_for_a_purpose_have_a_domain() {
        let rows = [
            ("acme.io/k", "v", None),
            (
                "k",
                "v",
                Some(
                    r#"impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "k": must be a domain-prefixed path (such as "acme.io/foo")"#,
                ),
            ),
            (
                "",
                "v",
                Some("impersonating the empty string key in extra is not allowed"),
            ),
            (
                "acme.io/k",
                "",
                Some("impersonating the empty string value in extra is not allowed"),
            ),
        ];
        for (key, value, words) in rows {
            let extra = (key.to_owned(), vec![value.to_owned()]);
            let problem = extra_problem((&extra.0, &extra.1));
            assert_eq!(problem.as_deref(), words, "{key} {value}");
        }
        let problem = extra_problem((&"a_b/k".to_owned(), &vec!["v".to_owned()]));
        assert!(problem.unwrap().contains("RFC 1123 subdomain"));
    }

    #[test]
    fn the_mode_of_last_time_is_asked_first() {
        let asked = RefCell::new(Vec::new());
        let may = |request: &Request<'_>| {
            asked.borrow_mut().push(line(request));
            Verdict::NoOpinion { errors: Vec::new() }
        };
        let (modes, real) = (Modes::default(), User::new("real", &[]));
        modes.remember("real", Mode::Legacy);
        impersonate(&modes, &real, &User::new("dev", &[]), &LIST, &may).unwrap_err();
        assert_eq!(
            asked.into_inner(),
            [
                "impersonate /users dev",
                "impersonate-on:user-info:list /configmaps -n app"
            ]
        );
    }
}
