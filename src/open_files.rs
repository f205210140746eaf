//! The limit on open files, which include connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files reserved for other uses than connections of clients: the hub, health, metrics, certificates.
const OWN: usize = 256;

/// Raises the limit on open files to its maximum, as programs in Go do. The default is 1,024 in many containers.
pub(crate) fn ask_for_all() {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // After an error, the limit on connections is lower.
    let _ = setrlimit(Resource::Nofile, all);
}

/// Returns the wanted number of connections, or a lower one that leaves enough files for other uses.
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
