//! What can go wrong between a person and a hub, in words that say what to do.

use std::time::Duration;

use berth_api::room;
use berth_hub::{Asked, CallError, Cause, Refusal};
use kube::core::response::Status;

/// Why something could not be done.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The kubeconfig or a flag.
    #[error("{0}")]
    Config(String),
    /// Nobody answers at the hub's address, or not as a hub would.
    #[error("the hub at {server} cannot be reached ({ask}): {why}")]
    Unreachable {
        server: String,
        ask: Asked,
        why: String,
    },
    /// No answer in time.
    #[error(
        "the hub at {server} did not answer in {after:?} ({ask}); --request-timeout sets how long to wait"
    )]
    TimedOut {
        server: String,
        ask: Asked,
        after: Duration,
    },
    /// The API is not there.
    #[error(
        "this is no hub of Open Cluster Management: its API server has no {resource} in {api}; check --context and --kubeconfig, or install the CRDs"
    )]
    NoHub { resource: String, api: String },
    /// There is no such object.
    #[error("{message}{near}")]
    NotFound {
        message: String,
        /// What may have been meant, as [`or_nearest`] says it, or nothing.
        near: String,
    },
    /// The gate, or another webhook or policy, refused it: its own words.
    #[error("{0}")]
    Denied(String),
    /// It must not be done as things are on the hub.
    #[error("{0}")]
    Refused(String),
    /// The hub refused it, or failed.
    #[error("{}", words(.0))]
    Api(Box<Status>),
    /// It answered what cannot be read.
    #[error("the hub's answer cannot be read: {0}")]
    Unreadable(String),
}

// === impl CommandError ===

impl CommandError {
    /// What the error of a call to this server means.
    pub(crate) fn of(server: &str, error: &CallError) -> Self {
        let (server, ask) = (server.to_owned(), error.asked().clone());
        match error.cause() {
            Cause::NoConnection(why) | Cause::Credentials(why) => Self::Unreachable {
                server,
                ask,
                why: why.clone(),
            },
            Cause::Late(after) => Self::TimedOut {
                server,
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
        // A Status without an object is about the resource.
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

    /// There is no such object; `names`: those there are.
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

    /// The hub's code, where it answered with one.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Api(status) => Some(status.code),
            Self::NotFound { .. } => Some(404),
            _ => None,
        }
    }

    /// The object would be larger than the hub stores objects.
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self, Self::Api(status) if room::is_too_large(status.code, &status.message))
    }

    /// The object is another by now than the one that the write was decided for.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Api(status) if status.reason == "Conflict")
    }

    /// There is an object of this name already.
    pub(crate) fn is_already_there(&self) -> bool {
        matches!(self, Self::Api(status) if status.reason == "AlreadyExists")
    }

    /// The hub does not let this person: RBAC, not the gate.
    pub(crate) fn is_forbidden(&self) -> bool {
        self.code() == Some(403)
    }

    /// Nobody decided: to ask again may help.
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

/// A response other than success. What is no Status, a proxy's page, is shown as such.
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

/// What a webhook said, without the API server's words around it.
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
        "" => format!("the hub answered {reason}"),
        message => format!("{message} ({reason})"),
    }
}

/// `; did you mean "x"?`, if one of the names is near, else nothing.
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

    /// What is said of a response to a read of c1.
    async fn answered(code: u16, body: String) -> String {
        let service = tower::service_fn(move |_| {
            let response = Response::builder().status(code);
            std::future::ready(response.body(Full::new(body.clone().into())))
        });
        let error = HubApi::new(service).call(Call::get(CLUSTER)).await;
        CommandError::of("https://hub", &error.unwrap_err()).to_string()
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
            assert!(answered(404, plain).await.starts_with("this is no hub"));
        }
        let not_found = body("NotFound", "c1 not found", "c1");
        assert_eq!(answered(404, not_found).await, "c1 not found");
        assert_eq!(
            answered(403, body("Forbidden", "no", "c1")).await,
            "no (Forbidden)"
        );
        assert_eq!(
            answered(502, String::new()).await,
            "the hub answered HTTP 502"
        );
        // A page of something between says nothing about the hub.
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
