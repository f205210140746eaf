//! What the user may do.

use schemars::JsonSchema;
use serde::Serialize;

use super::Missing;
use crate::shown::Text;

/// `GET /api/rights?namespace=NAMESPACE`: what the user may do, by SelfSubjectAccessReviews.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RightsAnswer {
    /// On the whole fleet.
    pub fleet: Vec<RightAnswer>,
    /// In the namespace of the request, or in all of them.
    pub within: Vec<RightAnswer>,
}

/// Something that the user may do, or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RightAnswer {
    /// What it is, such as `Accept and deny every cluster`.
    pub what: Text,
    /// The user may do it. Left out if the hub did not answer: then `why` says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<bool>,
    /// What the user lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    /// Why it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Text>,
}
