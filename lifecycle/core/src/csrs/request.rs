//! What a request asks for, and whether it is exactly what an agent of its cluster may have.
//!
//! The hub reads the request here, but others issue the certificate: the API server and the signer read it with Go's
//! parsers. So only what all parsers read the same is taken: one PEM block and nothing besides, a subject of one common
//! name and organizations and nothing besides.

use std::fmt::Write;

use berth_api::names::is_dns1123_label;
use berth_api::text::is_plain;
use berth_certs::csr::{Csr, Usage};

use super::{LONGEST_NAME, quoted, reasons};
use crate::facts::CertificateRequest;
use crate::names::agent_group;
use berth_api::agents;

/// Larger requests are not read. An agent's has less than 1 KiB, with an RSA key of 8192 bits less than 4 KiB.
pub(super) const LARGEST: usize = 16 * 1024;

/// Why a request cannot be an agent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// One of [`reasons`].
    pub reason: &'static str,
    /// For a person.
    pub words: String,
}

/// The common name of a request that is an agent's of the cluster which its label names: subject, usages and signature
/// are an agent's, and it asks for nothing else.
///
/// Who sent it, and to which signer ([`super::SIGNER`]), is not looked at.
///
/// # Errors
/// It cannot be an agent's.
pub fn validate(request: &CertificateRequest) -> Result<String, Refusal> {
    let refuse = |reason, words| Err(Refusal { reason, words });
    let cluster = &request.cluster;
    if !is_dns1123_label(cluster) {
        let words =
            "the label open-cluster-management.io/cluster-name is no cluster's name".to_owned();
        return refuse(reasons::INVALID_CLUSTER_NAME, words);
    }
    if let Err(words) = usages(&request.usages) {
        return refuse(reasons::INVALID_USAGES, words);
    }
    if request.request.len() > LARGEST {
        let words = format!("the request has more than {LARGEST} bytes, which are not read");
        return refuse(reasons::INVALID_REQUEST, words);
    }
    if !is_one_block(&request.request) {
        let words = "the request must be one PEM block CERTIFICATE REQUEST and nothing besides";
        return refuse(reasons::INVALID_REQUEST, words.to_owned());
    }
    let csr = match Csr::from_pem(&request.request) {
        Ok(csr) => csr,
        Err(error) => {
            let mut words = error.to_string();
            words.truncate(words.floor_char_boundary(200));
            words.retain(is_plain);
            return refuse(reasons::INVALID_REQUEST, words);
        }
    };
    if !csr.has_plain_subject() {
        let words = "the subject must be one common name and organizations, as UTF-8 or printable strings, and nothing \
                     else";
        return refuse(reasons::INVALID_SUBJECT, words.to_owned());
    }
    if let Err(words) = organizations(csr.organizations(), cluster) {
        return refuse(reasons::INVALID_SUBJECT, words);
    }
    if agent(csr.common_name(), cluster).is_none() {
        let words = format!(
            "the common name is {}; an agent's is {}{cluster}:AGENT",
            quoted(csr.common_name(), LONGEST_NAME),
            agents::PREFIX
        );
        return refuse(reasons::INVALID_SUBJECT, words);
    }
    if csr.asks_for_alternative_names() {
        let words = "it asks for subject alternative names; an agent's certificate has none";
        return refuse(reasons::ALTERNATIVE_NAMES, words.to_owned());
    }
    Ok(csr.common_name().to_owned())
}

/// An agent asks for `digital signature`, `key encipherment` and `client auth`; of the first two any may be missing.
fn usages(usages: &[String]) -> Result<(), String> {
    if let Some(other) = usages.iter().find(|usage| Usage::named(usage).is_none()) {
        return Err(format!(
            "it asks for the usage {}; an agent's certificate is for digital signature, key encipherment and client auth",
            quoted(other, 50)
        ));
    }
    let for_client = |usage: &String| Usage::named(usage) == Some(Usage::ClientAuth);
    if !usages.iter().any(for_client) {
        return Err("it does not ask for the usage \"client auth\"".to_owned());
    }
    Ok(())
}

/// The cluster's group, and that of all agents, which requests of old agents lack.
fn organizations(organizations: &[String], cluster: &str) -> Result<(), String> {
    let group = agent_group(cluster);
    let mut own = organizations
        .iter()
        .filter(|organization| *organization != agents::ALL)
        .peekable();
    // A cluster of the name `managed-clusters` has no group of its own: nobody is told apart by the group of all.
    if own.peek().is_some() && own.all(|organization| *organization == group) {
        return Ok(());
    }
    let mut words = "the organizations are [".to_owned();
    for (index, organization) in organizations.iter().take(3).enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = write!(words, "{separator}{}", quoted(organization, 80));
    }
    if organizations.len() > 3 {
        words.push_str(", ...");
    }
    let _ = write!(words, "]; an agent's are {group} and {}", agents::ALL);
    Err(words)
}

/// The agent's own name, if this is the name of an agent of the cluster.
fn agent<'a>(common_name: &'a str, cluster: &str) -> Option<&'a str> {
    let agent = common_name
        .strip_prefix(agents::PREFIX)?
        .strip_prefix(cluster)?
        .strip_prefix(':')?;
    let odd = |char: char| char == ':' || !is_plain(char);
    (!agent.is_empty() && !agent.contains(odd)).then_some(agent)
}

/// Whether this is a PEM block `CERTIFICATE REQUEST` in which every parser finds the same, and no other: no text around
/// it, no headers in it.
fn is_one_block(pem: &[u8]) -> bool {
    let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\r\n".contains(byte);
    pem.trim_ascii_end()
        .strip_prefix(b"-----BEGIN CERTIFICATE REQUEST-----")
        .and_then(|rest| rest.strip_suffix(b"-----END CERTIFICATE REQUEST-----"))
        .is_some_and(|content| {
            content.iter().all(base64)
                && content.trim_ascii_start().len() < content.len()
                && content.ends_with(b"\n")
        })
}
