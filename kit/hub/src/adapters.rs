//! For rooms that are not moved to [`HubApi`] yet. Each goes with its last user.

use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceExt, service_fn};

use crate::HubApi;
use crate::answer::ResponseBody;

impl HubApi {
    /// kube's client over the same connections, for the lifecycle and the scrapers.
    pub fn kube_client(&self) -> kube::Client {
        let hub = self.clone();
        let service = service_fn(move |request| hub.clone().forward(request));
        kube::Client::new(service, self.default_namespace())
    }

    /// The same connections as the gate's answerer wants them.
    pub fn gate_service(
        &self,
    ) -> BoxCloneSyncService<Request<kube::client::Body>, Response<Incoming>, BoxError> {
        let hub = self.clone();
        BoxCloneSyncService::new(service_fn(move |request| {
            let hub = hub.clone();
            async move {
                let (head, body) = hub.forward(request).await?.into_parts();
                match body {
                    ResponseBody::Incoming(body) => Ok(Response::from_parts(head, body)),
                    ResponseBody::Boxed(_) => Err(BoxError::from("not from a connection")),
                }
            }
        }))
    }

    async fn forward(
        self,
        request: Request<kube::client::Body>,
    ) -> Result<Response<ResponseBody>, BoxError> {
        let (head, body) = request.into_parts();
        let body = Full::new(body.collect_bytes().await?);
        let service = self.connections().service().await;
        service.oneshot(Request::from_parts(head, body)).await
    }
}
