//! Carries out what is due for an add-on as a whole: decides, writes, and decides again with the results, until nothing is due.

use std::time::{Duration, Instant};

use berth_addons_core::rollout::WRITES_AT_ONCE;
use berth_reconcile::queue::Next;
use berth_reconcile::{Handle, ROUNDS, WriteOutcome, failed, never_settled, now};
use jiff::Timestamp;

use super::keys::Key;
use super::rest::rest_after;
use super::world::{AddOns, LONGEST_TIMER};

/// How long an add-on rests after a write: clusters report in bursts.
const PAUSE: Duration = Duration::from_millis(100);

/// Works on an add-on until nothing is due.
pub(super) async fn reconcile(on: &Handle<AddOns>, key: &Key, name: &str) -> Next {
    let mut rounds = ROUNDS;
    let mut has_written = false;
    let mut round = 0;
    while round < rounds {
        let begun = Instant::now();
        let decision = {
            let mut world = on.world();
            if !world.is_ready() {
                return settled(None, None);
            }
            world.view.decide(name, now())
        };
        let took = begun.elapsed();
        let Some(decision) = decision else {
            return settled(None, None);
        };
        match on.carry_out(decision.writes).await {
            WriteOutcome::Nothing => {
                let pause = has_written.then_some(PAUSE);
                return settled(decision.next, pause.max(rest_after(took)));
            }
            WriteOutcome::Written => has_written = true,
            WriteOutcome::Failed(failures) => return failed(&failures),
        }
        rounds = rounds.max(ROUNDS + 2 * decision.due / WRITES_AT_ONCE);
        round += 1;
    }
    never_settled(key)
}

fn settled(next: Option<Timestamp>, rest: Option<Duration>) -> Next {
    let now = now();
    let again = next.map(|next| {
        let wait = Duration::try_from(next.duration_since(now.wall)).unwrap_or_default();
        now.instant + wait.min(LONGEST_TIMER)
    });
    match rest {
        Some(rest) => Next::Rests {
            again,
            until: now.instant + rest,
        },
        None => Next::Settled { again, pause: None },
    }
}
