//! Signals that stop the process: SIGTERM and SIGINT.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Runs `work` until it ends. The first signal cancels its token, for an orderly stop. The second one drops it; the error says that, and
/// what it left out, such as ", without draining".
///
/// # Errors
/// The error of `work`, or the second signal came, or the signal handlers cannot be installed.
pub(crate) async fn stop_orderly<T>(
    left_out: &str,
    work: impl AsyncFnOnce(CancellationToken) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let stop = CancellationToken::new();
    let second_signal = second_signal(stop.clone())?;
    tokio::select! {
        ended = work(stop) => ended,
        () = second_signal => anyhow::bail!("second signal: stopped immediately{left_out}"),
    }
}

/// Completes at the second signal. The first one cancels `shutdown`. Signals are handled only while the future is polled.
fn second_signal(shutdown: CancellationToken) -> io::Result<impl Future<Output = ()>> {
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
