//! A manifest whose kind was not served is mapped again. If the work defines the kind, the pass waits for it.

use std::time::{Duration, Instant};

use super::defined::defined;
use super::{Next, Pass, Reply};
use crate::progress::Target;
use crate::view::{View, Wakes};

/// How long a pass waits for a kind whose CustomResourceDefinition it has just applied.
const ESTABLISHED: Duration = Duration::from_secs(5);

/// How often it asks meanwhile.
const ASKS: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) enum Stage {
    /// The manifest at this position is mapped again.
    Mapping(Kind),
    /// A pause before it is mapped again.
    Waiting(Kind),
}

/// The kind of a manifest.
#[derive(Debug)]
pub(super) struct Kind {
    ordinal: usize,
    group: String,
    /// Until when the pass waits for it, if the work defines it.
    until: Option<Instant>,
}

impl Pass {
    /// One turn of the mapping. `None`: another one follows at once.
    pub(super) fn map(
        &mut self,
        view: &mut View,
        stage: Stage,
        reply: Option<Reply>,
        now: Instant,
        wakes: &mut Wakes,
    ) -> Option<Next> {
        match stage {
            Stage::Mapping(kind) => {
                if matches!(reply, Some(Reply::Mapped(true))) {
                    let task = view.task(&self.name, self.at, false, now);
                    return self.begin(view, task, now, wakes);
                }
                if kind.until.is_some_and(|it| now < it) {
                    self.stage = super::Stage::Map(Stage::Waiting(kind));
                    return Some(Next::Pause(ASKS));
                }
                let until = view.waits(&self.name, self.at, now);
                self.came(view, (until, None), now, wakes)
            }
            Stage::Waiting(kind) => {
                view.mapping.forget(&kind.group);
                let ordinal = kind.ordinal;
                self.stage = super::Stage::Map(Stage::Mapping(kind));
                Some(Next::Map(ordinal))
            }
        }
    }

    /// Begins to map a manifest again. `None`: it is mapped.
    pub(super) fn maps(&mut self, view: &mut View, now: Instant) -> Option<Next> {
        let slot = view.progress.get(&self.name)?.slots.get(self.at)?;
        let Target::Unmapped(meta) = &slot.target else {
            return None;
        };
        let defined = (self.defined).get_or_insert_with(|| defined(&self.ready.work));
        let defines = defined.contains(&(meta.group.clone(), meta.kind.clone()));
        let has_waited = slot.wait.is_some_and(|it| it.failures() > 1);
        let until = (defines && !has_waited).then(|| now + ESTABLISHED);
        let (ordinal, group) = (slot.ordinal, meta.group.clone());
        if until.is_some() {
            view.mapping.forget(&group);
        }
        self.stage = super::Stage::Map(Stage::Mapping(Kind {
            ordinal,
            group,
            until,
        }));
        Some(Next::Map(ordinal))
    }
}
