//! A pseudo-terminal, and a user who types in it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::Command;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Runs a command at a terminal of so many columns, where somebody types this; returns all that is seen there, and the exit
/// code.
pub async fn at_a_terminal(mut command: Command, columns: u16, typed: &str) -> (String, i32) {
    let typed = typed.to_owned();
    let run = move || {
        let (ours, its) = terminal(columns);
        let [stdin, stdout] = [(); 2].map(|()| its.try_clone().unwrap());
        command.stdin(stdin).stdout(stdout).stderr(its);
        let mut child = command.spawn().unwrap();
        // The command keeps the terminal: without this, the reading would not end when it ends.
        drop(command);
        let mut ours = File::from(ours);
        ours.write_all(typed.as_bytes()).unwrap();
        let mut seen = Vec::new();
        // When the last who has it open is gone, a terminal fails to be read.
        let _ = ours.read_to_end(&mut seen);
        let code = child.wait().unwrap().code().unwrap_or(-1);
        (String::from_utf8(seen).unwrap(), code)
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

/// Both ends of a terminal.
fn terminal(columns: u16) -> (OwnedFd, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let its = open(name.as_c_str(), flags, Mode::empty()).unwrap();
    let size = Winsize {
        ws_row: 25,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&its, size).unwrap();
    (ours, its)
}
