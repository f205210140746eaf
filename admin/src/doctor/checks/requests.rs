//! Pending CertificateSigningRequests, and the reasons why the hub does not approve them.

use berth_lifecycle_core::config::Config;
use berth_lifecycle_core::csrs::{self, Decision, reasons};
use berth_lifecycle_core::facts::Cluster;

use super::sets::is_new;
use crate::doctor::facts::{Facts, Pending};
use crate::doctor::finding::{Check, Finding, FindingObject};
use crate::print::plain;
use berth_rules::display::ShellWord;

const CHECK: Check = Check::CertificateRequests;

/// Checks the CSRs of accepted clusters' agents. Those of pending clusters are reported with their clusters.
pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let requests = match &facts.requests {
        Ok(requests) => requests,
        Err(unread) => {
            return vec![CHECK.unknown("the pending CertificateSigningRequests", unread)];
        }
    };
    let mut findings = Vec::new();
    for pending in requests {
        let Some(cluster) = cluster_of(facts, pending).filter(|cluster| cluster.accepted) else {
            continue;
        };
        let Some(why) = why_not_approved(facts, pending, Some(&cluster)) else {
            continue;
        };
        let request = &pending.request;
        let name = &request.cluster;
        let object = FindingObject::new("certificatesigningrequest", request.name.clone());
        let message = format!("the agent of the accepted ManagedCluster {name:?} waits: {why}");
        findings.push(CHECK.warning(message).of(object).remedy(format!(
            "berth accept {} (approves only valid CSRs of this cluster); for details: kubectl describe csr {}",
            ShellWord(name),
            ShellWord(&request.name)
        )));
    }
    findings
}

pub(super) fn cluster_of(facts: &Facts, pending: &Pending) -> Option<Cluster> {
    let clusters = facts.clusters.as_ref().ok()?;
    let found = clusters
        .iter()
        .find(|item| item.name() == pending.request.cluster);
    found.map(|item| Cluster::from(item.object.clone()))
}

/// Returns the reason why the hub leaves a CSR to an admin. None: the hub approves it, or it is not a CSR of an agent.
pub(super) fn why_not_approved(
    facts: &Facts,
    pending: &Pending,
    cluster: Option<&Cluster>,
) -> Option<String> {
    let may_renew = match &pending.may_renew {
        None => None,
        Some(Ok(may)) => Some(*may),
        Some(Err(unread)) => {
            return Some(format!("its right to renew could not be checked: {unread}"));
        }
    };
    let new = is_new(facts, pending.created);
    // The flags of automatic approval are unknown here, so this assumes that an admin approves.
    match csrs::decide(
        &Config::default(),
        &pending.request,
        cluster,
        None,
        may_renew,
    ) {
        Decision::Ignore | Decision::Ask(_) | Decision::Wait => None,
        Decision::Unlabel { .. } if new => None,
        Decision::Unlabel { kept, .. } => Some(plain(&kept.note)),
        Decision::Approve(_) if new => None,
        Decision::Approve(_) => {
            Some("the hub's controller should have approved the CSR, but has not".to_owned())
        }
        Decision::Leave { reason, .. }
            if [reasons::AUTO_APPROVAL_OFF, reasons::USER_NOT_LISTED].contains(&reason) =>
        {
            let user = &pending.request.username;
            Some(format!(
                "an admin has to approve the first CSR, of user {}",
                berth_rules::display::Quoted(user)
            ))
        }
        // The note begins with the name of the request, which the finding has already.
        Decision::Leave { note, .. } => {
            let why = note
                .split_once(" is not approved by the hub: ")
                .map_or(note.as_str(), |(_, why)| why);
            Some(plain(why))
        }
    }
}

#[cfg(test)]
mod tests {
    use berth_api::ManagedCluster;
    use serde_json::json;

    use super::*;
    use crate::doctor::checks::testing::{NOW, told, with};
    use crate::doctor::facts::Unread;
    use crate::hub::Item;
    use berth_lifecycle_core::facts::CertificateRequest;
    use jiff::SignedDuration;

    const AGENT: &str = "system:open-cluster-management:c1:agent";

    /// A valid CSR of an agent of c1, sent by this user.
    fn request(user: &str, usages: &[&str]) -> Pending {
        Pending {
            request: CertificateRequest {
                name: "csr-1".to_owned(),
                cluster: "c1".to_owned(),
                signer: csrs::SIGNER.to_owned(),
                request: include_bytes!("testing/agent.csr").to_vec(),
                usages: usages.iter().map(|it| (*it).to_owned()).collect(),
                username: user.to_owned(),
                ..CertificateRequest::default()
            },
            created: Some(NOW - SignedDuration::from_hours(1)),
            may_renew: None,
        }
    }

    #[test]
    fn a_request_that_waits_says_why() {
        let client = ["client auth"];
        let renewal = |may_renew| Pending {
            may_renew: Some(may_renew),
            ..request(AGENT, &client)
        };
        let mut new = renewal(Ok(true));
        new.created = Some(NOW);
        let mut other = request("bootstrap", &client);
        other.request.signer = "example.com/signer".to_owned();
        let waits = "warning: the agent of the accepted ManagedCluster \"c1\" waits: ";
        let table = [
            (
                "a first request",
                request("bootstrap", &client),
                Some("an admin has to approve the first CSR, of user \"bootstrap\""),
            ),
            (
                "a request for a server",
                request("bootstrap", &["server auth"]),
                Some("it asks for the usage \"server auth\""),
            ),
            (
                "a renewal that is forbidden",
                renewal(Ok(false)),
                Some("the user may not renew its certificate: needs verb \"renew\""),
            ),
            (
                "a renewal that nobody approves",
                renewal(Ok(true)),
                Some("the hub's controller should have approved the CSR"),
            ),
            (
                "a renewal that nobody can ask about",
                renewal(Err(Unread::Needs("x".to_owned()))),
                Some("its right to renew could not be checked: you need x"),
            ),
            ("a renewal of just now", new, None),
            ("of another signer", other, None),
        ];
        for (sentence, pending, expected) in table {
            let facts = with(|facts| {
                facts.requests = Ok(vec![pending.clone()]);
                facts.clusters = Ok(vec![Item::<ManagedCluster>::of(
                    json!({"metadata": {"name": "c1"}, "spec": {"hubAcceptsClient": true}}),
                )]);
            });
            let expected: Vec<String> = expected.iter().map(|it| format!("{waits}{it}")).collect();
            let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
            assert_eq!(told(&check(&facts), &expected), expected, "{sentence}");
        }
    }
}
