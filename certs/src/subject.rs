//! The subject of a client certificate: one common name and any number of organizations, or the subject of a request.
//!
//! Kubernetes reads a user from the common name and a group from each organization
//! (<https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates>), and agents of
//! OCM belong to two groups. rcgen keeps only one value for each attribute type. So a draft is signed first; then its
//! subject is replaced, and it is signed again.

use rcgen::{
    CertificateParams, DistinguishedName, DnType, Issuer, KeyPair, PublicKeyData, SigningKey,
};
use x509_parser::asn1_rs::Tag;
use x509_parser::prelude::{FromDer, X509Certificate, X509Name};

pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;
const UTF8_STRING: u8 = 0x0c;
const PRINTABLE_STRING: u8 = 0x13;
pub(crate) const BIT_STRING: u8 = 0x03;
/// The OIDs 2.5.4.10, 2.5.4.11 and 2.5.4.3, encoded.
const ORGANIZATION: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x0a];
const ORGANIZATIONAL_UNIT: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x0b];
const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];

/// Returns the subject with `common_name` and `organizations`, DER.
pub(crate) fn name(common_name: &str, organizations: &[&str]) -> Vec<u8> {
    name_with_units(common_name, organizations, &[])
}

/// Returns the subject with organizational units, too, DER.
pub(crate) fn name_with_units(
    common_name: &str,
    organizations: &[&str],
    units: &[&str],
) -> Vec<u8> {
    let mut attributes = Vec::new();
    for organization in organizations {
        attributes.extend(attribute(&ORGANIZATION, organization));
    }
    for unit in units {
        attributes.extend(attribute(&ORGANIZATIONAL_UNIT, unit));
    }
    attributes.extend(attribute(&COMMON_NAME, common_name));
    element(SEQUENCE, &[&attributes])
}

/// Returns true if the subject is one common name and any number of organizations, all of them UTF-8 or printable strings.
///
/// A value that does not match its tag has no text, so other code would not see it. The parser stops without an error at
/// parts that it cannot read, such as an empty set. So the parsed names are encoded again, and must give the same bytes.
pub(crate) fn is_plain(name: &X509Name<'_>) -> bool {
    is_plain_of(name, false)
}

/// As [`is_plain`], and organizational units are allowed, too.
pub(crate) fn is_plain_with_units(name: &X509Name<'_>) -> bool {
    is_plain_of(name, true)
}

fn is_plain_of(name: &X509Name<'_>, with_units: bool) -> bool {
    let mut common_names = 0;
    let mut sets = Vec::new();
    for set in name.iter_rdn() {
        let mut attributes = Vec::new();
        for attribute in set.iter() {
            let oid = match attribute.attr_type().as_bytes() {
                [0x55, 0x04, 0x0a] => &ORGANIZATION,
                [0x55, 0x04, 0x0b] if with_units => &ORGANIZATIONAL_UNIT,
                [0x55, 0x04, 0x03] => {
                    common_names += 1;
                    &COMMON_NAME
                }
                _ => return false,
            };
            let value = attribute.attr_value();
            let tag = match value.tag() {
                Tag::Utf8String if value.as_utf8string().is_ok() => UTF8_STRING,
                Tag::PrintableString if value.as_printablestring().is_ok() => PRINTABLE_STRING,
                _ => return false,
            };
            let value = element(tag, &[attribute.as_slice()]);
            attributes.extend(element(SEQUENCE, &[oid, &value]));
        }
        sets.extend(element(SET, &[&attributes]));
    }
    common_names == 1 && element(SEQUENCE, &[&sets]) == name.as_raw()
}

/// Signs a certificate with `params`, for `key`, with `subject` in place of the subject of `params`, and with `issuer_name` as the issuer:
/// both DER, of [`name`] or of a parsed request or certificate. Returns DER.
///
/// A library that decodes and encodes a name may lose a part of it, and then no client finds the issuer.
pub(crate) fn sign_as(
    mut params: CertificateParams,
    subject: &[u8],
    key: &impl PublicKeyData,
    issuer: &Issuer<'_, KeyPair>,
    issuer_name: &[u8],
) -> Result<Vec<u8>, rcgen::Error> {
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, "to be replaced");
    let draft = params.signed_by(key, issuer)?;
    let (_, parsed) = X509Certificate::from_der(draft.der())
        .map_err(|_| rcgen::Error::CouldNotParseCertificate)?;

    // The fields of the signed part, without its header. Only the names are replaced: the issuer's comes first.
    let fields = contents(parsed.tbs_certificate.as_ref());
    let range = |drafted: &[u8]| {
        let at = drafted.as_ptr().addr() - fields.as_ptr().addr();
        at..at + drafted.len()
    };
    let (issued_by, issued_to) = (
        range(parsed.issuer().as_raw()),
        range(parsed.subject().as_raw()),
    );
    let between = &fields[issued_by.end..issued_to.start];
    let (before, after) = (&fields[..issued_by.start], &fields[issued_to.end..]);
    let signed = element(SEQUENCE, &[before, issuer_name, between, subject, after]);

    // The algorithm follows the signed part, and does not change.
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

/// Returns a DER element: tag, length, and the parts in order.
pub(crate) fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
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
pub(crate) fn contents(element: &[u8]) -> &[u8] {
    match element[1] {
        ..0x80 => &element[2..],
        long => &element[2 + usize::from(long & 0x7f)..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_plain_if_every_parser_reads_the_same_in_it() {
        let organization = attribute(&ORGANIZATION, "agents");
        let common_name = attribute(&COMMON_NAME, "agent");
        let joined = |parts: &[&[u8]]| element(SEQUENCE, parts);
        let of_tag = |tag, value: &[u8]| {
            let value = element(tag, &[value]);
            element(SET, &[&element(SEQUENCE, &[&ORGANIZATION, &value])])
        };
        let printable = of_tag(PRINTABLE_STRING, b"agents");
        let bmp = of_tag(0x1e, &[0, b'x']);
        let not_utf8 = of_tag(UTF8_STRING, b"admin\xef");
        let not_printable = of_tag(PRINTABLE_STRING, b"admin@\xef");
        let unit = element(
            SET,
            &[&element(
                SEQUENCE,
                &[&[6, 3, 0x55, 4, 0x0b], &element(UTF8_STRING, &[b"x"])],
            )],
        );
        let empty = element(SET, &[]);
        for (sentence, der, plain) in [
            ("ours", name("agent", &["a", "b"]), true),
            ("a common name alone", name("agent", &[]), true),
            (
                "a printable string",
                joined(&[&printable, &common_name]),
                true,
            ),
            ("no common name", joined(&[&organization]), false),
            ("two", joined(&[&common_name, &common_name]), false),
            ("nothing", joined(&[]), false),
            ("a unit", joined(&[&unit, &common_name]), false),
            ("two bytes a letter", joined(&[&bmp, &common_name]), false),
            (
                "no UTF-8",
                joined(&[&not_utf8, &organization, &common_name]),
                false,
            ),
            (
                "not printable",
                joined(&[&not_printable, &organization, &common_name]),
                false,
            ),
            // Go reads what stands behind the empty set, and signs it.
            (
                "an empty set, and an organization",
                joined(&[&common_name, &empty, &organization]),
                false,
            ),
        ] {
            let (rest, parsed) = X509Name::from_der(&der).unwrap();
            assert_eq!(
                (rest, is_plain(&parsed)),
                (&[][..], plain),
                "{sentence}: {parsed}"
            );
            let with_units = plain || sentence == "a unit";
            assert_eq!(
                is_plain_with_units(&parsed),
                with_units,
                "{sentence}: {parsed}"
            );
        }
    }
}
