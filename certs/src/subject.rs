//! The subject of a client certificate: one common name and any number of organizations, or what a request has.
//!
//! Kubernetes reads a user from the common name and a group from each organization
//! (<https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates>), and agents of
//! OCM belong to two groups. rcgen keeps one value for each attribute type; so a certificate is made with the common
//! name alone first, then gets the whole subject and is signed again.

use rcgen::{
    CertificateParams, DistinguishedName, DnType, Issuer, KeyPair, PublicKeyData, SigningKey,
};
use x509_parser::prelude::{FromDer, X509Certificate};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const UTF8_STRING: u8 = 0x0c;
const BIT_STRING: u8 = 0x03;
/// The OIDs 2.5.4.10 and 2.5.4.3, encoded.
const ORGANIZATION: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x0a];
const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];

/// The subject `common_name` in `organizations`, DER.
pub(crate) fn name(common_name: &str, organizations: &[&str]) -> Vec<u8> {
    let mut attributes = Vec::new();
    for organization in organizations {
        attributes.extend(attribute(&ORGANIZATION, organization));
    }
    attributes.extend(attribute(&COMMON_NAME, common_name));
    element(SEQUENCE, &[&attributes])
}

/// Signs `params`, whose own subject is ignored, for `key` as `subject`, which [`name`] made or a parser found to be one.
/// Returns DER.
pub(crate) fn sign_as(
    mut params: CertificateParams,
    subject: &[u8],
    key: &impl PublicKeyData,
    issuer: &Issuer<'_, KeyPair>,
) -> Result<Vec<u8>, rcgen::Error> {
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, "to be replaced");
    let draft = params.signed_by(key, issuer)?;
    let (_, parsed) = X509Certificate::from_der(draft.der())
        .map_err(|_| rcgen::Error::CouldNotParseCertificate)?;

    // The fields of the signed part, without its own header: those before the subject are encoded again as they are.
    let fields = contents(parsed.tbs_certificate.as_ref());
    let drafted = parsed.subject().as_raw();
    let at = drafted.as_ptr().addr() - fields.as_ptr().addr();
    let signed = element(
        SEQUENCE,
        &[&fields[..at], subject, &fields[at + drafted.len()..]],
    );

    // Between the signed part and the signature stands the algorithm, which does not change.
    let outer = contents(draft.der());
    let algorithm_and_signature = &outer[parsed.tbs_certificate.as_ref().len()..];
    let algorithm = &algorithm_and_signature[..2 + usize::from(algorithm_and_signature[1])];
    let signature = issuer.key().sign(&signed)?;
    let signature = element(BIT_STRING, &[&[0], &signature]);
    Ok(element(SEQUENCE, &[&signed, algorithm, &signature]))
}

fn attribute(oid: &[u8], value: &str) -> Vec<u8> {
    let value = element(UTF8_STRING, &[value.as_bytes()]);
    element(SET, &[&element(SEQUENCE, &[oid, &value])])
}

/// A DER element: tag, length, and the parts one after the other.
fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len().to_be_bytes();
    let significant = &length[length.iter().take_while(|&&byte| byte == 0).count()..];
    let mut encoded = vec![tag];
    match significant {
        [] => encoded.push(0),
        [short @ ..0x80] => encoded.push(*short),
        long => {
            encoded.push(0x80 | u8::try_from(long.len()).expect("a length has at most 8 bytes"));
            encoded.extend(long);
        }
    }
    encoded.extend(content);
    encoded
}

/// A DER element without tag and length.
fn contents(element: &[u8]) -> &[u8] {
    match element[1] {
        ..0x80 => &element[2..],
        long => &element[2 + usize::from(long & 0x7f)..],
    }
}
