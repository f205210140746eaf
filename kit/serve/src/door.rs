//! Authenticated callers of our own ports: a client bears a token, an API server knows its user, and what the user may do.

pub mod scrapers;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use http::HeaderMap;
use http::header::AUTHORIZATION;

/// Byte bound of tokens; longer ones are refused. Tokens of service accounts have about a kilobyte.
pub const LONGEST_TOKEN: usize = 8 * 1024;

/// Timeout of a request to the authority.
pub const LONGEST: Duration = Duration::from_secs(5);

/// Authenticates callers, and knows their permissions. An API server does both by reviews.
pub trait Authority: Send + Sync + 'static {
    /// Why there is no answer.
    type Error: Display + Send;

    /// Returns the user of a token, or None if the token is not valid.
    fn user_of(
        &self,
        token: &str,
    ) -> impl Future<Output = Result<Option<Caller>, Self::Error>> + Send;

    /// Returns whether the caller has the permission.
    fn is_allowed(
        &self,
        caller: &Caller,
        access: &Access,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;
}

/// An authenticated user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// Name of the user.
    pub name: String,
    /// UID of the user, if it has one.
    pub uid: Option<String>,
    /// The user's groups.
    pub groups: Vec<String>,
    /// What else is known about the user. Authorizers may need it.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// What a caller wants to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Request a path that is no resource.
    Path {
        /// The method in lower case.
        verb: String,
        /// The path.
        path: String,
    },
    /// Work with a resource.
    Resource(ResourceAccess),
}

/// What a caller wants to do with a resource. Empty fields are those of an API server's review: all namespaces, all names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceAccess {
    /// The verb of the API, such as `get` or `create`.
    pub verb: String,
    /// API group.
    pub group: String,
    /// API version.
    pub version: String,
    /// The resource, in lower case and plural.
    pub resource: String,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
}

/// The token that these headers bear.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    let is_one =
        scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= LONGEST_TOKEN;
    is_one.then_some(token)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_what_follows_the_word_bearer() {
        let long = format!("Bearer {}", "x".repeat(LONGEST_TOKEN + 1));
        for (header, expected) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Bearer", None),
            ("Bearer ", None),
            ("Basic abc", None),
            ("abc", None),
            (&long, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, header.parse().unwrap());
            assert_eq!(bearer(&headers), expected, "{header:.20}");
        }
        assert_eq!(bearer(&HeaderMap::new()), None);
    }
}
