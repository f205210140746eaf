//! The handshake of a cluster with the hub: which steps are done, what the others wait for, and who must act.
//!
//! A plain function of facts and time. Each side has the steps that it carries out; [`StepKind`] is the order in which they are due.

use std::time::Duration;

use berth_admin::answers::{Decision, was_denied};
use berth_api::conditions::{FALSE, TRUE, UNKNOWN, cluster};
use berth_lifecycle_core::facts::Cluster;
use berth_lifecycle_core::heartbeat;
use berth_rules::display::{LastArgument, ShellWord};
use jiff::{SignedDuration, Timestamp};

use crate::answers::{Handshake, Remedy, Side, Step, StepKind, StepState, Text};

/// The facts. `None` stands for what the user may not see.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) name: String,
    pub(crate) cluster: Cluster,
    pub(crate) created: Option<Timestamp>,
    /// The CSRs of its agent.
    pub(crate) csrs: Option<Vec<CsrFact>>,
    /// When the Lease was renewed; the inner None if it does not exist.
    pub(crate) lease: Option<Option<LeaseFact>>,
    /// The cluster's namespace exists.
    pub(crate) namespace: Option<bool>,
}

/// The Lease of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeaseFact {
    pub(crate) renewed: Option<Timestamp>,
}

/// A CSR of the agent.
#[derive(Clone, Debug)]
pub(crate) struct CsrFact {
    pub(crate) name: String,
    pub(crate) sender: String,
    pub(crate) created: Option<Timestamp>,
    pub(crate) decision: Decision,
    /// Its certificate was issued.
    pub(crate) issued: bool,
    /// The reason of the condition Approved.
    pub(crate) approved_by: Option<String>,
    pub(crate) approved_at: Option<Timestamp>,
}

/// What a step is like, before it has a place.
struct Found {
    state: StepState,
    at: Option<Timestamp>,
    by: Option<String>,
    text: String,
    remedy: Option<(Side, String, Option<String>)>,
}

/// Returns the handshake at this time.
pub(crate) fn handshake(facts: &Facts, now: Timestamp) -> Handshake {
    let view = View { facts, now };
    let hub = view.steps(&[
        StepKind::Created,
        StepKind::Accepted,
        StepKind::Approved,
        StepKind::Signed,
        StepKind::Prepared,
    ]);
    let agent = view.steps(&[
        StepKind::Requested,
        StepKind::Joined,
        StepKind::Lease,
        StepKind::Reports,
    ]);
    let all = || hub.iter().chain(&agent);
    let open = all()
        .filter(|(step, _)| matches!(step.state, StepState::Waits | StepState::Failed))
        .min_by_key(|(step, _)| rank(step.kind));
    let (summary, next) = if facts.cluster.deleting {
        (view.deletion(), None)
    } else {
        match open {
            Some((step, remedy)) => (step.text.as_str().to_owned(), remedy.clone()),
            None if all().any(|(step, _)| step.state == StepState::Unseen) => {
                let words = "nothing is known to be missing, but not all steps can be seen";
                (words.to_owned(), None)
            }
            None => (
                "the hub manages the cluster, and it is available".to_owned(),
                None,
            ),
        }
    };
    let steps = |all: Vec<(Step, Option<Remedy>)>| all.into_iter().map(|(step, _)| step).collect();
    Handshake {
        summary: summary.into(),
        hub: steps(hub),
        agent: steps(agent),
        next,
    }
}

/// A decision of an admin comes before what the agent is to send: this page is read at the hub.
fn rank(kind: StepKind) -> usize {
    match kind {
        StepKind::Created => 0,
        StepKind::Accepted => 1,
        StepKind::Requested => 2,
        StepKind::Approved => 3,
        StepKind::Signed => 4,
        StepKind::Prepared => 5,
        StepKind::Joined => 6,
        StepKind::Lease => 7,
        StepKind::Reports => 8,
    }
}

