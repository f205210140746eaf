//! What is asked of the hub: the Secret and the registrations. Each request has a deadline, and a write has none beyond the
//! term it is made in.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_lease::Term;
use http::Request;
use http::header::CONTENT_TYPE;
use jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::{Api, Client};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::called::Called;
use super::settings::{Place, Registration};
use super::state::{ANNOTATIONS, Shape};
use super::{Bundle, Content, Reading, State};
use crate::issue::IssueError;

/// The longest a request may take.
pub(super) const LONGEST: Duration = Duration::from_secs(10);

/// In managedFields.
const FIELD_MANAGER: &str = "berth-certificates";

/// The type of a Secret that is ours.
const OPAQUE: &str = "Opaque";

/// Longer messages are cut: an answer may be a page of HTML.
const LONGEST_MESSAGE: usize = 1024;

/// Why a request achieved nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub(super) struct Failure {
    /// What was asked for.
    what: String,
    why: String,
    /// HTTP status code; 0 if there was no answer.
    code: u16,
}

/// The Secret, as it is stored.
pub(super) struct Stored {
    object: Option<DynamicObject>,
    pub(super) reading: Reading,
}

/// A registration, as it is stored.
pub(super) struct Registered {
    pub(super) registration: Registration,
    version: String,
    /// What each of its webhooks has, decoded; nothing, where that is none.
    pub(super) bundles: Vec<Vec<u8>>,
    /// Whom API servers call by it.
    pub(super) called: Vec<Called>,
    /// Who else has written it.
    pub(super) others: Vec<String>,
}

/// Asks.
#[derive(Clone)]
pub(super) struct Hub {
    client: Client,
    resource: ApiResource,
    namespace: String,
    name: String,
}

// === impl Hub ===

impl Hub {
    pub(super) fn new(client: Client, place: &Place) -> Self {
        // Untyped: what others add to the object is kept.
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Secret"));
        Self {
            client,
            resource,
            namespace: place.namespace.clone(),
            name: place.name.clone(),
        }
    }

    /// Where the Secret is.
    pub(super) fn secrets(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &self.resource)
    }

    /// Where a registration is.
    pub(super) fn registrations(&self, registration: &Registration) -> Api<DynamicObject> {
        let kind = match registration.mutates {
            true => "MutatingWebhookConfiguration",
            false => "ValidatingWebhookConfiguration",
        };
        let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
        Api::all_with(self.client.clone(), &ApiResource::from_gvk(&kind))
    }

    /// What messages call the Secret.
    pub(super) fn secret_name(&self) -> String {
        format!("Secret {}/{}", self.namespace, self.name)
    }

    /// What is made of a Secret.
    pub(super) fn reading(&self, object: Option<&DynamicObject>, now: Timestamp) -> Reading {
        let Some(object) = object else {
            return Reading::default();
        };
        let data = object.data["data"].as_object();
        let data = data.into_iter().flatten().filter_map(|(key, value)| {
            let value = BASE64_STANDARD.decode(value.as_str()?).ok()?;
            Some((key.clone(), value))
        });
        let content = Content {
            data: data.collect(),
            annotations: object.metadata.annotations.clone().unwrap_or_default(),
        };
        let mut reading = Reading::of(&self.secret_name(), &content, now);
        // Neither can be changed.
        if object.data["type"] != OPAQUE || object.data["immutable"] == true {
            reading.shape = Shape::Misshapen;
        }
        reading
    }

    /// The Secret, as it is now.
    pub(super) async fn secret(&self, term: &Term, now: Timestamp) -> Result<Stored, Failure> {
        let what = || format!("get {}", self.secret_name());
        let object = within(term, what(), self.secrets().get_opt(&self.name)).await?;
        Ok(Stored {
            reading: self.reading(object.as_ref(), now),
            object,
        })
    }

    /// Stores a state in place of what was read, and of nothing else.
    pub(super) async fn store(
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
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let mut object = object.clone();
        object.metadata.managed_fields = None;
        fill(&mut object, state);
        let what = format!("update {}", self.secret_name());
        let secrets = self.secrets();
        within(term, what, secrets.replace(&self.name, &params, &object)).await?;
        Ok(())
    }

    /// Why nothing can be stored in a Secret of this shape, and what to do about it.
    pub(super) fn unusable(&self, shape: Shape) -> Failure {
        Failure {
            what: self.secret_name(),
            why: remedy(shape, &self.namespace, &self.name),
            code: 0,
        }
    }

    /// A registration, as it is now; none, if there is none.
    pub(super) async fn registered(
        &self,
        term: &Term,
        registration: &Registration,
    ) -> Result<Option<Registered>, Failure> {
        let what = format!("get {registration}");
        let api = self.registrations(registration);
        let object = within(term, what, api.get_opt(&registration.name)).await?;
        Ok(object.map(|object| Registered::new(registration, &object)))
    }

    /// Gives each webhook of a registration this bundle, unless the registration was changed meanwhile.
    pub(super) async fn publish(
        &self,
        term: &Term,
        registered: &Registered,
        bundle: &str,
    ) -> Result<(), Failure> {
        let registration = &registered.registration;
        let what = format!("patch {registration}");
        let request = Request::patch(format!(
            "/apis/admissionregistration.k8s.io/v1/{}/{}?fieldManager={FIELD_MANAGER}",
            registration.resource(),
            registration.name,
        ))
        .header(CONTENT_TYPE, "application/json-patch+json")
        .body(registered.patch(bundle).to_string().into_bytes());
        let request = request.map_err(|error| Failure {
            what: what.clone(),
            why: error.to_string(),
            code: 0,
        })?;
        within(term, what, self.client.request::<DynamicObject>(request)).await?;
        Ok(())
    }
}

