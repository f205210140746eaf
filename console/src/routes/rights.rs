//! What the user may do.

use std::sync::Arc;

use axum::Extension;
use axum::extract::Request;
use axum::response::Response;
use futures::{StreamExt, stream};
use http::StatusCode;

use super::parameter;
use crate::answers::{RightAnswer, RightsAnswer};
use crate::app::App;
use crate::respond::{Refused, json};
use crate::rights::Right;
use crate::screens::rights;

/// Upper bound on the reviews that are asked at the same time.
const AT_ONCE: usize = 4;

/// `GET /api/rights?namespace=NAMESPACE`
pub(super) async fn shown(
    Extension(app): Extension<Arc<App>>,
    request: Request,
) -> Result<Response, Refused> {
    let namespace = parameter(request.uri(), "namespace").unwrap_or_default();
    let wrong = berth_api::names::dns1123_label(&namespace);
    if !namespace.is_empty() && !wrong.is_empty() {
        let why = format!("this is no name of a namespace: {}", wrong.join(", "));
        return Err(Refused::new(StatusCode::BAD_REQUEST, "BadNamespace", why));
    }
    let _asking = app.asking.acquire().await;
    let fleet = asked(&app, rights::fleet()).await;
    let within = asked(&app, rights::within(&namespace)).await;
    Ok(json(&RightsAnswer { fleet, within }))
}

async fn asked(app: &App, rights: Vec<(&'static str, Right)>) -> Vec<RightAnswer> {
    let asked = rights.into_iter().map(|(what, right)| async move {
        let lacks = app.rights.lacks(right).await;
        rights::answer(what, lacks)
    });
    // The closure must not live while they are asked.
    let asked: Vec<_> = asked.collect();
    stream::iter(asked).buffered(AT_ONCE).collect().await
}
