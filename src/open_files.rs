//! How many files, connections among them, this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Kept back for everything that is no client's connection: the hub, health, metrics, certificates.
const OWN: usize = 256;

/// Asks for as many open files as the process may have, as programs in Go do: what it is given by default is meant for
/// programs of the last century, and is 1,024 in many containers.
pub(crate) fn ask_for_all() {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // If not, the number of connections is smaller.
    let _ = setrlimit(Resource::Nofile, all);
}

/// As many connections as are wanted, or as leave enough files for everything else.
pub(crate) fn connections(wanted: usize) -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    bounded(wanted, usize::try_from(files).unwrap_or(usize::MAX))
}

fn bounded(wanted: usize, files: usize) -> usize {
    wanted.min(files.saturating_sub(OWN).max(files / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_everything_else() {
        for (files, connections) in [
            (usize::MAX, 2000),
            (20_000, 2000),
            (1024, 768),
            (256, 128),
            (0, 0),
        ] {
            assert_eq!(bounded(2000, files), connections, "{files}");
        }
    }
}
