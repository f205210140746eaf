//! The screen Requests: clusters and CSRs that wait for a decision.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::action::Offer;
use crate::shown::Text;

/// `GET /api/requests`, and the event `answer` of `screen=requests`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestsAnswer {
    /// Clusters that wait for a decision, and accepted clusters with a CSR that waits for one. The newest first.
    pub clusters: Vec<PendingCluster>,
    /// CSRs whose cluster does not exist.
    pub strays: Vec<CsrAnswer>,
    /// Number of further clusters that are not shown.
    pub more: usize,
    /// What cannot be shown, and why.
    pub notes: Vec<Text>,
}

/// A cluster that waits for a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingCluster {
    /// metadata.name
    pub name: Text,
    /// It is accepted already: only its CSRs wait.
    pub accepted: bool,
    /// An admin has denied it before.
    pub denied: bool,
    /// When it was created.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// URLs of its API server, as its agent names them.
    pub urls: Vec<Text>,
    /// Its CSRs, the newest first.
    pub csrs: Vec<CsrAnswer>,
    /// What an admin should look at before the acceptance.
    pub warnings: Vec<Text>,
    /// What the user may do.
    pub actions: Vec<Offer>,
}

/// A CSR with the label of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CsrAnswer {
    /// metadata.name
    pub name: Text,
    /// The cluster of its label.
    pub cluster: Text,
    /// The user that sent it, from the API server.
    pub sender: Text,
    /// The groups of that user.
    pub groups: Vec<Text>,
    /// The common name that it requests, if the CSR is valid for the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requester: Option<Text>,
    /// `SHA256:HEX` of its key. Left out if the CSR is malformed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Text>,
    /// When it was created.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// What `berth accept` makes of it.
    pub standing: CsrStanding,
    /// Why it stays pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Text>,
}

/// What `berth accept` makes of a CSR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CsrStanding {
    /// It approves the CSR.
    Approve,
    /// It is approved already.
    Approved,
    /// It is denied, or has failed.
    Denied,
    /// It is a renewal, which the hub approves.
    Renewal,
    /// It stays pending.
    Left,
}
