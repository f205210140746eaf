//! The behaviour of ServiceAccounts: their tokens.

use serde_json::{Value, json};

use crate::authentication::{AUDIENCE, Reference, Wanted};
use crate::object::{self, Object};
use crate::resources::{Behaviour, WriteTo};
use crate::status::{ApiError, FieldError};
use crate::storage::Key;

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";

/// The default validity of a token, in seconds.
const DEFAULT_SECONDS: i64 = 3600;
const MIN_SECONDS: i64 = 600;
const MAX_SECONDS: i64 = 1 << 32;

/// ServiceAccounts.
#[derive(Debug)]
pub(crate) struct ServiceAccounts;

impl Behaviour for ServiceAccounts {
    fn answer(&self, write: &WriteTo<'_>, question: &Object) -> Option<Result<Object, ApiError>> {
        let account = write.old.filter(|_| write.subresource == "token")?;
        Some(token(write, account, question))
    }
}

/// What a TokenRequest asks for, once its defaults are in.
#[derive(Debug, PartialEq)]
struct Asked {
    audiences: Vec<String>,
    seconds: i64,
}

fn token(write: &WriteTo<'_>, account: &Object, request: &Object) -> Result<Object, ApiError> {
    check_account(account, request)?;
    let asked = asked(request)?;
    let secret = bound_secret(write, request)?;
    let token = write.world.authenticator.issue(
        &Wanted {
            account,
            audiences: &asked.audiences,
            seconds: asked.seconds,
            secret,
        },
        write.now,
    )?;
    let expires = jiff::Timestamp::from_second(write.now.as_second().saturating_add(asked.seconds));
    let expires = expires.unwrap_or(jiff::Timestamp::MAX);

    let mut answer = Object::default();
    answer.set_type(request.api_version(), request.kind());
    answer.set(
        &["metadata"],
        json!({
            "name": account.name(),
            "namespace": account.namespace(),
            "uid": account.uid(),
            "creationTimestamp": object::time(write.now),
        }),
    );
    answer.set(
        &["spec"],
        json!({
            "audiences": asked.audiences,
            "expirationSeconds": asked.seconds,
            "boundObjectRef": request.at(&["spec", "boundObjectRef"]).unwrap_or(&Value::Null),
        }),
    );
    answer.set(
        &["status"],
        json!({ "token": token, "expirationTimestamp": object::time(expires) }),
    );
    Ok(answer)
}

/// A request may name the uid of its account. Its name and namespace were compared with the path.
fn check_account(account: &Object, request: &Object) -> Result<(), ApiError> {
    let (sent, is) = (request.uid(), account.uid());
    if !sent.is_empty() && sent != is {
        let why = format!(
            "the UID in the token request ({sent}) does not match the UID of the service account ({is})"
        );
        return Err(ApiError::conflict(GROUP, KIND, account.name(), &why));
    }
    Ok(())
}

fn asked(request: &Object) -> Result<Asked, ApiError> {
    let given = |field: &str| request.at(&["spec", field]).cloned().unwrap_or_default();
    let malformed = |error: serde_json::Error| ApiError::bad_request(format!("{KIND}: {error}"));
    let seconds: Option<i64> =
        serde_json::from_value(given("expirationSeconds")).map_err(malformed)?;
    let seconds = seconds.unwrap_or(DEFAULT_SECONDS);
    let audiences: Option<Vec<String>> =
        serde_json::from_value(given("audiences")).map_err(malformed)?;
    let mut audiences = audiences.unwrap_or_default();
    if audiences.is_empty() {
        audiences.push(AUDIENCE.to_owned());
    }
    let words = if seconds < MIN_SECONDS {
        "may not specify a duration less than 10 minutes"
    } else if seconds > MAX_SECONDS {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        return Ok(Asked { audiences, seconds });
    };
    let error = FieldError::invalid("spec.expirationSeconds", seconds, words);
    Err(ApiError::invalid(GROUP, KIND, "", &[error]))
}

/// The Secret that the token is to be bound to, if any. There are no pods here, and nodes run none.
fn bound_secret(write: &WriteTo<'_>, request: &Object) -> Result<Option<Reference>, ApiError> {
    let reference = request.at(&["spec", "boundObjectRef"]);
    let Some(reference) = reference.filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let (version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
    match (version, kind) {
        ("" | "v1", "Secret") => {}
        ("" | "v1", "Pod" | "Node") => {
            let what = format!("tokens bound to a {kind}");
            return Err(ApiError::not_implemented(&what));
        }
        _ => {
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            return Err(ApiError::bad_request(format!(
                "cannot bind token to object of type {group}/{version}, Kind={kind}"
            )));
        }
    }
    let key = Key::new("secrets", &write.key.namespace, name);
    let stored = write.world.store.get(&key);
    let stored = stored.ok_or_else(|| ApiError::not_found("", "secrets", name))?;
    let (sent, is) = (text("uid"), stored.object.uid());
    if !sent.is_empty() && sent != is {
        let why = format!(
            "the UID in the bound object reference ({sent}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(ApiError::conflict("", kind, name, &why));
    }
    Ok(Some(Reference {
        name: name.to_owned(),
        uid: is.to_owned(),
    }))
}
