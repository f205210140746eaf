//! Accepts one cluster.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Duration;

use berth_api::{ManagedCluster, conditions, labels};
use berth_hub::Backoff;
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

/// The annotation of a ManagedCluster whose agent registers by an AWS IAM role and sends no CSR.
const BY_AWS: &str = "agent.open-cluster-management.io/managed-cluster-arn";

/// Limit on the attempts after a conflict.
const TRIES: u32 = 5;

/// The parts that all targets share.
pub(super) struct Context<'a> {
    pub(super) hub: &'a HubConnection,
    pub(super) choice: Choice<'a>,
    pub(super) dry_run: DryRun,
    /// The command waits for objects that do not exist yet.
    pub(super) wait: bool,
    pub(super) new_requests: NewRequests,
}

/// What is done about a CSR that arrived while the command waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewRequests {
    /// A flag allows it, or names its key.
    Approve,
    /// The user is asked on the terminal.
    Ask,
    /// No terminal is available to ask on.
    Refuse,
}

/// One cluster, and what was already printed about it.
pub(super) struct Target {
    pub(super) name: String,
    /// What the command waits for.
    pub(super) missing: String,
    acceptance_told: bool,
    /// The uids of the CSRs that existed when the command started, and of those that the admin has agreed to since.
    known: Option<BTreeSet<String>>,
    csrs_told: BTreeSet<String>,
}

/// The result of a step.
pub(super) enum Step {
    /// Nothing is left to do or to print.
    Finished,
    /// The command waits for this.
    Waits(String),
    /// An object changed in the meantime; decide again.
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

