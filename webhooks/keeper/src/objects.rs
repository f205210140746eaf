//! Requests for the Secret and the registrations. Each has a deadline, which is no later than the end of the term.

use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_api::GroupVersionResource;
use berth_certs::issue::IssueError;
use berth_certs::managed::state::ANNOTATIONS;
use berth_certs::managed::{Bundle, Content, Policy, Reading, Shape, State};
use berth_hub::{Call, CallError, HubApi, JSON_PATCH, object_path, optional};
use berth_lease::Term;
use berth_reconcile::{Item, WatchError, Watched};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::called::Called;
use crate::settings::{Place, Registration, RegistrationKind};

/// Where a CustomResourceDefinition says how its conversion webhook is called.
const CONVERSION: &str = "/spec/conversion/webhook/clientConfig";

/// The longest time for a request.
const LONGEST: Duration = Duration::from_secs(10);

/// The byte bound of a response: an object, with what other clients added to it.
const LONGEST_OBJECT: usize = 4 << 20;

/// The name in managedFields.
const FIELD_MANAGER: &str = "berth-certificates";

/// The type of the Secret.
const OPAQUE: &str = "Opaque";

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct RequestError {
    /// What was requested, and why it failed.
    message: String,
    /// HTTP status code; 0 without a response.
    code: u16,
    is_absence: bool,
}

/// The Secret, as it is stored.
pub(crate) struct Stored {
    object: Option<Value>,
    pub(crate) reading: Reading,
}

/// A registration, as it is stored.
pub(crate) struct Registered {
    pub(crate) registration: Registration,
    version: String,
    /// Where it says how each of its webhooks is called, as JSON pointers.
    client_configs: Vec<String>,
    /// The caBundle of each of its webhooks, decoded; empty if it has none or an invalid one.
    pub(crate) bundles: Vec<Vec<u8>>,
    /// The addresses that API servers call by it.
    pub(crate) called: Vec<Called>,
    /// Other field managers that have written it.
    pub(crate) others: Vec<String>,
}

/// The objects on the hub: the Secret and the registrations.
#[derive(Clone)]
pub(crate) struct Objects {
    api: HubApi,
    namespace: String,
    name: String,
}

// === impl Objects ===

impl Objects {
    pub(crate) fn new(api: HubApi, place: &Place) -> Self {
        Self {
            api,
            namespace: place.namespace.clone(),
            name: place.name.clone(),
        }
    }

    pub(crate) fn api(&self) -> &HubApi {
        &self.api
    }

    /// The Secret, to be followed.
    pub(crate) fn watched_secret(&self) -> Watched<Value> {
        let kind = GroupVersionResource::new("", "v1", "secrets");
        Watched::new("secrets", kind, whole)
            .within(&self.namespace)
            .named(&self.name)
    }

    /// A registration, to be followed: only that it changes.
    pub(crate) fn watched_registration(registration: &Registration) -> Watched<()> {
        let (group, version, resource) = registration.kind.resource();
        let kind = GroupVersionResource::new(group, version, resource);
        Watched::new(resource, kind, |_| Ok(())).named(&registration.name)
    }

    /// The path of the Secret.
    fn secret_path(&self) -> String {
        object_path(("", "v1", "secrets"), &self.namespace, &self.name)
    }

    /// The path of a registration.
    fn registration_path(registration: &Registration) -> String {
        object_path(registration.kind.resource(), "", &registration.name)
    }

    /// The name of the Secret in messages.
    pub(crate) fn secret_name(&self) -> String {
        format!("Secret {}/{}", self.namespace, self.name)
    }

    /// Reads a Secret, or its absence.
    pub(crate) fn reading(&self, object: Option<&Value>, now: Timestamp) -> Reading {
        let Some(object) = object else {
            return Reading::default();
        };
        let data = object["data"].as_object();
        let data = data.into_iter().flatten().filter_map(|(key, value)| {
            let value = BASE64_STANDARD.decode(value.as_str()?).ok()?;
            Some((key.clone(), value))
        });
        let annotations = object["metadata"]["annotations"].as_object();
        let annotations = annotations.into_iter().flatten();
        let content = Content {
            data: data.collect(),
            annotations: annotations
                .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
                .collect(),
        };
        let mut reading = Reading::of(&self.secret_name(), &content, now);
        // Neither can be corrected by an update.
        if object["type"] != OPAQUE || object["immutable"] == true {
            reading.shape = Shape::Misshapen;
        }
        reading
    }

