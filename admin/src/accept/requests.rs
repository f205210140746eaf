//! Which CSRs of a cluster are approved, and why others are not.
//!
//! A CSR asks for an identity: who gets it approved speaks for the cluster on the hub. So it must truly be the cluster's
//! (label, signer, subject, usages, signature, as the hub's own reconcilers check them), it must have been sent with what
//! clusters are given to register, and it must be plain which one is meant.

use std::collections::BTreeSet;

use berth_api::conditions;
use berth_lifecycle_core::csrs::{self, SIGNER};
use berth_lifecycle_core::facts::{CertificateRequest, Cluster, Standing};
use berth_rules::display::{Quoted, cut};

use super::fingerprint::Fingerprint;
use crate::print::plain;

/// The group of bootstrap tokens that are for registering clusters.
const BOOTSTRAPPERS: &str = "system:bootstrappers:managedcluster";

/// Service accounts whose tokens are for registering clusters, and their groups.
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

/// More requesters are counted, not named.
const MOST_NAMED: usize = 10;

/// What the admin chose.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Choice<'a> {
    /// Common names that are approved, and no others. Empty: that which there is, if it is one.
    pub(crate) requesters: &'a [String],
    /// Keys that are approved, and no others. Empty: whichever.
    pub(crate) fingerprints: &'a [Fingerprint],
    /// Whoever sent them, and however many there are.
    pub(crate) unchecked: bool,
}

/// What is to be done about a CSR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is approved now.
    Approve,
    /// It is approved already.
    Approved,
    /// Somebody denied it, or it has failed.
    Denied,
    /// The agent sent it with the certificate that it has: for the hub to approve.
    Renewal,
    /// It is left as it is, because of this.
    Left(String),
}

/// A CSR, and what is to be done about it.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) request: CertificateRequest,
    /// Its common name, if it is truly the cluster's.
    pub(crate) requester: Option<String>,
    /// Of its key.
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) verdict: Verdict,
}

/// What is to be done about the CSRs of a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Judgement {
    pub(crate) requests: Vec<Judged>,
    /// The requesters, if it cannot be told which is meant: then none is approved.
    pub(crate) different: Vec<String>,
    /// Nothing more is expected of the CSRs: the agent has its certificate, or gets it now. Of others it is only told.
    pub(crate) settled: bool,
}

/// Decides about the CSRs that bear the cluster's label.
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
                judged.verdict = Verdict::Left("there are others".to_owned());
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
    /// Whether the key may be approved.
    fn means(&self, fingerprint: Option<Fingerprint>) -> bool {
        self.fingerprints.is_empty()
            || fingerprint.is_some_and(|fingerprint| self.fingerprints.contains(&fingerprint))
    }
}

/// The common name of a CSR that is truly its cluster's, or why it is not.
fn check(request: &CertificateRequest) -> Result<String, String> {
    if request.signer != SIGNER {
        return Err(format!(
            "its signer is {}; an agent's is {SIGNER}",
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
    // What clusters register with is often shared: who has it could ask for the identity of any other.
    if in_use && !choice.unchecked {
        return Verdict::Left(format!(
            "the cluster has joined already, and its agent is heard of; if {} is an agent of it, too, approve it by \
             --requesters",
            shown(&requester)
        ));
    }
    Verdict::Approve
}

/// Whether somebody sent it who registers clusters, as clusteradm has it.
fn sender(request: &CertificateRequest) -> Result<(), String> {
    let user = request.username.as_str();
    let account = BOOTSTRAP_ACCOUNTS.iter().find(|(name, _)| *name == user);
    let group = match account {
        Some((_, group)) => group,
        None if user.starts_with("system:bootstrap:") => BOOTSTRAPPERS,
        None => {
            return Err(format!(
                "its sender {} is no user that clusters register as",
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

/// The requesters, if there is something to approve and it cannot be told for whom. Those count, too, that were approved
/// before or renew: somebody else has the identity of an agent of this cluster already.
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

/// What somebody else chose, fit for a line.
pub(crate) fn shown(name: &str) -> String {
    match cut(name, 253) {
        (name, false) => plain(name),
        (start, true) => format!("{}...", plain(start)),
    }
}

#[cfg(test)]
mod tests;
