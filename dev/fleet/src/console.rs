//! `fleet console`: the server of `berth console` with many clusters, as a page of a browser asks it.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde::Serialize;
use tokio::time::sleep;

use crate::hub::FleetHub;
use crate::{Running, mib, process, reported, say};

/// Upper bound on the time of an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Queries of the table, each of which looks at all clusters.
const QUERIES: [&str; 5] = [
    "available",
    "!available",
    "fleet-00",
    "set:default+version%3E=1.20",
    "cordoned",
];

/// Measures the server of berth console: rows, filters, memory, and what it does at rest and while clusters change
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  # 10,000 clusters on a devhub
  cargo build --release -p berth -p fleet && target/release/fleet console --clusters 10000

  # With 30,000 ManifestWorks
  target/release/fleet console --clusters 10000 --works 3

  # On your own hub, which is otherwise empty
  target/release/fleet --kubeconfig hub.kubeconfig console --clusters 10000")]
pub(crate) struct ConsoleArgs {
    /// Number of clusters
    #[arg(long, default_value_t = 10_000)]
    clusters: usize,
    /// Number of ManifestWorks of each cluster, which the screens Works and Fleet follow
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    works: usize,
    /// Number of clusters that change their state while a page looks [default: nine of ten]
    #[arg(long, value_name = "NUMBER")]
    flap: Option<usize>,
    /// The executable [default: berth, beside this program]
    #[arg(long, value_name = "FILE")]
    berth: Option<std::path::PathBuf>,
}

/// The measured figures. Times are in milliseconds unless they say otherwise, memory in MiB.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    clusters: usize,
    /// From the request until the first rows, when no page was open before: the hub is listed.
    cold_ms: f64,
    /// The same while another page is open: the median of several.
    warm_ms: f64,
    /// From a query until its rows, the median and the slowest.
    filter_ms: f64,
    slowest_filter_ms: f64,
    /// From the request until the answer of the screen Fleet.
    fleet_ms: f64,
    resident_mib: f64,
    /// ManifestWorks of all clusters; from the request until the first answer of the screen Works, and what is resident then.
    works: usize,
    works_ms: Option<f64>,
    works_mib: Option<f64>,
    rest_s: u64,
    /// Requests to the hub, if it counts them, without those of this tool.
    rest_requests: Option<f64>,
    rest_cpu_s: f64,
    /// Clusters change their state, while a page looks.
    flapped: usize,
    flapping_s: f64,
    flapping_cpu_s: f64,
    /// The events that the page got, and their bytes.
    deltas: usize,
    delta_kib: f64,
    peak_mib: f64,
}

/// A console, and a session of it.
struct Console {
    running: Running,
    host: String,
    cookie: String,
}

/// A stream of events.
struct Events(BufReader<TcpStream>);

pub(crate) async fn measure(args: &ConsoleArgs, hub: &FleetHub, rest: u64) -> Result<Report> {
    let clusters = args.clusters;
    say("making clusters");
    hub.create(clusters).await?;
    hub.join(clusters).await?;
    hub.turn(clusters, "True").await?;
    if args.works > 0 {
        say("making ManifestWorks");
        reported::create(hub, clusters, args.works).await?;
    }
    let beside = std::env::current_exe()?.with_file_name("berth");
    let berth = args.berth.as_deref().unwrap_or(&beside);
    let console = Console::start(berth, &hub.kubeconfig)?;
    let pid = console.running.id();
    let cpu = || process::cpu_time(pid).map(|time| time.as_secs_f64());

    say("asking");
    let (cold_ms, mut page) = console.first("clusters", "window")?;
    let mut warm = Vec::new();
    for _ in 0..20 {
        warm.push(console.first("clusters", "window")?.0);
    }
    let mut filters = Vec::new();
    for query in QUERIES.iter().cycle().take(50) {
        filters.push(console.first(&format!("clusters&q={query}"), "window")?.0);
    }
    let resident = || process::memory(pid).map(|it| mib(it.rss_kib));
    let (mut works_ms, mut works_mib) = (None, None);
    let fleet_ms = console.first("fleet", "answer")?.0;
    let resident_mib = resident()?;
    if args.works > 0 {
        works_ms = Some(console.works(clusters * args.works)?);
        works_mib = Some(resident()?);
    }

    say("resting");
    let (cpu_before, served) = (cpu()?, hub.served().await?);
    sleep(Duration::from_secs(rest)).await;
    let rest_cpu_s = cpu()? - cpu_before;
    // The second question is counted itself.
    let rest_requests = match (served, hub.served().await?) {
        (Some(before), Some(after)) => Some(after - before - 1.0),
        _ => None,
    };

    say("flapping");
    let flapped = args.flap.unwrap_or(clusters * 9 / 10).min(clusters);
    let cpu_before = cpu()?;
    let seen = std::thread::spawn(move || page.until_quiet());
    let begun = Instant::now();
    hub.turn(flapped, "False").await?;
    let flapping_s = begun.elapsed().as_secs_f64();
    let seen = seen.join();
    let (deltas, bytes) = seen.map_err(|_| anyhow::anyhow!("the page has ended"))?;
    let flapping_cpu_s = cpu()? - cpu_before;
    let peak_mib = mib(process::memory(pid)?.peak_kib);
    drop(console);
    say("cleaning up");
    if args.works > 0 {
        reported::delete(hub, clusters).await?;
    }
    hub.clean_up(clusters).await?;
    Ok(Report {
        clusters,
        cold_ms,
        warm_ms: median(&mut warm),
        filter_ms: median(&mut filters),
        slowest_filter_ms: filters.last().copied().unwrap_or_default(),
        fleet_ms,
        resident_mib,
        works: clusters * args.works,
        works_ms,
        works_mib,
        rest_s: rest,
        rest_requests,
        rest_cpu_s,
        flapped,
        flapping_s,
        flapping_cpu_s,
        deltas,
        delta_kib: bytes as f64 / 1024.0,
        peak_mib,
    })
}

