//! [`HubApi`]: one API server and one user of it.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Collected, LengthLimitError, Limited};
use hyper::body::Body;
use tokio::time::{Instant, timeout};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceExt};

use crate::access::{Access, ConnectError};
use crate::answer::{Answer, Chunks, ResponseBody};
use crate::call::{Call, RequestBody};
use crate::connections::{Connections, Pool};
use crate::error::{CallError, Cause, Refusal, causes};
use crate::identity::Identity;
use crate::requests::Requests;

/// The longest body of a refusal; the rest is not read.
const LONGEST_REFUSAL: usize = 1 << 20;

/// One API server, and one user of it: connections, TLS and credentials. Clones share them.
#[derive(Clone)]
pub struct HubApi(Arc<Shared>);

struct Shared {
    connections: Connections,
    server: String,
    requests: Arc<Requests>,
    identity: Option<Identity>,
}

// === impl HubApi ===

impl HubApi {
    /// Calls this service, which receives requests with paths only. For tests, and for whatever wraps another transport.
    pub fn new<S, B>(service: S) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let service = service
            .map_response(|response: Response<B>| response.map(ResponseBody::boxed))
            .map_err(Into::into);
        let service = BoxCloneSyncService::new(service);
        Self::over(Pool {
            service,
            server: String::new(),
        })
    }

    /// The API server of a kubeconfig, or of the cluster in which this process runs. Sends no request yet.
    ///
    /// # Errors
    /// No API server is named, or its kubeconfig cannot be used.
    pub async fn connect(access: &Access) -> Result<Self, ConnectError> {
        Connections::open(access).await.map(Self::with)
    }

    /// The API server of a configuration. Credentials are reloaded as kube does it.
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub async fn of(config: kube::Config) -> Result<Self, ConnectError> {
        Connections::of(config).await.map(Self::with)
    }

    /// The API server of a kubeconfig in memory (YAML or JSON), for a command. Messages use `name` for the kubeconfig. Credentials
    /// are not reloaded.
    ///
    /// # Errors
    /// The kubeconfig cannot be used.
    pub async fn of_kubeconfig(text: &str, name: &str) -> Result<Self, ConnectError> {
        (Connections::of_kubeconfig(text, name).await).map(Self::with)
    }

    fn over(pool: Pool) -> Self {
        Self::with(Connections::fixed(pool))
    }

    fn with(connections: Connections) -> Self {
        let pool = connections.first();
        Self(Arc::new(Shared {
            server: pool.server.clone(),
            requests: Requests::of(&pool.server),
            connections,
            identity: None,
        }))
    }

    /// The same API server over the same connections, as this user. The connections should be made with [`Access::anonymous`]; with
    /// credentials of their own, an [`Identity`] that acts as another user impersonates.
    #[must_use]
    pub fn as_user(&self, identity: Identity) -> Self {
        Self(Arc::new(Shared {
            connections: self.0.connections.clone(),
            server: self.0.server.clone(),
            requests: Arc::clone(&self.0.requests),
            identity: Some(identity),
        }))
    }

    /// Returns true for a clone of this: it shares its connections.
    pub fn is_clone_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The server's URL without path and secrets, to be shown. Empty for a service of [`HubApi::new`].
    pub fn server(&self) -> &str {
        &self.0.server
    }

    /// Makes a call: one request, one deadline, one byte bound; nothing is retried.
    ///
    /// # Errors
    /// The call did not succeed within the deadline and the bound. After [`Cause::Late`] and [`Cause::NoConnection`] a write may
    /// have been carried out.
    pub async fn call(&self, call: Call) -> Result<Answer, CallError> {
        let begun = Instant::now();
        match timeout(call.within, self.exchange(&call)).await {
            Ok(Ok((head, body))) => Ok(Answer {
                status: head.status,
                headers: head.headers,
                body,
                took: begun.elapsed(),
                line: call.line,
            }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(late(&call)),
        }
    }

    /// Makes a call whose response is read in chunks: a watch, a long list. The deadline ends with the head of the response.
    ///
    /// # Errors
    /// The call did not succeed within the deadline.
    pub async fn stream(&self, call: Call) -> Result<Chunks, CallError> {
        let begun = timeout(call.within, async {
            let response = self.send(&call).await?;
            if response.status().is_success() {
                return Ok(response);
            }
            Err(refusal(&call, response).await)
        });
        let response = begun.await.unwrap_or_else(|_| Err(late(&call)))?;
        let (head, body) = response.into_parts();
        Ok(Chunks {
            headers: head.headers,
            body,
            line: call.line,
            rest: BytesMut::new(),
            longest_line: call.at_most,
        })
    }

    async fn exchange(&self, call: &Call) -> Result<(http::response::Parts, Bytes), CallError> {
        let response = self.send(call).await?;
        if !response.status().is_success() {
            return Err(refusal(call, response).await);
        }
        let (head, body) = response.into_parts();
        let body = read(call, body, call.at_most).await?;
        // hyper-util returns the connection to its pool in another task. Without this pause, the caller's next call would find the
        // pool empty, and open a new connection.
        tokio::task::yield_now().await;
        Ok((head, body))
    }

    async fn send(&self, call: &Call) -> Result<Response<ResponseBody>, CallError> {
        let mut request = call
            .request()
            .map_err(|error| call.not_sent(format!("no request can be made of this: {error}")))?;
        let credentials = self.0.identity.as_ref().map(Identity::now);
        if let Some(credentials) = &credentials {
            credentials.add_to(request.headers_mut());
        }
        let service = self.0.connections.service().await;
        let counted = self.0.requests.begin(&call.line.method);
        let response = service.oneshot(request).await;
        let response = response.map_err(|error| CallError::no_response(call.asked(), error))?;
        counted.responded(response.status());
        if response.status() == StatusCode::UNAUTHORIZED {
            self.0.connections.not_accepted();
            if let (Some(identity), Some(used)) = (&self.0.identity, &credentials) {
                identity.not_accepted(used);
            }
        }
        Ok(response)
    }
}

impl std::fmt::Debug for HubApi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubApi")
            .field("server", &self.0.server)
            .finish_non_exhaustive()
    }
}

fn late(call: &Call) -> CallError {
    CallError::new(call.asked(), Cause::Late(call.within))
}

async fn refusal(call: &Call, response: Response<ResponseBody>) -> CallError {
    let (head, body) = response.into_parts();
    match read(call, body, LONGEST_REFUSAL.min(call.at_most.max(4096))).await {
        Ok(body) => {
            let refusal = Refusal::of(head.status, &head.headers, &body);
            CallError::new(call.asked(), Cause::Refused(Box::new(refusal)))
        }
        // The code counts without the message.
        Err(error) if matches!(error.cause(), Cause::TooLarge(_)) => {
            let refusal = Refusal::of(head.status, &head.headers, b"(a long page)");
            CallError::new(call.asked(), Cause::Refused(Box::new(refusal)))
        }
        Err(error) => error,
    }
}

async fn read(call: &Call, body: ResponseBody, at_most: usize) -> Result<Bytes, CallError> {
    let read = Limited::new(body, at_most).collect().await;
    read.map(Collected::to_bytes).map_err(|error| {
        let cause = if error.is::<LengthLimitError>() {
            Cause::TooLarge(at_most)
        } else {
            Cause::NoConnection(format!("the response broke off: {}", causes(&*error)))
        };
        CallError::new(call.asked(), cause)
    })
}

#[cfg(test)]
mod tests;
