//! What a script knows of the agent: which requests it is about to send, and what becomes of them.

use berth_work_agent_core::{Ask, Next};
use fastrand::Rng;

use super::passes::Passing;
use super::{Agent, Running, What, verb};
use crate::World;
use crate::faults::Fault;

impl Agent {
    /// Returns true if this is needed: the step and the object, or "list".
    pub(crate) fn needs(&self, need: &str) -> bool {
        self.place_of(need).is_some()
    }

    fn place_of(&self, need: &str) -> Option<usize> {
        let mut running = self.running.iter();
        running.position(|it| it.needs().is_some_and(|it| it == need))
    }

    /// The request that is needed has this fate.
    pub(crate) fn meets(&mut self, need: &str, fault: Fault, world: &mut World, rng: &mut Rng) {
        self.fault = Some(fault);
        self.go_on(self.place_of(need).unwrap(), world, rng, false);
        self.fault = None;
    }
}

impl Running {
    pub(super) fn needs(&self) -> Option<String> {
        match &self.what {
            What::Pass(Passing {
                need: Next::Ask(entry, ask),
                ..
            }) => {
                let name = entry.object.name();
                match ask {
                    Ask::Send(request) => Some(format!("{} {name}", verb(&request.step))),
                    Ask::Review(_) => Some(format!("review {name}")),
                    _ => None,
                }
            }
            What::Pass(it) if matches!(it.need, Next::Write(_)) => Some("list".to_owned()),
            What::Remove(it) => it.needs(),
            _ => None,
        }
    }
}
