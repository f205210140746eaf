//! Commands of users: `berth`, and kubectl from `PATH` or from the variable `KUBECTL`.

use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

use super::{Person, say_skipped};

/// The oldest minor version that the tests support.
const OLDEST: u32 = 28;

/// The result of a command.
#[derive(Clone, Debug)]
pub struct Output {
    /// The exit code; -1 after a signal.
    pub code: i32,
    /// Its stdout.
    pub stdout: String,
    /// Its stderr.
    pub stderr: String,
}

/// The path of kubectl, or the reason why it cannot be used.
static KUBECTL: LazyLock<Result<OsString, String>> = LazyLock::new(|| {
    let program = std::env::var_os("KUBECTL").unwrap_or_else(|| "kubectl".into());
    let output = Command::new(&program)
        .args(["version", "--client", "-o", "json"])
        .output()
        .map_err(|error| format!("no {}: {error}", program.display()))?;
    let version: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{} tells no version: {error}", program.display()))?;
    let minor = version["clientVersion"]["minor"]
        .as_str()
        .unwrap_or_default();
    let digits = minor.trim_end_matches(|c: char| !c.is_ascii_digit());
    match digits.parse::<u32>() {
        Ok(minor) if minor >= OLDEST => Ok(program),
        _ => Err(format!("kubectl is 1.{minor}, older than 1.{OLDEST}")),
    }
});

/// Returns true if kubectl can be used; otherwise prints the reason.
#[must_use]
pub fn kubectl_is_there() -> bool {
    if let Err(why) = &*KUBECTL {
        say_skipped(why);
    }
    KUBECTL.is_ok()
}

impl Output {
    /// The stdout of a success. Panics at an error.
    #[track_caller]
    pub fn ok(&self) -> &str {
        assert_eq!(self.code, 0, "{self:?}");
        &self.stdout
    }

    /// The stderr of an error. Panics at a success.
    #[track_caller]
    pub fn failed(&self) -> &str {
        assert_eq!(self.code, 1, "{self:?}");
        &self.stderr
    }
}

impl Person {
    /// The command for kubectl as this user, for tests that start it in another way than [`kubectl`](Self::kubectl).
    pub fn kubectl_command(&self, args: &[&str]) -> Command {
        let program = KUBECTL.as_ref().unwrap_or_else(|why| panic!("{why}"));
        let mut command = Command::new(program);
        command
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            // The folder of its cache and of failed edits; it reads no files of the developer.
            .env("HOME", &self.home)
            .env("TMPDIR", &self.home)
            .env("KUBECACHEDIR", self.home.join("cache"))
            .env_remove("KUBERC")
            .env("LC_ALL", "C");
        command
    }

    /// The command for `berth` as this user. Panics in tests of a package without that program.
    pub fn berth_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(crate::program());
        command
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", &self.home)
            .env("NO_COLOR", "1")
            .env_remove("RUST_LOG");
        command
    }

    /// Runs `berth` to its end.
    pub async fn berth(&self, args: &[&str]) -> Output {
        finish(self.berth_command(args), "").await
    }

    /// Runs kubectl to its end.
    pub async fn kubectl(&self, args: &[&str]) -> Output {
        self.kubectl_reading("", args).await
    }

    /// Runs kubectl to its end, with this stdin.
    pub async fn kubectl_reading(&self, stdin: &str, args: &[&str]) -> Output {
        finish(self.kubectl_command(args), stdin).await
    }
}

/// Runs a command to its end, with this stdin.
pub async fn finish(mut command: Command, stdin: &str) -> Output {
    let stdin = stdin.to_owned();
    let run = move || {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It may end without reading its stdin.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        child.wait_with_output().unwrap()
    };
    // Not on a thread of the runtime, on which a test may run servers.
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}
