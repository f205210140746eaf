//! The screen Health: what `berth doctor` finds, who leads, and what runs.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::shown::Text;

/// The event `answer` of `screen=health`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthAnswer {
    /// When the checks ended.
    #[schemars(with = "String")]
    pub looked: Timestamp,
    /// How long they took.
    pub milliseconds: u64,
    /// The checks run again right now.
    pub running: bool,
    /// The checks run again when a Deployment or a registration of the hub changes; else only when asked to.
    pub followed: bool,
    /// False: no write was sent, also not as a dry run, since the console was started with `--read-only`.
    pub dry_runs: bool,
    /// Why the checks could not run again. What is shown is older.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Text>,
    /// The numbers of findings, as a sentence.
    pub summary: Text,
    /// All checks, in the order of `berth doctor`.
    pub checks: Vec<CheckAnswer>,
    /// The findings, the worst first.
    pub findings: Vec<FindingAnswer>,
    /// Number of further findings that are not shown.
    pub more: usize,
    /// The leaders of the controllers.
    pub leaders: Vec<LeaderAnswer>,
    /// The Deployments of the hub.
    pub components: Vec<ComponentAnswer>,
    /// The version of Kubernetes. Left out if the user may not read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Text>,
    /// The version of this console.
    pub version: String,
    /// What cannot be shown, and why.
    pub notes: Vec<Text>,
}

/// The result of a check, or the severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckResult {
    /// Nothing is wrong. Of a finding: a note.
    Passed,
    /// A part of the hub does not work, or is not protected.
    Fault,
    /// A part of the hub will stop working soon, waits for an admin, or differs from what ships.
    Warning,
    /// The check could not run.
    Unknown,
    /// The check does not apply here.
    Skipped,
}

/// A check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckAnswer {
    /// Such as `webhook-service`.
    pub id: String,
    /// The sentence that is true if the check passes.
    pub title: String,
    /// The result.
    pub result: CheckResult,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingAnswer {
    /// The check.
    pub check: String,
    /// Its severity.
    pub severity: CheckResult,
    /// Such as `service/a in b`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Text>,
    /// What is wrong.
    pub message: Text,
    /// What to do, in parts.
    pub remedy: Vec<RemedyAnswer>,
}

/// A part of a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RemedyAnswer {
    /// Words, or a command.
    pub text: Text,
    /// It is a command.
    pub command: bool,
}

/// The leader of a controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeaderAnswer {
    /// Such as `placement`.
    pub controller: String,
    /// The Lease.
    pub lease: String,
    /// Its holder; empty if it is free.
    pub holder: Text,
    /// spec.renewTime
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewed: Option<Timestamp>,
    /// It was not renewed for too long.
    pub late: bool,
    /// How often the leader has changed.
    pub transitions: i32,
}

/// A Deployment of the hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComponentAnswer {
    /// metadata.name
    pub name: Text,
    /// The tag of its image. Left out if the image has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Text>,
    /// The image of its first container.
    pub image: Text,
    /// Available replicas.
    pub available: i32,
    /// Wanted replicas.
    pub replicas: i32,
}