fn title(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Created => "ManagedCluster created",
        StepKind::Requested => "CSR sent",
        StepKind::Accepted => "Cluster accepted",
        StepKind::Approved => "CSR approved",
        StepKind::Signed => "Certificate issued",
        StepKind::Prepared => "Namespace prepared",
        StepKind::Joined => "Agent joined",
        StepKind::Lease => "Lease renewed",
        StepKind::Reports => "Status reported",
    }
}

struct View<'a> {
    facts: &'a Facts,
    now: Timestamp,
}

// === impl Found ===

impl Found {
    fn new(state: StepState, text: impl Into<String>) -> Self {
        Self {
            state,
            at: None,
            by: None,
            text: text.into(),
            remedy: None,
        }
    }

    fn done(at: Option<Timestamp>, text: impl Into<String>) -> Self {
        Self {
            at,
            ..Self::new(StepState::Done, text)
        }
    }

    fn waits(text: impl Into<String>) -> Self {
        Self::new(StepState::Waits, text)
    }

    fn failed(text: impl Into<String>) -> Self {
        Self::new(StepState::Failed, text)
    }

    fn later() -> Self {
        Self::new(StepState::Later, "not due yet")
    }

    fn unseen(what: &str) -> Self {
        Self::new(StepState::Unseen, format!("you may not read {what}"))
    }

    fn act(self, side: Side, text: impl Into<String>, command: Option<String>) -> Self {
        let remedy = Some((side, text.into(), command));
        Self { remedy, ..self }
    }
}

// === impl View ===

