//! Calls webhooks over HTTPS, as kube-apiserver does: with HTTP/1.1, connections that are kept alive, and its error messages.
//!
//! # Promises
//! - A call ends at its deadline, whatever the webhook does.
//! - A webhook is called only if the caBundle verifies it. A connection is used only with the caBundle that it was made with.
//! - A call does not fail because an idle connection was closed: it is repeated on a new connection. In the worst case the
//!   webhook gets a review twice, which webhooks must tolerate.
//! - A response takes at most [`MAX_ANSWER`] bytes of memory.

mod connection;
mod endpoint;
mod failure;
mod pool;

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

pub(super) use endpoint::Endpoint;

use self::connection::Connection;
use self::pool::Pools;
use crate::options::Services;

/// The largest answer that is read: an AdmissionReview with a patch as large as the largest object, and then some.
const MAX_ANSWER: usize = 16 * 1024 * 1024;

/// A webhook's answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: StatusCode,
    /// Without parameters; empty without the header.
    pub(super) media_type: String,
    pub(super) body: Bytes,
}

/// Calls webhooks.
#[derive(Debug)]
pub(super) struct Caller {
    services: Services,
    pools: Pools,
}

impl Caller {
    pub(super) fn new(services: Services) -> Self {
        Self {
            services,
            pools: Pools::default(),
        }
    }

    /// Closes idle connections that none of these endpoints could use.
    pub(super) fn forget_all_but<'a>(&self, endpoints: impl Iterator<Item = &'a Endpoint>) {
        self.pools
            .retain(endpoints.map(Endpoint::identity).collect());
    }

    /// Posts a review.
    ///
    /// # Errors
    /// Why there is no answer, in kube-apiserver's words.
    pub(super) async fn post(
        &self,
        endpoint: &Endpoint,
        review: Bytes,
        deadline: Instant,
    ) -> Result<Answer, String> {
        let left = deadline.saturating_duration_since(Instant::now());
        let query = format!("?timeout={}s", whole_seconds(left));
        let url = format!("https://{}{}{query}", endpoint.authority, endpoint.path);
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}{query}", endpoint.path))
            .header(HOST, endpoint.host_header())
            .header(ACCEPT, "application/json, */*")
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, "kube-apiserver-admission")
            .body(Full::new(review))
            .map_err(|error| format!("Post {url:?}: {error}"))?;

        let exchange = timeout_at(deadline, self.exchange(endpoint, request)).await;
        let (connection, response) = match exchange {
            Ok(Ok(done)) => done,
            Ok(Err(why)) => return Err(format!("Post {url:?}: {why}")),
            Err(_) => return Err(format!("Post {url:?}: context deadline exceeded")),
        };
        let (head, body) = response.into_parts();
        let body = match timeout_at(deadline, read(body)).await {
            Ok(read) => read,
            Err(_) => Err("context deadline exceeded".to_owned()),
        };
        let body = body.map_err(|why| {
            format!(
                "unexpected error when reading response body. Please retry. Original error: {why}"
            )
        })?;
        self.pools.give_back(endpoint.identity(), connection);
        let content_type = head.headers.get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        let media_type = content_type.unwrap_or_default().split(';').next();
        Ok(Answer {
            code: head.status,
            media_type: media_type.unwrap_or_default().trim().to_ascii_lowercase(),
            body,
        })
    }

    /// Sends the request on an idle connection that still works, or else on a new one.
    async fn exchange(
        &self,
        endpoint: &Endpoint,
        request: Request<Full<Bytes>>,
    ) -> Result<(Connection, http::Response<Incoming>), String> {
        if let Some(mut idle) = self.pools.take(endpoint.identity()).await {
            match idle.send(request.clone()).await {
                Ok(response) => return Ok((idle, response)),
                // It has answered, with something that is no HTTP.
                Err(error) if error.is_parse() => return Err(failure::of_http(&error)),
                Err(_) => {}
            }
        }
        let (mut fresh, driver) = endpoint.connect(&self.services).await?;
        self.pools.drive(driver);
        match fresh.send(request).await {
            Ok(response) => Ok((fresh, response)),
            Err(error) => Err(failure::of_http(&error)),
        }
    }
}

async fn read(body: Incoming) -> Result<Bytes, String> {
    match Limited::new(body, MAX_ANSWER).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) => Err(match error.downcast_ref::<hyper::Error>() {
            Some(error) => match failure::of_http(error).as_str() {
                "EOF" => "unexpected EOF".to_owned(),
                why => why.to_owned(),
            },
            None => format!("response body is larger than {MAX_ANSWER} bytes"),
        }),
    }
}

/// As the API server tells the timeout: rounded up.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests;
