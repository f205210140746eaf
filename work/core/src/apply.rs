//! Applying one manifest: a state machine from the manifest and the object to the requests that make them equal.

use std::sync::Arc;

use berth_api::work::UpdateStrategy;
use serde_json::Value;

use crate::differs::{Differences, Verdict};
use crate::{Mapped, Owner, Response, Step, Unusable};

/// How an object ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The object is as the manifest says, as far as the strategy asks.
    Applied(Done),
    /// The strategy is ReadOnly and the object does not exist. The condition Applied is True.
    Missing,
    /// A request was refused.
    Failed(Failure),
}

/// An applied object.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// The UID of the object.
    pub uid: String,
    /// Its resourceVersion, as of the last response.
    pub resource_version: String,
    /// Was anything written?
    pub written: bool,
    /// What to remember for the next [`Applying::new`].
    pub settled: Settled,
    /// What differs and stays (ReadOnly; the spec of a Pod).
    pub differences: Differences,
}

/// A refusal, as reason and message of the condition Applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The reason.
    pub reason: &'static str,
    /// The whole message: OCM's words, then the remedy.
    pub message: String,
    /// When to try again.
    pub retry: Retry,
}

/// When to try again after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// With exponential backoff.
    Backoff,
    /// When the object or the ManifestWork changes, and rarely besides.
    OnChange,
}

/// What to remember of an object that was applied: what differed after the write, because the API server normalizes or prunes it.
///
/// It may be lost; then one write more is made that changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled(Option<Arc<[u64]>>);

/// The state machine of one manifest.
#[derive(Debug)]
pub struct Applying {
    object: Mapped,
    owner: Owner,
}

// === impl Applying ===

impl Applying {
    /// Prepares the requests for one manifest. `before` is what was applied last, if the manifest has changed since and it is known.
    ///
    /// # Errors
    /// The strategy is invalid.
    pub fn new(
        object: Mapped,
        strategy: Option<&UpdateStrategy>,
        owner: Owner,
        settled: Settled,
        before: Option<&Mapped>,
    ) -> Result<Self, Unusable> {
        let _ = (strategy, settled, before);
        Ok(Self { object, owner })
    }

    /// Returns the next request, given the response to the last one. The first call has no response; or [`Response::NotFound`], if
    /// the caller knows from a synchronized watch that the object does not exist, or [`Response::Found`] with the object.
    pub fn next(&mut self, last: Option<Response>) -> Step<Outcome> {
        let _ = (&self.object, &self.owner, last);
        Step::Get
    }

    /// Compares an object from a watch, without any request.
    pub fn differs(&self, live: &Value) -> Verdict {
        let _ = live;
        Verdict::default()
    }
}
