//! Registrations that do not exist, and when certificates may rotate without them.
//!
//! A registration may be left out for good, or be missing for a moment: a user deletes it and applies it again, with the bundle
//! of a stored manifest. So a missing registration holds up a rotation for as long as a published authority settles. After
//! that it counts as left out.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::settings::Registration;

/// The registrations that do not exist, on the API server's own word, and since when this process knows.
#[derive(Debug, Default)]
pub(crate) struct Absent {
    since: BTreeMap<String, Since>,
}

#[derive(Debug)]
struct Since {
    at: Instant,
    is_reported: bool,
}

// === impl Absent ===

impl Absent {
    /// Notes that a registration exists.
    pub(crate) fn found(&mut self, registration: &Registration) {
        self.since.remove(&registration.to_string());
    }

    /// Notes that a registration does not exist now.
    pub(crate) fn missed(&mut self, registration: &Registration) {
        self.since
            .entry(registration.to_string())
            .or_insert_with(|| Since {
                at: Instant::now(),
                is_reported: false,
            });
    }

    /// The number of registrations that do not exist.
    pub(crate) fn count(&self) -> usize {
        self.since.len()
    }

    /// Returns until when missing registrations hold up a rotation. `None`: each exists or counts as left out. Those that count
    /// as left out are logged once.
    pub(crate) fn waits_until(&mut self, settle: Duration) -> Option<Instant> {
        let now = Instant::now();
        let mut until = None;
        for (registration, since) in &mut self.since {
            let end = since.at + settle;
            if end > now {
                until = until.max(Some(end));
            } else if !since.is_reported {
                since.is_reported = true;
                tracing::warn!(
                    registration,
                    "the registration does not exist: certificates are renewed without it"
                );
            }
        }
        until
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::RegistrationKind;

    #[tokio::test(start_paused = true)]
    async fn a_missing_registration_is_waited_for_as_long_as_it_settles() {
        let settle = Duration::from_secs(60);
        let registration = |name: &str| Registration {
            kind: RegistrationKind::Validating,
            name: name.to_owned(),
        };
        let (one, two) = (registration("one"), registration("two"));
        let mut absent = Absent::default();
        assert_eq!(absent.waits_until(settle), None);
        absent.missed(&one);
        let first = Instant::now() + settle;
        tokio::time::advance(settle / 2).await;
        absent.missed(&one);
        assert_eq!(
            absent.waits_until(settle),
            Some(first),
            "it counts from the first time"
        );
        absent.missed(&two);
        assert_eq!(absent.waits_until(settle), Some(first + settle / 2));
        tokio::time::advance(settle / 2).await;
        assert_eq!(absent.waits_until(settle), Some(first + settle / 2));
        absent.found(&two);
        assert_eq!((absent.waits_until(settle), absent.count()), (None, 1));
        absent.missed(&two);
        assert_eq!(
            absent.waits_until(settle),
            Some(Instant::now() + settle),
            "it counts anew"
        );
    }
}
