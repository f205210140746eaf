//! The end of a pass: the objects that left the manifests are deleted, and the others listed in the AppliedManifestWork.

use std::time::Instant;

use berth_work_core::recorded;
use serde_json::{Value, json};

use super::{End, Next, Pass, Reply};
use crate::record::{self, Record};
use crate::rivals;
use crate::view::View;

#[derive(Debug)]
pub(super) enum Stage {
    /// The objects are to be listed; whether the cluster was silent.
    Record(bool),
    /// Objects are being deleted.
    Removing(Box<Record>),
    /// The list is due; whether the cluster was silent.
    Write(Box<Record>, bool),
    /// The list is written, or was not due.
    Listed {
        was_undone: bool,
        /// The mark of the list that is written.
        mark: Option<u64>,
        again: Option<Instant>,
        is_silent: bool,
    },
}

impl Pass {
    /// One turn of the list. `None`: another one follows at once.
    pub(super) fn list(
        &mut self,
        view: &mut View,
        stage: Stage,
        reply: Option<Reply>,
        now: Instant,
    ) -> Option<Next> {
        match stage {
            Stage::Record(is_silent) => {
                let deletes = !is_silent && view.hold(&self.name).is_none();
                let record = view.record(&self.name, &self.ready, deletes, now);
                let Some(record) = record.map(Box::new) else {
                    self.stage = super::Stage::Ended(End::Replaced);
                    return None;
                };
                if record.remove.is_empty() {
                    self.stage = super::Stage::List(Stage::Write(record, is_silent));
                    return None;
                }
                let remove = record.remove.clone();
                self.stage = super::Stage::List(Stage::Removing(record));
                let owner = self.ready.applied.metadata.uid.clone();
                Some(Next::Remove(remove, owner.unwrap_or_default()))
            }
            Stage::Removing(mut record) => {
                let all = std::mem::take(&mut record.remove);
                let (pending, is_silent) = match reply {
                    Some(Reply::Removed(pending, is_silent)) => (pending, is_silent),
                    // It is not known which objects are gone: all stay listed.
                    _ => (all, true),
                };
                view.removed(&self.name, &mut record, pending, now);
                self.stage = super::Stage::List(Stage::Write(record, is_silent));
                None
            }
            Stage::Write(record, is_silent) => self.write_list(view, *record, is_silent),
            Stage::Listed {
                was_undone,
                mark,
                again,
                is_silent,
            } => {
                let again = match reply {
                    None | Some(Reply::Written(true)) => {
                        let is_due = reply.is_some() || was_undone;
                        view.recorded(&self.name, &self.ready, (is_due, was_undone), now);
                        again
                    }
                    // Without a response the list may lack objects: they stay known.
                    Some(_) => {
                        let wait = view.not_recorded(&self.name, &self.ready, mark, now);
                        [again, wait].into_iter().flatten().min()
                    }
                };
                let all = [self.again, again].into_iter().flatten().min();
                self.stage = super::Stage::Ended(match is_silent {
                    true => End::Silent,
                    false => End::All(all),
                });
                None
            }
        }
    }

    /// Writes the list, if it has changed.
    fn write_list(&mut self, view: &View, record: Record, is_silent: bool) -> Option<Next> {
        let Record {
            stored,
            existing,
            kept,
            again,
            was_undone,
            ..
        } = record;
        let resources = recorded(existing, kept);
        let is_due = resources != stored;
        self.stage = super::Stage::List(Stage::Listed {
            was_undone,
            mark: is_due.then(|| rivals::mark_of_list(&resources)),
            again,
            is_silent,
        });
        if !is_due {
            return None;
        }
        drop(stored);
        // One after the other: as values, thousands of entries take megabytes.
        let resources: Value = resources.into_iter().map(|it| json!(it)).collect();
        let applied = self.ready.applied.metadata.name.as_deref();
        let applied = view.applied.get(applied.unwrap_or_default())?;
        let write = record::status(applied, "appliedResources", resources);
        Some(Next::Write(Box::new(write)))
    }
}
