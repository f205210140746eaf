//! The page in a browser: `console/web/tests`, with Chromium.
//!
//! A play is a script that node runs. It gets what it needs, such as the addresses of consoles, in variables of its environment.

use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::time::Duration;

use tokio::time::timeout;

use crate::repository;

/// No play takes longer.
const LONGEST: Duration = Duration::from_secs(600);

/// The folder of the page. None, and a line on standard error, where node, its packages or Chromium are missing.
#[allow(clippy::print_stderr, reason = "a test that skips itself says so")]
pub fn stage() -> Option<PathBuf> {
    let web = repository("console/web");
    let starts = |program: &Path| {
        let run = process::Command::new(program)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        run.is_ok_and(|it| it.success())
    };
    let chromium = std::env::var_os("CHROMIUM").unwrap_or_else(|| "/usr/bin/chromium".into());
    let can = starts(Path::new("node"))
        && starts(Path::new(&chromium))
        && web.join("node_modules/playwright-core").exists();
    if !can {
        eprintln!(
            "SKIPPED: no node, no Chromium, or no packages (npm ci in console/web): the console was not played in a browser"
        );
    }
    can.then_some(web)
}

/// Plays a file of the folder.
///
/// # Panics
/// The play fails, with what the pages showed, or does not end within ten minutes.
pub async fn play(file: &Path, variables: &[(&str, &str)]) {
    let mut node = tokio::process::Command::new("node");
    node.arg(file)
        .envs(variables.iter().copied())
        .kill_on_drop(true);
    let ended = timeout(LONGEST, node.output()).await;
    let output = ended.expect("it ends in time").unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(output.stdout.ends_with(b"all of it was seen\n"), "{said}");
}
