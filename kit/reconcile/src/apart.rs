//! Computations that take long.

use tokio::task::spawn_blocking;

/// Runs a computation on a thread of its own, so that the other tasks of the runtime go on: those that renew Leases are among them.
///
/// When the returned future is dropped, the computation goes on, and its result is dropped.
///
/// # Panics
/// The computation panics.
pub async fn apart<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(run).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}