impl View<'_> {
    fn steps(&self, kinds: &[StepKind]) -> Vec<(Step, Option<Remedy>)> {
        let each = kinds.iter().map(|kind| {
            let found = self.found(*kind);
            let remedy = found.remedy.map(|(side, text, command)| Remedy {
                side,
                text: text.into(),
                command: command.map(Text::from),
            });
            let step = Step {
                kind: *kind,
                title: title(*kind).to_owned(),
                state: found.state,
                at: found.at,
                by: found.by.map(|it| Text::line(&it)),
                text: found.text.into(),
            };
            (step, remedy)
        });
        each.collect()
    }

    fn found(&self, kind: StepKind) -> Found {
        match kind {
            StepKind::Created => Found::done(self.facts.created, "the ManagedCluster exists"),
            StepKind::Requested => self.requested(),
            StepKind::Accepted => self.accepted(),
            StepKind::Approved => self.approved(),
            StepKind::Signed => self.signed(),
            StepKind::Prepared => self.prepared(),
            StepKind::Joined => self.joined(),
            StepKind::Lease => self.lease(),
            StepKind::Reports => self.reports(),
        }
    }

    fn has_joined(&self) -> bool {
        self.facts.cluster.condition_status(cluster::JOINED) == Some(TRUE)
    }

    fn since(&self, type_: &str) -> Option<Timestamp> {
        let condition = self.facts.cluster.condition(type_);
        condition.map(|it| it.last_transition_time.0)
    }

    fn accept_command(&self) -> String {
        format!("berth accept {}", LastArgument(&self.facts.name))
    }

    fn deletion(&self) -> String {
        match self.facts.cluster.condition(cluster::DELETING) {
            Some(condition) if !condition.message.is_empty() => {
                format!("the cluster is being deleted: {}", condition.message)
            }
            _ => "the cluster is being deleted".to_owned(),
        }
    }

    fn accepted(&self) -> Found {
        let cluster = &self.facts.cluster;
        if cluster.accepted {
            let mut found = Found::done(
                self.since(cluster::HUB_ACCEPTED),
                "spec.hubAcceptsClient is true",
            );
            if cluster.auto_accepted_on.is_some() {
                found.by = Some("the hub, automatically".to_owned());
            }
            return found;
        }
        let command = Some(self.accept_command());
        if cluster.denied || was_denied(cluster) {
            let found = Found::failed("an admin denied the cluster");
            return found.act(
                Side::Hub,
                "accept the cluster again, if it is to be managed",
                command,
            );
        }
        let found = Found::waits("an admin has to accept the cluster");
        found.act(
            Side::Hub,
            "check its CSR under Requests, and accept the cluster",
            command,
        )
    }

    fn requested(&self) -> Found {
        let status = || Some("berth agent status".to_owned());
        match &self.facts.csrs {
            _ if self.has_joined() && self.newest().is_none() => {
                Found::done(None, "the agent has a certificate; its CSR was deleted since")
            }
            None => Found::unseen("CSRs"),
            Some(_) => match self.newest() {
                Some(csr) => Found {
                    by: Some(csr.sender.clone()),
                    ..Found::done(csr.created, format!("CSR {}", ShellWord(&csr.name)))
                },
                None => Found::waits("the agent has not sent a CSR").act(
                    Side::Agent,
                    "see what the agent waits for; a cluster without an agent joins by the command that `berth get token` prints on the hub",
                    status(),
                ),
            },
        }
    }

    fn newest(&self) -> Option<&CsrFact> {
        let all = self.facts.csrs.iter().flatten();
        all.max_by_key(|it| it.created)
    }

    fn approved_csr(&self) -> Option<&CsrFact> {
        let all = self.facts.csrs.iter().flatten();
        let approved = all.filter(|it| it.decision == Decision::Approved);
        approved.max_by_key(|it| (it.issued, it.created))
    }

    fn approved(&self) -> Found {
        if let Some(csr) = self.approved_csr() {
            return Found {
                by: csr.approved_by.clone(),
                ..Found::done(
                    csr.approved_at,
                    format!("CSR {} is approved", ShellWord(&csr.name)),
                )
            };
        }
        if self.has_joined() {
            return Found::done(None, "the agent has a certificate");
        }
        if self.facts.csrs.is_none() {
            return Found::unseen("CSRs");
        }
        let Some(csr) = self.newest() else {
            return Found::later();
        };
        let name = ShellWord(&csr.name);
        match &csr.decision {
            Decision::Left(why) => Found::waits(format!("CSR {name} stays pending: {why}")).act(
                Side::Hub,
                "look at the CSR: who sent it, and whether its key is the agent's",
                Some(format!("kubectl describe csr {name}")),
            ),
            Decision::Denied => Found::failed(format!("CSR {name} was denied, or has failed")).act(
                Side::Agent,
                "the agent sends another CSR when it starts anew",
                Some("berth agent status".to_owned()),
            ),
            Decision::Renewal => {
                let found = Found::waits(format!("CSR {name} is a renewal"));
                found.act(
                    Side::Hub,
                    "the hub's controller approves it; check that it runs",
                    Some("berth doctor".to_owned()),
                )
            }
            Decision::Approve | Decision::Approved => {
                let found = Found::waits(format!("CSR {name} waits for an admin"));
                found.act(
                    Side::Hub,
                    "compare its key's fingerprint, and accept the cluster",
                    Some(self.accept_command()),
                )
            }
        }
    }

    fn signed(&self) -> Found {
        if self.approved_csr().is_some_and(|it| it.issued) {
            return Found::done(None, "the hub has issued the certificate");
        }
        if self.has_joined() {
            return Found::done(None, "the agent has a certificate");
        }
        if self.facts.csrs.is_none() {
            return Found::unseen("CSRs");
        }
        if self.approved_csr().is_none() {
            return Found::later();
        }
        Found::waits("the CSR is approved, and its certificate is not issued").act(
            Side::Hub,
            "the hub's kube-controller-manager issues certificates of the signer kubernetes.io/kube-apiserver-client; check that it does",
            Some("berth doctor".to_owned()),
        )
    }

    fn prepared(&self) -> Found {
        match self.facts.namespace {
            _ if !self.facts.cluster.accepted => Found::later(),
            None => Found::unseen("the cluster's namespace"),
            Some(true) => Found::done(
                None,
                format!("namespace {} exists", ShellWord(&self.facts.name)),
            ),
            Some(false) => {
                Found::waits("the hub's controller has not created the cluster's namespace").act(
                    Side::Hub,
                    "check that the controller runs",
                    Some("berth doctor".to_owned()),
                )
            }
        }
    }

    fn joined(&self) -> Found {
        if self.has_joined() {
            return Found::done(
                self.since(cluster::JOINED),
                "the agent has used its certificate",
            );
        }
        let is_due = self.facts.cluster.accepted && self.approved_csr().is_some_and(|it| it.issued);
        if !is_due {
            return Found::later();
        }
        Found::waits("the agent has not used its certificate yet").act(
            Side::Agent,
            "see what the agent waits for",
            Some("berth agent status".to_owned()),
        )
    }

    /// How long the hub waits for a renewal.
    fn grace(&self) -> Duration {
        heartbeat::grace(&self.facts.cluster)
    }

    /// How long the Lease was not renewed.
    fn silence(&self, renewed: Timestamp) -> SignedDuration {
        self.now.duration_since(renewed)
    }

    /// Returns true if the Lease was not renewed in time.
    fn is_late(&self, lease: LeaseFact) -> bool {
        let grace = SignedDuration::try_from(self.grace()).unwrap_or(SignedDuration::MAX);
        lease
            .renewed
            .is_some_and(|renewed| self.silence(renewed) >= grace)
    }

    fn lease(&self) -> Found {
        if !self.has_joined() {
            return Found::later();
        }
        let status = || Some("berth agent status".to_owned());
        let Some(lease) = self.facts.lease else {
            return Found::unseen("the Lease of the agent");
        };
        match lease.and_then(|it| it.renewed) {
            None => Found::waits("the agent has not renewed its Lease").act(
                Side::Agent,
                "see what the agent waits for",
                status(),
            ),
            Some(renewed) if self.is_late(lease.unwrap_or_default()) => Found {
                at: Some(renewed),
                ..Found::failed(format!(
                    "the agent does not renew its Lease: the hub waits for {} s",
                    self.grace().as_secs()
                ))
                .act(
                    Side::Agent,
                    "check that the agent runs and reaches the hub",
                    status(),
                )
            },
            Some(renewed) => Found::done(Some(renewed), "the agent renews its Lease"),
        }
    }

    fn reports(&self) -> Found {
        if !self.has_joined() {
            return Found::later();
        }
        let available = self.facts.cluster.condition(cluster::AVAILABLE);
        let at = available.map(|it| it.last_transition_time.0);
        let message = available.map(|it| it.message.clone()).unwrap_or_default();
        match available.map(|it| it.status.as_str()) {
            Some(TRUE) => Found::done(at, "the cluster is available"),
            Some(FALSE) => Found {
                at,
                ..Found::failed(format!("the cluster is not available: {message}")).act(
                    Side::Agent,
                    "check the API server of the cluster",
                    Some("kubectl get --raw /readyz".to_owned()),
                )
            },
            Some(UNKNOWN) => Found {
                at,
                ..Found::failed(format!("the hub does not hear of the agent: {message}")).act(
                    Side::Agent,
                    "check that the agent runs and reaches the hub",
                    Some("berth agent status".to_owned()),
                )
            },
            _ => Found::waits("the agent has not reported the state of the cluster").act(
                Side::Agent,
                "see what the agent waits for",
                Some("berth agent status".to_owned()),
            ),
        }
    }
}

/// The bound on the silence of the agent, in seconds, and whether its Lease is older.
pub(crate) fn lateness(facts: &Facts, lease: LeaseFact, now: Timestamp) -> (i64, bool) {
    let view = View { facts, now };
    let grace = i64::try_from(view.grace().as_secs()).unwrap_or(i64::MAX);
    (grace, view.is_late(lease))
}

#[cfg(test)]
mod tests;
