//! What is asked of a hub to find out about the hub itself.

use http::Request;
use http::header::DATE;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use kube::core::Request as Urls;
use kube::core::response::Status;
use serde_json::Value;

use super::calls::{status_of, writes};
use super::{DryRun, Hub};
use crate::failure::{Ask, Failure};

/// What became of a write that was only tried.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    /// The object as it would be stored; or the refusal, with the API server's words around those of a webhook.
    pub(crate) outcome: Result<Value, Box<Status>>,
}

/// That the hub answers, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    /// The time that it named, to the second.
    pub(crate) its_time: Option<Timestamp>,
    /// Ours, before it was asked and after it had answered.
    pub(crate) ours: (Timestamp, Timestamp),
}

impl Hub {
    /// Has the hub decide about making an object of this resource, group and version, which it does not store.
    pub(crate) async fn try_to_create(
        &self,
        (resource, group): (&str, &str),
        version: &str,
        namespace: Option<&str>,
        object: &Value,
    ) -> Result<Tried, Failure> {
        let name = object["metadata"]["name"].as_str();
        let ask = Ask::in_group("create", (resource, group), version, namespace, name);
        let within = namespace.map_or_else(String::new, |it| format!("namespaces/{it}/"));
        let urls = Urls::new(format!("/apis/{group}/{version}/{within}{resource}"));
        let body = object.to_string().into_bytes();
        let request = urls.create(&writes(DryRun::Server), body);
        let (head, body) = self.exchange(request, &ask).await?;
        let outcome = if head.status.is_success() {
            Ok(serde_json::from_slice(body.as_ref()).map_err(Failure::unreadable)?)
        } else {
            let mut status = status_of(body.as_ref());
            status.code = head.status.as_u16();
            Err(Box::new(status))
        };
        Ok(Tried { outcome })
    }

    /// Whether the hub answers at all, and what time it is there. Who is not known to it is told so, and that it is in
    /// trouble.
    pub(crate) async fn answers(&self) -> Result<Answered, Failure> {
        let path = "/version";
        let request = Request::get(path)
            .body(Vec::new())
            .map_err(kube::core::request::Error::BuildRequest);
        let ask = Ask::path(path);
        let before = Timestamp::now();
        let (head, body) = self.exchange(request, &ask).await?;
        let after = Timestamp::now();
        if head.status == http::StatusCode::UNAUTHORIZED || head.status.is_server_error() {
            let status = status_of(body.as_ref());
            return Err(Failure::answered(&ask, head.status.as_u16(), status));
        }
        let date = head.headers.get(DATE).and_then(|date| date.to_str().ok());
        Ok(Answered {
            its_time: date
                .and_then(|date| rfc2822::DateTimeParser::new().parse_timestamp(date).ok()),
            ours: (before, after),
        })
    }
}