    /// The Secret, as it is now.
    pub(crate) async fn secret(&self, term: &Term, now: Timestamp) -> Result<Stored, RequestError> {
        let object = optional(self.call(term, Call::get(self.secret_path())).await)?;
        Ok(Stored {
            reading: self.reading(object.as_ref(), now),
            object,
        })
    }

    /// Replaces the Secret that was read by a state. If the Secret has changed since, that is a conflict.
    pub(crate) async fn store(
        &self,
        term: &Term,
        stored: &Stored,
        state: &State,
    ) -> Result<(), RequestError> {
        let Some(object) = stored
            .object
            .as_ref()
            .filter(|_| stored.reading.shape.is_usable())
        else {
            return Err(self.unusable(stored.reading.shape));
        };
        // Untyped: fields that other clients added are kept.
        let mut object = object.clone();
        fill(&mut object, state);
        let path = format!("{}?fieldManager={FIELD_MANAGER}", self.secret_path());
        self.call(term, Call::put(path, object.to_string())).await?;
        Ok(())
    }

    /// Why a Secret of this shape cannot be used, and what to do about it.
    pub(crate) fn unusable(&self, shape: Shape) -> RequestError {
        RequestError {
            message: format!(
                "{}: {}",
                self.secret_name(),
                remedy(shape, &self.namespace, &self.name)
            ),
            code: 0,
            is_absence: false,
        }
    }

    /// A registration, as it is now. `None`: it does not exist, on the API server's own word. `policy` has the names of our certificate.
    pub(crate) async fn registered(
        &self,
        term: &Term,
        registration: &Registration,
        policy: &Policy,
    ) -> Result<Option<Registered>, RequestError> {
        let path = Self::registration_path(registration);
        let object = optional(self.call(term, Call::get(path)).await)?;
        Ok(object.map(|object| Registered::new(registration, &object, policy)))
    }

    /// Sets the bundle of each webhook of a registration. If the registration has changed since it was read, that is a
    /// conflict.
    pub(crate) async fn publish(
        &self,
        term: &Term,
        registered: &Registered,
        bundle: &str,
    ) -> Result<(), RequestError> {
        let registration = &registered.registration;
        let path = Self::registration_path(registration);
        let path = format!("{path}?fieldManager={FIELD_MANAGER}");
        let patch = registered.patch(bundle).to_string();
        self.call(term, Call::patch(path, JSON_PATCH, patch))
            .await?;
        Ok(())
    }

    /// Makes a call that ends with the term.
    async fn call(&self, term: &Term, call: Call) -> Result<Value, CallError> {
        let longest = term.bound(LONGEST);
        let longest = longest.ok_or_else(|| call.not_sent("another process leads now"))?;
        let call = call.within(longest).at_most(LONGEST_OBJECT);
        self.api.call(call).await?.json()
    }
}

// === impl Registered ===

impl Registered {
    fn new(registration: &Registration, object: &Value, policy: &Policy) -> Self {
        let bundle = |client_config: &Value| {
            let text = client_config["caBundle"].as_str().unwrap_or_default();
            BASE64_STANDARD.decode(text).unwrap_or_default()
        };
        let called = |client_config: &Value| Called::new(client_config, &bundle(client_config));
        let client_configs = match registration.kind {
            RegistrationKind::Mutating | RegistrationKind::Validating => {
                let webhooks = object["webhooks"].as_array().map_or(0, Vec::len);
                (0..webhooks)
                    .map(|index| format!("/webhooks/{index}/clientConfig"))
                    .collect()
            }
            // OCM's, or another one that a user has chosen, keeps its bundle.
            RegistrationKind::Conversion => {
                let config = object.pointer(CONVERSION).and_then(called);
                let is_ours = config.is_some_and(|it| it.is_of(policy));
                Vec::from_iter(is_ours.then(|| CONVERSION.to_owned()))
            }
        };
        let found = || client_configs.iter().filter_map(|at| object.pointer(at));
        let metadata = &object["metadata"];
        let managers = metadata["managedFields"].as_array().into_iter().flatten();
        let mut others: Vec<_> = managers
            .filter_map(|it| it["manager"].as_str().map(str::to_owned))
            .filter(|it| it != FIELD_MANAGER)
            .collect();
        others.dedup();
        Self {
            registration: registration.clone(),
            version: metadata["resourceVersion"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            called: found().filter_map(called).collect(),
            bundles: found().map(bundle).collect(),
            others,
            client_configs,
        }
    }

    /// The bundles of its webhooks.
    pub(crate) fn published(&self) -> impl Iterator<Item = Bundle> + '_ {
        self.bundles.iter().map(|pem| Bundle::new(pem))
    }

