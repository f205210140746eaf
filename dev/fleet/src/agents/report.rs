//! The measured figures of a fleet of agents.

use serde::Serialize;

use super::faults::FaultOutcome;
use super::spread::Spread;

/// The measured figures. Times are in seconds, memory in MiB.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) agents: usize,
    /// From the start of the first agent until the hub manages the last cluster.
    pub(crate) managed_s: f64,
    /// From the hub's acceptance of a cluster until it reports it as available.
    pub(crate) accepted_to_available: Option<Spread>,
    /// From the start of an agent until the hub reports its cluster as available.
    pub(crate) started_to_available: Option<Spread>,
    /// All writes of the hub until then.
    pub(crate) join_writes: i64,
    pub(crate) join: Usage,
    /// What the agents' process had before the first agent.
    pub(crate) resident_before_mib: f64,
    pub(crate) rest_s: u64,
    /// Writes of the hub meanwhile: renewals of Leases, if nothing else happens.
    pub(crate) rest_writes: i64,
    /// Requests that the hub has answered meanwhile, if it counts them: those of the agents, of the controller and of the hub itself.
    pub(crate) rest_requests: Option<f64>,
    pub(crate) rest: Usage,
    /// More than before the first agent, at the end of the rest. Agents that can be cut off have two more each.
    pub(crate) connections: usize,
    pub(crate) faults: Vec<FaultOutcome>,
}

/// CPU in a period, and memory at its end.
#[derive(Debug, Serialize)]
pub(crate) struct Usage {
    pub(crate) agents: Process,
    pub(crate) controller: Process,
    /// Of a hub that this tool has started.
    pub(crate) hub: Option<Process>,
}

/// CPU of a process in a period, and its memory at the end.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Process {
    pub(crate) cpu_s: f64,
    pub(crate) resident_mib: f64,
}

// === impl Report ===

impl Report {
    pub(crate) fn rows(&self) -> Vec<(String, String)> {
        let row = |what: &str, figure: String| (what.to_owned(), figure);
        let times = |spread: Option<Spread>| {
            spread.map_or("-".to_owned(), |it| {
                format!("{:.2} s, {:.2} s", it.median_s, it.p99_s)
            })
        };
        let each = self.agents.max(1) as f64;
        let minutes = (self.rest_s.max(1) as f64) / 60.0;
        let per_agent = (self.rest.agents.resident_mib - self.resident_before_mib) * 1024.0 / each;
        let mut rows = vec![
            (
                format!("{} agents managed", self.agents),
                format!("{:.1} s", self.managed_s),
            ),
            row(
                "  accepted to available (median, p99)",
                times(self.accepted_to_available),
            ),
            row("  started to available", times(self.started_to_available)),
            row(
                "  writes per cluster",
                format!("{:.1}", self.join_writes as f64 / each),
            ),
        ];
        rows.extend(self.join.rows());
        rows.extend([
            (
                format!("at rest for {} s", self.rest_s),
                format!("{} writes", self.rest_writes),
            ),
            row(
                "  writes per agent and minute",
                format!("{:.2}", self.rest_writes as f64 / each / minutes),
            ),
        ]);
        rows.extend(self.rest_requests.map(|requests| {
            row(
                "  requests per agent and minute",
                format!("{:.2}", requests / each / minutes),
            )
        }));
        rows.extend(self.rest.rows());
        rows.extend([
            row("  resident per agent", format!("{per_agent:.0} KiB")),
            row(
                "  connections per agent",
                format!("{:.2}", self.connections as f64 / each),
            ),
        ]);
        rows.extend(self.faults.iter().flat_map(FaultOutcome::rows));
        rows
    }
}

// === impl Usage ===

impl Usage {
    fn rows(&self) -> Vec<(String, String)> {
        let row = |what: &str, process: Process| {
            let Process {
                cpu_s,
                resident_mib,
            } = process;
            let what = format!("  CPU, resident: {what}");
            (what, format!("{cpu_s:.2} s, {resident_mib:.1} MiB"))
        };
        let mut rows = vec![
            row("all agents", self.agents),
            row("controller", self.controller),
        ];
        rows.extend(self.hub.map(|hub| row("hub", hub)));
        rows
    }
}
