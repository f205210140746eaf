//! Keeps the ManifestWorks that fit into the agent's memory, and reads one again once there is room for it.

use berth_api::groups;
use berth_hub::{Call, CallError, object_path};
use berth_reconcile::{Handle, RawObject, now};

use super::HUB;
use super::facts::{Fact, work};
use super::targets;
use super::world::{Agent, change};

/// Decides which works are carried out, and forgets the manifests of the others.
pub(crate) fn decide(on: &Handle<Agent>) {
    for name in change(on, |view, wakes| view.make_room(now().instant, wakes)) {
        targets::forget(on, &name);
    }
}

/// Reads a work again that fits now.
///
/// # Errors
/// The hub does not respond.
pub(crate) async fn read(on: &Handle<Agent>, name: &str) -> Result<(), CallError> {
    let path = {
        let world = on.world();
        if !world.view.room.misses(name) {
            return Ok(());
        }
        let works = (groups::WORK, "v1", groups::MANIFEST_WORKS);
        object_path(works, &world.view.identity.cluster, name)
    };
    let answer = match on.writer(HUB).send(Call::get(path)).await {
        Ok(answer) => answer,
        // The watch will report it.
        Err(error) if error.is_absent() => return Ok(()),
        Err(error) => return Err(error),
    };
    let read = RawObject::read(answer.body);
    let read = read.map(|it| work(&it.item()).map(|fact| (it.item().meta, fact)));
    let Ok(Ok((meta, Fact::Work(read)))) = read else {
        return Ok(());
    };
    change(on, |view, wakes| {
        // The watch may have reported another generation meanwhile.
        if view.room.is_of(name, &read) && view.room.misses(name) {
            view.work_changed(&meta.name, meta.version(), read, wakes);
        }
    });
    Ok(())
}
