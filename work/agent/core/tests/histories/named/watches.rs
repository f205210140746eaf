//! What is deleted, or served, while nothing watches it.

use super::*;
use crate::things::{DEFINITION, WIDGET};
use crate::world::RIVAL;

/// So many namespaces are watched apart, and one more is not.
const APART: [&str; 8] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"];

#[test]
fn an_object_that_is_deleted_while_its_watch_is_replaced_is_made_anew() {
    let apart = APART.map(|it| (it, 1));
    let all: Vec<_> = apart.into_iter().chain([("a", 1)]).collect();
    each(Traits::default(), &apart, |play| {
        play.rests();
        play.replaces(WORK, &all);
        play.steps_until(|_, agent| agent.has_new_row());
        play.world.cluster.delete("n0");
        play.rests();
    });
}

fn with_definition() -> Traits {
    Traits {
        definition: true,
        ..Traits::default()
    }
}

#[test]
fn an_object_is_made_as_soon_as_its_kind_is_served() {
    each(with_definition(), &[(WIDGET, 1)], |play| {
        play.steps_until(|_, agent| agent.now > Duration::from_secs(1500));
        play.settles();
        let begun = play.agent.now;
        play.creates(RIVAL, &[(DEFINITION, 1)]);
        play.steps_until(|world, _| world.cluster.live(WIDGET).is_some());
        let took = play.agent.now - begun;
        assert!(
            took < Duration::from_secs(90),
            "seed {}: {took:?}",
            play.seed
        );
        play.rests();
    });
}
