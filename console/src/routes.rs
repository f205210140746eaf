//! The routes. A request passes the guard, and for all of `/api` but the sign-in the session, before anything else is looked at.

mod health;
mod oidc;
mod placements;
mod rights;
mod session;
mod sets;
mod works;

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use berth_admin::answers::{Action, Done, Failure};
use berth_api::groups;
use berth_hub::object_path;
use futures::future::LocalBoxFuture;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, Uri};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::answers::{Act, ActionAnswer, ActionRequest, Text, YamlAnswer};
use crate::app::App;
use crate::page;
use crate::respond::{Refused, json};
use crate::rights::Right;
use crate::screens::offers::{self, Target};
use crate::screens::{details, events};
use crate::server::Server;
use crate::sessions::{NoStream, SessionId};
use crate::stream::{self, requests::RequestsScreen};

/// Upper bound on the bytes of a body.
const LARGEST_REQUEST: usize = 4096;

/// A request is answered within this time: several calls of the hub, each of which has a deadline of its own, may take longer.
const LONGEST_ANSWER: Duration = Duration::from_secs(60);

/// Upper bound on the bytes of the YAML of an object.
const LARGEST_YAML: usize = 1 << 20;

/// Begins an action.
type Begin = Box<dyn FnOnce() -> LocalBoxFuture<'static, Result<Done, Failure>> + Send>;

/// The routes of a console.
pub(crate) fn router(server: Arc<Server>) -> Router {
    let signed_in = Router::new()
        .route(
            "/api/session",
            get(session::shown).delete(session::sign_out),
        )
        .route("/api/stream", get(streamed))
        .route("/api/health", post(health::look))
        .route("/api/requests", get(requests))
        .route("/api/rights", get(rights::shown))
        .route("/api/clusters/{name}", get(cluster))
        .route("/api/clusters/{name}/yaml", get(yaml))
        .route("/api/clusters/{name}/events", get(cluster_events))
        .route("/api/clusters/{name}/{act}", post(act))
        .merge(placements::routes())
        .merge(sets::routes())
        .merge(works::routes())
        .layer(from_fn(within_read_only))
        .layer(from_fn_with_state(Arc::clone(&server), with_session));
    Router::new()
        .merge(signed_in)
        .route("/api/session", post(session::begin))
        .route("/api/sign-in", get(session::ways))
        .route("/oidc/start", get(oidc::start))
        .route("/oidc/callback", get(oidc::callback))
        .route("/api", get(no_such))
        .route("/api/{*rest}", get(no_such).post(no_such))
        .route("/assets/{name}", get(asset))
        .fallback(index)
        .method_not_allowed_fallback(not_allowed)
        .layer(from_fn_with_state(Arc::clone(&server), guarded))
        .with_state(server)
}

/// Refuses requests that are not of a page of this server, and protects each response.
async fn guarded(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let mut response = match server.guard.check(&parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(foreign) => Refused::from(foreign).into_response(),
    };
    page::protect(response.headers_mut());
    response
}

/// Refuses requests without a session. The others are answered for its user.
async fn with_session(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match server.session_of(&parts) {
        Ok((session, user)) => {
            parts.extensions.insert(session);
            parts.extensions.insert(Arc::clone(&user.app));
            let ended = user.app.tasks.end.clone();
            parts.extensions.insert(user);
            // What the request waits for may have ended with the session.
            tokio::select! {
                response = next.run(Request::from_parts(parts, body)) => response,
                () = ended.cancelled() => server.not_signed_in().into_response(),
                () = sleep(LONGEST_ANSWER) => late().into_response(),
            }
        }
        Err(refused) => refused.into_response(),
    }
}

/// The refusal of a request that has lasted for [`LONGEST_ANSWER`].
fn late() -> Refused {
    let why = format!(
        "the hub has not answered within {} s: what was asked for may still be done",
        LONGEST_ANSWER.as_secs()
    );
    let refused = Refused::new(StatusCode::GATEWAY_TIMEOUT, "HubAway", why);
    refused.remedy("check that the hub runs and that this machine reaches it; then look again")
}

/// Under `--read-only`, refuses all that could write.
async fn within_read_only(
    Extension(app): Extension<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    if app.settings.read_only && !writes_nothing(request.method(), request.uri().path()) {
        let refused = Refused::new(StatusCode::FORBIDDEN, "ReadOnly", offers::READ_ONLY);
        let remedy = "start berth console without --read-only";
        return refused.remedy(remedy).into_response();
    }
    next.run(request).await
}

