//! Permissions of an executor that change while they are asked for.

use super::*;
use crate::things::{SECRET, has_value};
use crate::world::{COMMON, RIVAL};

fn with_executor() -> Traits {
    Traits {
        executor: true,
        ..Traits::default()
    }
}

#[test]
fn a_change_that_the_authorizer_does_not_know_yet_is_asked_about_again() {
    each(with_executor(), &[("a", 1)], |play| {
        play.rests();
        let verbs = ["update", "patch", "get", "delete"];
        play.world.grants.set(play.agent.now, "a", &verbs);
        play.rests();
    });
}

#[test]
fn answers_of_before_a_change_do_not_count() {
    each(with_executor(), &[("a", 1)], |play| {
        play.rests();
        play.world.grants.set(play.agent.now, "a", &["get"]);
        play.world.grants.is_known(play.agent.now);
        play.rests();
    });
}

#[test]
fn a_manifest_that_comes_just_after_a_change_is_asked_about_again() {
    each(with_executor(), &[("a", 1)], |play| {
        play.rests();
        play.world.grants.set(play.agent.now, "b", &["get"]);
        play.settles();
        play.replaces(WORK, &[("a", 1), ("b", 1)]);
        play.rests();
    });
}

#[test]
fn a_change_just_before_the_agent_begins_is_asked_about_again() {
    each(with_executor(), &[("a", 1)], |play| {
        play.rests();
        play.replaces(WORK, &[("a", 1), ("b", 1)]);
        play.world.grants.set(play.agent.now, "b", &["get"]);
        play.kills();
        play.rests();
    });
}

#[test]
fn what_an_executor_may_not_write_is_read_though_another_work_has_it() {
    each(with_executor(), &[("a", 1)], |play| {
        play.creates(RIVAL, &[(COMMON, 1)]);
        play.rests();
        play.world.grants.set(play.agent.now, COMMON, &["get"]);
        play.world.grants.is_known(play.agent.now);
        play.replaces(WORK, &[(COMMON, 1)]);
        play.rests();
        let work = play.world.works.get(WORK).unwrap();
        let manifest = &work["status"]["resourceStatus"]["manifests"][0];
        let conditions = manifest["conditions"].as_array().unwrap();
        let available = conditions.iter().find(|it| it["type"] == "Available");
        let is_read = available.is_some_and(|it| it["status"] == "True");
        assert!(is_read, "seed {}: {manifest}", play.seed);
    });
}

#[test]
fn an_executor_that_may_not_delete_creates_no_object_anew() {
    let traits = Traits {
        orphans: true,
        secret: true,
        ..with_executor()
    };
    each(traits, &[(SECRET, 1)], |play| {
        play.rests();
        let verbs = ["create", "update", "patch", "get"];
        play.world.grants.set(play.agent.now, SECRET, &verbs);
        play.world.grants.is_known(play.agent.now);
        play.replaces(WORK, &[(SECRET, 2)]);
        let later = play.agent.now + Duration::from_secs(100);
        play.steps_until(|_, agent| agent.now > later);
        assert_eq!(play.world.broken, None, "seed {}", play.seed);
        let live = play.world.cluster.live(SECRET);
        let stays = live.is_some_and(|it| has_value(SECRET, it, 1));
        assert!(stays, "seed {}: {live:?}", play.seed);
    });
}
