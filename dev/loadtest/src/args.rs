//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Parser, ValueEnum};
use http::{HeaderName, HeaderValue, Uri};

use crate::check::Expect;
use crate::generate::User;
use crate::mix::{Mix, WriteKind};

const EXAMPLES: &str = "\
Examples:
  # A gate to load: Berth with a sample hub in files
  berth webhook-server --hub-files examples/hub --self-signed \\
    --certdir target/gate --bind-address 127.0.0.1 &

  # Generated reviews, as fast as 16 connections get responses; with the gate's
  # CPU and memory
  loadtest --url https://127.0.0.1:9443 --ca target/gate/ca.crt --pid $(pidof berth)

  # Other proportions, another user, and expected verdicts
  loadtest ... --mix accept=1,bind=1 --user bob=team-bob --expect denied
  loadtest ... --mix update=9,create=1 --expect update=allowed,create=any

  # 2000 reviews a second, independent of the gate. Latency counts from the due
  # time of a review, so a stall of the gate is visible
  loadtest ... --rate 2000

  # Recorded reviews, unchanged, with a new connection for each
  loadtest ... --body tests/data/reviews/update-unrelated-bob.validate.json \\
    --header 'Connection: close'

  # Against another webhook: alternating rounds, medians and ratios
  loadtest ... --name berth --rounds 5 --against https://127.0.0.1:9444 \\
    --against-ca ocm/ca.crt --against-pid $(pidof registration) --against-name ocm

  # Writes through an API server, which calls its webhooks. The writes are dry
  # runs; the objects that they write to are deleted at the end
  loadtest --kubeconfig hub.kubeconfig --mix create=1,accept=1,move=1,bind=1
  loadtest --kubeconfig hub.kubeconfig --writes real --rate 50

Every response is checked, and only correct ones count. A call fails if it would
fail for the API server: a timeout, a broken connection, a status other than 200,
another uid. Calls are not retried. A response that means undecided (code 429 or
500) counts separately.

Closed loop (the default): each connection sends after the previous response. This
measures the capacity of a server. Latencies cover only calls that were sent: a
server that stalls gets fewer calls, and the percentiles do not contain the calls
that other clients would have made (coordinated omission). The tool does not
correct for that. To measure latency under a given load, use --rate.

The figures depend on the other load of the machine, and on whether the server
and this tool share a core: pin each to its own (taskset -c 0 SERVER, taskset
-c 1 loadtest ...). Reviews per CPU second vary least.

Exit codes: 0 every response was correct; 1 a call failed, a response was
wrong, or the run was interrupted or could not start; 2 a wrong flag.";

/// Load an admission webhook with AdmissionReviews, or a hub with writes that its webhooks decide; check every response, and
/// measure
#[derive(Clone, Debug, Parser)]
#[command(name = "loadtest", version, after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("target").required(true).args(["url", "kubeconfig"])))]
pub(crate) struct Args {
    /// Webhook to call, https only. Without a path, each review goes to the path of its webhook with ?timeout=..., as from an API
    /// server
    #[arg(long, help_heading = "Target", requires = "ca")]
    pub(crate) url: Option<Uri>,

    /// PEM file with the CA certificates that verify the webhook's certificate
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    pub(crate) ca: Option<PathBuf>,

    /// Name the webhook's certificate must have [default: the host in --url]
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    pub(crate) server_name: Option<String>,

    /// Write through the API server of this kubeconfig, instead of calling a webhook. (If the registrations skip the webhook for a
    /// write, as Berth's do for updates, the write causes no call.)
    #[arg(long, value_name = "FILE", help_heading = "Target",
        conflicts_with_all = ["ca", "server_name", "bodies", "headers", "any_uid", "names", "sets", "against"])]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Store the writes through the API server, or send them as dry runs. In both cases the tool creates two sets, and for each
    /// connection a cluster and a namespace, named loadtest-*, and deletes them at the end
    #[arg(long, value_enum, default_value_t = Writes::DryRun, help_heading = "Target")]
    pub(crate) writes: Writes,

    /// Process ID of the webhook on this machine, to report its CPU and memory
    #[arg(long, help_heading = "Target")]
    pub(crate) pid: Option<u32>,

    /// Name of the webhook in reports [default: its address]
    #[arg(long, help_heading = "Target")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) what: What,

    /// Connections, each with one request in flight; with --kubeconfig, concurrent writes
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = one_to_ten_thousand, help_heading = "Load")]
    pub(crate) connections: usize,

    /// Requests per second over all connections, independent of the server [default: each connection sends after a response]
    #[arg(long, value_name = "PER SECOND", value_parser = parse_rate, help_heading = "Load")]
    pub(crate) rate: Option<f64>,

    /// Duration of the measurement
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = parse_positive, help_heading = "Load")]
    pub(crate) seconds: Duration,

    /// Duration of the load before the measurement
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_seconds, help_heading = "Load")]
    pub(crate) warmup: Duration,

    /// Time limit of a call, including the connection; with --rate it counts from the call's due time
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_positive, help_heading = "Load")]
    pub(crate) timeout: Duration,

    /// Threads of this tool; with one, the server has the other cores
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = one_to_ten_thousand, help_heading = "Load")]
    pub(crate) threads: usize,

    #[command(flatten)]
    pub(crate) against: Against,

    /// Format of the report
    #[arg(long, short, value_enum, default_value_t = Output::Text, help_heading = "Report")]
    pub(crate) output: Output,

    /// Do not print progress to stderr
    #[arg(long, short, help_heading = "Report")]
    pub(crate) quiet: bool,
}

