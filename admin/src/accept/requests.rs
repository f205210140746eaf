//! Decides which CSRs of a cluster are approved.
//!
//! A CSR requests an identity: the holder of its key acts as the cluster on the hub. So a CSR has to meet three conditions. It
//! is a CSR of this cluster, by the checks of the hub's own reconcilers (label, signer, subject, usages, signature). Its sender
//! used bootstrap credentials. And no other requester competes with it.

use std::collections::BTreeSet;

use berth_api::conditions;
use berth_lifecycle_core::csrs::{self, SIGNER};
use berth_lifecycle_core::facts::{CertificateRequest, Cluster, Standing};
use berth_rules::display::{Quoted, cut};

use super::fingerprint::Fingerprint;
use crate::print::plain;

/// The group of the bootstrap tokens that register clusters.
const BOOTSTRAPPERS: &str = "system:bootstrappers:managedcluster";

/// The service accounts whose tokens register clusters, and their groups.
const BOOTSTRAP_ACCOUNTS: [(&str, &str); 2] = [
    (
        "system:serviceaccount:open-cluster-management:agent-registration-bootstrap",
        "system:serviceaccounts:open-cluster-management",
    ),
    (
        "system:serviceaccount:open-cluster-management-hub:grpc-server-sa",
        "system:serviceaccounts:open-cluster-management-hub",
    ),
];

/// Upper bound on the requesters that are named; further requesters are counted.
const MOST_NAMED: usize = 10;

/// The flags that select CSRs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Choice<'a> {
    /// The common names to approve. Empty: the common name of the CSRs, if all have the same one.
    pub(crate) requesters: &'a [String],
    /// The keys to approve. Empty: any key.
    pub(crate) fingerprints: &'a [Fingerprint],
    /// Approve CSRs of any sender and of any number of requesters.
    pub(crate) unchecked: bool,
}

/// The decision about a CSR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The CSR is to be approved.
    Approve,
    /// The CSR is already approved.
    Approved,
    /// The CSR is denied or has failed.
    Denied,
    /// The agent sent the CSR with its current certificate: the hub approves it.
    Renewal,
    /// The CSR stays pending, for this reason.
    Left(String),
}

/// A CSR and the decision about it.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) request: CertificateRequest,
    /// The common name, if the CSR is valid for this cluster.
    pub(crate) requester: Option<String>,
    /// The fingerprint of the key.
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) verdict: Verdict,
}

/// The decisions about the CSRs of a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Judgement {
    pub(crate) requests: Vec<Judged>,
    /// The competing requesters. If there are any, no CSR is approved.
    pub(crate) different: Vec<String>,
    /// True if the agent has its certificate, or gets it now. Then problems of other CSRs are reported, but are not failures.
    pub(crate) settled: bool,
}

/// Decides about the CSRs with the cluster's label.
pub(crate) fn judge(
    name: &str,
    cluster: &Cluster,
    requests: Vec<(CertificateRequest, Standing)>,
    choice: Choice<'_>,
) -> Judgement {
    let in_use = csrs::is_in_use(cluster);
    let mut requests: Vec<Judged> = requests
        .into_iter()
        .filter(|(request, _)| request.cluster == name)
        .map(|(request, standing)| {
            let checked = check(&request);
            let requester = checked.as_ref().ok().cloned();
            let fingerprint = Fingerprint::of(&request.request);
            let mut verdict = verdict(&request, standing, checked, in_use, choice);
            if verdict == Verdict::Approve && !choice.means(fingerprint) {
                let key = fingerprint.map_or_else(|| "unknown".to_owned(), |key| key.to_string());
                let why = format!("its key is {key}, which --fingerprint does not name");
                verdict = Verdict::Left(why);
            }
            Judged {
                request,
                requester,
                fingerprint,
                verdict,
            }
        })
        .collect();
    let different = different(&requests, choice);
    if !different.is_empty() {
        for judged in &mut requests {
            if judged.verdict == Verdict::Approve {
                judged.verdict = Verdict::Left("CSRs of other requesters are pending".to_owned());
            }
        }
    }
    let settles = |judged: &Judged| {
        let meant = choice.requesters.is_empty()
            || judged
                .requester
                .as_ref()
                .is_some_and(|requester| choice.requesters.contains(requester));
        meant
            && choice.means(judged.fingerprint)
            && matches!(
                judged.verdict,
                Verdict::Approve | Verdict::Approved | Verdict::Renewal
            )
    };
    let joined = cluster.condition_status(conditions::cluster::JOINED) == Some(conditions::TRUE);
    let settled = requests.iter().any(settles)
        || (joined && choice.requesters.is_empty() && choice.fingerprints.is_empty());
    Judgement {
        requests,
        different,
        settled,
    }
}