/// Returns true for reads, for questions that have a body, and for the end of a session of this server.
fn writes_nothing(method: &Method, path: &str) -> bool {
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    match (method.as_str(), &segments[..]) {
        ("GET" | "HEAD", _) => true,
        ("DELETE", ["api", "session"]) => true,
        // The checks try no writes then.
        ("POST", ["api", "health"]) => true,
        ("POST", ["api", "placements", _, _, "what-if"]) => true,
        _ => false,
    }
}

async fn index(uri: Uri) -> Response {
    match uri.path().starts_with("/assets/") {
        true => StatusCode::NOT_FOUND.into_response(),
        false => page::index(),
    }
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    page::asset(&name, &headers).unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
}

async fn no_such() -> Refused {
    Refused::new(
        StatusCode::NOT_FOUND,
        "NoSuchRoute",
        "the console has no such route",
    )
}

async fn not_allowed() -> Refused {
    let why = "the console does not serve this method here";
    Refused::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", why)
}

/// Returns the session, which [`with_session`] has found.
fn session_of(parts: &Parts) -> Result<SessionId, Refused> {
    let session = parts.extensions.get::<SessionId>().copied();
    session.ok_or_else(|| Refused::not_signed_in("reload the page"))
}

/// Reads a body of JSON.
async fn body<T: DeserializeOwned>(body: Body) -> Result<T, Refused> {
    body_within(body, LARGEST_REQUEST).await
}

async fn body_within<T: DeserializeOwned>(body: Body, largest: usize) -> Result<T, Refused> {
    let bytes = to_bytes(body, largest).await.map_err(|_| {
        let why = format!("the body cannot be received, or has more than {largest} bytes");
        Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "TooLarge", why)
    })?;
    let wrong = |error: &dyn Display| {
        let why = format!("the body cannot be read: {error}");
        Refused::new(StatusCode::BAD_REQUEST, "BadBody", why)
    };
    let text = str::from_utf8(&bytes).map_err(|error| wrong(&error))?;
    serde_json::from_str(text).map_err(|error| wrong(&error))
}

/// A parameter of the query that is there once.
fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let query = uri.query().unwrap_or_default();
    let mut values = form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
    let value = values.next()?.1.into_owned();
    values.next().is_none().then_some(value)
}

async fn streamed(
    State(server): State<Arc<Server>>,
    Extension(app): Extension<Arc<App>>,
    request: Request,
) -> Result<Response, Refused> {
    let (parts, _) = request.into_parts();
    let session = session_of(&parts)?;
    let screen = stream::begin(&app, parts.uri.query().unwrap_or_default());
    let begun = stream::stream(&server, session, screen);
    begun.map_err(|refusal| match refusal {
        NoStream::SignedOut => server.not_signed_in(),
        NoStream::OfSession | NoStream::OfAll => {
            let why = "too many streams are open";
            let code = StatusCode::TOO_MANY_REQUESTS;
            Refused::new(code, "TooManyStreams", why).remedy("close other tabs of this console")
        }
    })
}

async fn requests(Extension(app): Extension<Arc<App>>) -> Result<Response, Refused> {
    let _asking = app.asking.acquire().await;
    let screen = RequestsScreen::new(Arc::clone(&app));
    screen.loaded().await;
    Ok(json(&screen.now().await))
}

