//! What a changed placement would select, and the change.

use std::sync::Arc;

use axum::Extension;
use axum::Router;
use axum::extract::{Path, Request};
use axum::response::Response;
use axum::routing::post;
use berth_admin::answers::placement_of;
use berth_api::Placement;
use http::StatusCode;

use super::{answer, body_within};
use crate::answers::PlacementRequest;
use crate::app::App;
use crate::respond::{Refused, json};
use crate::rights::Rbac;
use crate::screens::placement::{another, mistaken, what_if};
use crate::server::Server;
use crate::stream::placements::explained;

/// Upper bound on the bytes of a changed placement.
const LARGEST_PLACEMENT: usize = 256 << 10;

/// The routes.
pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new()
        .route(
            "/api/placements/{namespace}/{name}/what-if",
            post(asked_what_if),
        )
        .route("/api/placements/{namespace}/{name}/replace", post(replace))
}

async fn asked_what_if(
    Extension(app): Extension<Arc<App>>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refused> {
    let asked: PlacementRequest = body_within(request.into_body(), LARGEST_PLACEMENT).await?;
    let placement = match read(&asked.yaml, &namespace, &name) {
        Ok(placement) => placement,
        Err(mistakes) => return Ok(json(&mistaken(mistakes))),
    };
    let _asking = app.asking.acquire().await;
    let facts = app.last_facts.of(&app.hub, &placement).await?;
    Ok(json(&what_if(&explained(facts, placement).await?)))
}

async fn replace(
    Extension(app): Extension<Arc<App>>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refused> {
    let asked: PlacementRequest = body_within(request.into_body(), LARGEST_PLACEMENT).await?;
    let placement = read(&asked.yaml, &namespace, &name).map_err(|mistakes| {
        let code = StatusCode::UNPROCESSABLE_ENTITY;
        Refused::new(code, "Invalid", mistakes.join("\n"))
    })?;
    let _asking = app.asking.acquire().await;
    let dry_run = asked.dry_run;
    let done = app.hub.replace_placement(&placement, dry_run).await;
    let command = "kubectl replace -f placement.yaml".to_owned();
    let right = Rbac::placements(&namespace).into();
    answer(&app, done, right, dry_run, command).await
}

fn read(yaml: &str, namespace: &str, name: &str) -> Result<Placement, Vec<String>> {
    let placement = placement_of(yaml, namespace)?;
    match another(&placement, namespace, name) {
        none if none.is_empty() => Ok(placement),
        mistakes => Err(mistakes),
    }
}
