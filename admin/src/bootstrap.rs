//! `berth get token`: a token with which clusters register at the hub, and the command for the managed cluster.
//!
//! The account, the role and their names are OCM's (`manifests/bootstrap`), so clusteradm and Berth use each other's. Whatever
//! exists is left as it is.

mod command;
mod issue;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use berth_certs::managed::Root;
use berth_hub::{Authorities, ServerAddress, server_address};
use berth_manifests::{Manifest, files};
use berth_rules::display::Lines;
use serde_json::Value;

pub(crate) use self::command::JoinCommand;
use self::issue::{Issued, Issuer};
use crate::failure::CommandError;
use crate::flags::DryRunArgs;
use crate::hub::{DryRun, HubArgs, HubConnection, Wait, title, unchecked, wait};
use crate::image;
use crate::join::hub::checked_url;

/// The shortest lifetime that an API server accepts.
const SHORTEST: Duration = Duration::from_secs(600);

/// The longest lifetime. A token is for the minutes in which clusters register; agents do not need it afterwards.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// Print a token, and the command with which a cluster joins the hub
///
/// Creates what is missing of the account of bootstrap tokens: namespace open-cluster-management, service account
/// agent-registration-bootstrap, ClusterRole open-cluster-management:bootstrap and its bindings. The token may ask the hub to accept
/// a cluster and to sign the certificate of its agent. An admin decides about both ('berth accept').
///
/// The command also names the CA of the hub, so that the cluster does not trust another server: its hash (--ca-hash), if clients
/// without credentials may read ConfigMap kube-public/cluster-info, else the CA itself (--ca-data).
///
/// Anyone with the token can ask the hub to accept a cluster until the token expires. With --use-bootstrap-token, deleting the
/// Secret revokes it.
#[derive(Debug, clap::Args)]
#[command(mut_arg("dry_run", |arg| {
    arg.help("Create nothing, and request no token: 'client' shows what would be created, 'server' also has the hub check it")
}))]
#[command(after_help = "\
Examples:
  # A token for an hour
  berth get token

  # A token for ten minutes, and the command for c1
  berth get token --token-lifetime 10m --cluster-name c1

  # The hub's address as managed clusters reach it
  berth get token --hub-apiserver https://hub.example.com:6443

  # For a script
  berth get token -o json")]
pub(crate) struct Args {
    /// Lifetime of the token, from 10m to 720h. The hub may shorten it
    #[arg(long, value_name = "DURATION", value_parser = lifetime, default_value = "1h")]
    token_lifetime: Wait,
    /// Create a bootstrap token (a Secret in kube-system) instead of a token of the service account. The API server has to run with
    /// --enable-bootstrap-token-auth
    #[arg(long)]
    use_bootstrap_token: bool,
    /// The hub's address in the command [default: the address in the kubeconfig]
    #[arg(long, value_name = "URL", value_parser = checked_url)]
    hub_apiserver: Option<String>,
    /// The cluster's name in the command
    #[arg(long, value_name = "NAME")]
    cluster_name: Option<String>,
    /// The agent's image in the command. Without it, 'berth join' installs the image of its release
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    #[command(flatten)]
    dry_run: DryRunArgs,
    /// Output format: 'text' or 'json'
    #[arg(
        short,
        long,
        value_name = "text|json",
        value_enum,
        default_value = "text",
        hide_possible_values = true,
        hide_default_value = true
    )]
    output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Parses the lifetime of a token.
fn lifetime(text: &str) -> Result<Wait, String> {
    let lifetime = wait(text)?;
    if (SHORTEST..=LONGEST).contains(&lifetime.0) {
        Ok(lifetime)
    } else {
        Err("a token lives from 10m to 720h".to_owned())
    }
}

