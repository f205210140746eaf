//! Answers and actions of the commands as data, for the console: what a user may do, what `berth accept` makes of CSRs, and one
//! cluster accepted, denied, cordoned or uncordoned; and what `berth doctor` finds. Nothing is printed.
//!
//! Every call is made as the user of the [`Hub`], with the deadline of its flags.

mod health;
mod placement;
mod sets;
mod works;

use berth_hub::{HubApi, Identity};
use berth_lifecycle_core::facts::{CertificateRequest, Cluster, Standing};
use berth_rules::{Permission, Requirement};
use serde_json::{Value, json};

use crate::accept::requests::{Choice, Verdict, judge};
use crate::accept::{accept_one, pending};
use crate::can_i::{self, What};
use crate::cordon::{cordoned, uncordoned};
use crate::deny::deny_one;
pub use crate::doctor::{CheckResult, RemedyPart};
use crate::failure::CommandError;
use crate::hub::{DryRun, HubArgs, HubConnection, Peer};
use crate::taint;
pub use health::{
    CheckOfHealth, ComponentOfHub, FindingOfHealth, HUB_NAMESPACE, Health, LEADERS, Leader,
};
pub use placement::{Explained, PlacementFacts, placement_of};
pub use sets::selects;
pub use works::{
    Difference, DifferenceState, DifferingObject, FieldDifference, Fields, How, RolloutAction,
    RolloutState, WorkState, approval_pending, differences_of, fields_of, rollout_state,
    work_state,
};

/// A hub, and the user of the flags.
#[derive(Clone)]
pub struct Hub(HubConnection);

/// Why an answer or an action failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The message of the command, with its remedy. A denial of the gate is repeated word for word.
    pub message: String,
    /// The HTTP status code that fits.
    pub code: u16,
    /// One word: that of the API server, or `Denied`, `HubAway`, `NoHub`, `NotFound`, `Refused`, `BadConfig` or `Unreadable`.
    pub reason: String,
}

/// A permission that the user lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// Such as `verb "update" on managedclusters/accept in API group ..., name "c1"`.
    pub permission: String,
    /// A ClusterRole of an installation that contains it.
    pub role: Option<&'static str>,
    /// The command by which an admin grants it.
    pub command: String,
    /// What the hub says about it.
    pub said: Vec<String>,
}

/// What an action did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Sentences: what was written, and what needed no change.
    pub lines: Vec<String>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// What a dry run offers to approve, for the approval.
    pub offer: Option<String>,
}

/// An action on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `berth accept`
    Accept,
    /// `berth deny`
    Deny,
    /// `berth deny --now`
    DenyNow,
    /// `berth cordon`
    Cordon,
    /// `berth uncordon`
    Uncordon,
}

/// A CSR of a cluster, and what `berth accept` makes of it.
#[derive(Clone, Debug)]
pub struct Csr {
    /// The CSR.
    pub request: CertificateRequest,
    /// The common name, if the CSR is valid for the cluster.
    pub requester: Option<String>,
    /// `SHA256:HEX` of the key; `None` if the CSR is malformed.
    pub fingerprint: Option<String>,
    /// What is decided.
    pub decision: Decision,
}

/// What `berth accept` makes of a CSR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It approves the CSR.
    Approve,
    /// It is approved already.
    Approved,
    /// It is denied, or has failed.
    Denied,
    /// It is a renewal, which the hub approves.
    Renewal,
    /// It stays pending, for this reason.
    Left(String),
}

/// The CSRs of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Csrs {
    /// Each, in the order that was given.
    pub csrs: Vec<Csr>,
    /// The competing requesters. If there are any, no CSR is approved.
    pub different: Vec<String>,
}

/// Decides about the CSRs with the cluster's label, as `berth accept` without flags.
pub fn csrs(name: &str, cluster: &Cluster, csrs: Vec<(CertificateRequest, Standing)>) -> Csrs {
    let judgement = judge(name, cluster, csrs, Choice::default());
    let each = judgement.requests.into_iter().map(|judged| Csr {
        requester: judged.requester,
        fingerprint: judged.fingerprint.map(|it| it.to_string()),
        decision: match judged.verdict {
            Verdict::Approve => Decision::Approve,
            Verdict::Approved => Decision::Approved,
            Verdict::Denied => Decision::Denied,
            Verdict::Renewal => Decision::Renewal,
            Verdict::Left(why) => Decision::Left(why),
        },
        request: judged.request,
    });
    Csrs {
        csrs: each.collect(),
        different: judgement.different,
    }
}

/// Returns true if an admin denied the cluster, which `berth accept --all-pending` skips then.
pub fn was_denied(cluster: &Cluster) -> bool {
    pending::was_denied(cluster)
}

// === impl Hub ===

impl Hub {
    /// Connects to the hub that the flags name. No request is sent yet.
    ///
    /// # Errors
    /// No kubeconfig was found, or it cannot be used.
    pub async fn connect(args: &HubArgs) -> Result<Self, Failure> {
        Ok(Self(HubConnection::of(args).await?))
    }

    /// As [`Self::connect`], without credentials: users bring their own ([`Self::as_user`]).
    ///
    /// # Errors
    /// No API server is named, or a flag names a user.
    pub async fn connect_without_credentials(args: &HubArgs) -> Result<Self, Failure> {
        Ok(Self(HubConnection::anonymous(args).await?))
    }

    /// The same hub, as this user.
    #[must_use]
    pub fn as_user(&self, identity: Identity) -> Self {
        Self(self.0.as_user(identity))
    }

