//! Carries out what is due for an add-on as a whole: decides, writes, and decides again with the results, until nothing is due.

use std::time::{Duration, Instant};

use berth_addons_core::rollout::WRITES_AT_ONCE;
use berth_reconcile::queue::{Next, rest_after};
use berth_reconcile::{Handle, ROUNDS, WriteOutcome, failed, never_settled, now};
use jiff::Timestamp;

use super::keys::Key;
use super::world::{AddOns, LONGEST_TIMER};

/// How long an add-on rests at least: clusters report in bursts, and each report concerns the add-on as a whole.
const PAUSE: Duration = Duration::from_millis(100);

/// How many times as long as a costly decision took, the add-on rests ([`rest_after`]): then it takes little of a processor, however
/// often its ManagedClusterAddOns change.
const REST: u32 = 30;

/// Works on an add-on until nothing is due.
pub(super) async fn reconcile(on: &Handle<AddOns>, key: &Key, name: &str) -> Next {
    let mut rounds = ROUNDS;
    let mut round = 0;
    while round < rounds {
        let (decision, took) = {
            let mut world = on.world();
            if !world.is_ready() {
                return Next::SETTLED;
            }
            let begun = Instant::now();
            (world.view.decide(name, now()), begun.elapsed())
        };
        let Some(decision) = decision else {
            return Next::SETTLED;
        };
        match on.carry_out(decision.writes).await {
            WriteOutcome::Nothing => {
                let rest = rest_after(took, REST).unwrap_or_default();
                return rests(decision.next, rest.max(PAUSE));
            }
            WriteOutcome::Written => {}
            WriteOutcome::Failed(failures) => return failed(&failures),
        }
        rounds = rounds.max(ROUNDS + 2 * decision.due / WRITES_AT_ONCE);
        round += 1;
    }
    never_settled(key)
}

fn rests(next: Option<Timestamp>, rest: Duration) -> Next {
    let now = now();
    let again = next.map(|next| {
        let wait = Duration::try_from(next.duration_since(now.wall)).unwrap_or_default();
        now.instant + wait.min(LONGEST_TIMER)
    });
    Next::rests(again, Some(rest), now.instant)
}
