//! Which requests are answered: those that a page of this very server sends. A table of attacks is in the tests.
//!
//! A server of one user listens on a loopback address, where every page that the browser shows, and every user of the machine, can reach
//! it. So a request needs the `Host` that the server listens on (a name that an attacker points to 127.0.0.1 is another one), no foreign
//! `Origin`, and for writes a header that pages of other origins cannot send without being asked for their permission. A server of many
//! users has one public address instead; links to its pages are followed from everywhere, since the page alone has no data.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, StatusCode, Uri};

/// The header of each write.
pub(crate) const MARK: HeaderName = HeaderName::from_static("x-berth-console");

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The names under which the server is reached.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    hosts: Vec<String>,
    /// `http` or `https`
    scheme: &'static str,
    /// Pages of other sites may link here.
    is_public: bool,
}

/// The address of a server in browsers: `https://HOST` or `http://HOST`, with a port unless it is that of the scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicUrl {
    scheme: &'static str,
    host: String,
}

/// A refused request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    pub(crate) code: StatusCode,
    pub(crate) reason: &'static str,
    pub(crate) message: &'static str,
}

const HOST_REFUSED: Foreign = Foreign {
    code: StatusCode::MISDIRECTED_REQUEST,
    reason: "ForeignHost",
    message: "the Host of the request is not an address of this console: open the one that berth console printed, or that of --public-url",
};
const ORIGIN_REFUSED: Foreign = Foreign {
    code: StatusCode::FORBIDDEN,
    reason: "ForeignOrigin",
    message: "the request comes from a page of another origin",
};
const UNMARKED: Foreign = Foreign {
    code: StatusCode::FORBIDDEN,
    reason: "NotMarked",
    message: "a write needs the header X-Berth-Console: 1",
};
const NOT_JSON: Foreign = Foreign {
    code: StatusCode::UNSUPPORTED_MEDIA_TYPE,
    reason: "NotJSON",
    message: "the body has to be JSON: Content-Type: application/json",
};

// === impl Guard ===

impl Guard {
    /// Of a server that listens on this address.
    pub(crate) fn new(address: SocketAddr) -> Self {
        let mut hosts = vec![address.to_string()];
        if address.ip().is_loopback() {
            hosts.push(format!("localhost:{}", address.port()));
        }
        Self {
            hosts,
            scheme: "http",
            is_public: false,
        }
    }

    /// Of a server that is reached by this address only.
    pub(crate) fn public(url: &PublicUrl) -> Self {
        Self {
            hosts: vec![url.host.clone()],
            scheme: url.scheme,
            is_public: true,
        }
    }

    /// The address of the page, without a slash at the end.
    pub(crate) fn origin(&self) -> String {
        format!("{}://{}", self.scheme, self.hosts[0])
    }

    /// # Errors
    /// The request is refused.
    pub(crate) fn check(&self, request: &Parts) -> Result<(), Foreign> {
        let host = self.host(request).ok_or(HOST_REFUSED)?;
        let headers = &request.headers;
        if let Some(origin) = one(headers, &ORIGIN).map_err(|()| ORIGIN_REFUSED)? {
            let own = origin.strip_prefix(self.scheme);
            let own = own.and_then(|it| it.strip_prefix("://"));
            if own.is_none_or(|origin| !origin.eq_ignore_ascii_case(host)) {
                return Err(ORIGIN_REFUSED);
            }
        }
        let is_read = matches!(request.method, Method::GET | Method::HEAD);
        let is_api = request.uri.path().starts_with("/api");
        match one(headers, &FETCH_SITE).map_err(|()| ORIGIN_REFUSED)? {
            None | Some("same-origin") => {}
            // The address bar, and a link of another program.
            Some("none") if is_read && !is_api => {}
            // A link of another site, and an OpenID provider that sends the browser back.
            Some("cross-site" | "same-site")
                if self.is_public
                    && request.method == Method::GET
                    && !is_api
                    && request.uri.path() != "/oidc/start"
                    && one(headers, &FETCH_MODE) == Ok(Some("navigate"))
                    && one(headers, &FETCH_DEST) == Ok(Some("document")) => {}
            Some(_) => return Err(ORIGIN_REFUSED),
        }
        if is_read {
            return Ok(());
        }
        if one(headers, &MARK) != Ok(Some("1")) {
            return Err(UNMARKED);
        }
        let is_json = |text: &str| {
            let essence = text.split(';').next().unwrap_or_default().trim();
            essence.eq_ignore_ascii_case("application/json")
        };
        let content = one(headers, &CONTENT_TYPE).map_err(|()| NOT_JSON)?;
        match content {
            Some(text) if is_json(text) => Ok(()),
            None if request.method == Method::DELETE => Ok(()),
            _ => Err(NOT_JSON),
        }
    }