/// Runs the command.
///
/// # Errors
/// The hub cannot be used, or the user may not create the account or the token.
pub(crate) async fn run(args: &Args, hub_args: &HubArgs) -> anyhow::Result<ExitCode> {
    let image = args.image.as_deref().map(image::checked).transpose()?;
    let address = server_address(&hub_args.access())
        .map_err(|error| CommandError::Config(error.to_string()))?;
    let hub = HubConnection::of(hub_args).await?;
    hub.check_is_a_hub().await?;
    let dry_run = args.dry_run.mode;
    create_account(&hub, dry_run).await?;
    if dry_run != DryRun::None {
        if args.use_bootstrap_token {
            let issuer = Issuer {
                hub: &hub,
                lifetime: args.token_lifetime.0,
            };
            let name = issuer.try_bootstrap_token(dry_run).await?;
            writeln!(io::stderr(), "secret/{name} created{}", dry_run.suffix())?;
        }
        writeln!(
            io::stderr(),
            "Nothing was changed, and no token was requested."
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = Wanted {
        lifetime: args.token_lifetime.0,
        use_bootstrap_token: args.use_bootstrap_token,
        hub_apiserver: args.hub_apiserver.as_deref(),
        cluster_name: args.cluster_name.as_deref(),
        image: image.as_deref(),
    };
    let (command, expires) = issue(&hub, &address, wanted).await?;
    if let Some(expires) = &expires {
        writeln!(io::stderr(), "Note: the token expires at {expires}")?;
    }
    let mut out = io::stdout().lock();
    match args.output {
        Format::Text => {
            writeln!(out, "token={}", command.token().reveal())?;
            writeln!(out, "please log on spoke and run:")?;
            writeln!(out, "{}", command.line())?;
        }
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &command.json(expires.as_deref()))?;
            writeln!(out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Creates what is missing of the account of bootstrap tokens.
///
/// # Errors
/// Those of the hub, but for missing rights: a note says what was not created.
pub(crate) async fn create_account(
    hub: &HubConnection,
    dry_run: DryRun,
) -> Result<(), CommandError> {
    for object in files::BOOTSTRAP.iter().flat_map(Manifest::documents) {
        create(hub, &object, dry_run).await?;
    }
    Ok(())
}

/// A token to issue, and what the command of the managed cluster says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) lifetime: Duration,
    pub(crate) use_bootstrap_token: bool,
    pub(crate) hub_apiserver: Option<&'a str>,
    pub(crate) cluster_name: Option<&'a str>,
    /// The agent's image.
    pub(crate) image: Option<&'a str>,
}

impl Default for Wanted<'_> {
    fn default() -> Self {
        Self {
            lifetime: Duration::from_secs(3600),
            use_bootstrap_token: false,
            hub_apiserver: None,
            cluster_name: None,
            image: None,
        }
    }
}

/// Issues a token. Returns the command of the managed cluster, and when the token expires, if the hub says so. Prints what the user should
/// know.
///
/// # Errors
/// The user may not create the token, or the hub does not accept it.
pub(crate) async fn issue<'a>(
    hub: &HubConnection,
    address: &ServerAddress,
    wanted: Wanted<'a>,
) -> anyhow::Result<(JoinCommand<'a>, Option<String>)> {
    let issuer = Issuer {
        hub,
        lifetime: wanted.lifetime,
    };
    let Issued { token, expires } = if wanted.use_bootstrap_token {
        issuer.bootstrap_token(address).await?
    } else {
        issuer.account_token().await?
    };
    for note in issue::check(address, &token).await {
        writeln!(io::stderr(), "Warning: {note}")?;
    }
    let command = JoinCommand::of(wanted, address, token).await;
    for note in command.notes() {
        writeln!(io::stderr(), "Note: {note}")?;
    }
    Ok((command, expires))
}

/// Creates an object that is missing, and says so. A user who may neither read nor create it may still request a token.
async fn create(hub: &HubConnection, object: &Value, dry_run: DryRun) -> Result<(), CommandError> {
    let words = match hub.create_missing(object, dry_run).await {
        Ok(true) => format!("{} created{}", title(object), dry_run.suffix()),
        Ok(false) => return Ok(()),
        Err(failure)
            if dry_run == DryRun::Server && hub.lacks_its_namespace(object, &failure).await? =>
        {
            format!("{}{}", unchecked(object), dry_run.suffix())
        }
        Err(failure) if failure.is_forbidden() => {
            format!("Note: {} was not created: {failure}", title(object))
        }
        Err(failure) => return Err(failure),
    };
    // An error of standard error does not stop the command.
    let _ = writeln!(io::stderr(), "{}", Lines(&words));
    Ok(())
}

/// Returns the CA of the hub, or None if the kubeconfig names none.
fn authorities(address: &ServerAddress) -> Option<Vec<Root>> {
    let Authorities::Of(certificates) = &address.authorities else {
        return None;
    };
    let roots = certificates.iter().cloned();
    Some(roots.filter_map(|der| Root::from_der(der).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_lives_for_minutes_or_days() {
        for (text, seconds) in [
            ("10m", Some(600)),
            ("1h", Some(3600)),
            ("720h", Some(2_592_000)),
            ("9m", None),
            ("0", None),
            ("721h", None),
        ] {
            assert_eq!(
                lifetime(text).ok().map(|it| it.0.as_secs()),
                seconds,
                "{text}"
            );
        }
    }
}
