//! The length of the suite.

use std::time::Duration;

use jiff::SignedDuration;

const HOUR: Duration = Duration::from_secs(3600);

/// The length of the soak; `None` for the short form.
fn asked_for() -> Option<Duration> {
    let text = std::env::var("BERTH_FAULTS").ok()?;
    match text.as_str() {
        "" | "short" => None,
        "long" => Some(HOUR),
        text => {
            let duration: SignedDuration = text.parse().unwrap();
            Some(duration.try_into().unwrap())
        }
    }
}

/// The number of repetitions of a fault: enough to find rare errors.
pub fn times(short: usize) -> usize {
    // With a soak of an hour, each fault takes some minutes.
    match asked_for() {
        None => short,
        Some(soak) => short * (1 + usize::try_from(soak.as_secs() / 360).unwrap()),
    }
}

/// The length of the soak.
pub fn soak(short: Duration) -> Duration {
    asked_for().unwrap_or(short)
}