    /// A hub that is called through this client, for tests.
    pub fn over(api: HubApi) -> Self {
        Self(HubConnection::over(api, Peer::Hub, None))
    }

    /// Returns the URL of the API server, for messages.
    pub fn server(&self) -> &str {
        self.0.server()
    }

    /// Returns the client.
    pub fn api(&self) -> &HubApi {
        self.0.client()
    }

    /// Reads an object or a page of a list; `None` if it does not exist.
    ///
    /// # Errors
    /// Those of the hub.
    pub async fn read(&self, path: String) -> Result<Option<Value>, Failure> {
        Ok(self.0.read_at(path).await?)
    }

    /// Returns the name and the groups of the user that the hub authenticates; `None` if the hub does not tell.
    ///
    /// # Errors
    /// Those of the hub.
    pub async fn user(&self) -> Result<Option<(String, Vec<String>)>, Failure> {
        Ok(can_i::user(&self.0).await?)
    }

    /// Returns `None` if the user has the permission, as `berth can-i` asks for it. `user` is the user's name, for the command.
    ///
    /// # Errors
    /// Those of the hub.
    pub async fn lacks(
        &self,
        permission: &Permission,
        user: &str,
    ) -> Result<Option<Lack>, Failure> {
        let answer = can_i::ask(&self.0, permission).await?;
        if answer.allowed {
            return Ok(None);
        }
        let what = match permission.requirement {
            Requirement::Accept => What::Accept,
            Requirement::Join => What::Join,
            Requirement::Bind => What::Bind,
            _ => What::ExecuteAs,
        };
        let (name, namespace) = (&permission.name, &permission.namespace);
        Ok(Some(Lack {
            permission: can_i::needed(permission),
            role: what.role(),
            command: can_i::command(what, name.as_deref(), namespace.as_deref(), user),
            said: answer.why,
        }))
    }

    /// Returns true if the user may do this by the hub's RBAC. An empty namespace stands for all of them, an empty name for all objects.
    ///
    /// # Errors
    /// Those of the hub.
    pub async fn may(
        &self,
        verb: &str,
        (group, resource): (&str, &str),
        namespace: &str,
        name: &str,
    ) -> Result<bool, Failure> {
        let attributes = json!({
            "group": group, "resource": resource, "namespace": namespace, "name": name, "verb": verb,
        });
        Ok(self.0.review_self(&attributes).await?["allowed"] == true)
    }

    /// Does this with the cluster, as the command does without further flags; with `dry_run` the hub decides, and stores nothing.
    ///
    /// # Errors
    /// The cluster does not exist, or the hub or its gate refuses.
    pub async fn act(&self, action: Action, name: &str, dry_run: bool) -> Result<Done, Failure> {
        let dry_run = DryRun::of(dry_run);
        match action {
            Action::Accept => self.accept(name, dry_run).await,
            Action::Deny | Action::DenyNow => {
                let now = matches!(action, Action::DenyNow);
                let denied = deny_one(&self.0, name, now, dry_run).await?;
                Ok(Done {
                    lines: vec![denied.line],
                    notes: denied.effects,
                    offer: None,
                })
            }
            Action::Cordon | Action::Uncordon => {
                let decide = match action {
                    Action::Cordon => cordoned,
                    _ => uncordoned,
                };
                let written = taint::write::write(&self.0, name, None, dry_run, |taints| {
                    decide(name, taints)
                });
                let (changed, line) = written.await?;
                let suffix = if changed { dry_run.suffix() } else { "" };
                Ok(Done {
                    lines: vec![format!("{line}{suffix}")],
                    notes: Vec::new(),
                    offer: None,
                })
            }
        }
    }

    async fn accept(&self, name: &str, dry_run: DryRun) -> Result<Done, Failure> {
        let accepted = accept_one(&self.0, name, dry_run).await;
        let outcomes = accepted.map_err(|error| match error.downcast::<CommandError>() {
            Ok(failure) => failure.into(),
            Err(error) => Failure {
                message: format!("{error:#}"),
                code: 500,
                reason: "Failed".to_owned(),
            },
        })?;
        let (results, kept) = outcomes.taken();
        let failed = results.iter().find(|it| !it.succeeded);
        if let Some(failed) = failed {
            return Err(match kept.failure {
                Some(failure) => failure.into(),
                None => Failure {
                    message: failed.message.clone(),
                    code: 409,
                    reason: "Refused".to_owned(),
                },
            });
        }
        Ok(Done {
            lines: results.into_iter().map(|it| it.message).collect(),
            notes: kept.notes,
            offer: None,
        })
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Hub").field(&self.server()).finish()
    }
}

// === impl Failure ===

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        let (code, reason) = match &error {
            CommandError::Config(_) => (500, "BadConfig"),
            CommandError::Unreachable { .. } => (502, "HubAway"),
            CommandError::TimedOut { .. } => (504, "HubAway"),
            CommandError::NoHub { .. } => (404, "NoHub"),
            CommandError::NotFound { .. } => (404, "NotFound"),
            CommandError::Denied(_) => (403, "Denied"),
            CommandError::Refused(_) => (409, "Refused"),
            CommandError::Api(status) => (status.code, status.reason.as_str()),
            CommandError::Unreadable(_) => (502, "Unreadable"),
        };
        Self {
            code,
            reason: reason.to_owned(),
            message: error.to_string(),
        }
    }
}