/// The reviews to send.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Reviews")]
pub(crate) struct What {
    /// AdmissionReview to send unchanged instead of generated ones, or a folder of them. May be repeated
    #[arg(long = "body", value_name = "FILE", conflicts_with_all = ["mix", "users", "names", "sets"])]
    pub(crate) bodies: Vec<PathBuf>,

    /// Kinds of generated writes, and their proportions. A write of a cluster is two reviews (mutating and validating), a write of a
    /// binding is one
    #[arg(
        long,
        value_name = "KIND=WEIGHT,...",
        default_value = "update=70,create=10,accept=5,move=10,bind=5"
    )]
    pub(crate) mix: Mix,

    /// Requester of the writes; several take turns. May be repeated. The group system:authenticated is always added. With
    /// --kubeconfig the tool impersonates this user [default: kubernetes-admin=system:masters; with --kubeconfig its user]
    #[arg(long = "user", value_name = "NAME[=GROUP,...]", value_parser = parse_user)]
    pub(crate) users: Vec<User>,

    /// Number of clusters, and of namespaces, in the reviews
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = one_to_a_thousand)]
    pub(crate) names: usize,

    /// Sets that clusters move between, and that are bound
    #[arg(long, value_name = "SET,SET", default_value = "set-a,set-b", value_parser = parse_sets)]
    pub(crate) sets: [String; 2],

    /// Expected verdict of all writes or of a kind: allowed, denied or any
    /// [default: allowed for --body, any otherwise]
    #[arg(long, value_name = "[KIND=]VERDICT,...", value_delimiter = ',', value_parser = parse_expect)]
    pub(crate) expect: Vec<(Option<WriteKind>, Expect)>,

    /// Accept responses with any uid, not only that of the request
    #[arg(long)]
    pub(crate) any_uid: bool,

    /// Additional header. May be repeated
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = parse_header)]
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

/// Another webhook.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Compare")]
pub(crate) struct Against {
    /// Another webhook to load in alternating runs with that of --url
    #[arg(long = "against", id = "against", value_name = "URL", requires = "url")]
    pub(crate) url: Option<Uri>,

    /// CA certificates of the other webhook [default: --ca]
    #[arg(
        long = "against-ca",
        id = "against_ca",
        value_name = "FILE",
        requires = "against"
    )]
    pub(crate) ca: Option<PathBuf>,

    /// Name the other webhook's certificate must have [default: the host in --against]
    #[arg(
        long = "against-server-name",
        id = "against_server_name",
        value_name = "NAME",
        requires = "against"
    )]
    pub(crate) server_name: Option<String>,

    /// Process ID of the other webhook
    #[arg(
        long = "against-pid",
        id = "against_pid",
        value_name = "PID",
        requires = "against"
    )]
    pub(crate) pid: Option<u32>,

    /// Name of the other webhook in reports [default: its address]
    #[arg(
        long = "against-name",
        id = "against_name",
        value_name = "NAME",
        requires = "against"
    )]
    pub(crate) name: Option<String>,

    /// Accept responses of the other webhook with any uid
    #[arg(long = "against-any-uid", id = "against_any_uid", requires = "against")]
    pub(crate) any_uid: bool,

    /// Number of runs of each webhook
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = one_to_a_thousand)]
    pub(crate) rounds: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Output {
    /// A table
    Text,
    /// JSON
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum Writes {
    /// Dry runs: decided, not stored
    DryRun,
    /// Stored
    Real,
}

impl What {
    /// Returns the expected verdict of a kind.
    pub(crate) fn expect(&self, kind: Option<WriteKind>, otherwise: Expect) -> Expect {
        let said = |of: Option<WriteKind>| {
            let mut said = self.expect.iter().rev();
            said.find(|(kind, _)| *kind == of)
                .map(|(_, expect)| *expect)
        };
        kind.and_then(|kind| said(Some(kind)))
            .or_else(|| said(None))
            .unwrap_or(otherwise)
    }
}

fn parse_user(text: &str) -> Result<User> {
    let (name, groups) = text.split_once('=').unwrap_or((text, ""));
    ensure!(!name.is_empty(), "the name of the user is empty");
    let groups = groups.split(',').filter(|group| !group.is_empty());
    Ok(User {
        name: name.to_owned(),
        groups: groups.map(str::to_owned).collect(),
    })
}

fn parse_sets(text: &str) -> Result<[String; 2]> {
    match text.split(',').collect::<Vec<_>>()[..] {
        [one, two] if !one.is_empty() && !two.is_empty() && one != two => {
            Ok([one.to_owned(), two.to_owned()])
        }
        _ => bail!("two names of sets are needed, with a comma between"),
    }
}

fn parse_expect(text: &str) -> Result<(Option<WriteKind>, Expect)> {
    match text.split_once('=') {
        Some((kind, expect)) => Ok((Some(kind.parse()?), expect.parse()?)),
        None => Ok((None, text.parse()?)),
    }
}

fn parse_header(text: &str) -> Result<(HeaderName, HeaderValue)> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| anyhow!("not of the form 'Name: value'"))?;
    Ok((name.trim().parse()?, value.trim().parse()?))
}

