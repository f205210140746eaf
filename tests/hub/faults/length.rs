//! How long the suite is at it.

use std::time::Duration;

use jiff::SignedDuration;

const HOUR: Duration = Duration::from_secs(3600);

/// How long the soak takes; none in the short form.
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

/// How often a fault is repeated: often enough to find what is rare.
pub fn times(short: usize) -> usize {
    // An hour's soak goes with some minutes of each.
    match asked_for() {
        None => short,
        Some(soak) => short * (1 + usize::try_from(soak.as_secs() / 360).unwrap()),
    }
}

/// How long the soak takes.
pub fn soak(short: Duration) -> Duration {
    asked_for().unwrap_or(short)
}
