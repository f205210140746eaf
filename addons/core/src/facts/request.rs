//! A CertificateSigningRequest of an add-on, as far as it is kept: any user who may create one can label it, so it is read when its turn
//! comes.

use berth_api::certificate_request::{CertificateRequest, Standing};
use berth_api::{agents, labels};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;

/// Upper bound on the bytes of a CSR that is read. An agent's has less than 8 KiB.
const LARGEST: usize = 64 * 1024;

/// A CertificateSigningRequest that waits for an approval or for a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// metadata.uid
    pub uid: String,
    /// The label with the name of the cluster: set by the requester, so not to be trusted.
    pub cluster: String,
    /// The label with the name of the add-on: as the other one.
    pub addon: String,
    /// It is approved, and the hub has to sign it.
    pub is_approved: bool,
}

// === impl Request ===

impl Request {
    /// Reads a CSR; `None` if nothing is due for it. One that is too large for an agent's is left alone.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(json: &str) -> Result<Option<Self>, serde_json::Error> {
        Ok(Self::with_content(json)?.map(|(kept, _)| kept))
    }

    /// As [`Self::read`], with the content that decides.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn with_content(
        json: &str,
    ) -> Result<Option<(Self, CertificateRequest)>, serde_json::Error> {
        if json.len() > LARGEST {
            return Ok(None);
        }
        let object: CertificateSigningRequest = serde_json::from_str(json)?;
        let certificate = (object.status.as_ref()).and_then(|it| it.certificate.as_ref());
        let is_issued = certificate.is_some_and(|it| !it.0.is_empty());
        let Some((request, standing)) = CertificateRequest::read(object) else {
            return Ok(None);
        };
        let is_approved = standing == Standing::Approved;
        let is_done = match standing {
            Standing::Pending => false,
            Standing::Approved => is_issued || request.signer == agents::API_SERVER,
            Standing::Refused => true,
        };
        let addon = (request.metadata.labels.as_ref()).and_then(|it| it.get(labels::ADDON_NAME));
        let Some(addon) = addon.filter(|_| !is_done).cloned() else {
            return Ok(None);
        };
        let kept = Self {
            uid: request.metadata.uid.clone().unwrap_or_default(),
            cluster: request.cluster.clone(),
            addon,
            is_approved,
        };
        Ok(Some((kept, request)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_request_is_kept_while_something_is_due_for_it() {
        let labels = json!({
            "open-cluster-management.io/cluster-name": "c1", "open-cluster-management.io/addon-name": "x",
        });
        let (api_server, other) = ("kubernetes.io/kube-apiserver-client", "example.com/s");
        let is = |type_: &str| json!({"conditions": [{"type": type_, "status": "True"}]});
        let issued =
            json!({"conditions": [{"type": "Approved", "status": "True"}], "certificate": "Yw=="});
        let padding = "x".repeat(LARGEST);
        for (sentence, labels, signer, status, expected) in [
            (
                "pending",
                labels.clone(),
                api_server,
                json!({}),
                Some(false),
            ),
            (
                "another signer",
                labels.clone(),
                other,
                json!({}),
                Some(false),
            ),
            ("approved", labels.clone(), api_server, is("Approved"), None),
            (
                "to be signed",
                labels.clone(),
                other,
                is("Approved"),
                Some(true),
            ),
            ("issued", labels.clone(), other, issued, None),
            ("denied", labels.clone(), other, is("Denied"), None),
            ("failed", labels.clone(), other, is("Failed"), None),
            (
                "too large",
                labels.clone(),
                other,
                json!({"conditions": [{"type": "X", "status": "True", "message": padding}]}),
                None,
            ),
            (
                "of a cluster",
                json!({"open-cluster-management.io/cluster-name": "c1"}),
                api_server,
                json!({}),
                None,
            ),
            (
                "of no cluster",
                json!({"open-cluster-management.io/addon-name": "x"}),
                api_server,
                json!({}),
                None,
            ),
        ] {
            let object: Value = json!({
                "metadata": {"name": "addon-1", "uid": "u", "labels": labels},
                "spec": {"request": "cmVx", "signerName": signer, "usages": ["client auth"]}, "status": status,
            });
            let found = Request::read(&object.to_string()).unwrap();
            assert_eq!(found.map(|it| it.is_approved), expected, "{sentence}");
        }
    }
}
