//! The two addresses of a sign-in at an OpenID provider. Browsers are sent there and back; the page is told by one word what went wrong.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, LOCATION, SET_COOKIE};
use http::request::Parts;
use http::{HeaderValue, StatusCode};

use super::parameter;
use crate::answers::Way;
use crate::entry::Users;
use crate::keep::Refresh;
use crate::metrics::SignIn;
use crate::oidc::{Login, Provider, ProviderError};
use crate::server::Server;
use crate::sessions::Secret;
use crate::sign_in::{NotSignedIn, Token, sign_in};

/// A sign-in takes no longer, in seconds.
const LOGIN_LIVES: u32 = 600;

/// Why a sign-in failed: the word of the page's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failed {
    /// The provider says that the user, or an admin of it, did not consent.
    Denied,
    /// The browser has no sign-in under way, or another one.
    Expired,
    /// The provider refuses the code, or its answer is not believed.
    Refused,
    /// The provider does not answer.
    Unavailable,
    /// The hub does not accept the provider's token.
    Untrusted,
}

// === impl Failed ===

impl Failed {
    fn word(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Refused => "failed",
            Self::Unavailable => "unavailable",
            Self::Untrusted => "untrusted",
        }
    }

    fn of(error: &ProviderError) -> Self {
        match error {
            ProviderError::Unavailable(_) => Self::Unavailable,
            ProviderError::Refused(_) => Self::Refused,
        }
    }
}

/// `GET /oidc/start?to=PATH`
pub(super) async fn start(State(server): State<Arc<Server>>, request: Request) -> Response {
    let Some((users, provider)) = server.entry.provider() else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let (parts, _) = request.into_parts();
    let to = parameter(&parts.uri, "to");
    let Ok(login) = Login::begin(to.as_deref().unwrap_or("/")) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    match provider.authorize_url(&login).await {
        Ok(url) => {
            let cookie = users.login.set_for(&login.to_cookie(), LOGIN_LIVES);
            redirect(&url, [cookie])
        }
        Err(error) => {
            tracing::warn!(%error, "a sign-in could not begin");
            server.metrics.signed_in("oidc", SignIn::Failed);
            back(Failed::of(&error), users)
        }
    }
}

/// `GET /oidc/callback?code=CODE&state=STATE`
pub(super) async fn callback(State(server): State<Arc<Server>>, request: Request) -> Response {
    let Some((users, provider)) = server.entry.provider() else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let (parts, _) = request.into_parts();
    match signed_in(&server, users, provider, &parts).await {
        Ok((cookie, to)) => {
            server.metrics.signed_in("oidc", SignIn::Succeeded);
            redirect(
                &to,
                [server.cookie.set(cookie.reveal()), users.login.removed()],
            )
        }
        Err(failed) => {
            let result = match failed {
                Failed::Denied | Failed::Expired | Failed::Untrusted => SignIn::Refused,
                Failed::Refused | Failed::Unavailable => SignIn::Failed,
            };
            server.metrics.signed_in("oidc", result);
            back(failed, users)
        }
    }
}

async fn signed_in(
    server: &Arc<Server>,
    users: &Users,
    provider: &Provider,
    parts: &Parts,
) -> Result<(Secret, String), Failed> {
    let login = users.login.read(&parts.headers).and_then(Login::of_cookie);
    let login = login.ok_or(Failed::Expired)?;
    let state = parameter(&parts.uri, "state").unwrap_or_default();
    if !login.has_state(&state) {
        return Err(Failed::Expired);
    }
    if let Some(error) = parameter(&parts.uri, "error") {
        tracing::info!(error, "the OpenID provider refuses a sign-in");
        return Err(match error.as_str() {
            "server_error" | "temporarily_unavailable" => Failed::Unavailable,
            _ => Failed::Denied,
        });
    }
    let code = parameter(&parts.uri, "code").ok_or(Failed::Refused)?;
    let exchanged = provider.exchange(&code, &login).await.map_err(|error| {
        tracing::warn!(%error, "a sign-in failed");
        Failed::of(&error)
    })?;
    let sub = exchanged.claims.sub.clone();
    let token = Token {
        text: Secret::new(exchanged.id_token),
        way: Way::Oidc,
        until: exchanged.claims.until(),
        refresh: exchanged.refresh_token.map(|token| Refresh { token, sub }),
    };
    let before = server.cookie.read(&parts.headers);
    match sign_in(server, users, token, before).await {
        Ok(cookie) => Ok((cookie, login.to)),
        Err(NotSignedIn::NotAccepted) => {
            let issuer = &provider.client.issuer;
            let client = &provider.client.id;
            tracing::warn!(
                issuer,
                client,
                "the hub does not accept an ID token: its API server has to trust this issuer, and this client ID as the audience"
            );
            Err(Failed::Untrusted)
        }
        Err(NotSignedIn::Failed(refused)) => {
            let why = refused.0.message.as_str();
            tracing::warn!(why, "a sign-in failed: the hub does not answer");
            Err(Failed::Unavailable)
        }
    }
}

/// To the page, which says what went wrong.
fn back(failed: Failed, users: &Users) -> Response {
    redirect(
        &format!("/#sign-in={}", failed.word()),
        [users.login.removed()],
    )
}

fn redirect(to: &str, cookies: impl IntoIterator<Item = String>) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    let Ok(to) = HeaderValue::from_str(to) else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    headers.insert(LOCATION, to);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for cookie in cookies {
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            headers.append(SET_COOKIE, cookie);
        }
    }
    response
}
