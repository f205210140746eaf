//! Requests to the hub, and their responses as kubectl shows them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Context;
use berth_api::path;
use http::header::{CONTENT_TYPE, WARNING};
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Upper bound on each wait, and the pause between two looks.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// The hub's response.
pub(super) enum Answer {
    /// Success.
    Done {
        object: Value,
        warnings: Vec<String>,
    },
    /// An error.
    Refused {
        /// `reason` of the Status.
        reason: String,
        message: String,
        warnings: Vec<String>,
    },
}

/// Server-side apply of an object.
pub(super) async fn apply(client: &Client, object: &Value) -> anyhow::Result<Answer> {
    let path = format!("{}?fieldManager=berth-demo&force=true", path_of(object)?);
    send(
        client,
        Method::PATCH,
        &path,
        "application/apply-patch+yaml",
        object,
    )
    .await
}

/// `kubectl create`
pub(super) async fn create(client: &Client, object: &Value) -> anyhow::Result<Answer> {
    let path = path_of(object)?;
    let collection = path
        .rsplit_once('/')
        .map_or("", |(collection, _)| collection);
    let path = format!("{collection}?fieldManager=kubectl-create");
    send(client, Method::POST, &path, "application/json", object).await
}

/// `kubectl patch --type=merge`
pub(super) async fn merge(client: &Client, path: &str, patch: &Value) -> anyhow::Result<Answer> {
    let path = format!("{path}?fieldManager=kubectl-patch");
    send(
        client,
        Method::PATCH,
        &path,
        "application/merge-patch+json",
        patch,
    )
    .await
}

/// The update behind `kubectl certificate approve`.
pub(super) async fn put(client: &Client, path: &str, object: &Value) -> anyhow::Result<Answer> {
    let path = format!("{path}?fieldManager=kubectl");
    send(client, Method::PUT, &path, "application/json", object).await
}

/// `kubectl get`
pub(super) async fn get(client: &Client, path: &str) -> anyhow::Result<Answer> {
    send(client, Method::GET, path, "application/json", &Value::Null).await
}

/// `kubectl delete`
pub(super) async fn delete(client: &Client, path: &str) -> anyhow::Result<Answer> {
    let options =
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
    send(client, Method::DELETE, path, "application/json", &options).await
}

/// Reads these objects until `see` returns a value.
///
/// # Errors
/// That takes longer than half a minute.
pub(super) async fn until<T>(
    client: &Client,
    paths: &[&str],
    see: impl Fn(&[Value]) -> Option<T>,
) -> anyhow::Result<T> {
    let begun = Instant::now();
    loop {
        let mut objects = Vec::new();
        for path in paths {
            if let Answer::Done { object, .. } = get(client, path).await? {
                objects.push(object);
            }
        }
        if let Some(seen) = see(&objects) {
            return Ok(seen);
        }
        anyhow::ensure!(
            begun.elapsed() < PATIENCE,
            "the hub does not reach the expected state: {objects:?}"
        );
        tokio::time::sleep(PAUSE).await;
    }
}

/// Reads this object until the hub refuses to show it, or for half a minute.
pub(super) async fn until_refused(client: &Client, path: &str) -> anyhow::Result<Answer> {
    let begun = Instant::now();
    loop {
        let answer = get(client, path).await?;
        if matches!(answer, Answer::Refused { .. }) || begun.elapsed() > PATIENCE {
            return Ok(answer);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// What `curl` prints for this path of a server without TLS.
pub(super) async fn curl(server: SocketAddr, path: &str) -> anyhow::Result<String> {
    let context = || format!("http://{server}{path} does not respond");
    let exchange = async {
        let mut stream = TcpStream::connect(server).await?;
        let request = format!("GET {path} HTTP/1.0\r\nHost: {server}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut response = String::new();
        stream.read_to_string(&mut response).await?;
        std::io::Result::Ok(response)
    };
    let response = exchange.await.with_context(context)?;
    let (_, body) = response.split_once("\r\n\r\n").with_context(context)?;
    Ok(body.to_owned())
}

async fn send(
    client: &Client,
    method: Method,
    path: &str,
    content_type: &str,
    body: &Value,
) -> anyhow::Result<Answer> {
    let body = match body {
        Value::Null => Vec::new(),
        body => serde_json::to_vec(body)?,
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(CONTENT_TYPE, content_type)
        .body(Body::from(body))?;
    let response = client
        .send(request)
        .await
        .context("the hub does not respond")?;
    let (head, body) = response.into_parts();
    let warnings = head.headers.get_all(WARNING).into_iter();
    let warnings = warnings
        .filter_map(|value| Some(unquoted(value.to_str().ok()?)))
        .collect();
    let body = body.collect().await?.to_bytes();
    let object: Value = serde_json::from_slice(&body).context("the hub's response is not JSON")?;
    if head.status.is_success() {
        return Ok(Answer::Done { object, warnings });
    }
    let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
    Ok(Answer::Refused {
        reason: text("reason"),
        message: text("message"),
        warnings,
    })
}

/// The text of `299 - "text"`.
fn unquoted(warning: &str) -> String {
    let text = warning.splitn(3, ' ').nth(2).unwrap_or(warning);
    let text = text.trim().trim_start_matches('"');
    let text = text.strip_suffix('"').unwrap_or(text);
    text.replace("\\\"", "\"").replace("\\\\", "\\")
}

/// The path of an object, for the kinds that the demo uses.
fn path_of(object: &Value) -> anyhow::Result<String> {
    let kind = object["kind"].as_str().context("an object without kind")?;
    // All these kinds have regular plurals.
    let plural = format!("{}s", kind.to_lowercase());
    path::path_of(object, &plural).context("an object without apiVersion or name")
}
