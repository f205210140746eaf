//! How long a request may take: the time that the API server waits for the response, less a tenth.

use std::time::Duration;

use jiff::SignedDuration;

/// How long an API server waits if it sends no timeout.
const DEFAULT: Duration = Duration::from_secs(10);

/// The longest time that an API server waits for a webhook.
const LONGEST: Duration = Duration::from_secs(30);

/// The time for a request, from the query of its URL: the API server sends how long it waits (`?timeout=10s`, a Go
/// duration). A tenth is reserved for the transfer of the response.
pub fn budget(query: Option<&str>) -> Duration {
    let timeout = query
        .and_then(|query| {
            query
                .split('&')
                .find_map(|pair| pair.strip_prefix("timeout="))
        })
        .and_then(|timeout| timeout.parse::<SignedDuration>().ok())
        .and_then(|timeout| Duration::try_from(timeout).ok())
        .filter(|timeout| !timeout.is_zero())
        .unwrap_or(DEFAULT);
    timeout.min(LONGEST) * 9 / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_the_timeout_less_a_tenth() {
        for (query, milliseconds, why) in [
            (None, 9_000, "no query"),
            (Some("timeout=10s"), 9_000, "what API servers send"),
            (Some("timeout=5s"), 4_500, "our registrations"),
            (
                Some("a=b&timeout=1m0s"),
                27_000,
                "longer than any API server waits",
            ),
            (Some("timeout=500ms"), 450, "milliseconds"),
            (Some("timeout=1.5s"), 1_350, "fractions"),
            (Some("timeout=0s"), 9_000, "no time at all"),
            (Some("timeout=-3s"), 9_000, "less than none"),
            (Some("timeout="), 9_000, "empty"),
            (Some("timeout=soon"), 9_000, "no duration"),
            (
                Some("timeout=99999999999999999999s"),
                9_000,
                "beyond numbers",
            ),
        ] {
            assert_eq!(budget(query), Duration::from_millis(milliseconds), "{why}");
        }
    }
}
