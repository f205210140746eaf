//! `berth join`: installs the agent on a managed cluster, and gives it what it needs to register at a hub.
//!
//! # Guarantees
//! - The hub's certificate is verified before the token is sent, by a CA that the user named, or by one that the bootstrap token signed.
//!   A server that cannot be verified never gets the token ([`hub`], [`authority`]).
//! - The token appears in no message. Only the manifests that are printed on request contain it, and the command says so.
//! - Nothing is changed before all checks have passed: the hub accepts the token, the cluster has no other agent, and has not joined
//!   under another name.
//! - `--dry-run` and `--output-manifests` change nothing.
//! - To run it again is no error: what is as it should be stays as it is.

pub(crate) mod authority;
mod clusteradm;
pub(crate) mod hub;
pub(crate) mod kubeconfig;
pub(crate) mod objects;
pub(crate) mod place;
mod signature;
pub(crate) mod token;
mod waiting;

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use self::hub::{Named, VerifiedHub, checked_url};
use self::objects::{Agent, yaml};
use self::token::Token;
use self::waiting::{Joining, Until};
use crate::accept::fingerprint::Fingerprint;
use crate::failure::CommandError;
use crate::hub::{ClusterArgs, HubConnection, Wait, title, wait};
use berth_api::names;

/// The image in the manifests.
const DEFAULT_IMAGE: &str = "berth";

/// The prefix of the annotations that an agent may set on its ManagedCluster.
const ANNOTATIONS: &str = "agent.open-cluster-management.io/";

/// Join a hub: install the agent on this cluster, and let it register
///
/// Run it at the managed cluster. 'berth get token' on the hub prints the command. It verifies the hub, checks the token, installs
/// the agent in namespace open-cluster-management-agent (manifests/agent), and gives it the token in Secret bootstrap-hub-kubeconfig.
/// Then an admin of the hub accepts the cluster: 'berth accept NAME'.
///
/// The hub is verified by --ca-file, --ca-data or --ca-hash. Without them it is verified by ConfigMap kube-public/cluster-info if
/// that is signed with the token (bootstrap tokens of kubeadm's clusters), and else by the CAs of this machine. The token is never
/// sent to a server that is not verified.
///
/// The command line of 'clusteradm join' works. Flags for operator, Helm, resources and labels have no effect, and a warning says so.
/// Other modes than 'default', and registration by AWS or gRPC, are refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # The command that 'berth get token' prints on the hub
  berth join --hub-token $TOKEN --hub-apiserver $HUB --ca-hash $HASH --cluster-name c1

  # The same, with an image of your own, and wait until the cluster has joined
  berth join ... --image registry.example.com/berth:v0.1.0 --wait

  # The token in a file, the CA in another one; check everything, but change nothing
  berth join --hub-token-file token --hub-apiserver $HUB --ca-file ca.crt --cluster-name c1 --dry-run

  # For a GitOps tool
  berth join ... --output-manifests --output-file agent.yaml")]
pub struct Args {
    /// Token of the hub, as 'berth get token' prints it
    #[arg(long, value_name = "TOKEN", required_unless_present = "hub_token_file")]
    hub_token: Option<Token>,
    /// File with the token, so that it is not on the command line; '-' for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "hub_token")]
    hub_token_file: Option<PathBuf>,
    /// URL of the hub's API server
    #[arg(long, value_name = "URL", value_parser = checked_url)]
    hub_apiserver: String,
    /// Name of this cluster on the hub: a DNS label of at most 63 characters
    #[arg(long, value_name = "NAME", value_parser = cluster_name)]
    cluster_name: String,
    /// Wait until the agent has joined; with --wait=registered until an admin of the hub can accept the cluster
    #[arg(
        long,
        value_name = "joined|registered",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "joined",
        hide_possible_values = true
    )]
    wait: Option<Until>,
    /// Timeout of --wait, such as 300 (seconds) or 5m; 0 means no timeout
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "300")]
    timeout: Wait,
    /// Change nothing: verify the hub, check the token and this cluster, and print the manifests. They contain the token
    #[arg(long)]
    dry_run: bool,
    /// Change nothing and do not connect to this cluster: verify the hub, and print the manifests. They contain the token
    #[arg(long)]
    output_manifests: bool,
    /// Also write the manifests to a file that only you can read; with --dry-run or --output-manifests instead of printing them
    #[arg(long, value_name = "FILE")]
    output_file: Option<PathBuf>,
    /// Take over fields that another client has changed
    #[arg(long)]
    force_conflicts: bool,
    #[command(flatten)]
    foreign: clusteradm::ForeignFlags,
    #[command(flatten)]
    verification: VerificationArgs,
    #[command(flatten)]
    agent: AgentArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// How the hub is verified and reached.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The hub")]
