//! Authenticates requests by client certificates and bearer tokens, and applies impersonation.
//!
//! A client certificate takes precedence over a token; one valid credential suffices. A request without one gets a 401: devhub
//! has no anonymous users. A user with the right to impersonate another user acts only with the identity of that user.

mod accounts;
mod certificates;
mod impersonation;
mod jwt;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use berth_certs::issue::Authority;
use berth_rbac::Request;
use http::{HeaderMap, header};
use jiff::Timestamp;
use rustls::pki_types::CertificateDer;

use crate::World;
use crate::status::ApiError;
use crate::storage::Store;
use crate::user::User;

pub(crate) use accounts::{Reference, Wanted};
pub(crate) use certificates::client_verifier;

/// The issuer of service accounts' tokens, and the audience that the hub itself is.
pub(crate) const AUDIENCE: &str = "https://kubernetes.default.svc";
/// The key of the extra that names the credential of a user.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";

/// Knows the hub's client CA, its static tokens, and the key of its service accounts' tokens.
pub(crate) struct Authenticator {
    client_ca: Arc<Authority>,
    serving_ca_pem: String,
    certificates: certificates::Certificates,
    /// By the SHA-256 of the token, so that the time a look-up takes says nothing about any token.
    tokens: Mutex<HashMap<[u8; 32], User>>,
    key: jwt::Key,
}

/// An [`Authenticator`] could not be made.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticatorError {
    /// The client CA's certificate cannot be used.
    #[error("the client CA cannot be used: {0}")]
    ClientCa(#[from] rustls::server::VerifierBuilderError),
    /// No key for service accounts' tokens.
    #[error("no key could be made for the tokens of service accounts")]
    Key,
}

/// The user of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenUser {
    pub(crate) user: User,
    /// Those of the audiences asked for that the token is for.
    pub(crate) audiences: Vec<String>,
}

impl Authenticator {
    /// Takes client certificates of `client_ca`, the bearer tokens given, and those of service accounts, for which a new key
    /// is made. `serving_ca_pem` is what clients verify the hub by; it goes into service accounts' Secrets.
    ///
    /// # Errors
    /// See [`AuthenticatorError`].
    pub(crate) fn new(
        client_ca: impl Into<Arc<Authority>>,
        serving_ca_pem: impl Into<String>,
        tokens: &[(String, User)],
    ) -> Result<Self, AuthenticatorError> {
        let client_ca = client_ca.into();
        let tokens = tokens
            .iter()
            .map(|(token, user)| (sha256(token.as_bytes()), user.clone()));
        Ok(Self {
            certificates: certificates::Certificates::new(client_ca.certificate_pem())?,
            serving_ca_pem: serving_ca_pem.into(),
            client_ca,
            tokens: Mutex::new(tokens.collect()),
            key: jwt::Key::generate().map_err(|_| AuthenticatorError::Key)?,
        })
    }

