//! Branches that are replaced, because the API server refuses what a server-side apply makes of them.
//!
//! A server-side apply leaves what others wrote beside what is prescribed. If that is invalid, the least that has to go is found by dry runs. It is
//! then given to our field manager, and the next apply removes it: the object is never without what is prescribed.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::vec;

use serde_json::{Value, json};

use super::cuts::Ignored;
use super::failure::is_immutable;
use super::strategy::Strategy;
use super::{ApplyOutcome, Applying, Asked};
use crate::compare::branches;
use crate::compare::{Node, below, roots};
use crate::ignore;
use crate::kinds::{Rule, is_built_in};
use crate::managed::{self, entries};
use crate::overlay::overlay;
use crate::path::Path;
use crate::{Refusal, Step};

/// How far a replacement is.
#[derive(Debug, Default)]
pub(super) enum Replacing {
    /// Not needed.
    #[default]
    No,
    /// The apply was refused; the object is read again.
    Asked(Refusal),
    /// A dry run is sent.
    Trying(Trial),
    /// Decided: these are removed.
    Settled(Vec<Path>),
}

/// The dry runs.
#[derive(Debug)]
pub(super) struct Trial {
    refusal: Refusal,
    live: Value,
    /// What the last dry run lacked.
    strays: Vec<Path>,
    left: vec::IntoIter<Vec<Path>>,
}

// === impl Replacing ===

impl Replacing {
    /// What is removed.
    pub(super) fn strays(&self) -> &[Path] {
        match self {
            Self::No | Self::Asked(_) => &[],
            Self::Trying(trial) => &trial.strays,
            Self::Settled(strays) => strays,
        }
    }
}

// === impl Applying ===

impl Applying {
    /// May branches be replaced, now that the content was refused?
    pub(super) fn may_replace(&self, refusal: &Refusal) -> bool {
        let is_merged = match &self.strategy {
            Strategy::ServerSide(settings) => settings.force,
            Strategy::Update => self.rule == Rule::Other,
            Strategy::CreateOnly | Strategy::ReadOnly => false,
        };
        let is_first = matches!(self.replacing, Replacing::No);
        is_merged
            && is_first
            && self.live.is_some()
            && refusal.code == 422
            && !is_immutable(refusal)
    }

    /// Begins with the dry runs, for the object as it is.
    pub(super) fn try_first(&mut self, refusal: Refusal, live: &Value) -> Step<ApplyOutcome> {
        let visible = self.visible(live);
        let entries = entries(live);
        let is_built_in = is_built_in(self.object.prescribed.group());
        let roots = roots(&entries);
        let attempts =
            branches::attempts(self.least(), &visible, &roots, is_built_in, &refusal.causes);
        self.try_next(Trial {
            refusal,
            live: live.clone(),
            strays: Vec::new(),
            left: attempts.into_iter(),
        })
    }

    /// The next dry run, or the failure after the last one.
    fn try_next(&mut self, mut trial: Trial) -> Step<ApplyOutcome> {
        let Some(strays) = trial.left.next() else {
            self.replacing = Replacing::Settled(Vec::new());
            return self.failed(&trial.refusal);
        };
        trial.strays = strays;
        let live = trial.live.clone();
        self.replacing = Replacing::Trying(trial);
        if self.without_apply {
            // The whole object is written, which is refused or not.
            return self.decide(&live, None);
        }
        let entries = entries(&live);
        self.asked = Asked::Try;
        Step::Try(self.laid_over(self.least(), &live, &roots(&entries)))
    }

    /// The dry run went well: what it lacked is claimed.
    pub(super) fn claim(&mut self) -> Step<ApplyOutcome> {
        let Replacing::Trying(trial) = std::mem::take(&mut self.replacing) else {
            return self.read();
        };
        let fields = managed::claimed(&trial.live, self.manager(), &trial.strays);
        self.replacing = Replacing::Settled(trial.strays);
        self.asked = Asked::Claim;
        Step::Merge(json!({"metadata": {
            "resourceVersion": trial.live["metadata"]["resourceVersion"],
            "managedFields": fields,
        }}))
    }

    /// A dry run, or the write in its place, was refused.
    pub(super) fn try_refused(&mut self, refusal: &Refusal) -> Step<ApplyOutcome> {
        match std::mem::take(&mut self.replacing) {
            Replacing::Trying(trial) if refusal.code == 422 => self.try_next(trial),
            // The object has changed.
            Replacing::Trying(trial) if refusal.is_conflict() => {
                self.replacing = Replacing::Asked(trial.refusal);
                self.read()
            }
            Replacing::Trying(trial) => {
                self.replacing = Replacing::Settled(Vec::new());
                self.failed(&trial.refusal)
            }
            _ => self.read(),
        }
    }

    /// A whole object: the manifest laid over the object, without what is replaced.
    pub(super) fn laid_over(&self, ours: &Value, live: &Value, roots: &[Node<'_>]) -> Value {
        let mut body = live.clone();
        for path in self.replacing.strays() {
            managed::remove(&mut body, &path.0);
        }
        let ours = super::body::without_server_metadata(ours);
        overlay(&mut body["metadata"], &ours["metadata"], &[]);
        for (name, value) in ours.as_object().into_iter().flatten() {
            if name != "metadata" && !value.is_null() {
                overlay(&mut body[name], value, &below(roots, name));
            }
        }
        body
    }

    fn ignored(&self) -> Option<&Ignored> {
        match &self.strategy {
            Strategy::ServerSide(settings) => settings.ignored.as_deref(),
            _ => None,
        }
    }

    /// The least that is applied of the manifest.
    fn least(&self) -> &Value {
        self.ignored().map_or(&self.body, |it| &it.unchanged)
    }

    /// The object without what is ignored.
    fn visible<'a>(&self, live: &'a Value) -> Cow<'a, Value> {
        let Some(ignored) = self.ignored() else {
            return Cow::Borrowed(live);
        };
        let mut visible = live.clone();
        let budget = &mut ignore::Budget::default();
        // An expression that fails leaves the object as it is: then nothing may go.
        match ignore::cut(&mut visible, &ignored.fields, |_| true, budget) {
            Ok(()) => Cow::Owned(visible),
            Err(_) => Cow::Owned(ignored.unchanged.clone()),
        }
    }

    /// The field manager of the content.
    fn manager(&self) -> &str {
        match &self.strategy {
            Strategy::ServerSide(settings) => &settings.manager,
            _ => berth_api::work::FIELD_MANAGER,
        }
    }
}
