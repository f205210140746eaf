//! One cluster that is to be accepted.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Duration;

use berth_api::{ManagedCluster, conditions, labels};
use berth_hub::Backoff;
use berth_lifecycle_core::csrs;
use berth_lifecycle_core::facts::{CertificateRequest, Cluster};
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use serde_json::json;

use super::requests::{Choice, Judged, Judgement, Verdict, judge, shown};
use super::sent::Sent;
use super::teller::Teller;
use crate::ask::confirmed;
use crate::failure::CommandError;
use crate::hub::{DryRun, Filter, HubConnection};

/// On a ManagedCluster whose agent registers by an AWS IAM role: it sends no CSR.
const BY_AWS: &str = "agent.open-cluster-management.io/managed-cluster-arn";

/// What has changed since it was read is read again so many times.
const TRIES: u32 = 5;

/// What is the same for all clusters.
pub(super) struct Context<'a> {
    pub(super) hub: &'a HubConnection,
    pub(super) choice: Choice<'a>,
    pub(super) dry_run: DryRun,
    /// What is not there yet is waited for.
    pub(super) wait: bool,
    pub(super) new_requests: NewRequests,
}

/// What becomes of a CSR that came while it was waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewRequests {
    /// The admin said that, or named the key.
    Approve,
    /// Somebody is there to be asked.
    Ask,
    /// Nobody is.
    Refuse,
}

/// One cluster, and what has been told of it.
pub(super) struct Target {
    pub(super) name: String,
    /// What it waits for.
    pub(super) missing: String,
    acceptance_told: bool,
    /// Uids of the CSRs that were there when the command began, and of those that the admin has agreed to since.
    known: Option<BTreeSet<String>>,
    csrs_told: BTreeSet<String>,
}

/// How far a cluster is.
pub(super) enum Step {
    /// All is told.
    Finished,
    /// Something is still to come.
    Waits(String),
    /// Something changed while it was decided upon.
    Again,
}

// === impl Target ===

