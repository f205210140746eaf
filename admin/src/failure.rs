//! Errors of the commands. Their messages name the remedy.

use std::time::Duration;

use berth_api::room;
use berth_hub::{Asked, CallError, Cause, Refusal};
use kube::core::response::Status;

/// An error of a command.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The kubeconfig or a flag is wrong.
    #[error("{0}")]
    Config(String),
    /// The API server cannot be reached at its address.
    #[error("{peer} cannot be reached ({ask}): {why}")]
    Unreachable {
        /// Such as `the hub at https://hub.example.com`.
        peer: String,
        ask: Asked,
        why: String,
    },
    /// The API server did not answer in time.
    #[error("{peer} did not answer in {after:?} ({ask}); --request-timeout sets how long to wait")]
    TimedOut {
        peer: String,
        ask: Asked,
        after: Duration,
    },
    /// The API server does not serve the kinds of a hub.
    #[error(
        "the API server does not serve {resource} in {api}, so it is not a hub of Open Cluster Management: check --context and --kubeconfig, or install the CRDs"
    )]
    NoHub { resource: String, api: String },
    /// The object does not exist.
    #[error("{message}{near}")]
    NotFound {
        message: String,
        /// A suggestion of [`or_nearest`], or empty.
        near: String,
    },
    /// The gate or another webhook denied it; this is the message of the webhook.
    #[error("{0}")]
    Denied(String),
    /// The command refuses it in the current state of the hub.
    #[error("{0}")]
    Refused(String),
    /// The API server refused it or failed.
    #[error("{}", words(.0))]
    Api(Box<Status>),
    /// The response cannot be decoded.
    #[error("the response of the API server cannot be read: {0}")]
    Unreadable(String),
}

// === impl CommandError ===

impl CommandError {
    /// Converts the error of a call to this API server, such as `the hub at https://hub.example.com`.
    pub(crate) fn of(peer: &str, error: &CallError) -> Self {
        let (peer, ask) = (peer.to_owned(), error.asked().clone());
        match error.cause() {
            Cause::NoConnection(why) | Cause::Credentials(why) => Self::Unreachable {
                peer,
                ask,
                why: why.clone(),
            },
            Cause::Late(after) => Self::TimedOut {
                peer,
                ask,
                after: *after,
            },
            Cause::Refused(refusal) => Self::refused(error, refusal),
            Cause::NotSent(why) => Self::Config(why.clone()),
            Cause::Unreadable(why) => Self::Unreadable(why.clone()),
            cause => Self::Unreadable(cause.to_string()),
        }
    }

    fn refused(error: &CallError, refusal: &Refusal) -> Self {
        if let Some(words) = denial(&refusal.message) {
            return Self::Denied(words.to_owned());
        }
        // A 404 Status without a name concerns the resource.
        let no_such_resource = error.kind_is_absent()
            || refusal.is_status() && refusal.code == 404 && refusal.details.name.is_empty();
        match &error.asked().resource {
            Some(resource) if no_such_resource => Self::NoHub {
                resource: in_group(&resource.plural, &resource.group),
                api: in_version(&resource.group, &resource.version),
            },
            _ if refusal.is_status() && refusal.code == 404 => Self::NotFound {
                message: refusal.message.clone(),
                near: String::new(),
            },
            _ => Self::Api(Box::new(status(refusal))),
        }
    }

    /// The error for an object that does not exist. Suggests one of the `names` that do.
    pub(crate) fn no_such<'a>(
        resource: &str,
        name: &str,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self::NotFound {
            message: format!("{resource} {name:?} not found"),
            near: or_nearest(name, names),
        }
    }

    /// Returns the HTTP status code of the hub's response, if it has one.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Api(status) => Some(status.code),
            Self::NotFound { .. } => Some(404),
            _ => None,
        }
    }

    /// Returns true if the object would exceed the size limit of the hub.
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self, Self::Api(status) if room::is_too_large(status.code, &status.message))
    }

    /// Returns true if the object has changed since it was read.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Api(status) if status.reason == "Conflict")
    }

    /// Names the flag by which a command takes over fields of other clients, if that is what failed.
    pub(crate) fn with_remedy(self) -> Self {
        match self.is_conflict() {
            true => Self::Refused(format!("{self}; --force-conflicts takes these fields over")),
            false => self,
        }
    }

    /// Returns true if an object of this name already exists.
    pub(crate) fn is_already_there(&self) -> bool {
        matches!(self, Self::Api(status) if status.reason == "AlreadyExists")
    }

    /// Returns true if RBAC, not the gate, forbids the request.
    pub(crate) fn is_forbidden(&self) -> bool {
        self.code() == Some(403)
    }

    /// Returns true if the hub did not decide, so that a retry may succeed.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } => true,
            Self::Api(status) => status.code == 429 || status.code >= 500,
            _ => false,
        }
    }
}

