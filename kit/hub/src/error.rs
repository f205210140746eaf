//! Why a call failed, in words for users.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use berth_api::text::{cut_bytes, is_plain};
use http::header::{LOCATION, RETRY_AFTER, WARNING};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use tower::BoxError;

use crate::asked::Asked;

/// An API server's whole response to a path that it does not serve, such as a kind whose definition is missing.
const NO_SUCH_PATH: &str = "404 page not found";

/// Upper bound on the bytes that are kept of a body that is not a Status. It may be a page of HTML.
const LONGEST_PAGE: usize = 300;

/// Upper bound on the bytes of a message that are shown.
const LONGEST_MESSAGE: usize = 1024;

/// A failed call: what it asked for, and why it failed.
///
/// The message names the verb, the resource, the object and the cause, and the remedy where a user has one.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: {}", .0.asked, .0.cause)]
pub struct CallError(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    asked: Asked,
    cause: Cause,
}

/// Why a call failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The request was not sent: it is malformed, or the caller must not write any more.
    NotSent(String),
    /// The connection failed, or broke before the end of the response. A write may have been carried out.
    NoConnection(String),
    /// The credentials could not be obtained.
    Credentials(String),
    /// No response within this deadline. A write may have been carried out.
    Late(Duration),
    /// The response is longer than this bound, in bytes.
    TooLarge(usize),
    /// The response is not what was asked for.
    Unreadable(String),
    /// A response other than success.
    Refused(Box<Refusal>),
}

/// A response other than success, from the API server or from a proxy before it.
#[derive(Clone, Debug, Default)]
pub struct Refusal {
    /// HTTP status code.
    pub code: u16,
    /// The Status' reason, such as `NotFound`. Empty: the response is not a Status.
    pub reason: String,
    /// The Status' message, or the beginning of another body.
    pub message: String,
    /// The object of the Status.
    pub details: Details,
    /// The response asks to wait this long.
    pub retry_after: Option<Duration>,
    /// The texts of the API server's warnings, safe to show.
    pub warnings: Vec<String>,
    /// Where a redirect leads. Calls do not follow it.
    pub location: Option<String>,
    says: Says,
}

/// The object of a Status. Missing fields are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Details {
    /// Its name.
    pub name: String,
    /// Its API group.
    pub group: String,
    /// Its resource, as a plural. (The API calls it a kind.)
    pub kind: String,
    /// The object's uid.
    pub uid: String,
    /// The fields that the request was refused for, such as those that other field managers own.
    #[serde(deserialize_with = "causes_or_none")]
    pub causes: Box<[StatusCause]>,
    #[serde(deserialize_with = "u64_or_none")]
    retry_after_seconds: Option<u64>,
}

/// A field that a request was refused for. Missing parts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct StatusCause {
    /// Such as `FieldManagerConflict`.
    pub reason: String,
    /// The path of the field.
    pub field: String,
    /// Text for users.
    pub message: String,
}

/// The origin of a refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Says {
    /// A v1 Status: the API server, or a webhook through it.
    Status,
    /// The API server's plain words for a path that it does not serve.
    NoSuchPath,
    /// Anything else: a proxy, a load balancer.
    #[default]
    Page,
}

/// The fields of a v1 Status that are read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    details: Option<Details>,
}

/// The value, or `None` where the call found that the object does not exist.
///
/// # Errors
/// Every other error of the call.
pub fn optional<T>(result: Result<T, CallError>) -> Result<Option<T>, CallError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(error),
    }
}

// === impl CallError ===

impl CallError {
    /// The error of a call.
    pub fn new(asked: Asked, cause: Cause) -> Self {
        Self(Box::new(Inner { asked, cause }))
    }

    /// What the call asked for.
    pub fn asked(&self) -> &Asked {
        &self.0.asked
    }

    /// Why the call failed.
    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// The response, if it was one other than success.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.0.cause {
            Cause::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// HTTP status code of the response; 0: no response.
    pub fn code(&self) -> u16 {
        self.refusal().map_or(0, |refusal| refusal.code)
    }

    /// The reason of the response's Status; empty: no response, or no Status.
    pub fn reason(&self) -> &str {
        self.refusal().map_or("", |refusal| &refusal.reason)
    }

