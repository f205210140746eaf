//! Requests through a `kube` client, and their whole response: code, warnings and body.

use ::http::{HeaderMap, Method, Request};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};

use super::Person;

/// The response of a hub.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status code.
    pub code: u16,
    /// The texts of the `Warning` headers.
    pub warnings: Vec<String>,
    /// The `Retry-After` header.
    pub retry_after: Option<String>,
    /// JSON, or a string if it is not JSON.
    pub body: Value,
}

impl Answer {
    /// The body of a success. Panics at an error.
    #[track_caller]
    pub fn ok(&self) -> &Value {
        assert!((200..300).contains(&self.code), "{self:?}");
        &self.body
    }

    /// Checks that the request was refused with this code and reason, and returns the message.
    #[track_caller]
    pub fn refused(&self, code: u16, reason: &str) -> &str {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.body["kind"], "Status", "{self:?}");
        assert_eq!(self.body["status"], "Failure", "{self:?}");
        assert_eq!(self.body["code"], code, "{self:?}");
        assert_eq!(self.body["reason"], reason, "{self:?}");
        self.body["message"].as_str().unwrap()
    }
}

impl Person {
    /// A GET.
    ///
    /// # Errors
    /// A text, if no response came.
    pub async fn get(&self, path: &str) -> Result<Answer, String> {
        self.send(Method::GET, path, "application/json", String::new())
            .await
    }

    /// A DELETE.
    ///
    /// # Errors
    /// A text, if no response came.
    pub async fn delete(&self, path: &str) -> Result<Answer, String> {
        self.send(Method::DELETE, path, "application/json", String::new())
            .await
    }

    /// A POST of JSON.
    ///
    /// # Errors
    /// A text, if no response came.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Answer, String> {
        self.send(Method::POST, path, "application/json", body.to_string())
            .await
    }

    /// A PUT of JSON.
    ///
    /// # Errors
    /// A text, if no response came.
    pub async fn put(&self, path: &str, body: &Value) -> Result<Answer, String> {
        self.send(Method::PUT, path, "application/json", body.to_string())
            .await
    }

    /// A merge patch.
    pub async fn merge(&self, path: &str, patch: &Value) -> Result<Answer, String> {
        let kind = "application/merge-patch+json";
        self.send(Method::PATCH, path, kind, patch.to_string())
            .await
    }

    /// A server-side apply as this field manager, which forces conflicts.
    pub async fn apply_as(
        &self,
        manager: &str,
        path: &str,
        object: &Value,
    ) -> Result<Answer, String> {
        let query = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{query}fieldManager={manager}&force=true");
        let kind = "application/apply-patch+yaml";
        self.send(Method::PATCH, &path, kind, object.to_string())
            .await
    }

    /// Any request. The error is a text, if no response came.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: String,
    ) -> Result<Answer, String> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .header("accept", "application/json");
        self.request(request.body(Body::from(body.into_bytes())).unwrap())
            .await
    }

    /// Any request with its own headers.
    pub async fn request(&self, request: Request<Body>) -> Result<Answer, String> {
        let response = self.client.send(request).await.map_err(|e| chain(&e))?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| chain(&error))?;
        let body = body.to_bytes();
        Ok(Answer {
            code: head.status.as_u16(),
            retry_after: head
                .headers
                .get("retry-after")
                .map(|it| it.to_str().unwrap().to_owned()),
            warnings: warnings(&head.headers),
            body: serde_json::from_slice(&body)
                .unwrap_or_else(|_| json!(String::from_utf8_lossy(&body))),
        })
    }
}

/// The texts of the `Warning` headers: `299 - "text"`.
fn warnings(headers: &HeaderMap) -> Vec<String> {
    let warnings = headers.get_all("warning").into_iter();
    warnings
        .map(|value| {
            // Kubernetes writes UTF-8.
            let value = std::str::from_utf8(value.as_bytes()).unwrap();
            let quoted = value
                .strip_prefix("299 - ")
                .unwrap_or_else(|| panic!("{value}"));
            serde_json::from_str(quoted).unwrap_or_else(|_| panic!("{value}"))
        })
        .collect()
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words += &format!(": {error}");
        cause = error.source();
    }
    words
}
