//! ManifestWorks and ManifestWorkReplicaSets: their YAML, and actions on rollouts.

use std::sync::Arc;

use axum::Extension;
use axum::Router;
use axum::extract::{Path, Request};
use axum::response::Response;
use axum::routing::{get, post};
use berth_admin::answers::RolloutAction;
use berth_api::groups;
use berth_hub::object_path;
use http::StatusCode;

use super::{body, carried_out, no_such, of_action, yaml_of};
use crate::answers::{Act, ActionRequest};
use crate::app::App;
use crate::respond::Refused;
use crate::screens::offers::Target;
use crate::server::Server;

/// The routes.
pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new()
        .route("/api/works/{cluster}/{name}/yaml", get(work_yaml))
        .route("/api/replicasets/{namespace}/{name}/yaml", get(set_yaml))
        .route("/api/replicasets/{namespace}/{name}/{act}", post(act))
}

async fn work_yaml(
    Extension(app): Extension<Arc<App>>,
    Path((cluster, name)): Path<(String, String)>,
) -> Result<Response, Refused> {
    let kind = (groups::WORK, "v1", groups::MANIFEST_WORKS);
    yaml(&app, kind, &cluster, &name).await
}

async fn set_yaml(
    Extension(app): Extension<Arc<App>>,
    Path((namespace, name)): Path<(String, String)>,
) -> Result<Response, Refused> {
    let kind = (groups::WORK, "v1alpha1", groups::MANIFEST_WORK_REPLICA_SETS);
    yaml(&app, kind, &namespace, &name).await
}

async fn yaml(
    app: &App,
    kind: (&str, &str, &str),
    namespace: &str,
    name: &str,
) -> Result<Response, Refused> {
    let _asking = app.asking.acquire().await;
    match app.hub.read(object_path(kind, namespace, name)).await? {
        Some(value) => yaml_of(value),
        None => Err(Refused::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            format!("{}.{} {name:?} not found", kind.2, kind.0),
        )),
    }
}

async fn act(
    Extension(app): Extension<Arc<App>>,
    Path((namespace, name, act)): Path<(String, String, String)>,
    request: Request,
) -> Result<Response, Refused> {
    let (act, action) = match act.as_str() {
        "pause" => (Act::Pause, RolloutAction::Pause),
        "resume" => (Act::Resume, RolloutAction::Resume),
        "approve" => (Act::Approve, RolloutAction::Approve),
        _ => return Err(no_such().await),
    };
    let asked: ActionRequest = body(request.into_body()).await?;
    let _asking = app.asking.acquire().await;
    let (hub, dry_run) = (app.hub.clone(), asked.dry_run);
    let of = (namespace.clone(), name.clone());
    let done = carried_out(async move || {
        let shown = asked.shown.as_deref();
        hub.act_on_rollout(action, (&of.0, &of.1), shown, dry_run)
            .await
    });
    let target = Target::ReplicaSet(&namespace, &name);
    of_action(&app, act, target, dry_run, done.await).await
}