    fn patch(&self, bundle: &str) -> Value {
        // A conflict, if another version is stored.
        let mut operations = vec![json!({
            "op": "replace", "path": "/metadata/resourceVersion", "value": self.version,
        })];
        let encoded = BASE64_STANDARD.encode(bundle);
        operations.extend(
            self.client_configs.iter().map(
                |at| json!({ "op": "add", "path": format!("{at}/caBundle"), "value": encoded }),
            ),
        );
        operations.into()
    }
}

// === impl RequestError ===

impl RequestError {
    fn refused(code: u16, mut message: String) -> Self {
        if code == 403 {
            message.push_str("; grant what manifests/server/certificates-role.yaml does");
        }
        Self {
            message,
            code,
            is_absence: false,
        }
    }

    pub(crate) fn making(error: &IssueError) -> Self {
        Self {
            message: format!("make certificates: {error}"),
            code: 0,
            is_absence: false,
        }
    }

    /// RBAC does not allow it.
    pub(crate) fn is_forbidden(&self) -> bool {
        self.code == 403
    }

    /// Returns true if another client has written the object in between.
    pub(crate) fn is_conflict(&self) -> bool {
        self.code == 409
    }

    /// Returns true if the object does not exist.
    pub(crate) fn is_absence(&self) -> bool {
        self.is_absence
    }
}

/// Why a Secret of this shape holds no certificate, and what an admin can do about it.
fn remedy(shape: Shape, namespace: &str, name: &str) -> String {
    match shape {
        Shape::Missing => {
            "does not exist: kubectl apply -f manifests/server/certificates.yaml".to_owned()
        }
        Shape::Misshapen => format!(
            "is not of type Opaque, or is immutable: kubectl -n {namespace} delete secret {name}, then kubectl apply -f \
             manifests/server/certificates.yaml"
        ),
        Shape::Empty => {
            "is empty: the controller has not filled it yet (berth controller --keep-certificates)"
                .to_owned()
        }
        Shape::Filled => "holds data".to_owned(),
    }
}

impl From<CallError> for RequestError {
    fn from(error: CallError) -> Self {
        Self {
            is_absence: error.is_absent(),
            ..Self::refused(error.code(), error.to_string())
        }
    }
}

impl From<WatchError> for RequestError {
    fn from(error: WatchError) -> Self {
        Self::refused(error.code, error.message)
    }
}

impl std::fmt::Display for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (_, _, resource) = self.kind.resource();
        write!(f, "{resource} {}", self.name)
    }
}

/// Reads a whole object.
fn whole(item: &Item<'_>) -> Result<Value, serde_json::Error> {
    item.parse()
}

/// Puts a state into a Secret. Annotations and labels of other clients stay.
fn fill(object: &mut Value, state: &State) {
    let content = state.content();
    let data: Map<_, _> = content
        .data
        .into_iter()
        .map(|(key, value)| (key, BASE64_STANDARD.encode(value).into()))
        .collect();
    object["data"] = data.into();
    let metadata = &mut object["metadata"];
    let annotations = metadata["annotations"].as_object().cloned();
    let mut annotations = annotations.unwrap_or_default();
    annotations.retain(|key, _| !ANNOTATIONS.contains(&key.as_str()));
    annotations.extend(
        content
            .annotations
            .into_iter()
            .map(|(key, value)| (key, value.into())),
    );
    metadata["annotations"] = annotations.into();
    // The API server keeps them if they are left out.
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.remove("managedFields");
    }
}

#[cfg(test)]
mod tests;
