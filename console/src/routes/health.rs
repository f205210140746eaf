//! The button of the screen Health.

use std::sync::Arc;

use axum::Extension;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Deserialize;

use super::body;
use crate::app::App;
use crate::health::{PAUSE, Wish};
use crate::respond::Refused;

/// The body: nothing can be chosen.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LookRequest {}

/// `POST /api/health`: runs the checks again. Their result is an event of the stream.
pub(super) async fn look(
    Extension(app): Extension<Arc<App>>,
    request: Request,
) -> Result<Response, Refused> {
    let LookRequest {} = body(request.into_body()).await?;
    match app.health.look() {
        Wish::Begun | Wish::Running => Ok(StatusCode::NO_CONTENT.into_response()),
        Wish::TooSoon(left) => {
            let why = format!("the checks run at most every {} s", PAUSE.as_secs());
            let refused = Refused::new(StatusCode::TOO_MANY_REQUESTS, "TooSoon", why);
            Err(refused.remedy(format!("wait {} s", left.as_secs() + 1)))
        }
    }
}