    /// The response asks to wait this long.
    pub fn retry_after(&self) -> Option<Duration> {
        self.refusal().and_then(|refusal| refusal.retry_after)
    }

    /// Returns true if the object does not exist, on the API server's own word: a v1 Status with code 404 and reason `NotFound`
    /// about this object. Returns false for the page of a proxy, an empty 404, a Status about another object (the namespace of
    /// an object to be created), and a kind that is not served ([`CallError::kind_is_absent`]).
    pub fn is_absent(&self) -> bool {
        let Some(refusal) = self.refusal() else {
            return false;
        };
        let Some(resource) = &self.0.asked.resource else {
            return false;
        };
        let details = &refusal.details;
        let is_or_unsaid = |said: &str, asked: &str| said.is_empty() || said == asked;
        refusal.says == Says::Status
            && refusal.code == 404
            && refusal.reason == "NotFound"
            && (resource.name.as_deref())
                .is_some_and(|name| !name.is_empty() && details.name == name)
            && is_or_unsaid(&details.kind, &resource.plural)
            && is_or_unsaid(&details.group, &resource.group)
    }

    /// Returns true if the API server does not serve the kind, on its own word.
    pub fn kind_is_absent(&self) -> bool {
        self.refusal()
            .is_some_and(|refusal| refusal.code == 404 && refusal.says == Says::NoSuchPath)
    }

    /// Returns true if a write was refused because the object has changed, or exists already: 409.
    pub fn is_conflict(&self) -> bool {
        self.code() == 409
    }

    /// Returns true if the same call may succeed later: the API server did not respond in time, was busy or failed, or a proxy
    /// responded in its place.
    pub fn may_pass(&self) -> bool {
        match &self.0.cause {
            Cause::NoConnection(_) | Cause::Late(_) => true,
            Cause::Refused(refusal) => match refusal.code {
                408 | 429 | 500.. => true,
                404 => refusal.says == Says::Page,
                _ => false,
            },
            _ => false,
        }
    }

    /// The error of a request without a response.
    pub(crate) fn no_response(asked: Asked, error: BoxError) -> Self {
        let auth = error.downcast_ref::<kube::client::AuthError>();
        let cause = match (auth, error.downcast_ref::<kube::Error>()) {
            (Some(error), _) | (None, Some(kube::Error::Auth(error))) => {
                Cause::Credentials(auth_words(error))
            }
            _ => Cause::NoConnection(causes(&*error)),
        };
        Self::new(asked, cause)
    }
}

// === impl Cause ===

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent(why) => write!(f, "{why}"),
            Self::NoConnection(why) => write!(f, "the API server cannot be reached: {why}"),
            Self::Credentials(why) => write!(f, "no credentials for the API server: {why}"),
            Self::Late(within) => write!(f, "no response within {within:.1?}"),
            Self::TooLarge(bytes) if *bytes >= 1 << 20 => {
                write!(f, "the response is longer than {} MiB", bytes >> 20)
            }
            Self::TooLarge(bytes) => write!(f, "the response is longer than {bytes} bytes"),
            Self::Unreadable(why) => write!(f, "the response cannot be read: {why}"),
            Self::Refused(refusal) => write!(f, "{refusal}"),
        }
    }
}

// === impl Refusal ===

impl Refusal {
    pub(crate) fn of(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let status = serde_json::from_slice::<Status<'_>>(body)
            .ok()
            .filter(|status| status.kind == "Status" && status.api_version == "v1");
        let in_head = || headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok();
        let (code, plain_404) = (code.as_u16(), body.trim_ascii() == NO_SUCH_PATH.as_bytes());
        let Some(status) = status else {
            return Self {
                code,
                reason: String::new(),
                message: shown(&String::from_utf8_lossy(body), LONGEST_PAGE),
                details: Details::default(),
                retry_after: in_head().map(Duration::from_secs),
                warnings: warnings(headers).collect(),
                location: location(headers),
                says: if code == 404 && plain_404 {
                    Says::NoSuchPath
                } else {
                    Says::Page
                },
            };
        };
        let details = status.details.unwrap_or_default();
        let seconds = in_head().or(details.retry_after_seconds);
        Self {
            code,
            reason: status.reason.unwrap_or_default(),
            message: status.message.unwrap_or_default(),
            details,
            retry_after: seconds.map(Duration::from_secs),
            warnings: warnings(headers).collect(),
            location: location(headers),
            says: Says::Status,
        }
    }

