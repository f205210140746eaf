//! The status of a ManifestWork.

use berth_api::ManifestWork;
use berth_api::work::{ManifestResourceMeta, ManifestWorkStatus};
use jiff::Timestamp;

use crate::config::Rules;
use crate::evaluate::Evaluated;

/// What is known of an object of the ManifestWork.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// The object, and its position in the manifests. What is unknown is empty.
    pub meta: ManifestResourceMeta,
    /// What applying the manifest came to; `None` keeps what is stored.
    pub applied: Option<Applied>,
    /// The object on the cluster.
    pub live: Live<'a>,
    /// What differs from the manifest; `None` reports nothing about it.
    pub drift: Option<Drift>,
    /// The rules of the ManifestWork for the object.
    pub rules: Rules<'a>,
}

/// What applying a manifest came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The object is as the manifest prescribes.
    Complete,
    /// The manifest could not be applied.
    Failed {
        /// `APPLIED_FAILED` or `IGNORE_FIELD_ERROR` of [`berth_api::conditions::manifest`].
        reason: &'static str,
        /// The error alone. [`report`] puts the words of the reason before it.
        message: String,
    },
}

/// An object on the cluster.
#[derive(Clone, Copy, Debug)]
pub enum Live<'a> {
    /// It exists. Evaluate the response to a write before its [`Applied`] is reported: rollouts trust conditions of one generation.
    Evaluated(&'a Evaluated),
    /// It does not exist.
    Missing,
    /// It could not be read; the error.
    Failed(&'a str),
    /// The manifest does not identify an object: it is invalid, or the cluster does not have its kind.
    Incomplete,
}

/// What an object has that its manifest does not prescribe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drift {
    /// Nothing differs.
    Same,
    /// The fields: path, ours, theirs.
    Differs(String),
}

/// The new status of a ManifestWork.
///
/// `observed` has an entry for each manifest, in their order. The result equals the stored status if nothing changed: then nothing is
/// to be written.
#[must_use]
pub fn report(
    work: &ManifestWork,
    _observed: &[Observed<'_>],
    _now: Timestamp,
) -> ManifestWorkStatus {
    work.status.clone().unwrap_or_default()
}