struct VerificationArgs {
    /// File with the CA of the hub, PEM
    #[arg(long, value_name = "FILE", group = "ca")]
    ca_file: Option<PathBuf>,
    /// CA of the hub, PEM in base64
    #[arg(long, value_name = "BASE64", group = "ca")]
    ca_data: Option<String>,
    /// SHA-256 of the public key of the hub's CA. The CA itself is read from the hub (kube-public/cluster-info)
    #[arg(
        long,
        value_name = "SHA256:HEX,...",
        value_delimiter = ',',
        group = "ca"
    )]
    ca_hash: Vec<Fingerprint>,
    /// The agent uses the address in the hub's ConfigMap kube-public/cluster-info instead of --hub-apiserver
    #[arg(long)]
    force_internal_endpoint_lookup: bool,
    /// HTTP proxy to the hub, for this command and the agent
    #[arg(long, value_name = "URL")]
    proxy_url: Option<String>,
    /// File with the CA of an HTTPS proxy, PEM. The hub is then also trusted if this CA signed its certificate
    #[arg(long, value_name = "FILE", requires = "proxy_url")]
    proxy_ca_file: Option<PathBuf>,
}

/// What the agent runs with.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The agent")]
struct AgentArgs {
    /// Image of the agent [default: the image of the installed agent, else berth, which has to be on the nodes]
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["image_registry", "bundle_version"])]
    image: Option<String>,
    /// Registry of the image, which is named REGISTRY/berth
    #[arg(long, value_name = "REGISTRY")]
    image_registry: Option<String>,
    /// Tag of the image
    #[arg(long, value_name = "TAG", requires = "image_registry")]
    bundle_version: Option<String>,
    /// Feature gates of the agent, as Gate=true,Gate=false
    #[arg(long, value_name = "GATES")]
    feature_gates: Vec<String>,
    /// Lifetime of the agent's certificate that it asks for, at least 3600 [default: the hub decides]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(3600..))]
    client_cert_expiration_seconds: Option<u32>,
    /// Annotation of the ManagedCluster (repeatable). The prefix agent.open-cluster-management.io/ is added if it is missing
    #[arg(long, value_name = "KEY=VALUE", value_parser = annotation)]
    klusterlet_annotation: Vec<String>,
    /// How add-ons get their credentials for the hub's API server: 'csr' or 'token'
    #[arg(long, value_name = "csr|token", value_parser = ["csr", "token"], hide_possible_values = true)]
    addon_kubeclient_registration_auth: Option<String>,
    /// Lifetime of the tokens of add-ons
    #[arg(long, value_name = "SECONDS")]
    addon_token_expiration_seconds: Option<u32>,
}

/// Parses the name of a cluster.
fn cluster_name(text: &str) -> Result<String, String> {
    match names::dns1123_label(text).first() {
        None => Ok(text.to_owned()),
        Some(why) => Err(why.clone()),
    }
}

/// Parses an annotation, and adds the prefix.
fn annotation(text: &str) -> Result<String, String> {
    let (key, _) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    let text = match key.starts_with(ANNOTATIONS) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{ANNOTATIONS}{text}")),
    };
    let key = text.split('=').next().unwrap_or_default();
    match names::qualified_name(key).first() {
        Some(why) => Err(why.clone()),
        None if text.contains(',') => Err("a comma would separate two annotations".to_owned()),
        None => Ok(text.into_owned()),
    }
}

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
    let changes = !(args.dry_run || args.output_manifests);
    if let Some(note) = hub.check_name(name).await? {
        writeln!(io::stderr(), "{note}")?;
    }
    let cluster = match args.output_manifests {
        true => None,
        false => {
            let cluster = HubConnection::of_cluster(&args.cluster).await?;
            place::check(&cluster, name).await?;
            Some(cluster)
        }
    };
    let agent = Agent {
        cluster: name,
        image: image(args, cluster.as_ref()).await?,
        kubeconfig: &hub.kubeconfig,
        flags: args.agent.flags(),
    };
    let objects = agent.objects()?;
    if let Some(path) = &args.output_file {
        write_file(path, &yaml(&objects)?)?;
        writeln!(
            io::stderr(),
            "Note: {} contains the token (Secret bootstrap-hub-kubeconfig)",
            path.display()
        )?;
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
        wait: args.cluster.request_timeout,
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

/// Returns the image of the agent: the one that the flags name, or else that of the agent that is installed.
async fn image(args: &Args, cluster: Option<&HubConnection>) -> anyhow::Result<String> {
    if let Some(image) = args.agent.image() {
        return Ok(image);
    }
    let installed = match cluster {
        Some(cluster) => place::image(cluster).await?,
        None => None,
    };
    if let Some(image) = installed {
        return Ok(image);
    }
    let note = format!(
        "Note: the image of the agent is {DEFAULT_IMAGE}, which has to be on the nodes; --image names another"
    );
    writeln!(io::stderr(), "{note}")?;
    Ok(DEFAULT_IMAGE.to_owned())
}

/// Writes a file that only its owner can read. It must not exist: another user could have opened it.
fn write_file(path: &Path, text: &str) -> Result<(), CommandError> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written
        .map_err(|error| CommandError::Config(format!("--output-file {}: {error}", path.display())))
}

