//! `--terminate-on-files`: the process ends when the content of one of these files changes, as OCM's components do.

use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How often the files are read, as by OCM's components.
const PERIOD: Duration = Duration::from_secs(10);

/// Upper bound on the bytes that are compared of a file.
const LARGEST: u64 = 1 << 20;

/// Cancels `stop` when a file has changed. Ends when `stop` is cancelled. A file that cannot be read counts as empty.
pub(crate) async fn watch(files: &[PathBuf], stop: CancellationToken) {
    let before = contents(files).await;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(PERIOD), if !files.is_empty() => {}
        }
        let now = contents(files).await;
        if let Some(at) = (0..files.len()).find(|at| before[*at] != now[*at]) {
            tracing::info!(file = %files[at].display(), "the file has changed: stopping, because of --terminate-on-files");
            return stop.cancel();
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