    /// Returns true if the response is a v1 Status, and so from the API server.
    pub fn is_status(&self) -> bool {
        self.says == Says::Status
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = shown(&self.message, LONGEST_MESSAGE);
        let message = message.trim();
        match (self.says, &*self.reason) {
            (Says::Page, _) => write!(
                f,
                "HTTP {} that is not the API server's: {}",
                self.code,
                if message.is_empty() { "empty" } else { message }
            )?,
            (Says::NoSuchPath, _) => {
                write!(f, "the API server does not serve this kind ({message})")?
            }
            (Says::Status, "") => write!(f, "{message} (HTTP {})", self.code)?,
            (Says::Status, reason) => write!(f, "{message} ({reason})")?,
        }
        if self.code == 401 {
            f.write_str("; the API server does not accept these credentials: check the kubeconfig or service account")?;
        }
        Ok(())
    }
}

fn location(headers: &HeaderMap) -> Option<String> {
    headers.get(LOCATION)?.to_str().ok().map(str::to_owned)
}

fn u64_or_none<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(serde_json::Value::deserialize(deserializer)?.as_u64())
}

/// Malformed causes count as absent: they must not hide the rest of the Status.
fn causes_or_none<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Box<[StatusCause]>, D::Error> {
    let causes = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(causes).unwrap_or_default())
}

/// An error and its causes, without repetitions.
pub fn causes(error: &(dyn Error + 'static)) -> String {
    let mut error = error;
    // "client error (Connect)" says less than its cause.
    if error.is::<hyper_util::client::legacy::Error>() {
        error = error.source().unwrap_or(error);
    }
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !words.contains(&more) {
            words.push_str(": ");
            words.push_str(&more);
        }
        next = cause.source();
    }
    words
}

/// Why credentials could not be obtained. kube's message may contain tokens: the output of exec plugins.
pub(crate) fn auth_words(error: &kube::client::AuthError) -> String {
    use kube::client::AuthError;
    match error {
        AuthError::AuthExecRun { out, .. } => {
            let said = String::from_utf8_lossy(&out.stderr);
            let said = shown(said.trim(), LONGEST_PAGE);
            format!(
                "the kubeconfig's exec plugin failed with {}: {said}",
                out.status
            )
        }
        AuthError::AuthExecParse(_) => {
            "the output of the kubeconfig's exec plugin is no ExecCredential".to_owned()
        }
        AuthError::AuthExecStart(error) => {
            format!("the kubeconfig's exec plugin cannot be started: {error}")
        }
        error => causes(error),
    }
}

/// The beginning of a text, safe to show: characters that are not [plain](is_plain) become `?`, but line ends stay.
fn shown(text: &str, longest: usize) -> String {
    let beginning = cut_bytes(text, longest);
    let mut shown = plain(beginning);
    if beginning.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// The text with `?` for each character that is not [plain](is_plain), except line ends.
fn plain(text: &str) -> String {
    let plain = |c| if c == '\n' || is_plain(c) { c } else { '?' };
    text.chars().map(plain).collect()
}

/// The texts of the API server's warnings, safe to show.
pub(crate) fn warnings(headers: &HeaderMap) -> impl Iterator<Item = String> + '_ {
    let values = headers.get_all(WARNING).iter();
    // The API server writes them in UTF-8.
    values.filter_map(|value| warning(str::from_utf8(value.as_bytes()).ok()?))
}

/// The text of a warning, `299 - "text"` (RFC 7234, section 5.5), unescaped and safe to print.
fn warning(value: &str) -> Option<String> {
    let quoted = value.trim().splitn(3, ' ').nth(2)?.strip_prefix('"')?;
    let mut text = String::new();
    let mut characters = quoted.chars();
    while let Some(c) = characters.next() {
        match c {
            '"' => return Some(plain(&text)),
            '\\' => text.extend(characters.next()),
            c => text.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests;
