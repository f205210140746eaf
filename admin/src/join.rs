//! `berth join`: installs the agent on a managed cluster, and gives it what it needs to register at a hub.
//!
//! # Guarantees
//! - The hub's certificate is verified before the token is sent: by a CA that the user named, by one that the bootstrap token signed, or
//!   by the CAs of this machine. A server that cannot be verified never gets the token ([`hub`], [`authority`]).
//! - The token appears in no message. Only the manifests and values that are printed on request contain it, and the command says so.
//! - Nothing is changed before all checks have passed: the hub accepts the token, the cluster has no other agent, and has not joined
//!   under another name.
//! - `--dry-run`, `--output-manifests` and `--output-values` change nothing.
//! - It can be run again: objects that are as they should be stay unchanged.

mod args;
pub(crate) mod authority;
mod clusteradm;
pub(crate) mod hub;
pub(crate) mod kubeconfig;
pub(crate) mod objects;
mod operator;
pub(crate) mod place;
pub(crate) mod running;
mod signature;
pub(crate) mod token;
mod values;
mod waiting;

use std::io::{self, Write};
use std::process::ExitCode;

use berth_rules::display::Lines;
use serde_json::Value;

pub(crate) use self::args::Args;
use self::args::VerificationArgs;
use self::hub::{Named, VerifiedHub};
use self::objects::{Agent, yaml};
use self::token::Token;
use self::waiting::Joining;
use crate::failure::CommandError;
use crate::files;
use crate::hub::{DryRun, HubConnection, title, unchecked};
use crate::image;

/// Runs the command.
///
/// # Errors
/// The hub cannot be verified, the token or the managed cluster cannot be used, or an object is refused.
pub(crate) async fn run(args: &Args) -> anyhow::Result<ExitCode> {
    for warning in args.foreign.judge()? {
        writeln!(io::stderr(), "Warning: {warning}")?;
    }
    let token = match (&args.hub_token, &args.hub_token_file) {
        (Some(token), _) => token.clone(),
        (None, Some(path)) => Token::read(path)?,
        // clap requires one of them.
        (None, None) => Token::from(String::new()),
    };
    token.check()?;
    let hub = verified(args, &token).await?;
    let name = args.cluster_name.as_str();
    let dry_run = args.dry_run.mode;
    let changes = dry_run == DryRun::None && !args.output_manifests;
    if let Some(note) = hub.check_name(name).await? {
        writeln!(io::stderr(), "{note}")?;
    }
    let cluster = match args.output_manifests || args.output_values {
        true => None,
        false => {
            let cluster = HubConnection::of_cluster(&args.cluster).await?;
            place::check(&cluster, name, args.operator).await?;
            Some(cluster)
        }
    };
    let agent = Agent {
        cluster: name,
        image: image(args, cluster.as_ref()).await?,
        kubeconfig: &hub.kubeconfig,
        flags: args.agent.flags(),
    };
    if args.output_values {
        return show_values(args, &agent);
    }
    let objects = match args.operator {
        true => operator::objects(&agent, args.agent.configuration())?,
        false => agent.objects()?,
    };
    if let Some(path) = &args.output_file {
        files::write_private("--output-file", path, &yaml(&objects)?)?;
        writeln!(
            io::stderr(),
            "Note: {} contains the token (Secret bootstrap-hub-kubeconfig)",
            path.display()
        )?;
    }
    if let Some(cluster) = cluster.as_ref().filter(|_| dry_run == DryRun::Server) {
        return try_to_install(cluster, &objects, args.force_conflicts).await;
    }
    let Some(cluster) = cluster.filter(|_| changes) else {
        if args.output_file.is_none() {
            writeln!(
                io::stderr(),
                "Note: these manifests contain the token (Secret bootstrap-hub-kubeconfig)"
            )?;
            io::stdout().write_all(yaml(&objects)?.as_bytes())?;
        }
        writeln!(io::stderr(), "Nothing was changed.")?;
        return Ok(ExitCode::SUCCESS);
    };
    for object in &objects {
        let applied = place::install(&cluster, object, args.force_conflicts).await?;
        writeln!(io::stdout(), "{} {}", title(object), applied.word())?;
    }
    let Some(until) = args.wait else {
        writeln!(
            io::stdout(),
            "The agent registers managed cluster {name} at the hub. On the hub, run: berth accept {name}"
        )?;
        return Ok(ExitCode::SUCCESS);
    };
    let joining = Joining {
        name,
        hub: &hub.connection,
        cluster: &cluster,
    };
    let reached = joining.wait(until, args.timeout.0).await?;
    writeln!(io::stdout(), "{reached}")?;
    Ok(ExitCode::SUCCESS)
}

