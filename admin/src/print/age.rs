//! Ages in kubectl's format.

use jiff::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// Formats an age, such as `5m` or `3d4h`. An absent time is `<unknown>`. A time more than a second in the future is `<invalid>`;
/// the second allows for a small difference of the clocks.
pub(crate) fn age(since: Option<Timestamp>, now: Timestamp) -> String {
    let Some(since) = since else {
        return "<unknown>".to_owned();
    };
    let seconds = now.duration_since(since).as_secs();
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        _ if seconds < 2 * MINUTE => format!("{seconds}s"),
        _ if seconds < 10 * MINUTE => two(seconds, (MINUTE, "m"), (1, "s")),
        _ if seconds < 3 * HOUR => one(seconds, MINUTE, "m"),
        _ if seconds < 8 * HOUR => two(seconds, (HOUR, "h"), (MINUTE, "m")),
        _ if seconds < 2 * DAY => one(seconds, HOUR, "h"),
        _ if seconds < 8 * DAY => two(seconds, (DAY, "d"), (HOUR, "h")),
        _ if seconds < 2 * YEAR => one(seconds, DAY, "d"),
        _ if seconds < 8 * YEAR => two(seconds, (YEAR, "y"), (DAY, "d")),
        _ => one(seconds, YEAR, "y"),
    }
}

fn one(seconds: i64, unit: i64, name: &str) -> String {
    format!("{}{name}", seconds / unit)
}

fn two(seconds: i64, unit: (i64, &str), part: (i64, &str)) -> String {
    let parts = seconds % unit.0 / part.0;
    let units = one(seconds, unit.0, unit.1);
    if parts == 0 {
        units
    } else {
        format!("{units}{parts}{}", part.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_kubectls() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let of = |seconds: i64| {
            age(
                Some(Timestamp::from_second(1_800_000_000 - seconds).unwrap()),
                now,
            )
        };
        for (seconds, expected) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (121, "2m1s"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 61, "3h1m"),
            (8 * HOUR - 1, "7h59m"),
            (8 * HOUR + 61, "8h"),
            (2 * DAY - 1, "47h"),
            (2 * DAY, "2d"),
            (3 * DAY + 4 * HOUR + 59, "3d4h"),
            (8 * DAY + 4 * HOUR, "8d"),
            (2 * YEAR - 1, "729d"),
            (2 * YEAR, "2y"),
            (3 * YEAR + 4 * DAY, "3y4d"),
            (8 * YEAR + 4 * DAY, "8y"),
        ] {
            assert_eq!(of(seconds), expected, "{seconds}");
        }
        assert_eq!(age(None, now), "<unknown>");
        assert_eq!(age(Some(Timestamp::MIN), Timestamp::MAX), "20012y");
    }
}
