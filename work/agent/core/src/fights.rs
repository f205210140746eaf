//! Two writers of one field: after the second repair of the same difference the agent waits longer each time.

use std::time::{Duration, Instant};

use super::wait::doubled;

/// The first wait. It doubles with each repair of the same difference.
const FIRST: Duration = Duration::from_secs(1);

/// The longest wait.
const LONGEST: Duration = Duration::from_secs(600);

/// A difference that does not come back for this long, or for twice the last wait, is over.
const QUIET: Duration = Duration::from_secs(60);

/// The repairs of one object.
#[derive(Clone, Debug, Default)]
pub struct Fight {
    /// In a box: most objects are never repaired.
    last: Option<Box<Repair>>,
}

#[derive(Clone, Debug)]
struct Repair {
    at: Instant,
    /// What was repaired, and how often in a row.
    fields: String,
    times: u32,
}

// === impl Fight ===

impl Fight {
    /// Notes that these fields were repaired. Returns true if another client changes them again and again.
    pub fn repaired(&mut self, fields: &str, now: Instant) -> bool {
        let again = self.last.as_ref().is_some_and(|last| {
            last.fields == fields && now.saturating_duration_since(last.at) < last.quiet()
        });
        let times = match &self.last {
            Some(last) if again => last.times.saturating_add(1),
            _ => 1,
        };
        self.last = Some(Box::new(Repair {
            at: now,
            fields: fields.to_owned(),
            times,
        }));
        times > 1
    }

    /// When these fields may be repaired; `None`: now.
    pub fn until(&self, fields: &str, now: Instant) -> Option<Instant> {
        let last = self.last.as_ref()?;
        let until = last.at + last.wait();
        (last.fields == fields && until > now).then_some(until)
    }

    /// What another client changes again and again, and until when that counts.
    pub(crate) fn is_on(&self, now: Instant) -> Option<(&str, Instant)> {
        let last = self.last.as_ref()?;
        let over = last.at + last.quiet();
        (last.times > 1 && over > now).then_some((&last.fields, over))
    }
}

// === impl Repair ===

impl Repair {
    /// The first repair is followed by no wait.
    fn wait(&self) -> Duration {
        match self.times.checked_sub(2) {
            None => Duration::ZERO,
            Some(doublings) => doubled(FIRST, LONGEST, doublings),
        }
    }

    fn quiet(&self) -> Duration {
        (self.wait() * 2).max(QUIET)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_same_difference_is_repaired_more_and_more_seldom() {
        let mut fight = Fight::default();
        let mut now = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..13 {
            if let Some(until) = fight.until("spec.replicas", now) {
                waits.push((until - now).as_secs());
                now = until;
            }
            fight.repaired("spec.replicas", now);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600]);
        assert!(fight.is_on(now).is_some());
        assert!(fight.is_on(now + Duration::from_secs(1200)).is_none());
        assert!(!fight.repaired("spec.replicas", now + Duration::from_secs(1200)));
    }

    #[test]
    fn another_difference_and_a_rare_one_are_repaired_at_once() {
        let mut fight = Fight::default();
        let now = Instant::now();
        assert!(!fight.repaired("a", now) && fight.repaired("a", now));
        assert_eq!(fight.until("b", now), None);
        assert!(!fight.repaired("b", now));
        let later = now + QUIET;
        assert!(!fight.repaired("b", later));
        assert_eq!(fight.until("b", later), None);
    }
}
