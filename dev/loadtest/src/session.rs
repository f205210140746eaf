//! Runs the command line: one run, two alternating targets, or writes to a hub.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use http::Uri;
use jiff::Timestamp;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::api_server::{self, TestedHub, Writer};
use crate::args::{Args, Writes};
use crate::check::Expect;
use crate::client::Target;
use crate::compare::{self, Comparison};
use crate::direct::Webhook;
use crate::generate::{self, Ingredients, User};
use crate::process;
use crate::progress::Screen;
use crate::report::{Call, Plan, Report};
use crate::run::{self, Settings};
use crate::script::Script;

/// The report of a session.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Findings {
    One(Report),
    Two(Comparison),
}

impl Findings {
    /// Returns whether all calls succeeded.
    pub(crate) fn is_clean(&self) -> bool {
        match self {
            Self::One(report) => report.is_clean(),
            Self::Two(comparison) => comparison.is_clean(),
        }
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(report) => report.fmt(f),
            Self::Two(comparison) => comparison.fmt(f),
        }
    }
}

/// Runs the session that the arguments describe.
///
/// # Errors
/// The session cannot start, or a measured process ends.
pub(crate) async fn run(args: &Args) -> Result<Findings> {
    let signals = Signals::listen()?;
    let settings = Settings {
        rate: args.rate,
        warmup: args.warmup,
        seconds: args.seconds,
        timeout: args.timeout,
        screen: Screen::stderr(args.quiet),
        stop: signals.first.clone(),
    };
    match (&args.url, &args.kubeconfig) {
        (Some(url), _) => tokio::select! {
            called = call(args, url, &settings) => called,
            () = signals.second.cancelled() => bail!("interrupted"),
        },
        (None, Some(kubeconfig)) => {
            let written = write(args, kubeconfig, &settings, &signals.second).await;
            written.map(Findings::One)
        }
        // clap requires one of them.
        (None, None) => bail!("requires --url or --kubeconfig"),
    }
}

async fn call(args: &Args, url: &Uri, settings: &Settings) -> Result<Findings> {
    match &args.against.url {
        None => one(args, url, settings).await.map(Findings::One),
        Some(other) => two(args, url, other, settings).await.map(Findings::Two),
    }
}

/// One of up to two webhooks.
struct Side<'a> {
    name: String,
    url: &'a Uri,
    webhook: Arc<Webhook>,
    pid: Option<u32>,
}

async fn one(args: &Args, url: &Uri, settings: &Settings) -> Result<Report> {
    let (script, sent) = script(args, settings)?;
    let side = first(args, url, script)?;
    load(args, &side, sent, "loading", settings).await
}

async fn two(args: &Args, url: &Uri, other: &Uri, settings: &Settings) -> Result<Comparison> {
    let (script, sent) = script(args, settings)?;
    let against = &args.against;
    let ca = against.ca.as_deref().or(args.ca.as_deref());
    let server_name = against.server_name.as_deref();
    let any_uid = args.what.any_uid || against.any_uid;
    let sides = [
        first(args, url, script.clone())?,
        Side {
            name: against.name.clone().unwrap_or_else(|| other.to_string()),
            url: other,
            webhook: webhook(args, other, ca, server_name, script, any_uid)?,
            pid: against.pid,
        },
    ];
    let mut runs = [Vec::new(), Vec::new()];
    'rounds: for round in 0..against.rounds {
        for side in compare::order(round) {
            let title = format!(
                "round {} of {}, {}",
                round + 1,
                against.rounds,
                sides[side].name
            );
            let report = load(args, &sides[side], sent.clone(), &title, settings).await?;
            runs[side].push(report);
            if settings.stop.is_cancelled() {
                break 'rounds;
            }
        }
    }
    let names = sides.map(|side| side.name);
    Ok(Comparison::new(names, runs))
}

fn first<'a>(args: &Args, url: &'a Uri, script: Script) -> Result<Side<'a>> {
    let (ca, server_name) = (args.ca.as_deref(), args.server_name.as_deref());
    Ok(Side {
        name: args.name.clone().unwrap_or_else(|| url.to_string()),
        url,
        webhook: webhook(args, url, ca, server_name, script, args.what.any_uid)?,
        pid: args.pid,
    })
}

fn webhook(
    args: &Args,
    url: &Uri,
    ca: Option<&Path>,
    server_name: Option<&str>,
    script: Script,
    any_uid: bool,
) -> Result<Arc<Webhook>> {
    let ca = ca.context("--ca FILE is needed: the webhook is always verified")?;
    let target = Target::new(url, ca, server_name, &args.what.headers)?;
    let webhook = Webhook::new(target, script, args.timeout, any_uid);
    Ok(Arc::new(webhook))
}

