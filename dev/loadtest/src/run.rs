//! One run: connections under load for the warm-up and the window, and the resource use of the processes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::process::{self, Memory};
use crate::progress::{Progress, Screen};
use crate::report::{Plan, Report, ServerUsage, Usage};
use crate::schedule::{Pace, Schedule, Window};
use crate::worker::{Caller, Course, Tally, work};

/// Settings of a run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Calls per second; `None` for a closed loop.
    pub(crate) rate: Option<f64>,
    pub(crate) warmup: Duration,
    pub(crate) seconds: Duration,
    pub(crate) timeout: Duration,
    pub(crate) screen: Screen,
    /// Ends the run early.
    pub(crate) stop: CancellationToken,
}

/// Interval of memory samples.
const SAMPLED_EVERY: Duration = Duration::from_millis(100);

/// Runs these callers and reports. `before` is the memory of the process `pid` before the first connection.
///
/// # Errors
/// The process has ended.
pub(crate) async fn run<C: Caller>(
    callers: Vec<C>,
    plan: Plan,
    settings: &Settings,
    server: Option<(u32, Memory)>,
) -> Result<Report> {
    let start = Instant::now();
    let from = start + settings.warmup;
    let window = Window {
        from,
        to: from + settings.seconds,
    };
    let stop = &settings.stop;
    let length = settings.warmup + settings.seconds;
    let pace = match settings.rate {
        None => Pace::closed(window, stop.clone()),
        Some(rate) => {
            let schedule = Schedule::new(start, rate, length);
            Pace::open_and_paced(window, schedule, stop.clone())
                .context("cannot start the thread that keeps the time")?
        }
    };
    let rate = pace.rate();
    let course = Course {
        pace,
        timeout: settings.timeout,
        progress: Arc::new(Progress::default()),
    };
    let mut workers = JoinSet::new();
    for caller in callers {
        workers.spawn(work(caller, course.clone(), plan.labels.len()));
    }

    let pid = server.map(|(pid, _)| pid);
    let measured = async {
        until(window.from, stop).await;
        let began = Reading::take(pid, &course.progress)?;
        let most = most_resident(pid, window.to, stop).await?;
        let ended = Reading::take(pid, &course.progress)?;
        anyhow::Ok((began, most, ended))
    };
    let shown = settings.screen.show(&course.progress, &plan.title, length);
    let (began, most, ended) = tokio::select! {
        measured = measured => measured?,
        () = shown => unreachable_end()?,
    };
    let mut tally = Tally::default();
    while let Some(counted) = workers.join_next().await {
        tally.merge(counted.context("a connection's task panicked")?);
    }
    let server = match server {
        None => None,
        Some((pid, before)) => {
            let after = process::memory(pid)?;
            // The kernel's maximum covers the whole life of the process, so it belongs to this run only if it changed.
            let peak_kib = match after.peak_kib {
                moved if moved > before.peak_kib => moved,
                _ => most.max(after.rss_kib),
            };
            Some(ServerUsage {
                pid,
                cpu: ended.server_cpu.saturating_sub(began.server_cpu),
                before_kib: before.rss_kib,
                after_kib: after.rss_kib,
                peak_kib,
            })
        }
    };
    let usage = Usage {
        calls: ended.calls - began.calls,
        elapsed: ended.at - began.at,
        client_cpu: ended.client_cpu.saturating_sub(began.client_cpu),
        server,
        rate,
        interrupted: stop.is_cancelled(),
    };
    Ok(Report::new(plan, tally, &usage))
}

/// Shows progress until the run ends.
fn unreachable_end<T>() -> Result<T> {
    anyhow::bail!("the progress ended before the run")
}

async fn until(at: Instant, stop: &CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => (),
        () = sleep_until(at) => (),
    }
}

/// Samples resident memory until then, and returns the maximum in KiB.
async fn most_resident(pid: Option<u32>, to: Instant, stop: &CancellationToken) -> Result<u64> {
    let mut most = 0;
    let end = until(to, stop);
    tokio::pin!(end);
    let Some(pid) = pid else {
        end.await;
        return Ok(most);
    };
    let mut ticks = interval(SAMPLED_EVERY);
    loop {
        tokio::select! {
            biased;
            () = &mut end => return Ok(most),
            _ = ticks.tick() => most = most.max(process::memory(pid)?.rss_kib),
        }
    }
}

/// Clocks and call count at one end of the measured window. They are read together, because on a busy machine this task can wake late,
/// which would distort the rates.
struct Reading {
    at: Instant,
    calls: u64,
    client_cpu: Duration,
    /// Zero without a server process.
    server_cpu: Duration,
}

impl Reading {
    fn take(pid: Option<u32>, progress: &Progress) -> Result<Self> {
        Ok(Self {
            client_cpu: process::cpu_time(std::process::id())?,
            server_cpu: pid.map_or(Ok(Duration::ZERO), process::cpu_time)?,
            calls: progress.calls(),
            at: Instant::now(),
        })
    }
}