/// A week: enough for any soak, and far from an overflow.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

fn parse_seconds(text: &str) -> Result<Duration> {
    let seconds: f64 = text.parse().context("not a number of seconds")?;
    let seconds = Duration::try_from_secs_f64(seconds).context("not a length of time")?;
    ensure!(seconds <= LONGEST, "more than a week");
    Ok(seconds)
}

fn parse_positive(text: &str) -> Result<Duration> {
    let seconds = parse_seconds(text)?;
    ensure!(!seconds.is_zero(), "must be more than 0");
    Ok(seconds)
}

fn parse_rate(text: &str) -> Result<f64> {
    let rate: f64 = text.parse().context("not a number")?;
    ensure!(
        (0.001..=1e6).contains(&rate),
        "must be between 0.001 and a million"
    );
    Ok(rate)
}

fn one_to_a_thousand(text: &str) -> Result<usize> {
    one_to(1000, text)
}

fn one_to_ten_thousand(text: &str) -> Result<usize> {
    one_to(10_000, text)
}

fn one_to(most: usize, text: &str) -> Result<usize> {
    let number: usize = text.parse().context("not a whole number")?;
    ensure!(number >= 1, "must be at least 1");
    ensure!(number <= most, "must be at most {most}");
    Ok(number)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from(["loadtest"].into_iter().chain(line.split_whitespace()))
    }

    #[test]
    fn the_command_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn expectations_of_a_kind_go_before_those_of_all() {
        let args = parse("--url https://h --ca f --expect denied,update=allowed").unwrap();
        let expect = |kind| args.what.expect(kind, Expect::Any);
        assert_eq!(expect(Some(WriteKind::Update)), Expect::Allowed);
        assert_eq!(expect(Some(WriteKind::Bind)), Expect::Denied);
        assert_eq!(expect(None), Expect::Denied);
        let args = parse("--url https://h --ca f --expect bind=denied").unwrap();
        assert_eq!(
            args.what.expect(Some(WriteKind::Move), Expect::Any),
            Expect::Any
        );
    }

    #[test]
    fn users_come_with_their_groups() {
        let line = "--kubeconfig f --user system:serviceaccount:ci:pipeline --user bob=a,b";
        let users = parse(line).unwrap().what.users;
        assert_eq!(users[0].name, "system:serviceaccount:ci:pipeline");
        assert_eq!((&*users[1].name, users[1].groups.len()), ("bob", 2));
    }

    #[test]
    fn what_does_not_go_together_is_refused_with_the_reason() {
        let rows = [
            ("", "<--url <URL>|--kubeconfig <FILE>>"),
            ("--url https://h", "--ca <FILE>"),
            (
                "--url https://h --ca f --kubeconfig f",
                "cannot be used with",
            ),
            ("--kubeconfig f --body f", "cannot be used with"),
            ("--kubeconfig f --against https://h", "cannot be used with"),
            (
                "--url https://h --ca f --body f --mix bind=1",
                "cannot be used with",
            ),
            ("--url https://h --ca f --against-pid 3", "--against <URL>"),
            (
                "--url https://h --ca f --rate 0",
                "between 0.001 and a million",
            ),
            (
                "--url https://h --ca f --rate NaN",
                "between 0.001 and a million",
            ),
            ("--url https://h --ca f --seconds 1e9", "more than a week"),
            ("--url https://h --ca f --connections 0", "at least 1"),
            ("--url https://h --ca f --sets a,a", "two names of sets"),
            (
                "--url https://h --ca f --expect maybe",
                "must be allowed, denied or any",
            ),
            (
                "--url https://h --ca f --mix delete=1",
                "must be update, create, accept, move or bind",
            ),
        ];
        for (line, reason) in rows {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(reason), "{line:?}: {error}");
        }
    }
}
