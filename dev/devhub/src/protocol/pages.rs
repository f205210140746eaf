//! The start of a list: after which object (`continue`), and at which revision (`resourceVersion`).

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::protocol::query::{ListOptions, VersionMatch};
use crate::status::{ApiError, Cause, Details, FieldError};
use crate::storage::Store;

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

/// How long a request waits for a revision that is yet to come.
const FUTURE: Duration = Duration::from_secs(3);

/// A continue token: opaque to clients, and of the form that kube-apiserver's have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Token {
    #[serde(default)]
    v: String,
    /// The revision of the list; -1 for the latest.
    #[serde(default)]
    rv: i64,
    /// The name (within a namespace, or without one) or `namespace/name` of the last object, and a NUL.
    #[serde(default)]
    start: String,
}

/// The start of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// As of which revision; none for now.
    pub(crate) at: Option<u64>,
    /// After which (namespace, name).
    pub(crate) after: Option<(String, String)>,
    /// Wait for this revision.
    pub(crate) not_before: u64,
}

/// Where names of objects stand in tokens of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope<'a> {
    /// The resource has no namespaces.
    Cluster,
    /// The list is of one namespace.
    Namespace(&'a str),
    /// The list is of all namespaces.
    Everywhere,
}

impl Start {
    /// Reads `continue`, `resourceVersion`, and `resourceVersionMatch`, which are known to go together.
    ///
    /// # Errors
    /// 400 for what cannot be read.
    pub(crate) fn read(options: &ListOptions, scope: Scope<'_>) -> Result<Self, ApiError> {
        let version = options.resource_version.as_str();
        if !options.continues.is_empty() {
            let (revision, after) = decode(&options.continues, scope)
                .map_err(|why| ApiError::bad_request(format!("invalid continue token: {why}")))?;
            if !matches!(version, "" | "0") {
                return Err(ApiError::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            return Ok(Self {
                at: revision,
                after: Some(after),
                not_before: 0,
            });
        }
        let revision = parse(version).map_err(|error| {
            let (field, body) = (&error.field, error.body());
            ApiError::bad_request(format!("invalid resource version: {field}: {body}"))
        })?;
        if revision == 0 {
            return Ok(Self::default());
        }
        let exact = match options.matching {
            Some(matching) => matching == VersionMatch::Exact,
            None => options.limit.is_some(),
        };
        Ok(Self {
            at: exact.then_some(revision),
            after: None,
            not_before: revision,
        })
    }
}

/// A resourceVersion as a number; 0 for anything.
///
/// # Errors
/// 500 if the text is not a number, as kube-apiserver returns.
pub(crate) fn revision(text: &str) -> Result<u64, ApiError> {
    parse(text).map_err(|error| {
        let message = format!("{}: {}", error.field, error.body());
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    })
}

fn parse(text: &str) -> Result<u64, FieldError> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse()
        .map_err(|error| FieldError::invalid("resourceVersion", text, format!("{error}")))
}

/// Waits until the store has this revision.
///
/// # Errors
/// 504 if it does not come.
pub(crate) async fn wait_for(store: &Store, revision: u64) -> Result<(), ApiError> {
    let until = tokio::time::Instant::now() + FUTURE;
    loop {
        let current = store.revision();
        if current >= revision {
            return Ok(());
        }
        if tokio::time::Instant::now() >= until {
            return Err(too_large(revision, current));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// 504: there is no such revision yet.
pub(crate) fn too_large(revision: u64, current: u64) -> ApiError {
    let message = format!("Timeout: Too large resource version: {revision}, current: {current}");
    let details = Details {
        causes: vec![Cause {
            reason: "ResourceVersionTooLarge".into(),
            message: "Too large resource version".into(),
            ..Cause::default()
        }],
        retry_after_seconds: 1,
        ..Details::default()
    };
    ApiError {
        details: Some(details),
        ..ApiError::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message)
    }
}

/// The token for what comes after an object; without a revision, for the list as it is then.
pub(crate) fn encode(revision: Option<u64>, scope: Scope<'_>, last: (&str, &str)) -> String {
    let (namespace, name) = last;
    let start = match scope {
        Scope::Everywhere => format!("{namespace}/{name}\0"),
        Scope::Cluster | Scope::Namespace(_) => format!("{name}\0"),
    };
    let token = Token {
        v: TOKEN_VERSION.to_owned(),
        rv: revision.and_then(|rv| i64::try_from(rv).ok()).unwrap_or(-1),
        start,
    };
    // Strings and a number are always JSON.
    BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}

/// A revision (none for the latest) and the (namespace, name) of the last object.
type Position = (Option<u64>, (String, String));

fn decode(token: &str, scope: Scope<'_>) -> Result<Position, String> {
    const INVALID: &str = "continue key is not valid";
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).unwrap_or_default();
    let token = serde_json::from_slice::<Token>(&bytes);
    let token = token.map_err(|error| format!("{INVALID}: {error}"))?;
    if token.v != TOKEN_VERSION || token.rv == 0 || token.start.is_empty() {
        return Err(format!("{INVALID}: it is of another version, or empty"));
    }
    let key = token.start.trim_end_matches('\0');
    let is_clean = key.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let after = match scope {
        Scope::Cluster => Some(("", key)),
        Scope::Namespace(namespace) => Some((namespace, key)),
        Scope::Everywhere => key.split_once('/'),
    };
    let after = after.filter(|(_, name)| is_clean && !name.contains('/'));
    let Some((namespace, name)) = after else {
        return Err(format!("{INVALID}: {}", token.start));
    };
    let after = (namespace.to_owned(), name.to_owned());
    Ok((u64::try_from(token.rv).ok(), after))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_revision_that_does_not_come_is_a_timeout() {
        let store = Store::new(10);
        assert!(wait_for(&store, 1).await.is_ok());
        let error = wait_for(&store, 99).await.unwrap_err();
        assert_eq!(error.code, StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(
            error.message,
            "Timeout: Too large resource version: 99, current: 1"
        );
        assert_eq!(
            error.details.unwrap().causes[0].reason,
            "ResourceVersionTooLarge"
        );
    }
}
