//! Sign-in, sign-out, and who is signed in.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::{body, session_of};
use crate::answers::{CodeRequest, SessionAnswer, Text};
use crate::app::App;
use crate::respond::{Refused, json};
use crate::server::Server;
use crate::sessions::Secret;

/// `POST /api/session`
pub(super) async fn sign_in(
    State(server): State<Arc<Server>>,
    request: Request,
) -> Result<Response, Refused> {
    let asked: CodeRequest = body(request.into_body()).await?;
    let internal = |error: anyhow::Error| {
        Refused::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "Failed",
            error.to_string(),
        )
    };
    let traded = server.trade(&Secret::new(asked.code)).map_err(internal)?;
    let Some(cookie) = traded else {
        return Err(Refused::new(
            StatusCode::UNAUTHORIZED,
            "WrongCode",
            "the code is wrong, was used before, or is older than 2 minutes",
        )
        .remedy(
            "press Enter in the terminal of berth console, and open the address that it prints",
        ));
    };
    let value = format!(
        "{}={}; Path=/; HttpOnly; SameSite=Strict",
        server.cookie,
        cookie.reveal()
    );
    let mut response = StatusCode::NO_CONTENT.into_response();
    let value = HeaderValue::from_str(&value).map_err(|error| internal(error.into()))?;
    response.headers_mut().insert(SET_COOKIE, value);
    Ok(response)
}

/// `GET /api/session`
pub(super) async fn shown(Extension(app): Extension<Arc<App>>) -> Result<Response, Refused> {
    let _asking = app.asking.acquire().await;
    let (user, groups) = match app.rights.user().await? {
        Some((user, groups)) => (Some(Text::line(&user)), groups),
        None => (None, Vec::new()),
    };
    Ok(json(&SessionAnswer {
        user,
        groups: groups.iter().map(|it| Text::line(it)).collect(),
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
    server.sign_out(session_of(&parts)?);
    let mut response = StatusCode::NO_CONTENT.into_response();
    let value = format!(
        "{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0",
        server.cookie
    );
    if let Ok(value) = HeaderValue::from_str(&value) {
        response.headers_mut().insert(SET_COOKIE, value);
    }
    Ok(response)
}

/// Returns the value of a cookie.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let values = headers.get_all(COOKIE).iter();
    let pairs = values
        .filter_map(|it| it.to_str().ok())
        .flat_map(|it| it.split(';'));
    let mut own = pairs.filter_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='));
    own.next()
}