/// Has the API server check each object, and prints what it says. Nothing is written.
async fn try_to_install(
    cluster: &HubConnection,
    objects: &[Value],
    force: bool,
) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    let suffix = DryRun::Server.suffix();
    for object in objects {
        match place::try_to_install(cluster, object, force).await {
            Ok(Some(applied)) => {
                writeln!(io::stdout(), "{} {}{suffix}", title(object), applied.word())?;
            }
            Ok(None) => writeln!(io::stdout(), "{}{suffix}", unchecked(object))?,
            // The definition comes with the operator.
            Err(CommandError::NoHub { .. }) if place::is_klusterlet(object) => writeln!(
                io::stdout(),
                "{} not checked: its CustomResourceDefinition does not exist yet{suffix}",
                title(object)
            )?,
            Err(failure) => {
                let line = format!("Error: {}: {failure}", title(object));
                writeln!(io::stderr(), "{}", Lines(&line))?;
                code = ExitCode::FAILURE;
            }
        }
    }
    writeln!(io::stderr(), "Nothing was changed.")?;
    Ok(code)
}

/// Verifies the hub, and checks that the token may register a cluster.
async fn verified(args: &Args, token: &Token) -> anyhow::Result<VerifiedHub> {
    let VerificationArgs {
        ca_file,
        ca_data,
        ca_hash,
        force_internal_endpoint_lookup,
        proxy_url,
        proxy_ca_file,
    } = &args.verification;
    let hub = hub::verified(&Named {
        url: &args.hub_apiserver,
        token,
        ca_file: ca_file.as_deref(),
        ca_data: ca_data.as_deref(),
        ca_hash,
        proxy: proxy_url.as_deref(),
        proxy_ca: proxy_ca_file.as_deref(),
        internal: *force_internal_endpoint_lookup,
        wait: args.cluster.request_timeout(),
    })
    .await?;
    writeln!(
        io::stderr(),
        "the hub at {} is verified by {}",
        args.hub_apiserver,
        hub.by
    )?;
    hub.check_rights().await?;
    writeln!(io::stderr(), "the hub accepts the token")?;
    Ok(hub)
}

/// Returns the image of the agent: the one that the flags name, or that of the agent that is installed, or that of this release.
///
/// # Errors
/// There is none, or the flags name none that can exist.
async fn image(args: &Args, cluster: Option<&HubConnection>) -> Result<String, CommandError> {
    let flag = args.agent.image();
    if let (None, Some(cluster)) = (&flag, cluster)
        && let Some(installed) = place::image(cluster, args.operator).await?
    {
        return Ok(installed);
    }
    image::of(flag.as_deref())
}

/// Prints the values, or writes them to the file.
fn show_values(args: &Args, agent: &Agent<'_>) -> anyhow::Result<ExitCode> {
    let text = values::yaml(agent, args.include_token)?;
    let note = match args.include_token {
        true => "these values contain the token (bootstrap.kubeconfig)",
        false => {
            "these values contain no bootstrap kubeconfig: create Secret bootstrap-hub-kubeconfig in namespace \
             open-cluster-management-agent, or add --include-token"
        }
    };
    writeln!(io::stderr(), "Note: {note}")?;
    match &args.output_file {
        Some(path) => files::write_private("--output-file", path, &text)?,
        None => io::stdout().write_all(text.as_bytes())?,
    }
    writeln!(io::stderr(), "Nothing was changed.")?;
    Ok(ExitCode::SUCCESS)
}
