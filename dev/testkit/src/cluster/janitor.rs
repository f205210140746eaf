//! Cleans up after this process, however it ends.
//!
//! A shared hub is never dropped, and a killed process drops nothing. So a shell gets the name of every process and folder when
//! it is created. The shell waits until the pipe from this process closes, which the system does however this process ends, and
//! then kills and removes what is left. It has its own process group, so that Ctrl-C does not reach it.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex};

const SCRIPT: &str = r#"
trap '' HUP INT TERM
pids=' '
while read -r what which; do
    case $what in
    kill) pids="$pids$which " ;;
    spare) pids="${pids%% "$which" *} ${pids#* "$which" }" ;;
    remove) set -- "$@" "$which" ;;
    esac
done
[ "$pids" = ' ' ] || kill -9 $pids
for folder; do
    # A killed process may write for a moment yet.
    for again in 1 2 3 4 5 6 7 8 9 10; do
        rm -rf "$folder" && [ ! -e "$folder" ] && break
        sleep 0.1
    done
done
"#;

static JANITOR: LazyLock<Mutex<Child>> = LazyLock::new(|| {
    let shell = Command::new("sh")
        .args(["-c", SCRIPT, "sh"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    Mutex::new(shell)
});

/// A process that ends when this is dropped, or with this process.
pub struct Process {
    /// The process.
    pub child: Child,
    _watched: Watched,
}

/// A process that its owner ends; if this process ends before, the janitor ends it.
pub struct Watched(u32);

/// Removes a folder when this process has ended.
pub fn remove_at_the_end(folder: &Path) {
    tell(&format!("remove {}", folder.display()));
}

fn tell(line: &str) {
    let mut janitor = JANITOR.lock().unwrap();
    writeln!(janitor.stdin.as_mut().unwrap(), "{line}").unwrap();
}

impl Process {
    /// Starts the command.
    pub fn spawn(command: &mut Command) -> Self {
        let child = command
            .stdin(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let watched = Watched::new(&child);
        Self {
            child,
            _watched: watched,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Watched {
    /// Lets the janitor end this process when the current process ends.
    pub fn new(child: &Child) -> Self {
        tell(&format!("kill {}", child.id()));
        Self(child.id())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Another process may get the same number.
        tell(&format!("spare {}", self.0));
    }
}
