//! Sign-in and sign-out.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::SET_COOKIE;
use http::{HeaderValue, StatusCode};

use super::{body_within, session_of};
use crate::answers::{SessionAnswer, SignInRequest, Text, Way};
use crate::app::App;
use crate::entry::{Entry, Users};
use crate::metrics::SignIn;
use crate::oidc;
use crate::respond::{Refused, json};
use crate::server::{Server, Visitor};
use crate::sessions::Secret;
use crate::sign_in::{NotSignedIn, Token, sign_in};

/// Upper bound on the bytes of a sign-in. Tokens of providers with many groups have some kilobytes.
const LARGEST_SIGN_IN: usize = 24 << 10;

/// `GET /api/sign-in`
pub(super) async fn ways(State(server): State<Arc<Server>>) -> Response {
    json(&server.entry.answer())
}

/// `POST /api/session`
pub(super) async fn begin(
    State(server): State<Arc<Server>>,
    request: Request,
) -> Result<Response, Refused> {
    let (parts, body) = request.into_parts();
    let asked: SignInRequest = body_within(body, LARGEST_SIGN_IN).await?;
    let before = server.cookie.read(&parts.headers);
    let (way, signed_in) = match (&server.entry, asked.code, asked.token) {
        (Entry::Code(user), Some(code), None) => {
            ("code", by_code(&server, user, before, Secret::new(code)))
        }
        (Entry::Users(users), None, Some(token)) if users.takes_tokens() => {
            let token = Secret::new(token.trim());
            ("token", by_token(&server, users, before, token).await)
        }
        _ => {
            let why = "this console has no such way to sign in: GET /api/sign-in names the ways";
            return Err(Refused::new(StatusCode::BAD_REQUEST, "NoSuchWay", why));
        }
    };
    let result = match &signed_in {
        Ok(_) => SignIn::Succeeded,
        Err(refused) if refused.0.code == 401 => SignIn::Refused,
        Err(_) => SignIn::Failed,
    };
    server.metrics.signed_in(way, result);
    with_cookie(&server.cookie.set(signed_in?.reveal()))
}

fn by_code(
    server: &Server,
    user: &Arc<App>,
    before: Option<&str>,
    code: Secret,
) -> Result<Secret, Refused> {
    let traded = server.sessions().trade(&code, std::time::Instant::now());
    if traded.is_err() {
        return Err(Refused::new(
            StatusCode::UNAUTHORIZED,
            "WrongCode",
            "the code is wrong, was used before, or is older than 2 minutes",
        )
        .remedy(server.entry.remedy()));
    }
    let user = Visitor::new(Arc::clone(user), Way::Code);
    let begun = server.begin(before, user, "");
    let (_, cookie) = begun.map_err(Refused::failed)?;
    Ok(cookie)
}

async fn by_token(
    server: &Arc<Server>,
    users: &Users,
    before: Option<&str>,
    text: Secret,
) -> Result<Secret, Refused> {
    let until = oidc::end_of(text.reveal());
    let token = Token {
        text,
        way: Way::Token,
        until,
        refresh: None,
    };
    let signed_in = sign_in(server, users, token, before).await;
    signed_in.map_err(|error| match error {
        NotSignedIn::NotAccepted => Refused::new(
            StatusCode::UNAUTHORIZED,
            "WrongToken",
            "the hub does not accept this token: it is wrong, or has ended",
        )
        .remedy("make a new one, for example: kubectl create token NAME --namespace NAMESPACE"),
        NotSignedIn::Failed(refused) => *refused,
    })
}

/// `GET /api/session`
pub(super) async fn shown(
    Extension(app): Extension<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
) -> Result<Response, Refused> {
    let _asking = app.asking.acquire().await;
    let (user, groups) = match app.rights.user().await? {
        Some((user, groups)) => (Some(Text::line(&user)), groups),
        None => (None, Vec::new()),
    };
    Ok(json(&SessionAnswer {
        user,
        groups: groups.iter().map(|it| Text::line(it)).collect(),
        way: visitor.way,
        until: visitor.until(),
        server: Text::line(app.hub.server()),
        context: app.settings.context.as_deref().map(Text::line),
        read_only: app.settings.read_only,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }))
}

/// `DELETE /api/session`
pub(super) async fn sign_out(
    State(server): State<Arc<Server>>,
    request: Request,
) -> Result<Response, Refused> {
    let (parts, _) = request.into_parts();
    server.end(session_of(&parts)?);
    with_cookie(&server.cookie.removed())
}

fn with_cookie(cookie: &str) -> Result<Response, Refused> {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let value = HeaderValue::from_str(cookie).map_err(Refused::failed)?;
    response.headers_mut().insert(SET_COOKIE, value);
    Ok(response)
}
