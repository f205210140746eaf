//! OCM's debug endpoint of placements, with the reasons for all clusters.
//!
//! # Guarantees
//! - A caller needs a token of the hub, the permission for the path (a non-resource URL), and the permission to get or create placements in
//!   the namespace. Permissions are checked before anything about the placement is revealed.
//! - The hub is read for each request with the server's own account. Nothing is kept. At most [`AT_ONCE`] requests are worked on at a
//!   time, each for at most [`LONGEST`]; a body is at most [`LARGEST`] bytes.

mod answer;

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use berth_api::{Placement, groups, names};
use berth_hub::HubApi;
use berth_serve::door::{Access, Authority, Caller, ResourceAccess, bearer};
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use self::answer::Answer;
use super::served::{explain_placement, stored_placement};

/// The prefix of the paths.
const PREFIX: &str = "/debug/placements/";

/// Byte bound of a body, as in OCM.
const LARGEST: usize = 1 << 20;

/// Limit on requests that are worked on at a time.
const AT_ONCE: usize = 4;

/// Timeout of a request.
const LONGEST: Duration = Duration::from_secs(60);

/// Timeout for a body to arrive.
const LONGEST_BODY: Duration = Duration::from_secs(10);

struct Debugger<A> {
    api: HubApi,
    authority: A,
    /// Requests whose caller is not known yet: they take no place of those that are worked on.
    asking: Semaphore,
    working: Semaphore,
    /// The runtime of the connections to the hub.
    main: Handle,
}

/// An error response: the status, and what the caller can do.
struct Refused(StatusCode, String);

/// The routes of the debug endpoint. `authority` knows the callers, and their permissions.
///
/// Must be called on the runtime of the connections to the hub; they may be served on another one.
pub fn placement_debug(api: HubApi, authority: impl Authority) -> Router {
    let debugger = Debugger {
        api,
        authority,
        asking: Semaphore::new(AT_ONCE),
        working: Semaphore::new(AT_ONCE),
        main: Handle::current(),
    };
    Router::new()
        .route(PREFIX, any(respond))
        .route("/debug/placements/{*rest}", any(respond))
        .with_state(Arc::new(debugger))
}

async fn respond<A: Authority>(
    State(debugger): State<Arc<Debugger<A>>>,
    request: Request,
) -> Response {
    let main = debugger.main.clone();
    let (parts, body) = request.into_parts();
    let task = main.spawn(async move {
        let work = debugger.answer(&parts, body);
        let late = || {
            Refused(
                StatusCode::GATEWAY_TIMEOUT,
                format!("not done in {LONGEST:?}"),
            )
        };
        timeout(LONGEST, work).await.unwrap_or_else(|_| Err(late()))
    });
    match task.await {
        Ok(Ok(bytes)) => ([(CONTENT_TYPE, "application/json")], bytes).into_response(),
        Ok(Err(refused)) => refused.into_response(),
        Err(_) => internal("the request was stopped").into_response(),
    }
}

// === impl Debugger ===

impl<A: Authority> Debugger<A> {
    async fn answer(&self, parts: &http::request::Parts, body: Body) -> Result<Vec<u8>, Refused> {
        let path = parts.uri.path();
        let user = {
            let _permit = permit(&self.asking)?;
            let user = self.user(parts).await?;
            let verb = parts.method.as_str().to_ascii_lowercase();
            let needs = format!("verb {verb:?} on the non-resource URL {path:?}");
            let path = path.to_owned();
            let access = Access::Path { verb, path };
            self.allow(&user, &access, &needs).await?;
            user
        };
        let _permit = permit(&self.working)?;
        let placement = match parts.method {
            Method::GET => self.stored(path, &user).await?,
            Method::POST => self.posted(body, &user).await?,
            _ => {
                let why = "use GET with a namespace and a name, or POST with a Placement";
                return Err(Refused(StatusCode::METHOD_NOT_ALLOWED, why.to_owned()));
            }
        };
        let lists = Access::Resource(ResourceAccess {
            verb: "list".to_owned(),
            group: groups::CLUSTER.to_owned(),
            resource: groups::MANAGED_CLUSTERS.to_owned(),
            ..ResourceAccess::default()
        });
        let lists_all = self.authority.is_allowed(&user, &lists).await;
        let lists_all = lists_all.map_err(internal)?;
        let explained = explain_placement(&self.api, &placement, !lists_all, Timestamp::now());
        let explanation = explained.await.map_err(internal)?;
        serde_json::to_vec(&Answer::new(&placement, explanation)).map_err(internal)
    }

