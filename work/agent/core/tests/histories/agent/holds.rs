//! Laws of holds: an admin of the cluster holds a work back, by the annotation on its AppliedManifestWork.

use berth_work_agent_core::{Ask, Next};
use berth_work_core::Step;

use super::passes::Passing;
use super::{Agent, verb};
use crate::World;
use crate::world::HOLD;

impl Agent {
    /// The hold of a work, as the agent sees it.
    pub(crate) fn hold_seen(&self, work: &str) -> Option<&str> {
        let applied = self.view.applied.get(&*format!("hash-{work}"))?;
        let annotations = applied.metadata.annotations.as_ref()?;
        annotations.get(HOLD).map(String::as_str)
    }

    /// Notes of which generation a work is when the agent sees its hold first.
    pub(super) fn sees_holds(&self, world: &mut World) {
        for (work, first) in &mut world.holds {
            if first.is_none() && self.hold_seen(work).is_some() {
                let work = self.view.works.get(*work);
                *first = work.and_then(|it| it.metadata.generation);
            }
        }
    }

    /// While it sees a hold, a pass asks for no write; or, if only changes are held, for none of other manifests than those of before.
    pub(super) fn keeps_hold(&self, passing: &Passing, world: &mut World) {
        let Next::Ask(entry, Ask::Send(request)) = &passing.need else {
            return;
        };
        if request.is_rehearsal || matches!(request.step, Step::Get) {
            return;
        }
        let (work, generation) = (&*passing.name, passing.ready.work.metadata.generation);
        let is_lawful = match self.hold_seen(work) {
            None => true,
            Some("changes") => world.holds.get(work) == Some(&generation),
            Some(_) => false,
        };
        if !is_lawful {
            let (step, name) = (verb(&request.step), entry.object.name());
            world.breaks(format!(
                "{step} {name} of generation {generation:?}, though {work} is held"
            ));
        }
    }
}
