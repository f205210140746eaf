//! The Secret of our own in which the agent keeps what it needs of the other hubs: the certificates of those that it left, so that it can
//! return without asking a person, and which hub it chose, until it has a certificate there.

use berth_certs::client::ClientKey;
use berth_certs::pem::{hex, sha256};
use jiff::Timestamp;

use crate::asked::Asked;
use crate::held::{self, SecretData};
use crate::registration::Held;
use crate::rotation::Standing;

/// The key of the URL of the chosen hub.
const CHOSEN: &str = "chosen";

/// The key of the digest of the certificate in the hub Secret when the hub was chosen.
const INSTEAD_OF: &str = "instead-of";

/// Returns the name of the Secret, beside the one for the certificate.
#[must_use]
pub fn name(hub_secret: &str) -> String {
    format!("{hub_secret}-hubs")
}

/// Returns the URL of the hub that was chosen. `None` if the hub Secret has another certificate since: that is the newer decision.
#[must_use]
pub fn chosen<'a>(kept: &'a SecretData, hub_secret: &SecretData) -> Option<&'a str> {
    let is_since = held::name(kept, INSTEAD_OF) == Some(&certificate_digest(hub_secret));
    held::name(kept, CHOSEN).filter(|_| is_since)
}

/// Returns the certificate and key for the hub with this URL, if they can be used.
#[must_use]
pub fn pair(
    kept: &SecretData,
    server: &str,
    asked: &Asked,
    now: Timestamp,
) -> Option<(Vec<u8>, ClientKey)> {
    let [certificate, key] = keys(server).map(|key| kept.get(&key).cloned());
    let pair = SecretData::from([
        (held::CERTIFICATE.to_owned(), certificate?),
        (held::PRIVATE_KEY.to_owned(), key?),
    ]);
    match held::judge(&pair, asked, now).held {
        Held::Certificate(Standing::Expired) | Held::Unusable(_) => None,
        Held::Certificate(_) => {
            let key = ClientKey::from_pem(&pair[held::PRIVATE_KEY]).ok()?;
            Some((pair[held::CERTIFICATE].clone(), key))
        }
    }
}

/// Returns what to keep when the agent goes to the hub `to`, with this hub Secret. `from`: the hub whose certificate is in it. Certificates
/// of hubs that are not among `servers` are dropped.
#[must_use]
pub fn with(
    kept: &SecretData,
    hub_secret: &SecretData,
    from: Option<&str>,
    to: &str,
    servers: &[&str],
) -> SecretData {
    let wanted: Vec<String> = servers.iter().flat_map(|server| keys(server)).collect();
    let mut data = kept.clone();
    data.retain(|key, _| wanted.contains(key));
    let pair = [held::CERTIFICATE, held::PRIVATE_KEY].map(|key| hub_secret.get(key));
    if let (Some(from), [Some(certificate), Some(key)]) = (from, pair) {
        let [certificate_key, key_key] = keys(from);
        data.insert(certificate_key, certificate.clone());
        data.insert(key_key, key.clone());
    }
    data.insert(CHOSEN.to_owned(), to.as_bytes().to_vec());
    let digest = certificate_digest(hub_secret);
    data.insert(INSTEAD_OF.to_owned(), digest.into_bytes());
    data
}

/// A URL is no key of a Secret.
fn keys(server: &str) -> [String; 2] {
    let digest = hex(&sha256(server.as_bytes())[..8]);
    [format!("{digest}.crt"), format!("{digest}.key")]
}

fn certificate_digest(hub_secret: &SecretData) -> String {
    let certificate = hub_secret.get(held::CERTIFICATE);
    hex(&sha256(certificate.map_or(&[], Vec::as_slice)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::held::tests::{at, certificate, wanted};

    const SERVERS: [&str; 2] = ["https://a:6443", "https://b"];

    /// A hub Secret, valid for a day.
    fn hub_secret(asked: &Asked) -> (SecretData, ClientKey) {
        let key = ClientKey::generate().unwrap();
        let data = SecretData::from([
            (held::CERTIFICATE.to_owned(), certificate(asked, &key)),
            (held::PRIVATE_KEY.to_owned(), key.to_pem().into_bytes()),
        ]);
        (data, key)
    }

    #[test]
    fn a_certificate_is_found_again_until_it_expires() {
        let asked = wanted("a1");
        let (secret, key) = hub_secret(&asked);
        let [a, b] = SERVERS;
        let kept = with(&SecretData::new(), &secret, Some(a), b, &SERVERS);
        let found = |server, asked: &Asked, hours| {
            let found = pair(&kept, server, asked, at(hours));
            found.map(|(_, key)| key.fingerprint())
        };
        assert_eq!(found(a, &asked, 1), Some(key.fingerprint()));
        assert_eq!(found(b, &asked, 1), None);
        assert_eq!(found(a, &asked, 25), None);
        assert_eq!(found(a, &wanted("a2"), 1), None);
        // Secrets allow no other characters in their keys.
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        assert!(kept.keys().all(|key| key.chars().all(allowed)), "{kept:?}");
    }

    #[test]
    fn certificates_of_hubs_that_are_not_listed_are_dropped() {
        let asked = wanted("a1");
        let (secret, _) = hub_secret(&asked);
        let [a, b] = SERVERS;
        let kept = with(&SecretData::new(), &secret, Some(a), b, &SERVERS);
        let kept = with(&kept, &secret, Some(b), a, &[b]);
        assert!(pair(&kept, a, &asked, at(1)).is_none());
        assert!(pair(&kept, b, &asked, at(1)).is_some());
        assert_eq!(kept.len(), 4, "{kept:?}");
    }

    #[test]
    fn the_choice_counts_until_there_is_another_certificate() {
        let asked = wanted("a1");
        let (secret, _) = hub_secret(&asked);
        let (other, _) = hub_secret(&asked);
        let [a, b] = SERVERS;
        let kept = with(&SecretData::new(), &secret, Some(a), b, &SERVERS);
        assert_eq!(chosen(&kept, &secret), Some(b));
        assert_eq!(chosen(&kept, &other), None);
        let first = with(&SecretData::new(), &SecretData::new(), None, a, &SERVERS);
        assert_eq!(chosen(&first, &SecretData::new()), Some(a));
        assert_eq!(chosen(&SecretData::new(), &secret), None);
    }
}
