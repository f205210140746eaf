//! Users whom an authenticating proxy names. The console impersonates them, so whoever controls the proxy is every user: the port takes
//! connections with a certificate of the proxy only.

use berth_admin::answers::Hub;
use berth_hub::{ActAs, Identity};
use http::{HeaderMap, HeaderName, StatusCode};

use crate::app::Settings;
use crate::respond::Refused;
use crate::sessions::Secret;

/// Users and groups that Kubernetes reserves begin with this. A proxy must not name them: `system:masters` may do everything.
const RESERVED: &str = "system:";

/// The groups of that beginning that every user has anyway.
const HARMLESS: &str = "system:authenticated";

/// Upper bound on groups of a user.
const MOST_GROUPS: usize = 500;

/// An authenticating proxy.
#[derive(Debug)]
pub(crate) struct Proxy {
    /// The hub, as an account that may impersonate.
    hub: Hub,
    settings: Settings,
    headers: Headers,
}

/// The headers by which a proxy names a user: the first one that is there counts.
#[derive(Clone, Debug)]
pub(crate) struct Headers {
    pub(crate) user: Vec<HeaderName>,
    pub(crate) groups: Vec<HeaderName>,
    /// What separates the groups of one header.
    pub(crate) separator: Option<String>,
}

/// A user, as the proxy names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    user: String,
    groups: Vec<String>,
}

// === impl Proxy ===

impl Proxy {
    pub(crate) fn new(hub: Hub, settings: Settings, headers: Headers) -> Self {
        Self {
            hub,
            settings,
            headers,
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        self.settings.clone()
    }

    /// The user of a request.
    ///
    /// # Errors
    /// The proxy names none, several, or one that Kubernetes reserves.
    pub(crate) fn named(&self, headers: &HeaderMap) -> Result<Named, Refused> {
        self.headers.named(headers)
    }

    /// The hub as this user, and the name that bounds the user's sessions.
    ///
    /// # Errors
    /// No header can have the name.
    pub(crate) fn hub_of(&self, named: &Named) -> Result<(Hub, String), Refused> {
        let user = ActAs {
            user: named.user.clone(),
            groups: named.groups.clone(),
            uid: None,
        };
        let identity = Identity::impersonated(&user).map_err(|error| refused(error.to_string()))?;
        Ok((self.hub.as_user(identity), user.user))
    }
}

// === impl Headers ===

impl Headers {
    fn named(&self, headers: &HeaderMap) -> Result<Named, Refused> {
        let users = values(&self.user, headers)?;
        let user = match &users[..] {
            [user] if !user.trim().is_empty() => user.trim().to_owned(),
            [] | [_] => return Err(refused("the proxy names no user".to_owned())),
            _ => return Err(refused("the proxy names several users".to_owned())),
        };
        let mut groups = Vec::new();
        for value in values(&self.groups, headers)? {
            match &self.separator {
                Some(separator) => groups.extend(value.split(&**separator).map(str::to_owned)),
                None => groups.push(value),
            }
        }
        let groups = groups.iter().map(|it| it.trim().to_owned());
        let mut groups: Vec<_> = groups.filter(|it| !it.is_empty()).collect();
        groups.sort_unstable();
        groups.dedup();
        if groups.len() > MOST_GROUPS {
            let why = format!("the proxy names more than {MOST_GROUPS} groups");
            return Err(refused(why));
        }
        let is_reserved = |name: &&String| name.starts_with(RESERVED) && *name != HARMLESS;
        if let Some(name) = [&user].into_iter().chain(&groups).find(is_reserved) {
            let why = format!(
                "the proxy names {name:?}: users and groups that begin with {RESERVED} are Kubernetes' own"
            );
            return Err(refused(why));
        }
        Ok(Named { user, groups })
    }
}

/// The values of the first of these headers that is there.
fn values(names: &[HeaderName], headers: &HeaderMap) -> Result<Vec<String>, Refused> {
    for name in names {
        let values: Vec<_> = headers.get_all(name).iter().collect();
        if values.is_empty() {
            continue;
        }
        let texts = values
            .iter()
            .map(|it| String::from_utf8(it.as_bytes().to_vec()));
        let texts: Result<Vec<_>, _> = texts.collect();
        return texts.map_err(|_| refused(format!("the header {name} of the proxy is not UTF-8")));
    }
    Ok(Vec::new())
}

fn refused(why: String) -> Refused {
    Refused::new(StatusCode::FORBIDDEN, "BadUser", why)
        .remedy("ask the admin of the authenticating proxy")
}

// === impl Named ===

impl Named {
    /// What tells users apart. A name has no line end: the headers could not have it.
    pub(crate) fn key(&self) -> Secret {
        Secret::new(format!("{}\n{}", self.user, self.groups.join("\n")))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn named(separator: Option<&str>, pairs: &[(&'static str, &str)]) -> Result<Named, String> {
        let headers = Headers {
            user: ["x-remote-user", "x-forwarded-user"]
                .map(HeaderName::from_static)
                .into(),
            groups: vec![HeaderName::from_static("x-remote-group")],
            separator: separator.map(str::to_owned),
        };
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
            .named(&map)
            .map_err(|refused| refused.0.message.as_str().to_owned())
    }

    #[test]
    fn a_proxy_names_users_and_groups_but_not_those_of_kubernetes() {
        let user = |user: &str, groups: &[&str]| {
            Ok(Named {
                user: user.to_owned(),
                groups: groups.iter().map(|it| (*it).to_owned()).collect(),
            })
        };
        const USER: &str = "x-remote-user";
        const GROUP: &str = "x-remote-group";
        let reserved = |name: &str| {
            Err(format!(
                "the proxy names {name:?}: users and groups that begin with system: are Kubernetes' own"
            ))
        };
        let none = || Err("the proxy names no user".to_owned());
        for (separator, pairs, expected) in [
            (None, &[(USER, "ada")][..], user("ada", &[])),
            (
                None,
                &[(USER, "ada"), (GROUP, "b"), (GROUP, "a")],
                user("ada", &["a", "b"]),
            ),
            // A comma may be part of a name.
            (
                None,
                &[(USER, "ada"), (GROUP, "cn=a,dc=b")],
                user("ada", &["cn=a,dc=b"]),
            ),
            (
                Some(","),
                &[(USER, "ada"), (GROUP, "b, a,,")],
                user("ada", &["a", "b"]),
            ),
            (None, &[("x-forwarded-user", "bob")], user("bob", &[])),
            (
                None,
                &[(USER, "ada"), ("x-forwarded-user", "bob")],
                user("ada", &[]),
            ),
            (
                None,
                &[(USER, "ada"), (GROUP, "system:authenticated")],
                user("ada", &["system:authenticated"]),
            ),
            (None, &[], none()),
            (None, &[(USER, " ")], none()),
            (None, &[(GROUP, "a")], none()),
            (
                None,
                &[(USER, "ada"), (USER, "bob")],
                Err("the proxy names several users".to_owned()),
            ),
            (None, &[(USER, "system:admin")], reserved("system:admin")),
            (
                None,
                &[(USER, "ada"), (GROUP, "system:masters")],
                reserved("system:masters"),
            ),
            (
                Some(","),
                &[(USER, "ada"), (GROUP, "a,system:masters")],
                reserved("system:masters"),
            ),
        ] {
            assert_eq!(named(separator, pairs), expected, "{pairs:?}");
        }
        assert_ne!(
            user("a", &["b"]).unwrap().key().reveal(),
            user("a", &["b", "c"]).unwrap().key().reveal()
        );
    }
}
