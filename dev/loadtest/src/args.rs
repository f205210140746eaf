//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args as ClapArgs, Parser, ValueEnum};
use http::{HeaderName, HeaderValue, Uri};

use crate::check::Expect;
use crate::generate::User;
use crate::mix::{Kind, Mix};

const EXAMPLES: &str = "\
Examples:
  # A gate to load: Berth with a sample hub in files
  berth webhook-server --hub-files examples/hub --self-signed \\
    --certdir target/gate --bind-address 127.0.0.1 &

  # Generated reviews, as fast as 16 connections get answers; and what the gate pays
  loadtest --url https://127.0.0.1:9443 --ca target/gate/ca.crt --pid $(pidof berth)

  # Other proportions, other people, and what they must be told
  loadtest ... --mix accept=1,bind=1 --user bob=team-bob --expect denied
  loadtest ... --mix update=9,create=1 --expect update=allowed,create=any

  # 2000 reviews a second, whatever the gate does. Latency counts from the time
  # that a review was due: a gate that stalls cannot hide it
  loadtest ... --rate 2000

  # Recorded reviews, byte for byte; with a new connection for each
  loadtest ... --body tests/data/reviews/update-unrelated-bob.validate.json \\
    --header 'Connection: close'

  # Against another webhook: rounds in turns, medians and ratios
  loadtest ... --name berth --rounds 5 --against https://127.0.0.1:9444 \\
    --against-ca ocm/ca.crt --against-pid $(pidof registration) --against-name ocm

  # Writes through an API server, which calls its webhooks; nothing is stored
  # but what there is to write to, and that is cleaned up
  loadtest --kubeconfig hub.kubeconfig --mix create=1,accept=1,move=1,bind=1
  loadtest --kubeconfig hub.kubeconfig --writes real --rate 50

What is counted: every answer is checked, and only right ones count. A call fails
as it would for the API server: no answer in time, a broken connection, a status
other than 200, another uid. Nothing is tried again. An answer that says that it
could not be decided (code 429 or 500) is an answer, and counted apart.

Closed loop (the default): each connection sends when it has its answer. That
finds what a server can do. Its latencies are of what was sent: a server that
stalls is asked less, and the calls that others would have made meanwhile are in
no percentile (coordinated omission). They are not made up afterwards: for
latencies under a load, use --rate.

Figures move with what else the machine does, and with whether the server and
this tool share a core: pin each to its own (taskset -c 0 SERVER, taskset -c 1
loadtest ...). Reviews per CPU second move the least.

Exit codes: 0 every answer was right; 1 a call failed, an answer was wrong, the
run was interrupted or could not start; 2 a wrong flag.";

/// Loads an admission webhook with AdmissionReviews, or a hub with writes that its webhooks decide; checks every answer, and
/// measures
#[derive(Clone, Debug, Parser)]
#[command(name = "loadtest", version, after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("whom").required(true).args(["url", "kubeconfig"])))]
pub(crate) struct Args {
    /// Webhook to call, https only. Without a path each review goes to its own path, with ?timeout=..., as from the API server
    #[arg(long, help_heading = "Whom to load", requires = "ca")]
    pub(crate) url: Option<Uri>,

    /// PEM file with the CA certificates the webhook is verified by
    #[arg(long, value_name = "FILE", help_heading = "Whom to load")]
    pub(crate) ca: Option<PathBuf>,

    /// Name the webhook's certificate must have [default: the host in --url]
    #[arg(long, value_name = "NAME", help_heading = "Whom to load")]
    pub(crate) server_name: Option<String>,

    /// Write through the API server of this kubeconfig, instead of calling a webhook. (A write that the webhooks' registrations
    /// pass over, as Berth's do updates, costs no webhook anything.)
    #[arg(long, value_name = "FILE", help_heading = "Whom to load",
        conflicts_with_all = ["ca", "server_name", "bodies", "headers", "any_uid", "names", "sets", "against"])]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Whether what is written through the API server is stored. What there is to write to is always: two sets, and for each
    /// connection a cluster and a namespace, named loadtest-* and deleted in the end
    #[arg(long, value_enum, default_value_t = Writes::DryRun, help_heading = "Whom to load")]
    pub(crate) writes: Writes,

    /// The webhook's process on this machine, to report its CPU and memory
    #[arg(long, help_heading = "Whom to load")]
    pub(crate) pid: Option<u32>,

    /// What to call it in reports [default: its address]
    #[arg(long, help_heading = "Whom to load")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) what: What,

    /// Connections, each with one request in flight; writes at once
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = one_to_ten_thousand, help_heading = "How")]
    pub(crate) connections: usize,

    /// Requests that are due each second, over all connections [default: as many as are answered]
    #[arg(long, value_name = "PER SECOND", value_parser = parse_rate, help_heading = "How")]
    pub(crate) rate: Option<f64>,

    /// Measured time
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = parse_positive, help_heading = "How")]
    pub(crate) seconds: Duration,

    /// Time under load before the measuring begins
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_seconds, help_heading = "How")]
    pub(crate) warmup: Duration,

    /// A call that takes longer, connecting included, has failed; with --rate counted from when it was due
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_positive, help_heading = "How")]
    pub(crate) timeout: Duration,

    /// Threads of this tool; one leaves the other cores to the server
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = one_to_ten_thousand, help_heading = "How")]
    pub(crate) threads: usize,

    #[command(flatten)]
    pub(crate) against: Against,

    /// How to print the findings
    #[arg(long, short, value_enum, default_value_t = Output::Text, help_heading = "Report")]
    pub(crate) output: Output,

    /// No progress on stderr
    #[arg(long, short, help_heading = "Report")]
    pub(crate) quiet: bool,
}

