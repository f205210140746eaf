//! A self-signed certificate in memory, for ports whose clients (the kubelet's probes, scrapers) do not verify it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use crate::issue::{IssueError, Issued, self_signed};
use crate::pair::Pair;
use crate::pem::{CertError, Digest, PemFile, Problem};
use crate::serving::PairSource;

/// The validity of a certificate, and the part of it that is left when it is replaced.
const VALIDITY: Duration = Duration::from_secs(30 * 24 * 3600);
const RENEWED_BEFORE: Duration = Duration::from_secs(10 * 24 * 3600);

/// Its name in messages.
const NAME: &str = "the self-signed certificate";

/// A pair for `localhost`, `127.0.0.1` and `::1`, from an authority whose key is not kept. It is not written to disk, and
/// is replaced before it expires.
#[derive(Debug, Default)]
pub struct SelfSigned {
    current: Mutex<Option<Issued>>,
}

impl PairSource for SelfSigned {
    fn load(&self, now: Timestamp) -> Result<Pair, CertError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let issued = match current.take() {
            Some(issued) if lasts(&issued, now) => issued,
            _ => self_signed(VALIDITY, now).map_err(|error| failed(&error))?,
        };
        let file = |pem: &str| PemFile {
            name: NAME.to_owned(),
            content: pem.as_bytes().to_vec(),
        };
        let pair = Pair::from_pem(&file(&issued.certificate_pem), &file(&issued.key_pem), now);
        *current = Some(issued);
        pair
    }
}

/// Returns true if it is valid and not due for renewal.
fn lasts(issued: &Issued, now: Timestamp) -> bool {
    let left = Duration::try_from(issued.not_after.duration_since(now));
    now >= issued.not_before && left.is_ok_and(|left| left > RENEWED_BEFORE)
}

fn failed(error: &IssueError) -> CertError {
    CertError {
        file: NAME.to_owned(),
        problem: Problem::Malformed(error.to_string()),
        content: Digest::of(&[]),
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn it_stays_the_same_until_it_is_renewed_in_time() {
        let source = SelfSigned::default();
        let now = Timestamp::now();
        let after = |days: i64| now + SignedDuration::from_hours(24 * days);
        let first = source.load(now).unwrap();
        assert_eq!(source.load(after(19)).unwrap().digest, first.digest);
        let second = source.load(after(21)).unwrap();
        assert_ne!(second.digest, first.digest);
        assert!(second.is_valid_at(after(50)));
        assert_ne!(
            source.load(after(-1)).unwrap().digest,
            second.digest,
            "a clock that was set back"
        );
    }
}
