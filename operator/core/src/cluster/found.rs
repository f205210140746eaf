//! What is to be done on a managed cluster that is not the one of its agent, and what was found there.

use crate::credentials::Unprepared;
use crate::decision::Failure;

/// What is to be done on the managed cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Look whether it can be reached. The finalizer is set before anything is written there.
    Prepare,
    /// Make everything as it should be, and the credentials of the agent.
    Install,
    /// Take everything away.
    Clean,
}

/// What was found on the managed cluster, and what became of the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Managed {
    /// The task.
    pub task: Task,
    /// Whether it can be reached; if it can, a text that says so.
    pub ready: Result<String, Unprepared>,
    /// What became of the task.
    pub outcome: Outcome,
    /// The managed cluster is this one, as far as that is known.
    pub is_here: bool,
}

/// What became of the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was done.
    Nothing,
    /// These could not be written.
    Failed(Vec<Failure>),
    /// It waits for this.
    WaitsFor(String),
    /// It is done.
    Done,
}
