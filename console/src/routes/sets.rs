//! Clusters that are moved into a set or labelled, and sets that are bound and unbound.

use std::sync::Arc;

use axum::Extension;
use axum::Router;
use axum::extract::{Path, Request};
use axum::response::Response;
use axum::routing::{get, post};
use berth_rules::Permission;
use berth_rules::display::{LastArgument, ShellWord};

use super::{answer, body, carried_out};
use crate::answers::{ActionRequest, LabelRequest, MoveRequest};
use crate::app::App;
use crate::respond::{Refused, json};
use crate::rights::{Rbac, Right};
use crate::server::Server;
use crate::stream::sets::SetsScreen;

/// The routes.
pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new()
        .route("/api/sets", get(sets))
        .route("/api/clusters/{name}/set", post(moved))
        .route("/api/clusters/{name}/label", post(labelled))
        .route("/api/sets/{set}/bindings/{namespace}/bind", post(bind))
        .route("/api/sets/{set}/bindings/{namespace}/unbind", post(unbind))
}

async fn sets(Extension(app): Extension<Arc<App>>) -> Response {
    let _asking = app.asking.acquire().await;
    let screen = SetsScreen::new(Arc::clone(&app));
    screen.loaded().await;
    json(&screen.now())
}

async fn moved(
    Extension(app): Extension<Arc<App>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    let asked: MoveRequest = body(request.into_body()).await?;
    let _asking = app.asking.acquire().await;
    let (hub, of, set, dry_run) = (
        app.hub.clone(),
        name.clone(),
        asked.set.clone(),
        asked.dry_run,
    );
    let done = carried_out(async move || hub.move_to_set(&of, &set, dry_run).await).await;
    let command = format!(
        "berth clusterset set {} --clusters {}",
        ShellWord(&asked.set),
        ShellWord(&name)
    );
    let right = Right::gate(Permission::join, Some(&asked.set));
    answer(&app, done, right, asked.dry_run, command).await
}

async fn labelled(
    Extension(app): Extension<Arc<App>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    let asked: LabelRequest = body(request.into_body()).await?;
    let _asking = app.asking.acquire().await;
    let words: Vec<_> = asked.labels.iter().map(|it| ShellWord(it)).collect();
    let words: Vec<_> = words.iter().map(ToString::to_string).collect();
    let command = format!(
        "berth label {} {} --overwrite",
        ShellWord(&name),
        words.join(" ")
    );
    let (hub, of, dry_run) = (app.hub.clone(), name.clone(), asked.dry_run);
    let labels = asked.labels;
    let done = carried_out(async move || hub.label(&of, &labels, dry_run).await).await;
    answer(
        &app,
        done,
        Rbac::change(Some(&name)).into(),
        dry_run,
        command,
    )
    .await
}

async fn bind(
    Extension(app): Extension<Arc<App>>,
    Path((set, namespace)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refused> {
    let asked: ActionRequest = body(request.into_body()).await?;
    let _asking = app.asking.acquire().await;
    let done = app.hub.bind(&set, &namespace, asked.dry_run).await;
    let command = command_of("bind", &set, &namespace);
    let right = Right::gate(Permission::bind, Some(&set));
    answer(&app, done, right, asked.dry_run, command).await
}

async fn unbind(
    Extension(app): Extension<Arc<App>>,
    Path((set, namespace)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refused> {
    let asked: ActionRequest = body(request.into_body()).await?;
    let _asking = app.asking.acquire().await;
    let done = app.hub.unbind(&set, &namespace, asked.dry_run).await;
    let command = command_of("unbind", &set, &namespace);
    let right = Right::gate(Permission::bind, Some(&set));
    answer(&app, done, right, asked.dry_run, command).await
}

fn command_of(word: &str, set: &str, namespace: &str) -> String {
    let namespace = ShellWord(namespace);
    format!(
        "berth clusterset {word} --namespace {namespace} {}",
        LastArgument(set)
    )
}
