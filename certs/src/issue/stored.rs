//! Loads a stored authority.

use jiff::Timestamp;
use rcgen::{Issuer, KeyPair, PublicKeyData};
use rustls::pki_types::CertificateDer;

use super::Authority;
use crate::pem::{CertError, Digest, PemFile, Problem, certificate_pem, decode, validity};

impl Authority {
    /// Loads an authority from its certificate and its key. An expired authority is not an error.
    ///
    /// # Errors
    /// A file that cannot be decoded, a certificate that may not issue others, or a key that does not match it.
    pub fn from_pem(certificate: &PemFile, key: &PemFile) -> Result<Self, CertError> {
        let digest = Digest::of(&[&certificate.content, &key.content]);
        let in_certificate = |problem| certificate.error(problem, digest);
        let in_key = |problem| key.error(problem, digest);

        let chain = certificate.certificates().map_err(in_certificate)?;
        let der: &CertificateDer<'static> = &chain[0];
        let decoded = decode(der, 1).map_err(in_certificate)?;
        // A certificate with unreadable extensions may not sign.
        let may_sign = decoded.is_ca()
            && matches!(decoded.key_usage(), Ok(Some(usage)) if usage.value.key_cert_sign());
        if !may_sign {
            let what = "certificate 1 of the file does not belong to an authority".to_owned();
            return Err(in_certificate(Problem::Malformed(what)));
        }
        let (not_before, not_after) = validity(&decoded);
        let common_name = decoded
            .subject()
            .iter_common_name()
            .find_map(|name| name.as_str().ok())
            .unwrap_or_default()
            .to_owned();

        let text = std::str::from_utf8(&key.content).map_err(|_| in_key(Problem::NoKey))?;
        if !text.contains("PRIVATE KEY-----") {
            return Err(in_key(Problem::NoKey));
        }
        // The error itself is dropped: it may quote a line of the key.
        let own = KeyPair::from_pem(text).map_err(|_| in_key(Problem::UnusableKey))?;
        if own.subject_public_key_info() != decoded.public_key().raw {
            return Err(in_key(Problem::KeyMismatch {
                certificate: certificate.name.clone(),
            }));
        }
        let issuer = Issuer::from_ca_cert_der(der, own).map_err(|_| {
            let what = "certificate 1 of the file cannot issue other certificates".to_owned();
            in_certificate(Problem::Malformed(what))
        })?;
        Ok(Self {
            issuer,
            certificate_pem: certificate_pem(der),
            common_name,
            not_before,
            not_after,
        })
    }

    /// Returns the private key, PKCS #8 in PEM. Store it where only the owner can read it.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// Returns the first moment the authority is valid.
    pub fn not_before(&self) -> Timestamp {
        self.not_before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HOUR, NAME, authority, file, leaf};

    fn stored(authority: &Authority) -> (PemFile, PemFile) {
        (
            file("ca.crt", authority.certificate_pem()),
            file("ca.key", authority.key_pem()),
        )
    }

    #[test]
    fn a_stored_authority_issues_on() {
        let first = authority();
        let (certificate, key) = stored(&first);
        let again = Authority::from_pem(&certificate, &key).unwrap();
        assert_eq!(again.certificate_pem(), first.certificate_pem());
        assert_eq!(again.key_pem(), first.key_pem());
        assert_eq!(again.not_before(), first.not_before());
        assert_eq!(again.not_after(), first.not_after());
        let now = Timestamp::now();
        let leaf = again.leaf(&[NAME], &[], HOUR, now).unwrap();
        let root = crate::managed::Root::of(&first).unwrap();
        let name = NAME.try_into().unwrap();
        let leaf = leaf.certificate_pem.as_bytes();
        assert!(crate::managed::verifies(leaf, &[root], &[name], now));
    }

    #[test]
    fn certificates_and_keys_that_cannot_issue_are_refused() {
        let (one, other) = (authority(), authority());
        let (certificate, key) = stored(&one);
        let issued = leaf(&one);
        let end_entity = file("ca.crt", issued.certificate_pem.clone());
        let cut = |file: &PemFile| PemFile {
            content: file.content[..file.content.len() / 2].to_vec(),
            ..file.clone()
        };
        // (sentence, certificate, key, blamed, part of the text)
        let table = [
            (
                "no certificate",
                file("ca.crt", ""),
                key.clone(),
                "ca.crt: the file holds no PEM certificate",
            ),
            (
                "half a certificate",
                cut(&certificate),
                key.clone(),
                "ca.crt: a PEM block begins and does not end",
            ),
            (
                "a leaf",
                end_entity,
                file("ca.key", issued.key_pem),
                "ca.crt: certificate 1 of the file does not belong to an authority",
            ),
            (
                "no key",
                certificate.clone(),
                file("ca.key", "none"),
                "ca.key: the file holds no PEM private key",
            ),
            (
                "no text",
                certificate.clone(),
                file("ca.key", vec![0xff, 0xfe]),
                "ca.key: the file holds no PEM private key",
            ),
            (
                "half a key",
                certificate.clone(),
                cut(&key),
                "ca.key: the private key is damaged",
            ),
            (
                "another's key",
                certificate,
                file("ca.key", other.key_pem()),
                "ca.key: the private key does not match the first certificate of ca.crt",
            ),
        ];
        for (sentence, certificate, key, says) in table {
            let error = Authority::from_pem(&certificate, &key)
                .unwrap_err()
                .to_string();
            assert!(error.starts_with(says), "{sentence}: {error}");
        }
    }
}