/// Sorts the times, and returns the one in the middle.
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

// === impl Console ===

impl Console {
    fn start(berth: &Path, kubeconfig: &Path) -> Result<Self> {
        let mut child: Child = Command::new(berth)
            .args(["console", "--kubeconfig"])
            .arg(kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{}: cannot be started; build it", berth.display()))?;
        let stdout = child.stdout.take().context("no output")?;
        let running = Running(child);
        let mut lines = BufReader::new(stdout).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line.trim().strip_prefix("http://")?.to_owned()));
        let address = address.context("berth console has printed no address")?;
        let (host, code) = address.split_once("/#code=").context("no code")?;
        let mut console = Self {
            running,
            host: host.to_owned(),
            cookie: String::new(),
        };
        let body = format!("{{\"code\":\"{code}\"}}");
        let head = console.send("POST", "/api/session", &body)?;
        let head = BufReader::new(head).lines().map_while(Result::ok);
        let cookie = head
            .take_while(|line| !line.is_empty())
            .find_map(|line| line.strip_prefix("set-cookie: ").map(str::to_owned));
        let cookie = cookie.context("the sign-in was refused")?;
        let value = cookie.split(';').next().unwrap_or_default();
        value.clone_into(&mut console.cookie);
        Ok(console)
    }

    /// Sends a request. The lines of an event are in one chunk of the response.
    fn send(&self, method: &str, path: &str, body: &str) -> Result<TcpStream> {
        let mut tcp = TcpStream::connect(&self.host)?;
        tcp.set_read_timeout(Some(PATIENCE))?;
        let length = body.len();
        write!(
            tcp,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncookie: {}\r\nx-berth-console: 1\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}",
            self.host, self.cookie
        )?;
        Ok(tcp)
    }

    /// Opens a stream, and returns the milliseconds until the first event of this name.
    fn first(&self, query: &str, name: &str) -> Result<(f64, Events)> {
        let begun = Instant::now();
        let stream = self.send("GET", &format!("/api/stream?screen={query}"), "")?;
        let mut events = Events(BufReader::new(stream));
        loop {
            let Some((event, _)) = events.next() else {
                bail!("the stream of {query} has ended");
            };
            ensure!(event != "failure", "{query} was refused");
            if event == name {
                return Ok((begun.elapsed().as_secs_f64() * 1000.0, events));
            }
        }
    }

    /// Opens the screen Works, and returns the milliseconds until it has all ManifestWorks.
    fn works(&self, all: usize) -> Result<f64> {
        let begun = Instant::now();
        let stream = self.send("GET", "/api/stream?screen=works", "")?;
        let mut events = Events(BufReader::new(stream));
        while let Some((_, data)) = events.next() {
            if data.contains(&format!("\"total\":{all},")) {
                return Ok(begun.elapsed().as_secs_f64() * 1000.0);
            }
        }
        bail!("the screen Works has not got {all} ManifestWorks in time")
    }
}

// === impl Events ===

impl Events {
    /// Returns the name and the data of the next event; None if none comes in time. A silent stream has comments.
    fn next(&mut self) -> Option<(String, String)> {
        let mut name = String::new();
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(event) = line.trim_end().strip_prefix("event: ") {
                event.clone_into(&mut name);
            }
            if line.starts_with("data: ") {
                return Some((name, line));
            }
        }
        None
    }

    /// Reads until nothing has come for a few seconds. Returns the number of events, and their bytes.
    fn until_quiet(&mut self) -> (usize, usize) {
        let (mut events, mut bytes) = (0, 0);
        while let Some((_, data)) = self.next() {
            let _ = (self.0.get_ref()).set_read_timeout(Some(Duration::from_secs(5)));
            events += 1;
            bytes += data.len();
        }
        (events, bytes)
    }
}

// === impl Report ===

impl Report {
    pub(crate) fn rows(&self) -> Vec<(String, String)> {
        let ms = |time: f64| format!("{time:.0} ms");
        let requests = self.rest_requests;
        vec![
            (
                format!("{} clusters: first rows, cold", self.clusters),
                ms(self.cold_ms),
            ),
            ("  first rows, warm".to_owned(), ms(self.warm_ms)),
            ("  a filter".to_owned(), ms(self.filter_ms)),
            (
                "  the slowest filter".to_owned(),
                ms(self.slowest_filter_ms),
            ),
            ("  the fleet".to_owned(), ms(self.fleet_ms)),
            (
                "  resident".to_owned(),
                format!("{:.1} MiB", self.resident_mib),
            ),
            (
                format!("{} ManifestWorks: all of them", self.works),
                self.works_ms.map_or("none".to_owned(), ms),
            ),
            (
                "  resident".to_owned(),
                self.works_mib
                    .map_or("none".to_owned(), |it| format!("{it:.1} MiB")),
            ),
            (
                format!("at rest for {} s", self.rest_s),
                requests.map_or("not counted".to_owned(), |it| format!("{it:.0} requests")),
            ),
            ("  CPU".to_owned(), format!("{:.2} s", self.rest_cpu_s)),
            (
                format!("{} clusters change their state", self.flapped),
                format!("{:.1} s", self.flapping_s),
            ),
            ("  CPU".to_owned(), format!("{:.2} s", self.flapping_cpu_s)),
            (
                "  events of an open page".to_owned(),
                format!("{} ({:.0} KiB)", self.deltas, self.delta_kib),
            ),
            (
                "most that was resident".to_owned(),
                format!("{:.1} MiB", self.peak_mib),
            ),
        ]
    }
}
