//! Scores, reasons and counts in decisions and conditions: what is stored of them, and how often they are written.
//!
//! They change often, and consumers read only the clusters. So they are written with whatever else changes, and alone at most once in the
//! time of `spec.scoreRateLimit`.

use jiff::{SignedDuration, Timestamp};

/// The score and the reason of a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) score: Option<i64>,
    pub(crate) reason: String,
}

/// The shortest time between two writes of scores, reasons and counts alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScoreLimit(SignedDuration);

/// Whether scores, reasons and counts may be written alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Now,
    /// Not before this time.
    At(Timestamp),
}

// === impl Recorded ===

impl Recorded {
    /// Returns whether both say the same. Clients in Go leave out a score of 0.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        let score = |it: &Self| it.score.unwrap_or_default();
        score(self) == score(other) && self.reason == other.reason
    }
}

// === impl ScoreLimit ===

impl ScoreLimit {
    /// The default of the CRD. It counts for values that the CRD does not allow, too.
    const DEFAULT: Self = Self(SignedDuration::from_secs(60));

    /// Shorter times count as this one.
    const LEAST: Self = Self(SignedDuration::from_secs(1));

    /// Reads `spec.scoreRateLimit`: a number with the unit h, m or s.
    pub(crate) fn new(text: &str) -> Self {
        let units = [('h', 3600), ('m', 60), ('s', 1)];
        let parsed = units.iter().find_map(|(unit, seconds)| {
            let number = text.strip_suffix(*unit)?;
            let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
            // A number that is too large for the type is a very long time, too.
            let number = is_number.then(|| number.parse().unwrap_or(i64::MAX))?;
            Some(SignedDuration::from_secs(number.saturating_mul(*seconds)))
        });
        parsed.map_or(Self::DEFAULT, |it| Self(it.max(Self::LEAST.0)))
    }

    /// Whether it is over. `last`: `status.lastScoreUpdateTime`, which has whole seconds, so the write may be later by almost one. A time
    /// in the future is that of another clock, and does not count.
    pub(crate) fn turn(self, last: Option<Timestamp>, now: Timestamp) -> Turn {
        let Some(last) = last.filter(|last| *last <= now) else {
            return Turn::Now;
        };
        let wait = self.0.saturating_add(SignedDuration::from_secs(1));
        let over = last.checked_add(wait).unwrap_or(Timestamp::MAX);
        if over <= now {
            Turn::Now
        } else {
            Turn::At(over)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_with_a_unit_and_at_least_a_second() {
        for (text, seconds) in [
            ("90s", 90),
            ("5m", 300),
            ("2h", 7200),
            ("0s", 1),
            ("0h", 1),
            ("", 60),
            ("1", 60),
            ("m", 60),
            ("-5s", 60),
            ("+5s", 60),
            ("1.5h", 60),
            ("1m30s", 60),
            ("99999999999999999999h", i64::MAX),
            ("9223372036854775807h", i64::MAX),
        ] {
            let limit = ScoreLimit::new(text);
            assert_eq!(limit.0, SignedDuration::from_secs(seconds), "{text:?}");
        }
    }

    #[test]
    fn a_limit_is_over_once_it_has_certainly_passed() {
        let at = |time: &str| {
            format!("2026-08-11T{time}Z")
                .parse::<Timestamp>()
                .expect(time)
        };
        let last = Some(at("12:00:00"));
        let minute = ScoreLimit::new("1m");
        let longest = ScoreLimit::new("9223372036854775807h");
        for (sentence, limit, last, now, turn) in [
            (
                "nothing is written yet",
                minute,
                None,
                "12:00:00",
                Turn::Now,
            ),
            (
                "too early",
                minute,
                last,
                "12:00:00.9",
                Turn::At(at("12:01:01")),
            ),
            (
                "just too early",
                minute,
                last,
                "12:01:00.999",
                Turn::At(at("12:01:01")),
            ),
            ("over", minute, last, "12:01:01", Turn::Now),
            (
                "the clock was set back",
                minute,
                last,
                "11:59:59",
                Turn::Now,
            ),
            ("never", longest, last, "23:00:00", Turn::At(Timestamp::MAX)),
        ] {
            assert_eq!(limit.turn(last, at(now)), turn, "{sentence}");
        }
    }
}
