//! Makes what agents of an add-on on a cluster need to ask for tokens, and removes it.

use berth_addons_core::registration::remedies;
use berth_addons_core::tokens;
use berth_api::plan::{Action, Target};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, ROUNDS, World, WriteOutcome, failed, never_settled, now};

use super::AddOns;
use crate::keys::{Key, Place};
use crate::kinds::Kind;

/// The object that has the name of one that was to be created.
enum Found {
    /// The add-on's: the watch was late.
    Own,
    /// Another one's; the text is for users.
    Other(String),
    /// It cannot be read, or is gone again.
    Nothing,
}

/// Works on the tokens of an add-on on a cluster until nothing is due, or what is due is refused.
pub(super) async fn reconcile(on: &Handle<AddOns>, key: &Key, at: &Place) -> Next {
    let mut fault = None;
    let mut end = Next::SETTLED;
    for _ in 0..ROUNDS {
        let write = {
            let world = on.world();
            match world.knows_tokens() {
                Ok(true) => {}
                Err(kind) if world.is_ready() => fault = Some(not_listed(kind)),
                Ok(false) | Err(_) => return end,
            }
            world.view.decide_tokens(at, fault.as_deref(), now())
        };
        let Some(write) = write else {
            return end;
        };
        let Some(Kind::Token(object)) = AddOns::kind(&write) else {
            // The condition.
            match on.carry_out(vec![write]).await {
                WriteOutcome::Failed(failures) => return failed(&failures),
                WriteOutcome::Nothing | WriteOutcome::Written => continue,
            }
        };
        let is_create = matches!(write.action, Action::Create { .. });
        let WriteOutcome::Failed(failures) = on.carry_out(vec![write]).await else {
            continue;
        };
        let Some((failure, _)) = failures.first() else {
            return failed(&failures);
        };
        let is_taken = failure.code == 409 && is_create;
        let why = match is_taken {
            true => match find(on, object, &failure.target).await {
                Found::Own => continue,
                Found::Other(why) => why,
                Found::Nothing => return failed(&failures),
            },
            // It went in between.
            false if failure.code == 404 && !is_create => return failed(&failures),
            false if failure.is_transient() => return failed(&failures),
            false => {
                let name = &failure.target.name;
                remedies::of_token(object, (&at.0, name), &at.1, &failure.message)
            }
        };
        fault = Some(why);
        end = failed(&failures);
    }
    never_settled(key)
}

fn not_listed(kind: Kind) -> String {
    format!(
        "the controller may not list {}; grant it the ClusterRole of manifests/addons",
        kind.resource().resource
    )
}

/// Looks at an object that could not be created because its name is taken.
async fn find(on: &Handle<AddOns>, object: tokens::Kind, target: &Target) -> Found {
    let Ok((stored, _)) = on.writer(0).read(target).await else {
        return Found::Nothing;
    };
    match tokens::Stored::read(object, stored.item().json) {
        Ok(Some(_)) => {
            on.observed(Kind::Token(object), &stored);
            Found::Own
        }
        // Its rights are not the agents'.
        Ok(None) => Found::Other(format!(
            "another {} {}/{} exists; delete it, or rename the add-on",
            object.name(),
            target.namespace.as_deref().unwrap_or_default(),
            target.name
        )),
        Err(_) => Found::Nothing,
    }
}