    /// From now on, this is a token of the user.
    pub(crate) fn accept(&self, token: &str, user: User) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.insert(sha256(token.as_bytes()), user);
    }

    fn known(&self, digest: &[u8; 32]) -> Option<User> {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.get(digest).cloned()
    }

    /// The CA whose certificates clients show.
    pub(crate) fn client_ca(&self) -> &Authority {
        &self.client_ca
    }

    /// The CA that clients verify the hub with.
    pub(crate) fn serving_ca_pem(&self) -> &str {
        &self.serving_ca_pem
    }

    /// The user of a request. `certificate` is the leaf that the client showed in the handshake; whether it is valid *now* is
    /// looked at here. Impersonation headers count last, and only as far as RBAC lets the real user.
    ///
    /// # Errors
    /// 401 for no or bad credentials; 403 where impersonation is not allowed.
    pub(crate) fn authenticate(
        &self,
        world: &World,
        certificate: Option<&CertificateDer<'_>>,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<User, ApiError> {
        let user = self.identify(&world.store, certificate, headers, now);
        let user = user.ok_or_else(ApiError::unauthorized)?;
        let Some(wanted) = impersonation::wanted(headers)? else {
            return Ok(user);
        };
        let may = |request: &Request<'_>| world.authorizer.evaluate(&world.store, &user, request);
        impersonation::impersonate(&user, &wanted, &may)
    }

    /// The user before any impersonation.
    fn identify(
        &self,
        store: &Store,
        certificate: Option<&CertificateDer<'_>>,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Option<User> {
        if let Some(user) =
            certificate.and_then(|certificate| self.certificates.user(certificate, now))
        {
            return Some(authenticated(user));
        }
        let token = bearer_token(headers)?;
        let found = self.token_user(store, token, &[AUDIENCE.to_owned()], now);
        match found {
            Ok(found) => found.map(|found| found.user),
            Err(reason) => {
                tracing::debug!(reason, "a token was refused");
                None
            }
        }
    }

    /// The user of a bearer token; `None` if it is not a token of this hub.
    ///
    /// # Errors
    /// It is one, and does not count: why.
    pub(crate) fn token_user(
        &self,
        store: &Store,
        token: &str,
        audiences: &[String],
        now: Timestamp,
    ) -> Result<Option<TokenUser>, String> {
        let known = self.known(&sha256(token.as_bytes()));
        if let Some(user) = known {
            let is_for_us = audiences.iter().any(|audience| audience == AUDIENCE);
            return Ok(is_for_us.then(|| TokenUser {
                user: authenticated(user),
                audiences: vec![AUDIENCE.to_owned()],
            }));
        }
        let found = accounts::user(&self.key, store, token, audiences, now)?;
        Ok(found.map(|(user, audiences)| TokenUser {
            user: authenticated(user),
            audiences,
        }))
    }

    /// A token for a service account, as a TokenRequest asks for it.
    ///
    /// # Errors
    /// 500 if there are no random numbers.
    pub(crate) fn issue(&self, wanted: &Wanted<'_>, now: Timestamp) -> Result<String, ApiError> {
        accounts::issue(&self.key, wanted, now)
            .map_err(|_| ApiError::internal("failed to generate token: no random numbers"))
    }
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator")
            .field("client_ca", &self.client_ca)
            .finish_non_exhaustive()
    }
}

/// The word after `Bearer`, if the header has it.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let mut words = value.trim().split(' ');
    let scheme = words.next()?;
    let token = words.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Adds the group of all users with valid credentials.
fn authenticated(mut user: User) -> User {
    let said = [AUTHENTICATED, UNAUTHENTICATED];
    if !user
        .groups
        .iter()
        .any(|group| said.contains(&group.as_str()))
    {
        user.groups.push(AUTHENTICATED.to_owned());
    }
    user
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_bearer_token_is_the_second_word() {
        let rows = [
            ("Bearer abc", Some("abc")),
            ("bearer abc", Some("abc")),
            ("  Bearer abc  ", Some("abc")),
            ("Bearer abc def", Some("abc")),
            ("Bearer", None),
            ("Bearer ", None),
            ("Bearer  abc", None),
            ("Basic abc", None),
            ("", None),
        ];
        for (value, token) in rows {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
            assert_eq!(bearer_token(&headers), token, "{value:?}");
        }
        assert_eq!(bearer_token(&HeaderMap::new()), None);
    }

    #[test]
    fn static_tokens_are_compared_whole() {
        let now = Timestamp::now();
        let day = std::time::Duration::from_secs(86_400);
        let ca = Authority::new("clients", day, now).unwrap();
        let tokens = [("s3cret".to_owned(), User::new("dev", &["team"]))];
        let authenticator = Authenticator::new(ca, "", &tokens).unwrap();
        let store = Store::new(1);
        let ask = |token, audience: &str| {
            let found = authenticator.token_user(&store, token, &[audience.to_owned()], now);
            found.unwrap().map(|found| found.user.groups)
        };
        let groups = vec!["team".to_owned(), AUTHENTICATED.to_owned()];
        assert_eq!(ask("s3cret", AUDIENCE), Some(groups));
        assert_eq!(ask("s3cret", "vault"), None);
        assert_eq!(ask("s3cre", AUDIENCE), None);
        assert_eq!(ask("s3crett", AUDIENCE), None);
        assert_eq!(ask("", AUDIENCE), None);
    }
}