    /// Does what is possible now.
    ///
    /// # Errors
    /// Those of the output, and those of the hub that concern all clusters.
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
        let why = "the ManagedCluster or its CSRs keep changing; try again";
        teller.failed(&self.name, why)?;
        Ok(Step::Finished)
    }

    async fn attempt(&mut self, at: &Context<'_>, teller: &mut Teller) -> anyhow::Result<Step> {
        let name = self.name.clone();
        if at.wait && self.known.is_none() {
            // If the CSRs cannot be listed, none of them is known.
            let requests = requests_of(at.hub, &name).await.unwrap_or_default();
            let uids = requests.into_iter().map(|(request, _)| uid_of(&request));
            self.known = Some(uids.collect());
        }
        let item = match at.hub.get::<ManagedCluster>(None, &name).await {
            Ok(Some(item)) => item,
            Ok(None) if at.wait => {
                return Ok(Step::Waits("the ManagedCluster does not exist".into()));
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
            // The message begins as clusteradm's. Nothing is written: one of the requesters may be an attacker.
            let why = format!(
                "There are CSRs of different requesters: {}; nothing was changed: select requesters with --requesters, or \
                 set --skip-approve-check if all CSRs need to be approved",
                judgement.different.join(",")
            );
            teller.failed(&name, why)?;
            return Ok(Step::Finished);
        }

        // The acceptance comes first, since the gate may deny it: then no identity has been issued. If the approval fails
        // afterwards, the acceptance does no harm: no agent has the identity that holds the rights.
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
                Carried::Ok => {}
                Carried::Failed => all_well = false,
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

    /// Accepts the cluster, if it has not changed since it was read.
    ///
    /// The record of an earlier denial (`labels::DENIED_ON`) stays: a second acceptance does not make bootstrap credentials
    /// trustworthy, so the lifecycle goes on to leave the CSRs of this cluster to an admin.
    async fn accept(&self, at: &Context<'_>, cluster: &Cluster) -> Result<(), CommandError> {
        let mut patch = json!({
            "metadata": {"resourceVersion": cluster.resource_version},
            "spec": {"hubAcceptsClient": true},
        });
        if cluster.denied_now {
            // Otherwise the next denial would take effect immediately, too.
            patch["metadata"]["annotations"] = json!({labels::DENY_NOW: null});
        }
        at.hub
            .merge::<ManagedCluster>(None, &self.name, None, patch, at.dry_run)
            .await
            .map(drop)
    }

    /// Carries out the decision about a CSR, and prints it once.
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
                return Ok(Carried::Failed);
            }
            return match approve(at, &judged.request).await {
                Ok(()) => {
                    self.csrs_told.insert(judged.request.name.clone());
                    teller.done(&self.name, format!("CSR {csr} approved: {sent}"))?;
                    Ok(Carried::Ok)
                }
                // The CSR was deleted or changed: decide again.
                Err(failure) if matches!(failure.code(), Some(404 | 409)) => Ok(Carried::Again),
                Err(failure) if at.wait && failure.is_passing() => {
                    Ok(Carried::Waits(failure.to_string()))
                }
                Err(failure) => {
                    teller.failed(&self.name, format!("CSR {csr} is not approved: {failure}"))?;
                    Ok(Carried::Failed)
                }
            };
        }
        let words = match &judged.verdict {
            Verdict::Approve | Verdict::Approved => format!("CSR {csr} already approved"),
            Verdict::Denied => format!("CSR {csr} already denied"),
            Verdict::Renewal => {
                format!(
                    "CSR {csr} is a renewal: the hub approves it, since the cluster is accepted"
                )
            }
            Verdict::Left(why) => format!("CSR {csr} is not approved: {why}"),
        };
        let good = matches!(judged.verdict, Verdict::Approved | Verdict::Renewal);
        if good || judgement.settled || at.wait {
            if self.csrs_told.insert(judged.request.name.clone()) {
                teller.unchanged(&self.name, words)?;
            }
            return Ok(Carried::Ok);
        }
        teller.failed(&self.name, words)?;
        Ok(Carried::Failed)
    }

    /// Returns the reason why a CSR that arrived during the wait is not approved. Returns None if the CSR existed before, or
    /// if the admin agrees.
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
                    "CSR {csr} arrived after this command started: {sent}"
                )?;
                confirmed(&format!("Approve it for managed cluster {}?", self.name))?
            }
            NewRequests::Refuse => {
                let key = match judged.fingerprint {
                    Some(key) => format!("--fingerprint {key}"),
                    None => "--fingerprint".to_owned(),
                };
                return Ok(Some(format!(
                    "it arrived after this command started, and no terminal is available to ask on: {sent}; add {key} to \
                     approve this key, or --yes to approve any key"
                )));
            }
        };
        if !agreed {
            return Ok(Some(
                "it arrived after this command started, and you did not agree".to_owned(),
            ));
        }
        known.insert(uid);
        Ok(None)
    }

    /// Reports a failure. If it may pass, the command waits instead.
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
            // The next cluster would fail in the same way.
            return Err(failure.into());
        }
        teller.refused(&self.name, failure)?;
        Ok(Step::Finished)
    }
}

/// The result for a CSR.
enum Carried {
    Ok,
    Failed,
    Again,
    Waits(String),
}

fn uid_of(request: &CertificateRequest) -> String {
    request.metadata.uid.clone().unwrap_or_default()
}

/// Describes what an accepted cluster still lacks to join.
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
        Some(left) => format!("no CSR can be approved: {left}"),
        None => "its agent has not sent a CSR yet".to_owned(),
    }
}

/// Returns the CSRs with the cluster's label, without those of its add-ons.
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

/// Approves a CSR, if it has not changed since it was read.
async fn approve(at: &Context<'_>, request: &CertificateRequest) -> Result<(), CommandError> {
    let body = request.approval("BerthAccept", "This CSR was approved by berth accept.");
    at.hub
        .replace_subresource::<CertificateSigningRequest>(
            &request.name,
            "approval",
            &body,
            at.dry_run,
        )
        .await
}

/// The error for a cluster that does not exist, with a suggestion.
pub(crate) async fn no_such(hub: &HubConnection, name: &str) -> CommandError {
    // Without a list of names, it suggests none.
    let names = hub.names::<ManagedCluster>(None).await.unwrap_or_default();
    CommandError::no_such(
        "managedclusters.cluster.open-cluster-management.io",
        name,
        names.iter().map(String::as_str),
    )
}
