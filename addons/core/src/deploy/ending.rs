//! How an add-on goes: first its hooks run, then what is on the cluster that hosts its agent is deleted. The rest is deleted with the
//! ManagedClusterAddOn, which owns it.

use berth_api::Now;
use berth_api::conditions::with_condition;

use super::{Facts, Next, Part};
use crate::works::hooks::{self, HOSTING_MANIFESTS_FINALIZER, Step};

/// Decides what is next for an add-on that is being deleted, or whose cluster is.
pub(super) fn next(facts: &Facts<'_>, now: Now) -> Next {
    for part in [Part::Hooks, Part::HostedHooks] {
        if let Some(next) = run(facts, part, now) {
            return next;
        }
    }
    if !facts.on.is_deleting || !facts.has(HOSTING_MANIFESTS_FINALIZER) {
        return facts.nothing();
    }
    let hosted = Part::ALL.into_iter().filter(|it| it.is_hosted());
    let mut works = hosted.flat_map(|part| facts.named(part));
    let left = works.find(|it| it.metadata.deletion_timestamp.is_none());
    match left {
        Some(work) => facts.delete(work, "the add-on on the hosted cluster is being deleted"),
        None => facts.finalizer(HOSTING_MANIFESTS_FINALIZER, false),
    }
}

/// Runs the hooks of a part; `None` if they have run, or are not to run.
fn run(facts: &Facts<'_>, part: Part, now: Now) -> Option<Next> {
    let finalizer = part.finalizer().filter(|it| facts.has(it))?;
    let has_cluster = part.namespace(facts.cluster, facts.hosting).is_some();
    if facts.managed.is_none() || !has_cluster {
        // Nobody could run them.
        return Some(facts.finalizer(finalizer, false));
    }
    let Some(made) = facts.made else {
        return Some(Next::Make(None));
    };
    let step = hooks::decide(
        &hooks::Facts {
            hooks: made.ok().and_then(|it| it.hooks(part)),
            work: facts.reported(part).next(),
            now: now.wall,
        },
        facts.on.generation,
    );
    Some(match step {
        Step::RemoveFinalizer => facts.finalizer(finalizer, false),
        Step::Run(condition) => facts.made_works(part, vec![*condition], now),
        Step::TryAgain(_) => {
            let why = "a hook of the add-on failed, and is tried again";
            match facts.reported(part).next() {
                Some(work) => facts.delete(work, why),
                None => facts.nothing(),
            }
        }
        Step::Wait(condition, again) => Next::Report(facts.conditions_with([*condition]), again),
        Step::Complete(condition) => match with_condition(&facts.on.conditions, *condition) {
            Some(conditions) => Next::Report(conditions, None),
            None => facts.finalizer(finalizer, false),
        },
    })
}
