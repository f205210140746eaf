//! What can go wrong between a person and a hub, in words that say what to do.

use std::error::Error;
use std::time::Duration;

use berth_api::room;
use kube::Resource;
use kube::core::response::Status;

/// What was asked of the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    verb: &'static str,
    /// The plural, with its group: `managedclusters.cluster.open-cluster-management.io`; or a path.
    resource: String,
    /// Group and version of the API.
    api: String,
    namespace: Option<String>,
    name: Option<String>,
}

/// Why something could not be done.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The kubeconfig or a flag.
    #[error("{0}")]
    Config(String),
    /// Nobody answers at the hub's address, or not as a hub would.
    #[error("the hub at {server} cannot be reached ({ask}): {why}")]
    Unreachable {
        server: String,
        ask: Ask,
        why: String,
    },
    /// No answer in time.
    #[error(
        "the hub at {server} did not answer in {after:?} ({ask}); --request-timeout sets how long to wait"
    )]
    TimedOut {
        server: String,
        ask: Ask,
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

// === impl Ask ===

impl Ask {
    pub(super) fn of<K: Resource<DynamicType = ()>>(
        verb: &'static str,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> Self {
        let named = (&*K::plural(&()), &*K::group(&()));
        Self::in_group(verb, named, &K::version(&()), namespace, name)
    }

    pub(super) fn in_group(
        verb: &'static str,
        (resource, group): (&str, &str),
        version: &str,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> Self {
        let (resource, api) = match group {
            "" => (resource.to_owned(), version.to_owned()),
            group => (format!("{resource}.{group}"), format!("{group}/{version}")),
        };
        Self {
            verb,
            resource,
            api,
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
        }
    }

    pub(super) fn path(path: &str) -> Self {
        Self {
            verb: "get",
            resource: path.to_owned(),
            api: String::new(),
            namespace: None,
            name: None,
        }
    }

    pub(super) fn sub(mut self, subresource: &str) -> Self {
        self.resource = format!("{}/{subresource}", self.resource);
        self
    }
}

impl std::fmt::Display for Ask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => write!(f, " {namespace}/{name}"),
            (None, Some(name)) => write!(f, " {name}"),
            (Some(namespace), None) => write!(f, " in {namespace}"),
            (None, None) => Ok(()),
        }
    }
}

// === impl Failure ===

impl Failure {
    pub(super) fn unreachable(server: &str, ask: &Ask, error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::answered(ask, status.code, *status),
            error => Self::Unreachable {
                server: server.to_owned(),
                ask: ask.clone(),
                why: chain(&error),
            },
        }
    }

    pub(super) fn cut_off(server: &str, ask: &Ask, error: &(dyn Error + 'static)) -> Self {
        Self::Unreachable {
            server: server.to_owned(),
            ask: ask.clone(),
            why: format!("its answer was cut off: {}", chain(error)),
        }
    }

    pub(super) fn timed_out(server: &str, ask: &Ask, after: Duration) -> Self {
        Self::TimedOut {
            server: server.to_owned(),
            ask: ask.clone(),
            after,
        }
    }

    pub(super) fn unreadable(error: serde_json::Error) -> Self {
        Self::Unreadable(error.to_string())
    }

    /// What an answer other than success means.
    pub(super) fn answered(ask: &Ask, code: u16, mut status: Status) -> Self {
        if status.code == 0 {
            status.code = code;
        }
        if let Some(words) = denial(&status.message) {
            return Self::Denied(words.to_owned());
        }
        let of_an_object = status
            .details
            .as_ref()
            .is_some_and(|it| !it.name.is_empty());
        match status.code {
            // Without details it is not the object that is missing, but the whole API.
            404 if !of_an_object && !ask.api.is_empty() => Self::NoHub {
                resource: ask.resource.clone(),
                api: ask.api.clone(),
            },
            404 => Self::NotFound {
                message: status.message,
                near: String::new(),
            },
            _ => Self::Api(Box::new(status)),
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

/// An error and what caused it, without what is said twice.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use berth_api::ManagedCluster;

    use super::*;

    fn answered(code: u16, reason: &str, message: &str, name: &str) -> String {
        let details = serde_json::json!({"name": name});
        let details = (!name.is_empty()).then(|| serde_json::from_value(details).unwrap());
        let status = Status {
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            details,
            ..Status::default()
        };
        let ask = Ask::of::<ManagedCluster>("get", None, Some("c1"));
        Failure::answered(&ask, code, status).to_string()
    }

    #[test]
    fn a_denial_is_told_in_the_gates_words_alone() {
        let message = "admission webhook \"managedclustervalidators.admission.cluster.open-cluster-management.io\" \
                       denied the request: first line\nsecond line";
        assert_eq!(
            answered(403, "Forbidden", message, "c1"),
            "first line\nsecond line"
        );
    }

    #[test]
    fn what_the_hub_lacks_is_told_from_what_is_not_found() {
        assert!(answered(404, "NotFound", "404 page not found", "").starts_with("this is no hub"));
        assert_eq!(
            answered(404, "NotFound", "c1 not found", "c1"),
            "c1 not found"
        );
        assert_eq!(answered(403, "Forbidden", "no", "c1"), "no (Forbidden)");
        assert_eq!(answered(502, "", "", ""), "the hub answered HTTP 502");
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
