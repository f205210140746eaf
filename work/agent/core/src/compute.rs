//! The part of an attempt that may take long: to read a manifest, to cut what it ignores out of it, and to compare the object with it.
//!
//! It needs nothing of the view, so the shell runs it without the view's lock.

use std::sync::Arc;

use berth_work_core::{ApplyFailure, ApplyOutcome, Applying, Response, Retry, Step};

use super::executor::{Ruling, rule};
use super::objects::{Entry, Evaluator, Former};

/// A step of an attempt that is to be worked out: [`Compute::run`].
#[derive(Debug)]
pub struct Compute {
    pub(crate) entry: Arc<Entry>,
    pub(crate) part: Part,
    /// What is known of the object, or the response to the last step.
    pub(crate) response: Option<Response>,
    /// The API server judges what executors write.
    pub(crate) impersonates: bool,
}

#[derive(Debug)]
pub(crate) enum Part {
    /// The manifest is read first. `before`: what was applied before.
    First {
        before: Option<Former>,
        evaluator: Arc<Evaluator>,
    },
    Next(Box<Applying>),
}

/// A step that was worked out.
#[derive(Debug)]
pub struct Computed(pub(crate) Result<(Box<Applying>, Step<ApplyOutcome>, Ruling), ApplyFailure>);

// === impl Compute ===

impl Compute {
    /// Works the step out. This may take long, and does no I/O.
    pub fn run(self) -> Computed {
        Computed(self.step())
    }

    fn step(self) -> Result<(Box<Applying>, Step<ApplyOutcome>, Ruling), ApplyFailure> {
        let mut machine = match self.part {
            Part::First { before, evaluator } => {
                Box::new(machine(&self.entry, before.as_ref(), &evaluator)?)
            }
            Part::Next(machine) => machine,
        };
        let step = machine.next(self.response);
        let ruling = match step {
            Step::Done(_) => Ruling::Send,
            _ if self.impersonates => Ruling::Send,
            _ => rule(&self.entry, &step),
        };
        Ok((machine, step, ruling))
    }
}

fn machine(
    entry: &Entry,
    before: Option<&Former>,
    evaluator: &Evaluator,
) -> Result<Applying, ApplyFailure> {
    let applying = entry.applying(before, evaluator);
    let machine = applying.map_err(|unusable| {
        let (reason, message) = unusable.condition();
        ApplyFailure {
            reason,
            message,
            retry: Retry::OnChange,
        }
    })?;
    Ok(match entry.executor() {
        Some(_) => machine.for_executor(),
        None => machine,
    })
}
