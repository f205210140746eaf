//! Another agent with the same agent ID on the same cluster, by what it does to AppliedManifestWorks: it undoes what this agent writes.
//!
//! This agent then writes less and less often, deletes nothing of which it does not know whose it is, and says so.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_api::work::{AppliedManifestResourceMeta, AppliedManifestWork};
use berth_work_core::{Contest, Patience};

/// How often it is seen until another client contests what this agent writes. A user may undo it once.
const TIMES: u32 = 2;

/// The longest wait before a write that may lead to an eviction, or that changes labels.
const LONGEST: Duration = Duration::from_secs(600);

/// The longest wait before a write that ends an eviction: the other agent must not evict meanwhile.
const LONGEST_TO_KEEP: Duration = Duration::from_secs(60);

/// How long nothing is deleted that another client has put into a list. Only agents write it, so once is enough.
pub(crate) const KEEP: Duration = Duration::from_secs(3600);

/// Upper bound on the lists without a response that are known, for each AppliedManifestWork.
const UNANSWERED: usize = 16;

/// Writes to AppliedManifestWorks that another agent may undo.
#[derive(Debug, Default)]
pub(crate) struct Rivals {
    contests: HashMap<Arc<str>, Contests>,
    /// AppliedManifestWorks that another agent has made while this one ran.
    strangers: HashSet<Arc<str>>,
}

#[derive(Debug, Default)]
struct Contests {
    eviction: Contest,
    list: Contest,
    labels: Contest,
    /// The marks of lists that were written without a response: any of them may be stored.
    unanswered: Vec<u64>,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Since when its ManifestWork is missing, or why it is held.
    Eviction,
    /// The same, to be removed.
    Keeping,
    /// The list of objects.
    List,
    /// Labels and the spec.
    Labels,
}

// === impl Rivals ===

impl Rivals {
    fn contest(&self, name: &str, part: Part) -> Option<&Contest> {
        let of = self.contests.get(name)?;
        Some(match part {
            Part::Eviction | Part::Keeping => &of.eviction,
            Part::List => &of.list,
            Part::Labels => &of.labels,
        })
    }

    /// The mark of the last write.
    pub(crate) fn last(&self, name: &str, part: Part) -> Option<u64> {
        self.contest(name, part)?.last()
    }

    /// Returns true if another client has changed the list of objects: it is none that this agent has written.
    pub(crate) fn has_changed(&self, name: &str, stored: &[AppliedManifestResourceMeta]) -> bool {
        let of = self.contests.get(name);
        of.is_some_and(|of| {
            let mark = mark_of_list(stored);
            of.list.last().is_some_and(|it| it != mark) && !of.unanswered.contains(&mark)
        })
    }

    /// A list of objects was written, and there is no response: it may be stored.
    pub(crate) fn unanswered(&mut self, name: &Arc<str>, mark: u64) {
        let all = &mut self
            .contests
            .entry(Arc::clone(name))
            .or_default()
            .unanswered;
        if !all.contains(&mark) {
            if all.len() >= UNANSWERED {
                all.remove(0);
            }
            all.push(mark);
        }
    }

    /// When a write that was undone may be repeated; `None`: now.
    pub(crate) fn until(&self, name: &str, part: Part, now: Instant) -> Option<Instant> {
        self.contest(name, part)?.until(now)
    }

    /// Until when another agent contests what this one writes.
    pub(crate) fn is_on(&self, name: &str, part: Part, now: Instant) -> Option<Instant> {
        self.contest(name, part)?.is_on(now)
    }

    /// Returns true if a ManifestWork that is missing may be one of another agent.
    pub(crate) fn are_there(&self, name: &str, now: Instant) -> bool {
        let is_on = |it: &Contests| it.eviction.is_on(now).or(it.list.is_on(now)).is_some();
        self.strangers.contains(name) || self.contests.values().any(is_on)
    }

    /// Notes a write. `spread`: by chance, from 0 to 1. Returns true if another agent contests it from now on.
    pub(crate) fn wrote(
        &mut self,
        name: &Arc<str>,
        part: Part,
        mark: u64,
        was_undone: bool,
        (now, spread): (Instant, f64),
    ) -> bool {
        let of = self.contests.entry(Arc::clone(name)).or_default();
        let patience = Patience {
            times: if part == Part::List { 1 } else { TIMES },
            longest: if part == Part::Keeping {
                LONGEST_TO_KEEP
            } else {
                LONGEST
            },
            quiet: if part == Part::List {
                KEEP
            } else {
                Duration::ZERO
            },
            spread,
        };
        let contest = match part {
            Part::Eviction | Part::Keeping => &mut of.eviction,
            Part::List => {
                of.unanswered.clear();
                &mut of.list
            }
            Part::Labels => &mut of.labels,
        };
        contest.wrote(mark, was_undone, patience, now)
    }

    /// Another agent has made this AppliedManifestWork.
    pub(crate) fn made(&mut self, name: Arc<str>) {
        self.strangers.insert(name);
    }

    pub(crate) fn has_made(&self, name: &str) -> bool {
        self.strangers.contains(name)
    }

    /// The AppliedManifestWork is gone.
    pub(crate) fn forget(&mut self, name: &str) {
        self.contests.remove(name);
        self.strangers.remove(name);
    }
}

/// The mark of a list of objects.
pub(crate) fn mark_of_list(list: &[AppliedManifestResourceMeta]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for it in list {
        let of = [
            &it.group,
            &it.version,
            &it.resource,
            &it.namespace,
            &it.name,
        ];
        (of, &it.uid).hash(&mut hasher);
    }
    hasher.finish()
}

/// The mark of a text.
pub(crate) fn mark_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The field manager of the last write.
pub fn manager(applied: &AppliedManifestWork) -> &str {
    let managers = applied.metadata.managed_fields.as_deref();
    let last = managers.and_then(<[_]>::first);
    let manager = last.and_then(|it| it.manager.as_deref());
    manager.unwrap_or("unknown")
}

/// What is wrong, and what to do.
pub fn words(agent: &str) -> String {
    format!(
        "another agent with the same agent ID {agent} changes this AppliedManifestWork: give each agent of a cluster its own --agent-id"
    )
}