impl Target {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            missing: String::new(),
            acceptance_told: false,
            known: None,
            csrs_told: BTreeSet::new(),
        }
    }

    /// Does what can be done now.
    ///
    /// # Errors
    /// Of output, and of a hub at which nothing can be done for any cluster.
    pub(super) async fn step(
        &mut self,
        at: &Context<'_>,
        teller: &mut Teller,
    ) -> anyhow::Result<Step> {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        for attempt in 0..TRIES {
            if attempt > 0 {
                tokio::time::sleep(backoff.pause()).await;
            }
            match self.attempt(at, teller).await? {
                Step::Again => {}
                step => return Ok(step),
            }
        }
        let why = "it changes all the time; try again";
        teller.failed(&self.name, why)?;
        Ok(Step::Finished)
    }

    async fn attempt(&mut self, at: &Context<'_>, teller: &mut Teller) -> anyhow::Result<Step> {
        let name = self.name.clone();
        if at.wait && self.known.is_none() {
            // Where they cannot be listed none is known.
            let requests = requests_of(at.hub, &name).await.unwrap_or_default();
            let uids = requests.into_iter().map(|(request, _)| uid_of(&request));
            self.known = Some(uids.collect());
        }
        let item = match at.hub.get::<ManagedCluster>(None, &name).await {
            Ok(Some(item)) => item,
            Ok(None) if at.wait => {
                return Ok(Step::Waits(
                    "there is no ManagedCluster of this name".into(),
                ));
            }
            Ok(None) => {
                teller.failed(&name, no_such(at.hub, &name).await)?;
                return Ok(Step::Finished);
            }
            Err(failure) => return self.fails(at, teller, failure),
        };
        if let Some(why) = item.unreadable {
            teller.failed(&name, format!("the ManagedCluster cannot be read: {why}"))?;
            return Ok(Step::Finished);
        }
        if !item.fields.is_empty() && !self.acceptance_told {
            let fields = &item.fields;
            let words = format!("these fields of ManagedCluster {name} cannot be read: {fields}");
            teller.note(&words);
        }
        let annotations = item.object.metadata.annotations.as_ref();
        let by_aws = annotations.is_some_and(|annotations| annotations.contains_key(BY_AWS));
        let cluster = Cluster::from(item.object);
        if cluster.deleting {
            teller.failed(&name, "the ManagedCluster is being deleted")?;
            return Ok(Step::Finished);
        }
        let judgement = if by_aws {
            Judgement::default()
        } else {
            match requests_of(at.hub, &name).await {
                Ok(requests) => judge(&name, &cluster, requests, at.choice),
                Err(failure) => return self.fails(at, teller, failure),
            }
        };
        if !judgement.different.is_empty() {
            // clusteradm's words, at first. Nothing is done at all: somebody may be after this cluster's identity.
            let why = format!(
                "There are CSRs of different requesters: {}; nothing is done: name whom you mean by --requesters, or \
                 set --skip-approve-check if all CSRs need to be approved",
                judgement.different.join(",")
            );
            teller.failed(&name, why)?;
            return Ok(Step::Finished);
        }

        // Acceptance first, as it is the gate's to decide: if it says no, no identity has been handed out. The other way
        // round a denial would leave an agent with a certificate for a cluster that nobody let in. That acceptance
        // stands when the approval then fails does no harm: rights that nobody has the identity for.
        if !cluster.accepted {
            match self.accept(at, &cluster).await {
                Ok(()) => {
                    let words = format!("set hubAcceptsClient to true for managed cluster {name}");
                    teller.done(&name, words)?;
                }
                Err(failure) if failure.code() == Some(409) => return Ok(Step::Again),
                Err(failure) => return self.fails(at, teller, failure),
            }
        } else if !self.acceptance_told {
            let words = format!("hubAcceptsClient already set for managed cluster {name}");
            teller.unchanged(&name, words)?;
        }
        self.acceptance_told = true;

        let mut all_well = true;
        for judged in &judgement.requests {
            match self.carry_out(at, teller, judged, &judgement).await? {
                Carried::Well => {}
                Carried::Ill => all_well = false,
                Carried::Again => return Ok(Step::Again),
                Carried::Waits(why) => return Ok(Step::Waits(why)),
            }
        }
        if !all_well {
            return Ok(Step::Finished);
        }
        let joined = cluster.condition_status(conditions::cluster::JOINED);
        if joined == Some(conditions::TRUE) {
            let words = format!("Your managed cluster {name} has joined the Hub successfully.");
            teller.unchanged(&name, words)?;
            return Ok(Step::Finished);
        }
        if at.wait {
            return Ok(Step::Waits(missing(&judgement, by_aws)));
        }
        if judgement.requests.is_empty() && !by_aws {
            let words = format!(
                "no CSR to approve for cluster {name} yet: its agent sends one when it reaches the hub; --wait waits for it"
            );
            teller.unchanged(&name, words)?;
        }
        Ok(Step::Finished)
    }

    /// Sets it accepted, if it still is as it was read.
    async fn accept(&self, at: &Context<'_>, cluster: &Cluster) -> Result<(), CommandError> {
        let mut patch = json!({
            "metadata": {"resourceVersion": cluster.resource_version},
            "spec": {"hubAcceptsClient": true},
        });
        if cluster.denied_now {
            // Or the next denial would take effect at once, too.
            patch["metadata"]["annotations"] = json!({labels::DENY_NOW: null});
        }
        at.hub
            .merge::<ManagedCluster>(None, &self.name, None, patch, at.dry_run)
            .await
    }

    /// Does what is to be done about a CSR, and tells it, once.
    async fn carry_out(
        &mut self,
        at: &Context<'_>,
        teller: &mut Teller,
        judged: &Judged,
        judgement: &Judgement,
    ) -> anyhow::Result<Carried> {
        let csr = shown(&judged.request.name);
        if judged.verdict == Verdict::Approve {
            let sent = Sent {
                request: &judged.request,
                fingerprint: judged.fingerprint,
                now: Timestamp::now(),
            };
            if let Some(why) = self.refusal(at, teller, judged, &sent)? {
                teller.failed(&self.name, format!("CSR {csr} is not approved: {why}"))?;
                return Ok(Carried::Ill);
            }
            return match approve(at, &judged.request).await {
                Ok(()) => {
                    self.csrs_told.insert(judged.request.name.clone());
                    teller.done(&self.name, format!("CSR {csr} approved: {sent}"))?;
                    Ok(Carried::Well)
                }
                // Gone, or otherwise by now: what there is now is judged anew.
                Err(failure) if matches!(failure.code(), Some(404 | 409)) => Ok(Carried::Again),
                Err(failure) if at.wait && failure.is_passing() => {
                    Ok(Carried::Waits(failure.to_string()))
                }
                Err(failure) => {
                    teller.failed(&self.name, format!("CSR {csr} is not approved: {failure}"))?;
                    Ok(Carried::Ill)
                }
            };
        }
        let words = match &judged.verdict {
            Verdict::Approve | Verdict::Approved => format!("CSR {csr} already approved"),
            Verdict::Denied => format!("CSR {csr} already denied"),
            Verdict::Renewal => {
                format!("CSR {csr} is a renewal: the hub approves it, as the cluster is accepted")
            }
            Verdict::Left(why) => format!("CSR {csr} is not approved: {why}"),
        };
        let good = matches!(judged.verdict, Verdict::Approved | Verdict::Renewal);
        if good || judgement.settled || at.wait {
            if self.csrs_told.insert(judged.request.name.clone()) {
                teller.unchanged(&self.name, words)?;
            }
            return Ok(Carried::Well);
        }
        teller.failed(&self.name, words)?;
        Ok(Carried::Ill)
    }

    /// Why a CSR that came while it was waited is not approved. None: it was there before, or the admin agrees.
    fn refusal(
        &mut self,
        at: &Context<'_>,
        teller: &mut Teller,
        judged: &Judged,
        sent: &Sent<'_>,
    ) -> anyhow::Result<Option<String>> {
        let uid = uid_of(&judged.request);
        let known = self.known.get_or_insert_default();
        if !at.wait || known.contains(&uid) {
            return Ok(None);
        }
        let agreed = match at.new_requests {
            NewRequests::Approve => true,
            NewRequests::Ask => {
                teller.progress.clear();
                let csr = shown(&judged.request.name);
                writeln!(
                    io::stderr(),
                    "CSR {csr} came after this command began: {sent}"
                )?;
                confirmed(&format!("Approve it for managed cluster {}?", self.name))?
            }
            NewRequests::Refuse => {
                let key = match judged.fingerprint {
                    Some(key) => format!("--fingerprint {key}"),
                    None => "--fingerprint".to_owned(),
                };
                return Ok(Some(format!(
                    "it came after this command began, and nobody is there to be asked: {sent}; add {key} to approve this \
                     key, or --yes to approve whichever comes"
                )));
            }
        };
        if !agreed {
            return Ok(Some(
                "it came after this command began, and you did not agree".to_owned(),
            ));
        }
        known.insert(uid);
        Ok(None)
    }

    /// Tells a failure, unless it may pass while it is waited.
    fn fails(
        &self,
        at: &Context<'_>,
        teller: &mut Teller,
        failure: CommandError,
    ) -> anyhow::Result<Step> {
        if at.wait && failure.is_passing() {
            return Ok(Step::Waits(failure.to_string()));
        }
        let of_the_hub = failure.is_passing() || matches!(failure, CommandError::NoHub { .. });
        if of_the_hub && !teller.told_any {
            // The next cluster would meet the same.
            return Err(failure.into());
        }
        teller.failed(&self.name, failure)?;
        Ok(Step::Finished)
    }
}

