//! The report of a run, as text and as JSON.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::check::{Counted, Faults};
use crate::latency::Latencies;
use crate::text::{thousands, three_digits};
use crate::worker::{Count, Tally};

/// The report of one run. Only successful calls within the measured window count; failures count over the whole run, including the
/// warm-up.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    name: String,
    target: String,
    /// Description of the calls.
    sent: String,
    connections: usize,
    /// `closed`, or `open` at a rate.
    #[serde(rename = "loop")]
    loop_: &'static str,
    /// In an open loop, the calls that were due per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
    /// The measured window, without the warm-up.
    seconds: f64,
    /// The kind of a call.
    call: Call,
    /// Calls with a response within the window.
    calls: u64,
    pub(crate) calls_per_second: f64,
    /// Time from when a call was due (open loop), or sent (closed loop), to its response.
    pub(crate) latency_ms: Percentiles,
    verdicts: Verdicts,
    kinds: Vec<KindReport>,
    /// CPU and memory of the server's process, with `--pid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<Server>,
    /// CPU time of the load tool in the window. If it is near `seconds` times the threads, the tool limits the throughput.
    client_cpu_seconds: f64,
    /// Connections that were reopened because the old one failed or was closed after a response.
    reconnects: u64,
    failures: Faults,
    interrupted: bool,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) p99_9: f64,
    pub(crate) max: f64,
}

#[derive(Debug, Serialize)]
struct Verdicts {
    allowed: u64,
    denied: u64,
    /// Responses with 429 or 500: not decided.
    undecided: u64,
}

#[derive(Debug, Serialize)]
struct KindReport {
    kind: String,
    #[serde(flatten)]
    verdicts: Verdicts,
    failed: u64,
    latency_ms: Percentiles,
}

#[derive(Debug, Serialize)]
pub(crate) struct Server {
    pid: u32,
    cpu_seconds: f64,
    /// `None` if the window was too short to measure CPU.
    pub(crate) calls_per_cpu_second: Option<f64>,
    pub(crate) memory_kib: Resident,
}

/// Resident memory: before the first connection, at the end, and the maximum in between.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Resident {
    before: u64,
    pub(crate) after: u64,
    pub(crate) peak: u64,
}

/// The unit of the figures.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Call {
    /// One request to a webhook.
    Review,
    /// One request to an API server, which can call several webhooks or none.
    Write,
}

impl Call {
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Review => "reviews",
            Self::Write => "writes",
        }
    }
}

/// The parameters of the run.
#[derive(Clone)]
pub(crate) struct Plan {
    /// The name of the target.
    pub(crate) name: String,
    /// The address of the target.
    pub(crate) target: String,
    pub(crate) sent: String,
    pub(crate) connections: usize,
    pub(crate) call: Call,
    /// Labels of the calls.
    pub(crate) labels: Vec<String>,
    /// The progress line.
    pub(crate) title: String,
}

/// Calls and CPU time in the window.
pub(crate) struct Usage {
    /// Successful calls.
    pub(crate) calls: u64,
    pub(crate) elapsed: Duration,
    pub(crate) client_cpu: Duration,
    pub(crate) server: Option<ServerUsage>,
    pub(crate) rate: Option<f64>,
    pub(crate) interrupted: bool,
}

/// CPU and memory of the server's process.
#[derive(Clone, Copy)]
pub(crate) struct ServerUsage {
    pub(crate) pid: u32,
    pub(crate) cpu: Duration,
    pub(crate) before_kib: u64,
    pub(crate) after_kib: u64,
    pub(crate) peak_kib: u64,
}

// === impl Report ===

impl Report {
    pub(crate) fn new(plan: Plan, tally: Tally, usage: &Usage) -> Self {
        let total = tally.total();
        let Tally {
            counts,
            reconnects,
            faults,
        } = tally;
        // Counts of this size are exact in an f64.
        let count = usage.calls as f64;
        let seconds = usage.elapsed.as_secs_f64();
        let kinds = plan.labels.into_iter().zip(&counts);
        Self {
            name: plan.name,
            target: plan.target,
            sent: plan.sent,
            connections: plan.connections,
            loop_: if usage.rate.is_some() {
                "open"
            } else {
                "closed"
            },
            rate: usage.rate,
            seconds,
            call: plan.call,
            calls: usage.calls,
            calls_per_second: if seconds > 0.0 { count / seconds } else { 0.0 },
            latency_ms: Percentiles::of(&total.latencies),
            verdicts: Verdicts::of(&total),
            kinds: kinds
                .map(|(kind, count)| KindReport {
                    kind,
                    verdicts: Verdicts::of(count),
                    failed: count.failed,
                    latency_ms: Percentiles::of(&count.latencies),
                })
                .collect(),
            server: usage.server.map(|used| Server::new(used, count)),
            client_cpu_seconds: usage.client_cpu.as_secs_f64(),
            reconnects,
            failures: faults,
            interrupted: usage.interrupted,
        }
    }

