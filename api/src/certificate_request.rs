//! CertificateSigningRequests that name a cluster: what decides about them, and the writes that approve and issue.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use crate::GroupVersionResource;
use crate::groups;
use crate::plan::Target;

/// A CertificateSigningRequest with a cluster's label.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CertificateRequest {
    /// metadata.name
    pub name: String,
    /// The metadata that an approval must repeat, because the API server takes them from the approval: names, uid,
    /// resourceVersion, labels, annotations, finalizers and owners.
    pub metadata: ObjectMeta,
    /// metadata.creationTimestamp
    pub created: Option<Timestamp>,
    /// status.conditions, which an approval repeats, too.
    pub conditions: Vec<CertificateSigningRequestCondition>,
    /// The label `open-cluster-management.io/cluster-name`: set by the requester, so not to be trusted.
    pub cluster: String,
    /// spec.signerName
    pub signer: String,
    /// spec.request: PEM, as it was sent.
    pub request: Vec<u8>,
    /// spec.usages
    pub usages: Vec<String>,
    /// spec.username, set by the API server.
    pub username: String,
    /// spec.uid
    pub user_uid: String,
    /// spec.groups
    pub groups: Vec<String>,
    /// spec.extra
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The state of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Neither approved nor denied.
    Pending,
    /// Approved, and perhaps issued.
    Approved,
    /// Denied or failed.
    Refused,
}

// === impl CertificateRequest ===

impl CertificateRequest {
    /// Returns true if an admin denied it.
    pub fn is_denied(&self) -> bool {
        let mut conditions = self.conditions.iter();
        conditions.any(|condition| condition.type_ == "Denied")
    }

    /// Reads a CertificateSigningRequest. None if it is being deleted, or has no label with a cluster's name.
    pub fn read(object: CertificateSigningRequest) -> Option<(Self, Standing)> {
        let ObjectMeta {
            annotations,
            creation_timestamp,
            deletion_timestamp: None,
            finalizers,
            generate_name,
            labels,
            name,
            owner_references,
            resource_version,
            uid,
            ..
        } = object.metadata
        else {
            return None;
        };
        let status = object.status.unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let is = |type_: &str| conditions.iter().any(|condition| condition.type_ == type_);
        let standing = if is("Denied") || is("Failed") {
            Standing::Refused
        } else if is("Approved") || status.certificate.is_some() {
            Standing::Approved
        } else {
            Standing::Pending
        };
        let cluster = labels.as_ref()?.get(crate::labels::CLUSTER_NAME)?.clone();
        let spec = object.spec;
        let request = Self {
            name: name.clone()?,
            metadata: ObjectMeta {
                annotations,
                finalizers,
                generate_name,
                labels,
                name,
                owner_references,
                resource_version,
                uid,
                ..ObjectMeta::default()
            },
            created: creation_timestamp.map(|time| time.0),
            conditions,
            cluster,
            signer: spec.signer_name,
            request: spec.request.0,
            usages: spec.usages.unwrap_or_default(),
            username: spec.username.unwrap_or_default(),
            user_uid: spec.uid.unwrap_or_default(),
            groups: spec.groups.unwrap_or_default(),
            extra: spec.extra.unwrap_or_default(),
        };
        Some((request, standing))
    }

    /// The new content of the subresource `approval`, which approves the request if it has not changed.
    ///
    /// The API server takes metadata and conditions from this object: without the labels, the hub and other clients would no
    /// longer find the request.
    pub fn approval(&self, reason: &str, message: &str) -> Value {
        let mut conditions = json!(self.conditions);
        if let Some(conditions) = conditions.as_array_mut() {
            conditions.push(json!({
                "type": "Approved",
                "status": "True",
                "reason": reason,
                "message": message,
            }));
        }
        self.with_status(json!({"conditions": conditions}))
    }

    /// The new content of the subresource `status`, which issues this certificate (PEM) if the request has not changed. As
    /// [`Self::approval`], it repeats metadata and conditions.
    pub fn issued(&self, certificate: &str) -> Value {
        let certificate = ByteString(certificate.as_bytes().to_vec());
        self.with_status(json!({"conditions": self.conditions, "certificate": certificate}))
    }

    fn with_status(&self, status: Value) -> Value {
        json!({
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": self.metadata,
            "status": status,
        })
    }
}

/// The resource of CertificateSigningRequests.
pub fn resource() -> GroupVersionResource {
    GroupVersionResource::new(groups::CERTIFICATES, "v1", "certificatesigningrequests")
}

/// The CertificateSigningRequest of this name.
pub fn target(name: &str) -> Target {
    Target {
        resource: resource(),
        namespace: None,
        name: name.to_owned(),
    }
}
