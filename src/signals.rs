//! Signals that stop the process.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Handles SIGTERM and SIGINT. The first one cancels `shutdown`, for an orderly stop. The future completes at the second one, for
/// an immediate stop. Signals are handled only while the future is polled.
///
/// # Errors
/// The signal handlers cannot be installed.
pub(crate) fn second_signal(shutdown: CancellationToken) -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        let mut next = async || {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        next().await;
        shutdown.cancel();
        next().await;
    })
}
