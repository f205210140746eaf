//! The Secret with the agent's identity for the hub, `hub-kubeconfig-secret`: what its keys are, and whether they can be used.
//!
//! Keys and contents are those of OCM's agent, byte for byte, so that either agent goes on with the other's Secret.

#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;

use berth_certs::client::{ClientCertificate, ClientKey};
use jiff::Timestamp;

use crate::asked::Asked;
use crate::registration::{Fault, Held};
use crate::rotation::Validity;

/// The key of the certificate, with its chain, in PEM.
pub const CERTIFICATE: &str = "tls.crt";
/// The key of the private key, in PEM.
pub const PRIVATE_KEY: &str = "tls.key";
/// The key of the kubeconfig, which names the two as files beside it.
pub const KUBECONFIG: &str = "kubeconfig";
/// The key of the name of the cluster.
pub const CLUSTER_NAME: &str = "cluster-name";
/// The key of the name of the agent.
pub const AGENT_NAME: &str = "agent-name";

/// `data` of a Secret, decoded.
pub type SecretData = BTreeMap<String, Vec<u8>>;

/// What is in the Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Whether the certificate can be used.
    pub held: Held,
    /// SHA-256 of the public key of the private key, if that can be read.
    pub key: Option<[u8; 32]>,
    /// When the certificate begins, if it can be read.
    pub not_before: Option<Timestamp>,
    /// When the certificate ends, if it can be read.
    pub not_after: Option<Timestamp>,
}

/// Judges the certificate in the Secret, as the one that is asked for.
#[must_use]
pub fn judge(data: &SecretData, asked: &Asked, now: Timestamp) -> Judged {
    let key = data.get(PRIVATE_KEY).map(|pem| ClientKey::from_pem(pem));
    let key = key.map(|key| key.ok().map(|key| key.fingerprint()));
    let certificate = data
        .get(CERTIFICATE)
        .map(|pem| ClientCertificate::from_pem(pem));
    let (Some(key), Some(certificate)) = (key, certificate) else {
        return Judged {
            held: Held::Unusable(Fault::Missing),
            key: key.flatten(),
            not_before: None,
            not_after: None,
        };
    };
    let Ok(certificate) = certificate else {
        return Judged {
            held: Held::Unusable(Fault::Unreadable),
            key,
            not_before: None,
            not_after: None,
        };
    };
    Judged {
        held: standing(&certificate, key, asked, now),
        key,
        not_before: Some(certificate.not_before),
        not_after: Some(certificate.not_after),
    }
}

/// Judges a certificate with the key that is kept beside it.
pub(crate) fn standing(
    certificate: &ClientCertificate,
    key: Option<[u8; 32]>,
    asked: &Asked,
    now: Timestamp,
) -> Held {
    match key {
        None => return Held::Unusable(Fault::Unreadable),
        Some(key) if key != certificate.key => return Held::Unusable(Fault::OtherKey),
        Some(_) => {}
    }
    if !asked.subject.is_of(certificate) {
        return Held::Unusable(Fault::OtherSubject);
    }
    let validity = Validity {
        not_before: certificate.not_before,
        not_after: certificate.not_after,
    };
    Held::Certificate(validity.standing(&certificate.digest, now))
}

/// Returns the data of the Secret with this certificate and key, and with everything else that the agent keeps there. Unknown keys stay.
///
/// `kubeconfig`: for a Secret that has one.
#[must_use]
pub fn filled(
    stored: &SecretData,
    asked: &Asked,
    kubeconfig: &str,
    pair: Option<(&[u8], &ClientKey)>,
) -> SecretData {
    let mut data = stored.clone();
    let mut set = |key: &str, value: &[u8]| data.insert(key.to_owned(), value.to_vec());
    if asked.has_kubeconfig {
        set(KUBECONFIG, kubeconfig.as_bytes());
    }
    for (key, name) in asked.names() {
        set(&key, &name);
    }
    if let Some((certificate, key)) = pair {
        set(CERTIFICATE, certificate);
        set(PRIVATE_KEY, key.to_pem().as_bytes());
    }
    data
}

/// Returns the text of a name in the Secret. `None`: it is missing, empty, or not text.
#[must_use]
pub fn name<'a>(data: &'a SecretData, key: &str) -> Option<&'a str> {
    let text = str::from_utf8(data.get(key)?).ok()?;
    (!text.is_empty()).then_some(text)
}