    /// Returns the host of the request if it is ours. HTTP/2 has it in the URI.
    fn host<'a>(&'a self, request: &'a Parts) -> Option<&'a str> {
        let header = one(&request.headers, &HOST).ok()?;
        let authority = request.uri.authority().map(http::uri::Authority::as_str);
        let host = match (header, authority) {
            (Some(header), Some(authority)) if header != authority => return None,
            (header, authority) => header.or(authority)?,
        };
        let mut own = self.hosts.iter();
        own.any(|it| it.eq_ignore_ascii_case(host)).then_some(host)
    }
}

// === impl PublicUrl ===

impl PublicUrl {
    pub(crate) fn is_https(&self) -> bool {
        self.scheme == "https"
    }
}

impl FromStr for PublicUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri: Uri = text
            .parse()
            .map_err(|_| "expected a URL such as https://console.example.com")?;
        let (scheme, usual) = match uri.scheme_str() {
            Some("https") => ("https", 443),
            Some("http") => ("http", 80),
            _ => return Err("it has to begin with https:// or http://"),
        };
        let authority = uri.authority().ok_or("it has no host")?;
        if authority.as_str().contains('@') {
            return Err("it must not have a user");
        }
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(
                "the console is served at / of its host: the URL must not have a path or a query",
            );
        }
        let host = authority.host().to_ascii_lowercase();
        // Nobody on the way may read a session.
        let is_local = matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]");
        if scheme == "http" && !is_local {
            return Err("it has to begin with https:// unless its host is localhost");
        }
        Ok(Self {
            scheme,
            // Browsers leave out the port of the scheme.
            host: match authority.port_u16() {
                Some(port) if port != usual => format!("{host}:{port}"),
                _ => host,
            },
        })
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)
    }
}