/// An answer within its time.
async fn within<T>(
    term: &Term,
    what: String,
    answer: impl Future<Output = kube::Result<T>>,
) -> Result<T, Failure> {
    let failed = |why: &str| Failure {
        what: what.clone(),
        why: why.to_owned(),
        code: 0,
    };
    let longest = term.bound(LONGEST);
    let longest = longest.ok_or_else(|| failed("another process leads now"))?;
    match timeout(longest, answer).await {
        Err(_) => Err(failed("no answer in time")),
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Failure::of(what, &error)),
    }
}

// === impl Registered ===

impl Registered {
    fn new(registration: &Registration, object: &DynamicObject) -> Self {
        let bundle = |webhook: &Value| {
            let text = webhook["clientConfig"]["caBundle"]
                .as_str()
                .unwrap_or_default();
            BASE64_STANDARD.decode(text).unwrap_or_default()
        };
        let webhooks = object.data["webhooks"].as_array();
        let webhooks = || webhooks.into_iter().flatten();
        let called = webhooks().filter_map(|it| Called::new(&it["clientConfig"], &bundle(it)));
        let managers = object.metadata.managed_fields.iter().flatten();
        let mut others: Vec<_> = managers
            .filter_map(|it| it.manager.clone())
            .filter(|it| it != FIELD_MANAGER)
            .collect();
        others.dedup();
        Self {
            registration: registration.clone(),
            version: object.metadata.resource_version.clone().unwrap_or_default(),
            called: called.collect(),
            bundles: webhooks().map(bundle).collect(),
            others,
        }
    }

    /// What its webhooks have.
    pub(super) fn published(&self) -> impl Iterator<Item = Bundle> + '_ {
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
    pub(super) fn of(what: String, error: &kube::Error) -> Self {
        let (code, mut why) = match error {
            kube::Error::Api(status) => {
                (status.code, format!("{} ({})", status.message, status.code))
            }
            error => (0, causes(error)),
        };
        if why.len() > LONGEST_MESSAGE {
            why.truncate(why.floor_char_boundary(LONGEST_MESSAGE));
            why.push('…');
        }
        if code == 403 {
            why.push_str("; grant what manifests/server/certificates-role.yaml does");
        }
        Self { what, why, code }
    }

    pub(super) fn making(error: &IssueError) -> Self {
        Self {
            what: "make certificates".to_owned(),
            why: error.to_string(),
            code: 0,
        }
    }

    pub(super) fn late(what: String) -> Self {
        Self {
            what,
            why: "no answer in time".to_owned(),
            code: 0,
        }
    }

    /// Somebody else was faster: it is to be looked at again at once.
    pub(super) fn is_conflict(&self) -> bool {
        self.code == 409
    }

    /// What was asked for does not exist any more.
    pub(super) fn is_absence(&self) -> bool {
        self.code == 404
    }
}

/// Why a Secret of this shape holds no certificate, and what an admin does about it.
pub(super) fn remedy(shape: Shape, namespace: &str, name: &str) -> String {
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

/// An error with what caused it.
fn causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.ends_with(&more) {
            words = format!("{words}: {more}");
        }
        cause = error.source();
    }
    words
}

impl std::fmt::Display for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.resource(), self.name)
    }
}

/// Puts a state into a Secret. Annotations and labels of others stay.
fn fill(object: &mut DynamicObject, state: &State) {
    let content = state.content();
    let data: Map<_, _> = content
        .data
        .into_iter()
        .map(|(key, value)| (key, BASE64_STANDARD.encode(value).into()))
        .collect();
    object.data["data"] = data.into();
    let annotations: &mut BTreeMap<_, _> = object.metadata.annotations.get_or_insert_default();
    annotations.retain(|key, _| !ANNOTATIONS.contains(&key.as_str()));
    annotations.extend(content.annotations);
}
