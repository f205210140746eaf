//! Applying one manifest: a state machine from the manifest and the object to the requests that make them equal.
//!
//! # Guarantees
//! - An object that is as the strategy asks gets no request but the first GET. With [`Applying::differs`] it gets none.
//! - The machine ends within [`MAX_STEPS`] requests, whatever the API server returns.
//! - What the API server normalizes, prunes or lets an admission webhook change is written once, and then accepted ([`Settled`]).
//! - Bodies of PUT and merge patches have the resourceVersion of the object that they were made from.
//! - An object that is being deleted is left alone.
//!
//! # Field ownership
//! Kinds without an exact rule are applied with the field manager `work-agent`. The API server removes what was applied once and is no
//! longer in the manifest. Fields that OCM's agent wrote by PUT are first moved, in managedFields, to the same manager's applied
//! fields. If another AppliedManifestWork owns the object too, its fields are kept.

mod body;
mod cuts;
mod dropped;
mod failure;
#[cfg(test)]
mod laws;
mod plan;
mod removals;
mod replace;
mod strategy;
#[cfg(test)]
mod tests;

use berth_api::work::UpdateStrategy;
use serde_json::Value;

use crate::differs::{Differences, Settled, Verdict, digest};
use crate::exact;
use crate::executor::depends_on_writer;
use crate::kinds::{Rule, rule};
use crate::owner::Owner;
use crate::{Mapped, Refusal, Response, Step, Unusable};
pub use cuts::{Cuts, Cutting};
pub(crate) use failure::{FAILED, failure, rejected};
use plan::Write;
use removals::Removals;
use replace::Replacing;
use strategy::Strategy;

/// The largest number of requests for one object.
const MAX_STEPS: u32 = 16;

/// How an object ended.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplyOutcome {
    /// The object is as the manifest says, as far as the strategy asks.
    Applied(Done),
    /// The strategy is ReadOnly and the object does not exist. The condition Applied is True.
    Missing,
    /// A request was refused.
    Failed(ApplyFailure),
}

/// An applied object.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// The UID of the object.
    pub uid: String,
    /// Its resourceVersion, as of the last response.
    pub resource_version: String,
    /// True if a request changed the object, or could have.
    pub written: bool,
    /// What to remember for the next [`Applying::new`].
    pub settled: Settled,
    /// What differs and stays (ReadOnly; the spec of a Pod).
    pub differences: Differences,
}

/// A refusal, as reason and message of the condition Applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyFailure {
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
    /// When permissions on the cluster may have changed, and after a minute at the latest.
    OnPermission,
}

/// The state machine of one manifest.
#[derive(Debug)]
pub struct Applying {
    object: Mapped,
    rule: Rule,
    /// What to create, without the owner reference.
    body: Value,
    /// Labels and annotations that the manifest asks to remove.
    removals: Removals,
    /// The body of the manifest before this one.
    before: Option<Value>,
    /// The manifest before this one was another one.
    changed: bool,
    strategy: Strategy,
    owner: Owner,
    settled: Settled,
    asked: Asked,
    steps: u32,
    written: bool,
    /// The whole content was written.
    content_written: bool,
    /// Server-side apply is not possible: not granted, or the API server cannot read the manifest as typed.
    without_apply: bool,
    /// PATCH is not granted.
    without_patch: bool,
    /// Fields were moved within managedFields.
    moved: bool,
    /// The object was deleted to be created anew.
    recreated: bool,
    /// Branches of the object that are replaced.
    replacing: Replacing,
    /// Server-side apply has the resourceVersion of the object that it was made from.
    pinned: bool,
    /// UID and resourceVersion of the object in the last response.
    live: Option<(String, String)>,
}

/// The last request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// Nothing that writes.
    Read,
    /// The whole content.
    Content,
    /// Labels and annotations without some keys.
    Removal,
    /// managedFields.
    Move,
    /// A dry run of the content.
    Try,
    /// managedFields of what is replaced.
    Claim,
    /// The owner references.
    Owners,
    /// Deletion, to create the object anew.
    Deletion,
}

