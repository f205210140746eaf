//! Sign-in by OpenID Connect: the authorization code flow with PKCE. Pure: what is sent, and what is believed of an answer.
//!
//! The ID token is not verified here. It comes from the token endpoint itself, over TLS (OpenID Connect Core, 3.1.3.7, point 6), and the
//! hub verifies its signature with each call. What the hub cannot know is checked: that the token is the answer to this sign-in of this
//! browser.

mod provider;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use form_urlencoded::Serializer;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde::Deserialize;

use crate::random::random;
use crate::sessions::Secret;

pub(crate) use provider::{Provider, ProviderError};

/// The path that the provider sends the browser back to.
pub(crate) const CALLBACK: &str = "/oidc/callback";

/// Bytes of state, nonce and verifier. RFC 7636 wants a verifier of 43 characters at least.
const SECRET_BYTES: usize = 32;

/// Upper bound on the bytes of the path that is shown after the sign-in.
const LONGEST_PATH: usize = 1024;

/// Upper bound on the bytes of an ID token. The hub gets it in a header with each call.
const LONGEST_TOKEN: usize = 16 << 10;

/// The client at the provider.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) issuer: String,
    pub(crate) id: String,
    /// Scopes besides `openid`.
    pub(crate) scopes: Vec<String>,
    /// The page's address, with [`CALLBACK`].
    pub(crate) redirect_uri: String,
}

/// What a provider says about itself (OpenID Connect Discovery 1.0).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Discovery {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: String,
    pub(crate) token_endpoint: String,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
}

/// A sign-in that has begun. The browser keeps it in a cookie until the provider sends it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Login {
    state: Secret,
    nonce: Secret,
    verifier: Secret,
    /// The page's path and query to show then.
    pub(crate) to: String,
}

/// The answer of a token endpoint.
#[derive(Deserialize)]
pub(crate) struct Tokens {
    pub(crate) id_token: Option<String>,
    pub(crate) refresh_token: Option<String>,
}

/// What is read of an ID token.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Claims {
    iss: String,
    pub(crate) sub: String,
    aud: Audience,
    exp: f64,
    nonce: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// How the client proves who it is at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientAuth {
    /// The secret is in the header `Authorization`.
    Basic,
    /// The secret is in the form.
    Post,
}

/// Why an ID token is not believed.
pub(crate) type Unbelieved = &'static str;

// === impl Client ===

impl Client {
    /// The address at the provider to which the browser goes.
    pub(crate) fn authorize_url(&self, discovery: &Discovery, login: &Login) -> String {
        let scopes = self.scopes.iter().map(String::as_str);
        let scope = ["openid"].into_iter().chain(scopes).collect::<Vec<_>>();
        let query = Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.id)
            .append_pair("redirect_uri", &self.redirect_uri)
            .append_pair("scope", &scope.join(" "))
            .append_pair("state", login.state.reveal())
            .append_pair("nonce", login.nonce.reveal())
            .append_pair("code_challenge", &login.challenge())
            .append_pair("code_challenge_method", "S256")
            .finish();
        let endpoint = &discovery.authorization_endpoint;
        // RFC 6749, 3.1: the endpoint may have a query of its own.
        let joint = if endpoint.contains('?') { '&' } else { '?' };
        format!("{endpoint}{joint}{query}")
    }

    /// The form that trades a code for tokens.
    pub(crate) fn exchange_form(&self, code: &str, login: &Login) -> Vec<(&'static str, String)> {
        vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.to_owned()),
            ("redirect_uri", self.redirect_uri.clone()),
            ("client_id", self.id.clone()),
            ("code_verifier", login.verifier.reveal().to_owned()),
        ]
    }

    /// The form that trades a refresh token for new tokens.
    pub(crate) fn refresh_form(&self, refresh_token: &Secret) -> Vec<(&'static str, String)> {
        vec![
            ("grant_type", "refresh_token".to_owned()),
            ("refresh_token", refresh_token.reveal().to_owned()),
            ("client_id", self.id.clone()),
        ]
    }

    /// Checks that the ID token is of the issuer, for this client, and the answer to this sign-in.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn believe(&self, claims: &Claims, login: &Login) -> Result<(), Unbelieved> {
        self.is_for_us(claims)?;
        match &claims.nonce {
            Some(nonce) if login.nonce.is(&Secret::new(nonce)) => Ok(()),
            _ => Err("the ID token is not the answer to this sign-in: its nonce is another one"),
        }
    }

    /// Checks that a refreshed ID token is of the same user (OpenID Connect Core, 12.2).
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn believe_again(&self, claims: &Claims, sub: &str) -> Result<(), Unbelieved> {
        self.is_for_us(claims)?;
        match claims.sub == sub {
            true => Ok(()),
            false => Err("the refreshed ID token is of another user"),
        }
    }

    fn is_for_us(&self, claims: &Claims) -> Result<(), Unbelieved> {
        if claims.iss != self.issuer {
            return Err("the ID token is of another issuer");
        }
        let is_audience = match &claims.aud {
            Audience::One(one) => *one == self.id,
            Audience::Many(many) => many.contains(&self.id),
        };
        match is_audience {
            true => Ok(()),
            false => Err("the ID token is for another client"),
        }
    }
}

