//! Carries out what is due for the permissions of an add-on: its RoleBindings on all clusters.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use berth_addons_core::facts::{add_on_of, binding};
use berth_addons_core::registration::permissions;
use berth_addons_core::registration::remedies;
use berth_api::plan::{Action, Write};
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, WriteOutcome, failed, never_settled, now};

use super::AddOns;
use crate::bindings::Faults;
use crate::keys::{Key, Place, place};
use crate::kinds::Kind;
use crate::rest::rest_of_permissions;

/// Upper bound on the writes that are sent together: facts that change meanwhile count for the next ones.
const WRITES_AT_ONCE: usize = 64;

/// Upper bound on the steps of a reconcile: 10,000 clusters with several bindings each.
const MOST_STEPS: usize = 1024;

/// Works on the permissions of an add-on until nothing is due, or what is due is refused.
pub(super) async fn reconcile(on: &Handle<AddOns>, key: &Key, add_on: &str) -> Next {
    let mut faults = Faults::default();
    let mut refused = Vec::new();
    on.world().view.bindings.forget_others(add_on);
    let mut took = Duration::ZERO;
    for _ in 0..MOST_STEPS {
        let (mut writes, wanted) = {
            let world = on.world();
            if !world.knows_bindings() {
                return Next::SETTLED;
            }
            let begun = Instant::now();
            let found = world.view.decide_permissions(add_on);
            let due = found.map(|(found, stored)| (permissions::writes(&found, &stored), found));
            took += begun.elapsed();
            let Some((writes, found)) = due else {
                return rests(took);
            };
            faults.of_clusters = found.faults.into_iter().collect();
            (writes, found.wanted)
        };
        writes.retain(|it| !faults.of_bindings.contains_key(&at(it)));
        writes.truncate(WRITES_AT_ONCE);
        if writes.is_empty() {
            on.change(|world, wakes| wakes.extend(world.view.set_faults(add_on, faults)));
            return if refused.is_empty() {
                rests(took)
            } else {
                failed(&refused)
            };
        }
        let creates: BTreeSet<_> = (writes.iter())
            .filter(|it| matches!(it.action, Action::Create { .. }))
            .map(at)
            .collect();
        let WriteOutcome::Failed(failures) = on.carry_out(writes).await else {
            continue;
        };
        for (failure, refusal) in failures {
            let target = &failure.target;
            let at = place(
                target.namespace.as_deref().unwrap_or_default(),
                &target.name,
            );
            if failure.code == 409 && creates.contains(&at) && find(on, add_on, &at).await {
                continue;
            }
            let of = wanted.iter().find(|it| {
                let metadata = &it.metadata;
                (metadata.namespace.as_ref(), metadata.name.as_ref()) == (Some(&at.0), Some(&at.1))
            });
            let text = match of {
                Some(binding) => remedies::of_binding(binding, &failure.message),
                None => format!("RoleBinding {}/{}: {}", at.0, at.1, failure.message),
            };
            faults.of_bindings.insert(at, text);
            refused.push((failure, refusal));
        }
    }
    never_settled(key)
}

/// Looks at a binding that could not be created because its name is taken. Returns true if it was found.
async fn find(on: &Handle<AddOns>, add_on: &str, at: &Place) -> bool {
    let target = berth_api::plan::Target {
        resource: Kind::Binding.resource(),
        namespace: Some(at.0.clone()),
        name: at.1.clone(),
    };
    let Ok((object, _)) = on.writer(0).read(&target).await else {
        return false;
    };
    let Ok(found) = binding(object.item().json) else {
        return false;
    };
    if add_on_of(&found) == Some(add_on) {
        // The watch is late.
        on.observed(Kind::Binding, &object);
    } else {
        on.world()
            .view
            .bindings
            .add_other(add_on, at.clone(), found);
    }
    true
}

fn at(write: &Write) -> Place {
    let target = &write.target;
    place(
        target.namespace.as_deref().unwrap_or_default(),
        &target.name,
    )
}

fn rests(took: Duration) -> Next {
    Next::rests(None, Some(rest_of_permissions(took)), now().instant)
}