// === impl Applying ===

impl Applying {
    /// Prepares the requests for one manifest. `settled` is what [`Done`] had last, or the default. `before` is what was applied
    /// last, if the manifest has changed since and it is still known: what it had and this one has not is removed.
    ///
    /// # Errors
    /// The strategy is invalid, or the manifest contradicts itself.
    pub fn new(
        object: Mapped,
        strategy: Option<&UpdateStrategy>,
        owner: Owner,
        settled: Settled,
        before: Option<&Mapped>,
    ) -> Result<Self, Unusable> {
        Self::cut(object, strategy, owner, settled, before, None)
    }

    /// As [`Self::new`], with the cut of the manifest without its ignored fields from `cutting`.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn cut(
        object: Mapped,
        strategy: Option<&UpdateStrategy>,
        owner: Owner,
        settled: Settled,
        before: Option<&Mapped>,
        cutting: Option<&mut Cutting<'_>>,
    ) -> Result<Self, Unusable> {
        let mut body = object.body();
        let before = before.map(Mapped::body);
        let changed = before.as_ref().is_some_and(|before| *before != body);
        exact::join_lines(&object, &mut body);
        exact::drop_placeholders(&object, &mut body);
        let strategy = Strategy::of(strategy, &object, &body, cutting)?;
        exact::fold_string_data(&object, &mut body)?;
        let rule = match strategy {
            Strategy::ServerSide(_) => Rule::Other,
            _ => rule(object.prescribed.group(), &object.prescribed.kind),
        };
        if matches!(strategy, Strategy::Update) {
            exact::prepare(rule, &mut body);
        }
        if !matches!(strategy, Strategy::ServerSide(_))
            && body["metadata"]["ownerReferences"].is_array()
            && let Some(Value::Object(metadata)) = body.get_mut("metadata")
        {
            // An owner of another cluster does not exist here: the object would be deleted.
            metadata.remove("ownerReferences");
        }
        let removals = Removals::take(&strategy, &mut body);
        let manifest = digest(&(body.to_string(), &removals, strategy.digest()));
        Ok(Self {
            rule,
            body,
            removals,
            before,
            changed,
            strategy,
            owner,
            settled: settled.for_manifest(manifest),
            asked: Asked::Read,
            steps: 0,
            written: false,
            content_written: false,
            without_apply: false,
            without_patch: false,
            moved: false,
            recreated: false,
            replacing: Replacing::No,
            pinned: false,
            live: None,
            object,
        })
    }

    /// Prepares writes that the executor of the ManifestWork is asked about. If the API server decides by who writes, a server-side apply
    /// to an existing object has its resourceVersion, as all other writes have: it is written to the object that was asked about.
    pub fn for_executor(mut self) -> Self {
        self.pinned = depends_on_writer(&self.object);
        self
    }

    /// Returns the next request, given the response to the last one. The first call has no response; or [`Response::NotFound`], if
    /// the caller knows from a synchronized watch that the object does not exist, or [`Response::Found`] with the object.
    pub fn next(&mut self, last: Option<Response>) -> Step<ApplyOutcome> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Step::Done(ApplyOutcome::Failed(self.failure(
                "the object changes faster than it can be written",
                Retry::Backoff,
            )));
        }
        match last {
            None => self.read(),
            Some(Response::Found(live)) => self.decide(&live, None),
            Some(Response::Written(_)) if self.asked == Asked::Deletion => self.create(),
            Some(Response::Written(_)) if self.asked == Asked::Try => self.claim(),
            Some(Response::Written(live)) => {
                self.written = true;
                self.content_written |= self.asked == Asked::Content;
                self.moved |= self.asked == Asked::Move;
                self.decide(&live, Some(self.asked))
            }
            Some(Response::NotFound) => self.create(),
            Some(Response::Refused(refusal)) => self.refused(&refusal),
        }
    }

    /// Compares an object from a watch, without any request.
    pub fn differs(&self, live: &Value) -> Verdict {
        let plan = self.plan(live);
        Verdict {
            write: plan.write.is_some(),
            differences: plan.differences,
        }
    }

    fn read(&mut self) -> Step<ApplyOutcome> {
        self.asked = Asked::Read;
        Step::Get
    }

    fn create(&mut self) -> Step<ApplyOutcome> {
        if matches!(self.strategy, Strategy::ReadOnly) {
            return Step::Done(ApplyOutcome::Missing);
        }
        self.asked = Asked::Content;
        let body = self.body_to_create();
        match &self.strategy {
            Strategy::ServerSide(settings) => Step::Apply {
                manager: settings.manager.clone(),
                force: settings.force,
                body,
            },
            Strategy::Update if self.rule == Rule::Other && !self.without_apply => Step::Apply {
                manager: berth_api::work::FIELD_MANAGER.to_owned(),
                force: true,
                body,
            },
            _ => Step::Create(body),
        }
    }

    /// Decides by the object as it is. `wrote`: it is the response to this write, so what still differs of it is how the API server
    /// stores it.
    fn decide(&mut self, live: &Value, wrote: Option<Asked>) -> Step<ApplyOutcome> {
        let text = |field: &str| {
            let metadata = &live["metadata"];
            metadata[field].as_str().unwrap_or_default().to_owned()
        };
        self.live = Some((text("uid"), text("resourceVersion")));
        let mut plan = self.plan(live);
        if wrote.is_some() && wrote == plan.due {
            self.settled = plan.settled;
            plan = self.plan(live);
        }
        if plan.due == Some(Asked::Content)
            && let Replacing::Asked(refusal) = &self.replacing
        {
            return self.try_first(refusal.clone(), live);
        }
        if let Some(Write::Apply { body, .. }) = &mut plan.write
            && self.pinned
        {
            body["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
        }
        let Some(write) = plan.write else {
            return Step::Done(ApplyOutcome::Applied(Done {
                uid: text("uid"),
                resource_version: text("resourceVersion"),
                written: self.written,
                settled: self.settled.clone(),
                differences: plan.differences,
            }));
        };
        let (asked, step) = match write {
            Write::Replace(body) => (Asked::Content, Step::Replace(body)),
            Write::Apply {
                manager,
                force,
                body,
            } => (
                Asked::Content,
                Step::Apply {
                    manager,
                    force,
                    body,
                },
            ),
            Write::Move(body) => (Asked::Move, Step::Merge(body)),
            Write::Remove(step) => (Asked::Removal, step),
            Write::Owners(step) => (Asked::Owners, step),
        };
        self.asked = asked;
        step
    }

    fn refused(&mut self, refusal: &Refusal) -> Step<ApplyOutcome> {
        if refusal.is_already_there() {
            return self.read();
        }
        if matches!(self.replacing, Replacing::Trying(_)) {
            return self.try_refused(refusal);
        }
        if (refusal.is_conflict() || refusal.is_of_another_object()) && self.asked != Asked::Read {
            return self.read();
        }
        let forbidden = refusal.code == 405
            || refusal.code == 415
            || refusal.code == 403 && refusal.message.contains("cannot patch resource");
        let untyped = refusal
            .message
            .contains("failed to create typed patch object")
            || refusal.message.contains("duplicate entries for key");
        let plain = !matches!(self.strategy, Strategy::ServerSide(_));
        if plain
            && self.asked != Asked::Read
            && (forbidden && !self.without_patch || untyped && !self.without_apply)
        {
            self.without_apply = true;
            self.without_patch |= forbidden;
            return self.read();
        }
        if self.asked == Asked::Content && self.wants_new_object(refusal) {
            return self.recreate();
        }
        if self.asked == Asked::Content && self.may_replace(refusal) {
            self.replacing = Replacing::Asked(refusal.clone());
            return self.read();
        }
        self.failed(refusal)
    }
}
