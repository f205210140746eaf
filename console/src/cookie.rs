//! The cookie of a session.

use http::HeaderMap;
use http::header::COOKIE;

use crate::sessions::Secret;

/// The name and the attributes of a cookie.
#[derive(Clone, Debug)]
pub(crate) struct Cookie {
    name: String,
    attributes: &'static str,
}

/// A browser sends it with requests of our own pages only.
const STRICT: &str = "Path=/; HttpOnly; SameSite=Strict";
const SECURE: &str = "Path=/; HttpOnly; SameSite=Strict; Secure";

/// A browser sends it also when another site sends the browser here.
const LAX: &str = "Path=/; HttpOnly; SameSite=Lax";
const LAX_SECURE: &str = "Path=/; HttpOnly; SameSite=Lax; Secure";

// === impl Cookie ===

impl Cookie {
    /// The cookie of sessions on a port of this machine. Cookies do not tell ports apart, so its name has a random end.
    pub(crate) fn of_port(end: &Secret) -> Self {
        Self {
            name: format!("berth-console-{}", end.reveal()),
            attributes: STRICT,
        }
    }

    /// The cookie of sessions of a host. By the prefix of its name, browsers take it over TLS from this host only.
    pub(crate) fn of_host(is_https: bool) -> Self {
        Self::named("berth-console", is_https, STRICT, SECURE)
    }

    /// The cookie of a sign-in that has begun, which the browser brings back from the provider.
    pub(crate) fn of_login(is_https: bool) -> Self {
        Self::named("berth-console-login", is_https, LAX, LAX_SECURE)
    }

    fn named(name: &str, is_https: bool, plain: &'static str, secure: &'static str) -> Self {
        match is_https {
            true => Self {
                name: format!("__Host-{name}"),
                attributes: secure,
            },
            false => Self {
                name: name.to_owned(),
                attributes: plain,
            },
        }
    }

    /// The value of `Set-Cookie`.
    pub(crate) fn set(&self, value: &str) -> String {
        format!("{}={value}; {}", self.name, self.attributes)
    }

    /// The same, for this many seconds.
    pub(crate) fn set_for(&self, value: &str, seconds: u32) -> String {
        format!("{}; Max-Age={seconds}", self.set(value))
    }

    /// The value of `Set-Cookie` that removes it.
    pub(crate) fn removed(&self) -> String {
        self.set_for("", 0)
    }

    /// Its value in a request.
    pub(crate) fn read<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let values = headers.get_all(COOKIE).iter();
        let pairs = values
            .filter_map(|it| it.to_str().ok())
            .flat_map(|it| it.split(';'));
        let mut own =
            pairs.filter_map(|pair| pair.trim().strip_prefix(&*self.name)?.strip_prefix('='));
        own.next()
    }
}