    async fn user(&self, parts: &http::request::Parts) -> Result<Caller, Refused> {
        let unknown = || {
            let why = "a bearer token that the hub knows is required";
            Refused(StatusCode::UNAUTHORIZED, why.to_owned())
        };
        let token = bearer(&parts.headers).ok_or_else(unknown)?;
        let user = self.authority.user_of(token).await;
        user.map_err(internal)?.ok_or_else(unknown)
    }

    async fn allow(&self, user: &Caller, access: &Access, needs: &str) -> Result<(), Refused> {
        match self.authority.is_allowed(user, access).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                let why = format!("user {:?} needs {needs}", user.name);
                Err(Refused(StatusCode::FORBIDDEN, why))
            }
            Err(error) => Err(internal(error)),
        }
    }

    /// The permission is checked before a placement is looked up, so nobody learns which ones exist.
    async fn stored(&self, path: &str, user: &Caller) -> Result<Placement, Refused> {
        let rest = path.strip_prefix(PREFIX).unwrap_or_default();
        let both = rest.split_once('/');
        let both = both.filter(|(namespace, name)| {
            names::is_dns1123_label(namespace) && names::is_dns1123_subdomain(name)
        });
        let Some((namespace, name)) = both else {
            let why = format!("the path is {PREFIX}NAMESPACE/NAME");
            return Err(Refused(StatusCode::BAD_REQUEST, why));
        };
        self.may("get", namespace, Some(name), user).await?;
        let found = stored_placement(&self.api, namespace, name).await;
        found.map_err(internal)?.ok_or_else(|| {
            let why = format!("Placement {namespace}/{name} does not exist");
            Refused(StatusCode::NOT_FOUND, why)
        })
    }

    async fn posted(&self, body: Body, user: &Caller) -> Result<Placement, Refused> {
        let wrong = |why: String| Refused(StatusCode::BAD_REQUEST, why);
        let body = timeout(LONGEST_BODY, to_bytes(body, LARGEST)).await;
        let body = body.map_err(|_| wrong(format!("no whole body in {LONGEST_BODY:?}")))?;
        let body = body.map_err(|_| {
            let why = format!("the body is broken, or longer than {LARGEST} bytes");
            Refused(StatusCode::PAYLOAD_TOO_LARGE, why)
        })?;
        let no_placement =
            |error: &dyn Display| wrong(format!("the body is not a Placement in JSON: {error}"));
        let text = str::from_utf8(&body).map_err(|error| no_placement(&error))?;
        let placement: Placement =
            serde_json::from_str(text).map_err(|error| no_placement(&error))?;
        let namespace = placement.metadata.namespace.clone().unwrap_or_default();
        if !names::is_dns1123_label(&namespace) {
            return Err(wrong(
                "metadata.namespace: the Placement needs one".to_owned(),
            ));
        }
        self.may("create", &namespace, None, user).await?;
        Ok(placement)
    }

    async fn may(
        &self,
        verb: &str,
        namespace: &str,
        name: Option<&str>,
        user: &Caller,
    ) -> Result<(), Refused> {
        let access = Access::Resource(ResourceAccess {
            verb: verb.to_owned(),
            group: groups::CLUSTER.to_owned(),
            version: "v1beta1".to_owned(),
            resource: groups::PLACEMENTS.to_owned(),
            namespace: namespace.to_owned(),
            name: name.unwrap_or_default().to_owned(),
        });
        let needs = format!("verb {verb:?} on placements in namespace {namespace:?}");
        self.allow(user, &access, &needs).await
    }
}

/// Takes a place, if one is free.
fn permit(of: &Semaphore) -> Result<SemaphorePermit<'_>, Refused> {
    of.try_acquire().map_err(|_| {
        let why = format!("{AT_ONCE} requests are being worked on: retry");
        Refused(StatusCode::TOO_MANY_REQUESTS, why)
    })
}

// === impl Refused ===

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Self(status, why) = self;
        let challenge =
            (status == StatusCode::UNAUTHORIZED).then_some([(WWW_AUTHENTICATE, "Bearer")]);
        let body = json!({"error": why}).to_string();
        let json = [(CONTENT_TYPE, "application/json")];
        (status, challenge, json, body).into_response()
    }
}

fn internal(error: impl std::fmt::Display) -> Refused {
    Refused(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}
