//! Reads and decides again after a conflict.

use std::time::Duration;

use berth_hub::Backoff;

use super::failure::CommandError;

/// Limit on the retries after conflicts.
const RETRIES: u32 = 4;

/// Calls the function, and calls it again while it fails because the object has changed since it was read.
///
/// # Errors
/// The error of the last call.
pub(crate) async fn deciding_again<T>(
    mut decide_and_write: impl AsyncFnMut() -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let mut backoff = Backoff::new(Duration::from_millis(40), Duration::from_secs(1));
    loop {
        match decide_and_write().await {
            Err(failure) if failure.is_conflict() && backoff.failures() < RETRIES => {
                tokio::time::sleep(backoff.pause()).await;
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::response::Status;

    use super::*;

    fn failed(reason: &str) -> CommandError {
        CommandError::Api(Box::new(Status {
            code: 409,
            reason: reason.to_owned(),
            ..Status::default()
        }))
    }

    async fn tries_until(wins: usize, reason: &str) -> (usize, bool) {
        let mut tries = 0;
        let result = deciding_again(async || {
            tries += 1;
            if tries == wins {
                Ok(())
            } else {
                Err(failed(reason))
            }
        });
        let ok = result.await.is_ok();
        (tries, ok)
    }

    #[tokio::test]
    async fn only_conflicts_are_met_again_and_not_for_ever() {
        assert_eq!(tries_until(1, "Conflict").await, (1, true));
        assert_eq!(tries_until(3, "Conflict").await, (3, true));
        assert_eq!(tries_until(9, "Conflict").await, (5, false));
        assert_eq!(tries_until(3, "AlreadyExists").await, (1, false));
    }
}
