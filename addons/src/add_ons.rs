//! Carries out what is due for an add-on as a whole: decides, writes, and decides again with the results, until nothing is due.

use std::time::{Duration, Instant};

use berth_addons_core::rollout::WRITES_AT_ONCE;
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, ROUNDS, WriteOutcome, failed, never_settled, now};
use jiff::Timestamp;

use super::keys::Key;
use super::rest::rest;
use super::world::{AddOns, LONGEST_TIMER};

/// Works on an add-on until nothing is due.
pub(super) async fn reconcile(on: &Handle<AddOns>, key: &Key, name: &str) -> Next {
    let mut rounds = ROUNDS;
    let mut round = 0;
    let mut took = Duration::ZERO;
    while round < rounds {
        let (decision, add_ons) = {
            let mut world = on.world();
            if !world.is_ready() {
                return Next::SETTLED;
            }
            let begun = Instant::now();
            let decision = world.view.decide(name, now());
            took += begun.elapsed();
            (decision, world.view.managed_add_ons())
        };
        let Some(decision) = decision else {
            return Next::SETTLED;
        };
        match on.carry_out(decision.writes).await {
            WriteOutcome::Nothing => return rests(decision.next, rest(took, add_ons)),
            WriteOutcome::Written => {}
            WriteOutcome::Failed(failures) => return failed(&failures),
        }
        rounds = rounds.max(ROUNDS + 2 * decision.due / WRITES_AT_ONCE);
        round += 1;
    }
    never_settled(key)
}

fn rests(next: Option<Timestamp>, pause: Duration) -> Next {
    let now = now();
    let again = next.map(|next| {
        let wait = Duration::try_from(next.duration_since(now.wall)).unwrap_or_default();
        now.instant + wait.min(LONGEST_TIMER)
    });
    Next::rests(again, Some(pause), now.instant)
}
