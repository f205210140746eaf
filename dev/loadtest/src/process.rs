//! CPU and memory of a process on Linux, from `/proc/PID/stat` and `/proc/PID/status`; see proc(5).

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

/// The unit of the times in `/proc/PID/stat`: one over USER_HZ, which is part of the kernel's ABI and 100 on every
/// supported architecture, independent of the kernel's own tick.
const TICK: Duration = Duration::from_millis(10);

/// Memory of a process, in KiB.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Memory {
    /// Current resident memory (VmRSS).
    pub(crate) rss_kib: u64,
    /// Maximum resident memory since the process started (VmHWM).
    pub(crate) peak_kib: u64,
}

/// Returns the CPU time of all threads since the process started, in user and kernel mode. Resolution 10 ms.
///
/// # Errors
/// The process does not exist.
pub(crate) fn cpu_time(pid: u32) -> Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let stat = fs::read_to_string(&path).with_context(|| gone(pid, &path))?;
    parse_cpu(&stat).with_context(|| format!("{path} has no utime and stime"))
}

/// # Errors
/// The process does not exist.
pub(crate) fn memory(pid: u32) -> Result<Memory> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| gone(pid, &path))?;
    parse_memory(&status)
        .with_context(|| format!("{path} has no VmRSS and VmHWM: is process {pid} dead?"))
}

fn gone(pid: u32, path: &str) -> String {
    format!(
        "cannot read {path}: process {pid} has ended, or --pid is not a process on this machine"
    )
}

fn parse_cpu(stat: &str) -> Option<Duration> {
    // Field 2 is the program's name in parentheses, and may contain spaces and parentheses itself.
    let (_, after_name) = stat.rsplit_once(')')?;
    // Fields 14 and 15; the first after the name is field 3.
    let mut fields = after_name.split_ascii_whitespace().skip(14 - 3);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    TICK.checked_mul(user.checked_add(system)?)
}

fn parse_memory(status: &str) -> Option<Memory> {
    let kib = |name: &str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    };
    Some(Memory {
        rss_kib: kib("VmRSS")?,
        peak_kib: kib("VmHWM")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_is_read_past_a_name_with_parentheses() {
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 3 0 1000 0 0";
        assert_eq!(parse_cpu(stat), Some(Duration::from_secs(3)));
        assert_eq!(parse_cpu("42 (a) S 1"), None);
    }

    #[test]
    fn memory_is_read_in_kib() {
        let status = "Name:\tbare\nVmPeak:\t  9000 kB\nVmHWM:\t    5200 kB\nVmRSS:\t    4100 kB\n";
        assert_eq!(
            parse_memory(status),
            Some(Memory {
                rss_kib: 4100,
                peak_kib: 5200
            })
        );
        assert_eq!(parse_memory("Name:\tzombie\nState:\tZ (zombie)\n"), None);
    }

    #[test]
    fn no_process_is_named_in_the_error() {
        // Above the kernel's greatest pid, 2^22.
        let error = cpu_time(1 << 23).unwrap_err();
        assert!(
            error.to_string().contains("process 8388608 has ended"),
            "{error:#}"
        );
    }
}
