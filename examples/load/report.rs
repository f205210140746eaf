//! What a run found, for people and as JSON.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::check::{Counted, Fault, Faults};
use crate::latency::Latencies;
use crate::process::Memory;

/// The findings of one run. Only right answers within the measured window count as reviews; faults are counted over the
/// whole run, the warm-up included.
#[derive(Serialize)]
pub(crate) struct Report {
    url: String,
    connections: usize,
    body_bytes: usize,
    /// The measured window, without the warm-up.
    seconds: f64,
    reviews: u64,
    reviews_per_second: f64,
    latency_ms: Percentiles,
    /// What was found of the server's process, when `--pid` named it.
    server: Option<Server>,
    /// The load tool's own CPU in the window: near `seconds` times its threads, it is what limits the throughput.
    client_cpu_seconds: f64,
    /// Connections opened again because the old one failed or was closed after an answer.
    reconnects: u64,
    faults: Faults,
}

#[derive(Serialize)]
struct Percentiles {
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
}

#[derive(Serialize)]
struct Server {
    pid: u32,
    cpu_seconds: f64,
    /// None when the window was too short to see any CPU.
    reviews_per_cpu_second: Option<f64>,
    before: Memory,
    after: Memory,
}

/// What was run.
pub(crate) struct Plan {
    pub(crate) url: String,
    pub(crate) connections: usize,
    pub(crate) body_bytes: usize,
}

/// What the connections counted.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) latencies: Latencies,
    pub(crate) reconnects: u64,
    pub(crate) faults: Faults,
}

/// What the window used.
pub(crate) struct Usage {
    pub(crate) elapsed: Duration,
    pub(crate) client_cpu: Duration,
    pub(crate) server: Option<ServerUsage>,
}

/// What the server's process used: CPU in the window, memory before the first connection and at the window's end.
#[derive(Clone, Copy)]
pub(crate) struct ServerUsage {
    pub(crate) pid: u32,
    pub(crate) cpu: Duration,
    pub(crate) before: Memory,
    pub(crate) after: Memory,
}

// === impl Tally ===

impl Tally {
    pub(crate) fn merge(&mut self, other: Self) {
        self.latencies.merge(&other.latencies);
        self.reconnects += other.reconnects;
        self.faults.merge(other.faults);
    }
}

// === impl Report ===

impl Report {
    pub(crate) fn new(plan: Plan, tally: Tally, usage: &Usage) -> Self {
        let Tally {
            latencies,
            reconnects,
            faults,
        } = tally;
        let reviews = latencies.count();
        // Counts this small are exact in an f64.
        let count = reviews as f64;
        let seconds = usage.elapsed.as_secs_f64();
        let ms = |latency: Duration| latency.as_secs_f64() * 1000.0;
        Self {
            url: plan.url,
            connections: plan.connections,
            body_bytes: plan.body_bytes,
            seconds,
            reviews,
            reviews_per_second: count / seconds,
            latency_ms: Percentiles {
                p50: ms(latencies.percentile(50)),
                p90: ms(latencies.percentile(90)),
                p99: ms(latencies.percentile(99)),
                max: ms(latencies.max()),
            },
            server: usage.server.map(|used| Server::new(used, count)),
            client_cpu_seconds: usage.client_cpu.as_secs_f64(),
            reconnects,
            faults,
        }
    }

    /// Every call was answered, and rightly; and there was one.
    pub(crate) fn is_clean(&self) -> bool {
        self.faults.0.is_empty() && self.reviews > 0
    }
}

// === impl Server ===

