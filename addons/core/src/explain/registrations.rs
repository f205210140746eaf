//! As whom the agent of an add-on acts on the hub, and its certificate requests.

use berth_api::addon::{RegistrationConfig, RegistrationType};
use berth_api::agents;
use berth_api::text::shorten;
use berth_certs::client::ClientCertificate;
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition,
};
use serde::Serialize;

use super::LONGEST_MESSAGE;

/// Upper bound on the requests that are shown.
const MOST_REQUESTS: usize = 5;

/// As whom the agent of an add-on acts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// The signer of its certificate.
    pub signer: String,
    /// The user. Empty if it is not known yet.
    pub user: String,
    /// The groups of the user.
    pub groups: Vec<String>,
    /// How the agent authenticates: `csr`, `token`, or empty if the cluster's agent has not chosen.
    pub driver: String,
}

/// A certificate request of an add-on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The name of the CertificateSigningRequest.
    pub name: String,
    /// The signer that it asks.
    pub signer: String,
    /// The time when it was made.
    pub created: Option<Timestamp>,
    /// What was decided about it.
    pub state: RequestState,
    /// The message of the decision.
    pub message: String,
    /// The end of the certificate that was issued.
    pub not_after: Option<Timestamp>,
}

/// What was decided about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum RequestState {
    /// Nothing.
    Pending,
    /// It is approved, and the signer has issued nothing.
    Approved,
    /// A certificate was issued.
    Issued,
    /// It was denied.
    Denied,
    /// The signer could not issue a certificate.
    Failed,
}

pub(super) fn of(registrations: &[RegistrationConfig]) -> Vec<Registration> {
    let of = |it: &RegistrationConfig| match (&it.r#type, &it.kube_client, &it.custom_signer) {
        (RegistrationType::CustomSigner, _, Some(custom)) => Registration {
            signer: custom.signer_name.clone(),
            user: custom.subject.user.clone(),
            groups: custom.subject.groups.clone(),
            driver: "csr".to_owned(),
        },
        (_, Some(client), _) => Registration {
            signer: agents::API_SERVER.to_owned(),
            user: client.subject.user.clone(),
            groups: client.subject.groups.clone(),
            driver: client.driver.clone(),
        },
        _ => Registration {
            signer: agents::API_SERVER.to_owned(),
            user: String::new(),
            groups: Vec::new(),
            driver: String::new(),
        },
    };
    registrations.iter().map(of).collect()
}

/// The newest requests, the newest one first.
pub(super) fn requests(all: &[CertificateSigningRequest]) -> Vec<Request> {
    let mut requests: Vec<_> = all.iter().map(request).collect();
    requests.sort_by(|a, b| (b.created, &b.name).cmp(&(a.created, &a.name)));
    requests.truncate(MOST_REQUESTS);
    requests
}

fn request(csr: &CertificateSigningRequest) -> Request {
    let status = csr.status.as_ref();
    let conditions = status.and_then(|it| it.conditions.as_deref());
    let conditions = conditions.unwrap_or_default();
    let has = |type_: &str| conditions.iter().find(|it| it.type_ == type_);
    let certificate = status.and_then(|it| it.certificate.as_ref());
    let (state, decision) = if let Some(denied) = has("Denied") {
        (RequestState::Denied, Some(denied))
    } else if let Some(failed) = has("Failed") {
        (RequestState::Failed, Some(failed))
    } else if certificate.is_some() {
        (RequestState::Issued, has("Approved"))
    } else if let Some(approved) = has("Approved") {
        (RequestState::Approved, Some(approved))
    } else {
        (RequestState::Pending, None)
    };
    let message = |it: &CertificateSigningRequestCondition| {
        let message = it.message.as_deref().unwrap_or_default();
        shorten(message, LONGEST_MESSAGE).into_owned()
    };
    let issued = certificate.and_then(|it| ClientCertificate::from_pem(&it.0).ok());
    Request {
        name: csr.metadata.name.clone().unwrap_or_default(),
        signer: csr.spec.signer_name.clone(),
        created: csr.metadata.creation_timestamp.as_ref().map(|it| it.0),
        state,
        message: decision.map(message).unwrap_or_default(),
        not_after: issued.map(|it| it.not_after),
    }
}

// === impl RequestState ===

impl RequestState {
    /// The word for users.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Approved => "Approved",
            Self::Issued => "Issued",
            Self::Denied => "Denied",
            Self::Failed => "Failed",
        }
    }
}