fn in_group(resource: &str, group: &str) -> String {
    match group {
        "" => resource.to_owned(),
        group => format!("{resource}.{group}"),
    }
}

fn in_version(group: &str, version: &str) -> String {
    match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}

/// Converts a refusal to a Status. The page of a proxy becomes the message, cut to 300 characters.
pub(crate) fn status(refusal: &Refusal) -> Status {
    Status {
        code: refusal.code,
        reason: refusal.reason.clone(),
        message: if refusal.is_status() {
            refusal.message.clone()
        } else {
            refusal.message.trim().chars().take(300).collect()
        },
        ..Status::default()
    }
}

/// Returns the message of a webhook without the prefix of the API server.
fn denial(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("admission webhook \"")?;
    Some(rest.split_once("\" denied the request: ")?.1)
}

fn words(status: &Status) -> String {
    let reason = match status.reason.as_str() {
        "" => format!("HTTP {}", status.code),
        reason => reason.to_owned(),
    };
    match status.message.as_str() {
        "" => format!("the API server returned {reason}"),
        message => format!("{message} ({reason})"),
    }
}

/// Returns `; did you mean "x"?` if one of the names is similar, else an empty string.
pub(crate) fn or_nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let near = names
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    near.map_or_else(String::new, |(_, near)| format!("; did you mean {near:?}?"))
}

#[cfg(test)]
mod tests {
    use berth_hub::{Call, HubApi};
    use http::Response;
    use http_body_util::Full;
    use serde_json::json;

    use super::*;

    const CLUSTER: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1";

    /// Returns the message for a response to a read of c1.
    async fn answered(code: u16, body: String) -> String {
        let service = tower::service_fn(move |_| {
            let response = Response::builder().status(code);
            std::future::ready(response.body(Full::new(body.clone().into())))
        });
        let error = HubApi::new(service).call(Call::get(CLUSTER)).await;
        CommandError::of("the hub at https://hub", &error.unwrap_err()).to_string()
    }

    fn body(reason: &str, message: &str, name: &str) -> String {
        json!({
            "kind": "Status", "apiVersion": "v1", "reason": reason, "message": message, "details": {"name": name},
        })
        .to_string()
    }

    #[tokio::test]
    async fn a_denial_is_told_in_the_gates_words_alone() {
        let message = "admission webhook \"managedclustervalidators.admission.cluster.open-cluster-management.io\" \
                       denied the request: first line\nsecond line";
        assert_eq!(
            answered(403, body("Forbidden", message, "c1")).await,
            "first line\nsecond line"
        );
    }

    #[tokio::test]
    async fn what_the_hub_lacks_is_told_from_what_is_not_found() {
        for plain in ["404 page not found\n".to_owned(), body("NotFound", "x", "")] {
            assert!(
                answered(404, plain)
                    .await
                    .starts_with("the API server does not serve managedclusters")
            );
        }
        let not_found = body("NotFound", "c1 not found", "c1");
        assert_eq!(answered(404, not_found).await, "c1 not found");
        assert_eq!(
            answered(403, body("Forbidden", "no", "c1")).await,
            "no (Forbidden)"
        );
        assert_eq!(
            answered(502, String::new()).await,
            "the API server returned HTTP 502"
        );
        // The page of a proxy says nothing about the hub.
        assert_eq!(
            answered(404, "<h1>Not here</h1>".to_owned()).await,
            "<h1>Not here</h1> (HTTP 404)"
        );
    }

    #[test]
    fn near_names_are_suggested_and_far_ones_not() {
        let names = ["cluster1", "cluster2", "prod"];
        assert_eq!(
            or_nearest("clustre1", names),
            "; did you mean \"cluster1\"?"
        );
        assert_eq!(or_nearest("staging", names), "");
        assert_eq!(or_nearest("x", []), "");
    }
}