    /// Returns whether at least one call succeeded and none failed.
    pub(crate) fn is_clean(&self) -> bool {
        self.failures.0.is_empty() && self.calls > 0 && !self.interrupted
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failures.0.values().map(|counted| counted.count).sum()
    }

    /// Describes the failures, one line each.
    pub(crate) fn failures(&self) -> impl Iterator<Item = String> {
        self.failures
            .0
            .iter()
            .map(|(fault, Counted { count, first })| {
                format!("{} {fault}; the first: {first}", thousands(*count as f64))
            })
    }
}

impl Percentiles {
    fn of(latencies: &Latencies) -> Self {
        let ms = |latency: Duration| latency.as_secs_f64() * 1000.0;
        let at = |per_mille| ms(latencies.at_per_mille(per_mille));
        Self {
            p50: at(500),
            p90: at(900),
            p99: at(990),
            p99_9: at(999),
            max: ms(latencies.max()),
        }
    }

    fn columns(&self) -> String {
        let Self {
            p50,
            p90,
            p99,
            p99_9,
            max,
        } = *self;
        let columns = [p50, p90, p99, p99_9, max].map(|ms| format!("{:>9}", three_digits(ms)));
        columns.concat()
    }
}

impl Verdicts {
    fn of(count: &Count) -> Self {
        Self {
            allowed: count.allowed,
            denied: count.denied,
            undecided: count.undecided,
        }
    }

    fn columns(&self, failed: u64) -> String {
        let columns = [self.allowed, self.denied, self.undecided, failed];
        columns
            .map(|count| format!("{:>11}", thousands(count as f64)))
            .concat()
    }
}

// === impl Server ===

impl Server {
    fn new(used: ServerUsage, reviews: f64) -> Self {
        let cpu_seconds = used.cpu.as_secs_f64();
        Self {
            pid: used.pid,
            cpu_seconds,
            calls_per_cpu_second: (!used.cpu.is_zero()).then(|| reviews / cpu_seconds),
            memory_kib: Resident {
                before: used.before_kib,
                after: used.after_kib,
                peak: used.peak_kib,
            },
        }
    }
}