async fn cluster(
    Extension(app): Extension<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Response, Refused> {
    let _asking = app.asking.acquire().await;
    Ok(json(&stream::cluster::answer(&app, &name).await?))
}

async fn yaml(
    Extension(app): Extension<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Response, Refused> {
    let _asking = app.asking.acquire().await;
    let path = object_path((groups::CLUSTER, "v1", groups::MANAGED_CLUSTERS), "", &name);
    let cluster = app.hub.read(path).await?;
    yaml_of(cluster.ok_or_else(|| stream::cluster::not_found(&name))?)
}

/// The YAML of an object, as kubectl shows it.
fn yaml_of(mut value: Value) -> Result<Response, Refused> {
    if let Some(metadata) = value["metadata"].as_object_mut() {
        // As kubectl leaves it out.
        metadata.remove("managedFields");
    }
    let yaml = serde_saphyr::to_string(&value)
        .map_err(|error| Refused::new(StatusCode::BAD_GATEWAY, "Unreadable", error.to_string()))?;
    let (yaml, cut) = match berth_api::text::cut_bytes(&yaml, LARGEST_YAML) {
        cut if cut.len() < yaml.len() => (cut, "\n# The rest is left out: kubectl shows it.\n"),
        whole => (whole, ""),
    };
    let yaml = format!("{}{cut}", berth_rules::display::Lines(yaml));
    Ok(json(&YamlAnswer { yaml }))
}

async fn cluster_events(
    Extension(app): Extension<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Response, Refused> {
    let _asking = app.asking.acquire().await;
    let path = details::events_path(&name, events::MOST_READ);
    let list = app.hub.read(path).await;
    let answer = match list {
        Ok(list) => events::events(&list.unwrap_or_default()),
        Err(failure) if failure.code == 403 => {
            let mut none = events::events(&serde_json::Value::Null);
            let why = format!("Events cannot be shown: {}", failure.message);
            none.notes.push(why.into());
            none
        }
        Err(failure) => return Err(failure.into()),
    };
    Ok(json(&answer))
}

async fn act(
    Extension(app): Extension<Arc<App>>,
    Path((name, act)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refused> {
    let (act, action) = match act.as_str() {
        "accept" => (Act::Accept, Action::Accept),
        "deny" => (Act::Deny, Action::Deny),
        "denyNow" => (Act::DenyNow, Action::DenyNow),
        "cordon" => (Act::Cordon, Action::Cordon),
        "uncordon" => (Act::Uncordon, Action::Uncordon),
        _ => return Err(no_such().await),
    };
    let asked: ActionRequest = body(request.into_body()).await?;
    let _asking = app.asking.acquire().await;
    let (hub, of, dry_run) = (app.hub.clone(), name.clone(), asked.dry_run);
    let done = carried_out(async move || hub.act(action, &of, dry_run).await).await;
    of_action(&app, act, Target::Cluster(&name), dry_run, done).await
}

/// Answers with what an action did, or why it did not.
async fn of_action(
    app: &App,
    act: Act,
    target: Target<'_>,
    dry_run: bool,
    done: Result<Done, Failure>,
) -> Result<Response, Refused> {
    let done = match done {
        Ok(done) => done,
        Err(failure) => {
            let is_refused = failure.code == 403;
            let refused = Refused::from(failure);
            if !is_refused {
                return Err(refused);
            }
            app.rights.forget();
            let missing = app.rights.missing_for(act, target).await;
            return Err(refused.missing(missing));
        }
    };
    Ok(acted(done, dry_run, act.command(target)))
}

/// The answer of an action.
fn acted(done: Done, dry_run: bool, command: String) -> Response {
    let texts = |lines: Vec<String>| lines.into_iter().map(Text::from).collect();
    json(&ActionAnswer {
        done: texts(done.lines),
        warnings: texts(done.notes),
        dry_run,
        command: command.into(),
        shown: done.offer.map(Text::from),
    })
}

/// The answer of an action that needs a right. After a refusal, what the user lacks is asked anew.
async fn answer(
    app: &App,
    done: Result<Done, Failure>,
    right: Right,
    dry_run: bool,
    command: String,
) -> Result<Response, Refused> {
    match done {
        Ok(done) => Ok(acted(done, dry_run, command)),
        Err(failure) if failure.code == 403 => {
            app.rights.forget();
            let missing = app.rights.lacks(right).await.ok().flatten();
            Err(Refused::from(failure).missing(missing))
        }
        Err(failure) => Err(failure.into()),
    }
}

/// The commands' futures stay on the thread that they began on, so each gets one.
async fn carried_out(
    action: impl AsyncFnOnce() -> Result<Done, Failure> + Send + 'static,
) -> Result<Done, Failure> {
    on_one_thread(Box::new(move || Box::pin(action()))).await
}

/// Compiled once for all actions.
async fn on_one_thread(action: Begin) -> Result<Done, Failure> {
    let runtime = Handle::current();
    let acted = spawn_blocking(move || runtime.block_on(action()));
    acted.await.unwrap_or_else(|error| {
        Err(Failure {
            message: format!("the action was stopped: {error}"),
            code: 500,
            reason: "Failed".to_owned(),
        })
    })
}

#[cfg(test)]
mod tests;