// === impl Choice ===

impl Choice<'_> {
    /// Returns true if CSRs with this key may be approved.
    fn means(&self, fingerprint: Option<Fingerprint>) -> bool {
        self.fingerprints.is_empty()
            || fingerprint.is_some_and(|fingerprint| self.fingerprints.contains(&fingerprint))
    }
}

/// Returns the common name of a CSR that is valid for its cluster.
///
/// # Errors
/// The reason why it is not valid.
fn check(request: &CertificateRequest) -> Result<String, String> {
    if request.signer != SIGNER {
        return Err(format!(
            "its signer is {}; agents use {SIGNER}",
            Quoted(&request.signer)
        ));
    }
    csrs::validate(request).map_err(|refusal| refusal.words)
}

fn verdict(
    request: &CertificateRequest,
    standing: Standing,
    checked: Result<String, String>,
    in_use: bool,
    choice: Choice<'_>,
) -> Verdict {
    match standing {
        Standing::Approved => return Verdict::Approved,
        Standing::Refused => return Verdict::Denied,
        Standing::Pending => {}
    }
    let requester = match checked {
        Ok(requester) => requester,
        Err(why) => return Verdict::Left(why),
    };
    if request.username == requester {
        return Verdict::Renewal;
    }
    if !choice.unchecked
        && let Err(why) = sender(request)
    {
        return Verdict::Left(format!("{why}; --skip-approve-check approves it anyway"));
    }
    if !choice.requesters.is_empty() {
        return if choice.requesters.contains(&requester) {
            Verdict::Approve
        } else {
            // clusteradm's words.
            let requester = shown(&requester);
            Verdict::Left(format!(
                "its requester {requester} is not in the approve list"
            ))
        };
    }
    // Bootstrap credentials are often shared, so their holder could request the identity of another cluster.
    if in_use && !choice.unchecked {
        return Verdict::Left(format!(
            "the cluster has already joined, and its agent sends heartbeats; if {} is another agent of it, approve it with \
             --requesters",
            shown(&requester)
        ));
    }
    Verdict::Approve
}

/// Checks that the sender used bootstrap credentials, as clusteradm does.
fn sender(request: &CertificateRequest) -> Result<(), String> {
    let user = request.username.as_str();
    let account = BOOTSTRAP_ACCOUNTS.iter().find(|(name, _)| *name == user);
    let group = match account {
        Some((_, group)) => group,
        None if user.starts_with("system:bootstrap:") => BOOTSTRAPPERS,
        None => {
            return Err(format!(
                "its sender {} is not a user that clusters register as",
                Quoted(user)
            ));
        }
    };
    if request.groups.iter().any(|own| own == group) {
        Ok(())
    } else {
        Err(format!(
            "its sender {} is not in the group {group:?}",
            Quoted(user)
        ))
    }
}

/// Returns the requesters, if a CSR is to be approved and more than one requester exists. Requesters of approved CSRs and of
/// renewals count as well: they already have the identity of an agent of this cluster.
fn different(requests: &[Judged], choice: Choice<'_>) -> Vec<String> {
    if choice.unchecked || !choice.requesters.is_empty() || !choice.fingerprints.is_empty() {
        return Vec::new();
    }
    let pending = |judged: &Judged| judged.verdict == Verdict::Approve;
    let counts = |judged: &&Judged| {
        pending(judged) || matches!(judged.verdict, Verdict::Approved | Verdict::Renewal)
    };
    let requesters: BTreeSet<&String> = requests
        .iter()
        .filter(counts)
        .filter_map(|judged| judged.requester.as_ref())
        .collect();
    if requesters.len() < 2 || !requests.iter().any(pending) {
        return Vec::new();
    }
    let mut named: Vec<String> = requesters
        .iter()
        .take(MOST_NAMED)
        .map(|requester| shown(requester))
        .collect();
    if requesters.len() > MOST_NAMED {
        named.push(format!("{} more", requesters.len() - MOST_NAMED));
    }
    named
}

/// Makes text of another user fit for a line of output.
pub(crate) fn shown(name: &str) -> String {
    match cut(name, 253) {
        (name, false) => plain(name),
        (start, true) => format!("{}...", plain(start)),
    }
}

#[cfg(test)]
mod tests;
