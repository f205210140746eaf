//! Times that others wrote, by clocks that may be wrong, or as they liked.

use jiff::{SignedDuration, Timestamp};

/// How far ahead the clock of another may be: the bound that a cluster's clock has by default, to count as right. A time further ahead is
/// not believed.
pub const AHEAD: SignedDuration = SignedDuration::from_mins(5);

/// Returns a time that another wrote, unless it is too far ahead of now: then the first of `instead` that is not. The result does not move
/// with now, so what counts from it comes to an end.
#[must_use]
pub fn believed(
    time: Option<Timestamp>,
    instead: impl IntoIterator<Item = Option<Timestamp>>,
    now: Timestamp,
) -> Option<Timestamp> {
    let is_ahead = |it: &Timestamp| it.duration_since(now) > AHEAD;
    if !time.as_ref().is_some_and(is_ahead) {
        return time;
    }
    instead.into_iter().flatten().find(|it| !is_ahead(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_far_ahead_is_not_believed() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let at = |minutes: i64| Some(now + SignedDuration::from_mins(minutes));
        let far = Some("2090-01-01T00:00:00Z".parse().unwrap());
        for (time, written, created, expected) in [
            (None, at(-1), at(-2), None),
            (at(-1), at(-3), at(-4), at(-1)),
            (at(5), at(-3), at(-4), at(5)),
            (at(6), at(-3), at(-4), at(-3)),
            (far, at(-3), at(-4), at(-3)),
            (far, far, at(-4), at(-4)),
            (far, None, at(-4), at(-4)),
            (far, far, None, None),
        ] {
            let found = believed(time, [written, created], now);
            assert_eq!(found, expected, "{time:?} {written:?} {created:?}");
        }
    }
}