/// What came of a CSR.
enum Carried {
    Well,
    Ill,
    Again,
    Waits(String),
}

fn uid_of(request: &CertificateRequest) -> String {
    request.metadata.uid.clone().unwrap_or_default()
}

/// What an accepted cluster still lacks that has not joined.
fn missing(judgement: &Judgement, by_aws: bool) -> String {
    let left = judgement.requests.iter().find_map(|judged| {
        let csr = shown(&judged.request.name);
        match &judged.verdict {
            Verdict::Left(why) => Some(format!("CSR {csr} is not approved: {why}")),
            Verdict::Denied => Some(format!("CSR {csr} is denied")),
            _ => None,
        }
    });
    match left {
        _ if judgement.settled || by_aws => {
            "its agent has not joined yet (condition ManagedClusterJoined)".to_owned()
        }
        Some(left) => format!("no CSR that can be approved: {left}"),
        None => "no CSR of its agent is there yet".to_owned(),
    }
}

/// The CSRs that bear the cluster's label, without those of its add-ons.
pub(crate) async fn requests_of(
    hub: &HubConnection,
    cluster: &str,
) -> Result<Vec<(CertificateRequest, berth_lifecycle_core::facts::Standing)>, CommandError> {
    let selector = format!("{}={cluster},!{}", labels::CLUSTER_NAME, labels::ADDON_NAME);
    let items = hub
        .list::<CertificateSigningRequest>(None, &Filter::labels(selector))
        .await?;
    Ok(items
        .into_iter()
        .filter_map(|item| CertificateRequest::read(item.object))
        .collect())
}

/// Approves a CSR, if it still is as it was read.
async fn approve(at: &Context<'_>, request: &CertificateRequest) -> Result<(), CommandError> {
    let body = csrs::approval(
        request,
        "BerthAccept",
        "This CSR was approved by berth accept.",
    );
    at.hub
        .replace_subresource::<CertificateSigningRequest>(
            &request.name,
            "approval",
            &body,
            at.dry_run,
        )
        .await
}

/// There is no such cluster; perhaps another was meant.
pub(crate) async fn no_such(hub: &HubConnection, name: &str) -> CommandError {
    // Without a list of names, none is suggested.
    let names = hub.names::<ManagedCluster>(None).await.unwrap_or_default();
    CommandError::no_such(
        "managedclusters.cluster.open-cluster-management.io",
        name,
        names.iter().map(String::as_str),
    )
}
