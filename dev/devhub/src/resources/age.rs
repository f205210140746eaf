//! Ages in Kubernetes' notation, with two or three significant figures.

use jiff::Timestamp;

/// What is shown for a time that is not set.
const UNKNOWN: &str = "<unknown>";

/// The time since an RFC 3339 timestamp: `5m30s`; `<unknown>` without one, `<invalid>` if the text is not a timestamp.
pub(crate) fn since(at: &str, now: Timestamp) -> String {
    if at.is_empty() {
        return UNKNOWN.to_owned();
    }
    match at.parse::<Timestamp>() {
        Ok(at) => human(seconds_between(at, now)),
        Err(_) => "<invalid>".to_owned(),
    }
}

/// A duration in words: `90s`, `3m5s`, `25m`, `4h10m`, `30h`, `3d4h`, `100d`, `3y20d`, `9y`.
pub(crate) fn human(seconds: i64) -> String {
    // Clocks may differ a little; what lies further in the future is no age.
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    if seconds < 2 * 60 {
        format!("{seconds}s")
    } else if minutes < 10 {
        two(minutes, "m", seconds % 60, "s")
    } else if minutes < 3 * 60 {
        format!("{minutes}m")
    } else if hours < 8 {
        two(hours, "h", minutes % 60, "m")
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        two(days, "d", hours % 24, "h")
    } else if years < 2 {
        format!("{days}d")
    } else if years < 8 {
        two(years, "y", days % 365, "d")
    } else {
        format!("{years}y")
    }
}

/// Whole seconds, cut off towards zero.
fn seconds_between(at: Timestamp, now: Timestamp) -> i64 {
    let nanoseconds = now.as_nanosecond() - at.as_nanosecond();
    // Timestamps are within some 10,000 years.
    i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(i64::MAX)
}

fn two(big: i64, big_unit: &str, small: i64, small_unit: &str) -> String {
    if small == 0 {
        format!("{big}{big_unit}")
    } else {
        format!("{big}{big_unit}{small}{small_unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_shows_the_figures_that_matter() {
        let (minute, hour, day) = (60, 3600, 24 * 3600);
        for (seconds, expected) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (2 * minute, "2m"),
            (9 * minute + 59, "9m59s"),
            (10 * minute + 59, "10m"),
            (3 * hour - 1, "179m"),
            (3 * hour, "3h"),
            (7 * hour + 59 * minute, "7h59m"),
            (8 * hour + 59 * minute, "8h"),
            (2 * day - 1, "47h"),
            (2 * day, "2d"),
            (7 * day + 23 * hour, "7d23h"),
            (8 * day + 23 * hour, "8d"),
            (2 * 365 * day - 1, "729d"),
            (2 * 365 * day, "2y"),
            (7 * 365 * day + 364 * day, "7y364d"),
            (8 * 365 * day, "8y"),
            (i64::MAX, "292471208677y"),
        ] {
            assert_eq!(human(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn an_age_is_counted_from_a_timestamp() {
        let now = Timestamp::from_second(1_000_000_000).unwrap_or_default();
        for (at, expected) in [
            ("", "<unknown>"),
            ("yesterday", "<invalid>"),
            ("2001-09-09T01:46:30Z", "10s"),
            ("2001-09-09T03:46:30.5+02:00", "9s"),
            ("2001-09-09T01:46:41Z", "0s"),
            ("2001-09-09T01:47:40Z", "<invalid>"),
        ] {
            assert_eq!(since(at, now), expected, "{at}");
        }
    }
}