/// Converts KiB to MiB.
pub(crate) fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            target,
            sent,
            connections,
            seconds,
            ..
        } = self;
        if self.name != self.target {
            write!(f, "{}: ", self.name)?;
        }
        writeln!(
            f,
            "{target}, {connections} connections, {seconds:.1} s: {sent}"
        )?;
        let calls = self.call.plural();
        let number = thousands(self.calls as f64);
        let per_second = thousands(self.calls_per_second);
        match self.rate {
            None => writeln!(f, "  {calls:<10}{per_second}/s ({number})")?,
            Some(rate) => writeln!(
                f,
                "  {calls:<10}{per_second}/s ({number}) of {}/s that were due",
                three_digits(rate)
            )?,
        }
        if let Some(Server {
            pid,
            cpu_seconds,
            calls_per_cpu_second,
            memory_kib,
        }) = &self.server
        {
            write!(f, "  server    pid {pid}: {cpu_seconds:.2} CPU s")?;
            match calls_per_cpu_second {
                Some(rate) => writeln!(f, ", {} {calls} per CPU second", thousands(*rate))?,
                None => writeln!(
                    f,
                    ", too few to tell {calls} per CPU second: raise --seconds"
                )?,
            }
            let Resident {
                before,
                after,
                peak,
            } = *memory_kib;
            writeln!(
                f,
                "  memory    {:.1} MiB before, {:.1} after, {:.1} at most",
                mib(before),
                mib(after),
                mib(peak)
            )?;
        }
        let Self {
            client_cpu_seconds,
            reconnects,
            ..
        } = self;
        writeln!(
            f,
            "  this tool {client_cpu_seconds:.2} CPU s, {reconnects} reconnects"
        )?;

        let since = match self.loop_ {
            "open" => "ms since due",
            _ => "ms since sent",
        };
        let widest = self.kinds.iter().map(|kind| kind.kind.chars().count());
        let width = widest.max().unwrap_or(0).max(since.len());
        writeln!(
            f,
            "\n  {since:<width$}{:>9}{:>9}{:>9}{:>9}{:>9}{:>11}{:>11}{:>11}{:>11}",
            "p50", "p90", "p99", "p99.9", "max", "allowed", "denied", "undecided", "failed"
        )?;
        if self.kinds.len() > 1 {
            for KindReport {
                kind,
                verdicts,
                failed,
                latency_ms,
            } in &self.kinds
            {
                let (latency, verdicts) = (latency_ms.columns(), verdicts.columns(*failed));
                writeln!(f, "  {kind:<width$}{latency}{verdicts}")?;
            }
        }
        let (latency, verdicts) = (
            self.latency_ms.columns(),
            self.verdicts.columns(self.failed()),
        );
        writeln!(f, "  {:<width$}{latency}{verdicts}", "all")?;

        if self.interrupted {
            writeln!(f, "\n  interrupted: the figures are of the time before")?;
        }
        if self.failures.0.is_empty() {
            let words = match self.calls {
                0 => "no response: raise --seconds",
                _ => "none",
            };
            return write!(f, "\n  failures  {words}");
        }
        write!(f, "\n  failures  (of the whole run, the warm-up included)")?;
        for line in self.failures() {
            write!(f, "\n    {line}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Fault;

    fn report(reviews: u64, cpu_millis: u64, rate: Option<f64>, faults: Faults) -> Report {
        let mut count = Count {
            allowed: reviews,
            failed: faults.0.values().map(|counted| counted.count).sum(),
            ..Count::default()
        };
        for _ in 0..reviews {
            count.latencies.record(Duration::from_millis(1));
        }
        let tally = Tally {
            counts: vec![count, Count::default()],
            reconnects: 0,
            faults,
        };
        let usage = Usage {
            calls: reviews,
            elapsed: Duration::from_secs(2),
            client_cpu: Duration::from_secs(1),
            server: Some(ServerUsage {
                pid: 7,
                cpu: Duration::from_millis(cpu_millis),
                before_kib: 4096,
                after_kib: 5120,
                peak_kib: 6144,
            }),
            rate,
            interrupted: false,
        };
        let plan = Plan {
            name: "gate".into(),
            target: "https://h/".into(),
            sent: "update=1,bind=1".into(),
            connections: 4,
            call: Call::Review,
            labels: vec!["update".into(), "bind".into()],
            title: String::new(),
        };
        Report::new(plan, tally, &usage)
    }

    #[test]
    fn rates_are_by_the_window_and_by_the_servers_cpu() {
        let report = report(1000, 500, None, Faults::default());
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["calls"], 1000);
        assert_eq!(json["calls_per_second"], 500.0);
        assert_eq!(json["server"]["calls_per_cpu_second"], 2000.0);
        let memory = serde_json::json!({"before": 4096, "after": 5120, "peak": 6144});
        assert_eq!(json["server"]["memory_kib"], memory);
        for percentile in ["p50", "p90", "p99", "p99_9", "max"] {
            assert_eq!(json["latency_ms"][percentile], 1.0, "{percentile}");
        }
        assert_eq!(
            (json["loop"].as_str(), json.get("rate")),
            (Some("closed"), None)
        );
        assert_eq!(json["kinds"][0]["allowed"], 1000);
        assert!(report.is_clean());
        let text = report.to_string();
        for part in [
            "gate: https://h/, 4 connections, 2.0 s: update=1,bind=1",
            "500/s (1,000)\n",
            "2,000 reviews per CPU second",
            "4.0 MiB before, 5.0 after, 6.0 at most",
            "ms since sent",
            "failures  none",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }

    #[test]
    fn an_open_loop_says_what_rate_was_reached() {
        let report = report(1000, 500, Some(600.0), Faults::default());
        let text = report.to_string();
        assert!(
            text.contains("500/s (1,000) of 600/s that were due"),
            "{text}"
        );
        assert!(text.contains("ms since due"), "{text}");
    }

    #[test]
    fn a_fault_or_no_answer_at_all_is_not_clean() {
        let mut faults = Faults::default();
        faults.add(Fault::Status, "status 500: oops".into());
        faults.add(Fault::Status, "status 503: later".into());
        let faulty = report(1000, 500, None, faults);
        let silent = report(0, 0, None, Faults::default());
        assert!(!faulty.is_clean() && !silent.is_clean());
        assert!(
            faulty
                .to_string()
                .ends_with("2 with a wrong status; the first: status 500: oops"),
            "{faulty}"
        );
        let json = serde_json::to_value(&faulty).unwrap();
        let counted = serde_json::json!({"count": 2, "first": "status 500: oops"});
        assert_eq!(json["failures"]["status"], counted);
        assert!(
            silent.to_string().contains("no response: raise"),
            "{silent}"
        );
    }
}
