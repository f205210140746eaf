//! `--terminate-on-files`: the process ends when the content of one of these files changes, as OCM's components do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How often the files are read, as by OCM's components.
const PERIOD: Duration = Duration::from_secs(10);

/// Upper bound on the bytes that are compared of a file.
const LARGEST: u64 = 1 << 20;

/// Waits for `run`, which ends when `stop` is cancelled, and returns its result. Cancels `stop` when a file has changed.
pub(crate) async fn until_changed<T>(
    files: &[PathBuf],
    stop: &CancellationToken,
    run: impl Future<Output = T>,
) -> T {
    let mut run = std::pin::pin!(run);
    let file = tokio::select! {
        ended = &mut run => return ended,
        file = changed(files) => file,
    };
    tracing::info!(file = %file.display(), "the file has changed: stopping, because of --terminate-on-files");
    stop.cancel();
    run.await
}

/// Waits until one of the files has changed. A file that cannot be read counts as empty.
async fn changed(files: &[PathBuf]) -> &Path {
    if files.is_empty() {
        return std::future::pending().await;
    }
    let before = contents(files).await;
    loop {
        tokio::time::sleep(PERIOD).await;
        let now = contents(files).await;
        if let Some(at) = (0..files.len()).find(|at| before[*at] != now[*at]) {
            return &files[at];
        }
    }
}

async fn contents(files: &[PathBuf]) -> Vec<Vec<u8>> {
    let mut contents = Vec::new();
    for file in files {
        let is_small = tokio::fs::metadata(file)
            .await
            .is_ok_and(|it| it.len() <= LARGEST);
        let content = match is_small {
            true => tokio::fs::read(file).await.unwrap_or_default(),
            false => Vec::new(),
        };
        contents.push(content);
    }
    contents
}
