//! Validates that a request asks for exactly the certificate of an agent of its cluster.
//!
//! The API server and the signer parse the request with Go's parsers. So only requests that all parsers read in the same way are
//! accepted: exactly one PEM block, and a subject of exactly one common name and organizations.

use std::fmt::Write;

use berth_api::names::is_dns1123_label;
use berth_api::text::is_plain;
use berth_certs::csr::{Csr, Usage, is_one_request};

use super::{LONGEST_NAME, quoted, reasons};
use crate::facts::CertificateRequest;
use crate::names::agent_group;
use berth_api::agents;

/// Upper bound on the bytes of a request. An agent's has less than 1 KiB, with an RSA key of 8192 bits less than 4 KiB.
pub(super) const LARGEST: usize = 16 * 1024;

/// The reason why a request is not an agent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// One of [`reasons`].
    pub reason: &'static str,
    /// Text for users.
    pub words: String,
}

/// Returns the common name of an agent's request: subject, usages and signature are those of an agent of the cluster that its
/// label names, and it asks for nothing else.
///
/// Does not check the sender and the signer ([`super::SIGNER`]).
///
/// # Errors
/// The request is not an agent's.
pub fn validate(request: &CertificateRequest) -> Result<String, Refusal> {
    let refuse = |reason, words| Err(Refusal { reason, words });
    let cluster = &request.cluster;
    if !is_dns1123_label(cluster) {
        let words =
            "the value of the label open-cluster-management.io/cluster-name cannot be a cluster's name".to_owned();
        return refuse(reasons::INVALID_CLUSTER_NAME, words);
    }
    if let Err(words) = usages(&request.usages) {
        return refuse(reasons::INVALID_USAGES, words);
    }
    if request.request.len() > LARGEST {
        let words = format!("the request has more than {LARGEST} bytes");
        return refuse(reasons::INVALID_REQUEST, words);
    }
    if !is_one_request(&request.request) {
        let words = "the request must be one PEM block CERTIFICATE REQUEST without other text";
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

/// Allows `digital signature`, `key encipherment` and `client auth`, and requires the last one.
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

/// Requires the cluster's group, and allows the group of all agents, which requests of old agents lack.
fn organizations(organizations: &[String], cluster: &str) -> Result<(), String> {
    let group = agent_group(cluster);
    let mut own = organizations
        .iter()
        .filter(|organization| *organization != agents::ALL)
        .peekable();
    // A cluster named `managed-clusters` has no group of its own: the group of all agents does not identify it.
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

/// The agent's own name, if the common name is that of an agent of the cluster.
fn agent<'a>(common_name: &'a str, cluster: &str) -> Option<&'a str> {
    let agent = common_name
        .strip_prefix(agents::PREFIX)?
        .strip_prefix(cluster)?
        .strip_prefix(':')?;
    let odd = |char: char| char == ':' || !is_plain(char);
    (!agent.is_empty() && !agent.contains(odd)).then_some(agent)
}