// === impl Discovery ===

impl Discovery {
    /// Checks that the document is the issuer's, and that secrets are sent over TLS only.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn check(&self, issuer: &str) -> Result<(), String> {
        if self.issuer != issuer {
            return Err(format!(
                "its configuration is that of the issuer {:?}: --oidc-issuer-url has to be equal, to the last slash",
                self.issuer
            ));
        }
        for (name, url) in [
            ("authorization_endpoint", &self.authorization_endpoint),
            ("token_endpoint", &self.token_endpoint),
        ] {
            if !url.starts_with("https://") || url.contains(|it: char| it.is_ascii_control()) {
                return Err(format!("its {name} {url:?} is not an https URL"));
            }
        }
        Ok(())
    }

    /// The means of the token endpoint. Without a list it is `client_secret_basic`, by the specification.
    pub(crate) fn client_auth(&self) -> ClientAuth {
        let methods = &self.token_endpoint_auth_methods_supported;
        let has = |name: &str| methods.iter().any(|it| it == name);
        match has("client_secret_post") && !has("client_secret_basic") {
            true => ClientAuth::Post,
            false => ClientAuth::Basic,
        }
    }
}

// === impl Login ===

impl Login {
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn begin(to: &str) -> anyhow::Result<Self> {
        Ok(Self {
            state: random(SECRET_BYTES)?,
            nonce: random(SECRET_BYTES)?,
            verifier: random(SECRET_BYTES)?,
            to: own_path(to).to_owned(),
        })
    }

    /// The value of the cookie.
    pub(crate) fn to_cookie(&self) -> String {
        let to = BASE64_URL_SAFE_NO_PAD.encode(&self.to);
        let [state, nonce, verifier] = [&self.state, &self.nonce, &self.verifier];
        let [state, nonce, verifier] = [state, nonce, verifier].map(Secret::reveal);
        format!("{state}.{nonce}.{verifier}.{to}")
    }

    /// Reads [`Self::to_cookie`]. `None`: it is malformed.
    pub(crate) fn of_cookie(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let mut secret = || parts.next().filter(|it| it.len() >= 43).map(Secret::new);
        let (state, nonce, verifier) = (secret()?, secret()?, secret()?);
        let to = BASE64_URL_SAFE_NO_PAD.decode(parts.next()?).ok()?;
        let to = String::from_utf8(to).ok()?;
        parts.next().is_none().then(|| Self {
            state,
            nonce,
            verifier,
            to: own_path(&to).to_owned(),
        })
    }

    /// Returns true if the provider's answer has the state of this sign-in.
    pub(crate) fn has_state(&self, state: &str) -> bool {
        self.state.is(&Secret::new(state))
    }

    fn challenge(&self) -> String {
        let verifier = self.verifier.reveal().as_bytes();
        BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier))
    }
}

// === impl Claims ===

impl Claims {
    /// Reads the claims of an ID token. `None`: it is not a JWT with these claims.
    pub(crate) fn of(token: &str) -> Option<Self> {
        serde_json::from_slice(&payload(token)?).ok()
    }

    /// When the token ends.
    pub(crate) fn until(&self) -> Option<Timestamp> {
        end(self.exp)
    }
}

/// When a token ends, if it is a JWT that says so. It need not be an ID token: service accounts have such tokens, too.
pub(crate) fn end_of(token: &str) -> Option<Timestamp> {
    #[derive(Deserialize)]
    struct End {
        exp: f64,
    }
    let claims: End = serde_json::from_slice(&payload(token)?).ok()?;
    end(claims.exp)
}

fn payload(token: &str) -> Option<Vec<u8>> {
    if token.len() > LONGEST_TOKEN {
        return None;
    }
    let mut parts = token.split('.');
    let (_, payload, _) = (parts.next()?, parts.next()?, parts.next()?);
    // RFC 7515: without padding. Some issuers pad.
    BASE64_URL_SAFE_NO_PAD
        .decode(payload.trim_end_matches('='))
        .ok()
}

/// RFC 7519: seconds, perhaps with a fraction.
fn end(exp: f64) -> Option<Timestamp> {
    Timestamp::from_second(exp as i64).ok()
}

/// A path of the page, or its first page: what is read as the address of another server is not followed.
pub(crate) fn own_path(to: &str) -> &str {
    let mut bytes = to.bytes();
    let begins = bytes.next() == Some(b'/') && !matches!(bytes.next(), Some(b'/' | b'\\'));
    let is_text = to
        .bytes()
        .all(|it| (0x21..0x7f).contains(&it) && it != b'\\');
    match begins && is_text && to.len() <= LONGEST_PATH {
        true => to,
        false => "/",
    }
}

#[cfg(test)]
mod tests;