/// The value of a header that is there at most once.
///
/// # Errors
/// It is there twice, or is not text.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    match (first, values.next()) {
        (_, Some(_)) => Err(()),
        (None, None) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(drop),
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn verdict(method: &str, path: &str, headers: &[(&str, &str)]) -> Result<(), &'static str> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let guard = Guard::new("127.0.0.1:4321".parse().unwrap());
        guard.check(&parts).map_err(|foreign| foreign.reason)
    }

    /// What it is, the method, the path, the headers, and the verdict.
    type Row<'a> = (
        &'a str,
        &'a str,
        &'a str,
        &'a [(&'a str, &'a str)],
        Result<(), &'a str>,
    );

    #[test]
    fn pages_of_this_server_are_answered_and_attacks_are_not() {
        const H: (&str, &str) = ("host", "127.0.0.1:4321");
        const JSON: (&str, &str) = ("content-type", "application/json");
        const MARKED: (&str, &str) = ("x-berth-console", "1");
        const SAME: (&str, &str) = ("sec-fetch-site", "same-origin");
        let own = ("origin", "http://127.0.0.1:4321");
        let rows: &[Row] = &[
            ("the page", "GET", "/", &[H], Ok(())),
            (
                "the page, by the address bar",
                "GET",
                "/clusters/c1",
                &[H, ("sec-fetch-site", "none")],
                Ok(()),
            ),
            (
                "by the name localhost",
                "GET",
                "/",
                &[("host", "LocalHost:4321")],
                Ok(()),
            ),
            (
                "the page's stream",
                "GET",
                "/api/stream",
                &[H, SAME],
                Ok(()),
            ),
            (
                "the page's write",
                "POST",
                "/api/session",
                &[H, SAME, own, JSON, MARKED],
                Ok(()),
            ),
            (
                "with a charset",
                "POST",
                "/api/session",
                &[
                    H,
                    ("content-type", "application/json; charset=utf-8"),
                    MARKED,
                ],
                Ok(()),
            ),
            (
                "a sign-out",
                "DELETE",
                "/api/session",
                &[H, SAME, own, MARKED],
                Ok(()),
            ),
            // Attacks.
            (
                "DNS rebinding",
                "GET",
                "/",
                &[("host", "evil.example:4321")],
                Err("ForeignHost"),
            ),
            (
                "DNS rebinding, the API",
                "GET",
                "/api/session",
                &[("host", "evil.example:4321"), SAME],
                Err("ForeignHost"),
            ),
            (
                "another port",
                "GET",
                "/",
                &[("host", "127.0.0.1:1")],
                Err("ForeignHost"),
            ),
            (
                "no port",
                "GET",
                "/",
                &[("host", "127.0.0.1")],
                Err("ForeignHost"),
            ),
            (
                "a longer name",
                "GET",
                "/",
                &[("host", "127.0.0.1:4321.evil.example")],
                Err("ForeignHost"),
            ),
            ("no host", "GET", "/", &[], Err("ForeignHost")),
            (
                "two hosts",
                "GET",
                "/",
                &[H, ("host", "evil.example")],
                Err("ForeignHost"),
            ),
            (
                "a host in the URI that differs",
                "GET",
                "http://evil.example/",
                &[H],
                Err("ForeignHost"),
            ),
            (
                "another origin",
                "POST",
                "/api/session",
                &[H, JSON, MARKED, ("origin", "https://evil.example")],
                Err("ForeignOrigin"),
            ),
            (
                "another origin reads",
                "GET",
                "/api/requests",
                &[H, ("origin", "https://evil.example")],
                Err("ForeignOrigin"),
            ),
            (
                "the opaque origin",
                "POST",
                "/api/session",
                &[H, JSON, MARKED, ("origin", "null")],
                Err("ForeignOrigin"),
            ),
            (
                "the origin with https",
                "POST",
                "/api/session",
                &[H, JSON, MARKED, ("origin", "https://127.0.0.1:4321")],
                Err("ForeignOrigin"),
            ),
            (
                "the origin of another port",
                "POST",
                "/api/session",
                &[H, JSON, MARKED, ("origin", "http://127.0.0.1:4322")],
                Err("ForeignOrigin"),
            ),
            (
                "the origin by another name",
                "POST",
                "/api/session",
                &[H, JSON, MARKED, ("origin", "http://localhost:4321")],
                Err("ForeignOrigin"),
            ),
            (
                "two origins",
                "GET",
                "/api/requests",
                &[H, own, own],
                Err("ForeignOrigin"),
            ),
            (
                "a page of another site",
                "GET",
                "/api/requests",
                &[H, ("sec-fetch-site", "cross-site")],
                Err("ForeignOrigin"),
            ),
            (
                "another port of this host",
                "GET",
                "/api/requests",
                &[H, ("sec-fetch-site", "same-site")],
                Err("ForeignOrigin"),
            ),
            (
                "a link to the API",
                "GET",
                "/api/requests",
                &[H, ("sec-fetch-site", "none")],
                Err("ForeignOrigin"),
            ),
            (
                "a link to a write",
                "POST",
                "/",
                &[H, JSON, MARKED, ("sec-fetch-site", "none")],
                Err("ForeignOrigin"),
            ),
            (
                "a link of another site to the page",
                "GET",
                "/",
                &[H, ("sec-fetch-site", "cross-site")],
                Err("ForeignOrigin"),
            ),
            (
                "no mark",
                "POST",
                "/api/session",
                &[H, SAME, own, JSON],
                Err("NotMarked"),
            ),
            (
                "another mark",
                "POST",
                "/api/session",
                &[H, JSON, ("x-berth-console", "0")],
                Err("NotMarked"),
            ),
            (
                "a sign-out without a mark",
                "DELETE",
                "/api/session",
                &[H, own],
                Err("NotMarked"),
            ),
            (
                "a form",
                "POST",
                "/api/session",
                &[
                    H,
                    MARKED,
                    ("content-type", "application/x-www-form-urlencoded"),
                ],
                Err("NotJSON"),
            ),
            (
                "plain text",
                "POST",
                "/api/session",
                &[H, MARKED, ("content-type", "text/plain; application/json")],
                Err("NotJSON"),
            ),
            (
                "no type",
                "POST",
                "/api/session",
                &[H, MARKED],
                Err("NotJSON"),
            ),
        ];
        for (what, method, path, headers, expected) in rows {
            assert_eq!(verdict(method, path, headers), *expected, "{what}");
        }
    }

    #[test]
    fn a_server_has_the_names_of_its_address() {
        let hosts = |address: &str| Guard::new(address.parse().unwrap()).hosts;
        assert_eq!(hosts("[::1]:80"), ["[::1]:80", "localhost:80"]);
        assert_eq!(hosts("10.0.0.1:80"), ["10.0.0.1:80"]);
    }
}