async fn load(
    args: &Args,
    side: &Side<'_>,
    sent: String,
    title: &str,
    settings: &Settings,
) -> Result<Report> {
    let server = match side.pid {
        Some(pid) => Some((pid, process::memory(pid)?)),
        None => None,
    };
    let mut callers = Vec::with_capacity(args.connections);
    for _ in 0..args.connections {
        tokio::select! {
            connected = side.webhook.connect(args.timeout) => callers.push(connected?),
            () = settings.stop.cancelled() => bail!("interrupted before the first call"),
        }
    }
    let plan = Plan {
        name: side.name.clone(),
        target: side.url.to_string(),
        sent,
        connections: args.connections,
        call: Call::Review,
        labels: side.webhook.labels().to_vec(),
        title: title.to_owned(),
    };
    run::run(callers, plan, settings, server).await
}

/// The script, and its description.
fn script(args: &Args, settings: &Settings) -> Result<(Script, String)> {
    let what = &args.what;
    if what.bodies.is_empty() {
        let masters = [User {
            name: "kubernetes-admin".into(),
            groups: vec!["system:masters".into()],
        }];
        let users = match &what.users[..] {
            [] => &masters,
            users => users,
        };
        let script = generate::script(&Ingredients {
            mix: &what.mix,
            names: what.names,
            users,
            sets: &what.sets,
            expect: &|kind| what.expect(Some(kind), Expect::Any),
            now: Timestamp::now(),
        });
        let names = what.names;
        return Ok((script, format!("{} of {names} clusters", what.mix)));
    }
    let expect = what.expect(None, Expect::Allowed);
    let (script, passed_over) = Script::of_files(&what.bodies, what.any_uid, expect)?;
    let reviews = script.reviews.len();
    let sent = match (&script.reviews[..], passed_over) {
        ([review], 0) => format!("a review of {} bytes", review.body.len()),
        (_, 0) => format!("{reviews} reviews"),
        _ => format!("{reviews} reviews (skipped {passed_over} other files)"),
    };
    settings.screen.say(&sent);
    Ok((script, sent))
}

async fn write(
    args: &Args,
    kubeconfig: &Path,
    settings: &Settings,
    at_once: &CancellationToken,
) -> Result<Report> {
    let hub = TestedHub::open(kubeconfig).await?;
    let dry_run = args.writes == Writes::DryRun;
    let written = async {
        settings.screen.say("setting up");
        tokio::select! {
            made = hub.set_up(args.connections) => made?,
            () = settings.stop.cancelled() => bail!("interrupted"),
        }
        let what = args.what.clone();
        let mix = &args.what.mix;
        let plan = Arc::new(api_server::Plan {
            kinds: mix.kinds().collect(),
            round: mix.round(),
            expect: Box::new(move |kind| what.expect(Some(kind), Expect::Any)),
            dry_run,
        });
        let users = &args.what.users;
        let writers = (0..args.connections).map(|number| {
            let user = users.get(number % users.len().max(1));
            Writer::new(&hub, &plan, number, user)
        });
        let writers = writers.collect::<Result<Vec<_>>>()?;
        let server = match args.pid {
            Some(pid) => Some((pid, process::memory(pid)?)),
            None => None,
        };
        let words = if dry_run { "dry runs of" } else { "writes of" };
        let plan = Plan {
            name: args.name.clone().unwrap_or_else(|| hub.url.clone()),
            target: hub.url.clone(),
            sent: format!("{words} {mix}"),
            connections: args.connections,
            call: Call::Write,
            labels: plan.kinds.iter().map(|kind| kind.name().into()).collect(),
            title: "writing".into(),
        };
        run::run(writers, plan, settings, server).await
    };
    let written = written.await;
    settings.screen.say("cleaning up; Ctrl-C stops that");
    let cleaned = tokio::select! {
        cleaned = hub.clean_up(args.connections) => cleaned,
        () = at_once.cancelled() => bail!(
            "interrupted before all was cleaned up; what is left: kubectl get \
             managedclusters,managedclustersets,managedclustersetbindings,namespaces -A -l loadtest"
        ),
    };
    settings.screen.say("");
    let report = written?;
    cleaned?;
    Ok(report)
}

/// The first signal ends the run with a report, the second ends the program.
struct Signals {
    first: CancellationToken,
    second: CancellationToken,
    _task: AbortOnDropHandle<()>,
}

impl Signals {
    fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        let mut interrupt = listen(SignalKind::interrupt())?;
        let mut terminate = listen(SignalKind::terminate())?;
        let (first, second) = (CancellationToken::new(), CancellationToken::new());
        let each = [first.clone(), second.clone()];
        let task = tokio::spawn(async move {
            for token in each {
                tokio::select! {
                    _ = interrupt.recv() => (),
                    _ = terminate.recv() => (),
                }
                token.cancel();
            }
        });
        Ok(Self {
            first,
            second,
            _task: AbortOnDropHandle::new(task),
        })
    }
}
