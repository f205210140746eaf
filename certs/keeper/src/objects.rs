//! What is asked of the hub: the Secret and the registrations. Each request has a deadline, and a write has none beyond the
//! term it is made in.

use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_certs::issue::IssueError;
use berth_certs::managed::state::ANNOTATIONS;
use berth_certs::managed::{Bundle, Content, Reading, Shape, State};
use berth_hub::{Call, CallError, HubApi, JSON_PATCH, optional};
use berth_lease::Term;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::called::Called;
use crate::settings::{Place, Registration};

/// The longest a request may take.
pub(crate) const LONGEST: Duration = Duration::from_secs(10);

/// The byte bound of a response: an object, with what others added to it.
pub(crate) const LONGEST_OBJECT: usize = 4 << 20;

/// In managedFields.
const FIELD_MANAGER: &str = "berth-certificates";

/// The type of a Secret that is ours.
const OPAQUE: &str = "Opaque";

/// Why a request achieved nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub(crate) struct Failure {
    /// What was asked for, and why it failed.
    words: String,
    /// HTTP status code; 0 if there was no answer.
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
    /// What each of its webhooks has, decoded; nothing, where that is none.
    pub(crate) bundles: Vec<Vec<u8>>,
    /// Whom API servers call by it.
    pub(crate) called: Vec<Called>,
    /// Who else has written it.
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

    /// The path of the Secrets.
    pub(crate) fn secrets(&self) -> String {
        format!("/api/v1/namespaces/{}/secrets", self.namespace)
    }

    /// The path of the registrations of this kind.
    pub(crate) fn registrations(registration: &Registration) -> String {
        format!(
            "/apis/admissionregistration.k8s.io/v1/{}",
            registration.resource()
        )
    }

    /// What messages call the Secret.
    pub(crate) fn secret_name(&self) -> String {
        format!("Secret {}/{}", self.namespace, self.name)
    }

    /// What is made of a Secret.
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
        // Neither can be changed.
        if object["type"] != OPAQUE || object["immutable"] == true {
            reading.shape = Shape::Misshapen;
        }
        reading
    }

    /// The Secret, as it is now.
    pub(crate) async fn secret(&self, term: &Term, now: Timestamp) -> Result<Stored, Failure> {
        let path = format!("{}/{}", self.secrets(), self.name);
        let object = optional(self.call(term, Call::get(path)).await)?;
        Ok(Stored {
            reading: self.reading(object.as_ref(), now),
            object,
        })
    }

    /// Stores a state in place of what was read, and of nothing else.
    pub(crate) async fn store(
        &self,
        term: &Term,
        stored: &Stored,
        state: &State,
    ) -> Result<(), Failure> {
        let Some(object) = stored
            .object
            .as_ref()
            .filter(|_| stored.reading.shape.is_usable())
        else {
            return Err(self.unusable(stored.reading.shape));
        };
        // Untyped: what others add to the object is kept.
        let mut object = object.clone();
        fill(&mut object, state);
        let path = format!(
            "{}/{}?fieldManager={FIELD_MANAGER}",
            self.secrets(),
            self.name
        );
        self.call(term, Call::put(path, object.to_string())).await?;
        Ok(())
    }

    /// Why nothing can be stored in a Secret of this shape, and what to do about it.
    pub(crate) fn unusable(&self, shape: Shape) -> Failure {
        Failure {
            words: format!(
                "{}: {}",
                self.secret_name(),
                remedy(shape, &self.namespace, &self.name)
            ),
            code: 0,
            is_absence: false,
        }
    }

    /// A registration, as it is now; `None`: it does not exist, on the API server's own word.
    pub(crate) async fn registered(
        &self,
        term: &Term,
        registration: &Registration,
    ) -> Result<Option<Registered>, Failure> {
        let path = format!(
            "{}/{}",
            Self::registrations(registration),
            registration.name
        );
        let object = optional(self.call(term, Call::get(path)).await)?;
        Ok(object.map(|object| Registered::new(registration, &object)))
    }

    /// Gives each webhook of a registration this bundle, unless the registration was changed meanwhile.
    pub(crate) async fn publish(
        &self,
        term: &Term,
        registered: &Registered,
        bundle: &str,
    ) -> Result<(), Failure> {
        let registration = &registered.registration;
        let path = format!(
            "{}/{}?fieldManager={FIELD_MANAGER}",
            Self::registrations(registration),
            registration.name,
        );
        let patch = registered.patch(bundle).to_string();
        self.call(term, Call::patch(path, JSON_PATCH, patch))
            .await?;
        Ok(())
    }

    /// A call that ends with the term.
    async fn call(&self, term: &Term, call: Call) -> Result<Value, CallError> {
        let longest = term.bound(LONGEST);
        let longest = longest.ok_or_else(|| call.not_sent("another process leads now"))?;
        let call = call.within(longest).at_most(LONGEST_OBJECT);
        self.api.call(call).await?.json()
    }
}

// === impl Registered ===

impl Registered {
    fn new(registration: &Registration, object: &Value) -> Self {
        let bundle = |webhook: &Value| {
            let text = webhook["clientConfig"]["caBundle"]
                .as_str()
                .unwrap_or_default();
            BASE64_STANDARD.decode(text).unwrap_or_default()
        };
        let webhooks = object["webhooks"].as_array();
        let webhooks = || webhooks.into_iter().flatten();
        let called = webhooks().filter_map(|it| Called::new(&it["clientConfig"], &bundle(it)));
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
            called: called.collect(),
            bundles: webhooks().map(bundle).collect(),
            others,
        }
    }

    /// What its webhooks have.
    pub(crate) fn published(&self) -> impl Iterator<Item = Bundle> + '_ {
        self.bundles.iter().map(|pem| Bundle::new(pem))
    }

    fn patch(&self, bundle: &str) -> Value {
        // With another version than the stored one it is a conflict.
        let mut operations = vec![json!({
            "op": "replace", "path": "/metadata/resourceVersion", "value": self.version,
        })];
        let encoded = BASE64_STANDARD.encode(bundle);
        operations.extend((0..self.bundles.len()).map(|i| {
            json!({ "op": "add", "path": format!("/webhooks/{i}/clientConfig/caBundle"), "value": encoded })
        }));
        operations.into()
    }
}

// === impl Failure ===

impl Failure {
    pub(crate) fn making(error: &IssueError) -> Self {
        Self {
            words: format!("make certificates: {error}"),
            code: 0,
            is_absence: false,
        }
    }

    /// Somebody else was faster: it is to be looked at again at once.
    pub(crate) fn is_conflict(&self) -> bool {
        self.code == 409
    }

    /// What was asked for does not exist any more.
    pub(crate) fn is_absence(&self) -> bool {
        self.is_absence
    }
}

/// Why a Secret of this shape holds no certificate, and what an admin does about it.
pub(crate) fn remedy(shape: Shape, namespace: &str, name: &str) -> String {
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

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let mut words = error.to_string();
        if error.code() == 403 {
            words.push_str("; grant what manifests/server/certificates-role.yaml does");
        }
        Self {
            words,
            code: error.code(),
            is_absence: error.is_absent(),
        }
    }
}

impl std::fmt::Display for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.resource(), self.name)
    }
}

/// Puts a state into a Secret. Annotations and labels of others stay.
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
    // Left out, they stay as they are.
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.remove("managedFields");
    }
}
