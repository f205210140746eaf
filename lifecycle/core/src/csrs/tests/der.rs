//! Requests, made byte by byte: what an attacker sends no library writes.

use k8s_openapi::ByteString;
use rcgen::{KeyPair, PublicKeyData, SigningKey};

pub(super) const UTF8: u8 = 0x0c;

pub(super) const PRINTABLE: u8 = 0x13;

pub(super) const BMP: u8 = 0x1e;

pub(super) const O: &[u8] = &[0x06, 3, 0x55, 4, 0x0a];

pub(super) const CN: &[u8] = &[0x06, 3, 0x55, 4, 3];

pub(super) const OU: &[u8] = &[0x06, 3, 0x55, 4, 0x0b];

pub(super) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut encoded = vec![tag];
    match content.len() {
        short @ ..0x80 => encoded.push(short as u8),
        long @ ..0x100 => encoded.extend([0x81, long as u8]),
        long => encoded.extend([0x82, (long >> 8) as u8, long as u8]),
    }
    encoded.extend(content);
    encoded
}

pub(super) fn attribute(oid: &[u8], tag: u8, value: &[u8]) -> Vec<u8> {
    element(0x30, &[oid, &element(tag, value)].concat())
}

/// Each in a set of its own.
pub(super) fn name(attributes: &[(&[u8], u8, &[u8])]) -> Vec<u8> {
    let sets = attributes
        .iter()
        .flat_map(|(oid, tag, value)| element(0x31, &attribute(oid, *tag, value)))
        .collect::<Vec<_>>();
    element(0x30, &sets)
}

pub(super) fn subject(organizations: &[&str], common_name: &str) -> Vec<u8> {
    let mut attributes: Vec<_> = organizations
        .iter()
        .map(|value| (O, PRINTABLE, value.as_bytes()))
        .collect();
    attributes.push((CN, PRINTABLE, common_name.as_bytes()));
    name(&attributes)
}

/// DER of a request with a good signature.
pub(super) fn signed(subject: &[u8], attributes: &[u8]) -> Vec<u8> {
    let key = KeyPair::generate().unwrap();
    let info = [
        &[2, 1, 0],
        subject,
        &key.subject_public_key_info(),
        &element(0xa0, attributes),
    ]
    .concat();
    let info = element(0x30, &info);
    let ecdsa_with_sha256 = [0x30, 0x0a, 0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
    let signature = [&[0], key.sign(&info).unwrap().as_slice()].concat();
    element(
        0x30,
        &[info, ecdsa_with_sha256.to_vec(), element(3, &signature)].concat(),
    )
}

pub(super) fn pem(der: &[u8]) -> Vec<u8> {
    let ByteString(der) = ByteString(der.to_vec());
    let base64 = serde_json::to_value(ByteString(der)).unwrap();
    let base64 = base64.as_str().unwrap().as_bytes().chunks(64);
    let lines: String = base64
        .map(|line| format!("{}\n", std::str::from_utf8(line).unwrap()))
        .collect();
    format!("-----BEGIN CERTIFICATE REQUEST-----\n{lines}-----END CERTIFICATE REQUEST-----\n")
        .into_bytes()
}

/// The attribute `extensionRequest` with a subjectAltName of these names.
pub(super) fn alternative_names(names: &[u8]) -> Vec<u8> {
    let octets = element(4, &element(0x30, names));
    let extension = element(0x30, &[&[0x06, 3, 0x55, 0x1d, 0x11], &*octets].concat());
    extension_request(&extension)
}

pub(super) fn extension_request(extensions: &[u8]) -> Vec<u8> {
    let oid = [0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 0x0e];
    let set = element(0x31, &element(0x30, extensions));
    element(0x30, &[&oid, &*set].concat())
}
