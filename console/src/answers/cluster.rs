//! The screen Cluster: what stands between a cluster and the hub, and who must act.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::action::Offer;
use super::clusters::State;
use super::works::WorkCount;
use crate::shown::Text;

/// `GET /api/clusters/{name}`, and the event `answer` of `screen=cluster`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAnswer {
    /// metadata.name
    pub name: Text,
    /// The state.
    pub state: State,
    /// When it was created.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// How far the registration is.
    pub handshake: Handshake,
    /// The Lease of its agent. Left out if it does not exist or cannot be read: then `notes` says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseAnswer>,
    /// The version of Kubernetes.
    pub version: Text,
    /// URLs of its API server.
    pub urls: Vec<Text>,
    /// status.clusterClaims
    pub claims: Vec<ClaimOrLabel>,
    /// metadata.labels
    pub labels: Vec<ClaimOrLabel>,
    /// status.capacity and status.allocatable
    pub capacity: Vec<Capacity>,
    /// spec.taints
    pub taints: Vec<TaintAnswer>,
    /// `berth cordon` or `berth drain` keeps placements away.
    pub cordoned: bool,
    /// status.conditions
    pub conditions: Vec<ConditionAnswer>,
    /// The ManagedClusterSets that it belongs to.
    pub sets: Vec<SetAnswer>,
    /// The placements whose decisions list it. Left out if decisions cannot be seen: then `notes` says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placements: Option<Vec<PlacedBy>>,
    /// The number of further ones.
    pub more_placements: usize,
    /// The states of its ManifestWorks, the worst first. Left out until they are listed, and if the user may not list them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub works: Option<Vec<WorkCount>>,
    /// What the user may do.
    pub actions: Vec<Offer>,
    /// What cannot be shown, and why: an object that the user may not read, a field that cannot be read.
    pub notes: Vec<Text>,
}

/// The registration as steps. Each side has those that it carries out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Handshake {
    /// One sentence: what is awaited, or that the cluster is managed.
    pub summary: Text,
    /// Steps of the hub and its admins, in order.
    pub hub: Vec<Step>,
    /// Steps of the agent and the cluster's admins, in order.
    pub agent: Vec<Step>,
    /// What to do next. Left out if nothing is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Remedy>,
}

/// A step of the registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Which step.
    pub kind: StepKind,
    /// Its title.
    pub title: String,
    /// Its state.
    pub state: StepState,
    /// When it was done.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// By whom, as far as objects tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Text>,
    /// What was found, or what the step waits for.
    pub text: Text,
}

/// The steps, in the order in which they are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StepKind {
    /// The ManagedCluster exists.
    Created,
    /// The agent has sent a CSR.
    Requested,
    /// An admin has accepted the cluster.
    Accepted,
    /// The CSR was approved.
    Approved,
    /// The certificate was issued.
    Signed,
    /// The hub has prepared the cluster's namespace.
    Prepared,
    /// The agent has joined with its certificate.
    Joined,
    /// The agent renews its Lease.
    Lease,
    /// The agent reports the state of the cluster.
    Reports,
}

/// The state of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StepState {
    /// It was done.
    Done,
    /// It is due, and waits for this side.
    Waits,
    /// It was due and went wrong, or is true no more.
    Failed,
    /// It is not due yet.
    Later,
    /// It cannot be seen: the user may not read an object.
    Unseen,
}

/// What to do, and at which side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Remedy {
    /// Where the command runs.
    pub side: Side,
    /// One sentence.
    pub text: Text,
    /// The command. Left out if there is nothing but to wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Text>,
}

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Side {
    /// The hub.
    Hub,
    /// The managed cluster.
    Agent,
}

/// The Lease of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeaseAnswer {
    /// spec.renewTime
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewed: Option<Timestamp>,
    /// The agent is to renew it this often.
    pub seconds: i32,
    /// The hub gives up after this many seconds without a renewal.
    pub grace_seconds: i64,
    /// It was not renewed within that.
    pub late: bool,
}

/// A claim or a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "names of Kubernetes")]
pub struct ClaimOrLabel {
    pub name: Text,
    pub value: Text,
}

/// A resource of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "names of Kubernetes")]
pub struct Capacity {
    pub resource: Text,
    pub capacity: Text,
    pub allocatable: Text,
}

/// A taint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names of Kubernetes")]
pub struct TaintAnswer {
    pub key: Text,
    pub value: Text,
    pub effect: Text,
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<Timestamp>,
    /// The hub set it, and removes it.
    pub by_hub: bool,
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "names of Kubernetes")]
pub struct ConditionAnswer {
    #[serde(rename = "type")]
    pub type_: Text,
    pub status: Text,
    pub reason: Text,
    pub message: Text,
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// A ManagedClusterSet that the cluster belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetAnswer {
    /// metadata.name
    pub name: Text,
    /// The cluster's label names the set; else the set's selector matches the labels.
    pub by_label: bool,
    /// The namespaces that it is bound to.
    pub bound: Vec<Text>,
}

/// A placement whose decisions list the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "names of Kubernetes")]
pub struct PlacedBy {
    pub namespace: Text,
    pub name: Text,
}

/// `GET /api/clusters/{name}/yaml`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct YamlAnswer {
    /// The ManagedCluster.
    pub yaml: String,
}

/// `GET /api/clusters/{name}/events`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsAnswer {
    /// The newest first.
    pub events: Vec<ClusterEvent>,
    /// Older Events were left out.
    pub more: bool,
    /// What cannot be shown, and why.
    pub notes: Vec<Text>,
}

/// An Event about the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterEvent {
    /// When it happened last.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// It is of type Warning.
    pub warning: bool,
    /// In one word.
    pub reason: Text,
    /// As a sentence.
    pub note: Text,
    /// The controller that reports it.
    pub by: Text,
    /// How often it happened.
    pub count: i32,
}