// === impl AgentArgs ===

impl AgentArgs {
    /// Returns the image that the flags name.
    fn image(&self) -> Option<String> {
        let registry = |registry: &str| format!("{}/berth", registry.trim_end_matches('/'));
        match (&self.image, &self.image_registry, &self.bundle_version) {
            (Some(image), ..) => Some(image.clone()),
            (None, Some(host), Some(tag)) => Some(format!("{}:{tag}", registry(host))),
            (None, Some(host), None) => Some(registry(host)),
            (None, None, _) => None,
        }
    }

    /// Returns flags for the agent.
    fn flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        let mut add = |flag: &str, value: String| flags.push(format!("--{flag}={value}"));
        for gates in &self.feature_gates {
            add("feature-gates", gates.clone());
        }
        if let Some(seconds) = self.client_cert_expiration_seconds {
            add("client-cert-expiration-seconds", seconds.to_string());
        }
        if !self.klusterlet_annotation.is_empty() {
            add("cluster-annotations", self.klusterlet_annotation.join(","));
        }
        if let Some(auth) = &self.addon_kubeclient_registration_auth {
            add("addon-kubeclient-registration-auth", auth.clone());
        }
        // clusteradm's 0 is the default of the agent.
        if let Some(seconds) = self.addon_token_expiration_seconds.filter(|it| *it > 0) {
            add("addon-token-expiration-seconds", seconds.to_string());
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(line: &str) -> Result<Args, String> {
        let words = "join --hub-apiserver https://hub --cluster-name c1 ".to_owned() + line;
        let line = Line::try_parse_from(words.split_whitespace());
        line.map(|line| line.args)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_agent_gets_the_flags_that_were_given() {
        let line = "--hub-token t --feature-gates A=true --client-cert-expiration-seconds 7200 --klusterlet-annotation a=b \
                    --klusterlet-annotation agent.open-cluster-management.io/c=d --addon-kubeclient-registration-auth token \
                    --addon-token-expiration-seconds 0";
        assert_eq!(
            parsed(line).unwrap().agent.flags(),
            [
                "--feature-gates=A=true",
                "--client-cert-expiration-seconds=7200",
                "--cluster-annotations=agent.open-cluster-management.io/a=b,agent.open-cluster-management.io/c=d",
                "--addon-kubeclient-registration-auth=token",
            ]
        );
        assert!(parsed("--hub-token t").unwrap().agent.flags().is_empty());
    }

    #[test]
    fn an_image_is_named_whole_or_by_its_registry() {
        for (line, image) in [
            ("", None),
            ("--image r/berth:v1", Some("r/berth:v1")),
            (
                "--image-registry r.example.com/",
                Some("r.example.com/berth"),
            ),
            ("--image-registry r --bundle-version v1", Some("r/berth:v1")),
        ] {
            let args = parsed(&format!("--hub-token t {line}")).unwrap();
            assert_eq!(args.agent.image().as_deref(), image, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_and_the_token_is_not_shown() {
        for (line, words) in [
            ("", "--hub-token"),
            (
                "--hub-token SECRET --hub-token-file f",
                "cannot be used with",
            ),
            (
                "--hub-token SECRET --ca-file f --ca-hash x",
                "64 hexadecimal digits",
            ),
            (
                "--hub-token SECRET --ca-file f --ca-data x",
                "cannot be used with",
            ),
            (
                "--hub-token SECRET --klusterlet-annotation a",
                "expected KEY=VALUE",
            ),
            (
                "--hub-token SECRET --klusterlet-annotation a=b,c=d",
                "a comma",
            ),
            (
                "--hub-token SECRET --klusterlet-annotation a/b/c=d",
                "a valid label key",
            ),
            (
                "--hub-token SECRET --client-cert-expiration-seconds 60",
                "3600",
            ),
            ("--hub-token SECRET --wait=never", "joined"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(words), "{line}: {error}");
            assert!(!error.contains("SECRET"), "{error}");
        }
        assert!(
            cluster_name("a.b")
                .unwrap_err()
                .contains("must not contain dots")
        );
        let args = parsed("--hub-token SECRET").unwrap();
        assert!(!format!("{args:?}").contains("SECRET"));
    }

    #[test]
    fn wait_is_a_switch_or_says_for_what() {
        for (line, until) in [
            ("", None),
            ("--wait", Some(Until::Joined)),
            ("--wait=true", Some(Until::Joined)),
            ("--wait=registered", Some(Until::Registered)),
        ] {
            let args = parsed(&format!("--hub-token t {line}")).unwrap();
            assert_eq!(args.wait, until, "{line}");
        }
    }
}
