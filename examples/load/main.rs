//! Loads a webhook with one AdmissionReview, sent back to back over kept-alive connections, and reports what came of it:
//! reviews per second, latency, and what the server's process paid for them in CPU and memory.
//!
//! Promises: every answer is checked, and only right ones count; a call fails as it would for the API server (no answer in
//! time, a broken connection, a status other than 200, another uid), and nothing is retried; the exit code is 1 if any did.
//! Each connection sends its next request when it has its answer (a closed loop), so latency under a given rate is not what
//! this measures. CPU per review is the figure to compare: throughput on a shared machine depends on the load tool too.

mod check;
mod client;
mod latency;
mod process;
mod report;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use clap::{Parser, ValueEnum};
use http::{HeaderName, HeaderValue, Uri};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use check::{Checker, Expect, Fault};
use client::{Connection, Target};
use report::{Plan, Report, ServerUsage, Tally, Usage};

#[derive(Parser)]
#[command(
    name = "load",
    about = "Loads a webhook with an AdmissionReview over kept-alive TLS connections, checks every answer, and measures",
    after_help = "\
Example: what does the gate pay for a review that is allowed without asking anybody?
  GATE=https://127.0.0.1:9443
  cargo run --release --example load -- --ca certs/ca.crt --pid $(pidof berth) \\
    --body tests/data/reviews/update-unrelated-bob.validate.json \\
    --url $GATE/validate-cluster-open-cluster-management-io-v1-managedcluster

Of a denial, for a script:
  ... --body tests/data/reviews/accept-alice-denied.validate.json \\
    --expect denied --output json

With a new connection and handshake for each call:
  ... --header 'Connection: close'

Figures move with what else the machine does, and with whether the server and
this tool share a core. To compare servers: pin each to cores of its own
(taskset -c 0 SERVER, taskset -c 1 load ...), alternate, and take the medians.

Exit codes: 0 every answer was right; 1 a call failed, an answer was wrong, or
the run could not start; 2 a wrong flag."
)]
struct Args {
    /// Webhook to call, https only; the API server adds ?timeout=10s
    #[arg(long)]
    url: Uri,

    /// PEM file with the CA certificates the server is verified by
    #[arg(long, value_name = "FILE")]
    ca: PathBuf,

    /// Name the server's certificate must have [default: the host in --url]
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,

    /// AdmissionReview to send, byte for byte
    #[arg(long, value_name = "FILE")]
    body: PathBuf,

    /// One more header, may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = parse_header)]
    headers: Vec<(HeaderName, HeaderValue)>,

    /// Connections, each with one request in flight
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = at_least_one)]
    connections: usize,

    /// Measured time
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = parse_positive)]
    seconds: Duration,

    /// Time under load before the measuring begins
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_seconds)]
    warmup: Duration,

    /// A call, or connecting, that takes longer has failed
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_positive)]
    timeout: Duration,

    /// What the answers must say
    #[arg(long, value_enum, default_value_t = Expect::Allowed)]
    expect: Expect,

    /// Take answers with any uid, not only that of the request
    #[arg(long)]
    any_uid: bool,

    /// The server's process on this machine, to report its CPU and memory
    #[arg(long)]
    pid: Option<u32>,

    /// Threads of this tool; one leaves the other cores to the server
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    threads: usize,

    /// How to print the findings
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
}