impl Server {
    fn new(used: ServerUsage, reviews: f64) -> Self {
        let ServerUsage {
            pid,
            cpu,
            before,
            after,
        } = used;
        let cpu_seconds = cpu.as_secs_f64();
        Self {
            pid,
            cpu_seconds,
            reviews_per_cpu_second: (!cpu.is_zero()).then(|| reviews / cpu_seconds),
            before,
            after,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            url,
            connections,
            body_bytes,
            seconds,
            reviews,
            ..
        } = self;
        writeln!(
            f,
            "{url}: {connections} connections, {seconds:.2} s, a body of {body_bytes} bytes"
        )?;
        writeln!(
            f,
            "  reviews   {:.0}/s ({reviews})",
            self.reviews_per_second
        )?;
        let Percentiles { p50, p90, p99, max } = self.latency_ms;
        writeln!(
            f,
            "  latency   p50 {p50:.3} ms, p90 {p90:.3} ms, p99 {p99:.3} ms, max {max:.3} ms"
        )?;
        if let Some(Server {
            pid,
            cpu_seconds,
            reviews_per_cpu_second,
            before,
            after,
        }) = &self.server
        {
            write!(f, "  server    pid {pid}: {cpu_seconds:.2} CPU s")?;
            match reviews_per_cpu_second {
                Some(rate) => writeln!(f, ", {rate:.0} reviews per CPU second")?,
                None => writeln!(
                    f,
                    ", too few to tell reviews per CPU second: raise --seconds"
                )?,
            }
            writeln!(
                f,
                "  memory    RSS {} -> {} KiB, peak {} -> {} KiB",
                before.rss_kib, after.rss_kib, before.peak_kib, after.peak_kib
            )?;
        }
        writeln!(
            f,
            "  this tool {:.2} CPU s, {} reconnects",
            self.client_cpu_seconds, self.reconnects
        )?;
        if self.faults.0.is_empty() {
            return write!(
                f,
                "  faults    {}",
                if *reviews > 0 {
                    "none"
                } else {
                    "no answer came: raise --seconds"
                }
            );
        }
        write!(f, "  faults    (of the whole run, the warm-up included)")?;
        for (fault, Counted { count, first }) in &self.faults.0 {
            write!(f, "\n    {count} {fault}; the first: {first}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "failed to connect",
            Self::Call => "broke off",
            Self::Timeout => "timed out",
            Self::Status => "not status 200",
            Self::Malformed => "malformed",
            Self::Uid => "with another uid",
            Self::Allowed => "decided the other way",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(reviews: u64, cpu_millis: u64, faults: Faults) -> Report {
        let mut tally = Tally {
            faults,
            ..Tally::default()
        };
        for _ in 0..reviews {
            tally.latencies.record(Duration::from_millis(1));
        }
        let memory = Memory {
            rss_kib: 4000,
            peak_kib: 5000,
        };
        let server = ServerUsage {
            pid: 7,
            cpu: Duration::from_millis(cpu_millis),
            before: memory,
            after: memory,
        };
        let usage = Usage {
            elapsed: Duration::from_secs(2),
            client_cpu: Duration::from_secs(1),
            server: Some(server),
        };
        Report::new(
            Plan {
                url: "https://h/".into(),
                connections: 4,
                body_bytes: 9,
            },
            tally,
            &usage,
        )
    }

    #[test]
    fn rates_are_by_the_window_and_by_the_servers_cpu() {
        let report = report(1000, 500, Faults::default());
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(
            (
                json["reviews"].as_u64(),
                json["reviews_per_second"].as_f64()
            ),
            (Some(1000), Some(500.0))
        );
        assert_eq!(
            json["server"]["reviews_per_cpu_second"].as_f64(),
            Some(2000.0)
        );
        assert_eq!(
            (json["latency_ms"]["p99"].as_f64(), report.is_clean()),
            (Some(1.0), true)
        );
        assert!(report.to_string().contains("500/s (1000)"), "{report}");
        assert!(
            report.to_string().contains("2000 reviews per CPU second"),
            "{report}"
        );
    }

    #[test]
    fn a_fault_or_no_answer_at_all_is_not_clean() {
        let mut faults = Faults::default();
        faults.add(Fault::Status, "status 500: oops".into());
        faults.add(Fault::Status, "status 503: later".into());
        let faulty = report(1000, 500, faults);
        assert_eq!(
            (
                faulty.is_clean(),
                report(0, 0, Faults::default()).is_clean()
            ),
            (false, false)
        );
        assert!(
            faulty
                .to_string()
                .ends_with("2 not status 200; the first: status 500: oops"),
            "{faulty}"
        );
        let json = serde_json::to_value(&faulty).unwrap();
        assert_eq!(
            json["faults"]["status"],
            serde_json::json!({"count": 2, "first": "status 500: oops"})
        );
    }
}