/// What is sent.
#[derive(ClapArgs, Clone, Debug)]
#[command(next_help_heading = "What to send")]
pub(crate) struct What {
    /// AdmissionReview to send, byte for byte, instead of generated ones; or a folder with some. May be repeated
    #[arg(long = "body", value_name = "FILE", conflicts_with_all = ["mix", "users", "names", "sets"])]
    pub(crate) bodies: Vec<PathBuf>,

    /// Which writes are generated, in which proportion. A write of a cluster is two reviews, one to be mutated and one to be
    /// validated; a binding's is one
    #[arg(
        long,
        value_name = "KIND=WEIGHT,...",
        default_value = "update=70,create=10,accept=5,move=10,bind=5"
    )]
    pub(crate) mix: Mix,

    /// Who writes; may be repeated, they take turns. The group system:authenticated is always added. With --kubeconfig
    /// somebody to impersonate [default: kubernetes-admin=system:masters; with --kubeconfig its user]
    #[arg(long = "user", value_name = "NAME[=GROUP,...]", value_parser = parse_user)]
    pub(crate) users: Vec<User>,

    /// How many clusters, and namespaces, the reviews are about
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = one_to_a_thousand)]
    pub(crate) names: usize,

    /// The sets that clusters move between, and that are bound
    #[arg(long, value_name = "SET,SET", default_value = "set-a,set-b", value_parser = parse_sets)]
    pub(crate) sets: [String; 2],

    /// What the answers must say: allowed, denied or any; of all, or of a kind
    /// [default: allowed for --body, any otherwise]
    #[arg(long, value_name = "[KIND=]VERDICT,...", value_delimiter = ',', value_parser = parse_expect)]
    pub(crate) expect: Vec<(Option<Kind>, Expect)>,

    /// Take answers with any uid, not only that of the request
    #[arg(long)]
    pub(crate) any_uid: bool,

    /// One more header, may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = parse_header)]
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

/// Another webhook.
#[derive(ClapArgs, Clone, Debug)]
#[command(next_help_heading = "Compare")]
pub(crate) struct Against {
    /// Another webhook, to be loaded in turns with that of --url
    #[arg(long = "against", id = "against", value_name = "URL", requires = "url")]
    pub(crate) url: Option<Uri>,

    /// Its CA certificates [default: --ca]
    #[arg(
        long = "against-ca",
        id = "against_ca",
        value_name = "FILE",
        requires = "against"
    )]
    pub(crate) ca: Option<PathBuf>,

    /// The name its certificate must have [default: the host in --against]
    #[arg(
        long = "against-server-name",
        id = "against_server_name",
        value_name = "NAME",
        requires = "against"
    )]
    pub(crate) server_name: Option<String>,

    /// Its process
    #[arg(
        long = "against-pid",
        id = "against_pid",
        value_name = "PID",
        requires = "against"
    )]
    pub(crate) pid: Option<u32>,

    /// What to call it [default: its address]
    #[arg(
        long = "against-name",
        id = "against_name",
        value_name = "NAME",
        requires = "against"
    )]
    pub(crate) name: Option<String>,

    /// Take any uid in its answers
    #[arg(long = "against-any-uid", id = "against_any_uid", requires = "against")]
    pub(crate) any_uid: bool,

    /// How often each is loaded
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
    /// Decided, and not stored
    DryRun,
    /// Stored
    Real,
}

impl What {
    /// What the answers to a kind must say.
    pub(crate) fn expect(&self, kind: Option<Kind>, otherwise: Expect) -> Expect {
        let said = |of: Option<Kind>| {
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
    ensure!(!name.is_empty(), "a user has a name");
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

fn parse_expect(text: &str) -> Result<(Option<Kind>, Expect)> {
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

/// A week: enough for any soak, and no clock runs over.
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
        assert_eq!(expect(Some(Kind::Update)), Expect::Allowed);
        assert_eq!(expect(Some(Kind::Bind)), Expect::Denied);
        assert_eq!(expect(None), Expect::Denied);
        let args = parse("--url https://h --ca f --expect bind=denied").unwrap();
        assert_eq!(args.what.expect(Some(Kind::Move), Expect::Any), Expect::Any);
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
                "none of allowed, denied and any",
            ),
            ("--url https://h --ca f --mix delete=1", "none of the kinds"),
        ];
        for (line, reason) in rows {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(reason), "{line:?}: {error}");
        }
    }
}
