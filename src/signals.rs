//! How the process is told to stop.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The first SIGTERM or SIGINT cancels `shutdown`, which asks for an orderly end. The future is done at the second one,
/// which asks for an end at once; it must be polled for either to be noticed.
///
/// # Errors
/// When signals cannot be listened to.
pub(crate) fn told_twice(shutdown: CancellationToken) -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        let mut told = async || {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        told().await;
        shutdown.cancel();
        told().await;
    })
}
