//! Builds CSRs byte by byte, because libraries do not write what an attacker would send.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, PublicKeyData, SigningKey};

use super::CLUSTER;

const BEGIN: &str = "-----BEGIN CERTIFICATE REQUEST-----\n";
const END: &str = "-----END CERTIFICATE REQUEST-----\n";
const UTF8: u8 = 0x0c;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const ORGANIZATION: &[u8] = &[6, 3, 0x55, 4, 0x0a];
const COMMON_NAME: &[u8] = &[6, 3, 0x55, 4, 3];

/// One key for all CSRs, because only the names matter.
static KEY: LazyLock<KeyPair> = LazyLock::new(|| KeyPair::generate().expect("there is randomness"));

/// Encodes as PEM with a single block.
pub(super) fn pem(der: &[u8]) -> Vec<u8> {
    let mut pem = BEGIN.to_owned();
    for line in STANDARD.encode(der).as_bytes().chunks(64) {
        pem.extend(line.iter().map(|&byte| char::from(byte)));
        pem.push('\n');
    }
    pem.push_str(END);
    pem.into_bytes()
}

/// Decodes the PEM of an accepted CSR.
pub(super) fn der(pem: &[u8]) -> Vec<u8> {
    let pem = std::str::from_utf8(pem).expect("PEM is text");
    let content = pem
        .trim()
        .strip_prefix(BEGIN.trim())
        .and_then(|rest| rest.strip_suffix(END.trim()));
    let base64: String = content.expect("one block").split_whitespace().collect();
    STANDARD.decode(base64).expect("PEM is base64")
}

/// Builds a CSR with a valid signature from a subject (the first element of the bytes) and attributes (the rest).
pub(super) fn signed(bytes: &[u8]) -> Vec<u8> {
    let (subject, attributes) = bytes.split_at(first_element(bytes));
    let info = [
        &[2, 1, 0],
        subject,
        &KEY.subject_public_key_info(),
        &element(0xa0, attributes),
    ]
    .concat();
    let info = element(SEQUENCE, &info);
    let ecdsa_with_sha256 = [0x30, 0x0a, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
    let signature = KEY.sign(&info).expect("a key signs");
    let signature = element(3, &[&[0], signature.as_slice()].concat());
    element(
        SEQUENCE,
        &[info, ecdsa_with_sha256.to_vec(), signature].concat(),
    )
}

/// Returns the length of the first element, or that of all bytes if it is unknown.
fn first_element(bytes: &[u8]) -> usize {
    let (header, length) = match *bytes {
        [_, length @ ..=0x7f, ..] => (2, usize::from(length)),
        [_, 0x81, length, ..] => (3, usize::from(length)),
        [_, 0x82, high, low, ..] => (4, usize::from(high) << 8 | usize::from(low)),
        _ => (0, bytes.len()),
    };
    bytes.len().min(header + length)
}

/// Returns a subject in DER.
pub fn subject(organizations: &[&str], common_name: &str) -> Vec<u8> {
    let attribute = |oid: &[u8], value: &str| {
        let value = element(UTF8, value.as_bytes());
        element(SET, &element(SEQUENCE, &[oid, &value].concat()))
    };
    let mut attributes: Vec<u8> = organizations
        .iter()
        .flat_map(|organization| attribute(ORGANIZATION, organization))
        .collect();
    attributes.extend(attribute(COMMON_NAME, common_name));
    element(SEQUENCE, &attributes)
}

/// Returns the subject of an agent in DER.
pub fn agent() -> Vec<u8> {
    let group = format!("system:open-cluster-management:{CLUSTER}");
    let all = "system:open-cluster-management:managed-clusters";
    subject(&[&group, all], &format!("{group}:agent"))
}

/// Returns the attribute that requests a DNS name, in DER.
pub fn alternative_name(name: &str) -> Vec<u8> {
    let names = element(4, &element(SEQUENCE, &element(0x82, name.as_bytes())));
    let extension = element(SEQUENCE, &[&[6, 3, 0x55, 0x1d, 0x11], &*names].concat());
    let oid = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 0x0e];
    let set = element(SET, &element(SEQUENCE, &extension));
    element(SEQUENCE, &[&oid, &*set].concat())
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let significant = &length[length.iter().take_while(|&&byte| byte == 0).count()..];
    let mut encoded = vec![tag];
    match significant {
        [] => encoded.push(0),
        [short @ ..0x80] => encoded.push(*short),
        long => {
            encoded.push(0x80 | u8::try_from(long.len()).expect("at most 8"));
            encoded.extend(long);
        }
    }
    encoded.extend(content);
    encoded
}
