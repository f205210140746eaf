//! The CertificateSigningRequest of the agent: how it is made, and what the hub's answer means.

#[cfg(test)]
pub(crate) mod tests;

use base64::prelude::{BASE64_STANDARD, Engine};
use berth_certs::client::{ClientCertificate, ClientKey, Wanted};
use berth_certs::issue::IssueError;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::asked::Asked;
use crate::held;
use crate::registration::{Fault, Held, Request};
use crate::rotation::Standing;

/// A CertificateSigningRequest, as far as the agent reads it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StoredRequest {
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Vec<Condition>,
    certificate: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Condition {
    r#type: String,
    message: Option<String>,
    last_transition_time: Option<String>,
    last_update_time: Option<String>,
}

/// Returns the object to create.
///
/// # Errors
/// The request cannot be signed.
pub fn body(name: &str, asked: &Asked, key: &ClientKey) -> Result<Value, IssueError> {
    let pem = key.request(&Wanted {
        common_name: &asked.subject.user,
        organizations: &references(&asked.subject.groups),
        units: &references(&asked.subject.units),
        dns_names: &references(&asked.subject.dns_names),
    })?;
    let mut body = json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {
            "name": name,
            "labels": asked.labels(),
        },
        "spec": {
            "request": BASE64_STANDARD.encode(pem),
            "signerName": asked.signer,
            "usages": ["digital signature", "key encipherment", "client auth"],
        },
    });
    if let Some(seconds) = asked.expiration_seconds {
        body["spec"]["expirationSeconds"] = json!(seconds);
    }
    Ok(body)
}

fn references(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

// === impl StoredRequest ===

impl StoredRequest {
    /// Judges the hub's answer to the request that was made with this key.
    #[must_use]
    pub fn judge(&self, asked: &Asked, key: &ClientKey, now: Timestamp) -> Request {
        let condition = |type_: &str| self.status.conditions.iter().find(|it| it.r#type == type_);
        let message = |it: &Condition| it.message.clone().unwrap_or_default();
        let at = |it: &Condition| it.time().unwrap_or(now);
        if let Some(it) = condition("Denied") {
            return Request::Denied {
                message: message(it),
                at: at(it),
            };
        }
        if let Some(it) = condition("Failed") {
            return Request::Failed {
                message: message(it),
                at: at(it),
            };
        }
        let Some(approved) = condition("Approved") else {
            return Request::Pending;
        };
        let Some(chain) = self.certificate() else {
            return Request::Unsigned;
        };
        match fault(&chain, asked, key, now) {
            None => Request::Issued,
            Some(why) => Request::IssuedWrongly {
                why,
                at: at(approved),
            },
        }
    }

    /// Returns the issued certificate with its chain, in PEM, as the signer wrote it.
    #[must_use]
    pub fn certificate(&self) -> Option<Vec<u8>> {
        let encoded = self
            .status
            .certificate
            .as_deref()
            .filter(|it| !it.is_empty())?;
        // What is not base64 is not a certificate: it is judged as such.
        Some(BASE64_STANDARD.decode(encoded).unwrap_or_default())
    }
}

/// Returns why the certificate cannot be used.
fn fault(chain: &[u8], asked: &Asked, key: &ClientKey, now: Timestamp) -> Option<Fault> {
    let Ok(certificate) = ClientCertificate::from_pem(chain) else {
        return Some(Fault::Unreadable);
    };
    match held::standing(&certificate, Some(key.fingerprint()), asked, now) {
        Held::Unusable(fault) => Some(fault),
        Held::Certificate(Standing::Expired) => Some(Fault::Expired),
        // One that is not valid yet will be: the clocks differ.
        Held::Certificate(_) => None,
    }
}

// === impl Condition ===

impl Condition {
    fn time(&self) -> Option<Timestamp> {
        let time = self
            .last_transition_time
            .as_ref()
            .or(self.last_update_time.as_ref())?;
        time.parse().ok()
    }
}