fn main() -> ExitCode {
    match measure(Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // With stderr gone there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs and reports; whether all was right.
fn measure(args: Args) -> Result<bool> {
    let runtime = match args.threads {
        1 => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build(),
        threads => tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_all()
            .build(),
    };
    let output = args.output;
    let report = runtime
        .context("cannot start the runtime")?
        .block_on(run(args))?;
    let printed = match output {
        Output::Text => report.to_string(),
        Output::Json => {
            serde_json::to_string_pretty(&report).context("cannot write the report as JSON")?
        }
    };
    writeln!(std::io::stdout(), "{printed}").context("cannot print the report")?;
    Ok(report.is_clean())
}

async fn run(args: Args) -> Result<Report> {
    let body = std::fs::read(&args.body)
        .with_context(|| format!("cannot read --body {}", args.body.display()))?;
    let uid = if args.any_uid {
        None
    } else {
        Some(check::request_uid(&body).with_context(|| format!("--body {}", args.body.display()))?)
    };
    let target = Target::new(
        &args.url,
        &args.ca,
        args.server_name.as_deref(),
        &args.headers,
        &body,
    )?;
    let worker = Worker {
        target: Arc::new(target),
        checker: Checker::new(uid, args.expect),
        timeout: args.timeout,
        phase: Arc::new(AtomicU8::new(WARM_UP)),
    };

    let memory_before = args.pid.map(process::memory).transpose()?;
    let mut connections = Vec::with_capacity(args.connections);
    for _ in 0..args.connections {
        connections.push(worker.connect().await?);
    }
    let mut workers = JoinSet::new();
    for connection in connections {
        workers.spawn(worker.clone().work(connection));
    }

    sleep(args.warmup).await;
    let began = Reading::take(args.pid)?;
    worker.phase.store(MEASURE, Ordering::Relaxed);
    sleep(args.seconds).await;
    let ended = Reading::take(args.pid)?;
    worker.phase.store(DONE, Ordering::Relaxed);
    let memory_after = args.pid.map(process::memory).transpose()?;

    let mut tally = Tally::default();
    while let Some(counted) = workers.join_next().await {
        tally.merge(counted.context("a connection's task panicked")?);
    }
    let server = match (args.pid, memory_before, memory_after) {
        (Some(pid), Some(before), Some(after)) => {
            let cpu = ended.server_cpu.saturating_sub(began.server_cpu);
            Some(ServerUsage {
                pid,
                cpu,
                before,
                after,
            })
        }
        _ => None,
    };
    let usage = Usage {
        elapsed: ended.at - began.at,
        client_cpu: ended.client_cpu.saturating_sub(began.client_cpu),
        server,
    };
    let plan = Plan {
        url: args.url.to_string(),
        connections: args.connections,
        body_bytes: body.len(),
    };
    Ok(Report::new(plan, tally, &usage))
}

/// The clocks at one end of the measured window.
struct Reading {
    at: Instant,
    client_cpu: Duration,
    /// Zero without a server's pid.
    server_cpu: Duration,
}

impl Reading {
    fn take(pid: Option<u32>) -> Result<Self> {
        Ok(Self {
            client_cpu: process::cpu_time(std::process::id())?,
            server_cpu: pid.map_or(Ok(Duration::ZERO), process::cpu_time)?,
            at: Instant::now(),
        })
    }
}

/// The phases of a run, one after another. A call belongs to the one it ends in.
const WARM_UP: u8 = 0;
const MEASURE: u8 = 1;
const DONE: u8 = 2;

/// After a failure, how long until the next connection: a server that is down must not be met by a busy loop.
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Clone)]
struct Worker {
    target: Arc<Target>,
    checker: Checker,
    timeout: Duration,
    phase: Arc<AtomicU8>,
}

impl Worker {
    /// Calls until the run is done. A call in flight then is still awaited, and checked, though not measured.
    async fn work(mut self, connection: Connection) -> Tally {
        let mut tally = Tally::default();
        let mut kept = Some(connection);
        while self.phase.load(Ordering::Relaxed) != DONE {
            // A call that needs a new connection waits for it, so that is part of its latency.
            let started = Instant::now();
            let mut connection = match kept.take() {
                Some(connection) => connection,
                None => match self.connect().await {
                    Ok(connection) => {
                        tally.reconnects += 1;
                        connection
                    }
                    Err(error) => {
                        tally.faults.add(Fault::Connect, format!("{error:#}"));
                        sleep(PAUSE).await;
                        continue;
                    }
                },
            };
            match timeout(self.timeout, connection.call(&self.target)).await {
                Ok(Ok(answer)) => {
                    let latency = started.elapsed();
                    match self.checker.check(&answer) {
                        Ok(()) if self.phase.load(Ordering::Relaxed) == MEASURE => {
                            tally.latencies.record(latency);
                        }

                        Ok(()) => {}
                        Err((fault, words)) => tally.faults.add(fault, words),
                    }
                    if !answer.close {
                        kept = Some(connection);
                    }
                }
                Ok(Err(error)) => {
                    tally.faults.add(Fault::Call, format!("{error:#}"));
                    sleep(PAUSE).await;
                }
                Err(_) => tally.faults.add(
                    Fault::Timeout,
                    format!("no answer within {:?}", self.timeout),
                ),
            }
        }
        tally
    }

    async fn connect(&self) -> Result<Connection> {
        timeout(self.timeout, self.target.connect())
            .await
            .map_err(|_| {
                anyhow!(
                    "no connection within {:?}; is the server overloaded?",
                    self.timeout
                )
            })?
    }
}

fn parse_header(text: &str) -> Result<(HeaderName, HeaderValue)> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| anyhow!("not of the form 'Name: value'"))?;
    Ok((name.trim().parse()?, value.trim().parse()?))
}

fn parse_seconds(text: &str) -> Result<Duration> {
    let seconds: f64 = text.parse().context("not a number of seconds")?;
    Duration::try_from_secs_f64(seconds).context("not a length of time")
}

fn parse_positive(text: &str) -> Result<Duration> {
    let seconds = parse_seconds(text)?;
    if seconds.is_zero() {
        Err(anyhow!("must be more than 0"))
    } else {
        Ok(seconds)
    }
}

fn at_least_one(text: &str) -> Result<usize> {
    let number: usize = text.parse().context("not a whole number")?;
    if number == 0 {
        Err(anyhow!("must be at least 1"))
    } else {
        Ok(number)
    }
}
